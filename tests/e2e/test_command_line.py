"""What is said to people: errors with a remedy that works, plans, hints and tables."""

import contextlib
import json
import os
import re
import sqlite3

import pytest
from conftest import wait_until

PY = "/usr/bin/python3"


def refused(box, *words, **options):
    """What the command says when it refuses wrong use, before it makes anything."""
    done = box.run(*words, **options)
    assert done.code == 2 and done.out == "", done.text
    return done.err


def plan_of(box, *words):
    """`seedbed plan WORDS…` for programs; the words may hold a command."""
    return box.ok("plan", "--output", "json", *words).json


# Options --------------------------------------------------------------------------------------

def test_a_repeatable_option_takes_one_value_and_leaves_the_words(box):
    plan = plan_of(box, "--where", "a<3", "a=1,2,3", "--where", "a>1", "--", "echo", "{a}")
    assert plan["count"]["trials"] == 1
    box.ok("run", "a=1,2", "--name", "s", "--", "echo", "x=1", "{a}")
    rows = box.json("trials", "--columns", "trial", "--columns", "a", "--sort", "-a", "s")
    assert rows == [{"trial": 2, "a": 2}, {"trial": 1, "a": 1}]
    log = box.write("log", "x=1\n")
    assert box.json("capture-test", "--pattern", "(?P<x>x)", log, "--pattern", "x=(?P<y>.)") != []


@pytest.mark.parametrize("words, said", [
    (["run", "--sampler-seed", "-1", "a=1"],
     "--sampler-seed: takes a whole number from 0 to 18446744073709551615, not '-1'"),
    (["run", "--limit", "9223372036854775808", "a=1"],
     "--limit: takes a whole number from 1 to 9223372036854775807"),
    (["run", "--slots", "0", "a=1"], "--slots: takes auto or a whole number from 1 to"),
    (["run", "--cpus", "x", "a=1"], "--cpus: takes a number above 0, such as 2 or 0.5, not 'x'"),
    (["run", "--on-interrupt", "drian"], "--on-interrupt: takes stop or drain, not 'drian'; did"),
    (["trials", "--output", "xml"], "--output: takes text, json, jsonl or csv, not 'xml'"),
    (["run", "--name"], "--name needs a value"),
    (["run", "--name", "a", "--name", "b"], "--name is given more than once"),
    (["run", "--yes=foo", "a=1"], "--yes takes no value"),
    (["clean"], "--keep is missing; write it as in: seedbed clean digits --keep 3\n"),
    (["show"], "TRIAL is missing; write it as in: seedbed show 3"),
    (["logs"], "TRIAL is missing; write it as in: seedbed logs 3"),
    (["show", "1", "2", "3"], "'2' is one word too many for seedbed show"),
    (["--dir", "d", "list"], "--dir comes after the command: seedbed list --dir"),
    (["run", "a=1", "--lr=1e-1"], "a parameter is written lr=1e-1, without the hyphens"),
    (["run", "lr=1,", "2", "--", "true"], "`2` is no NAME=SPEC and no sweep file; no blank after a "
     "comma, or quote the word: 'lr=1, 2'"),
    (["run", "lr=1,", "2,", "3"], "`2,` is no NAME=SPEC"),
    (["run", "nosuch.yaml"], "nosuch.yaml: no such sweep file"),
    (["run", "lr", "--", "true"], "`lr` is no NAME=SPEC and no sweep file; write lr=1e-3,1e-2"),
    (["run", "~lr", "a=1", "--", "true"], "write lr=absent() to leave the option out"),
    (["lsit"], "there is no command 'lsit'; did you mean 'seedbed list'?"),
])
def test_a_wrong_option_is_told_in_words(box, words, said):
    assert said in refused(box, *words)


def test_attach_says_that_signals_reach_the_run(box):
    assert "TERM are passed on to the run" in box.ok("attach", "--help").out


# Which study, which trial ---------------------------------------------------------------------

