"""Limits of a trial, retries, halt rules and early stopping, as the user sees and asks for them."""

import os
import pathlib
import re
import resource
import time

import pytest
from conftest import wait_until

PY = "/usr/bin/python3"


def ends(box):
    """(trial, attempt, outcome, code) of everything that ended."""
    return [tuple(row.values()) for row in box.rows(
        "SELECT trial, attempt, outcome, code FROM attempts ORDER BY trial, attempt")]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# The size of a log ----------------------------------------------------------------------------

# Writes much more than the limit, waits until its log was cut, writes its tail.
FLOOD = r"""
import os, sys, time
log = os.path.join(os.environ['SEEDBED_TRIAL_DIR'], 'attempt-1.log')
print('step=1 loss=9\nHEAD', flush=True)
for i in range(6000):
    print('line %05d %s' % (i, 'x' * 180))
sys.stdout.flush()
written = os.stat(log).st_size
print('step=2 loss=5')
end = time.monotonic() + 20
while os.stat(log).st_blocks * 512 > written // 2 and time.monotonic() < end:
    time.sleep(0.01)
print('step=3 loss=1\nTAIL', flush=True)
"""
FLOOD_SWEEP = f"""
command: [{PY}, flood.py, "${{args}}"]
parameters: {{n: 1}}
metric: {{name: loss, goal: minimize}}
limits: {{log: 200kB}}
"""


@pytest.fixture
def flooded(box):
    box.write("flood.py", FLOOD)
    probe = box.write("probe", b"x" * 65536)
    if os.statvfs(probe).f_bsize > 65536:
        pytest.skip("this file system's blocks are larger than the test's logs")
    return box.sweep(FLOOD_SWEEP)


def test_case_C2_a_log_over_its_limit_keeps_head_and_tail(box, flooded):
    assert ends(box) == [(1, 1, "exited", 0)]
    assert box.states() == {1: "completed"}
    log = box.trial_dir(1) / "attempt-1.log"
    if log.stat().st_blocks * 512 > 600_000:
        pytest.skip("this file system cannot punch holes")
    assert log.stat().st_blocks * 512 <= 200_000 + 8192
    text = log.read_bytes()
    assert text.startswith(b"step=1 loss=9\nHEAD\nline 00000 ")
    assert text.endswith(b"step=3 loss=1\nTAIL\n")
    assert b"line 05999" in text and b"line 03000" not in text
    # The record says how much was written, not how much is left.
    assert box.rows("SELECT log_bytes FROM attempts") == [{"log_bytes": len(text)}]
    values = box.rows("SELECT first_value, last_value, min_value FROM metrics")
    assert values[0]["last_value"] == values[0]["min_value"] == 1.0


def test_case_C2_it_is_said_that_a_log_was_cut(box, flooded):
    notes = [row["text"] for row in box.rows("SELECT text FROM notes WHERE trial = 1")]
    assert any("limit" in note for note in notes), notes
    assert "limit" in box.ok("show", "1", "--study", "s").out


def test_case_C2_logs_shows_a_cut_log_at_the_size_that_is_left(box, flooded):
    out = box.ok("logs", "1", "--study", "s").out
    assert "HEAD" in out and "TAIL" in out
    assert len(out) < 400_000
    assert "\\x00" not in out and "\0" not in out
    gap = re.search(r"^… (\d+) bytes not kept.*\n", out, re.M)
    log = (box.trial_dir(1) / "attempt-1.log").read_bytes()
    assert gap and int(gap[1]) == log.count(b"\0")
    # The bytes as they are: the kept ones, and the line apart from them.
    raw = box.ok("logs", "1", "--study", "s", "--raw")
    assert raw.out.encode() == log.replace(b"\0", b"")
    assert raw.err == gap[0]
    assert not [note["text"] for note in box.rows("SELECT text FROM notes")
                if "longer than" in note["text"]]


