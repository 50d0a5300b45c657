"""Tables and other output for programs: valid, complete, and the same in every form."""

import csv
import io
import json
import os

import pytest
from conftest import wait_until

ODD = ["=1+1", 'q"u,o', "two\nlines", " lead", "", "é", "-"]


def strict(text):
    """JSON as the standard says: no NaN, no key twice."""
    def pairs(items):
        keys = [key for key, _ in items]
        assert len(keys) == len(set(keys)), f"a key twice: {keys}"
        return dict(items)

    def constant(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)


@pytest.fixture
def odd_study(box):
    """Trials with odd values, metrics that are not numbers, bytes that are no text, a failure."""
    values = "".join(f"      - {json.dumps(value)}\n" for value in ODD)
    box.write("sweep.yaml", f"""
command: [sh, -c, 'case "$1" in 1) printf "a\\351\\377 loss=nan\\n" ;; 2) echo loss=inf ;;
  *) echo loss=0.1 val/acc=0.5 ;; esac; [ "$1" != 3 ]', x, "{{n}}", "{{w}}"]
parameters:
  n: [1, 2, 3, 4]
  w:
    values:
{values}  amp: [true]
  gone: [!absent , 1e-3]
params: file
metric: {{name: loss, goal: minimize}}
run_cap: 45
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 1, done.text
    assert len(box.states()) == 45
    return box


READING = [("list",), ("status", "s"), ("trials", "s"), ("compare", "s"), ("best", "s"),
           ("show", "1", "--study", "s"), ("show", "29", "--study", "s"), ("doctor",),
           ("plan", "--study", "s"), ("plan", "a=1,nan", "b='x,y'", "--", "true")]


@pytest.mark.parametrize("words", READING, ids=lambda words: "-".join(words).replace("/", ""))
def test_every_reading_command_writes_valid_json(odd_study, words):
    split = words.index("--") if "--" in words else len(words)
    done = odd_study.run(*words[:split], "--output", "json", *words[split:])
    # Of these only status speaks of the study with its code.
    assert done.code == (1 if words[0] == "status" else 0), done.text
    assert strict(done.out)
    assert done.err == ""


def test_capture_test_writes_valid_json(odd_study):
    log = odd_study.trial_dir(1) / "attempt-1.log"
    assert strict(odd_study.ok("capture-test", log, "--output", "json").out) is not None


def test_trials_are_the_same_in_every_form(odd_study):
    rows = strict(odd_study.ok("trials", "s", "--output", "json").out)
    lines = odd_study.ok("trials", "s", "--output", "jsonl").out.splitlines()
    assert [strict(line) for line in lines] == rows
    table = list(csv.DictReader(io.StringIO(odd_study.ok("trials", "s", "--output", "csv").out,
                                            newline="")))
    assert len(rows) == len(table) == 45
    assert [row["w"] for row in table] == [row["w"] for row in rows]
    assert {row["w"] for row in rows} == set(ODD)
    assert [int(row["trial"]) for row in table] == [row["trial"] for row in rows]
    assert {row["loss"] for row in rows} == {"nan", "inf", 0.1}
    # An absent parameter has no key; in CSV nothing stands between the commas.
    assert rows[0].get("gone", "absent") == "absent" and rows[1]["gone"] == 0.001
    assert table[0]["gone"] == "" and table[1]["gone"] == "1e-3"


def test_export_is_the_same_in_every_form(odd_study):
    out = {form: odd_study.ok("export", "s", "--format", form).out
           for form in ("json", "jsonl", "csv")}
    rows = strict(out["json"])
    assert [strict(line) for line in out["jsonl"].splitlines()] == rows
    table = list(csv.reader(io.StringIO(out["csv"], newline="")))
    names = table[0]
    assert names[:18] == ("trial state in_space added attempts reason metric_missing outcome "
                          "exit_code host slot proposed started finished duration cpu peak_memory "
                          "log_bytes").split()
    assert names[18:20] == ["folder", "code"]
    assert names[20:24] == ["param.n", "param.w", "param.amp", "param.gone"]
    assert len(names) == len(set(names))
    assert all(len(line) == len(names) for line in table)
    assert len(table) == len(rows) + 1 == 46
    for line, row in zip(table[1:], rows):
        cells = dict(zip(names, line))
        assert cells["param.w"] == row["param.w"]
        assert cells["state"] == row["state"]
        assert float(cells["duration"]) == row["duration"] >= 0
        assert cells["folder"] == row["folder"]
        assert (box_folder(odd_study) / row["folder"]).is_dir()
        if "metric.loss.last" in row and row["metric.loss.last"] is not None:
            assert float(cells["metric.loss.last"]) == pytest.approx(
                float(row["metric.loss.last"]), nan_ok=True)


def box_folder(box):
    return box.study_dir("s") / "trials"


def test_tables_and_export_take_the_same_words(odd_study):
    box = odd_study
    for command in ("trials", "compare", "best", "export"):
        for form in ("csv", "json", "jsonl"):
            assert box.ok(command, "s", "--format", form).out == \
                box.ok(command, "s", "--output", form).out


def test_durations_are_seconds_everywhere(box):
    out = box.ok("run", "n=1", "--name", "s", "--output", "json", "--", "sh", "-c",
                 "sleep 0.3", "x", "{n}").out
    events = {event["event"]: event for event in map(strict, out.splitlines())}
    wall = events["attempt_ended"]["wall_s"]
    assert 0.3 <= wall < 10
    assert events["trial_finished"]["wall_s"] == wall
    assert box.json("trials", "s")[0]["duration"] == wall
    assert box.ok("show", "1", "--study", "s", "--output", "json").json["attempts"][0][
        "wall_s"] == wall
    assert "left_s" in box.run("status", "s", "--output", "json").json
    assert "_ms\"" not in out


def test_export_tells_empty_from_absent_in_csv(box):
    box.write("sweep.yaml", "command: ['true', '${args}']\n"
                            "parameters: {w: [\"\", !absent , None]}\n")
    box.ok("run", "sweep.yaml", "--name", "s")
    lines = box.ok("export", "s", "--format", "csv").out.splitlines()
    assert lines[0].endswith(",param.w")
    assert [line.rsplit(",", 1)[1] for line in lines[1:]] == ['""', "", "None"]


def test_tables_can_be_filtered_sorted_and_cut(odd_study):
    box = odd_study
    rows = box.json("trials", "s", "--where", "n == 3 and state == 'failed'")
    assert len(rows) == 14 and {row["n"] for row in rows} == {3}
    rows = box.json("trials", "s", "--sort", "-trial", "--limit", "3")
    assert [row["trial"] for row in rows] == [45, 44, 43]
    rows = box.json("trials", "s", "--columns", "trial,n", "--limit", "1")
    assert rows == [{"trial": 1, "n": 1}]
    done = box.run("trials", "s", "--columns", "nosuch")
    assert done.code == 2 and "nosuch" in done.err, done.text
    done = box.run("trials", "s", "--where", "n ==")
    assert done.code == 2, done.text


def test_a_running_study_is_valid_json_too(box):
    run = box.start("run", "n=1..3", "--slots", "1", "--name", "s", "--metric", "loss", "--goal",
                    "minimize", "--", "sh", "-c",
                    "echo loss=$1; until [ -e go ]; do sleep 0.02; done", "x", "{n}")
    wait_until(lambda: box.states() and b"loss" in box.log(1))
    for words in (("list",), ("trials", "s"), ("compare", "s"), ("show", "1", "--study", "s"),
                  ("show", "2", "--study", "s"), ("status", "s")):
        done = box.run(*words, "--output", "json")
        assert done.code == (6 if words[0] == "status" else 0), done.text
        strict(done.out)
    status = strict(box.run("status", "s", "--output", "json").out)
    assert status["live"] is True
    assert (status["counts"]["running"], status["counts"]["waiting"]) == (1, 2)
    box.write("go", "")
    assert run.wait().code == 0


def test_run_writes_json_lines_from_hello_to_summary(box):
    done = box.run("run", "n=1..3", "--slots", "1", "--name", "s", "--metric", "loss", "--goal",
                   "minimize", "--output", "json", "--", "sh", "-c",
                   'echo loss=$1; [ "$1" != 3 ]', "x", "{n}")
    assert done.code == 1, done.text
    events = [strict(line) for line in done.out.splitlines()]
    assert events[0]["event"] == "hello" and events[0]["schema"] == 1
    assert events[0]["trials"] == 3 and events[0]["study"] == "s"
    last = events[-1]
    assert last["event"] == "summary" and last["exit_code"] == 1
    assert last["counts"] == {"completed": 2, "failed": 1, "pruned": 0, "cancelled": 0,
                              "running": 0, "waiting": 0}
    assert last["best_trial"]["trial"] == 1 and last["best_trial"]["value"] == 1
    assert [failure["trial"] for failure in last["failures"]] == [3]
    assert os.path.exists(last["failures"][0]["log"])
    # In the order in which things became true, for each trial.
    for trial in (1, 2, 3):
        mine = [event["event"] for event in events if event.get("trial") == trial]
        assert mine[:3] == ["trial_proposed", "attempt_planned", "attempt_started"]
        assert mine.index("attempt_ended") < mine.index("trial_finished")
    # The stream and the record agree.
    finished = {event["trial"]: event["state"] for event in events
                if event["event"] == "trial_finished"}
    assert finished == box.states()
    points = [point for event in events if event["event"] == "metrics_reported"
              for point in event["points"]]
    assert [point["value"] for point in points] == [1, 2, 3]


def test_a_finished_study_repeats_its_summary(box):
    words = ("run", "n=1..2", "--name", "s", "--output", "json", "--", "true")
    first = [strict(line) for line in box.ok(*words).out.splitlines()][-1]
    again = [strict(line) for line in box.ok(*words).out.splitlines()][-1]
    assert first["event"] == again["event"] == "summary"
    assert first["counts"] == again["counts"]


# Parameters that are named like a column ------------------------------------------------------

@pytest.mark.parametrize("name", ["trial", "state", "duration", "reason"])
def test_a_parameter_named_like_a_column_of_trials_hides_nothing(box, name):
    box.run("run", f"{name}=7,8", "--name", "s", "--", "sh", "-c", "exit 1", "x",
            f"{{param.{name}}}" if name == "trial" else f"{{{name}}}")
    rows = strict(box.ok("trials", "s", "--output", "json").out)
    assert [row["trial"] for row in rows] == [1, 2]
    assert [row["state"] for row in rows] == ["failed"] * 2
    assert [row["reason"] for row in rows] == ["exit code 1"] * 2
    assert all(row["duration"] < 5 for row in rows)
    header = next(csv.reader(io.StringIO(box.ok("trials", "s", "--output", "csv").out)))
    assert len(header) == len(set(header)), header
    # Both can be told apart: the parameter is there as well.
    assert [row[f"param.{name}"] for row in rows] == [7, 8]
    one = box.json("trials", "s", "--columns", f"trial,{name},param.{name}", "--where",
                   f"`param.{name}` == 8 and state == 'failed'", "--sort", f"-param.{name}")
    assert [(row["trial"], row[f"param.{name}"]) for row in one] == [(2, 8)]
    assert f"param.{name}" in box.ok("trials", "s").out.splitlines()[0]


def test_a_parameter_named_n_is_seen_in_compare_and_best(box):
    box.ok("run", "n=10,20", "seed=0,1,2", "--name", "s", "--metric", "loss", "--goal", "minimize",
           "--", "echo", "loss={n}", "{seed}")
    rows = strict(box.ok("compare", "s", "--output", "json").out)
    assert {row["param.n"] for row in rows} == {10, 20}
    assert all(row["n"] == 3 for row in rows)
    best = strict(box.ok("best", "s", "--output", "json").out)[0]
    assert best["n"] == 3 and best["param.n"] == 10
    header = box.ok("best", "s", "--output", "csv").out.splitlines()[0].split(",")
    assert len(header) == len(set(header)) and "param.n" in header


def test_export_keeps_parameters_and_columns_apart(box):
    box.run("run", "state=7", "trial=8", "loss=9", "--name", "s", "--", "sh", "-c", "echo loss=1",
            "x", "{state}", "{param.trial}", "{loss}")
    row = strict(box.ok("export", "s", "--format", "json").out)[0]
    assert (row["trial"], row["state"], row["metric.loss.last"]) == (1, "completed", 1)
    assert (row["param.trial"], row["param.state"], row["param.loss"]) == (8, 7, 9)


# The line that repeats a trial ----------------------------------------------------------------

def repeat_line(box, trial):
    return strict(box.ok("show", str(trial), "--study", "s", "--output", "json").out)["repeat"]


def by_hand(box, trial):
    """What the line prints in another folder and an empty environment."""
    return box.exec(["env", "-i", f"PATH={box.env['PATH']}", "bash", "-c", repeat_line(box, trial)],
                    cwd="/")


@pytest.mark.parametrize("workdir", ["here", "trial"])
def test_case_I13_the_line_repeats_the_trial_by_hand(box, workdir):
    values = "".join(f"      - {json.dumps(value)}\n" for value in ODD)
    box.write("sweep.yaml", f"""
command: [sh, -c, '{"pwd; " if workdir == "here" else ""}printf "<%s>" "$0" "$@" "$RUN" "$OMP_NUM_THREADS"', x, "${{args}}"]
parameters:
  w:
    values:
{values}  amp: [true]
env: {{RUN: "it's {{trial}} $HOME"}}
workdir: {workdir}
""")
    box.ok("run", "sweep.yaml", "--name", "s")
    for trial in box.states():
        done = by_hand(box, trial)
        assert done.code == 0, done.text
        assert done.out.encode() == box.log(trial), repeat_line(box, trial)
    # For people in pieces that can be pasted.
    shown = box.ok("show", "1", "--study", "s").out.replace(" \\\n  ", " ")
    assert repeat_line(box, 1) in shown


def test_case_I13_the_line_repeats_a_trial_that_reads_its_parameters_from_a_file(box):
    box.write("sweep.yaml", "command: [sh, -c, 'cat \"$SEEDBED_PARAMS\"']\nparams: file\n"
                            "parameters: {lr: [1e-3]}\n")
    box.ok("run", "sweep.yaml", "--name", "s")
    done = by_hand(box, 1)
    assert done.code == 0, done.text
    assert done.out.encode() == box.log(1)


def test_a_trial_repeated_by_hand_leaves_the_record_alone(box):
    box.ok("run", "n=1", "--name", "s", "--", "sh", "-c",
           'echo \'{"loss":1}\' >> "$SEEDBED_METRICS"; [ ! -e "$SEEDBED_STOP" ]; '
           'echo "$SEEDBED_TRIAL $SEEDBED_ATTEMPT" > "$SEEDBED_TRIAL_DIR/result"', "x", "{n}")
    files = {path: path.read_bytes() for path in box.trial_dir(1).iterdir()}
    (box.trial_dir(1) / "result").write_text("first")
    files[box.trial_dir(1) / "result"] = b"first"
    done = by_hand(box, 1)
    assert done.code == 0, done.text
    assert {path: path.read_bytes() for path in box.trial_dir(1).iterdir()} == files


# Output that goes nowhere ---------------------------------------------------------------------

PRINTING = [("export", "s"), ("trials", "s"), ("compare", "s"), ("best", "s"), ("status", "s"),
            ("show", "1", "--study", "s"), ("logs", "1", "--study", "s"), ("list",), ("doctor",),
            ("plan", "--study", "s"), ("--help",), ("trials", "--help"), ("--version",)]


def shell(box, line, words):
    return box.exec(["bash", "-c", line, "bash", *box.argv(words)])


def test_output_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_none(box):
    box.ok("run", "n=1..3", "seed=0,1", "--name", "s", "--metric", "loss", "--goal", "minimize",
           "--", "sh", "-c", "echo loss=$1", "x", "{n}", "{seed}")
    for words in PRINTING:
        full = shell(box, '"$@" > /dev/full', words)
        assert full.code == 5, f"{words}: {full.text}"
        assert full.err == ("seedbed: the output could not be written: "
                            "No space left on device\n"), words
        closed = shell(box, '("$@"; echo code $? >&2) | true', words)
        assert closed.err == "code 0\n", f"{words}: {closed.text}"


def test_a_table_of_many_rows_may_be_cut_off_by_its_reader(box):
    box.ok("run", "n=1..300", "--name", "s", "--", "true")
    done = shell(box, '("$@"; echo code $? >&2) | head -n 1', ("export", "s"))
    assert done.err == "code 0\n" and done.out.startswith("trial,state"), done.text
    assert shell(box, '"$@" > /dev/full', ("export", "s")).code == 5


def test_a_run_goes_on_without_its_output(box):
    assert shell(box, '"$@" > /dev/full', ("run", "n=1,2", "--name", "s", "--", "true")).code == 0
    assert box.count("completed") == 2


# Without a controller -------------------------------------------------------------------------

def test_a_trial_that_ended_after_its_controller_died_is_not_said_to_run_on(box):
    words = ("run", "n=1,2", "--slots", "2", "--name", "s", "--", "sh", "-c",
             "echo begun; until [ -e go$1 ]; do sleep 0.05; done; echo over", "x", "{n}")
    controller = box.start(*words)
    box.wait_for("running", 2)
    wait_until(lambda: len(box.rows(
        "SELECT 1 FROM attempts WHERE started_ms IS NOT NULL")) == 2)
    wait_until(lambda: box.log(1) and box.log(2))
    controller.kill()
    status = box.run("status", "s")
    assert "running 2" in status.out and "interrupted " not in status.out, status.text
    assert all(row["duration"] is not None for row in box.json("trials", "s"))
    follower = box.start("logs", "1", "--study", "s", "-f")
    box.write("go1", "")
    done = follower.wait()
    assert done.code == 0 and done.out == "begun\nover\n", done.text
    assert done.err == "seedbed: the attempt has ended; the next run records how\n"
    before = {path: path.read_bytes() for path in box.study_dir().glob("study.db*")}
    status = box.run("status", "s")
    assert "running 1 " in status.out and "interrupted 1" in status.out, status.text
    assert ("  1 trial has ended while no controller watched; the next run records how\n"
            in status.out), status.text
    machine = box.run("status", "s", "--output", "json").json
    assert machine["interrupted"] == machine["counts"]["running"] == 1
    listed, = box.json("list")
    assert listed["interrupted"] == listed["running"] == 1
    ended, running = box.json("trials", "s")
    assert (ended["state"], running["state"]) == ("interrupted", "running")
    assert ended["duration"] is None and running["duration"] > 0
    assert {path: path.read_bytes() for path in box.study_dir().glob("study.db*")} == before
    box.write("go2", "")
    assert box.run(*words).code == 0
    assert "interrupted" not in box.ok("status", "s").out


# Parameters that tell rows apart --------------------------------------------------------------

def test_a_parameter_that_became_constant_is_shown_beside_the_trials_of_another_space(box):
    rest = ("--name", "s", "--metric", "loss", "--goal", "minimize", "--", "sh", "-c",
            "echo loss=$1", "x", "{lr}", "{seed}")
    box.ok("run", "lr=1e-3,1e-2,1e-1", "seed=0,1", *rest)
    box.ok("run", "lr=1e-1", "seed=0,1", *rest)
    shown = box.ok("trials", "s").out.splitlines()
    assert "lr" in shown[0].split() and "1e-3" in shown[1].split(), shown
    shown = box.ok("compare", "s", "--all").out.splitlines()
    assert shown[0].split()[0] == "lr" and shown[1].split()[0] == "1e-3", shown
    assert [row["lr"] for row in box.json("compare", "s", "--all")] == [1e-3, 1e-2, 1e-1]
    # The present space alone has one setting: nothing to tell apart.
    assert box.ok("compare", "s").out.split()[0] == "mean"
    inside = ("trials", "s", "--where", "in_space", "--sort", "trial")
    assert "lr" not in box.ok(*inside).out.splitlines()[0].split()
    assert "lr" in box.ok(*inside, "--sort", "lr").out.splitlines()[0].split()
    # Programs get every parameter.
    assert [row["lr"] for row in box.json(*inside)] == [0.1, 0.1]
    for form in ("csv", "jsonl"):
        assert "lr" in box.ok(*inside, "--output", form).out.splitlines()[0]


# Which setting is best ------------------------------------------------------------------------

def test_a_setting_whose_seeds_failed_does_not_win_by_those_that_survived(box):
    done = box.run("run", "lr=1,2", "seed=0,1,2", "--name", "s", "--metric", "loss", "--goal",
                   "minimize", "--", "sh", "-c", '[ "$1$2" = 11 ] || [ "$1$2" = 12 ] && exit 1; '
                   'echo loss=$1.$2', "x", "{lr}", "{seed}")
    assert done.code == 1, done.text
    assert "best     lr=2  2.1 ± 0.1 (n=3)" in done.out, done.text
    assert "  best single trial 1: 00001-lr1-seed0\n" in done.out, done.text
    first, second = box.json("compare", "s")
    assert (first["lr"], second["lr"]) == (2, 1)
    assert first["missing"] is None and second["missing"] == "seeds 1, 2 failed"
    assert "seeds 1, 2 failed" in box.ok("compare", "s").out
    assert box.json("best", "s")[0]["lr"] == 2
    assert "  best lr=2: loss 2.1 (minimize, mean of 3 seeds)\n" in box.run("status", "s").out


# Cleaning up ----------------------------------------------------------------------------------

def test_case_J13_a_running_trials_files_are_never_deleted(box):
    run = box.start("run", "n=1..4", "--slots", "1", "--name", "s", "--metric", "loss", "--goal",
                    "minimize", "--", "sh", "-c",
                    'echo loss=$1; echo > "$SEEDBED_TRIAL_DIR/model"; '
                    '[ "$1" -lt 3 ] || until [ -e go ]; do sleep 0.02; done', "x", "{n}")
    box.wait_for("completed", 2)
    wait_until(lambda: list(box.study_dir().glob("trials/00003*/model")))
    listed = box.run("clean", "s", "--keep", "1")
    assert listed.code == 0, listed.text
    assert (box.trial_dir(2) / "model").exists()
    box.ok("clean", "s", "--keep", "1", "--yes")
    assert not list(box.study_dir().glob("trials/00002*/model"))
    assert (box.trial_dir(1) / "model").exists() and (box.trial_dir(3) / "model").exists()
    box.write("go", "")
    assert run.wait().code == 0
    assert box.count("completed") == 4
    # The records of what was deleted stay readable.
    box.ok("show", "2", "--study", "s")
    assert len(box.json("trials", "s")) == 4
    assert box.ok("logs", "2", "--study", "s").out == "loss=2\n"


def test_export_of_the_points_has_a_row_for_each_in_every_form(box):
    box.ok("run", "n=1,2", "--name", "s", "--", "sh", "-c",
           "echo step=1 loss=nan a,b=1; echo step=2 loss=$1", "x", "{n}")
    rows = strict(box.ok("export", "s", "--points", "--format", "json").out)
    assert [(r["trial"], r["attempt"], r["metric"], r["step"], r["value"]) for r in rows
            if r["metric"] == "loss"] == [(1, 1, "loss", 1, "nan"), (1, 1, "loss", 2, 1),
                                          (2, 1, "loss", 1, "nan"), (2, 1, "loss", 2, 2)]
    lines = box.ok("export", "s", "--points", "--format", "jsonl").out.splitlines()
    assert [strict(line) for line in lines] == rows
    table = list(csv.DictReader(io.StringIO(box.ok("export", "s", "--points").out)))
    assert [(r["trial"], r["metric"], r["time"]) for r in table] == [
        (str(r["trial"]), r["metric"], r["time"]) for r in rows]


def test_export_of_no_points_is_empty_in_every_form(box):
    box.ok("run", "n=1", "--name", "s", "--", "true")
    assert strict(box.ok("export", "s", "--points", "--format", "json").out) == []
    assert box.ok("export", "s", "--points", "--format", "jsonl").out == ""
    assert box.ok("export", "s", "--points").out == "trial,attempt,metric,step,value,time\n"


def test_best_before_any_trial_has_completed_says_so(box):
    box.run("run", "n=1", "--name", "s", "--metric", "loss", "--goal", "minimize", "--", "false")
    done = box.ok("best", "s")
    assert done.out == "no trial has completed yet\n"
    assert box.json("best", "s") == []
    assert box.ok("best", "s", "--output", "csv").out.startswith("trial,metric,")
