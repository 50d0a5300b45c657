"""Theme J of the case list: files, folders, environment, ports."""

import hashlib
import json
import os
import socket
import subprocess

import pytest
from conftest import wait_until

PY = "/usr/bin/python3"


def test_case_J1_twenty_at_once_share_no_folder(box):
    runs = [box.start("run", "n=1", "--name", "same", "--", "sh", "-c", "sleep 0.2", "x", "{n}")
            for _ in range(20)]
    codes = sorted(run.wait().code for run in runs)
    assert set(codes) <= {0, 3} and 0 in codes
    assert box.states("same") == {1: "completed"}
    assert box.rows("SELECT count(*) AS n FROM attempts") == [{"n": 1}]


def test_case_J2_folder_names_are_safe_and_short(box):
    box.write("sweep.yaml", "command: ['true', '${args}']\nparameters:\n  v:\n    values:\n" + "".join(
        f"      - {json.dumps(v, ensure_ascii=False)}\n" for v in ["a/b", "..", "../../x", ".", "-rf", "a\nb", ":", "x" * 300,
                                             "😀"]))
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 0, done.text
    folders = [p.name for p in (box.study_dir() / "trials").iterdir()]
    assert len(folders) == 9
    for name in folders:
        assert len(name.encode()) <= 100 and "/" not in name and "\n" not in name and name.isascii()
    assert box.params(8)["text"]["v"] == "x" * 300
    for name in ("a/b", ".."):
        refused = box.run("run", "n=1", "--name", name, "--", "true")
        assert refused.code == 2, refused.text


def test_case_J4_nothing_old_is_touched(box):
    box.ok("run", "n=1", "--name", "s", "--", "sh", "-c", "echo first; date +%N", "x", "{n}")
    before = box.log(1)
    box.ok("run", "n=1,2", "--name", "s", "--", "sh", "-c", "echo first; date +%N", "x", "{n}")
    assert box.log(1) == before and box.count("completed") == 2


def test_case_J5_the_working_folder_is_where_the_user_stands(box):
    box.write("data/x.txt", "hello")
    box.write("util.py", "WORD = 'util'\n")
    box.write("t.py", "import util\nprint(open('data/x.txt').read(), util.WORD)\n")
    box.ok("run", "n=1", "--name", "s", "--", PY, "t.py", "{n}")
    assert box.log(1) == b"hello util\n"


def test_case_J6_a_folder_of_its_own_for_each_trial(box):
    box.write("t.py", "import os, sys, time\nopen('model.pt', 'w').write(sys.argv[1])\n"
                      "time.sleep(0.2)\nassert open('model.pt').read() == sys.argv[1]\n")
    box.write("sweep.yaml", f"command: [{PY}, t.py, '{{n}}']\nparameters: {{n: {{values: [1, 2, 3]}}}}\n"
                            "workdir: trial\nslots: 3\n")
    done = box.run("run", "sweep.yaml", "--name", "s")
    assert done.code == 0, done.text
    assert (box.trial_dir(2) / "model.pt").read_text() == "2"


def test_case_J7_every_trial_has_its_own_free_port(box):
    box.write("t.py", "import os, socket, time\ns = socket.socket()\n"
                      "s.bind(('127.0.0.1', int(os.environ['MASTER_PORT'])))\ns.listen()\n"
                      "print(os.environ['MASTER_PORT'], flush=True)\n"
                      "while not os.path.exists('go'): time.sleep(0.02)\n")
    run = box.start("run", "n=1..4", "--slots", "4", "--name", "s", "--", PY, "t.py", "{n}")
    wait_until(lambda: len(box.states()) == 4 and all(box.log(t) for t in range(1, 5)))
    assert len({box.log(t) for t in range(1, 5)}) == 4
    box.write("go", "")
    assert run.wait().code == 0
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    box.ok("run", "n=1", "--name", "u", "--", "sh", "-c", "echo $MASTER_PORT", "x", "{n}",
           env={"MASTER_PORT": taken.getsockname()[1]})
    assert box.log(1, study="u").strip().decode() == str(taken.getsockname()[1])


