"""A record, or a folder, that somebody took away: nothing that was computed is lost without a word."""

import shutil
import signal

import pytest
from conftest import wait_until

# Appends to ran.txt, so that every execution shows; waits for the file go, except for n=1.
RUNNER = ("sh", "-c", 'echo $1 >> ran.txt; [ "$1" = 1 ] || until [ -e go ]; do sleep 0.02; done; '
          'echo loss=0.$1', "x", "{n}")


def sweep(box, upto, *options):
    return ("run", f"n=1..{upto}", "--metric", "loss", "--name", "s", *options, "--", *RUNNER)


def executions(box):
    return sorted(box.read("ran.txt").split())


def results(box, study="s"):
    return {row["trial"]: row["last"] for row in box.rows(
        "SELECT m.trial, m.last_value AS last FROM metrics m JOIN metric_names n ON "
        "n.id=m.metric WHERE n.name='loss'", study=study)}


def finished_study(box, upto=4):
    box.write("go", "")
    box.ok(*sweep(box, upto))
    assert executions(box) == [str(n) for n in range(1, upto + 1)]
    return box.study_dir("s") / "study.db"


@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_trials_of_a_lost_record_are_taken_over_from_their_folders(box, how):
    record = finished_study(box)
    before = results(box)
    if how == "removed":
        record.unlink()
    else:
        record.write_bytes(b"")
    looked = box.run("status", "s")
    assert looked.code == 4 and "but there are trials" in looked.err, looked.text
    done = box.ok(*sweep(box, 4))
    assert "study.db was missing or empty" in done.text and "4 folders" in done.text, done.text
    assert executions(box) == ["1", "2", "3", "4"], "nothing ran again"
    assert set(box.states().values()) == {"completed"}
    assert results(box) == before
    assert "found in its folder" in box.ok("show", "2", "--study", "s").out
    again = box.ok(*sweep(box, 4))
    assert "study.db was" not in again.text and executions(box) == ["1", "2", "3", "4"]


def test_an_older_copy_of_the_record_catches_up_with_the_folders(box):
    box.write("go", "")
    box.ok(*sweep(box, 2))
    record = box.study_dir("s") / "study.db"
    shutil.copy(record, box.path("old.db"))
    box.ok(*sweep(box, 5))
    shutil.copy(box.path("old.db"), record)
    done = box.ok(*sweep(box, 6))
    assert "3 folders" in done.text and "00003-n3" in done.text, done.text
    assert executions(box) == ["1", "2", "3", "4", "5", "6"]
    assert results(box) == {n: pytest.approx(n / 10) for n in range(1, 7)}


def test_folders_of_another_command_are_not_taken_for_its_results(box):
    finished_study(box).unlink()
    other = ("sh", "-c", "echo loss=9", "x", "{n}")
    done = box.ok("run", "n=1..4", "--metric", "loss", "--name", "s", "--", *other)
    assert "4 folders" in done.text
    assert set(results(box).values()) == {9.0}
    # What the first command had written is still there.
    assert box.log(2).split() == [b"loss=0.2"] and box.log(2, attempt=2).split() == [b"loss=9"]


def test_an_interrupted_attempt_of_a_lost_record_runs_again(box):
    run = box.start(*sweep(box, 2, "--slots", "2", "--grace", "1s"))
    wait_until(lambda: box.path("ran.txt").exists() and executions(box) == ["1", "2"])
    box.wait_for("completed", 1)
    run.interrupt()
    assert run.wait().code == 130
    (box.study_dir("s") / "study.db").unlink()
    box.write("go", "")
    box.ok(*sweep(box, 2))
    assert executions(box) == ["1", "2", "2"]