def test_an_attempt_that_was_not_is_refused_with_their_number(box):
    box.ok("run", "n=1", "--name", "s", "--", "echo", "hello{n}")
    done = box.run("logs", "1", "--attempt", "5", "--study", "s")
    assert done.code == 2 and "has had 1 attempt" in done.err, done.text
    assert box.ok("logs", "1", "--attempt", "1", "--study", "s").out == "hello1\n"


def test_a_log_under_its_limit_is_whole(box):
    box.sweep("command: [sh, -c, 'head -c 150000 /dev/zero | tr \"\\0\" x', x, '${args}']\n"
               "parameters: {n: 1}\nlimits: {log: 200kB}\n")
    assert box.log(1) == b"x" * 150_000


# Time and silence -----------------------------------------------------------------------------

def test_case_D9_the_reason_of_a_timeout_is_shown_and_the_slot_goes_on(box):
    done = box.sweep("""
command: [sh, -c, 'echo loss=$1; [ "$1" = 3 ] || exec sleep 600', x, "{n}"]
parameters: {n: [1, 2, 3]}
limits: {time: 600ms}
slots: 1
""", code=1)
    assert box.states() == {1: "failed", 2: "failed", 3: "completed"}
    assert "timed out (time)" in done.out
    rows = box.json("trials", "s")
    assert [row["reason"] for row in rows[:2]] == ["timed out (time)"] * 2
    for row in rows[:2]:
        assert 0.55 < row["duration"] < 5
    assert "timed out (time)" in box.ok("show", "2", "--study", "s").out
    status = box.run("status", "s")
    assert status.code == 1 and "timed out (time)" in status.out
    # What was reported before the end counts as seen.
    assert [row["last_value"] for row in box.rows("SELECT last_value FROM metrics")] == [1, 2, 3]


def test_case_D9_only_silence_is_silence(box):
    # The first one works longer than the limit, but never silently; the second stops talking; the
    # third says nothing, but the file that is captured grows.
    box.sweep("""
command: [sh, -c, 'for i in 1 2 3 4 5 6 7 8 9; do case $1 in 1) echo $i ;;
  2) [ $i -gt 1 ] || echo $i ;; 3) echo $i,$i >> "$SEEDBED_TRIAL_DIR/m.csv" ;; esac; sleep 0.2; done',
  x, "{n}"]
parameters: {n: [1, 2, 3]}
limits: {silence: 1s}
capture: [{file: "{trial_dir}/m.csv"}]
slots: 3
""", code=1)
    assert box.states() == {1: "completed", 2: "failed", 3: "completed"}
    assert box.rows("SELECT outcome, detail FROM attempts WHERE trial = 2") == [
        {"outcome": "timed_out", "detail": "silence"}]
    assert "timed out (silence)" in box.ok("show", "2", "--study", "s").out


def test_case_D9_the_study_limit_leaves_the_rest_for_the_next_run(box):
    text = """
command: [sh, -c, '[ "$1" = 1 ] || [ -e go ] || exec sleep 600', x, "{n}"]
parameters: {n: [1, 2, 3]}
limits: {study: 1s}
slots: 1
"""
    done = box.sweep(text, "--grace", "2s", code=6)
    assert "study limit" in done.out
    assert box.states() == {1: "completed", 2: "waiting", 3: "waiting"}
    assert box.run("status", "s").code == 6
    box.write("go", "")
    box.sweep(text.replace("1s", "1h"))
    assert box.count("completed") == 3


# Retries --------------------------------------------------------------------------------------

def test_case_I11_a_retry_waits_as_long_as_asked(box):
    done = box.sweep("""
command: [sh, -c, '[ "$SEEDBED_ATTEMPT" = 3 ]', x, "${args}"]
parameters: {n: [1]}
retries: {count: 2, wait: 400ms}
""")
    assert ends(box) == [(1, 1, "exited", 1), (1, 2, "exited", 1), (1, 3, "exited", 0)]
    times = box.rows("SELECT started_ms, ended_ms FROM attempts ORDER BY attempt")
    for before, after in zip(times, times[1:]):
        assert 390 <= after["started_ms"] - before["ended_ms"] < 5000
    assert "retry 1" in done.out and "retry 2" in done.out


