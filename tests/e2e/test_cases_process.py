"""Theme D of the case list: the life of processes. Every box must be empty in the end."""

import os
import signal
import time

import pytest
from conftest import wait_until

PY = "/usr/bin/python3"
NURSERY = ('python3 -c "import subprocess,time; '
           '[subprocess.Popen([\\"sleep\\",\\"7777\\"]) for _ in range(3)]; time.sleep(7777)"; true')


def sleepers(box, mark="7777"):
    return [line for line in box.processes().values() if line.startswith(f"sleep {mark}")]


def started(box):
    """Attempts that are known to have begun."""
    return len(box.rows("SELECT 1 FROM attempts WHERE started_ms IS NOT NULL")) if box.states() else 0


def test_case_D1_interrupt_ends_whole_trees(box):
    run = box.start("run", "n=1..4", "--slots", "4", "--grace", "2s", "--name", "s", "--", "bash",
                    "-c", NURSERY, "x", "{n}")
    wait_until(lambda: len(sleepers(box)) == 12)
    run.interrupt()
    done = run.wait(20)
    assert done.code == 130, done.text
    assert sleepers(box) == []
    box.wait_for_no_processes()
    assert set(box.states().values()) == {"waiting"}


def test_case_D1_cancelling_one_trial_ends_its_tree_alone(box):
    run = box.start("run", "n=1..2", "--slots", "2", "--grace", "2s", "--name", "s", "--", "bash",
                    "-c", NURSERY, "x", "{n}")
    wait_until(lambda: len(sleepers(box)) == 6)
    box.ok("cancel", "1", "--study", "s")
    wait_until(lambda: len(sleepers(box)) == 3)
    box.wait_for("cancelled", 1)
    assert box.states() == {1: "cancelled", 2: "running"}
    run.interrupt()
    run.wait(20)


def test_case_D1_children_of_a_trial_that_ended_are_ended_before_the_slot_is_lent(box):
    done = box.run("run", "n=1..2", "--slots", "1", "--grace", "2s", "--name", "s", "--", "bash",
                   "-c", "sleep 7777 & echo left=$(pgrep -cf 'sleep 7777' || true)", "x", "{n}")
    assert done.code == 0, done.text
    box.wait_for_no_processes()
    assert done.text.count("a process that it left behind was ended") == 2, done.text
    times = box.rows("SELECT started_ms, ended_ms, released_ms FROM attempts ORDER BY trial")
    assert times[1]["started_ms"] >= times[0]["released_ms"]


def test_case_D2_the_kill_reaches_the_program_behind_the_shell(box):
    run = box.start("run", "n=1", "--grace", "2s", "--name", "s", "--", "sh", "-c",
                    "sleep 5555; echo end", "x", "{n}")
    wait_until(lambda: sleepers(box, "5555"))
    run.interrupt()
    run.wait(20)
    assert sleepers(box, "5555") == []
    assert b"end" not in box.log(1)


def test_programs_that_ignore_TERM_are_killed_at_the_end_of_the_grace(box):
    run = box.start("run", "n=1", "--grace", "1s", "--name", "s", "--", "sh", "-c",
                    "trap '' TERM; echo ready; while :; do sleep 0.1; done", "x", "{n}")
    wait_until(lambda: box.states() and b"ready" in box.log(1))
    begin = time.monotonic()
    run.interrupt()
    assert run.wait(20).code == 130
    assert 0.8 < time.monotonic() - begin < 8
    box.wait_for_no_processes()


def test_case_D5_running_trials_survive_the_controller_and_are_adopted(box):
    words = ("run", "n=1..4", "--slots", "4", "--name", "s", "--metric", "loss", "--goal", "minimize",
             "--", "sh", "-c", 'echo start >> "$SEEDBED_TRIAL_DIR/starts"; '
             'while [ ! -e go ]; do sleep 0.05; done; echo loss=$1; exit 0', "x", "{n}")
    first = box.start(*words)
    wait_until(lambda: box.count("running") == 4)
    wait_until(lambda: len(list(box.study_dir().glob("trials/*/starts"))) == 4)
    first.kill()
    second = box.start(*words)
    wait_until(lambda: len(box.rows("SELECT 1 FROM runs")) == 2)
    box.write("go", "")
    done = second.wait()
    assert done.code == 0, done.text
    assert list(box.states().values()) == ["completed"] * 4
    for trial in range(1, 5):
        assert (box.trial_dir(trial) / "starts").read_text() == "start\n"
    assert box.rows("SELECT max(attempt) AS n FROM attempts") == [{"n": 1}]
    values = box.rows("SELECT last_value FROM metrics ORDER BY trial")
    assert [row["last_value"] for row in values] == [1, 2, 3, 4]


