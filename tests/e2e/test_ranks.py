"""Trials of several ranks (theme G), under the real Open MPI and the real MPICH."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import PYTHON, wait_until

CORES = len(os.sched_getaffinity(0))
MPIS = ("openmpi", "mpich")

PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  int rank = 0, size = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* mode = count > 1 ? words[1] : "";
  printf("rank %d of %d, loss=%d\n", rank, size, rank);
  fflush(stdout);
  if (rank == 1 && !strcmp(mode, "exit")) exit(3);
  if (rank == 1 && !strcmp(mode, "segv")) raise(SIGSEGV);
  if (rank == 1 && !strcmp(mode, "kill")) raise(SIGKILL);
  if (!strcmp(mode, "wait")) for (;;) pause();
  if (!strcmp(mode, "last")) { MPI_Finalize(); return rank == 1 ? 7 : 0; }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""

# Ranks that know each other by the variables of either MPI, without its library.
RANK = "import os\nrank = int(os.environ.get('OMPI_COMM_WORLD_RANK', os.environ.get('PMI_RANK', -1)))\n"

# An mpirun of any kind: answers --version, refuses flags that it does not know, and starts copies
# that know each other (or do not: FAKE_PLAIN).
FAKE = r"""#!/usr/bin/python3
import os, subprocess, sys
version, names, flags = VERSION, NAMES, FLAGS
words = sys.argv[1:]
if words == ["--version"]:
    print(version); sys.exit(0)
while words and words[0].startswith("-"):
    if words[0] not in flags:
        print("unknown flag", words[0]); sys.exit(1)
    taken, words = words[:1 + flags[words[0]]], words[1 + flags[words[0]]:]
    if taken[0] in ("-n", "-np"): count = int(taken[1])
copies = []
for rank in range(count):
    env = dict(os.environ)
    if "FAKE_PLAIN" not in env:
        for name, value in zip(names, (rank, count)): env[name] = str(value)
    copies.append(subprocess.Popen(words, env=env))
sys.exit(max(copy.wait() for copy in copies))
"""
KINDS = {
    "open4": ("mpirun (Open MPI) 4.1.4", ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
              {"-np": 1, "-n": 1, "--bind-to": 1, "--host": 1, "--mca": 2, "--oversubscribe": 0}),
    "open5": ("mpirun (Open MPI) 5.0.3", ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
              {"-np": 1, "-n": 1, "--bind-to": 1, "--host": 1, "--mca": 2, "--prtemca": 2}),
    "mpich": ("HYDRA build details:\n    Version:       4.2.0", ("PMI_RANK", "PMI_SIZE"),
              {"-np": 1, "-n": 1, "-bind-to": 1, "-launcher": 1, "-hosts": 1}),
    "intel": ("Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 20231005",
              ("PMI_RANK", "PMI_SIZE"), {"-np": 1, "-n": 1, "-genv": 2, "-hosts": 1}),
    "unknown": ("who am I", ("PMI_RANK", "PMI_SIZE"), {"-n": 1}),
}


@pytest.fixture(autouse=True)
def root_is_allowed(box):
    box.env["OMPI_ALLOW_RUN_AS_ROOT"] = box.env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """{MPI: PROGRAM built with it}."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "ranks.c").write_text(PROGRAM)
    built = {}
    for mpi in MPIS:
        if shutil.which(f"mpicc.{mpi}") and shutil.which(f"mpirun.{mpi}"):
            subprocess.run([f"mpicc.{mpi}", "-o", folder / mpi, folder / "ranks.c"], check=True)
            built[mpi] = folder / mpi
    return built


def need(programs, mpi):
    if mpi not in programs:
        pytest.skip(f"no {mpi} here (mpicc.{mpi}, mpirun.{mpi})")
    return programs[mpi]


def fake_mpirun(box, kind):
    version, names, flags = KINDS[kind]
    text = FAKE.replace("VERSION", repr(version)).replace("NAMES", repr(names))
    box.write("fake/mpirun", text.replace("FLAGS", repr(flags)), executable=True)
    box.env["PATH"] = f"{box.path('fake')}:{box.env['PATH']}"


