"""What a person sees: the live view, its keys, Ctrl-C, a closed window."""

import os
import pathlib
import signal

from conftest import wait_until


def test_the_live_view_shows_trials_and_ends_with_the_result(box):
    view = box.terminal("run", "n=1..4", "--name", "s", "--metric", "loss", "--goal", "minimize",
                        "--", "sh", "-c", "echo loss=$1; sleep 0.3", "x", "{n}")
    view.expect(r"loss")
    assert view.wait() == 0
    assert "4" in view.text and "completed" in view.text


def test_ctrl_c_stops_and_says_what_a_second_one_does(box):
    view = box.terminal("run", "n=1..4", "--slots", "2", "--grace", "30s", "--name", "s", "--", "sh",
                        "-c", "trap '' TERM; while :; do sleep 0.1; done", "x", "{n}")
    wait_until(lambda: view.read() and box.count("running") == 2)
    view.type("\x03")
    view.expect(r"Ctrl-C again")
    view.type("\x03")
    assert view.wait(20) == 130
    box.wait_for_no_processes()


def test_an_early_ctrl_c_reaches_the_run(box):
    """While the controller starts there is no view yet to pass it on."""
    for _ in range(3):
        view = box.terminal("run", "n=1..4", "--name", "s", "--", "sleep", "30{n}")
        controller = wait_until(lambda: child_of(view.pid), 30)
        os.kill(controller, signal.SIGSTOP)
        view.type("\x03")
        view.expect(r"\^C")
        os.kill(controller, signal.SIGCONT)
        assert view.wait(30) == 130
        box.wait_for_no_processes()


def child_of(pid):
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def test_case_D6_a_closed_terminal_leaves_the_work(box):
    view = box.terminal("run", "n=1", "--name", "s", "--", "sh", "-c",
                        "while [ ! -e go ]; do sleep 0.05; done", "x", "{n}")
    wait_until(lambda: view.read() and box.count("running") == 1)
    view.close()
    assert box.run("status", "s").code == 6
    assert "running (pid" in box.run("status", "s").out
    box.write("go", "")
    box.wait_for("completed", 1)


def test_q_leaves_the_work_and_attach_looks_again(box):
    view = box.terminal("run", "n=1", "--name", "s", "--", "sh", "-c",
                        "while [ ! -e go ]; do sleep 0.05; done", "x", "{n}")
    wait_until(lambda: view.read() and box.count("running") == 1)
    view.type("q")
    assert view.wait() == 0
    again = box.terminal("attach", "s")
    again.expect("running")
    box.write("go", "")
    assert again.wait() == 0
    assert box.states() == {1: "completed"}


def test_a_resumed_run_shows_nothing_of_the_run_before(box):
    command = ("--name", "s", "--", "sh", "-c", "[ $1 != 2 ]", "x", "{n}")
    assert box.run("run", "n=1..3", *command).code == 1
    for _ in range(3):
        view = box.terminal("run", "n=1..3", *command)
        assert view.wait() == 1
        # Once when it begins, once when it ends.
        assert view.text.count("study    ") == 2 and view.text.count("records  ") == 2, view.text
        assert "failed after" not in view.text, view.text


def test_detach_returns_at_once(box):
    done = box.run("run", "n=1", "--name", "s", "--detach", "--", "sh", "-c",
                   "while [ ! -e go ]; do sleep 0.05; done", "x", "{n}")
    assert done.code == 0 and "attach" in done.out, done.text
    wait_until(lambda: box.count("running") == 1)
    box.write("go", "")
    box.wait_for("completed", 1)
    box.wait_for_no_processes()