def test_a_study_may_stand_first_where_it_is_an_option(box):
    box.ok("run", "a=1,2", "--name", "js", "--", "echo", "x", "{a}")
    box.ok("run", "a=1", "--name", "other", "--", "echo", "x", "{a}")
    assert "trial 2: completed" in box.ok("show", "js", "2").out
    assert box.ok("logs", "js", "2").out == "x 2\n"
    assert "1 trial added" in box.ok("add", "js", "a=3").out
    assert "trial 3 cancelled" in box.ok("cancel", "js", "3").out
    assert "trial 3" in box.ok("retry", "js", "3").out
    assert box.count("waiting", "js") == 1
    assert "'jx' is not a trial" in refused(box, "cancel", "jx", "1")
    assert "--study" in refused(box, "cancel", "jx", "1")


def test_a_trial_may_be_named_by_its_folder(box):
    box.ok("run", "a=1,2", "--name", "s", "--", "echo", "x", "{a}")
    assert "trial 2: completed" in box.ok("show", "00002-a2").out
    assert box.ok("logs", "00001-a1/").out == "x 1\n"
    said = refused(box, "show", "00002-a1")
    assert "'00002-a1' is not a trial of s; trial 2 is 00002-a2" in said


def test_a_file_where_a_study_should_be_is_called_one(box):
    box.path("studies").mkdir()
    box.write("studies/f", "")
    assert "f is a file, and a study is a folder" in refused(box, "status", "f")
    said = refused(box, "run", "a=1", "--name", "f", "--", "true")
    assert "f is a file, and the folder of the study should be there" in said
    assert "another --dir" in refused(box, "run", "a=1", "--dir", "studies/f", "--", "true")


def test_an_unknown_study_gets_the_nearest_after_the_list(box):
    box.ok("run", "a=1", "--name", "abc", "--", "true")
    said = refused(box, "status", "abd").strip()
    assert said.endswith("there are: abc; did you mean 'abc'?"), said


# How a study is named, and its command --------------------------------------------------------

@pytest.mark.parametrize("name, command", [
    ("mod", ["python3", "-m", "pkg.mod", "--config", "conf.py"]),
    ("train", ["uv", "run", "train.py"]), ("train", ["poetry", "run", "python", "train.py"]),
    ("train", ["env", "X=1", "python", "train.py"]), ("prog", ["env", "-u", "Y", "X=1", "./prog"]),
    ("train", ["python3", "-m", "torch.distributed.run", "train.py"]),
    ("train", ["bash", "-c", "cd x && python3 'train.py' --a={a}"]), ("bash", ["bash", "-c", "x"]),
    ("prog", ["./prog", "-m", "5"])])
def test_a_study_is_named_after_what_runs(box, name, command):
    assert plan_of(box, "a=1", "--", *command)["study"] == name


def test_another_command_is_shown_as_command_lines(box):
    box.ok("run", "a=1", "--name", "s", "--", "echo", "one two", "{a}")
    said = refused(box, "run", "a=1", "--name", "s", "--", "echo", "three", "{a}")
    assert "  then: echo 'one two' {a}\n  now:  echo three {a}\n" in said
    assert "word 2" in said and "'one two' then, three now" in said
    assert '"words"' not in said
    box.write("a.yaml", "name: p\nprogram: a.py\nparameters: {a: [1]}\n")
    box.write("a.py", "")
    box.write("b.py", "")
    box.ok("run", "a.yaml")
    said = refused(box, "run", box.write("b.yaml", box.read("a.yaml").replace("a.py", "b.py")))
    assert "program: a.py" in said and "program: b.py" in said


@pytest.mark.parametrize("file", ["train.py", "train", "dir/tool.sh"])
def test_a_program_in_the_place_of_the_sweep_file_is_told(box, file):
    box.write(file, "#!/bin/sh\nexit 0\n", executable=True)
    said = refused(box, "run", file, "lr=1,2")
    assert "looks like a program" in said
    line = said.strip().split("values: ", 1)[1]
    # The line that is given reads as it should.
    plan = box.exec(["bash", "-c", line.replace("seedbed run", "seedbed plan --output json")]).json
    assert plan["count"]["trials"] == 2 and any(file in w for w in plan["first_trials"][0]["argv"])


def test_a_study_in_the_place_of_the_sweep_file_is_told(box):
    box.ok("run", "a=1", "--name", "s", "--", "true")
    for word in ("s", "studies/s"):
        said = refused(box, "run", word)
        assert f"{word} is a study" in said and "seedbed run --study s\n" in said