def test_case_D5_trials_that_ended_while_nobody_watched_are_recorded(box):
    words = ("run", "n=1..2", "--slots", "2", "--name", "s", "--", "sh", "-c",
             'while [ ! -e go ]; do sleep 0.05; done; echo loss=$1; [ "$1" = 1 ]', "x", "{n}")
    first = box.start(*words)
    wait_until(lambda: started(box) == 2)
    first.kill()
    box.write("go", "")
    wait_until(lambda: len(list(box.study_dir().glob("trials/*/attempt-1.exit"))) == 2)
    done = box.run(*words)
    assert done.code == 1, done.text
    assert box.states() == {1: "completed", 2: "failed"}
    assert box.rows("SELECT max(attempt) AS n FROM attempts") == [{"n": 1}]


def test_case_D6_a_hangup_does_not_end_the_work(box):
    run = box.start("run", "n=1", "--name", "s", "--", "sh", "-c",
                    "while [ ! -e go ]; do sleep 0.05; done", "x", "{n}",
                    preexec=os.setsid)
    wait_until(lambda: box.count("running") == 1)
    os.killpg(run.pid, signal.SIGHUP)
    box.write("go", "")
    assert run.wait().code == 0
    assert box.states() == {1: "completed"}


def test_case_D7_a_traceback_behind_exit_code_0_gets_a_mark(box):
    box.write("t.py", "import sys\nprint('Traceback (most recent call last):', file=sys.stderr)\n")
    done = box.run("run", "n=1", "--name", "s", "--", PY, "t.py", "{n}")
    assert done.code == 0, done.text
    assert "its log holds a traceback" in done.text
    assert "its log holds a traceback" in box.ok("trials", "s").out


def test_case_D7_text_that_means_failure(box):
    box.sweep("command: [sh, -c, 'echo step; [ $1 = 2 ] && echo \"CUDA error: lost\"; exit 0', x, "
              "'{n}']\nparameters: {n: [1, 2, 3]}\ncapture: {failure: 'CUDA error'}\n", code=1)
    assert box.states() == {1: "completed", 2: "failed", 3: "completed"}
    assert "exit code 0, but its output says: CUDA error: lost" in box.ok("trials", "s").out


def test_case_D7_shell_mode_uses_pipefail(box):
    box.write("sweep.yaml", "shell: true\ncommand: \"python3 -c 'raise SystemExit(3)' | tee log-{n}\"\n"
                            "parameters: {n: {values: [1]}}\n")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 1, done.text
    assert box.rows("SELECT code FROM attempts") == [{"code": 3}]


@pytest.mark.parametrize("limit, word", [("time: 1s", "time"), ("silence: 1s", "silence")])
def test_case_D9_hard_limits(box, limit, word):
    box.write("sweep.yaml", f"""
command: [sh, -c, 'echo loss=1; sleep 1000 & exec sleep 1001', x, "${{args}}"]
parameters: {{n: {{values: [1]}}}}
limits: {{{limit}}}
metric: {{name: loss, goal: minimize}}
""")
    done = box.run("run", "sweep.yaml", "--name", "s", "--grace", "1s")
    assert done.code == 1, done.text
    rows = box.rows("SELECT outcome, detail FROM attempts")
    assert rows[0]["outcome"] == "timed_out" and word in rows[0]["detail"]
    assert box.rows("SELECT last_value FROM metrics") == [{"last_value": 1}]
    box.wait_for_no_processes()


def test_case_D9_the_study_limit_stops_the_run_with_work_left(box):
    box.write("sweep.yaml", """
command: [sh, -c, 'sleep 1000', x, "${args}"]
parameters: {n: {values: [1, 2, 3]}}
limits: {study: 1s}
slots: 1
""")
    done = box.run("run", "sweep.yaml", "--name", "s", "--grace", "1s")
    assert done.code == 6, done.text
    box.wait_for_no_processes()


