# SPDX-License-Identifier: Apache-2.0
"""A runner and a server with crossed pipes, as the host starts them.

judge() starts them as plain processes: for honest code only.  judge_in_boxes() gives each a box
of its own and every test a fresh pair: for code that means harm.  judge_against() lets a script be
the server.  All return a Verdict, which believes nothing but lines that begin with the nonce.
"""
import contextlib
import json
import os
import secrets
import shutil
import subprocess
from pathlib import Path

from lib import box, place

GUEST = place.ROOT / "guest" / "python"
SAMPLES = Path(__file__).resolve().parent / "samples"
PYTHON = os.environ.get("GLOVEBOX_GUEST_PYTHON", "/usr/bin/python3")
PATIENCE = 60
GRACE = 0.5  # for a server after its line has ended

FAKE_SERVER = """
import json, os, sys

def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit()

def say(data):
    if isinstance(data, dict):
        data = json.dumps(data).encode() + b"\\n"
    while data:
        data = data[os.write(1, data):]

def answer(question, **fields):
    say({"i": question["i"], "t": question["t"], "v": [None], "heap": [], **fields})

"""

class Verdict:
    def __init__(self, nonce, runner_err, server_err, runner_status):
        self.err, self.server_err = runner_err, server_err
        self.runner_status = runner_status
        mark = nonce.encode() + b" "
        self.lines = [json.loads(line[len(mark):]) for line in runner_err.splitlines()
                      if line.startswith(mark)]
        self.strange = [line for line in runner_err.splitlines() if not line.startswith(mark)]
        self.tests = self._of("test")
        self.problems = self._of("problem")
        self.results = {result["id"].split("::", 1)[1]: result for result in self._of("result")}
        self.ended = bool(self._of("end"))

    def _of(self, kind):
        return [line for line in self.lines if line["kind"] == kind]

    @property
    def outcomes(self):
        return {name: result["outcome"] for name, result in self.results.items()}

    @property
    def flags(self):
        return {flag for result in self.results.values() for flag in result["flags"]}

    def only(self):
        """The one result there is."""
        assert len(self.results) == 1, self
        return next(iter(self.results.values()))

    def __repr__(self):
        return f"<{self.lines} strange {self.strange[-5:]} server {self.server_err[-1500:]}>"


def lay_out(folder, code, tests):
    """Files of code and tests, {path: text}, below a folder."""
    for base, files in (("code", code), ("tests", tests)):
        (folder / base).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = folder / base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def module_names(code):
    return sorted({name.split("/")[0].removesuffix(".py") for name in code})


def options(nonce, code, tests, more):
    words = ["--nonce", nonce]
    for name in module_names(code):
        words += ["--module", name]
    return [*words, *more, *(f"tests/{name}" for name in tests if "test_" in name)]


@contextlib.contextmanager
def _crossed(start_runner, start_server):
    """Both started with each other's output as input; ended and reaped afterwards."""
    to_server, to_runner = os.pipe(), os.pipe()
    running = []
    try:
        running.append(start_runner(stdin=to_runner[0], stdout=to_server[1]))
        running.append(start_server(stdin=to_server[0], stdout=to_runner[1]))
    finally:
        for fd in (*to_server, *to_runner):
            os.close(fd)
    try:
        yield running
    finally:
        for process in running:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
            if process.poll() is None:
                process.kill()
            process.communicate()


def _outcome(nonce, running, patience=PATIENCE):
    """Waits for the runner, as the host does; a server that goes on after it is ended."""
    runner, server = running
    err = runner.communicate(timeout=patience)[1]
    try:
        server_err = server.communicate(timeout=GRACE)[1]
    except subprocess.TimeoutExpired:
        server.terminate()
        server_err = server.communicate(timeout=10)[1]
    return Verdict(nonce, err, server_err.decode(errors="replace"), runner.returncode)


def judge(folder, code, tests, *more, server=("--fork",), fresh=True):
    """Plain processes; one server for each test unless told otherwise."""
    lay_out(folder, code, tests)
    nonce = secrets.token_hex(8)
    more = ("--batch", *more) if fresh and "--collect" not in more else more
    server = server if fresh else tuple(word for word in server if word != "--fork")

    runner = _starter([_pack("judge_runner")[0], *options(nonce, code, tests, more)], folder)
    server = _starter([_pack("judge_server")[0], "--code", "code", *server], folder)
    with _crossed(runner, server) as running:
        return _outcome(nonce, running)