def test_an_unknown_macro_is_refused_with_the_known_ones(box):
    file = box.write("s.yaml", 'command: [echo, "${nope}", "${args}"]\nparameters: {a: [1, 2]}\n')
    said = refused(box, "run", file)
    assert "s.yaml:1:" in said and "no macro ${nope}" in said and "${args_json}" in said
    literal = re.search(r"for the text itself (\S+)", said)[1]
    box.sweep(box.read("s.yaml").replace("${nope}", literal), name="t")
    assert box.log(1, study="t") == b"${nope} --a=1\n"
    # The record of the study reads back.
    box.ok("run", "--study", "t")


def test_a_study_has_no_name_that_hides_text(box):
    for name in ("a\x1b[31m", "a\u202e", "a\nb"):
        said = refused(box, "run", "a=1", "--name", name, "--", "true")
        assert "cannot be the name of a study" in said and name not in said


# Plan -----------------------------------------------------------------------------------------

def test_plan_tells_what_is_done_already(box):
    words = ("--name", "s", "--metric", "x", "--goal", "minimize", "--")
    command = ("sh", "-c", '[ "$1" != 2 ] && echo x=1', "x", "{a}")
    assert "study     exists" not in box.ok("plan", "a=1,2,3", *words, *command).out
    box.run("run", "a=1,2,3", *words, *command)
    assert "exists: 2 done, 1 failed, 2 to run" in box.ok("plan", "a=1..5", *words, *command).out
    plan = plan_of(box, "a=1..5", "--retry-failed", "--limit", "4", *words, *command)
    assert plan["before"] == {"done": 2, "failed": 0, "to_run": 2}
    box.ok("add", "s", "a=9")
    plan = plan_of(box, "a=1,2,3", *words, *command)
    assert plan["before"] == {"done": 2, "failed": 1, "to_run": 1}


def test_plan_of_a_study_with_a_hole_in_its_record_still_plans(box):
    box.ok("run", "a=1,2,3", "--name", "s", "--", "true")
    with contextlib.closing(sqlite3.connect(box.study_dir("s") / "study.db")) as database:
        hole = database.execute("DELETE FROM records WHERE id = (SELECT min(id) FROM records "
                                "WHERE kind = 'trial_proposed')")
        assert hole.rowcount == 1
        database.commit()
    plan = box.ok("plan", "a=1,2,3", "--name", "s", "--", "true")
    assert "exists: " in plan.out and "first trials" in plan.out, plan.text


def test_plan_of_a_study_shows_what_is_to_run_under_its_numbers(box):
    command = ("--name", "s", "--", "sh", "-c", "[ $1 != 2 ]", "x", "{a}")
    assert "MASTER_PORT" not in box.ok("plan", "a=1,2,3", *command).out
    box.run("run", "a=1,2,3", *command)
    box.ok("add", "a=9")
    first = plan_of(box, "a=3,5,1", *command)["first_trials"]
    assert [one["trial"] for one in first] == [5, 4]
    assert [os.path.basename(one["folder"]) for one in first] == ["00005-a5", "00004-a9"]
    assert not any(v.startswith("MASTER_PORT=") for one in first for v in one["env"])
    retried = plan_of(box, "--study", "s", "--retry-failed")["first_trials"]
    assert [one["trial"] for one in retried] == [2, 4]
    box.run("run", "--study", "s")
    out = box.ok("plan", "--study", "s").out
    assert "nothing to run" in out and "first trials" not in out, out


@pytest.mark.parametrize("words, said", [
    (["a=1", "--", PY, "nope.py"], "cannot open nope.py"),
    (["a=1", "--", "nosuchprogram"], "cannot run nosuchprogram: not found along PATH"),
    (["a=1", "--", f"{PY} nope.py"], f"leave out the quotes: -- {PY} nope.py; for a shell line"),
    (["a=1", "--", "true x"], "leave out the quotes: -- true x; for a shell line write bash -c '"),
    (["a=interval(0,1)", "--", "true"], "never ends; say how many points with --limit 50"),
    (["a=1", "--", "echo", "other", "{a}"], "was made with another command"),
    (["a=1..20000", "--", "true"], "say --yes"),
    (["a=1", "--cpus", "100000", "--", "true"], "cores")])
