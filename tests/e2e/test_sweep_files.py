"""Sweep files from end to end: the words and files that the trials' programs really get."""

import json
import math

import pytest
import yaml as pyyaml

PY = "/usr/bin/python3"
# Prints its arguments, a line each: cheaper to start than show.py.
SHOW = "command: [sh, -c, 'printf \"%s\\n\" \"$@\"', x, \"${args}\"]\n"


def argvs(box, study=None):
    """The arguments that the trials' programs printed, in the order of the trials."""
    return [box.log(trial, study=study).decode().splitlines() for trial in box.states(study)]


def options(argv):
    return dict(word.removeprefix("--").split("=", 1) for word in argv)



def test_the_method_of_the_command_line_replaces_the_files(box):
    box.write("s.yaml", "command: [echo, '${args}']\nmethod: bayes\n"
                        "parameters: {lr: {min: 0.1, max: 0.2}}\n")
    assert box.ok("plan", "s.yaml", "--method", "random", "--limit", "3", "--output",
                  "json").json["count"]["trials"] == 3
    refused = box.run("run", "s.yaml")
    assert refused.code == 2 and "s.yaml:2:9" in refused.err, refused.text
    assert "at random instead: --method random --limit 50" in refused.err, refused.text


def test_a_search_without_end_is_refused_at_its_place_and_planned(box):
    box.write("s.yaml", "command: [echo, '${args}']\nmethod: random\n"
                        "parameters: {lr: {min: 0.1, max: 0.2}}\n")
    refused = box.run("run", "s.yaml")
    assert refused.code == 2 and "s.yaml:2:9: " in refused.err, refused.text
    assert "--limit 50 (`run_cap: 50`)" in refused.err, refused.text
    plan = box.ok("plan", "s.yaml")
    assert "s: an endless space\n" in plan.out and "first trials" in plan.out, plan.text
    assert "run would refuse: s.yaml:2:9" in plan.out, plan.text


def test_zip_varies_together_and_multiplies_with_the_rest(box):
    box.sweep(SHOW + """
parameters: {seed: [0, 1], model: [small, large], batch: [64, 16]}
zip: [[model, batch]]
""")
    assert argvs(box) == [["--seed=0", "--model=small", "--batch=64"],
                          ["--seed=0", "--model=large", "--batch=16"],
                          ["--seed=1", "--model=small", "--batch=64"],
                          ["--seed=1", "--model=large", "--batch=16"]]


def test_zip_with_lists_of_unequal_length_is_refused(box):
    done = box.sweep(SHOW + "parameters: {a: [1, 2], b: [1, 2, 3]}\nzip: [[a, b]]\n", code=2)
    assert "sweep.yaml:3" in done.err and "`a`" in done.err and "`b`" in done.err, done.err
    assert not box.path("studies").exists()


def test_union_joins_spaces_and_runs_a_point_of_two_branches_once(box):
    box.sweep(SHOW + """
parameters: {seed: [0, 1]}
union:
  - {parameters: {opt: adam, lr: [1e-3, 3e-4]}}
  - {parameters: {opt: sgd, lr: [0.1], momentum: [0, 0.9]}, where: "momentum > 0 or seed == 0"}
  - {parameters: {opt: adam, lr: [0.001]}}
""")
    assert argvs(box) == [
        ["--seed=0", "--opt=adam", "--lr=1e-3"],
        ["--seed=0", "--opt=adam", "--lr=3e-4"],
        ["--seed=1", "--opt=adam", "--lr=1e-3"],
        ["--seed=1", "--opt=adam", "--lr=3e-4"],
        ["--seed=0", "--opt=sgd", "--lr=0.1", "--momentum=0"],
        ["--seed=0", "--opt=sgd", "--lr=0.1", "--momentum=0.9"],
        ["--seed=1", "--opt=sgd", "--lr=0.1", "--momentum=0.9"]]