def yaml(command, resources, more=""):
    return (f"command: {json.dumps(list(map(str, command)))}\nparameters: {{a: {{value: 1}}}}\n"
            f"params: file\nresources: {resources}\n{more}")


def attempt(box, trial=1):
    return box.rows(f"SELECT * FROM attempts WHERE trial={trial} ORDER BY attempt DESC")[0]


def metrics(box):
    """{name: (last value, points)}."""
    return {row["name"]: (row["last_value"], row["n"]) for row in box.rows(
        "SELECT name, last_value, n FROM metrics JOIN metric_names ON id = metric")}


def notes(box):
    return " ".join(row["text"] for row in box.rows(
        "SELECT json_extract(body, '$.text') AS text FROM records WHERE kind='note_added'"))


def log(box, trial=1):
    return box.log(trial).decode()


# ---- both MPIs


@pytest.mark.parametrize("mpi", MPIS)
def test_case_G1_ranks_share_cores_when_it_is_said(box, programs, mpi):
    program = need(programs, mpi)
    ranks = 2 * CORES
    box.sweep(yaml([program], f"{{ranks: {ranks}, cpus: 0.5, mpi: mpirun.{mpi}}}"))
    for rank in range(ranks):
        assert f"rank {rank} of {ranks}, loss={rank}\n" in log(box)
    assert attempt(box)["outcome"] == "exited"


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("mode, outcome, code", (("exit", "exited", 3), ("segv", "signalled", 11),
                                                 ("kill", "signalled", 9), ("last", "exited", 7)))
def test_a_rank_that_fails_ends_the_trial_and_is_named(box, programs, mpi, mode, outcome, code):
    program = need(programs, mpi)
    box.sweep(yaml([program, mode], f"{{ranks: 3, cpus: 0.1, mpi: mpirun.{mpi}}}"), code=1)
    ended = attempt(box)
    assert (ended["outcome"], ended["code"], ended["detail"]) == (outcome, code, "rank 1")
    box.wait_for_no_processes()


@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_without_the_library_end_with_the_first_that_fails(box, programs, mpi):
    need(programs, mpi)
    box.write("train.py", RANK + "import sys, time\nif rank == 1: sys.exit(4)\ntime.sleep(100)\n")
    box.sweep(yaml([PYTHON, "train.py"], f"{{ranks: 2, cpus: 0.1, mpi: mpirun.{mpi}}}"), code=1)
    assert (attempt(box)["code"], attempt(box)["detail"]) == (4, "rank 1")
    box.wait_for_no_processes()


@pytest.mark.parametrize("mpi", MPIS)
def test_a_stop_leaves_the_ranks_their_grace(box, programs, mpi):
    need(programs, mpi)
    box.write("train.py", RANK + """
import signal, sys, time
def save(number, frame):
    for part in range(15):  # longer than the second that Open MPI's mpirun gives
        time.sleep(0.1)
    print("saved", rank, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", rank, flush=True)
time.sleep(100)
""")
    box.write("sweep.yaml", yaml([PYTHON, "train.py"], f"{{ranks: 2, cpus: 0.1, mpi: mpirun.{mpi}}}"))
    run = box.start("run", "sweep.yaml", "--name", "s")
    wait_until(lambda: box.states("s") and log(box).count("ready") == 2)
    run.interrupt()
    assert run.wait().code == 130
    assert log(box).count("saved 0\n") == log(box).count("saved 1\n") == 1
    assert attempt(box)["outcome"] == "stopped"
    box.wait_for_no_processes()