def test_plan_says_what_run_would_refuse(box, words, said):
    if "other" in words:
        box.ok("run", "a=1", "--name", "s", "--", "true")
    plan = box.ok("plan", "--name", "s", *words)
    assert "run would refuse: " in plan.out and said in plan.out, plan.text
    assert "first trials" in plan.out and "Nothing was started or written." in plan.out
    assert any(said in one for one in plan_of(box, "--name", "s", *words)["refusals"])
    done = box.run("run", "--name", "s", *words)
    assert done.code in (2, 5) and said in done.err, done.text


def test_plan_and_show_have_no_walls_of_variables(box):
    box.write("s.yaml", "command: [echo, \"${args}\"]\nparameters: {a: [1, 2]}\n"
                        f"env: {{LONG: '{'x' * 500}', OWN: '{{a}}'}}\n")
    plan = box.ok("plan", "s.yaml").out
    assert max(map(len, plan.splitlines())) <= 130, plan
    assert plan.count("OMP_NUM_THREADS=1") == 1 and "OWN=1" in plan and "OWN=2" in plan
    assert any(one.startswith("SEEDBED_PARAMS=")
               for one in plan_of(box, "s.yaml")["first_trials"][0]["env"])
    box.ok("run", "s.yaml")
    show = box.ok("show", "1").out
    variables = show.split("variables", 1)[1].split("  code ", 1)[0].split("  log ", 1)[0]
    assert "SEEDBED_PARAMS" not in variables and max(map(len, variables.splitlines())) <= 110
    # The whole line is there, in pieces that can be pasted.
    repeat = box.json("show", "1")["repeat"]
    assert repeat in show.replace(" \\\n  ", " ")


# Running again --------------------------------------------------------------------------------

def test_a_changed_space_says_what_was_done_before(box):
    command = ("--", "sh", "-c", '[ "$1" != 2 ]', "x", "{a}")
    box.run("run", "a=1,2,3", "--name", "s", *command)
    wider = box.run("run", "a=1..5", "--name", "s", *command)
    assert "note     3 of 5 trials done before, 1 of them failed\n" in wider.out, wider.text
    again = box.run("run", "a=1..6", "--name", "s", "--retry-failed", *command)
    assert "note     4 of 6 trials done before\n" in again.out, again.text
    metric = box.run("run", "a=1..6", "--name", "s", "--metric", "m", "--goal", "minimize", *command)
    assert "6 of 6 trials done before" in metric.out, metric.text
    fresh = box.run("run", "a=7,8", "--name", "s", "--metric", "m", "--goal", "minimize", *command)
    assert "done before" not in fresh.out, fresh.text


def test_going_on_from_another_folder_starts_with_its_own(box):
    box.write("a b/x", "")
    words = ("run", "n=1,2", "--name", "s", "--dir", str(box.path("studies")), "--slots", "1",
             "--halt", "first", "--", "false")
    assert box.run(*words, cwd=box.path("a b")).code == 6
    line = f"cd '{box.path('a b')}' && seedbed run --study {box.study_dir('s')}"
    assert f"to go on: {line}" in box.run("status", "s").out
    assert f"start one with {line}" in refused(box, "stop", "s")
    assert f"runs: {line}" in box.ok("show", "2").out
    # Where the study was made the name does; from elsewhere the line leads there.
    box.ok("run", "n=1", "--name", "t", "--", "true")
    box.ok("add", "t", "n=2")
    assert "to go on: seedbed run --study t\n" in box.run("status", "t").out
    other = box.run("status", str(box.study_dir("t")), cwd="/").out
    assert f"to go on: cd {box.cwd} && seedbed run --study t\n" in other
    assert box.exec(["bash", "-c", re.search("to go on: (.*)", other)[1]], cwd="/").code == 0
    assert box.count("completed", "t") == 2