def test_explicit_trials_are_multiplied_with_parameters_and_repeat(box):
    box.sweep(SHOW + """
parameters: {amp: [true, false]}
trials: [{lr: 1e-3, width: 64}, {lr: 3e-4, width: !absent }]
repeat: 2
""")
    wide = ["--lr=1e-3", "--width=64"]
    plain = ["--lr=3e-4"]
    expected = [[*point, f"--amp={amp}", f"--seed={seed}"]
                for point in (wide, plain) for amp in ("True", "False") for seed in (0, 1)]
    assert sorted(map(sorted, argvs(box))) == sorted(map(sorted, expected))
    assert len(box.states()) == 8


def test_trials_from_a_csv_tell_absent_from_empty(box):
    box.write("runs.csv", 'lr,width,tag\n1e-3,64,a\n3e-4,,""\n0.1,7,"x,y"\n')
    box.sweep(SHOW + "trials: runs.csv\nparameters: {seed: [0, 1]}\n")
    assert argvs(box) == [[*point, f"--seed={seed}"] for point in (
        ["--lr=1e-3", "--width=64", "--tag=a"], ["--lr=3e-4", "--tag="],
        ["--lr=0.1", "--width=7", "--tag=x,y"]) for seed in (0, 1)]
    # A longer file runs only the new line; a shorter one leaves the others, outside the space.
    box.write("runs.csv", "lr,width,tag\n1e-3,64,a\n9,9,new\n")
    box.sweep(SHOW + "trials: runs.csv\nparameters: {seed: [0, 1]}\n")
    assert len(box.states()) == 8
    assert sum(row["in_space"] is True for row in box.json("trials", "s")) == 4


def test_a_ragged_csv_is_refused_with_its_line(box):
    box.write("runs.csv", "lr,width\n1,2\n3\n")
    done = box.sweep(SHOW + "trials: runs.csv\n", code=2)
    assert "runs.csv:3" in done.err, done.err


def test_where_and_when_choose_the_points(box):
    box.sweep(SHOW + """
parameters:
  opt: [adam, sgd, !absent ]
  momentum: {values: [0, 0.9], when: "opt == 'sgd'"}
  net: {parameters: {depth: [2, 4], act: relu}}
where: "net.depth == 2 or opt == 'adam'"
""")
    net2, net4 = ["--net.depth=2", "--net.act=relu"], ["--net.depth=4", "--net.act=relu"]
    assert argvs(box) == [["--opt=adam", *net2], ["--opt=adam", *net4],
                          ["--opt=sgd", "--momentum=0", *net2],
                          ["--opt=sgd", "--momentum=0.9", *net2], net2]
    # A second condition on the command line narrows it further; nothing new runs.
    box.sweep(box.read("sweep.yaml"), "--where", "opt == 'adam'")
    assert len(box.states()) == 5
    assert sum(row["in_space"] is True for row in box.json("trials", "s")) == 2


def test_a_word_replaces_the_files_parameter(box):
    box.sweep(SHOW + "parameters: {lr: [1, 2, 3], bs: [8]}\n", "lr=1e-4", "extra=x")
    assert argvs(box) == [["--lr=1e-4", "--bs=8", "--extra=x"]]


def test_repeat_makes_replicates_that_compare_joins(box):
    box.sweep("command: [sh, -c, 'echo loss=$(($1 + $2))', x, '{lr}', '{seed}']\n"
               "parameters: {lr: [10, 20]}\nrepeat: 3\nmetric: {name: loss, goal: minimize}\n")
    rows = {row["lr"]: row for row in box.json("compare", "s")}
    assert len(box.states()) == 6
    assert [rows[lr]["n"] for lr in (10, 20)] == [3, 3]
    assert [v for k, v in rows[10].items() if "mean" in k] == [11.0]


@pytest.mark.parametrize("parameter, word", [("s", "s"), ("none", None)])
def test_another_replicate_axis_or_none(box, parameter, word):
    box.sweep(f"command: ['true', '${{args}}']\nparameters: {{lr: [1, 2], s: [0, 1, 2]}}\n"
               f"seed_parameter: {parameter}\nmetric: {{name: loss, goal: minimize}}\n", code=1)
    assert len(box.json("compare", "s")) == (2 if word else 6)


