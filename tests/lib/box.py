# SPDX-License-Identifier: Apache-2.0
"""`glovebox exec` as a function.

run(code, language=…) goes through `-c`, run(path=…) through a file of the host; both return a
Result and never raise for what a program or glovebox did.  An outer timeout of the harness kills a
glovebox that hangs and says so (`hung`).  start() gives a Living box: its output streams, its
standard input stays open, and the host can look at its processes.

run(argv=[…]) starts a program of the box itself, without a language.
"""
import collections
import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import time
from pathlib import Path

from lib import host, place

OUTER_SECONDS = 90

User = collections.namedtuple("User", "name uid gid home binary")

# keyword of run() -> option of the command line
OPTIONS = {
    "language": "-l",
    "timeout": "--timeout",
    "memory": "--memory",
    "cpus": "--cpus",
    "pids": "--pids",
    "disk": "--disk",
    "cpu_time": "--cpu-time",
    "output_max": "--output-max",
    "workdir": "--workdir",
    "workspace": "--workspace",
    "require": "--require",
    "allow_missing": "--allow-missing",
    "net": "--net",
    "image": "--image",
    "backend": "--backend",
}


class Result:
    """How a command ended.  Fields of the result document are attributes, None where it has none."""

    def __init__(self, command, returncode, out, err, seconds, hung):
        self.command = command
        self.returncode = returncode
        self.out, self.err = out, err
        self.seconds, self.hung = seconds, hung
        try:
            self.document = json.loads(out)
        except ValueError:
            self.document = None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        document = self.__dict__.get("document")
        return document.get(name) if isinstance(document, dict) else None

    def __repr__(self):
        what = json.dumps(self.document) if self.document is not None else repr(self.out[-2000:])
        state = "hung" if self.hung else f"exit {self.returncode}"
        return f"<{state} after {self.seconds:.2f} s: {what[:6000]} stderr {self.err[-2000:]!r}>"


def command(code=None, *, path=None, argv=None, args=(), files=(), out=(), env=None, toolchains=(),
            stdin=None, as_json=True, options=(), binary=None, **limits):
    """The words of a `glovebox exec`.  files and out: "HOST:BOX" strings, paths, or pairs."""
    words = [str(binary or place.binary()), "exec"]
    for name, value in limits.items():
        if value is not None:
            words += [OPTIONS[name], str(value)]
    for option, values in (("--file", files), ("--out", out), ("--toolchain", toolchains)):
        for value in values:
            joined = f"{value[0]}:{value[1]}" if isinstance(value, (tuple, list)) else str(value)
            words += [option, joined]
    for name, value in (env or {}).items():
        words += ["--env", f"{name}={value}"]
    words += ["--stdin"] if stdin is not None else []
    words += ["--json"] if as_json else []
    words += [str(option) for option in options]
    if argv is not None:
        return [*words, "--", *map(str, argv)]
    words += [str(path)] if path is not None else ["-c", code]
    words += ["--", *map(str, args)] if args else []
    return words


def environment(extra=None):
    """What glovebox itself gets: the test's place, a PATH, and what the test adds."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("GLOVEBOX_")}
    for name in ("HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            kept[name] = os.environ[name]
    for name in ("GLOVEBOX_BIN", "GLOVEBOX_BUILD", "GLOVEBOX_LEDGER", "GLOVEBOX_GOLDEN"):
        kept.pop(name, None)
    kept["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    kept["LANG"] = "C.UTF-8"
    kept.update(extra or {})
    return kept


def credentials(user):
    """Arguments of subprocess.Popen that make it run as an ordinary user."""
    if user is None:
        return {}
    return {"user": user.uid, "group": user.gid, "extra_groups": []}


@contextlib.contextmanager
def working_directory(user):
    """The test's cwd, owned by the user for as long as it works there."""
    base = Path(os.environ["GLOVEBOX_RUN_DIR"]).parent
    folders = [base / name for name in ("run", "tmp", "cwd", "home")]
    if user is not None:
        for folder in folders:
            os.chown(folder, user.uid, user.gid)
    yield base / "cwd"