def test_a_record_of_which_nothing_can_be_saved_says_so(box):
    record = finished_study(box)
    damaged = bytearray(record.read_bytes())
    for page in range(1, len(damaged) // 4096):
        damaged[page * 4096:(page + 1) * 4096] = b"\x55" * 4096
    record.write_bytes(bytes(damaged))
    done = box.run(*sweep(box, 4))
    assert done.code in (0, 4), done.text
    if done.code == 0:
        assert "none of it could be saved" in done.text and "4 folders" in done.text, done.text
        assert executions(box) == ["1", "2", "3", "4"]
    assert (record.parent / "study.db.damaged-1").exists() == (done.code == 0)


def gone(box, act):
    """Runs a study, does `act` to its folder meanwhile; gives how the run ended."""
    run = box.start(*sweep(box, 9, "--slots", "2"))
    box.wait_for("completed", 1)
    wait_until(lambda: executions(box) == ["1", "2", "3"])
    act(box.study_dir("s"))
    wait_until(lambda: "while the study ran" in run.out + run.err, what=lambda: run.out + run.err)
    box.write("go", "")
    done = run.wait()
    assert executions(box) == ["1", "2", "3"], "nothing new was started"
    box.wait_for_no_processes()
    return done


def test_a_study_folder_that_is_removed_while_it_runs_is_noticed(box):
    done = gone(box, shutil.rmtree)
    assert done.code == 4 and "moved or removed" in done.text, done.text


def test_a_study_folder_that_is_moved_while_it_runs_keeps_everything(box):
    done = gone(box, lambda folder: folder.rename(folder.parent / "t"))
    assert done.code == 4, done.text
    assert [box.states("t")[n] for n in (1, 2, 3)] == ["completed", "waiting", "waiting"]
    assert "its folder was removed while it ran" in done.text
    box.ok("run", "n=1..9", "--metric", "loss", "--name", "t", "--", *RUNNER)
    assert executions(box) == sorted([*"123456789", "2", "3"])


def test_a_moved_study_takes_nothing_from_a_new_one_of_its_name(box):
    teller = ("sh", "-c", 'echo loss=$V; until [ -e go ]; do sleep 0.02; done; echo loss=$V$V', "x",
              "{n}")
    words = ("run", "n=1", "--metric", "loss", "--name", "s", "--", *teller)
    first = box.start(*words, env={"V": "1"})
    wait_until(lambda: results(box) if box.states() else None)
    box.study_dir("s").rename(box.cwd / "studies" / "t")
    second = box.start(*words, env={"V": "9"})
    wait_until(lambda: box.states("s").get(1) == "running")
    box.write("go", "")
    assert first.wait().code == 4 and second.wait().code == 0
    assert results(box) == {1: 99.0}
    assert box.states("t") == {1: "waiting"}, "its own output was not read to the end"
    box.ok("run", "--study", "t", env={"V": "1"})
    assert results(box, "t") == {1: 11.0}


def test_a_log_that_was_removed_before_it_was_read_to_the_end_is_no_result(box):
    teller = ("sh", "-c", 'echo loss=1; until [ -e go ]; do sleep 0.02; done; echo loss=2', "x",
              "{n}")
    words = ("run", "n=1", "--metric", "loss", "--name", "s", "--", *teller)
    run = box.start(*words)
    wait_until(lambda: results(box) if box.states() else None)
    shutil.rmtree(box.trial_dir(1))
    box.write("go", "")
    assert run.wait().code == 0
    assert results(box) == {1: 2.0}
    assert [row["attempt"] for row in box.rows("SELECT attempt FROM attempts")] == [1, 2]


def test_trials_that_are_removed_while_they_run_are_not_taken_for_completed(box):
    done = gone(box, lambda folder: shutil.rmtree(folder / "trials"))
    assert done.code == 4, done.text
    assert box.states()[1] == "completed"
    assert [box.states()[n] for n in (2, 3)] == ["waiting"] * 2
    assert "its folder was removed while it ran" in done.text
    box.ok(*sweep(box, 9))
    assert set(box.states().values()) == {"completed"}


def test_a_record_that_is_emptied_while_it_runs_is_noticed(box):
    run = box.start(*sweep(box, 9, "--slots", "2"))
    box.wait_for("completed", 1)
    (box.study_dir("s") / "study.db").write_bytes(b"")
    wait_until(lambda: not run.running or "emptied while" in run.out + run.err)
    box.write("go", "")
    done = run.wait()
    assert done.code == 4, done.text
    assert "emptied while" in done.text or "the same command" in done.text, done.text


def test_a_program_that_was_edited_between_two_runs_is_told(box):
    box.write("t.py", "print('loss=1')\n")
    words = ("--metric", "loss", "--name", "s", "--", "python3", "t.py", "{n}")
    box.ok("run", "n=1", *words)
    assert "changed" not in box.ok("run", "n=1..2", *words).text
    box.write("t.py", "print('loss=2')  # better\n")
    done = box.ok("run", "n=1..3", *words)
    assert "t.py was changed since earlier trials ran" in done.text, done.text
    assert "another --name keeps them apart" in done.text
    assert "was changed" not in box.ok("run", "n=1..4", *words).text, "said once"
    code = [row["code"] for row in box.ok("export", "s", "--format", "jsonl").json_lines]
    assert code[0] == code[1] != code[2] == code[3], code
    assert "  code\n" in box.ok("trials", "s").out


def test_the_same_study_run_from_another_folder_is_told(box):
    (box.cwd / "a").mkdir()
    (box.cwd / "b").mkdir()
    box.write("a/t.py", "print('loss=1')\n")
    box.write("b/t.py", "print('loss=2')\n")
    words = ("--metric", "loss", "--dir", str(box.cwd / "studies"), "--name", "s", "--",
             "python3", "t.py", "{n}")
    box.ok("run", "n=1", *words, cwd=box.cwd / "a")
    done = box.ok("run", "n=1..2", *words, cwd=box.cwd / "b")
    assert "is not what earlier trials ran" in done.text, done.text


def test_a_stopped_controller_is_told_and_does_nothing_later(box):
    run = box.start(*sweep(box, 3, "--slots", "2"))
    box.wait_for("completed", 1)
    run.signal(signal.SIGSTOP)
    for words in (("stop",), ("pause",), ("add", "n=7")):
        done = box.run(*words, "--study", "s")
        assert done.code == 5 and f"kill -CONT {run.pid}" in done.err, done.text
        assert done.seconds < 5
    run.signal(signal.SIGCONT)
    box.write("go", "")
    done = run.wait()
    assert done.code == 0, done.text
    assert list(box.states().values()) == ["completed"] * 3


def test_a_trial_that_removes_its_own_folder_is_not_tried_for_ever(box):
    done = box.run("run", "x=1", "--metric", "loss", "--name", "s", "--", "sh", "-c",
                   "echo loss=1; rm -rf $SEEDBED_TRIAL_DIR", "x", "{x}")
    assert done.code == 1, done.text
    assert box.states() == {1: "failed"}
    assert [row["outcome"] for row in box.rows("SELECT outcome FROM attempts")] == ["lost"] * 3
    assert "its folder was removed while it ran" in box.ok("trials", "s").out


@pytest.mark.parametrize("act", [("cancel", "1"), ("retry", "1"), ("add", "n=9")])
def test_a_damaged_record_is_left_to_run(box, act):
    record = finished_study(box)
    whole = record.read_bytes()
    record.write_bytes(whole[:len(whole) - 8192])
    before = record.read_bytes()
    done = box.run(*act, "--study", "s")
    assert done.code == 4 and "seedbed run --study" in done.err, done.text
    assert record.read_bytes() == before
