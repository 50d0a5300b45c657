"""Theme C of the case list: output and metrics; and C7, K3, K7, K8 as far as records show them."""

import json
import math

from conftest import wait_until

PY = "/usr/bin/python3"


def points(box, trial=1, study=None):
    rows = box.rows("SELECT m.name, p.step, p.value FROM points p JOIN metric_names m "
                    "ON m.id = p.metric WHERE p.attempt / 1000000 = ? ORDER BY p.id", trial,
                    study=study)
    return [(r["name"], r["step"], r["value"]) for r in rows]


def run_script(box, script, *words, code=0, name="s"):
    box.write("t.py", script)
    done = box.run("run", "n=1", "--name", name, *words, "--", PY, "t.py", "{n}")
    assert done.code == code, done.text
    return done


def test_case_C1_python_output_is_seen_at_once(box):
    box.write("t.py", "import os, time\nprint('step', 1, 'loss=', 0.5)\n"
                      "while not os.path.exists('go'): time.sleep(0.02)\n")
    run = box.start("run", "n=1", "--name", "s", "--", PY, "t.py", "{n}")
    wait_until(lambda: box.states() and b"step 1" in box.log(1), 20)
    box.write("go", "")
    assert run.wait().code == 0


def test_case_C2_bars_with_carriage_returns(box):
    run_script(box, """
import sys
for i in range(20000):
    sys.stderr.write("\\r%3d%%|####| loss=%.4f" % (i // 200, 1 / (i + 1)))
sys.stderr.write("\\rdone loss=0.123")
""")
    last = box.rows("SELECT last_value, n FROM metrics")
    assert last[0]["last_value"] == 0.123


def test_case_C4_a_flood_and_a_child_that_keeps_the_output_open(box):
    done = run_script(box, "import sys; sys.stderr.write('e'*1000000); sys.stdout.write('o'*1000000)")
    assert len(box.log(1)) == 2_000_000
    done = box.run("run", "n=1", "--grace", "1s", "--name", "g", "--", "sh", "-c",
                   "sleep 300 & echo started", "x", "{n}")
    assert done.code == 0 and done.seconds < 15, done.text
    box.wait_for_no_processes()


def test_case_C5_bytes_that_are_not_utf8(box):
    done = box.run("run", "n=1", "--name", "s", "--", "printf",
                   "caf\\xe9 \\xff\\xfe\\x00 loss=0.5\\n\\xc3%.0s", "{n}")
    assert done.code == 0, done.text
    assert box.log(1) == b"caf\xe9 \xff\xfe\x00 loss=0.5\n\xc3"
    assert points(box) == [("loss", 1, 0.5)]
    box.json("trials", "s")
    json.loads(box.ok("export", "s", "--format", "json").out)


def test_case_C7_nan_is_never_best(box):
    words = ("run", "v=nan,0.5,inf,-inf", "--name", "s", "--metric", "loss", "--", "echo",
             "loss={v}")
    done = box.run(*words, "--goal", "minimize")
    assert done.code == 0, done.text
    assert "minimize" in box.ok("best", "s").out
    # Only finite values compete: neither nan nor an infinity of either sign is ever best.
    assert box.json("best", "s")[0]["trial"] == 2
    assert box.json("best", "s", "--goal", "maximize")[0]["trial"] == 2
    values = {r["trial"]: r["last_value"] for r in box.rows("SELECT trial, last_value FROM metrics")}
    assert values[2] == 0.5 and values[3] == math.inf and values[1] is None