def test_params_json_and_wandbs_file_have_the_typed_values(box):
    box.sweep("""
command: [sh, -c, 'cat "$SEEDBED_PARAMS"']
params: file
parameters:
  lr: [1e-3]
  half: .5
  word: ["007"]
  net: {parameters: {depth: [2], act: relu}}
  amp: true
  sizes: {value: [32, 32]}
  nothing: {value: !absent }
  empty: ""
  null_: ~
""")
    values = {"lr": 0.001, "half": 0.5, "word": "007", "net.depth": 2, "net.act": "relu",
              "amp": True, "sizes": [32, 32], "empty": "", "null_": None}
    text = {"lr": "1e-3", "half": ".5", "word": "007", "net.depth": "2", "net.act": "relu",
            "amp": "True", "sizes": "[32, 32]", "empty": "", "null_": "None"}
    assert json.loads(box.log(1)) == {"values": values, "text": text}
    assert box.params(1) == {"values": values, "text": text}


def test_case_A1_wandbs_client_reads_the_same_types(box):
    # W&B's client reads the file with PyYAML, for which 1e-3 and 1E5 are texts.
    box.sweep("""
command: [sh, -c, 'cat "$WANDB_SWEEP_PARAM_PATH"']
params: file
parameters: {lr: 1e-3, big: 1E5, half: .5, n: 3, word: "1e-3", off: "off", day: "2024-01-02"}
""")
    got = pyyaml.safe_load(box.log(1))
    assert got.pop("wandb_version") == 1
    assert {name: entry["value"] for name, entry in got.items()} == {
        "lr": 0.001, "big": 1e5, "half": 0.5, "n": 3, "word": "1e-3", "off": "off",
        "day": "2024-01-02"}


def test_nested_names_and_booleans_as_json(box):
    box.write("args.json.py", "import json, sys\nprint(json.dumps(json.loads(sys.argv[1])))\n")
    box.sweep(f"""
command: [{PY}, args.json.py, "${{args_json}}"]
parameters:
  lr: 1e-3
  net: {{parameters: {{depth: [2], opt: {{parameters: {{name: adam}}}}}}}}
  amp: [true, false]
  gone: !absent
""")
    net = {"depth": 2, "opt": {"name": "adam"}}
    assert [json.loads(box.log(t)) for t in (1, 2)] == [
        {"lr": 0.001, "net": net, "amp": True}, {"lr": 0.001, "net": net, "amp": False}]


def test_a_file_of_json_in_place_of_args(box):
    box.sweep("""
command: [cat, "${args_json_file}"]
parameters: {lr: 1e-3, net: {parameters: {depth: [2, 4]}}, word: "007"}
""")
    assert [json.loads(box.log(t)) for t in (1, 2)] == [
        {"lr": 0.001, "net": {"depth": depth}, "word": "007"} for depth in (2, 4)]


def test_a_sweep_file_may_be_json_and_names_its_study(box):
    box.write("sweep.json", json.dumps({
        "name": "from-json", "description": "a text",
        "command": ["sh", "-c", 'printf "%s\\n" "$@"', "x", "${args}"],
        "parameters": {"lr": {"values": [1e-3, 0.5]}, "amp": {"value": False}}}))
    box.ok("run", "sweep.json")
    assert argvs(box, "from-json") == [["--lr=0.001", "--amp=False"], ["--lr=0.5", "--amp=False"]]


@pytest.mark.parametrize("style, words", [
    ("python", ["True", "False"]), ("true-false", ["true", "false"]), ("01", ["1", "0"])])
def test_the_style_of_booleans_by_file_or_option(box, style, words):
    expected = [[f"--amp={word}"] for word in words]
    box.sweep(SHOW + f"bool_style: '{style}'\nparameters: {{amp: [true, false]}}\n")
    assert argvs(box) == expected
    box.sweep(SHOW + "parameters: {amp: [true, false]}\n", "--bool-style", style, name="option")
    assert argvs(box, "option") == expected


