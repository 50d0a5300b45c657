"""Theme F of the case list: every device busy, none lent twice, each trial sees only its own."""

import json
import os
import signal

import pytest
from conftest import binary_folder, wait_until

# Writes what it sees of its devices, with the times between which it ran, and waits for the file go.
SEER = '''\
import json, os, sys, time
begin = time.time()
seen = {k: v for k, v in os.environ.items() if "VISIBLE" in k or k == "CUDA_DEVICE_ORDER"}
until = float(os.environ.get("SEER_SECONDS", "0"))
while time.time() < begin + until or (os.environ.get("SEER_WAITS") and not os.path.exists("go")):
    time.sleep(0.01)
with open(f"seen-{os.environ['SEEDBED_STUDY_DIR'].split('/')[-1]}-{sys.argv[1]}.json", "w") as out:
    json.dump({"argv": sys.argv[2:], "begin": begin, "end": time.time(), "env": seen}, out)
'''


@pytest.fixture(autouse=True)
def seer(box):
    box.write("seer.py", SEER)


def command(*words):
    return ("--", "python3", "seer.py", "{n}", *words)


def seen(box, study="s"):
    return [json.loads(path.read_text())
            for path in sorted(box.cwd.glob(f"seen-{study}-*.json"),
                               key=lambda path: int(path.stem.split("-")[-1]))]


def visible(box, study="s"):
    return [one["env"].get("CUDA_VISIBLE_DEVICES") for one in seen(box, study)]


def assert_never_shared(runs):
    for i, one in enumerate(runs):
        for other in runs[i + 1:]:
            if one["env"]["CUDA_VISIBLE_DEVICES"] == other["env"]["CUDA_VISIBLE_DEVICES"]:
                assert one["end"] <= other["begin"] or other["end"] <= one["begin"], (one, other)


def test_case_F1_one_trial_a_device_and_all_devices_used(box):
    run = box.start("run", "n=1..8", "--gpus", "4", "--name", "s", *command(),
                    env={"SEER_WAITS": "1"})
    box.wait_for("running", 4)
    assert box.count("running") == 4
    box.write("go", "")
    assert run.wait().code == 0
    assert sorted(visible(box)[:4]) == ["0", "1", "2", "3"]
    assert_never_shared(seen(box))
    details = json.loads(box.rows("SELECT body FROM records WHERE kind='attempt_started' ORDER BY "
                                  "id LIMIT 1")[0]["body"])
    device = json.loads(details["details_json"])["devices"][0]
    assert device["word"] == visible(box)[0] and device["share"] == 1


def test_case_F1_the_record_names_index_and_uuid(box, gpus):
    gpus("gpu uuid=GPU-aa name=Card memory=17179869184", "gpu uuid=GPU-bb name=Card")
    done = box.ok("run", "n=1..2", "--gpus", "all", "--name", "s", *command())
    assert "2 GPUs (NVML, driver 535.54)" in done.out or "2 GPUs" in done.out, done.out
    shown = box.ok("show", "1", "--study", "s").out
    assert "GPU-aa" in shown or "GPU-bb" in shown, shown


@pytest.mark.parametrize("given, expected", [
    ("4,5,6,7", ["4", "5", "6", "7"]),
    ("GPU-x,MIG-y", ["GPU-x", "MIG-y"]),
    ("2,2", ["2"]),
])
def test_case_F2_the_devices_of_the_surroundings_are_handed_out_by_their_words(box, given,
                                                                               expected):
    box.write("sweep.yaml", "resources: {gpus: 1}\n")
    done = box.ok("run", "sweep.yaml", "n=1..4", "--name", "s", *command(),
                  env={"CUDA_VISIBLE_DEVICES": given})
    assert set(visible(box)) == set(expected)
    assert ("twice" in done.text) == (given == "2,2"), done.text


@pytest.mark.parametrize("given", ["", "-1", "NoDevFiles"])
def test_case_F2_no_device_is_no_device(box, given):
    box.write("sweep.yaml", "resources: {gpus: 1}\n")
    done = box.run("run", "sweep.yaml", "n=1..4", "--name", "s", *command(),
                   env={"CUDA_VISIBLE_DEVICES": given})
    assert done.code == 5 and "needs 1 GPU, 0 are there" in done.err, done.text
    assert not (box.cwd / "studies").exists()