@pytest.mark.parametrize("mpi", MPIS)
def test_a_time_limit_ends_all_ranks(box, programs, mpi):
    program = need(programs, mpi)
    box.write("ignore.sh", "#!/bin/sh\ntrap '' TERM\n\"$@\" &\nwait\nwait\nsleep 100\n", True)
    box.sweep(yaml(["./ignore.sh", program, "wait"], f"{{ranks: 2, cpus: 0.1, mpi: mpirun.{mpi}}}",
                   "limits: {time: 2s}\n"), "--grace", "1s", code=1)
    assert (attempt(box)["outcome"], attempt(box)["detail"]) == ("timed_out", "time")
    box.wait_for_no_processes()


@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_outlive_their_controller_and_are_found_again(box, programs, mpi):
    need(programs, mpi)
    box.write("train.py", RANK + """
import os, time
print("ready", rank, flush=True)
while not os.path.exists("go"): time.sleep(0.02)
print("loss=%d" % rank, flush=True)
""")
    box.write("sweep.yaml", yaml([PYTHON, "train.py"], f"{{ranks: 2, cpus: 0.1, mpi: mpirun.{mpi}}}",
                                 "metric: {name: loss, goal: minimize}\n"))
    run = box.start("run", "sweep.yaml", "--name", "s")
    wait_until(lambda: box.states("s") and log(box).count("ready") == 2)
    run.kill()
    again = box.start("run", "sweep.yaml", "--name", "s")
    wait_until(lambda: "adopted" in again.out or "running" in again.out or box.count("running"))
    box.write("go", "")
    assert again.wait().code == 0
    assert box.rows("SELECT count(*) AS n FROM attempts")[0]["n"] == 1
    assert metrics(box) == {"loss": (0.0, 1)}


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("victim", ("shim", "mpirun"))
def test_no_rank_is_left_when_what_started_it_is_killed(box, programs, mpi, victim):
    program = need(programs, mpi)
    box.write("sweep.yaml", yaml([program, "wait"], f"{{ranks: 2, cpus: 0.1, mpi: mpirun.{mpi}}}"))
    run = box.start("run", "sweep.yaml", "--name", "s", "--grace", "1s")
    wait_until(lambda: box.states("s") and log(box).count("rank ") >= 2)
    mark = "slot" if victim == "shim" else f"mpirun.{mpi}"
    started = [pid for pid, line in box.processes().items()
               if mark in line and (" rank " not in line or victim == "mpirun")]
    assert started
    os.kill(started[0], signal.SIGKILL)
    wait_until(lambda: not [line for line in box.processes().values()
                            if str(program) in line and "seedbed run" not in line] or
               attempt(box)["attempt"] > 1)
    run.interrupt()
    run.wait()
    box.wait_for_no_processes()


def test_case_G7_lines_of_ranks_are_told_apart_and_rank_0_counts(box, programs):
    need(programs, "openmpi")
    box.write("train.py", RANK + """
import json, os, time
for step in range(3):
    print("rank", rank, f"loss={rank + step / 10}")  # unbuffered: five pieces
    with open(os.environ["SEEDBED_METRICS"], "a") as file:
        print(json.dumps({"step": step, "acc": rank}), file=file)
""")
    box.sweep(yaml([PYTHON, "train.py"], "{ranks: 4, cpus: 0.25}",
                   "metric: {name: loss, goal: minimize}\n"))
    lines = log(box).splitlines()
    assert sorted(lines) == sorted(f"{f'[rank {r}] ' if r else ''}rank {r} loss={r + s / 10}"
                                   for r in range(4) for s in range(3))
    assert metrics(box) == {"acc": (0.0, 3), "loss": (0.2, 3)}
    others = box.trial_dir(1) / "metrics.rank-3.jsonl"
    assert others.read_text().count('"acc": 3') == 3


def test_case_G7_a_file_that_all_ranks_write_is_reported_not_plotted(box, programs):
    need(programs, "openmpi")
    box.write("train.py", RANK + """
import sys
with open(sys.argv[1], "a", buffering=1) as file:
    print("step,loss", file=file)
    for step in range(5):
        print(f"{step},{rank}", file=file)
print("done", flush=True)
""")
    box.sweep(yaml([PYTHON, "train.py", "{trial_dir}/progress.csv"], "{ranks: 3, cpus: 0.25}",
                   "capture: [{file: '{trial_dir}/progress.csv'}]\n"))
    assert "let rank 0 alone write it" in notes(box)
    assert metrics(box).get("loss", (0, 0))[1] <= 5  # a rank's that was seen before the next began