def test_case_C7_a_trial_is_stopped_at_its_first_nan(box):
    box.write("t.py", "import time\nprint('step=1 loss=nan', flush=True)\ntime.sleep(600)\n")
    box.write("sweep.yaml", f"""
command: [{PY}, t.py, "${{args}}"]
parameters: {{n: {{values: [1]}}}}
metric: {{name: loss, goal: minimize}}
early_terminate: {{type: nan}}
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 0, done.text
    assert box.states() == {1: "pruned"}
    assert "nan" in box.rows("SELECT reason FROM trials")[0]["reason"].lower()
    box.wait_for_no_processes()


def test_case_C8_ragged_rows_never_move_values(box):
    box.write("t.py", r"""
open('out.tsv', 'w').write('step\tloss\n1\t0.9\n2\t0.8\t0.7\n3\t\nstep\tloss\teval\n4\t0.6\t0.5\n')
""")
    box.write("sweep.yaml", f"""
command: [{PY}, t.py, "${{args}}"]
parameters: {{n: {{values: [1]}}}}
capture: [{{file: out.tsv}}]
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 0, done.text
    assert points(box) == [("loss", 1, 0.9), ("loss", 2, 0.8), ("loss", 4, 0.6), ("eval", 4, 0.5)]


def test_case_C10_a_missing_metric_is_told(box):
    done = box.run("run", "v=nothing,val_loss=1,val/loss=1", "--metric", "val/loss", "--goal",
                   "minimize", "--name", "s", "--", "echo", "{v}")
    assert done.code == 1, done.text
    rows = box.rows("SELECT trial, state, metric_missing, reason FROM trials ORDER BY trial")
    assert [r["metric_missing"] for r in rows] == [1, 1, 0]
    assert "val_loss" in rows[1]["reason"]
    assert box.json("best", "s")[0]["trial"] == 3


def test_case_C12_logs_are_complete_and_apart(box):
    done = box.run("run", "n=1..8", "--slots", "8", "--name", "s", "--", PY, "-c",
                   "import sys\nfor i in range(5000): print(sys.argv[1] + '-' + str(i))", "{n}")
    assert done.code == 0, done.text
    for trial in range(1, 9):
        lines = box.log(trial).decode().split()
        assert lines == [f"{trial}-{i}" for i in range(5000)]


def test_case_C14_a_file_that_comes_late_and_is_replaced(box):
    box.write("t.py", """
import os, time
time.sleep(0.3)
os.makedirs('out', exist_ok=True)
with open('out/p.csv', 'w') as f: f.write('step,loss\\n1,0.9\\n2,0.8\\n')
time.sleep(0.5)
with open('out/p.tmp', 'w') as f: f.write('step,loss\\n1,0.9\\n2,0.8\\n3,0.7\\n')
os.rename('out/p.tmp', 'out/p.csv')
time.sleep(0.5)
""")
    box.write("sweep.yaml", f"""
command: [{PY}, t.py, "${{args}}"]
parameters: {{n: {{values: [1]}}}}
capture: [{{file: out/p.csv}}]
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 0, done.text
    assert points(box) == [("loss", 1, 0.9), ("loss", 2, 0.8), ("loss", 3, 0.7)]


def test_the_clients_file_and_the_environment(box):
    done = box.run("run", "n=1", "--name", "s", "--", "sh", "-c",
                   "echo '{\"step\":1,\"loss\":0.5}' >> $SEEDBED_METRICS; "
                   "echo '{\"step\":2,\"loss\":0.25}' >> $SEEDBED_METRICS", "x", "{n}")
    assert done.code == 0, done.text
    assert points(box) == [("loss", 1, 0.5), ("loss", 2, 0.25)]


def test_case_K7_reports_after_the_end_change_nothing(box):
    done = box.run("run", "n=1", "--grace", "3s", "--name", "s", "--metric", "loss", "--goal",
                   "minimize", "--", "sh", "-c",
                   "echo loss=0.5; (trap '' TERM; sleep 1; echo loss=0.1) & exit 0", "x", "{n}")
    assert done.code == 0, done.text
    assert box.json("best", "s")[0]["trial"] == 1
    assert box.states() == {1: "completed"}
    assert box.rows("SELECT last_value FROM metrics") == [{"last_value": 0.5}]


def test_case_K8_best_of_what(box):
    box.write("t.py", "for v in (0.9, 0.1, 0.5): print(f'loss={v}')\n")
    box.ok("run", "n=1", "--name", "s", "--metric", "loss", "--goal", "minimize", "--", PY, "t.py",
           "{n}")
    for by, value in (("best", 0.1), ("last", 0.5), ("mean-last:2", 0.3)):
        shown = box.ok("best", "s", "--by", by).out
        assert str(value) in shown and by in shown, shown


def test_capture_test_shows_which_lines_match(box):
    box.write("run.log", "epoch 1: loss=0.5\nnothing here\nACC is 0.9\n")
    shown = box.ok("capture-test", "run.log", "--pattern", r"ACC is (?P<acc>\S+)").out
    assert "loss" in shown and "acc" in shown and "2 of 3 lines" in shown


def test_an_attempt_that_begins_again_has_its_own_best_value(box):
    box.write("again.py", """
import os
first = os.environ["SEEDBED_ATTEMPT"] == "1"
for step in range(1, 4):
    print(f"step={step} loss={0.001 * step if first else 5 - step}")
raise SystemExit(1 if first else 0)
""")
    box.sweep("retries: {count: 1}\nmetric: {name: loss, goal: minimize}\ncommand: [python3, again.py]\n",
              "n=1")
    metric = box.rows("SELECT n, min_value, max_value, first_value, last_value FROM metrics")[0]
    assert metric == {"n": 6, "min_value": 2, "max_value": 4, "first_value": 4, "last_value": 2}


def test_an_attempt_that_goes_on_from_a_checkpoint_keeps_the_curve(box):
    box.write("on.py", """
import os
first = os.environ["SEEDBED_ATTEMPT"] == "1"
for step in range(1, 4) if first else range(3, 6):
    print(f"step={step} loss={10 - step}")
raise SystemExit(1 if first else 0)
""")
    box.sweep("retries: {count: 1}\nmetric: {name: loss, goal: minimize}\ncommand: [python3, on.py]\n",
              "n=1")
    metric = box.rows("SELECT min_value, max_value, first_value FROM metrics")[0]
    assert metric == {"min_value": 5, "max_value": 9, "first_value": 9}


def test_a_captured_file_that_all_trials_share_is_told(box):
    box.write("w.py", "open('p.csv', 'w').write('step,loss\\n1,2\\n')")
    done = box.sweep("capture: [{file: p.csv}]\nslots: 1\ncommand: [python3, w.py]\n", "n=1,2")
    assert "p.csv is one file for all trials" in done.text, done.text
    done = box.sweep("capture: [{file: p.csv}]\nworkdir: trial\ncommand: [python3, w.py]\n", "n=1,2",
                     name="t")
    assert "one file for all trials" not in done.text


def test_the_view_of_a_long_curve_ends_with_its_last_value(box):
    box.write("nl.py", "for i in range(3000): print('loss=%g' % (0.1 / (i + 1)))\nprint('loss=nan')")
    terminal = box.terminal("run", "n=1", "--metric", "loss", "--goal", "minimize", "--name", "s",
                            "--", "python3", "nl.py", "{n}")
    assert terminal.wait() == 0, terminal.text
    assert "best     none" in terminal.text, terminal.text[-2000:]