def test_every_mistake_of_a_file_is_told_at_once_with_its_place(box):
    done = box.sweep("comand: ['true']\nparameters:\n  lr: {min: 2, max: 1}\n  n: {values: []}\n"
                      "where: \"lr <\"\n", code=2)
    for place in ("sweep.yaml:1:", "sweep.yaml:3:", "sweep.yaml:4:"):
        assert place in done.err, done.err
    assert "`command`" in done.err
    assert not box.path("studies").exists()


def test_every_other_form_of_args(box):
    box.write("sweep.yaml", """
command: [printf, '<%s>', "${args_no_equals}", "${args_no_hyphens}", "${args_no_boolean_flags}",
          "${args_append_hydra}", "${args_override_hydra}", "${envvar:WHO}"]
parameters: {lr: 1e-3, amp: true, pin: false}
""")
    done = box.run("run", "sweep.yaml", "--name", "s", env={"WHO": "me"})
    assert done.code == 0, done.text
    words = box.log(1).decode()[1:-1].split("><")
    assert words == ["--lr", "1e-3", "--amp", "True", "--pin", "False",
                     "lr=1e-3", "amp=True", "pin=False",
                     "--lr=1e-3", "--amp",
                     "+lr=1e-3", "+amp=True", "+pin=False",
                     "++lr=1e-3", "++amp=True", "++pin=False", "me"]


def test_a_template_is_filled_for_each_trial(box):
    box.write("cfg.yaml", 'lr: {lr}\nfolder: {trial_dir}\nnumber: {trial}\n'
                          'map: {a: {b: 1}}\nescaped: {{lr}}\nname: "{name}"\n')
    box.sweep("""
command: [cat, "{config}"]
template: cfg.yaml
parameters: {lr: [1e-3, .5], name: ["a {lr} b"]}
""")
    for trial, lr in ((1, "1e-3"), (2, ".5")):
        folder = box.trial_dir(trial)
        filled = (f'lr: {lr}\nfolder: {folder}\nnumber: {trial}\nmap: {{a: {{b: 1}}}}\n'
                  'escaped: {lr}\nname: "a {lr} b"\n')
        assert box.log(trial).decode() == filled
        assert (folder / "cfg.yaml").read_text() == filled
    assert box.read("cfg.yaml").startswith("lr: {lr}\n")


def test_a_missing_template_is_refused_before_anything_starts(box):
    done = box.sweep('command: [cat, "{config}"]\ntemplate: nosuch.yaml\n'
                      "parameters: {lr: [1]}\n", code=2)
    assert "nosuch.yaml" in done.err
    assert not box.path("studies").exists()


def test_env_and_placeholders_reach_the_program(box):
    box.sweep("""
command: [sh, -c, 'echo "$RUN|$FIXED|$1|$2|$3"', x, "{lr}", "{trial}.{attempt}", "{{lr}} {x}"]
parameters: {lr: [1e-3, 2]}
env: {RUN: "{trial}-{lr}", FIXED: "a b"}
""")
    assert [box.log(t).decode() for t in (1, 2)] == [
        "1-1e-3|a b|1e-3|1.1|{lr} {x}\n", "2-2|a b|2|2.1|{lr} {x}\n"]


def test_a_varying_parameter_that_reaches_nobody_is_an_error(box):
    done = box.sweep('command: [echo, "{a}"]\nparameters: {a: [1], lost: [1, 2]}\n', code=2)
    assert "`lost`" in done.err, done.err
    box.sweep('command: [echo, "{a}"]\nparams: file\nparameters: {a: [1], lost: [1, 2]}\n')
    assert len(box.states()) == 2


def test_unknown_and_absent_features_are_refused_by_name(box):
    done = box.sweep(SHOW + "paramters: {a: [1]}\n", code=2)
    assert "sweep.yaml:2" in done.err and "`parameters`" in done.err, done.err
    done = box.sweep(SHOW + "method: bayes\nparameters: {a: {min: 0.0, max: 1.0}}\n", code=2)
    assert "bayes" in done.err and "not available yet" in done.err, done.err


# W&B's own files and random search ------------------------------------------------------------