def test_case_J9_the_environment_of_the_shell_that_started_it(box, show_py):
    done = box.exec(["env", "-i", "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + str(box.runtime),
                     box.argv([])[0], "run", "n=1", "--name", "s", "--", "python3", "show.py"])
    assert done.code == 0, done.text
    body = box.rows("SELECT body FROM records WHERE kind = 'attempt_started'")[0]["body"]
    assert "/usr/bin/python3" in body


def test_case_J11_odd_paths_and_links(box):
    real = box.home / "my exp ü (1)"
    real.mkdir()
    link = box.home / "link"
    link.symlink_to(real)
    (real / "t.py").write_text("print('ok')\n")
    done = box.run("run", "n=1", "--name", "s p ü", "--", PY, "t.py", "{n}", cwd=link)
    assert done.code == 0, done.text
    assert (real / "studies" / "s p ü" / "study.db").exists()
    elsewhere = box.home / "other"
    done = box.run("run", "n=1", "--name", "s", "--dir", elsewhere, "--", "true", cwd=link)
    assert done.code == 0 and (elsewhere / "s" / "study.db").exists(), done.text


def test_case_J11_a_read_only_folder_is_refused_before_anything_starts(box):
    if os.geteuid() == 0:
        readonly = "/proc"  # root writes everywhere but there
    else:
        readonly = box.home / "ro"
        readonly.mkdir(mode=0o555)
    done = box.run("run", "n=1", "--dir", f"{readonly}/studies", "--name", "s", "--", "true")
    assert done.code == 5, done.text
    assert str(readonly) in done.err


@pytest.fixture
def read_only(box):
    """A function that shows a folder at another place, where nobody can write, root neither."""
    places = []

    def make(folder):
        place = box.home / f"read-only-{len(places)}"
        place.mkdir()
        for words in (["--bind", str(folder), str(place)], ["-o", "remount,ro,bind", str(place)]):
            done = subprocess.run(["mount", *words], capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"no permission to mount a folder read-only here: {done.stderr[:200]}")
            if place not in places:
                places.append(place)
        return place

    yield make
    box.close()
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=True)


def contents(folder):
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, hashlib.sha256(
        path.read_bytes() if path.is_file() else b"").hexdigest()) for path in folder.rglob("*")}


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount needs root")
@pytest.mark.parametrize("killed", [False, True])
def test_a_read_only_study_can_be_looked_at_in_every_way(box, read_only, killed):
    # Also one whose controller was killed, so that its record is half in a write-ahead log.
    words = ("run", "n=1..3", "seed=0,1", "--slots", "1", "--name", "s", "--metric", "loss",
             "--goal", "minimize", "--", "sh", "-c",
             'echo loss=$1; [ "$1$2" != 20 ] || [ -e go ] || exec sleep 600', "x", "{n}", "{seed}")
    if killed:
        run = box.start(*words)
        box.wait_for("completed", 2)
        wait_until(lambda: box.count("running") == 1)
        run.kill()
        for pid in box.processes():
            os.kill(pid, 9)
        box.wait_for_no_processes()
        assert (box.study_dir() / "study.db-wal").exists()
    else:
        box.write("go", "")
        box.ok(*words)
    place = read_only(box.study_dir())
    before = contents(box.study_dir())
    at = ("--study", str(place))
    assert box.run("status", *at).code == (6 if killed else 0)
    assert len(box.json("trials", *at)) == 6
    assert [row["mean"] for row in box.json("compare", *at)][0] == 1
    assert box.json("best", *at)[0]["metric"] == "loss"
    assert "loss" in box.ok("show", "1", *at).out
    assert box.ok("logs", "1", *at).out == "loss=1\n"
    assert len(box.ok("export", *at, "--format", "csv").out.splitlines()) == 7
    for format in ("json", "jsonl"):
        box.ok("export", *at, "--format", format)
    assert len(box.json("list", "--dir", str(box.home))) == 1
    # What would have to write says why it cannot, by name.
    for command in (("run",), ("add", "n=9"), ("retry", "1"), ("cancel", "1")):
        done = box.run(*command, *at)
        assert done.code == 5, done.text
        assert "Read-only file system" in done.err and str(place) in done.err
    assert contents(box.study_dir()) == before
    assert not box.processes()
    # The same study, at the place where it can be written, goes on.
    box.write("go", "")
    assert box.run(*words).code == 0
    assert box.count("completed") == 6


