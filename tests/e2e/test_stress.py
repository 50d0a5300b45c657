"""The machine is against us: a full disk, a damaged record."""

import os
import shutil
import subprocess

import pytest
from conftest import wait_until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small tmpfs: needs root")


@pytest.fixture
def small_disk(box):
    """`studies` on a disk of 3 MB of its own."""
    folder = box.path("studies")
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)])
    if mounted.returncode != 0:
        pytest.skip("no permission to mount a tmpfs here")
    yield folder
    box.close()
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder):
    with open(folder / "filler", "wb") as filler:
        try:
            while True:
                filler.write(b"x" * 65536)
                filler.flush()
        except OSError:
            pass


@needs_root
def test_a_full_disk_loses_no_trial_and_the_run_goes_on_when_there_is_room(box, small_disk):
    run = box.start("run", "n=1..6", "--slots", "2", "--name", "s", "--", "sh", "-c", "echo loss=$1; sleep 0.2; exit 0", "x", "{n}")
    box.wait_for("completed", 1)
    fill(small_disk)
    wait_until(lambda: "cannot" in run.out or "room" in run.out or not run.running, 20)
    (small_disk / "filler").unlink()
    done = run.wait(60)
    again = box.run("run", "n=1..6", "--slots", "2", "--name", "s", "--", "sh", "-c", "echo loss=$1; sleep 0.2; exit 0", "x", "{n}")
    assert again.code == 0, done.text + again.text
    assert list(box.states("s").values()) == ["completed"] * 6


@needs_root
def test_an_interrupt_is_heard_while_the_disk_is_full(box, small_disk):
    words = ("run", "n=1..6", "--slots", "2", "--name", "s", "--", "sh", "-c",
             "echo loss=$1; sleep 0.2", "x", "{n}")
    run = box.start(*words)
    box.wait_for("completed", 1)
    fill(small_disk)
    wait_until(lambda: "cannot be" in run.out, 20)
    run.interrupt()
    # Interrupted; or the record could not be closed for want of room, which is said.
    assert run.wait().code in (130, 5)
    (small_disk / "filler").unlink()
    box.wait_for_no_processes()
    again = box.run(*words)
    assert again.code == 0, again.text
    assert list(box.states("s").values()) == ["completed"] * 6


def test_case_I7_a_record_cut_short_or_with_zeros_behind_it_still_opens(box):
    words = ("run", "n=1..8", "--name", "s", "--", "sh", "-c", "echo loss=$1; sleep 0.05", "x", "{n}")
    first = box.start(*words)
    box.wait_for("completed", 3)
    first.kill()
    box.wait_for_no_processes()
    study = box.study_dir()
    completed = box.count("completed")
    wal = study / "study.db-wal"
    whole = wal.read_bytes()
    for cut in (1, 17, 100, 299):
        copy = box.home / f"copy-{cut}"
        shutil.copytree(study, copy / "s")
        (copy / "s" / "study.db-wal").write_bytes(whole[:-cut])
        assert box.run("status", "s", "--dir", copy).code == 6
        done = box.run(
            "run", "n=1..8", "--name", "s", "--dir", copy, *words[4:])
        assert done.code == 0, done.text
    with open(wal, "ab") as file:
        file.write(b"\0" * 4096)
    done = box.run(*words)
    assert done.code == 0, done.text
    assert box.count("completed") == 8 >= completed
