"""pause --freeze: running trials stand still, nothing is lost, resume goes on."""

import pathlib

from conftest import wait_until

COUNT = """
import sys, time
with open(sys.argv[1], "a", buffering=1) as file:
    for i in range(40):
        print(i, file=file)
        time.sleep(0.05)
"""


def lines(box, name):
    path = box.path(name)
    return path.read_text().splitlines() if path.exists() else []


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def stopped(box):
    """Whether every process of the programs is stopped."""
    pids = [pid for pid, line in box.processes().items() if "count.py" in line and "seedbed" not in line]
    return pids and all(state_of(pid) == "T" for pid in pids)


def start(box, trials=1):
    box.write("count.py", COUNT)
    run = box.start("run", "n=" + ",".join(map(str, range(1, trials + 1))), "--name", "s", "--slots", "1", "--", "/usr/bin/python3",
                    "count.py", "out-{n}")
    wait_until(lambda: len(lines(box, "out-1")) > 2)
    return run


def test_frozen_trials_stand_still_and_resume_goes_on(box):
    run = start(box, trials=2)
    assert "stopped where they are" in box.ok("pause", "s", "--freeze").out
    wait_until(lambda: stopped(box))
    before = len(lines(box, "out-1"))
    assert "paused and frozen" in box.run("status", "s").out
    assert box.run("status", "s", "--output", "json").json["frozen"] is True
    assert len(lines(box, "out-1")) == before and stopped(box)
    box.ok("resume", "s")
    assert run.wait().code == 0
    assert [lines(box, f"out-{n}") for n in (1, 2)] == [[str(i) for i in range(40)]] * 2
    assert [row["n"] for row in box.rows("SELECT count(*) AS n FROM attempts")] == [2]


def test_a_frozen_trial_can_be_stopped(box):
    run = start(box)
    box.ok("pause", "s", "--freeze")
    wait_until(lambda: stopped(box))
    run.interrupt()
    assert run.wait().code == 130
    box.wait_for_no_processes()


def test_a_new_run_thaws_what_an_earlier_controller_froze(box):
    run = start(box)
    box.ok("pause", "s", "--freeze")
    wait_until(lambda: stopped(box))
    run.kill()
    assert stopped(box)
    box.ok("run", "--study", "s")
    assert lines(box, "out-1") == [str(i) for i in range(40)]
    assert [row["n"] for row in box.rows("SELECT count(*) AS n FROM attempts")] == [1]
