"""Studies that earlier versions wrote open for ever: one of each schema is kept in tests/golden."""

import json
import pathlib
import shutil

import pytest

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "schemas"


@pytest.mark.parametrize("schema", sorted(path.name for path in GOLDEN.iterdir()))
def test_a_study_of_an_earlier_schema_is_read_and_goes_on(box, schema):
    shutil.copytree(GOLDEN / schema, box.study_dir("old"))
    expected = json.loads((GOLDEN / schema / "trials.json").read_text())
    shown = [{key: row[key] for key in expected[0]} for row in box.json("trials", "old")]
    assert shown == expected
    best = box.ok("best", "old").out
    assert "minimize: 0.2" in best and "n 2" in best and "lr = 2" in best
    done = box.run("run", "--study", "old")
    assert done.code == 1, done.text  # the failed one stays failed
    states = box.states("old")
    assert list(states.values()).count("completed") == 5 and states[3] == "failed"
    assert [row["attempt"] for row in box.rows(
        "SELECT attempt FROM attempts WHERE trial < 4", study="old")] == [1, 1, 1]
