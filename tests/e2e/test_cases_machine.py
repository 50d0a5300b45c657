"""Themes E and H8, H9: cores, threads, width, code that changes."""

import json
import os

import pytest
from conftest import wait_until

PY = "/usr/bin/python3"


def shown(box, trial=1):
    return json.loads(box.log(trial).decode().splitlines()[-1])


def test_case_E1_threads_follow_the_cores(box, show_py):
    box.ok("run", "n=1", "--name", "s", "--", PY, "show.py")
    env = shown(box)["env"]
    assert env["OMP_NUM_THREADS"] == env["MKL_NUM_THREADS"] == env["OPENBLAS_NUM_THREADS"] == "1"
    box.ok("run", "n=1", "--name", "t", "--", PY, "show.py", env={"OMP_NUM_THREADS": "7"})
    assert json.loads(box.log(1, study="t"))["env"]["OMP_NUM_THREADS"] == "7"


def test_case_E4_pinned_by_accident_is_told(box):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs a machine with more than one core")
    done = box.exec(["taskset", "-c", "0", "seedbed", "run", "n=1..2", "--name", "s", "--", "true"])
    assert done.code == 0, done.text
    assert "only core 0" in done.out
    assert {r["slot"] for r in box.rows("SELECT slot FROM attempts")} == {0}


def test_slots_above_the_cores_share_them_with_one_warning(box, show_py):
    done = box.run("run", "n=1..6", "--slots", "6", "--name", "s", "--", PY, "show.py")
    assert done.code == 0, done.text
    assert set(shown(box)["cpus"]) == os.sched_getaffinity(0)


def test_whole_cores_are_pinned_and_never_shared(box, show_py):
    cores = sorted(os.sched_getaffinity(0))
    box.ok("run", f"n=1..{2 * len(cores)}", "--name", "s", "--", PY, "show.py")
    assert all(len(shown(box, trial)["cpus"]) == 1 for trial in box.states())


def test_case_H8_the_default_width_is_what_the_machine_allows(box):
    box.ok("run", "n=1..12", "--name", "s", "--", "sh", "-c", "sleep 0.1", "x", "{n}")
    slots = {r["slot"] for r in box.rows("SELECT slot FROM attempts")}
    assert len(slots) <= len(os.sched_getaffinity(0))


def test_the_width_can_be_changed_while_it_runs(box):
    run = box.start("run", "n=1..4", "--slots", "1", "--name", "s", "--", "sh", "-c",
                    "while [ ! -e go ]; do sleep 0.05; done", "x", "{n}")
    wait_until(lambda: box.count("running") == 1)
    box.ok("slots", "3", "--study", "s")
    wait_until(lambda: box.count("running") == 3)
    box.write("go", "")
    assert run.wait().code == 0


def test_pause_and_resume(box):
    run = box.start("run", "n=1..3", "--slots", "1", "--name", "s", "--", "sh", "-c",
                    'while [ ! -e "go$1" ]; do sleep 0.05; done', "x", "{n}")
    wait_until(lambda: box.count("running") == 1)
    box.ok("pause", "s")
    box.write("go1", "")
    box.wait_for("completed", 1)
    wait_until(lambda: box.rows("SELECT 1 FROM attempts WHERE released_ms IS NOT NULL"))
    assert box.count("running") == 0
    box.write("go2", "")
    box.write("go3", "")
    box.ok("resume", "s")
    assert run.wait().code == 0


def test_case_H9_code_that_changes_while_trials_wait_is_noticed(box):
    box.write("t.py", "import os, time\nprint('v1')\n"
                      "while not os.path.exists('go'): time.sleep(0.02)\n")
    run = box.start("run", "n=1..3", "--slots", "1", "--name", "s", "--", PY, "t.py", "{n}")
    wait_until(lambda: box.states() and b"v1" in box.log(1))
    box.write("t.py", "print('v2')\n")
    box.write("go", "")
    done = run.wait()
    assert done.code == 0, done.text
    assert "t.py changed" in done.out
    hashes = [json.loads(json.loads(r["body"])["details_json"])
              for r in box.rows("SELECT body FROM records WHERE kind = 'attempt_started'")]
    assert len({h["code_hash"] for h in hashes}) == 2


def test_case_H9_a_snapshot_keeps_one_version(box):
    box.write("t.py", "import os, time\nprint('v1')\n"
                      "while not os.path.exists(os.environ['GO']): time.sleep(0.02)\n")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    box.exec([*git, "init", "-q"])
    box.exec([*git, "add", "t.py"])
    assert box.exec([*git, "commit", "-qm", "one"]).code == 0
    box.write("sweep.yaml", f"""
command: [{PY}, t.py, "${{args}}"]
parameters: {{n: {{values: [1, 2]}}}}
snapshot: true
slots: 1
""")
    run = box.start("run", "sweep.yaml", "--name", "s", env={"GO": str(box.path("go"))})
    wait_until(lambda: box.states() and b"v1" in box.log(1))
    box.write("t.py", "print('v2')\n")
    box.write("go", "")
    assert run.wait().code == 0
    assert box.log(2) == b"v1\n"
