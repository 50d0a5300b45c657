"""K1, K5, L5, L7: tables over seeds, status, looking without disturbing."""

import json
import os
import sqlite3

import pytest

from conftest import wait_until

PY = "/usr/bin/python3"
RETURNS = {"a": [1, 2, 3, 4, 5], "b": [9, 1, 1, 1, None]}


def seeds_study(box):
    box.write("t.py", f"""
import sys
returns = {RETURNS}
value = returns[sys.argv[1]][int(sys.argv[2])]
if value is None: raise SystemExit(1)
print(f'ret={{value}}')
""")
    return box.run("run", "s=a,b", "seed=range(5)", "--name", "k", "--metric", "ret", "--goal",
                   "maximize", "--", PY, "t.py", "{s}", "{seed}")


def test_case_K1_one_row_per_configuration_with_a_mark_for_missing_seeds(box):
    assert seeds_study(box).code == 1
    rows = {row["s"]: row for row in box.json("compare", "k")}
    a, b = rows["a"], rows["b"]
    assert a["n"] == 5 and b["n"] == 4
    means = [v for k, v in a.items() if "mean" in k]
    assert means[0] == 3.0
    assert abs([v for k, v in a.items() if "std" in k][0] - 2.5 ** 0.5) < 1e-12
    text = box.ok("compare", "k").out
    assert "std" in text and "4" in text and "maximize" in text
    assert box.json("best", "k")[0]["s"] == "a"


def test_case_L7_status_is_one_screen_and_gives_the_exit_code(box):
    run = box.start("run", "n=1..6", "--slots", "2", "--name", "s", "--", "sh", "-c",
                    '[ "$1" = 1 ] && { echo boom >&2; exit 3; }; [ "$1" -lt 4 ] || '
                    "while [ ! -e go ]; do sleep 0.05; done", "x", "{n}")
    wait_until(lambda: box.count("running") == 2 and len(box.states()) == 6)
    status = box.run("status", "s")
    assert len(status.out.splitlines()) < 40
    for word in ("completed", "running", "waiting", "failed", "exit code 3"):
        assert word in status.out, status.text
    machine = json.loads(box.run("status", "s", "--output", "json").out)
    assert machine["counts"]["running"] == 2 and machine["counts"]["failed"] == 1
    box.write("go", "")
    assert run.wait().code == 1
    assert box.run("status", "s").code == 1


def test_case_L5_looking_does_not_disturb(box):
    run = box.start("run", "n=1..40", "--slots", "2", "--name", "s", "--", "sh", "-c",
                    "echo loss=$1; sleep 0.02", "x", "{n}")
    box.wait_for("completed", 1)
    looks = 0
    while run.running and looks < 40:
        for words in (("status", "s"), ("trials", "s"), ("list",)):
            assert box.run(*words).code in (0, 1, 6)
        looks += 1
    assert run.wait().code == 0
    assert box.count("completed") == 40 and looks > 0


def overwrite_the_trials(path):
    """The first page of the table of trials: found only when the trials are read."""
    with sqlite3.connect(path) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name='trials'").fetchone()
    database.close()
    with open(path, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)


DAMAGES = {
    "overwritten in the middle": overwrite_the_trials,
    "cut to half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut to nothing": lambda path: os.truncate(path, 0),
    "replaced by text": lambda path: path.write_text("no database\n" * 500),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_case_I7_looking_at_a_damaged_record_says_what_helps_and_changes_nothing(box, damage):
    box.ok("run", "n=1..40", "--name", "s", "--metric", "loss", "--goal", "minimize", "--", "echo",
           "loss={n}")
    folder = box.study_dir("s")
    DAMAGES[damage](folder / "study.db")

    def everything():
        return {path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
                for path in [folder, *folder.rglob("*")]}

    before = everything()
    said = set()
    for words in (("status", "s"), ("status", "s", "--output", "json"), ("trials", "s"),
                  ("compare", "s"), ("best", "s"), ("show", "3", "--study", "s"), ("export", "s")):
        done = box.run(*words)
        assert done.code == 4 and done.out == "", f"{words}: {done.text}"
        said.add(done.err)
    assert len(said) == 1, said
    assert f"record of this study is damaged: {folder}/study.db (" in done.err, done.err
    assert f"seedbed run --study {folder}\n" in done.err, done.err
    listed = box.json("list")
    assert [row["study"] for row in listed] == ["s"] and "damaged" in listed[0]["activity"], listed
    assert everything() == before


def test_a_narrower_space_does_not_count_what_never_ran_as_results(box):
    first = box.run("run", "n=1..6", "--name", "s", "--halt", "first", "--slots", "1", "--", "sh", "-c",
                    '[ "$1" != 2 ]', "x", "{n}")
    assert first.code == 6, first.text
    run = box.run("run", "n=1", "--name", "s", "--slots", "1", "--", "sh", "-c", '[ "$1" != 2 ]',
                  "x", "{n}")
    assert run.code == 0, run.text
    waited = len(box.states()) - 2
    assert waited > 0
    status = box.run("status", "s")
    assert f"outside the present space {waited + 1}, {waited} of them never run" in status.out, \
        status.text
    machine = json.loads(box.run("status", "s", "--output", "json").out)
    assert (machine["outside"], machine["outside_never_run"]) == (waited + 1, waited)


def test_list_shows_the_studies_here(box):
    box.ok("run", "n=1", "--name", "one", "--", "true")
    box.ok("run", "n=1..2", "--name", "two", "--", "true")
    rows = {row["study"]: row for row in box.json("list")}
    assert set(rows) == {"one", "two"}


def test_unknown_words_get_a_suggestion(box):
    assert "status" in box.run("stats").err
    assert "--limit" in box.run("run", "n=1", "--limt", "3", "--", "true").err
    done = box.run("status", "nosuch")
    assert done.code == 2, done.text


def test_logs_follow_and_raw(box):
    box.ok("run", "n=1", "--name", "s", "--", "printf", "a\\033[31mb\\n", "{n}")
    assert "\033" not in box.ok("logs", "1", "--study", "s").out
    assert "\033[31m" in box.ok("logs", "1", "--study", "s", "--raw").out


def test_case_K5_another_metric_has_the_direction_of_its_name(box):
    box.ok("run", "n=1,2,3", "--name", "s", "--metric", "loss", "--goal", "minimize", "--", "sh", "-c",
           "echo loss=$1; echo acc=$1", "x", "{n}")
    assert "n = 1" in box.ok("best", "s").out
    best = box.ok("best", "s", "--metric", "acc").out
    assert "n = 3" in best and "maximize" in best
    assert "n = 1" in box.ok("best", "s", "--metric", "acc", "--goal", "minimize").out