def test_add_says_what_it_added_and_with_what_it_was_combined(box):
    box.ok("run", "a=1,2,3", "b=5", "--name", "s", "--", "true")
    out = box.ok("add", "b=7,8").out
    assert "6 trials added: a=1 b=7; a=1 b=8; a=2 b=7; a=2 b=8; … and 2 more" in out
    assert "b=7,8 was combined with every value of a" in out and "a=VALUE" in out
    out = box.ok("add", "a=9", "b=9").out
    assert "1 trial added: a=9 b=9" in out and "combined" not in out
    assert "s: nothing to add: every point is there already\n" in box.ok("add", "a=1", "b=5").out


def test_add_of_a_parameter_that_no_trial_had_is_warned_of(box):
    box.ok("run", "lr=1,2", "width=3", "--name", "s", "--", "echo")
    done = box.ok("add", "lr=7", "wdth=3")
    assert "no trial had a parameter `wdth` before; did you mean `width`?" in done.err, done.text
    assert "`lr`" not in done.err
    assert box.ok("add", "lr=8", "wdth=4").err == ""


def test_a_run_without_the_metric_that_the_study_had_says_so(box):
    command = ("--name", "s", "--", "sh", "-c", "echo acc=1", "x", "{a}")
    box.ok("run", "a=1", "--metric", "acc", "--goal", "maximize", *command)
    said = "this run names no metric; the study had `acc`: --metric acc --goal maximize keeps it"
    out = box.ok("run", "a=1,2", *command).out
    assert out.count(said) == 1, out
    assert said not in box.ok("run", "a=1,2", *command).out


def test_trials_without_the_metric_are_run_again_by_number(box):
    command = ("--name", "s", "--metric", "loss", "--goal", "minimize", "--", "sh", "-c",
               "echo 'train_loss=1'", "x", "{a}")
    done = box.run("run", "a=1,2", *command)
    assert done.code == 1, done.text
    assert "again    seedbed run --study s --metric train_loss --goal minimize\n" in done.out
    out = box.ok("retry").out
    assert "no trial has failed; 2 reported no `loss`: seedbed retry 1-2 runs them again" in out
    assert "waiting again" in box.ok("retry", "1-2").out
    box.run("run", "--study", "s", "--metric", "train_loss", "--goal", "minimize")
    assert box.run("status", "s").code == 0


def test_status_shows_the_last_line_of_a_failed_trials_log(box):
    box.run("run", "a=1", "--name", "s", "--", "sh", "-c", "echo 'ValueError: bad'; echo; exit 3")
    assert "exit code 3; its log ends: ValueError: bad\n" in box.run("status", "s").out


def test_add_to_a_running_study_says_the_points(box):
    run = box.start("run", "a=1,2", "--name", "s", "--", "sh", "-c",
                    "until [ -e go ]; do sleep 0.02; done", "x", "{a}")
    box.wait_for("running")
    assert "1 point given to the running controller: a=3" in box.ok("add", "a=3").out
    assert "nothing to add: every point is there already" in box.ok("add", "a=3").out
    assert "controller: a=4; 1 there already\n" in box.ok("add", "a=3,4").out
    box.ok("cancel", "4")
    box.write("go", "")
    assert run.wait().code == 0 and box.count("completed") == 3


# Tables and lines -----------------------------------------------------------------------------

NASTY = "a\u202eb\u200b\u0085c"


def test_text_that_turns_or_hides_is_escaped(box):
    box.write("s.yaml", f"command: [sh, -c, 'echo \"$1 loss=1\"; exit 1', x, \"{{w}}\"]\n"
                        f"parameters: {{w: [\"{NASTY.encode('unicode_escape').decode()}\", ' ']}}\n")
    done = box.run("run", "s.yaml", "--name", "s")
    shown = "a\\u202eb\\u200b\\x85c"
    outputs = [done.out]
    for words in (("trials",), ("show", "1"), ("logs", "1"), ("compare", "--metric", "loss"),
                  ("plan", "--study", "s"), ("status",)):
        outputs.append(box.run(*words).out)
    for out in outputs:
        assert not set("\u202e\u200b\u0085") & set(out), out
    assert all(shown in out for out in outputs[:4])
    assert '" "' in outputs[1] and '" " (text)' in box.ok("show", "2").out
    assert box.json("trials")[0]["w"] == NASTY
    line = outputs[2].split("repeat it by hand:\n", 1)[1]
    assert box.exec(["bash", "-c", line]).out == f"{NASTY} loss=1\n"