def test_the_slot_is_not_held_while_a_retry_waits(box):
    run = box.start("run", box.write("sweep.yaml", """
command: [sh, -c, '[ "$1" != 1 ]', x, "{n}"]
parameters: {n: [1, 2, 3]}
retries: {count: 1, wait: 1h}
slots: 1
"""), "--name", "s")
    box.wait_for("completed", 2)
    assert box.states()[1] == "waiting"
    shown = box.ok("show", "1", "--study", "s").out
    assert "before it is tried again" in shown, shown
    box.ok("cancel", "1", "--study", "s")
    assert run.wait().code == 0
    assert box.states() == {1: "cancelled", 2: "completed", 3: "completed"}


CAUSES = """
command: [sh, -c, 'case $1 in exited) exit 3 ;; signalled) kill -9 $$ ;;
  timed_out) exec sleep 600 ;; esac', x, "{how}"]
parameters: {how: [exited, signalled, timed_out]}
limits: {time: 500ms}
retries: {count: 1, on: [CAUSE]}
slots: 3
"""


@pytest.mark.parametrize("cause, trial", [("exited", 1), ("signalled", 2), ("timed_out", 3)])
def test_retries_by_cause(box, cause, trial):
    box.sweep(CAUSES.replace("CAUSE", cause), code=1)
    attempts = box.rows("SELECT trial, count(*) AS n FROM attempts GROUP BY trial ORDER BY trial")
    assert [row["n"] for row in attempts] == [2 if t == trial else 1 for t in (1, 2, 3)]
    assert list(box.states().values()) == ["failed"] * 3


def test_an_interrupt_uses_up_no_retry(box):
    text = """
command: [sh, -c, 'echo go; [ -e go ] || exec sleep 600; exit 1', x, "${args}"]
parameters: {n: [1]}
retries: 1
"""
    run = box.start("run", box.write("sweep.yaml", text), "--name", "s")
    wait_until(lambda: box.states() and b"go" in box.log(1))
    run.interrupt()
    assert run.wait().code == 130
    box.write("go", "")
    box.sweep(text, code=1)
    # The interrupted one, the one that failed, and its retry.
    assert [outcome for _, _, outcome, _ in ends(box)] == ["stopped", "exited", "exited"]


# Halt rules -----------------------------------------------------------------------------------

def test_case_I9_halt_first_lets_running_trials_finish(box):
    run = box.start("run", "n=1..6", "--slots", "2", "--halt", "first", "--name", "s", "--", "sh",
                    "-c", '[ "$1" = 1 ] || while [ ! -e go ]; do sleep 0.02; done; '
                    'if [ "$1" = 1 ]; then until [ -e fail ]; do sleep 0.02; done; exit 1; fi',
                    "x", "{n}")
    wait_until(lambda: len(box.rows("SELECT 1 FROM attempts WHERE started_ms IS NOT NULL")) == 2
               if box.states() else False)
    box.write("fail", "")
    box.wait_for("failed")
    wait_until(lambda: "halt rule" in run.out)
    assert run.running
    box.write("go", "")
    done = run.wait()
    assert done.code == 6, done.text
    assert list(box.states().values()) == ["failed", "completed"] + ["waiting"] * 4
    assert box.run("status", "s").code == 6


def test_case_I9_the_next_run_starts_counting_anew(box):
    words = ("run", "n=1..6", "--slots", "1", "--halt", "2", "--name", "s", "--", "false")
    assert box.run(*words).code == 6
    assert box.count("failed") == 2
    assert box.run(*words).code == 6
    assert box.count("failed") == 4
    assert box.run(*words[:4], *words[6:]).code == 1
    assert box.count("failed") == 6


