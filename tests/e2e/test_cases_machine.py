"""Themes E and H8, H9: cores, threads, width, code that changes."""

import contextlib
import json
import os
import pathlib

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


class Quota:
    """A control group of the test's own, with a limit on the time of all cores together."""

    def __init__(self, folder, second_version):
        self.folder, self.second_version = folder, second_version

    def set(self, cores, period=100_000):
        quota = int(cores * period)
        if self.second_version:
            (self.folder / "cpu.max").write_text(f"{quota} {period}")
        else:
            (self.folder / "cpu.cfs_period_us").write_text(str(period))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota))

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))


def make_quota():
    """A Quota, or why there can be none."""
    root = pathlib.Path("/sys/fs/cgroup")
    places = [(root / name, False) for name in ("cpu", "cpu,cpuacct")] + [(root, True)]
    reasons = []
    for place, second_version in places:
        if not (place / ("cgroup.controllers" if second_version else "cpu.cfs_quota_us")).exists():
            continue
        folder = place / f"seedbed-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError as error:
            reasons.append(str(error))
            continue
        quota = Quota(folder, second_version)
        try:
            quota.set(1)
            return quota, ""
        except OSError as error:
            reasons.append(str(error))
            folder.rmdir()
    return None, "; ".join(reasons) or "no control groups with CPU time are mounted"


@pytest.fixture
def quota(box):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs a machine with more than one core")
    made, why = make_quota()
    if made is None:
        pytest.skip(f"no control group can be made: {why}")
    yield made
    box.close()
    box.wait_for_no_processes()
    with contextlib.suppress(OSError):
        made.folder.rmdir()


@pytest.mark.parametrize("cores", [1, 1.5, 0.5])
def test_case_E2_a_quota_counts_and_both_numbers_are_said(box, quota, show_py, cores):
    seen = len(os.sched_getaffinity(0))
    quota.set(cores)
    done = box.run("run", "n=1..3", "--name", "s", "--", PY, "show.py", preexec=quota.enter)
    assert done.code == 0, done.text
    assert f"{seen} cores seen, 1 usable (quota)" in done.out, done.out
    assert box.rows("SELECT DISTINCT slot FROM attempts") == [{"slot": 0}]
    assert box.rows("SELECT slots FROM runs") == [{"slots": 1}]
    assert shown(box)["env"]["OMP_NUM_THREADS"] == "1"
    plan = box.run("plan", "n=1..3", "--name", "s", "--", PY, "show.py", preexec=quota.enter)
    assert f"{seen} cores seen, 1 usable (quota); 1 at once" in plan.out, plan.text
    assert f"{seen} cores seen, 1 usable (quota)" in box.ok("doctor", preexec=quota.enter).out


def test_case_E2_the_smaller_of_quota_and_affinity_counts(box, quota):
    core = min(os.sched_getaffinity(0))
    quota.set(2)

    def pinned():
        quota.enter()
        os.sched_setaffinity(0, {core})

    done = box.run("run", "n=1..2", "--name", "s", "--", "true", preexec=pinned)
    assert done.code == 0, done.text
    assert f"only core {core}" in done.out
    assert box.rows("SELECT slots FROM runs") == [{"slots": 1}]


def test_case_E2_a_quota_above_the_cores_changes_nothing(box, quota):
    seen = len(os.sched_getaffinity(0))
    quota.set(seen + 0.5)
    done = box.run("run", "n=1", "--name", "s", "--", "true", preexec=quota.enter)
    assert done.code == 0 and "(quota)" not in done.out, done.text
    assert box.rows("SELECT slots FROM runs") == [{"slots": seen}]


def test_case_E2_more_slots_than_the_quota_share_it_with_one_warning(box, quota):
    quota.set(1)
    done = box.run("run", "n=1..4", "--slots", "2", "--name", "s", "--", "true",
                   preexec=quota.enter)
    assert done.code == 0, done.text
    assert done.out.count("warning") == 1, done.out
    assert box.rows("SELECT slots FROM runs") == [{"slots": 2}]


def test_case_E4_pinned_by_accident_is_told(box):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs a machine with more than one core")
    done = box.exec(["taskset", "-c", "0", "seedbed", "run", "n=1..2", "--name", "s", "--", "true"])
    assert done.code == 0, done.text
    assert "only core 0" in done.out
    assert {r["slot"] for r in box.rows("SELECT slot FROM attempts")} == {0}


