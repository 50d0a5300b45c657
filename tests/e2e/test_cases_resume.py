"""Theme I of the case list: continuing, retrying, halting; and K5, I17."""

import contextlib
import os
import signal

import pytest
from conftest import wait_until

PY = "/usr/bin/python3"


def run_ids(box, study=None):
    """(trial, attempt) of everything that was started."""
    return [(r["trial"], r["attempt"]) for r in box.rows(
        "SELECT trial, attempt FROM attempts WHERE started_ms IS NOT NULL ORDER BY trial, attempt",
        study=study)]


def test_case_I1_the_same_command_continues(box):
    words = ("run", "n=1..6", "--slots", "2", "--name", "s", "--", "sh", "-c",
             'if [ "$1" -gt 2 ] && [ ! -e go ]; then exec sleep 600; fi; echo loss=1', "x", "{n}")
    first = box.start(*words)
    box.wait_for("completed", 2)
    wait_until(lambda: box.count("running") == 2)
    first.interrupt()
    ended = first.wait()
    assert ended.code == 130, ended.text
    box.wait_for_no_processes()
    assert box.count("completed") == 2 and box.count("failed") == 0
    box.write("go", "")
    done = box.run(*words)
    assert done.code == 0, done.text
    assert list(box.states().values()) == ["completed"] * 6
    ran = run_ids(box)
    assert [pair for pair in ran if pair[0] <= 2] == [(1, 1), (2, 1)]
    again = box.run(*words)
    assert again.code == 0 and run_ids(box) == ran


def test_case_I2_a_changed_grid_runs_only_what_is_new(box):
    def run(*words):
        done = box.run("run", *words, "--name", "s", "--", "true")
        assert done.code == 0, done.text
        return len(run_ids(box))

    assert run("lr=1,2", "bs=8") == 2
    assert run("lr=0,1,2", "bs=8") == 3
    assert run("bs=8", "lr=0,1,2") == 3
    assert run("lr=0,1", "bs=8") == 3
    table = box.json("trials", "s")
    outside = [row for row in table if str(row.get("lr")) == "2"]
    assert len(outside) == 1
    assert run("lr=0,1", "bs=8", "epochs=5") == 5
    assert run("lr=0,1", "width=8") == 7


def test_case_I3_only_the_failed_ones_run_again(box):
    words = ("run", "n=1..6", "--name", "s", "--", "sh", "-c",
             'if [ "$1" -gt 4 ] && [ ! -e fixed ]; then exit 3; fi; echo ok', "x", "{n}")
    assert box.run(*words).code == 1
    assert box.count("failed") == 2
    assert box.run(*words).code == 1 and len(run_ids(box)) == 6
    box.write("fixed", "")
    assert "2 failed trials" in box.ok("retry", "--study", "s").out
    done = box.run(*words)
    assert done.code == 0, done.text
    assert box.count("completed") == 6
    assert run_ids(box)[-4:] == [(5, 1), (5, 2), (6, 1), (6, 2)]
    assert (box.trial_dir(5) / "attempt-1.log").exists()


def test_case_I4_trials_of_a_dead_controller_are_found_dead(box):
    words = ("run", "n=1..2", "--slots", "2", "--name", "s", "--", "sh", "-c",
             '[ -e go ] || exec sleep 600', "x", "{n}")
    first = box.start(*words)
    wait_until(lambda: len(run_ids(box)) == 2 if box.states() else False)
    # Power goes: everything at once, nobody can write what happened.
    everything = box.processes()
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    for pid in sorted(everything, key=lambda pid: "seedbed" not in everything[pid]):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    first.process.wait()
    box.wait_for_no_processes()
    assert "running 0 " in box.run("status", "s").out
    assert [row["interrupted"] for row in box.json("list")] == [2]
    assert [row["state"] for row in box.json("trials", "s")] == ["interrupted"] * 2
    box.write("go", "")
    done = box.run(*words)
    assert done.code == 0, done.text
    assert list(box.states().values()) == ["completed"] * 2


