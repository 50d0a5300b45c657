"""clean: which files stay, and what is never touched."""

import json
import os
import shutil

import pytest

MODEL = "echo loss=$1 acc=$1; echo x > $SEEDBED_TRIAL_DIR/model.pt"


def models(box):
    """Trials whose file is still there."""
    return {n for n in box.states() if (box.trial_dir(n) / "model.pt").exists()}


def run(box, *words):
    box.ok("run", *words, "--name", "s", "--metric", "loss", "--goal", "minimize", "--", "sh", "-c",
           MODEL, "x", "{n}")


@pytest.mark.parametrize("words, kept", [
    ((), {1}),
    (("--metric", "acc"), {3}),
    (("--metric", "acc", "--goal", "minimize"), {1}),
    (("--goal", "maximize"), {3}),
    (("--metric", "loss"), {1}),
])
def test_case_J13_clean_keeps_what_best_calls_best(box, words, kept):
    run(box, "n=1..3")
    box.ok("clean", "s", "--keep", "1", "--yes", *words)
    assert models(box) == kept
    assert box.json("best", "s", *words)[0]["trial"] in kept


def test_case_J13_a_trial_outside_the_present_space_keeps_no_place(box):
    run(box, "n=1..3")
    run(box, "n=2,3")
    assert box.json("best", "s")[0]["trial"] == 2
    box.ok("clean", "s", "--keep", "1", "--yes")
    assert models(box) == {2}


def test_case_J13_clean_says_what_it_keeps_and_why(box):
    box.ok("run", "n=1..3", "--metric", "acc", "--goal", "maximize", "--name", "s", "--", "sh", "-c",
           'echo acc=0.$1; touch $SEEDBED_TRIAL_DIR/model', "x", "{n}")
    listed = box.ok("clean", "s", "--keep", "2").out
    assert "keeps the best by acc (last, maximize): trials 3, 2\n" in listed
    assert "keeps none\n" in box.ok("clean", "s", "--keep", "0").out


def test_clean_lists_what_it_deletes_as_json(box):
    run(box, "n=1..2")
    listed = box.json("clean", "s", "--keep", "1")
    assert [(row["trial"], row["bytes"], row["deleted"]) for row in listed] == [(2, 2, False)]
    assert listed[0]["path"] == str(box.trial_dir(2) / "model.pt")
    assert [row["deleted"] for row in box.json("clean", "s", "--keep", "1", "--yes")] == [True]
    assert box.json("clean", "s", "--keep", "1") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, whom folders keep out")
def test_a_folder_that_cannot_be_entered_is_passed_over(box):
    run(box, "n=1..2")
    closed = box.trial_dir(2) / "out/closed"
    (closed / "deep").mkdir(parents=True)
    (box.trial_dir(2) / "out/file").write_text("123")
    closed.chmod(0o700)
    study = box.runtime / "s"  # pytest's own folders keep others out
    shutil.copytree(box.study_dir(), study)
    box.runtime.chmod(0o755)
    done = box.run("clean", study, "--keep", "1", "--output", "json", cwd="/",
                   preexec=lambda: os.setuid(65534))
    assert done.code == 0, done.text
    sizes = {os.path.basename(row["path"]): row["bytes"] for row in json.loads(done.out)}
    assert sizes == {"model.pt": 2, "out": 3}
