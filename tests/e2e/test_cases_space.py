"""Theme B of the case list: the space and how its points are chosen."""

import resource
import time

PY = "/usr/bin/python3"


def points(box, study):
    rows = box.rows("SELECT trial, name, spelling FROM parameters ORDER BY trial, position",
                    study=study)
    found = {}
    for row in rows:
        found.setdefault(row["trial"], []).append((row["name"], row["spelling"]))
    return [tuple(p) for _, p in sorted(found.items())]


def limited_memory():
    # ASan-free binaries fit easily: 200 MB of address space is the case's own bound.
    resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))


def test_case_B1_a_huge_grid_costs_nothing(box):
    words = [f"p{i}=0,1" for i in range(30)]
    plan = box.run("plan", *words, "--output", "json", "--", "true", preexec=limited_memory)
    assert plan.code == 0, plan.text
    assert plan.json["count"] == {"trials": 2**30, "exact": True}
    assert plan.seconds < 10
    refused = box.run("run", *words, "--", "true")
    assert refused.code == 2 and "--limit" in refused.err and "--yes" in refused.err
    done = box.run("run", *words, "--method", "random", "--limit", "20", "--name", "r", "--", "true",
                   preexec=limited_memory)
    assert done.code == 0, done.text
    assert len(set(points(box, "r"))) == 20


def test_case_B1_ten_to_the_seven_with_a_limit(box):
    begin = time.monotonic()
    done = box.run("run", "a=range(10000)", "b=range(1000)", "--limit", "10", "--name", "s", "--",
                   "true", preexec=limited_memory)
    assert done.code == 0, done.text
    assert len(box.states("s")) == 10
    assert time.monotonic() - begin < 5


def test_case_B3_the_same_points_for_any_number_of_slots(box):
    for slots in (1, 4):
        done = box.run("run", "lr=loguniform(1e-5,1e-1)", "--method", "random", "--sampler-seed", "1",
                       "--limit", "40", "--slots", slots, "--name", f"s{slots}", "--", "true")
        assert done.code == 0, done.text
    assert points(box, "s1") == points(box, "s4")
    assert len(set(points(box, "s1"))) == 40


def test_case_B5_slots_ranks_and_repeats_are_three_things(box):
    assert box.run("run", "x=1", "--slots", "4", "--name", "one", "--", "true").code == 0
    assert len(box.states("one")) == 1
    box.write("sweep.yaml", "command: ['true', '${args}']\nparameters: {x: {values: [1, 2]}}\n"
                            "repeat: 3\n")
    assert box.run("run", "sweep.yaml", "--name", "rep").code == 0
    seeds = [dict(p)["seed"] for p in points(box, "rep")]
    assert sorted(seeds) == ["0", "0", "1", "1", "2", "2"]


def test_case_B5_four_trials_at_two_slots_take_two_rounds(box):
    done = box.run("run", "x=1..4", "--slots", "2", "--name", "s", "--", "sh", "-c",
                   "echo $SEEDBED_TRIAL; sleep 0.5", "{x}")
    assert done.code == 0, done.text
    spans = box.rows("SELECT started_ms AS a, ended_ms AS b FROM attempts", study="s")
    moments = sorted([(r["a"], 1) for r in spans] + [(r["b"], -1) for r in spans])
    alive = most = 0
    for _, step in moments:
        alive += step
        most = max(most, alive)
    assert most == 2


def test_case_B6_bounds_are_checked_with_the_parameters_name(box):
    for spec, word in (("lr=loguniform(0,1)", "lr"), ("lr=uniform(2,1)", "lr"),
                       ("lr=choice()", "lr"), ("n=randint(1,1)", "n")):
        done = box.run("run", spec, "--limit", "3", "--name", "s", "--", "true")
        assert done.code == 2 and word in done.err, done.text
    done = box.run("run", "lr=loguniform(1e-5,1e-1)", "--limit", "50", "--name", "ok", "--", "true")
    assert done.code == 0, done.text
    values = [float(dict(p)["lr"]) for p in points(box, "ok")]
    assert all(1e-5 <= value <= 1e-1 for value in values)
    assert sum(value < 1e-3 for value in values) > 10  # log-uniform, not uniform


def test_case_B6_random_over_an_endless_space_needs_a_limit(box):
    done = box.run("run", "lr=uniform(0,1)", "--name", "s", "--", "true")
    assert done.code == 2 and "--limit" in done.err, done.text


def test_case_B8_the_plan_shows_what_will_run_and_writes_nothing(box, show_py):
    before = sorted(box.cwd.rglob("*"))
    done = box.ok("plan", "lr=1e-3,1e-2", "bs=8,16,32", "seed=0,1", "--name", "s", "--", PY,
                  "show.py")
    assert sorted(box.cwd.rglob("*")) == before
    assert "12 trials" in done.out
    assert "show.py --lr=1e-3 --bs=8 --seed=0" in done.out
    assert "OMP_NUM_THREADS=1" in done.out
    assert "00001-" in done.out
    plan = box.ok("plan", "lr=1e-3,1e-2", "bs=8,16,32", "seed=0,1", "--name", "s", "--output",
                  "json", "--", PY, "show.py").json
    assert plan["first_trials"][0]["argv"] == [PY, "show.py", "--lr=1e-3", "--bs=8", "--seed=0"]
    assert plan["count"]["trials"] == 12


def test_case_B8_a_variable_of_each_trial_is_not_said_of_every_trial(box):
    box.write("sweep.yaml", "command: [echo, '{n}']\nparameters: {n: [1]}\n"
                            "env: {OWN: 'run-{n}', FIXED: same}\n")
    out = box.ok("plan", "sweep.yaml").out
    every, first = out.split("environment of every trial")[1].split("first trials")
    assert "FIXED=same" in every and "OWN" not in every
    assert "OWN=run-1" in first and "FIXED" not in first


def starts(box, study):
    return [row["trial"] for row in box.rows(
        "SELECT trial FROM attempts WHERE started_ms IS NOT NULL ORDER BY started_ms, trial",
        study=study)]


def test_longest_first_starts_what_was_seen_to_last_longest(box):
    box.write("sweep.yaml", """
command: [sh, -c, 'sleep $1', x, "{d}", "{seed}"]
parameters: {d: [0.02, 0.1, 0.2], seed: [0]}
order: longest-first
slots: 1
""")
    assert box.run("run", "sweep.yaml", "--name", "s").code == 0
    assert starts(box, "s") == [1, 2, 3]  # nothing is known yet: as written
    assert box.run("run", "sweep.yaml", "seed=0,1,2", "--name", "s").code == 0
    durations = [dict(p)["d"] for p in points(box, "s")]
    second = [durations[trial - 1] for trial in starts(box, "s")[3:]]
    assert second == ["0.2", "0.2", "0.1", "0.1", "0.02", "0.02"]


def test_longest_first_learns_while_it_runs(box):
    # The first values of d are met in the order they are written; then the slow one goes first.
    box.write("sweep.yaml", """
command: [sh, -c, 'sleep $1', x, "{d}", "{seed}"]
parameters: {seed: [0, 1, 2, 3], d: [0.02, 0.2]}
order: longest-first
slots: 1
""")
    assert box.run("run", "sweep.yaml", "--name", "s").code == 0
    durations = [dict(p)["d"] for p in points(box, "s")]
    order = [durations[trial - 1] for trial in starts(box, "s")]
    assert order[:2] == ["0.02", "0.2"]
    # It may have to see a few before it can tell; the last ones are the short ones.
    assert order[-2:] == ["0.02", "0.02"], order