def test_case_I9_one_failure_does_not_end_the_sweep(box):
    done = box.run("run", "n=1..10", "--name", "s", "--", "sh", "-c", '[ "$1" != 3 ]', "x", "{n}")
    assert done.code == 1, done.text
    assert box.count("completed") == 9 and box.count("failed") == 1
    assert "exit code 1" in done.out


def test_case_I9_halt_rules_keep_the_rest_waiting(box):
    done = box.run("run", "n=1..10", "--slots", "1", "--halt", "first", "--name", "s", "--", "false")
    assert done.code == 6, done.text
    assert box.count("failed") == 1
    done = box.run("run", "n=1..10", "--slots", "1", "--halt", "3", "--name", "t", "--", "false")
    assert done.code == 6 and box.count("failed", "t") == 3


def test_case_I11_success_after_a_retry_is_success(box):
    box.write("sweep.yaml", """
command: [sh, -c, 'echo try $SEEDBED_ATTEMPT; [ "$SEEDBED_ATTEMPT" = 2 ]', x, "${args}"]
parameters: {n: {values: [1]}}
retries: {count: 2}
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 0, done.text
    rows = box.rows("SELECT outcome, code FROM attempts ORDER BY attempt")
    assert rows == [{"outcome": "exited", "code": 1}, {"outcome": "exited", "code": 0}]
    assert box.states() == {1: "completed"}


def test_case_I13_show_tells_how_a_result_was_made(box, show_py):
    box.ok("run", "lr=1e-3", "--name", "s", "--", PY, "show.py")
    shown = box.ok("show", "1", "--study", "s").out
    for part in ("show.py", "--lr=1e-3", "OMP_NUM_THREADS", str(box.cwd), "attempt-1.log"):
        assert part in shown, shown
    assert len(box.ok("export", "s", "--format", "csv").out.splitlines()) >= 2


def test_case_I17_a_second_controller_is_refused(box):
    words = ("run", "n=1", "--name", "s", "--", "sleep", "600", "{n}")
    first = box.start(*words)
    wait_until(lambda: box.count("running") == 1)
    second = box.run(*words)
    assert second.code == 3, second.text
    assert str(first.pid) in second.err and "attach" in second.err
    first.kill()
    assert box.run("status", "s").code == 6


def test_the_same_name_with_another_command_is_refused(box):
    assert box.run("run", "n=1", "--name", "s", "--", "true").code == 0
    done = box.run("run", "n=1", "--name", "s", "--", "echo", "{n}")
    assert done.code == 2 and "--new-command" in done.err, done.text
    done = box.run("run", "n=1", "--name", "s", "--new-command", "--", "echo", "{n}")
    assert done.code == 0, done.text
    assert len(box.states()) == 2


def test_add_cancel_and_retry_without_a_controller_are_only_recorded(box):
    box.ok("run", "n=1..2", "--name", "s", "--", "true")
    assert "added" in box.ok("add", "n=7,8", "--study", "s").out
    assert box.count("waiting") == 2
    box.ok("cancel", "4", "--study", "s")
    box.ok("run", "n=1..2", "--name", "s", "--", "true")
    assert list(box.states().values()) == ["completed", "completed", "completed", "cancelled"]


def test_case_K5_the_direction_must_be_clear(box):
    done = box.run("run", "n=1", "--metric", "reward", "--name", "s", "--", "echo", "reward=1", "{n}")
    assert done.code == 2 and "goal" in done.err, done.text
    done = box.run("run", "n=1", "--metric", "loss", "--name", "t", "--", "echo", "loss=1", "{n}")
    assert done.code == 0 and "minimize" in done.out, done.text


def test_case_I15_without_a_network_everything_is_the_same(box):
    probe = box.exec(["unshare", "--net", "/bin/true"])
    if probe.code != 0:
        pytest.skip(f"no network namespace can be made here: {probe.err[:200]}")
    done = box.exec(["unshare", "--net", *box.argv(
        ["run", "n=1,2,3,4", "--slots", "2", "--name", "s", "--metric", "loss", "--goal", "minimize",
         "--", "sh", "-c", 'test -n "$MASTER_PORT" && echo loss=$1', "x", "{n}"])])
    assert done.code == 0, done.text
    assert list(box.states().values()) == ["completed"] * 4
    assert "n = 1" in box.ok("best", "s").out