# ---- which MPI


def test_case_G1_more_ranks_than_cores_are_refused_before_anything_starts(box):
    box.write("sweep.yaml", yaml(["true"], f"{{ranks: {CORES + 1}}}"))
    done = box.run("run", "sweep.yaml")
    assert done.code == 5, done.text
    assert f"its {CORES + 1} ranks of 1 core each need {CORES + 1}, {CORES} " in done.err
    assert "resources: {cpus: 0." in done.err
    assert not box.path("studies").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone is refused")
@pytest.mark.parametrize("resources, command", (
    ("{ranks: 2, cpus: 0.5, mpi: mpirun.openmpi}", ["true"]),
    ("{cpus: 2}" if CORES > 1 else "{cpus: 1}", ["mpirun.openmpi", "-np", "1", "true"])))
def test_case_G2_root_is_told_once_what_to_set(box, programs, resources, command):
    need(programs, "openmpi")
    del box.env["OMPI_ALLOW_RUN_AS_ROOT"]
    box.write("sweep.yaml", yaml(command, resources) + "repeat: 20\n")
    done = box.run("run", "sweep.yaml")
    assert done.code == 5, done.text
    assert done.err.count("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1") == 1
    assert not box.path("studies").exists()
    box.write("sweep.yaml", yaml(command, resources, "env: {OMPI_ALLOW_RUN_AS_ROOT: 1}\n"))
    box.ok("run", "sweep.yaml")


def test_case_G3_the_mpirun_of_the_programs_own_mpi_is_taken(box, programs):
    need(programs, "openmpi")
    usual = "mpich" if "openmpi" in os.path.realpath(shutil.which("mpirun") or "") or \
        "orterun" in os.path.realpath(shutil.which("mpirun") or "") else "openmpi"
    box.sweep(yaml([need(programs, usual)], "{ranks: 2, cpus: 0.5}"))
    assert "rank 1 of 2" in log(box)
    assert "starts the ranks, not /usr/bin/mpirun" in notes(box)


@pytest.mark.parametrize("mpi", MPIS)
def test_case_G3_a_named_mpirun_of_another_mpi_is_refused_with_both_paths(box, programs, mpi):
    other = [one for one in MPIS if one != mpi][0]
    need(programs, other)
    box.write("sweep.yaml", yaml([need(programs, mpi)], f"{{ranks: 2, cpus: 0.5, mpi: mpirun.{other}}}"))
    done = box.run("run", "sweep.yaml")
    assert done.code == 5, done.text
    assert "every rank would be rank 0 of 1" in done.err
    assert f"/usr/bin/mpirun.{other}" in done.err
    assert re.search(r"/\S*lib(mpi|mpich)\.so", done.err)


def test_case_G3_mpi4py_decides_for_a_script_that_uses_it(box, programs):
    need(programs, "mpich")
    if not subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode == 0:
        pytest.skip("no mpi4py")
    box.write("train.py", "from mpi4py import MPI\nw = MPI.COMM_WORLD\n"
                          "print(f'rank {w.rank} of {w.size}', flush=True)\n")
    box.sweep(yaml([PYTHON, "train.py"], "{ranks: 2, cpus: 0.5}"))
    assert "rank 1 of 2" in log(box)
    box.write("sweep.yaml", yaml([PYTHON, "train.py"], "{ranks: 2, cpus: 0.5, mpi: mpirun.mpich}"))
    done = box.run("run", "sweep.yaml", "--name", "t")
    assert done.code == 5 and "rank 0 of 1" in done.err and "libmpi" in done.err, done.text
    # A script that does not say so may use it all the same: only told.
    box.write("train.py", "print('loss=1')\n")
    done = box.run("run", "sweep.yaml", "--name", "u")
    assert done.code == 0 and "if the program uses it" in done.out + done.err, done.text


