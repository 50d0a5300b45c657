"""The helpers themselves, as far as they can be wrong in silence."""

import re
import signal

import pytest

from conftest import PYTHON, wait_until


def test_output_codes_and_time_are_kept(box):
    done = box.exec([PYTHON, "-c", "import sys; print('out'); print('err', file=sys.stderr); "
                                   "sys.exit(3)"])
    assert (done.code, done.out, done.err) == (3, "out\n", "err\n")


def test_environment_is_the_boxes_own(box):
    done = box.exec(["/usr/bin/env"], env={"LANG": None, "EXTRA": 1})
    names = {line.split("=")[0] for line in done.out.splitlines()}
    assert "EXTRA" in names and "LANG" not in names
    # The one that makes each box a machine of its own.
    assert [name for name in names if name.startswith("SEEDBED_")] == ["SEEDBED_LOCKS"]


def test_leftover_processes_are_seen_and_a_command_with_one_still_ends(box):
    done = box.exec(["/bin/sh", "-c", "setsid sleep 300 & echo started"], timeout=20)
    assert done.out == "started\n"
    # Its environment cannot be read while it turns from shell to setsid to sleep.
    found = wait_until(lambda: [pid for pid, line in box.processes().items()
                                if line.startswith("sleep 300")])
    box.exec(["/bin/kill", "-KILL", *found])
    box.wait_for_no_processes()


def test_waiting_for_what_never_comes_fails():
    with pytest.raises(pytest.fail.Exception):
        wait_until(lambda: False, timeout=0.05)


def test_binary_says_its_version_and_refuses_nonsense(box):
    assert re.search(r"\d+\.\d+\.\d+", box.ok("--version").out)
    done = box.run("no-such-command")
    assert done.code == 2, done.text


def test_terminal_shows_and_signals(box):
    terminal = box.terminal("--help")
    terminal.expect("run")
    assert terminal.wait() == 0
    view = box.terminal("run", "n=1", "--name", "s", "--", "sleep", "6{n}")
    wait_until(lambda: view.read() and box.count("running") == 1)
    view.type("\x03")
    assert view.wait() == 128 + signal.SIGINT