def test_case_D10_standard_input_is_at_its_end(box):
    box.write("ask.py", "print(input('continue? '))")
    done = box.run("run", "n=1", "--name", "s", "--", PY, "ask.py", "{n}", stdin=b"yes\n")
    assert done.code == 1, done.text
    assert b"EOFError" in box.log(1)
    done = box.run("run", "n=1", "--name", "c", "--", "cat", stdin=b"yes\n", timeout=20)
    assert box.states("c")


def test_case_D11_no_zombies(box):
    run = box.start("run", "n=1..100", "m=1", "--name", "s", "--", "sh", "-c",
                    'if [ "$1" = 100 ]; then while [ ! -e go ]; do sleep 0.05; done; fi', "x", "{n}",
                    "{m}")
    wait_until(lambda: box.count("completed", "s") == 99, 60)
    zombies = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_zombie_of(pid, run.pid)]
    assert zombies == []
    box.write("go", "")
    assert run.wait().code == 0


def is_zombie_of(pid, parent):
    try:
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return fields[0] == "Z" and int(fields[1]) == parent


def test_case_D13_the_ladder_of_interrupts(box):
    run = box.start("run", "n=1..3", "--slots", "2", "--grace", "60s", "--name", "s", "--", "sh",
                    "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done", "x", "{n}")
    wait_until(lambda: box.count("running") == 2)
    wait_until(lambda: all(b"ready" in box.log(t) for t in (1, 2)))
    run.interrupt()
    wait_until(lambda: box.rows("SELECT stop_cause FROM attempts WHERE stop_cause IS NOT NULL"))
    assert run.running
    run.interrupt()
    assert run.wait(20).code == 130
    box.wait_for_no_processes()
    assert set(box.states().values()) == {"waiting"}


def test_case_D14_few_descriptors(box):
    done = box.exec(["bash", "-c", 'ulimit -n 64; exec seedbed run n=1..60 --slots 16 --name s -- '
                     'sh -c "ls /proc/self/fd | wc -l" x {n}'])
    assert done.code == 0, done.text
    # ls itself opens the folder: 0, 1, 2 and that one
    assert {box.log(trial).strip() for trial in box.states()} == {b"4"}


@pytest.mark.parametrize("name, content, executable, word", [
    ("nosuch", None, False, "nosuch"),
    ("noexec.sh", "#!/bin/sh\n", False, "execute permission"),
    ("badshebang", "#!/no/such/python\n", True, "/no/such/python"),
    ("crlf.sh", "#!/bin/sh\r\necho hi\r\n", True, "CRLF"),
    ("folder", "DIR", False, "directory"),
])
def test_case_D16_a_program_that_cannot_run_is_refused_at_once(box, name, content, executable, word):
    if content == "DIR":
        box.path(name).mkdir()
    elif content is not None:
        box.write(name, content, executable)
    done = box.run("run", "n=1..100", "--name", "s", "--", f"./{name}", "{n}")
    assert done.code == 2, done.text
    assert word in done.err and name in done.err
    assert not (box.cwd / "studies" / "s" / "study.db").exists()


@pytest.mark.parametrize("command, word", [
    (["nohup", "./nosuch"], "cannot run ./nosuch"),
    (["env", "A=b", "nice", "-n", "5", "nosuch"], "cannot run nosuch"),
    (["timeout", "5m", PY, "nosuch.py"], "cannot open nosuch.py"),
    (["./envbang"], "nosuch-interpreter"),
    ([PY, "folder"], "is a directory without a __main__.py"),
])
def test_case_D16_a_program_behind_another_is_looked_for_too(box, command, word):
    box.path("folder").mkdir()
    box.write("envbang", "#!/usr/bin/env nosuch-interpreter\n", True)
    done = box.run("run", "n=1..100", "--name", "s", "--", *command, "{n}")
    assert done.code == 2 and word in done.err, done.text
    assert not (box.cwd / "studies" / "s" / "study.db").exists()


def test_case_D16_what_only_a_shell_finds_missing_ends_the_run_soon(box):
    done = box.run("run", "n=1..100", "--slots", "2", "--name", "s", "--", "sh", "-c",
                   "./nosuch $1", "x", "{n}")
    assert done.code == 6, done.text
    assert "exit code 127" in done.out and "cannot find" in done.out
    assert 3 <= box.count("failed") <= 5
