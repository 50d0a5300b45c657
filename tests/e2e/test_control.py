"""Commands that speak to a study: while it runs, and when nothing does."""

import signal
import time

import pytest
from conftest import wait_until

# Waits for the file go-N (or `go`); then fails if there is a file fail-N.
WAITER = ("sh", "-c", 'echo loss=$1; until [ -e go ] || [ -e go-$1 ]; do sleep 0.02; done; '
          '[ ! -e fail-$1 ]', "x", "{n}")


def start(box, count, slots, *options):
    run = box.start("run", f"n=1..{count}", "--slots", slots, "--name", "s", *options, "--",
                    *WAITER)
    wait_until(lambda: box.count("running") == min(count, slots))
    return run


def attempts(box):
    return [(row["trial"], row["attempt"]) for row in box.rows(
        "SELECT trial, attempt FROM attempts WHERE started_ms IS NOT NULL ORDER BY trial, attempt")]


def test_cancelling_a_waiting_and_a_running_trial(box):
    run = start(box, 4, 2)
    box.ok("cancel", "3", "--study", "s")
    box.wait_for("cancelled", 1)
    assert box.states() == {1: "running", 2: "running", 3: "cancelled", 4: "waiting"}
    box.ok("cancel", "1", "--study", "s")
    # Its slot goes to the next one at once.
    wait_until(lambda: box.states() == {1: "cancelled", 2: "running", 3: "cancelled",
                                        4: "running"})
    assert "cancelled by the user" in box.ok("show", "1", "--study", "s").out
    box.write("go", "")
    done = run.wait()
    assert done.code == 0, done.text
    assert attempts(box) == [(1, 1), (2, 1), (4, 1)]
    # Cancelled trials stay cancelled in the next run, until they are asked for.
    words = ("run", "n=1..4", "--name", "s", "--", *WAITER)
    box.ok(*words)
    assert box.count("cancelled") == 2
    box.ok("retry", "1", "3", "--study", "s")
    box.ok(*words)
    assert list(box.states().values()) == ["completed"] * 4
    assert attempts(box) == [(1, 1), (1, 2), (2, 1), (3, 1), (4, 1)]


def test_several_trials_in_one_word(box):
    run = start(box, 9, 1)
    box.ok("cancel", "3-5", "7,9", "--study", "s")
    box.wait_for("cancelled", 5)
    assert [t for t, state in box.states().items() if state == "cancelled"] == [3, 4, 5, 7, 9]
    box.write("go", "")
    assert run.wait().code == 0
    for word in ("abc", "0", "5-3", "1-", "99999999999999999999999"):
        done = box.run("cancel", word, "--study", "s")
        assert done.code == 2 and word in done.err, done.text


def test_retry_while_it_runs(box):
    box.write("fail-1", "")
    box.write("go-1", "")
    run = start(box, 2, 1)
    box.wait_for("failed", 1)
    wait_until(lambda: box.states()[2] == "running")
    box.path("fail-1").unlink()
    box.ok("retry", "--study", "s")
    wait_until(lambda: box.states()[1] in ("waiting", "running"))
    box.write("go", "")
    done = run.wait()
    assert done.code == 0, done.text
    assert attempts(box) == [(1, 1), (1, 2), (2, 1)]
    assert (box.trial_dir(1) / "attempt-1.log").exists()


def test_retrying_a_running_trial_does_not_claim_to_have_done_it(box):
    start(box, 2, 1)
    done = box.run("retry", "1", "--study", "s")
    assert done.out == "s: trial 1 is running\n", done.text
    assert box.ok("retry", "2", "--study", "s").out == "s: trial 2 was waiting already\n"


def test_a_trial_that_waits_out_its_retry_is_said_to(box):
    run = box.start("run", box.write("sweep.yaml", """
command: [sh, -c, 'exit 1', x, "${args}"]
parameters: {n: [1]}
retries: {count: 1, wait: 1h}
"""), "--name", "s")
    wait_until(lambda: box.states() and box.rows(
        "SELECT 1 FROM records WHERE kind = 'trial_requeued'"))
    said = box.ok("retry", "1", "--study", "s").out
    assert "starts again by itself in 59m" in said or "in 1h" in said, said
    run.interrupt()
    run.wait()


@pytest.mark.parametrize("command, claim", [("cancel", "cancelled"), ("retry", "waiting again")])
def test_a_trial_that_does_not_exist_is_told_apart(box, command, claim):
    start(box, 2, 1)
    done = box.run(command, "9", "--study", "s")
    assert claim not in done.out, done.text
    assert done.code == 2 and "there is no trial 9: the last one is 2" in done.err, done.text
    # The others of the list are left as they are, and it is said.
    before = box.states()
    done = box.run(command, "1-2", "9", "11", "--study", "s")
    assert done.code == 2 and "no trials 9, 11" in done.err, done.text
    assert "trials 1-2 are left as they are" in done.err
    assert box.states() == before