WANDB = """
program: train.py
project: p
entity: e
method: random
metric: {name: val_loss, goal: minimize}
early_terminate: {type: hyperband, min_iter: 3}
run_cap: 12
parameters:
  log_uniform_values: {distribution: log_uniform_values, min: 1e-5, max: 1e-1}
  inv_log_uniform_values: {distribution: inv_log_uniform_values, min: 1e-5, max: 1e-1}
  q_log_uniform_values: {distribution: q_log_uniform_values, q: 8, min: 32, max: 256}
  log_uniform: {distribution: log_uniform, min: -3, max: 0}
  inv_log_uniform: {distribution: inv_log_uniform, min: 0, max: 3}
  q_log_uniform: {distribution: q_log_uniform, min: 0, max: 3, q: 2}
  uniform: {distribution: uniform, min: 0.1, max: 0.5}
  q_uniform: {distribution: q_uniform, min: 0, max: 1, q: 0.25}
  int_uniform: {distribution: int_uniform, min: 1, max: 4}
  normal: {distribution: normal, mu: 10, sigma: 0.01}
  q_normal: {distribution: q_normal, mu: 100, sigma: 5, q: 10}
  log_normal: {distribution: log_normal, mu: 0, sigma: 1}
  q_log_normal: {distribution: q_log_normal, mu: 0, sigma: 1, q: 2}
  beta: {distribution: beta, a: 2, b: 5}
  q_beta: {distribution: q_beta, a: 2, b: 5, q: 0.5}
  categorical: {distribution: categorical, values: [adam, sgd]}
  weighted: {values: [a, b, c], probabilities: [0.0, 1.0, 0.0]}
  constant: {distribution: constant, value: 7}
  range: {min: 1, max: 3}
  float_range: {min: 1.0, max: 3.0}
"""


def multiple_of(q, value):
    return abs(value / q - round(value / q)) < 1e-9


WANDB_RULES = {
    "log_uniform_values": lambda v: 1e-5 <= float(v) <= 1e-1,
    "inv_log_uniform_values": lambda v: 1e-5 <= float(v) <= 1e-1,
    "q_log_uniform_values": lambda v: 32 <= int(v) <= 256 and int(v) % 8 == 0,
    "log_uniform": lambda v: math.exp(-3) <= float(v) <= 1,
    # The inverse is log-uniform: between exp(-max) and exp(-min).
    "inv_log_uniform": lambda v: math.exp(-3) - 1e-9 <= float(v) <= 1,
    "q_log_uniform": lambda v: int(v) % 2 == 0 and 0 <= int(v) <= math.exp(3) + 1,
    "uniform": lambda v: 0.1 <= float(v) <= 0.5,
    "q_uniform": lambda v: multiple_of(0.25, float(v)) and 0 <= float(v) <= 1,
    "int_uniform": lambda v: 1 <= int(v) <= 4,
    "normal": lambda v: 9.9 < float(v) < 10.1,
    "q_normal": lambda v: int(v) % 10 == 0 and 60 <= int(v) <= 140,
    "log_normal": lambda v: 0 < float(v) < 100,
    "q_log_normal": lambda v: int(v) % 2 == 0 and int(v) >= 0,
    "beta": lambda v: 0 < float(v) < 1,
    "q_beta": lambda v: float(v) in (0, 0.5, 1),
    "categorical": lambda v: v in ("adam", "sgd"),
    "weighted": lambda v: v == "b",
    "constant": lambda v: v == "7",
    "range": lambda v: v in ("1", "2", "3"),
    "float_range": lambda v: 1 <= float(v) <= 3,
}


