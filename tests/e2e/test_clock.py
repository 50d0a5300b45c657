"""The machine's clock jumps while a study runs: nothing is lost, nothing lasts less than nothing."""

import re
import shutil
import subprocess

import pytest
from conftest import wait_until

# Lies about the time of day by as many seconds as a file says; other clocks stay true.
LIAR = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *to) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(id, to);
  const char *path = getenv("CLOCK_SHIFT");
  FILE *file = code == 0 && id == CLOCK_REALTIME && path ? fopen(path, "re") : NULL;
  long shift = 0;
  if (file && fscanf(file, "%ld", &shift) == 1) to->tv_sec += shift;
  if (file) fclose(file);
  return code;
}
"""


class Clock:
    def __init__(self, box, library):
        self.file = box.home / "shift"
        self.env = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(self.file)}

    def set(self, seconds):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self.file)


@pytest.fixture
def clock(box):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler for the library that moves the clock")
    source, library = box.home / "liar.c", box.home / "liar.so"
    source.write_text(LIAR)
    made = subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"],
                          capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"the library that moves the clock cannot be built: {made.stderr[:200]}")
    return Clock(box, library)


# Waits for the file go-N.
WAITER = ["sh", "-c", 'echo loss=$1; while [ ! -e go-$1 ]; do sleep 0.02; done', "x", "{n}"]


def durations(box):
    rows = box.json("trials", "s") + box.ok("export", "s", "--format", "json").json
    return [row["duration"] for row in rows if row["duration"] is not None]


@pytest.mark.parametrize("before, after", [(3600, 0), (0, 3600)])
def test_a_study_goes_on_when_the_clock_jumps(box, clock, before, after):
    clock.set(before)
    run = box.start("run", "n=1..4", "--slots", "1", "--name", "s", "--", *WAITER, env=clock.env)
    box.write("go-1", "")
    box.wait_for("completed", 1)
    wait_until(lambda: box.states()[2] == "running")
    clock.set(after)
    # Others look with the true clock, which may be behind what was recorded.
    assert all(seconds >= 0 for seconds in durations(box))
    for words in (("show", "2", "--study", "s"), ("list",)):
        box.ok(*words)
    status = box.run("status", "s")
    assert status.code == 6 and not re.search(r"-\d+(\.\d+)?(ms|s|m|h)\b", status.out), status.text
    for n in (2, 3, 4):
        box.write(f"go-{n}", "")
    done = run.wait()
    assert done.code == 0, done.text
    assert list(box.states().values()) == ["completed"] * 4
    rows = box.rows("SELECT trial, wall_ms, cpu_ms FROM attempts")
    assert len(rows) == 4 and all(0 <= row["wall_ms"] < 60_000 for row in rows)
    # The next run, with the true clock, takes the records of the future as they are.
    box.write("go-5", "")
    done = box.run("run", "n=1..5", "--name", "s", "--", *WAITER)
    assert done.code == 0, done.text
    assert list(box.states().values()) == ["completed"] * 5
    assert all(0 <= seconds < 60 for seconds in durations(box))


def test_attempts_of_a_dead_controller_from_the_future_are_adopted(box, clock):
    clock.set(3600)
    run = box.start("run", "n=1..2", "--slots", "1", "--name", "s", "--", *WAITER, env=clock.env)
    wait_until(lambda: box.states() and b"loss=1" in box.log(1))
    wait_until(lambda: box.rows("SELECT 1 FROM attempts WHERE started_ms IS NOT NULL"))
    run.kill()
    assert all(seconds >= 0 for seconds in durations(box))
    box.write("go-1", "")
    box.write("go-2", "")
    done = box.run("run", "n=1..2", "--slots", "1", "--name", "s", "--", *WAITER)
    assert done.code == 0, done.text
    assert box.rows("SELECT trial, attempt, outcome FROM attempts") == [
        {"trial": n, "attempt": 1, "outcome": "exited"} for n in (1, 2)]
    assert all(0 <= seconds < 60 for seconds in durations(box))


def test_time_limits_do_not_follow_the_clock(box, clock):
    # An hour forward is no reason to end a trial that may take half of it, nor to call it silent.
    clock.set(0)
    run = box.start("run", box.write("sweep.yaml", """
command: [sh, -c, 'echo on; while [ ! -e go ]; do sleep 0.02; done', x, "${args}"]
parameters: {n: [1]}
limits: {time: 30m, silence: 10m}
"""), "--name", "s", env=clock.env)
    wait_until(lambda: box.states() and b"on" in box.log(1))
    clock.set(3600)
    box.ok("show", "1", "--study", "s", env=clock.env)  # a look, with the new time
    box.write("go", "")
    assert run.wait().code == 0
    assert box.states() == {1: "completed"}


def test_a_retry_waits_no_longer_when_the_clock_is_set_back(box, clock):
    clock.set(3600)
    run = box.start("run", box.write("sweep.yaml", """
command: [sh, -c, '[ "$SEEDBED_ATTEMPT" = 2 ]', x, "${args}"]
parameters: {n: [1]}
retries: {count: 1, wait: 700ms}
"""), "--name", "s", env=clock.env)
    wait_until(lambda: box.rows("SELECT 1 FROM records WHERE kind = 'trial_requeued'")
               if box.states() else False)
    clock.set(0)
    box.wait_for("completed")
    assert run.wait().code == 0


@pytest.mark.parametrize("before, after", [(0, 3600), (3600, 0)])
def test_the_studys_limit_does_not_follow_the_clock(box, clock, before, after):
    clock.set(before)
    limit = "30m" if after else "1s"
    run = box.start("run", box.write("sweep.yaml", f"""
command: [sh, -c, 'echo on; until [ -e go ]; do sleep 0.02; done', x, "${{args}}"]
parameters: {{n: [1, 2]}}
limits: {{study: {limit}}}
slots: 1
"""), "--name", "s", "--grace", "1s", env=clock.env)
    wait_until(lambda: box.states() and b"on" in box.log(1))
    clock.set(after)
    if after:  # not reached: the rest runs
        box.ok("show", "1", "--study", "s")
        box.write("go", "")
        assert run.wait().code == 0, run.out
    else:      # reached, although the clock says otherwise
        assert run.wait().code == 6