def test_people_get_the_time_of_their_clock(box):
    zone = {"TZ": "XYZ-2"}
    box.ok("run", "a=1", "--name", "s", "--metric", "loss", "--goal", "minimize", "--", "echo",
           "loss=1", "{a}")
    when = box.json("show", "1")["attempts"][0]["started"]
    assert when.endswith("Z")
    hour = f"{(int(when[11:13]) + 2) % 24:02d}{when[13:19]}"
    show = box.ok("show", "1", env=zone).out
    assert re.search(rf"started    \d\d\d\d-\d\d-\d\d {hour}\n", show), show
    assert "1 point\n" in show
    for words in (("list",), ("status",), ("trials", "--columns", "trial,started,finished")):
        out = box.ok(*words, env=zone).out
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", out) and "Z" not in out, out
        if words[0] != "status":
            assert "Z" in box.ok(*words, "--output", "json", env=zone).out
    assert hour in box.ok("trials", "--columns", "started", env=zone).out


def test_a_damaged_study_does_not_widen_the_list(box):
    box.ok("run", "a=1", "--name", "s", "--", "true")
    box.write("studies/broken/study.db", os.urandom(3000))
    out = box.ok("list").out
    assert "unreadable" in out and max(map(len, out.splitlines())) <= 120, out
    assert any("damaged" in row["activity"] for row in json.loads(box.ok("list", "--output",
                                                                         "json").out))


def test_a_view_from_elsewhere_ends_with_a_line_that_works(box):
    box.write("sub/x", "")
    run = box.start("run", "n=1,2", "--name", "s", "--slots", "1", "--dir", str(box.path("studies")),
                    "--", "sh", "-c", "sleep 60", "x", "{n}", cwd=box.path("sub"))
    box.wait_for("running")
    view = box.start("attach", "s")
    wait_until(lambda: "study    s" in view.out)
    run.interrupt()
    assert run.wait().code == 130
    out = view.wait().out
    assert f"continue cd {box.path('sub')} && seedbed run --study {box.study_dir('s')}" in out, out


def test_detach_answers_in_json_too(box):
    done = box.ok("run", "n=1", "--name", "s", "--detach", "--output", "json", "--", "true")
    assert set(done.json) == {"schema", "study", "study_dir", "pid"}
    assert done.json["study_dir"] == str(box.cwd / "studies/s")
    box.wait_for("completed", 1)
    box.wait_for_no_processes()


def test_an_empty_name_is_refused_as_one(box):
    done = box.run("run", "n=1", "--name", "", "--", "true")
    assert done.code == 2 and "--name" in done.err and "is empty" in done.err, done.text


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_where_that_keeps_nothing_is_told(box, command):
    box.write("sweep.yaml", "command: ['true', '{i}']\nparameters: {i: {min: 1, max: 1000000}}\n"
                            "where: 'i < 0'\n")
    done = box.ok(command, "sweep.yaml", "--limit", "5")
    assert "`where` keeps none of the first" in done.out, done.text


def test_attach_to_an_ended_study_gives_what_status_gives(box):
    run = box.start("run", "n=1", "--name", "s", "--", "sleep", "6{n}")
    box.wait_for("running")
    run.interrupt()
    assert run.wait().code == 130
    assert box.run("attach", "s").code == box.run("status", "s").code == 130


def test_status_of_a_drain_tells_the_end_as_the_view_does(box):
    run = box.start("run", "n=1..5", "--slots", "1", "--name", "s", "--", "sh", "-c",
                    "[ $1 = 1 ] && exit; while [ ! -e go ]; do sleep 0.05; done", "x", "{n}")
    wait_until(lambda: box.states().get(2) == "running")
    box.ok("stop", "s", "--drain")
    shown = box.run("status", "s").out
    assert "the run is being stopped" not in shown
    box.write("go", "")
    assert run.wait().code == 6


def test_a_sweep_file_of_json_may_write_characters_in_two_halves(box):
    box.write("sweep.json", json.dumps({"command": ["true", "{w}"], "parameters": {"w": {"values": ["😀"]}}}))
    assert "ud83d" in box.read("sweep.json")
    box.ok("run", "sweep.json", "--name", "s")
    assert box.params(1)["values"]["w"] == "😀"