def run_words(words, *, input=None, as_user=None, host_env=None, outer=OUTER_SECONDS, cwd=None,
              **popen):
    """Any command of glovebox to its end."""
    with working_directory(as_user) as here:
        if as_user is not None and words[0] == str(place.binary()):
            words = [str(as_user.binary), *words[1:]]
        start = time.monotonic()
        popen.setdefault("stdin", subprocess.DEVNULL if input is None else subprocess.PIPE)
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(host_env),
            cwd=cwd or here, **credentials(as_user), **popen)
        hung = False
        try:
            out, err = process.communicate(input, timeout=outer)
        except subprocess.TimeoutExpired:
            hung = True
            process.kill()
            out, err = process.communicate()
        return Result(words, process.returncode, out, err, time.monotonic() - start, hung)


def run(code=None, *, stdin=None, as_user=None, host_env=None, outer=OUTER_SECONDS, cwd=None,
        **request):
    """One run to its end; stdin is bytes for the program."""
    words = command(code, stdin=stdin, **request)
    return run_words(words, input=stdin, as_user=as_user, host_env=host_env, outer=outer, cwd=cwd)


class Living:
    """A box that is running: `process` is the command, the rest is found from the host's side."""

    def __init__(self, process):
        self.process = process
        self.seen = b""
        self.selector = selectors.DefaultSelector()
        os.set_blocking(process.stdout.fileno(), False)
        self.selector.register(process.stdout, selectors.EVENT_READ)

    def expect(self, wanted, within=30):
        """Reads output until `wanted` has come; all output so far."""
        end = time.monotonic() + within
        while wanted not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                raise AssertionError(f"no {wanted!r} within {within} s, only {self.seen!r}")
            chunk = self.process.stdout.read()
            if chunk == b"":
                raise AssertionError(f"ended without {wanted!r}: {self.seen!r}, "
                                     f"stderr {self.process.stderr.read()!r}")
            self.seen += chunk or b""
        return self.seen

    def send(self, data):
        """To the program; whoever does not read any more is found by expect()."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def below(self):
        return host.descendants(self.process.pid)

    @property
    def spawner(self):
        return next(p.pid for p in self.below() if p.depth == 1 and "glovebox-spawner" in p.exe)

    @property
    def glove(self):
        """The host's pid of the box's PID 1."""
        return next(p.pid for p in self.below() if p.depth > 1 and p.inner_pid == 1)

    @property
    def runs(self):
        """Processes in the box but the glove and its minders, eldest first."""
        minders = {process.pid for process in self.minders}
        return [process for process in self._inside() if process.pid not in minders]

    @property
    def minders(self):
        """What the glove starts in front of a program that has no groups of its own."""
        gloves = {process.pid for process in self.below() if process.depth > 1 and process.inner_pid == 1}
        return [process for process in self._inside() if process.comm == "minder" and process.ppid in gloves]

    def _inside(self):
        inside = [p for p in self.below() if p.depth > 1 and p.inner_pid != 1]
        return sorted(inside, key=lambda process: process.start)

    def end(self, within=30):
        """Closes the program's standard input and waits; (exit code, all output)."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        os.set_blocking(self.process.stdout.fileno(), True)
        self.seen += self.process.stdout.read()
        return self.process.wait(within), self.seen

    def gone(self, within=2):
        """Fails unless command, spawner and box have ended by themselves."""
        known = [*self.below()]
        self.process.wait(within)
        left = host.until(lambda: not [p for p in known if p.is_alive()], within)
        assert left, "still alive: " + "; ".join(str(p) for p in known if p.is_alive())


@contextlib.contextmanager
def start(code=None, *, as_user=None, host_env=None, cwd=None, **request):
    """A Living box, killed at the end of the block if it has not ended."""
    words = command(code, stdin=b"", as_json=False, **request)
    with working_directory(as_user) as here:
        if as_user is not None:
            words[0] = str(as_user.binary)
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(host_env), cwd=cwd or here, **credentials(as_user))
    living = Living(process)
    try:
        yield living
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        living.selector.close()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def copy_for(user_home):
    """The program where an ordinary user can start it."""
    target = Path(user_home) / "glovebox"
    shutil.copy(place.binary(), target)
    target.chmod(0o755)
    return target