def test_case_G3_a_library_behind_a_script_is_seen_while_it_runs(box, programs):
    need(programs, "openmpi")
    box.write("train.sh", f"#!/bin/sh\nexec {need(programs, 'mpich')} wait\n", executable=True)
    box.write("sweep.yaml", yaml(["./train.sh"], "{ranks: 2, cpus: 0.5, mpi: mpirun.openmpi}",
                                 "limits: {time: 2s}\n"))
    box.run("run", "sweep.yaml", "--grace", "1s")
    assert "every rank was rank 0 of 1: /usr/bin/mpirun.openmpi" in notes(box)
    assert "libmpich" in notes(box)


def test_case_G3_an_mpirun_that_starts_plain_copies_is_refused(box):
    fake_mpirun(box, "open4")
    box.env["FAKE_PLAIN"] = "1"
    box.write("sweep.yaml", yaml(["true"], "{ranks: 4, cpus: 0.25}"))
    done = box.run("run", "sweep.yaml")
    assert done.code == 5, done.text
    assert "started 4 processes for 4 ranks, and none of them knew" in done.err
    assert str(box.path("fake/mpirun")) in done.err


def test_case_G4_ranks_have_cores_of_their_own(box, programs):
    need(programs, "openmpi")
    if CORES < 2:
        pytest.skip("one core")
    box.write("train.py", RANK + "import os\nprint('mask', rank, sorted(os.sched_getaffinity(0)), "
                                 "os.environ['OMP_NUM_THREADS'], flush=True)\n")
    box.sweep(yaml([PYTHON, "train.py"], "{ranks: 2}"))
    masks = re.findall(r"mask \d (\[\d+\]) 1", log(box))
    assert len(set(masks)) == 2, log(box)


@pytest.mark.parametrize("resources, command", (
    ("{ranks: 2, cpus: 0.5}", []), ("{cpus: 1}", ["mpirun.openmpi", "-np", "1"])))
def test_case_G4_trials_side_by_side_do_not_share_cores(box, programs, resources, command):
    need(programs, "openmpi")
    if CORES < 2:
        pytest.skip("one core")
    box.write("train.py", """
import os, time
print("mask", sorted(os.sched_getaffinity(0)), flush=True)
open(os.environ["SEEDBED_STUDY_DIR"] + "/at-" + os.environ["SEEDBED_TRIAL"], "w")
while len([f for f in os.listdir(os.environ["SEEDBED_STUDY_DIR"]) if f.startswith("at-")]) < 2:
    time.sleep(0.02)
""")
    box.sweep(yaml([*command, PYTHON, "train.py"], resources) + "repeat: 2\n")
    masks = [set(re.findall(r"mask (\[.*\])", log(box, trial))) for trial in (1, 2)]
    assert len(masks[0]) == len(masks[1]) == 1 and masks[0] != masks[1], masks


def test_case_G4_ranks_of_ones_own_mpirun_and_cores_that_clash_are_told(box, programs):
    need(programs, "openmpi")
    done = box.ok("plan", "a=1", "--", "mpirun.openmpi", "-np", "2", "./train", "{a}")
    assert "each trial starts 2 ranks (mpirun.openmpi) on 1 core" in done.out
    assert "OMPI_MCA_hwloc_base_binding_policy=none" in done.out
    box.env["OMPI_MCA_hwloc_base_binding_policy"] = "core"
    done = box.ok("plan", "a=1", "--", "mpirun.openmpi", "-np", "2", "./train", "{a}")
    assert "OMPI_MCA_hwloc_base_binding_policy" not in done.out


@pytest.mark.parametrize("kind, flags", (
    ("open4", "--bind-to none --host localhost:4 --mca mpi_yield_when_idle 1 -np 4"),
    ("open5", "--bind-to none --host localhost:4 --mca mpi_yield_when_idle 1 -np 4"),
    ("mpich", "-np 4"), ("intel", "-genv I_MPI_PIN off -np 4"), ("unknown", "-n 4")))