@pytest.mark.parametrize("share, ended, code", [("40%", 11, 6), ("50%", 20, 1)])
def test_case_I9_halt_at_a_share_of_failures(box, share, ended, code):
    # Trials 7, 8, 9, … fail: 4 of the first 10 (40 %) are reached at the tenth, 5 of 11 later.
    done = box.run("run", "n=1..20", "--slots", "1", "--halt", share, "--name", "s", "--", "sh",
                   "-c", '[ "$1" -le 6 ] || [ "$1" -gt 10 ]', "x", "{n}")
    assert done.code == code, done.text
    if code == 6:
        assert "4 of 10" in done.out
        assert box.count("waiting") == 10
    else:
        assert box.count("waiting") == 0 and box.count("failed") == 4
    assert box.count("completed") + box.count("failed") <= ended


@pytest.mark.parametrize("rule", ["0", "101%", "abc", "-1", "1.5", "%"])
def test_case_I9_a_wrong_halt_rule_is_refused(box, rule):
    done = box.run("run", "n=1..3", f"--halt={rule}", "--name", "s", "--", "true")
    assert done.code == 2 and "halt" in done.err, done.text
    assert not box.path("studies").exists()


def test_an_empty_halt_rule_is_refused(box):
    done = box.run("run", "n=1..3", "--halt", "", "--name", "s", "--", "true")
    assert done.code == 2 and "--halt" in done.err and "is empty" in done.err, done.text


# Early stopping -------------------------------------------------------------------------------

MEDIAN = f"""
command: [{PY}, t.py, "{{n}}"]
parameters: {{n: [1, 2, 3, VALUES]}}
metric: {{name: loss, goal: GOAL}}
early_terminate: RULE
slots: 1
"""
# Reports two steps; a bad one then waits to be stopped, for ever.
CURVE = """
import os, sys, time
value = sys.argv[1]
for step in (1, 2):
    print(f'step={step} loss={value}', flush=True)
if value not in ('1', '2', '3') and not os.path.exists('free'):
    time.sleep(600)
"""


def test_case_K4_median_stops_the_bad_one_and_says_why_with_numbers(box):
    box.write("t.py", CURVE)
    done = box.sweep(MEDIAN.replace("VALUES", "9").replace("GOAL", "minimize").replace(
        "RULE", "{type: median, min_iter: 2, min_trials: 3}"))
    assert box.states() == {1: "completed", 2: "completed", 3: "completed", 4: "pruned"}
    reason = box.json("trials", "s")[3]["reason"]
    assert "median" in reason and "9" in reason and "2" in reason and "3 completed" in reason
    assert reason in done.out and reason in box.ok("show", "4", "--study", "s").out
    # Its last values are kept; a pruned trial is never best.
    assert box.rows("SELECT last_value FROM metrics WHERE trial = 4") == [{"last_value": 9.0}]
    assert box.json("best", "s")[0]["trial"] == 1
    assert box.run("status", "s").code == 0
    assert "pruned" in box.run("status", "s").out


def test_case_K4_median_turns_with_the_goal(box):
    box.write("t.py", CURVE)
    box.sweep(MEDIAN.replace("VALUES", "0.5").replace("GOAL", "maximize").replace(
        "RULE", "{type: median, min_iter: 2, min_trials: 3}"))
    assert box.count("pruned") == 1 and box.states()[4] == "pruned"


@pytest.mark.parametrize("rule", ["{type: median, min_iter: 2, min_trials: 4}",
                                  "{type: median, min_iter: 3, min_trials: 3}"])
def test_case_K4_too_few_peers_or_too_early_stops_nobody(box, rule):
    box.write("t.py", CURVE)
    box.write("free", "")
    box.sweep(MEDIAN.replace("VALUES", "9").replace("GOAL", "minimize").replace("RULE", rule))
    assert list(box.states().values()) == ["completed"] * 4


def test_case_K4_equal_curves_and_nan_among_them_stop_nobody(box):
    box.write("sweep.yaml", """
command: [sh, -c, 'echo step=1 loss=$1; echo step=2 loss=$1', x, "{v}", "{seed}"]
parameters: {v: [1], seed: [0, 1, 2, 3, 4]}
union: [{parameters: {v: [nan], seed: [0, 1]}}, {parameters: {}}]
metric: {name: loss, goal: minimize}
early_terminate: {type: median, min_iter: 1, min_trials: 1}
slots: 1
""")
    box.ok("run", "sweep.yaml", "--name", "s")
    assert list(box.states().values()) == ["completed"] * 7


