"""What a study remembers of how it was started, for later runs and commands elsewhere."""

import pytest

from conftest import PYTHON as PY

TEMPLATED = """
command: [sh, -c, 'cat "$0"', '{config}']
template: cfg.txt
parameters: {lr: {values: [1, 2, 3]}}
"""


def test_a_template_beside_a_sweep_file_elsewhere_is_found_by_every_command(box):
    box.write("sub/sweep.yaml", TEMPLATED)
    box.write("sub/cfg.txt", "lr is {lr}")
    assert "lr is" not in box.ok("plan", "sub/sweep.yaml", "--name", "s").err
    box.ok("run", "sub/sweep.yaml", "--name", "s", "--limit", "1")
    assert box.log(1) == b"lr is 1"
    elsewhere = box.home / "elsewhere"
    elsewhere.mkdir()
    study = str(box.study_dir())
    assert box.run("status", study, cwd=elsewhere).code == 0
    box.ok("add", "lr=7", "--study", study, cwd=elsewhere)
    box.ok("run", "--study", study, cwd=elsewhere)
    assert box.log(2) == b"lr is 7"
    box.ok("run", "sub/sweep.yaml", "--name", "s")
    assert sorted(box.log(n) for n in box.states()) == [f"lr is {n}".encode() for n in (1, 2, 3, 7)]


def test_status_counts_what_waits_of_a_study_with_a_template(box):
    box.write("cfg.txt", "{lr}")
    box.write("sweep.yaml", TEMPLATED.replace("cat", "exit 1; cat").replace(
        "values: [1, 2, 3]", "min: 1, max: 9000"))
    assert box.run("run", "sweep.yaml", "--name", "s", "--halt", "first", "--slots", "1").code == 6
    status = box.run("status", "s", "--output", "json").json
    assert status["counts"]["waiting"] == 8999


def test_a_limit_of_the_run_is_no_limit_of_what_is_added(box):
    box.ok("run", "i=1..30", "--limit", "2", "--name", "s", "--", "true")
    done = box.ok("add", "i=11..20", "--study", "s")
    assert "10 trials" in done.out or "10 " in done.out, done.out
    box.ok("run", "--study", "s")
    assert box.count("completed") == 12
    box.ok("add", "i=21..30", "--limit", "3", "--study", "s")
    box.ok("run", "--study", "s")
    assert box.count("completed") == 15


def test_add_of_too_many_says_what_add_can_do(box):
    box.ok("run", "i=1", "--name", "s", "--", "true")
    done = box.run("add", "i=1..20000", "--study", "s")
    assert done.code == 2 and "--limit" in done.err, done.text
    assert "--yes" not in done.err and "--method" not in done.err


def test_a_word_of_add_with_hydras_plus_is_known_as_given(box):
    box.ok("run", "i=1,2", "j=1,2", "--name", "s", "--", "true")
    done = box.ok("add", "+i=3,4", "--study", "s")
    assert "with every value of j in" in done.out, done.out


@pytest.mark.parametrize("halt", ["never", "Never", "first", "20%", "3"])
def test_every_word_of_halt_can_be_read_back(box, halt):
    box.ok("run", "i=1", "--halt", halt, "--name", "s", "--", "true")
    box.ok("run", "--study", "s")
    box.ok("add", "i=2", "--study", "s")


def test_halt_never_takes_the_files_rule_back(box):
    box.write("sweep.yaml", "command: ['false']\nhalt: first\nparameters: {i: {values: [1, 2, 3]}}\n"
                            "params: file\n")
    assert box.run("run", "sweep.yaml", "--slots", "1", "--halt", "never", "--name", "s").code == 1
    assert box.count("failed") == 3


@pytest.mark.parametrize("halt", ["150%", "0", "1.5", "often"])
def test_a_halt_that_is_none_is_refused_at_its_place(box, halt):
    box.write("sweep.yaml", f"command: ['true']\nhalt: {halt}\nparameters: {{i: {{value: 1}}}}\n")
    done = box.run("run", "sweep.yaml")
    assert done.code == 2 and "sweep.yaml:2:7: `halt`: " in done.err, done.text
    done = box.run("run", "i=1", "--halt", halt, "--", "true")
    assert done.code == 2 and "--halt: " in done.err, done.text


OPTIONS = [
    ("--method", "random", "--sampler-seed", "5", "--limit", "2"),
    ("--slots", "1"),
    ("--order", "shuffled"),
    ("--order", "longest-first"),
    ("--metric", "loss", "--goal", "maximize"),
    ("--where", "i < 3", "--where", "i > 0"),
    ("--cpus", "0.5", "--memory", "64MiB"),
    ("--seed-parameter", "i"),
    ("--seed-parameter", "none"),
    ("--bool-style", "01"),
    ("--halt", "50%"),
    ("--grace", "3s"),
    ("--on-interrupt", "drain"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_every_run_option_is_kept_or_given_again(box, options):
    """The study's own sweep file, written with the option, reads back to the same study."""
    box.ok("run", "i=1..4", "--name", "s", *options, "--", PY, "-c", "print('loss=1')", "{i}")
    before = (box.study_dir() / "sweep.yaml").read_text()
    trials = box.states()
    box.ok("run", "--study", "s")
    assert (box.study_dir() / "sweep.yaml").read_text() == before
    assert box.states() == trials


def test_lists_are_lists_in_every_file_of_a_trial(box):
    done = box.ok("run", "h=[a,b],[1e-3,.5]", "--name", "s", "--output", "json", "--", "true")
    assert [box.params(n)["values"]["h"] for n in (1, 2)] == [["a", "b"], [0.001, 0.5]]
    assert [box.params(n)["text"]["h"] for n in (1, 2)] == ["[a,b]", "[1e-3,.5]"]
    assert '"h":["a","b"]' in done.out
    # YAML 1.1, which W&B's client reads, wants a point and a sign in a number with an exponent.
    assert 'value: ["a", "b"]' in (box.trial_dir(1) / "wandb-params.yaml").read_text()
    assert "value: [1.0e-3, 5.0e-1]" in (box.trial_dir(2) / "wandb-params.yaml").read_text()