def test_case_G9_only_flags_that_the_found_mpi_knows(box, kind, flags):
    fake_mpirun(box, kind)
    box.write("train.sh", "#!/bin/sh\necho here\n", executable=True)
    box.sweep(yaml(["./train.sh"], "{ranks: 4, cpus: 0.25}"))
    assert log(box).count("here") == 4
    argv = json.loads(box.rows("SELECT json_extract(body, '$.details_json') AS d FROM records "
                               "WHERE kind='attempt_started'")[0]["d"])["argv"]
    words = " ".join(argv)
    assert re.fullmatch(re.escape(f"{box.path('fake/mpirun')} {flags} ") +
                        r"\S+/seedbed-shim rank \./train\.sh", words), words


def test_no_mpi_is_an_error_before_the_start(box):
    tools = box.path("tools")
    tools.mkdir()
    for name in ("true", "sh", "ldd"):
        (tools / name).symlink_to(shutil.which(name))
    box.write("sweep.yaml", yaml(["true"], "{ranks: 2, cpus: 0.5}"))
    done = box.exec(box.argv(["run", "sweep.yaml"]), env={"PATH": str(tools)})
    assert done.code == 5, done.text
    assert "there is no mpirun along PATH" in done.err and "openmpi-bin" in done.err
    box.write("sweep.yaml", yaml(["true"], "{ranks: 2, cpus: 0.5, mpi: mpirun.mine}"))
    done = box.run("run", "sweep.yaml")
    assert done.code == 5 and "mpi: mpirun.mine is not found along PATH" in done.err, done.text


@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_inside_a_rank_and_a_batch_job(box, programs, mpi):
    program = need(programs, mpi)
    box.write("sweep.yaml", yaml([program], f"{{ranks: 2, cpus: 0.5, mpi: mpirun.{mpi}}}"))
    inside = {"SLURM_JOB_ID": "7", "SLURM_NODELIST": "node[1-4]", "SLURM_NNODES": "4",
              "SLURM_TASKS_PER_NODE": "2(x4)", "SLURM_JOB_NUM_NODES": "4", "SLURM_NTASKS": "8",
              "SLURM_JOB_NODELIST": "node[1-4]", "OMPI_COMM_WORLD_RANK": "3",
              "OMPI_COMM_WORLD_SIZE": "5", "PMI_RANK": "3", "PMI_SIZE": "5", "PMIX_RANK": "3"}
    done = box.run("run", "sweep.yaml", "--name", "s", env=inside)
    assert done.code == 0, done.text
    assert "rank 0 of 2" in log(box) and "[rank 1] rank 1 of 2" in log(box)


def test_plan_show_and_doctor_tell_of_the_mpi(box, programs):
    need(programs, "openmpi")
    program = need(programs, "mpich")
    box.write("sweep.yaml", yaml([program], "{ranks: 2, cpus: 0.5, mpi: mpirun.mpich}"))
    plan = box.ok("plan", "sweep.yaml").out
    assert "2 ranks of 0.5 cores each" in plan and "MPICH 4" in plan, plan
    assert re.search(rf"mpirun\.mpich -np 2 \S+seedbed-shim rank {program}", plan), plan
    assert not box.path("studies").exists()
    box.ok("run", "sweep.yaml", "--name", "s")
    shown = box.ok("show", "1").out
    assert re.search(r"MPI +/usr/bin/mpiexec.hydra \(MPICH 4\S+\), 2 ranks", shown), shown
    doctor = box.ok("doctor").out
    assert "Open MPI 4" in doctor and "MPICH 4" in doctor, doctor


def test_a_command_that_starts_mpirun_itself_and_ranks_are_refused(box):
    box.write("sweep.yaml", yaml(["mpirun", "-np", "2", "true"], "{ranks: 2, cpus: 0.5}"))
    done = box.run("run", "sweep.yaml")
    assert done.code == 2 and "leave out one of them" in done.err, done.text