def test_case_C7_with_both_rules_nan_and_median_each_take_their_own(box):
    box.write("t.py", CURVE)
    box.sweep(MEDIAN.replace("VALUES", "nan, 9").replace("GOAL", "minimize").replace(
        "RULE", "[{type: nan}, {type: median, min_iter: 2, min_trials: 3}]"))
    assert list(box.states().values())[3:] == ["pruned", "pruned"]
    reasons = [row["reason"] for row in box.json("trials", "s")[3:]]
    assert "nan" in reasons[0].lower() and "median" not in reasons[0]
    assert "median" in reasons[1]


def test_an_interrupt_does_not_wait_for_the_longer_grace_of_a_pruned_trial(box):
    box.write("sweep.yaml", """
command: [sh, -c, 'sh -c "trap \\"\\" TERM; while :; do sleep 0.1; done" & echo loss=nan; exec sleep 1000', x, '{n}']
parameters: {n: {values: [1]}}
metric: {name: loss, goal: minimize}
early_terminate: {type: nan}
""")
    run = box.start("run", "sweep.yaml", "--name", "s", "--grace", "300ms")
    wait_until(lambda: box.states() and box.rows("SELECT 1 FROM attempts WHERE outcome = 'pruned'"))
    begun = time.monotonic()
    done = run.wait()
    # 30 s are the grace of a pruned program, not of what it leaves behind.
    assert time.monotonic() - begun < 15 and done.code == 0, done.text
    box.wait_for_no_processes()


def test_a_limit_of_many_years_is_no_alarm_at_once(box):
    box.write("sweep.yaml", "command: [sh, -c, 'until [ -e go ]; do sleep 0.05; done', x, '{n}']\n"
                            "parameters: {n: {values: [1]}}\nlimits: {study: 150000d}\n")
    run = box.start("run", "sweep.yaml", "--name", "s")
    box.wait_for("running")
    used = cpu_seconds(run.pid)
    begun = time.monotonic()
    wait_until(lambda: time.monotonic() - begun > 1)
    assert cpu_seconds(run.pid) - used < 0.5
    box.write("go", "")
    assert run.wait().code == 0


def test_a_trial_may_stop_itself_when_it_finds_the_stop_file(box):
    # Asked by the file it ends well within the grace, with a last value of its own.
    box.write("t.py", """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('step=1 loss=nan', flush=True)
while not os.path.exists(os.environ['SEEDBED_STOP']): time.sleep(0.01)
print('step=2 loss=3', flush=True)
""")
    box.sweep(f"""
command: [{PY}, t.py, "${{args}}"]
parameters: {{n: [1]}}
metric: {{name: loss, goal: minimize}}
early_terminate: {{type: nan}}
""")
    assert box.states() == {1: "pruned"}
    assert ends(box)[0][2:] in (("pruned", 0), ("exited", 0))
    assert box.rows("SELECT last_value FROM metrics") == [{"last_value": 3.0}]


def test_case_D14_a_small_limit_of_open_files_makes_the_width_smaller(box):
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    done = box.ok("run", "n=1..60", "--slots", "50", "--name", "s", "--", "true", "{n}",
                  preexec=few_files)
    assert "16 trials at once instead of 50" in done.text, done.text
    assert box.count("completed") == 60


def test_a_limit_on_the_size_of_files_does_not_end_the_controller_by_a_signal(box):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300 * 1024, 300 * 1024))

    run = box.start("run", "n=1..400", "--slots", "2", "--name", "s", "--", "true", "{n}",
                    preexec=small_files)
    wait_until(lambda: not run.running or "records cannot be written" in run.out)
    if run.running:
        run.interrupt()
    assert run.wait().code in (0, 5, 130)