def test_case_F2_an_impossible_device_is_told(box, gpus):
    gpus("gpu uuid=GPU-a", "gpu uuid=GPU-b")
    done = box.ok("run", "n=1..2", "--gpus", "all", "--name", "s", *command(),
                  env={"CUDA_VISIBLE_DEVICES": "0,9"})
    assert "`9` names no device here" in done.text, done.text
    assert visible(box) == ["0", "0"]


def test_case_F4_devices_are_counted_by_bus_unless_the_user_has_set_the_order(box):
    box.ok("run", "n=1", "--gpus", "1", "--name", "s", *command())
    assert seen(box)[0]["env"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    box.ok("run", "n=1", "--gpus", "1", "--name", "t", *command(),
           env={"CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
    assert seen(box, "t")[0]["env"]["CUDA_DEVICE_ORDER"] == "FASTEST_FIRST"


def test_case_F5_two_studies_started_together_share_no_device(box):
    runs = [box.start("run", "n=1..4", "--gpus", "2", "--cpus", "0.1", "--name", name, *command(),
                      env={"SEER_SECONDS": "0.4"}) for name in ("a", "b")]
    for run in runs:
        done = run.wait()
        assert done.code == 0, done.text
    both = seen(box, "a") + seen(box, "b")
    assert len(both) == 8
    assert_never_shared(both)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may run as two users")
def test_case_F5_nor_do_two_users(box):
    for folder in (box.home.parent, box.home, box.cwd):
        folder.chmod(0o777)

    def somebody_else():
        os.setgid(65534)
        os.setuid(65534)

    def may_enter():  # the folders above are pytest's own
        os.setgroups([])
        somebody_else()
        return os.access(box.cwd, os.W_OK)

    pid = os.fork()
    if pid == 0:
        os._exit(0 if may_enter() else 1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        pytest.skip("the temporary folder is closed to other users")
    other = {"HOME": "/", "XDG_RUNTIME_DIR": None, "SEER_SECONDS": "0.4"}
    runs = [box.start("run", "n=1..3", "--gpus", "2", "--cpus", "0.1", "--name", "a", "--dir", "da",
                      *command(), env={"SEER_SECONDS": "0.4"}),
            box.start("run", "n=1..3", "--gpus", "2", "--cpus", "0.1", "--name", "b", "--dir", "db",
                      *command(), env=other, preexec=somebody_else)]
    for run in runs:
        done = run.wait()
        assert done.code == 0, done.text
    assert_never_shared(seen(box, "a") + seen(box, "b"))


def test_case_F5_a_device_is_free_when_its_trial_has_ended_whoever_was_killed(box):
    first = box.start("run", "n=1", "--gpus", "1", "--cpus", "0.1", "--name", "a", *command(),
                      env={"SEER_WAITS": "1"})
    box.wait_for("running", 1, study="a")
    second = box.start("run", "n=1", "--gpus", "1", "--cpus", "0.1", "--name", "b", *command())
    wait_until(lambda: "others hold" in second.out, what=lambda: second.out + second.err)
    first.kill()  # the controller: its trial goes on, and keeps the device
    box.wait_for("waiting", 1, study="b")
    assert "1 GPU needed" in box.ok("show", "1", "--study", "b").out
    box.write("go", "")
    assert second.wait().code == 0
    assert_never_shared(seen(box, "a") + seen(box, "b"))


def test_case_F6_several_trials_on_a_device_least_loaded_first(box):
    run = box.start("run", "n=1..7", "--gpus", "2", "--gpus-per-trial", "0.33", "--name", "s",
                    *command(), env={"SEER_WAITS": "1"})
    box.wait_for("running", 6)
    assert box.states()[7] == "waiting"
    box.write("go", "")
    assert run.wait().code == 0
    assert sorted(visible(box)[:6]) == ["0"] * 3 + ["1"] * 3


def test_case_F6_a_share_by_memory_fits_the_larger_card_oftener(box, gpus):
    gpus(f"gpu uuid=GPU-a memory={6 << 30}", f"gpu uuid=GPU-b memory={24 << 30}")
    run = box.start("run", "n=1..4", "--gpus", "all", "--gpus-per-trial", "8GiB", "--name", "s",
                    *command(), env={"SEER_WAITS": "1"})
    box.wait_for("running", 3)
    assert box.states()[4] == "waiting"
    box.write("go", "")
    assert run.wait().code == 0
    assert set(visible(box)) == {"1"}


@pytest.mark.parametrize("share", ["1.5", "0", "-1", "x", "nan"])
def test_case_F6_what_is_no_share_is_refused(box, share):
    done = box.run("run", "n=1", "--gpus", "2", "--gpus-per-trial", share, "--name", "s",
                   *command())
    assert done.code == 2 and "--gpus-per-trial" in done.err, done.text


def test_case_F8_a_command_may_name_its_device_in_three_ways(box, gpus):
    gpus("gpu uuid=GPU-a", "gpu uuid=GPU-b", "gpu uuid=GPU-c")
    box.ok("run", "n=1", "--gpus", "1,2", "--gpus-per-trial", "2", "--name", "s",
           *command("{gpu}", "{gpu_uuid}", "{gpu_index}"))
    assert seen(box)[0]["argv"] == ["1,2", "GPU-b,GPU-c", "0,1"]


def test_case_F9_any_variable_may_name_the_device(box):
    box.write("sweep.yaml", "resources: {gpus: 1}\n"
              "env: {MUJOCO_EGL_DEVICE_ID: '{gpu}', LOCAL_VISIBLE: '{gpu_index}'}\n")
    box.write("egl.py", "import os; print(os.environ['MUJOCO_EGL_DEVICE_ID'], "
              "os.environ['LOCAL_VISIBLE'], os.environ['CUDA_VISIBLE_DEVICES'])")
    box.ok("run", "sweep.yaml", "n=1..2", "--gpus", "4,6", "--name", "s", "--", "python3", "egl.py",
           "{n}")
    assert sorted(box.log(n).decode().split() for n in (1, 2)) == [["4", "0", "4"],
                                                                   ["6", "0", "6"]]


def test_case_F13_a_study_without_gpus_leaves_the_variables_alone(box, gpus):
    gpus("gpu uuid=GPU-a")
    box.ok("run", "n=1", "--name", "s", *command(), env={"CUDA_VISIBLE_DEVICES": "3"})
    box.ok("run", "n=1", "--name", "t", *command())
    assert visible(box) == ["3"] and visible(box, "t") == [None]
    assert "CUDA_DEVICE_ORDER" not in seen(box, "t")[0]["env"]


def test_a_study_goes_on_with_a_device_a_trial(box):
    box.ok("run", "n=1..2", "--gpus", "2", "--limit", "1", "--name", "s", *command())
    box.ok("run", "--study", "s", "--limit", "2", env={"CUDA_VISIBLE_DEVICES": "6,7"})
    assert visible(box) in (["0", "6"], ["1", "6"])


def test_no_gpus_by_hand_hides_them(box):
    box.ok("run", "n=1", "--gpus", "0", "--name", "s", *command(),
           env={"CUDA_VISIBLE_DEVICES": "3"})
    assert visible(box) == [""]


def test_case_F13_a_device_that_is_not_there_is_refused_at_once(box):
    box.write("sweep.yaml", "resources: {gpus: 1}\n")
    done = box.run("run", "sweep.yaml", "n=1", "--name", "s", *command())
    assert done.code == 5 and "it needs 1 GPU, 0 are there" in done.err, done.text
    box.write("sweep.yaml", "resources: {gpus: 3}\n")
    done = box.run("run", "sweep.yaml", "n=1", "--gpus", "2", "--name", "s", *command())
    assert done.code == 5 and "it needs 3 GPUs, 2 are there" in done.err, done.text
    assert not (box.cwd / "studies").exists()


def test_a_device_on_which_somebody_computes_is_waited_for(box, gpus):
    gpus("gpu uuid=GPU-a", f"process gpu=0 pid={os.getpid()}")
    run = box.start("run", "n=1", "--gpus", "all", "--name", "s", *command())
    wait_until(lambda: "others hold GPU" in run.out, what=lambda: run.out + run.err)
    box.wait_for("waiting", 1)
    gpus("gpu uuid=GPU-a")
    assert run.wait().code == 0


def test_a_card_that_fell_off_the_bus_is_left_out(box, gpus):
    gpus("gpu uuid=GPU-a", "gpu error=15", "gpu uuid=GPU-c")
    done = box.ok("run", "n=1..3", "--gpus", "all", "--name", "s", *command())
    assert "GPU 1 is left out: GPU is lost" in done.text, done.text
    assert set(visible(box)) <= {"0", "2"}


def test_slices_are_handed_out_in_place_of_their_card(box, gpus):
    gpus("gpu uuid=GPU-a", "slice gpu=0 uuid=MIG-x", "slice gpu=0 uuid=MIG-y")
    box.ok("run", "n=1..4", "--gpus", "all", "--name", "s", *command())
    assert set(visible(box)) == {"MIG-x", "MIG-y"}


def test_plan_names_devices_and_starts_nothing(box):
    done = box.ok("plan", "n=1..3", "--gpus", "2", *command())
    assert "2 at once" in done.out and "1 GPU each" in done.out, done.out
    assert "CUDA_VISIBLE_DEVICES=0" in done.out and "CUDA_VISIBLE_DEVICES=1" in done.out


def test_cores_are_parted_among_the_trials_of_the_devices(box):
    cores = len(os.sched_getaffinity(0))
    done = box.ok("plan", "n=1..3", "--gpus", "1", *command())
    assert f"1 at once, {cores} core" in done.out, done.out


# Cores ------------------------------------------------------------------------------------------


def test_two_studies_do_not_pin_the_same_core(box):
    cores = len(os.sched_getaffinity(0))
    first = box.start("run", "n=1", "--cpus", str(cores), "--name", "a", *command(),
                      env={"SEER_WAITS": "1"})
    box.wait_for("running", 1, study="a")
    second = box.start("run", "n=1", "--name", "b", *command())
    wait_until(lambda: "others hold core" in second.out, what=lambda: second.out + second.err)
    box.wait_for("waiting", 1, study="b")
    box.write("go", "")
    assert first.wait().code == 0 and second.wait().code == 0
    assert seen(box, "b")[0]["begin"] >= seen(box, "a")[0]["end"]


def test_who_insists_on_slots_runs_beside_others_unpinned_and_niced(box):
    cores = len(os.sched_getaffinity(0))
    first = box.start("run", "n=1", "--cpus", str(cores), "--name", "a", *command(),
                      env={"SEER_WAITS": "1"})
    box.wait_for("running", 1, study="a")
    box.write("nice.py", "import os; print(len(os.sched_getaffinity(0)), os.nice(0))")
    done = box.ok("run", "n=1", "--slots", "1", "--name", "b", "--", "python3", "nice.py", "{n}")
    assert "run beside them, unpinned and niced" in done.text, done.text
    assert box.log(1, study="b").decode().split() == [str(cores), "10"]
    box.write("go", "")
    assert first.wait().code == 0


def test_a_study_run_by_a_trial_uses_what_that_trial_was_lent(box):
    inner = f"{binary_folder()}/seedbed run m=1..3 --name inner --dir inner-$0 -- true {{{{m}}}}"
    done = box.ok("run", "n=1..2", "--gpus", "1", "--name", "s", "--", "sh", "-c", inner, "{n}")
    assert box.count("completed") == 2, done.text
    assert "3 completed" in box.log(1).decode()


def test_a_core_is_held_by_its_trial_when_controller_and_then_shim_are_killed(box):
    cores = len(os.sched_getaffinity(0))
    first = box.start("run", "n=1", "--cpus", str(cores), "--name", "a", "--", "sh", "-c",
                      "sleep 6061", "x", "{n}")
    wait_until(lambda: any(line.startswith("sleep 6061") for line in box.processes().values()))
    first.kill()
    second = box.start("run", "n=1", "--name", "b", *command())
    wait_until(lambda: "others hold core" in second.out, what=lambda: second.out + second.err)
    shims = [pid for pid, line in box.processes().items()
             if line.startswith("seedbed-shim") and "/a " in line]
    assert len(shims) == 1
    os.kill(shims[0], signal.SIGKILL)  # its trial dies with it, and the lock
    assert second.wait().code == 0