def test_a_finished_study_can_be_moved_and_read(box):
    box.ok("run", "n=1..3", "--name", "s", "--", "sh", "-c", "echo loss=$1", "x", "{n}")
    assert not list(box.study_dir().glob("study.db-*"))
    moved = box.home / "moved"
    box.study_dir().rename(moved)
    assert len(box.json("trials", str(moved))) == 3
    assert box.run("show", "2", "--study", str(moved)).code == 0


def test_case_J13_clean_lists_first_and_never_touches_records(box):
    box.ok("run", "n=1..5", "--name", "s", "--metric", "loss", "--goal", "minimize", "--", "sh", "-c",
           "echo loss=$1; head -c 100000 /dev/zero > $SEEDBED_TRIAL_DIR/model.pt; "
           "ln -s $PWD/precious $SEEDBED_TRIAL_DIR/link", "x", "{n}")
    box.write("precious/file", "x")
    listed = box.ok("clean", "s", "--keep", "2")
    assert (box.trial_dir(5) / "model.pt").exists()
    assert "model.pt" in listed.out and "KiB" in listed.out
    box.ok("clean", "s", "--keep", "2", "--yes")
    assert (box.trial_dir(1) / "model.pt").exists() and (box.trial_dir(2) / "model.pt").exists()
    assert not list((box.study_dir() / "trials").glob("00005*/model.pt"))
    assert box.path("precious/file").exists()
    assert len(box.states()) == 5


def test_case_J6_a_program_given_by_its_own_key_is_found_from_a_folder_of_its_own(box):
    box.write("t.py", "print('loss=1')")
    box.sweep("program: t.py\nworkdir: trial\nparameters: {i: {values: [1, 2]}}\n")
    assert box.count("completed") == 2


def test_case_J6_a_module_is_found_from_a_folder_of_its_own(box):
    box.write("pkg/__init__.py", "")
    box.write("pkg/train.py", "import pkg, os\nopen('model.pt', 'w').write('x')\n")
    box.sweep(f"command: [{PY}, -m, pkg.train, '{{i}}']\nworkdir: trial\n"
              "parameters: {i: {values: [1, 2]}}\n")
    assert box.count("completed") == 2
    assert (box.trial_dir(2) / "model.pt").exists()


def test_case_J9_points_added_to_a_running_study_run_in_its_environment(box):
    run = box.start("run", "n=1", "--name", "s", "--", "sh", "-c",
                    "while [ ! -e go ]; do sleep 0.05; done; echo $VIRTUAL_ENV", "x", "{n}",
                    env={"VIRTUAL_ENV": "/one"})
    box.wait_for("running")
    same = box.ok("add", "n=2", "--study", "s", env={"VIRTUAL_ENV": "/one"})
    assert "environment" not in same.out
    other = box.ok("add", "n=3", "--study", "s", env={"VIRTUAL_ENV": "/two"})
    assert "the environment of the running controller" in other.out
    assert "whose VIRTUAL_ENV differs from yours" in other.out
    box.write("go", "")
    assert run.wait().code == 0
    assert [box.log(n) for n in (1, 2, 3)] == [b"/one\n"] * 3
