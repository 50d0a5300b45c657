"""What the end-to-end tests share: a folder of their own, the binary, and ways to wait.

    def test_something(box):
        box.write("train.py", "print('loss=0.5')")
        done = box.run("run", "a=1,2", "--", "python3", "train.py")
        assert done.code == 0, done.text
        assert [row["state"] for row in box.rows("SELECT state FROM trials")] == ["completed"] * 2

Every box ends what it started; `box.wait_for_no_processes()` checks that nothing is left over.
Nothing waits by sleeping for a guess: `wait_until(condition)`.
"""

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pytest

PYTHON = "/usr/bin/python3"
TIMEOUT = 60.0


def binary_folder():
    given = pathlib.Path(os.environ.get("SEEDBED_BIN", "build/release/bin")).resolve()
    return given.parent if given.is_file() else given


def wait_until(condition, timeout=30.0, what=""):
    """Calls `condition` until it gives something true, which is returned."""
    end = time.monotonic() + timeout
    pause = 0.005
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            what = what() if callable(what) else what
            pytest.fail(f"not within {timeout:g} s: {what or condition}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


class Done:
    """A command that has ended."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    @property
    def text(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def json_lines(self):
        return [json.loads(line) for line in self.out.splitlines() if line.strip()]


class Background:
    """A command that runs; its output goes to files so that it never blocks."""

    def __init__(self, box, process, out, err):
        self.box, self.process, self.out_path, self.err_path = box, process, out, err
        self.started = time.monotonic()

    @property
    def pid(self):
        return self.process.pid

    @property
    def out(self):
        return self.out_path.read_text(errors="replace")

    @property
    def err(self):
        return self.err_path.read_text(errors="replace")

    @property
    def running(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def interrupt(self):
        self.signal(signal.SIGINT)

    def kill(self):
        """SIGKILL, and the process is gone when this returns."""
        self.process.kill()
        self.process.wait(TIMEOUT)

    def wait(self, timeout=TIMEOUT):
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {timeout:g} s:\n{self.out}\n{self.err}")
        return Done(code, self.out, self.err, time.monotonic() - self.started)


class Terminal:
    """A command on a pseudo-terminal, as a person meets it."""

    def __init__(self, pid, master):
        self.pid, self.master, self.bytes, self.code = pid, master, b"", None

    def read(self, timeout=0.05):
        """Takes what has been written; False when the other side is closed."""
        ready, _, _ = select.select([self.master], [], [], timeout)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError as error:
            if error.errno == errno.EIO:
                return False
            raise
        self.bytes += data
        return bool(data)

    @property
    def text(self):
        """Everything written so far, without escape sequences."""
        text = self.bytes.decode(errors="replace")
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()][0-9A-B]|\x1b[=>78]", "",
                      text)
        return text.replace("\r\n", "\n")

    def type(self, keys):
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def expect(self, pattern, timeout=30.0):
        """Waits until the text so far holds the pattern."""
        end = time.monotonic() + timeout
        while True:
            found = re.search(pattern, self.text)
            if found:
                return found
            if time.monotonic() > end or (not self.read() and not re.search(pattern, self.text)):
                pytest.fail(f"not seen: {pattern!r} in\n{self.text[-3000:]}")

    def close(self):
        """The window is closed: the program gets SIGHUP."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def wait(self, timeout=TIMEOUT):
        """The exit code; 128 + the signal's number when a signal ended it."""
        end = time.monotonic() + timeout
        while self.code is None:
            if self.master >= 0:
                self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                if self.code < 0:
                    self.code = 128 - self.code
            elif time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                pytest.fail(f"still running after {timeout:g} s:\n{self.text[-3000:]}")
            elif self.master < 0:
                time.sleep(0.01)
        if self.master >= 0:
            while self.read(0) and select.select([self.master], [], [], 0)[0]:
                pass
        return self.code


class Box:
    """A project folder of its own, with an environment that hides everything of the surroundings."""

    def __init__(self, home):
        self.home = home
        self.cwd = home / "project"
        self.cwd.mkdir()
        # Sockets need a short path; pytest's own folders are long.
        self.runtime = pathlib.Path(tempfile.mkdtemp(prefix="sb-", dir="/tmp"))
        self.token = f"seedbed-test-{os.getpid()}-{id(self)}"
        self.env = {
            "PATH": f"{binary_folder()}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "BOX_TOKEN": self.token,
            "SEEDBED_LOCKS": self.token,  # other boxes are other machines
        }
        self.children, self.terminals = [], []

    # Files ------------------------------------------------------------------------------------

    def path(self, name):
        return self.cwd / name

    def write(self, name, text, executable=False):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if executable:
            path.chmod(0o755)
        return path

    def read(self, name):
        return self.path(name).read_text(errors="replace")

    def study_dir(self, study=None):
        """The folder of a study; without a name the only one."""
        if study is not None:
            return self.cwd / "studies" / study
        there = sorted(p.parent for p in (self.cwd / "studies").glob("*/study.db"))
        assert len(there) == 1, f"studies: {there}"
        return there[0]

    def trial_dir(self, trial, study=None):
        """The folder of a trial, known by its number."""
        found = list((self.study_dir(study) / "trials").glob(f"{trial:05d}*"))
        assert len(found) == 1, f"folders of trial {trial}: {found}"
        return found[0]

    def log(self, trial, attempt=1, study=None):
        """What the attempt has written so far; nothing before it has begun."""
        path = self.trial_dir(trial, study) / f"attempt-{attempt}.log"
        return path.read_bytes() if path.exists() else b""

    def params(self, trial, study=None):
        return json.loads((self.trial_dir(trial, study) / "params.json").read_text())

    # Commands ---------------------------------------------------------------------------------

    def _environment(self, env):
        merged = {**self.env, **(env or {})}
        return {name: str(value) for name, value in merged.items() if value is not None}

    def argv(self, arguments):
        return [str(binary_folder() / "seedbed"), *map(str, arguments)]

    def exec(self, argv, timeout=TIMEOUT, env=None, cwd=None, stdin=None, preexec=None):
        """Runs any command in the box to its end."""
        begin = time.monotonic()
        # Files, not pipes: a process that outlives the command must not keep this waiting.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                list(map(str, argv)), cwd=cwd or self.cwd, env=self._environment(env),
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stdout=out, stderr=err, preexec_fn=preexec)
            try:
                process.communicate(stdin, timeout)
                late = False
            except subprocess.TimeoutExpired:
                late = True
                process.kill()
                process.wait()
            seconds = time.monotonic() - begin
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        done = Done(process.returncode, *texts, seconds)
        if late:
            pytest.fail(f"{argv} still running after {timeout:g} s\n{done.text}")
        return done

    def run(self, *arguments, **options):
        """`seedbed ARGUMENTS…` to its end, without a terminal."""
        return self.exec(self.argv(arguments), **options)

    def ok(self, *arguments, **options):
        """The same, and it must give 0."""
        done = self.run(*arguments, **options)
        assert done.code == 0, f"seedbed {' '.join(map(str, arguments))}: {done.text}"
        return done

    def sweep(self, yaml, *words, name="s", code=0):
        """`seedbed run sweep.yaml --name NAME WORDS…`, with that file; it must give the code."""
        self.write("sweep.yaml", yaml)
        done = self.run("run", "sweep.yaml", "--name", name, *words)
        assert done.code == code, done.text
        return done

    def json(self, *arguments, **options):
        """What `seedbed ARGUMENTS… --output json` prints."""
        return self.ok(*arguments, "--output", "json", **options).json

    def start(self, *arguments, env=None, cwd=None, preexec=None):
        """`seedbed ARGUMENTS…` in the background."""
        number = len(self.children)
        out, err = self.home / f"out-{number}.txt", self.home / f"err-{number}.txt"
        with out.open("wb") as out_file, err.open("wb") as err_file:
            process = subprocess.Popen(self.argv(arguments), cwd=cwd or self.cwd,
                                       env=self._environment(env), stdin=subprocess.DEVNULL,
                                       stdout=out_file, stderr=err_file, preexec_fn=preexec)
        background = Background(self, process, out, err)
        self.children.append(background)
        return background

    def terminal(self, *arguments, columns=100, lines=30, env=None):
        """`seedbed ARGUMENTS…` on a pseudo-terminal of that size."""
        environment, argv = self._environment(env), self.argv(arguments)
        pid, master = pty.fork()
        if pid == 0:
            try:
                os.chdir(self.cwd)
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
                os.execve(argv[0], argv, environment)
            finally:
                os._exit(127)
        terminal = Terminal(pid, master)
        self.terminals.append(terminal)
        return terminal

    # The record -------------------------------------------------------------------------------

    def rows(self, sql, *values, study=None):
        """Rows of study.db as dictionaries, read as a reader would, while it runs too."""
        path = self.study_dir(study) / "study.db"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True,
                                                timeout=10)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(sql, values)]

    def states(self, study=None):
        """{trial number: state}; empty while there is no study yet."""
        try:
            return {row["trial"]: row["state"]
                    for row in self.rows("SELECT trial, state FROM trials ORDER BY trial",
                                         study=study)}
        except (AssertionError, sqlite3.OperationalError):
            return {}

    def count(self, state, study=None):
        return list(self.states(study).values()).count(state)

    def wait_for(self, state, count=1, study=None, timeout=30.0):
        """Waits until so many trials have the state."""
        wait_until(lambda: self.count(state, study) >= count, timeout,
                   f"{count} trials {state}")

    # Processes --------------------------------------------------------------------------------

    def processes(self):
        """{pid: command line} of everything alive that this box started, however deep."""
        mark = f"BOX_TOKEN={self.token}".encode()
        alive = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").strip()
                # A shim keeps nothing of the environment; its command line names the study.
                ours = line.startswith(b"seedbed-shim") and str(self.home).encode() in line
                if not ours and mark not in (folder / "environ").read_bytes().split(b"\0"):
                    continue
                if (folder / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    continue
                alive[int(folder.name)] = line.decode(errors="replace")
        return alive

    def wait_for_no_processes(self, timeout=30.0):
        wait_until(lambda: not self.processes(), timeout,
                   lambda: f"every process of the box has ended: {self.processes()}")

    def close(self):
        for terminal in self.terminals:
            terminal.close()
            if terminal.code is None:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(terminal.pid, signal.SIGKILL)
                    os.waitpid(terminal.pid, 0)
        for child in self.children:
            if child.running:
                child.process.kill()
                child.process.wait()
        # Shims leave by themselves a while after their controller; here they are ended at once.
        end = time.monotonic() + 10
        while self.processes() and time.monotonic() < end:
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        shutil.rmtree(self.runtime, ignore_errors=True)


@pytest.fixture
def box(tmp_path):
    """A fresh Box; everything that it started is gone afterwards."""
    made = Box(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def fake_nvml(tmp_path_factory):
    """A folder with a libnvidia-ml.so.1 that tells of the machine in the file $SEEDBED_FAKE_NVML."""
    folder = tmp_path_factory.mktemp("nvml")
    source = pathlib.Path(__file__).parent.parent / "fake_nvml" / "nvml.cc"
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-o", library, source], check=True)
    return folder


@pytest.fixture
def gpus(box, fake_nvml):
    """Describes the box's GPUs, as lines of tests/fake_nvml/nvml.cc."""
    state = box.home / "gpus.txt"
    box.env["LD_LIBRARY_PATH"] = str(fake_nvml)
    box.env["SEEDBED_FAKE_NVML"] = str(state)

    def describe(*lines):
        beside = box.home / "gpus.new"
        beside.write_text("".join(f"{line}\n" for line in ("driver 535.54", *lines)))
        beside.rename(state)

    return describe


@pytest.fixture
def show_py(box):
    """show.py: prints its arguments, folder, cores and environment as one JSON line."""
    return box.write("show.py", SHOW)


SHOW = '''\
import json, os, sys
keys = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS", "MASTER_PORT", "PYTHONUNBUFFERED")
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(),
                  "cpus": sorted(os.sched_getaffinity(0)),
                  "env": {key: os.environ.get(key) for key in keys},
                  "seedbed": {k: v for k, v in os.environ.items() if k.startswith("SEEDBED_")}}))
'''


def pytest_sessionstart(session):
    if not (binary_folder() / "seedbed").is_file():
        pytest.exit(f"no seedbed in {binary_folder()}: `make release`, or set SEEDBED_BIN", 2)
    sys.dont_write_bytecode = True