def _starter(words, folder):
    return lambda **pipes: subprocess.Popen([PYTHON, "-B", "-I", *words], cwd=folder,
                                            env=box.environment(), stderr=subprocess.PIPE, **pipes)


def judge_beside(folder, module, test):
    """A test file in the directory above the runner's, as in a box whose tests have no folder."""
    nonce = secrets.token_hex(8)
    shutil.copytree(GUEST, folder / "guest", ignore=shutil.ignore_patterns("__pycache__"))
    words = ["guest/judge_runner.py", "--nonce", nonce, "--batch", "--module", module, test]
    server = _starter(["guest/judge_server.py", "--code", "code", "--fork"], folder)
    with _crossed(_starter(words, folder), server) as running:
        return _outcome(nonce, running)


def judge_against(folder, script, tests, *more):
    """A server that a test wrote: Python text with `read()` and `say(bytes)`."""
    lay_out(folder, {}, tests)
    nonce = secrets.token_hex(8)
    words = [_pack("judge_runner")[0], *options(nonce, {"target.py": ""}, tests, more)]
    runner = _starter(words, folder)
    server = _starter(["-c", FAKE_SERVER + script], folder)
    with _crossed(runner, server) as running:
        return _outcome(nonce, running)


def collect(folder, code, tests):
    """Without any server: nobody is on the line."""
    lay_out(folder, {}, tests)
    nonce = secrets.token_hex(8)
    words = [PYTHON, "-B", "-I", _pack("judge_runner")[0], "--collect",
             *options(nonce, code, tests, ())]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=PATIENCE)
    assert done.stdout == b""
    return Verdict(nonce, done.stderr, "", done.returncode)


def _pack(role):
    """The role's one file, as the binary carries it, and its path in a box."""
    return place.binary().parent / "guest" / f"{role}.zip", f".guest/{role}.zip"


def _start_box(files, words, **limits):
    request = box.command(argv=["/usr/bin/python3", "-I", "-B", *words], files=files, stdin=b"",
                          as_json=False, **limits)
    cwd = Path(os.environ["GLOVEBOX_RUN_DIR"]).parent / "cwd"
    return lambda **pipes: subprocess.Popen(request, env=box.environment(), cwd=cwd,
                                            stderr=subprocess.PIPE, **pipes)


def judge_one_in_boxes(folder, code, tests, identity, *more, seconds=20):
    """One test in a pair of boxes of its own."""
    nonce = secrets.token_hex(8)
    runner_files = [_pack("judge_runner")]
    runner_files += [(folder / "tests" / name, f"tests/{name}") for name in tests]
    server_files = [_pack("judge_server")]
    server_files += [(folder / "code" / name, f"code/{name}") for name in code]
    runner = _start_box(runner_files, [".guest/judge_runner.zip",
                                       *options(nonce, code, tests, ("--id", identity, *more))],
                        timeout=seconds)
    server = _start_box(server_files, [".guest/judge_server.zip", "--code", "code"],
                        timeout=seconds)
    with _crossed(runner, server) as running:
        return _outcome(nonce, running)


def expected_ids(folder, code, tests):
    """From a collection that never saw the code."""
    expected = [test["id"] for test in collect(folder, code, tests).tests]
    assert expected
    return expected


def judge_in_boxes(folder, code, tests, expected, *more):
    """A pair for each expected id."""
    lay_out(folder, code, tests)
    return [judge_one_in_boxes(folder, code, tests, identity, *more) for identity in expected]


def is_accepted(expected, verdicts):
    """The host's rule: each expected test has one result, passed, and nothing speaks against it."""
    for identity, verdict in zip(expected, verdicts):
        results = [line for line in verdict.lines if line["kind"] == "result"]
        if len(results) != 1 or results[0]["id"] != identity or not verdict.ended:
            return False
        if results[0]["outcome"] != "passed" or results[0]["counts"] is not True:
            return False
    return True