def test_slots_above_the_cores_share_them_with_one_warning(box, show_py):
    slots = len(os.sched_getaffinity(0)) + 4
    done = box.run("run", "n=1..6", "--slots", slots, "--name", "s", "--", PY, "show.py")
    assert done.code == 0, done.text
    assert done.out.count("warning") == 1 and "not pinned" in done.out, done.out
    assert set(shown(box)["cpus"]) == os.sched_getaffinity(0)


def test_whole_cores_are_pinned_and_never_shared(box, show_py):
    cores = sorted(os.sched_getaffinity(0))
    box.ok("run", f"n=1..{2 * len(cores)}", "--name", "s", "--", PY, "show.py")
    assert all(len(shown(box, trial)["cpus"]) == 1 for trial in box.states())


def test_case_H8_the_default_width_is_what_the_machine_allows(box):
    box.ok("run", "n=1..12", "--name", "s", "--", "sh", "-c", "sleep 0.1", "x", "{n}")
    cores = len(os.sched_getaffinity(0))
    slots = {r["slot"] for r in box.rows("SELECT slot FROM attempts")}
    assert len(slots) <= cores
    assert (box.rows("SELECT slots FROM runs")[0]["slots"] > 1) == (cores > 1)


def test_case_H8_auto_takes_another_width_back(box):
    cores = len(os.sched_getaffinity(0))
    box.write("sweep.yaml", "command: [sleep, '60', '{n}']\nslots: 20\n"
                            "parameters: {n: {min: 1, max: 30}}\n")
    assert box.json("plan", "sweep.yaml")["slots"] == 20
    assert box.json("plan", "sweep.yaml", "--slots", "auto")["slots"] == cores
    refused = box.run("plan", "sweep.yaml", "--slots", "0")
    assert refused.code == 2 and "takes auto or a whole number from 1" in refused.err
    run = box.start("run", "sweep.yaml", "--slots", cores + 3, "--name", "s")
    wait_until(lambda: box.count("running") == cores + 3)
    told = box.ok("slots", "auto", "--study", "s").out
    assert f"{cores} trial{'' if cores == 1 else 's'} at once" in told
    run.interrupt()
    assert run.wait().code == 130


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


def test_case_H9_an_imported_module_that_changes_is_noticed(box):
    box.write("model.py", "VERSION = 1\n")
    box.write("t.py", "import os, time, model\nprint('v', model.VERSION, flush=True)\n"
                      "while not os.path.exists('go'): time.sleep(0.02)\n")
    words = ("run", "n=1..3", "--slots", "1", "--name", "s", "--", PY, "t.py", "{n}")
    run = box.start(*words, env={"PYTHONDONTWRITEBYTECODE": "1"})
    wait_until(lambda: box.states() and b"v 1" in box.log(1))
    box.write("model.py", "VERSION = 'two'\n")
    box.write("go", "")
    done = run.wait()
    assert done.code == 0, done.text
    assert "model.py, which t.py imports, changed while trials waited" in done.out
    assert len({row["code"] for row in box.json("trials", "s")}) == 2
    box.write("model.py", "VERSION = 'three'\n")
    again = box.run("run", "n=1..4", *words[2:], env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert "t.py or a module that it imports was changed since earlier trials ran" in again.text


@pytest.mark.parametrize("words", [
    (PY, "-u", "-m", "prog"), (PY, "-W", "ignore", "-um", "prog"),
    ("env", "-u", "FOO", "timeout", "-k", "5", "100", PY, "-u", "prog.py"),
    ("nice", "-n", "3", PY, "prog.py"),
])
def test_case_H9_the_code_behind_other_programs_is_noted(box, words):
    box.write("part.py", "")
    box.write("prog.py", "import part\n")
    box.ok("run", "n=1", "--name", "s", "--", *words, "{n}")
    body, = [json.loads(row["body"]) for row in box.rows(
        "SELECT body FROM records WHERE kind = 'attempt_started'")]
    details = json.loads(body["details_json"])
    assert details["code_file"].endswith("/prog.py") and details["code_files"] == 2


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
