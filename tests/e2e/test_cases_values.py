"""Theme A of the case list: values and the command line, as the trial's program sees them."""

import json
import re

PY = "/usr/bin/python3"


def argvs(box, study=None):
    """The arguments each trial's show.py got, by trial number."""
    return {trial: json.loads(box.log(trial, study=study).decode())["argv"]
            for trial in box.states(study)}


def sweep(box, yaml, *words, name="s", code=0):
    box.write("sweep.yaml", yaml)
    done = box.run("run", "sweep.yaml", "--name", name, *words)
    assert done.code == code, done.text
    return done


def test_case_A1_numbers_keep_their_spelling_and_are_numbers(box, show_py):
    sweep(box, """
command: [/usr/bin/python3, show.py, "${args}"]
parameters:
  lr: [1e-3, 1E-2, 1.0e-4, 1e+3, .5, 5.]
""")
    assert sorted(a[0] for a in argvs(box).values()) == sorted(
        ["--lr=1e-3", "--lr=1E-2", "--lr=1.0e-4", "--lr=1e+3", "--lr=.5", "--lr=5."])
    numbers = box.rows("SELECT kind, number FROM parameters ORDER BY number")
    assert [row["kind"] for row in numbers] == ["real"] * 6
    assert [row["number"] for row in numbers] == [1e-4, 1e-3, 1e-2, 0.5, 5.0, 1e3]


def test_case_A1_a_wrong_type_is_reported_before_anything_starts(box, show_py):
    box.write("sweep.yaml", """
command: [/usr/bin/python3, show.py, "${args}"]
parameters:
  lr: {min: 1e-5, max: abc}
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 2, done.text
    assert "sweep.yaml:4" in done.err and "lr" in done.err
    assert not (box.cwd / "studies").exists()


def test_case_A3_bare_words_stay_words(box, show_py):
    sweep(box, """
command: [/usr/bin/python3, show.py, "${args}"]
parameters:
  c: [no, NO, se, off, on, yes, 12:30:45, 2024-01-02, nan, .nan, 007, 0x10, 1_000]
""")
    got = [a[0].removeprefix("--c=") for _, a in sorted(argvs(box).items())]
    assert got == ["no", "NO", "se", "off", "on", "yes", "12:30:45", "2024-01-02", "nan", ".nan",
                   "007", "0x10", "1_000"]
    assert {r["kind"] for r in box.rows("SELECT kind FROM parameters")} == {"text"}


def test_case_A3_null_and_empty_and_none_differ(box, show_py):
    done = sweep(box, """
command: [/usr/bin/python3, show.py, "${args}"]
parameters:
  e: [~, "", None, !absent ]
""")
    assert sorted(map(tuple, argvs(box).values())) == sorted([("--e=None",), ("--e=",),
                                                              ("--e=None",), ()])
    assert len(box.states()) == 4
    assert "None" in done.out + done.err


def test_case_A4_booleans_as_the_user_chooses(box, show_py):
    sweep(box, """
command: [/usr/bin/python3, show.py, "${args}"]
parameters:
  amp: {values: [true, false], flag: present}
  pin: {values: [true], flag: "no"}
  low: {value: false, flag: true-false}
  one: {value: true, flag: "01"}
  raw: {value: true}
""")
    got = [a for _, a in sorted(argvs(box).items())]
    assert got[0] == ["--amp", "--pin", "--low=false", "--one=1", "--raw=True"]
    assert got[1] == ["--pin", "--low=false", "--one=1", "--raw=True"]


ODD = ["a b", "it's", 'say "hi"', "$HOME", "`id`", "$(touch pwned)", "a;b", "*", "#x", "\\n",
       "x\ty", "two\nlines", " lead", "trail ", "", "[32,32]", "(64,)", '{"a": 1}', "a|b", "k=v",
       "x,y", "李明", "é", "-", "--", "@file", "%d {} {0} {{x}}"]


def test_case_A6_A7_odd_values_arrive_unchanged(box, show_py):
    lines = "\n".join(f"    - {json.dumps(value)}" for value in ODD)
    sweep(box, f"""
command: [/usr/bin/python3, show.py, "{{v}}"]
parameters:
  v:
    values:
{lines.replace('    - ', '      - ')}
""")
    assert [a[0] for _, a in sorted(argvs(box).items())] == ODD
    assert not box.path("pwned").exists()
    assert [r["spelling"] for r in box.rows("SELECT spelling FROM parameters ORDER BY trial")] == ODD


def test_case_A6_shell_mode_never_lets_a_value_be_code(box):
    lines = "\n".join(f"      - {json.dumps(value)}" for value in ODD if "\n" not in value)
    box.write("sweep.yaml", f"""
shell: true
command: "printf '%s' {{v}} > out-{{trial}}"
parameters:
  v:
    values:
{lines}
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 0, done.text
    expected = [value for value in ODD if "\n" not in value]
    assert [box.read(f"out-{n + 1}") for n in range(len(expected))] == expected
    assert not box.path("pwned").exists()


def test_case_A8_negative_numbers_are_one_word(box, show_py):
    done = box.run("run", "bias=-1,-1e-3,-.5,-10.", "--name", "s", "--", PY, "show.py")
    assert done.code == 0, done.text
    assert [a for _, a in sorted(argvs(box).items())] == [
        ["--bias=-1"], ["--bias=-1e-3"], ["--bias=-.5"], ["--bias=-10."]]


def test_case_A10_only_the_trial_with_the_huge_value_is_refused(box, show_py):
    box.write("sweep.yaml", f"""
command: [/usr/bin/python3, show.py, "${{args}}"]
parameters:
  v: [short, {'x' * 200_000}, other]
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 1, done.text[:3000]
    assert list(box.states().values()) == ["completed", "failed", "completed"]
    reason = box.rows("SELECT reason FROM trials WHERE trial = 2")[0]["reason"]
    assert "`v`" in reason and "131,071" in reason
    assert len(box.ok("trials", "s").out) < 10_000


def test_case_A10_a_variable_that_is_too_long_names_its_parameter(box):
    box.write("sweep.yaml", f"""
command: [sh, -c, 'echo $NOTE']
parameters: {{v: [short, {'x' * 200_000}, other]}}
env: {{NOTE: "<{{v}}>"}}
params: file
""")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 1, done.text[:3000]
    assert list(box.states().values()) == ["completed", "failed", "completed"]
    assert "env: NOTE, with parameter `v` in it, has 200,007 bytes" in done.out
    log = box.path(re.search(r"log: (\S+)", done.out)[1])
    assert "env: NOTE, with parameter `v`" in log.read_text()


def test_case_A12_ranges_do_not_drift(box, show_py):
    done = box.run("run", "x=linspace(0.1,0.5,5)", "--name", "s", "--", PY, "show.py")
    assert done.code == 0, done.text
    assert [a[0] for _, a in sorted(argvs(box).items())] == [
        "--x=0.1", "--x=0.2", "--x=0.3", "--x=0.4", "--x=0.5"]
    done = box.run("run", "x=geomspace(1e-5,1e-1,5)", "--name", "g", "--", PY, "show.py")
    assert done.code == 0, done.text
    assert [float(a[0][4:]) for _, a in sorted(argvs(box, "g").items())] == [
        1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