@pytest.mark.parametrize("command", ["cancel", "retry"])
def test_a_trial_that_does_not_exist_is_refused_at_rest_too(box, command):
    box.write("go", "")
    box.ok("run", "n=1..2", "--name", "s", "--", *WAITER)
    done = box.run(command, "9", "1", "--study", "s")
    assert done.code == 2 and "there is no trial 9" in done.err, done.text
    assert "completed" in box.ok(command, "1", "--study", "s").out
    assert list(box.states().values()) == ["completed"] * 2


def test_what_cancel_does_is_said_of_each_trial(box):
    box.write("go-1", "")
    run = start(box, 4, 2)
    box.wait_for("completed", 1)
    wait_until(lambda: box.count("running") == 2)
    said = box.ok("cancel", "1-4", "--study", "s").out
    assert said == ("s: trial 1 had ended before: completed; trials 2-3 are asked to stop; "
                    "trial 4 cancelled\n")
    assert run.wait().code == 0


def test_more_slots_than_cores_are_warned_of_once(box):
    run = start(box, 2, 1)
    for _ in range(2):
        said = box.ok("slots", "5000", "--study", "s").out
        assert "would fit" in said and "not pinned" in said, said
    assert box.ok("slots", "1", "--study", "s").out == "s: 1 trial at once from now on\n"
    box.write("go", "")
    assert run.wait().out.count("would fit") == 1


def test_fewer_slots_end_nothing_that_runs(box):
    run = start(box, 5, 3)
    box.ok("slots", "1", "--study", "s")
    wait_until(lambda: "1 slot" in run.out.split("now")[-1])
    assert box.count("running") == 3
    box.write("go-1", "")
    box.write("go-2", "")
    box.wait_for("completed", 2)
    assert box.states()[3] == "running" and box.count("waiting") == 2
    box.write("go-3", "")
    wait_until(lambda: box.states()[4] == "running")
    assert box.states()[5] == "waiting"
    box.write("go", "")
    assert run.wait().code == 0
    # One after the other: the fourth had ended before the fifth began.
    times = box.rows("SELECT started_ms, released_ms FROM attempts WHERE trial > 3 ORDER BY trial")
    assert times[1]["started_ms"] >= times[0]["released_ms"]
    for word in ("0", "abc", "-1", "1.5"):
        assert box.run("slots", word, "--study", "s").code == 2


def test_pause_says_so_everywhere_and_resume_goes_on(box):
    run = start(box, 2, 1)
    box.ok("pause", "s")
    wait_until(lambda: "paused" in run.out)
    status = box.run("status", "s")
    assert status.code == 6 and "paused" in status.out
    assert box.run("status", "s", "--output", "json").json["paused"] is True
    assert "seedbed resume" in box.ok("show", "2", "--study", "s").out
    box.write("go", "")
    box.wait_for("completed", 1)
    wait_until(lambda: box.rows("SELECT 1 FROM attempts WHERE released_ms IS NOT NULL"))
    assert run.running and box.states()[2] == "waiting"
    box.ok("resume", "s")
    assert run.wait().code == 0
    assert box.run("status", "s", "--output", "json").json["paused"] is False


def test_an_interrupt_while_paused_ends_it_and_the_next_run_goes_on(box):
    run = start(box, 2, 1)
    box.ok("pause", "s")
    box.write("go", "")
    box.wait_for("completed", 1)
    run.signal(signal.SIGTERM)
    assert run.wait().code == 143
    done = box.run("run", "n=1..2", "--name", "s", "--", *WAITER, timeout=20)
    assert done.code == 0, done.text
    assert box.count("completed") == 2


@pytest.mark.parametrize("drain", [False, True])
def test_stop_asks_and_drain_waits(box, drain):
    run = start(box, 3, 1, "--grace", "2s")
    box.ok("stop", "s", *(["--drain"] if drain else []))
    if drain:
        wait_until(lambda: "draining" in run.out)
        assert run.running and box.states()[1] == "running"
        box.write("go", "")
    done = run.wait()
    assert done.code == 6, done.text
    assert box.states()[1] == ("completed" if drain else "waiting")
    assert box.count("waiting") == (2 if drain else 3)
    assert box.run("status", "s").code == 6
    box.wait_for_no_processes()