def test_a_wandb_sweep_file_works_as_it_is(box):
    # `python` is looked up on PATH and falls back to python3: here it is a cheap stand-in.
    box.write("bin/python", '#!/bin/sh\nprintf "%s\\n" "$@"\necho val_loss=1\n', executable=True)
    box.write("train.py", "")
    box.write("wandb.yaml", WANDB)
    env = {"PATH": f"{box.path('bin')}:{box.env['PATH']}"}
    done = box.run("run", "wandb.yaml", env=env)
    assert done.code == 0, done.text
    assert "hyperband" in done.out and "run to the end" in done.out
    logs = [box.log(trial, study="wandb").decode().splitlines() for trial in box.states("wandb")]
    assert len(logs) == 12
    seen = {}
    for log in logs:
        assert log[0] == "train.py" and log[-1] == "val_loss=1"
        got = options(log[1:-1])
        assert list(got) == list(WANDB_RULES)
        for name, value in got.items():
            assert WANDB_RULES[name](value), (name, value)
            seen.setdefault(name, set()).add(value)
    assert {name for name, values in seen.items() if len(values) == 1} == {"weighted", "constant"}
    # A larger cap runs the rest only, and the first ones are the same.
    done = box.run("run", "wandb.yaml", "--limit", "15", env=env)
    assert done.code == 0, done.text
    assert len(box.states("wandb")) == 15
    assert box.rows("SELECT max(attempt) AS n FROM attempts", study="wandb") == [{"n": 1}]


def test_a_wandb_grid_file_says_what_differs(box):
    box.write("bin/python", '#!/bin/sh\nprintf "%s\\n" "$@"\n', executable=True)
    box.write("train.py", "")
    box.write("wandb.yaml", """
program: train.py
method: grid
metric: {name: val_loss}
parameters:
  z: {values: [1, 2]}
  a: {values: [x, w]}
  net: {parameters: {depth: {value: 2}}}
""")
    done = box.run("run", "wandb.yaml", env={"PATH": f"{box.path('bin')}:{box.env['PATH']}"})
    assert done.code == 1, done.text  # no trial reported val_loss
    for words in ("W&B sorts", "W&B passes one dict", "minimizing"):
        assert words in done.out, done.out
    assert [options(argv[1:]) for argv in argvs(box, "wandb")] == [
        {"z": z, "a": a, "net.depth": "2"} for z in ("1", "2") for a in ("x", "w")]


def test_random_search_over_a_finite_space_never_repeats_a_point(box):
    text = SHOW + "method: random\nparameters: {a: [1, 2, 3], b: [1, 2, 3, 4]}\n"
    box.sweep(text)
    got = [tuple(argv) for argv in argvs(box)]
    assert len(got) == len(set(got)) == 12
    assert got != sorted(got)
    box.sweep(text, "--limit", "5", name="first")
    assert [tuple(argv) for argv in argvs(box, "first")] == got[:5]
    box.sweep(text, "--limit", "5", "--sampler-seed", "1", name="other")
    assert [tuple(argv) for argv in argvs(box, "other")] != got[:5]


def test_sobol_points_fill_the_square_evenly(box):
    text = SHOW + ("method: sobol\nrun_cap: 16\n"
                   "parameters: {x: {min: 0.0, max: 1.0}, y: {min: 0.0, max: 1.0}}\n")
    box.sweep(text)
    points = [options(argv) for argv in argvs(box)]
    # 16 points of a Sobol sequence: one in each of the 4 x 4 cells, and in each of 16 columns.
    assert {(int(float(p["x"]) * 4), int(float(p["y"]) * 4)) for p in points} == {
        (i, j) for i in range(4) for j in range(4)}
    assert {int(float(p["x"]) * 16) for p in points} == set(range(16))
    # Twice as many are the same ones and as many more.
    box.sweep(text, "--limit", "32")
    assert [options(argv) for argv in argvs(box)][:16] == points
    assert len(box.states()) == 32


@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_the_order_decides_what_a_limit_keeps(box, order):
    text = SHOW + "parameters: {a: [1, 2, 3, 4], b: [1, 2, 3, 4, 5]}\n"
    box.sweep(text, "--order", order, "--limit", "6")
    first = argvs(box)
    assert len(first) == 6
    given = [[f"--a={1 + i // 5}", f"--b={1 + i % 5}"] for i in range(6)]
    assert (first == given) == (order == "given")
    box.sweep(text, "--order", order)
    assert argvs(box)[:6] == first and len(box.states()) == 20