def test_adding_to_a_running_study(box):
    run = start(box, 3, 1)
    assert "2 points given" in box.ok("add", "n=7,8", "--study", "s").out
    assert "every point is there already" in box.ok("add", "n=8", "--study", "s").out
    wait_until(lambda: len(box.states()) == 5)
    # A point that is there already is not added again.
    box.ok("add", "n=2,9", "--study", "s")
    wait_until(lambda: len(box.states()) == 6)
    box.write("go", "")
    assert run.wait().code == 0
    assert [row["n"] for row in box.json("trials", "s")] == [1, 2, 3, 7, 8, 9]
    # What was added stays in the space, whatever later runs name; the third was not.
    box.ok("run", "n=1", "--name", "s", "--", *WAITER)
    inside = [row["n"] for row in box.json("trials", "s") if row["in_space"]]
    assert inside == [1, 2, 7, 8, 9]


def test_adding_to_a_finished_study(box):
    box.write("go", "")
    words = ("run", "n=1..2", "--name", "s", "--", *WAITER)
    box.ok(*words)
    assert box.run(*words).code == 0 and len(attempts(box)) == 2
    box.ok("add", "n=3", "--study", "s")
    assert box.states()[3] == "waiting"
    done = box.ok("run", "--study", "s")
    assert "1 trial" in done.out or "3 completed" in done.out
    assert attempts(box) == [(1, 1), (2, 1), (3, 1)]
    done = box.run("add", "n=loguniform(1,2)", "--study", "s")
    assert done.code == 2, done.text  # endless: needs a limit
    assert box.run("add", "--study", "s").code == 2


@pytest.mark.parametrize("command", [("add", "n=3"), ("retry",), ("retry", "1")])
def test_status_sees_work_that_was_left_by_add_or_retry(box, command):
    box.write("go", "")
    if command[0] == "retry":
        box.write("fail-1", "")
    box.run("run", "n=1..2", "--name", "s", "--", *WAITER)
    box.ok(*command, "--study", "s")
    assert box.count("waiting") == 1
    status = box.run("status", "s")
    assert status.code == 6, status.text
    assert "1 trial waits" in status.out and "seedbed run --study s" in status.out, status.text
    assert "work left" in status.out


def test_status_of_an_interrupted_study_says_how_to_go_on(box):
    run = start(box, 3, 1)
    run.signal(signal.SIGTERM)
    assert run.wait().code == 143
    status = box.run("status", "s")
    assert status.code == 143 and "3 trials wait; to go on: seedbed run --study s" in status.out


@pytest.mark.parametrize("act", [("cancel", "8"), ("add", "n=9"), ("retry", "8")])
def test_what_is_asked_after_a_killed_controller_decides_nothing_in_its_name(box, act):
    box.write("sweep.yaml", "command: [sh, -c, 'until [ -e go ]; do sleep 0.05; done', x, '{n}']\n"
                            "parameters: {n: {values: [1, 2, 3, 4, 5, 6, 7, 8]}}\nslots: 2\n"
                            "limits: {study: 1s}\n")
    run = box.start("run", "sweep.yaml", "--name", "s")
    box.wait_for("running", 2)
    run.kill()
    # The limit of the killed run passes.
    began = box.rows("SELECT at_ms FROM records WHERE kind = 'run_started'")[0]["at_ms"]
    wait_until(lambda: time.time() * 1000 > began + 1100)
    box.run(*act, "--study", "s")
    kinds = {row["kind"] for row in box.rows("SELECT kind FROM records")}
    assert not kinds & {"run_stopping", "attempt_stopping", "run_ended"}
    box.write("go", "")


@pytest.mark.parametrize("words", [("pause",), ("resume",), ("slots", "2"), ("stop",)])
def test_without_a_controller_it_is_said_how_to_get_one(box, words):
    box.write("go", "")
    box.ok("run", "n=1", "--name", "s", "--", *WAITER)
    done = box.run(*words, "--study", "s")
    assert done.code == 2 and "no controller" in done.err and "seedbed run" in done.err, done.text


def test_a_path_is_a_path_although_a_study_has_that_name(box):
    box.ok("run", "n=1", "--name", "one", "--", "true")
    box.ok("run", "n=1..2", "--name", "one", "--dir", ".", "--", "true")
    assert len(box.json("trials", "one")) == 1
    assert len(box.json("trials", "./one")) == 2


def test_an_option_without_a_value_does_not_take_the_next_word(box):
    for option in ("--name=", "--metric=", "--where="):
        done = box.run("run", option, "n=1,2", "--", "true")
        assert done.code == 2 and f"{option} has no value" in done.err, done.text
    assert not box.path("studies").exists()
