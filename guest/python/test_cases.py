# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of cases.json with the program above this directory: `python3 -m pytest`.

program.json says which files it has, how it is built and how it is started.  It is built once; each
case then has a copy in a directory of its own, with the files that the case brings, so that nothing
here is changed and no case finds what another has left.  Needs nothing but pytest.
"""
import json
import os
import re
import shutil
import signal
import string
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAM = json.loads((HERE / "program.json").read_text(encoding="utf-8"))
CASES = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))["cases"]
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", **PROGRAM["env"]}

BUILD_SECONDS = 120
OUTPUT_MAX = 1 << 20  # bytes of stdout that are compared
NUMBER_MAX = 511  # bytes; longer ones are words
BLANKS = b" \t\r\n\v\f"
NUMBER = rb"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
CLASSES = {
    "digit": "0-9", "alpha": "A-Za-z", "alnum": "0-9A-Za-z", "upper": "A-Z", "lower": "a-z",
    "space": r"\s", "blank": r" \t", "xdigit": "0-9A-Fa-f", "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e", "graph": r"\x21-\x7e", "punct": re.escape(string.punctuation),
}


# ---- is it what was expected? --------------------------------------------------------------------

def trimmed(text):
    """Without blanks at the ends of lines and empty lines at the end."""
    return [line.rstrip(BLANKS) for line in text.rstrip(BLANKS).split(b"\n")]


def is_near(expected, actual, tolerance):
    return abs(expected - actual) <= tolerance * max(abs(expected), 1)


def words(text):
    """Numbers, and single bytes that belong to none; blanks do not matter."""
    return re.findall(NUMBER + rb"|[^ \t\r\n\v\f]", text)


def is_number(word):
    return len(word) <= NUMBER_MAX and re.fullmatch(NUMBER, word) is not None


def same_words(expected, actual, tolerance):
    expected, actual = words(expected), words(actual)
    return len(expected) == len(actual) and all(
        one == other or (is_number(one) and is_number(other)
                         and is_near(float(one), float(other), tolerance))
        for one, other in zip(expected, actual))


def read_json(text):
    """Refuses what is no JSON for others: NaN, and a key that comes twice."""
    def constant(name):
        raise ValueError(f"{name} is no JSON")

    def pairs(items):
        if len(dict(items)) != len(items):
            raise ValueError("a key comes twice")
        return dict(items)

    return json.loads(text.decode("utf-8"), parse_constant=constant, object_pairs_hook=pairs)


def same_json(expected, actual, tolerance):
    """Whole numbers by their digits, others as floating point; true is no 1."""
    def is_numeric(value):
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    if is_numeric(expected) and is_numeric(actual):
        if tolerance > 0:
            return is_near(float(expected), float(actual), tolerance)
        return expected == actual
    if type(expected) is not type(actual):
        return False
    if isinstance(expected, dict):
        return expected.keys() == actual.keys() and all(
            same_json(expected[key], actual[key], tolerance) for key in expected)
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(
            same_json(one, other, tolerance) for one, other in zip(expected, actual))
    return expected == actual


def is_found(pattern, text):
    """^ and $ are the ends of the whole text, \\d and the like ASCII."""
    pattern = re.sub(r"\[:([a-z]+):\]", lambda found: CLASSES[found.group(1)], pattern)
    text = text.rstrip(BLANKS).decode("utf-8", "surrogateescape")
    return re.search(pattern, text, re.ASCII) is not None


def check_stdout(expect, out):
    wanted = expect["stdout"]
    mode = expect.get("mode", "trimmed")
    tolerance = expect.get("tolerance", 0)
    assert len(out) <= OUTPUT_MAX, "stdout is too long"
    if mode == "exact":
        assert out == wanted.encode()
    elif mode == "trimmed":
        assert trimmed(out) == trimmed(wanted.encode())
    elif mode == "tolerance":
        assert same_words(wanted.encode(), out, tolerance), f"expected {wanted!r}, got {out!r}"
    elif mode == "json":
        assert same_json(read_json(wanted.encode()), read_json(out), tolerance), \
            f"expected {wanted!r}, got {out!r}"
    else:
        assert mode == "pattern"
        assert is_found(wanted, out), f"expected {wanted!r}, got {out!r}"


def check(expect, code, out, err):
    told = f"exit code {code}, stderr {err[-2000:]!r}"
    assert code >= 0, f"ended by signal {-code}; {told}"
    if expect.get("exit_code", 0) == "nonzero":
        assert code != 0, told
    else:
        assert code == expect.get("exit_code", 0), told
    if "stdout" in expect:
        check_stdout(expect, out)
    if "stderr_contains" in expect:
        assert expect["stderr_contains"].encode() in err


# ---- running it ----------------------------------------------------------------------------------

def command(argv, work):
    return [word.replace("{work}", str(work)) for word in argv]


def copy(name, work):
    """A file of the program; a script may be started by its name."""
    target = work / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE.parent / name, target)
    with open(target, "rb") as file:
        target.chmod(0o755 if file.read(2) == b"#!" else 0o644)


def build(work):
    """Into the directory .build, and under the name by which the program is started."""
    (work / ".build").mkdir()
    done = subprocess.run(command(PROGRAM["build"], work), cwd=work, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=BUILD_SECONDS)
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
    if PROGRAM["name"]:
        target = work / PROGRAM["name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(work / ".build" / "program", target)


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    assert PROGRAM["run"], "there is no file that could be started"
    work = tmp_path_factory.mktemp("program") / "work"
    work.mkdir()
    for name in PROGRAM["inputs"]:
        if not (HERE.parent / name).is_file():
            pytest.skip(f"the task's input '{name}' is not here: put a copy into {HERE.parent}")
        copy(name, work)
    for name in PROGRAM["files"]:
        copy(name, work)
    if PROGRAM["build"]:
        build(work)
    return work


def run(case, work, place):
    """(exit code, stdout, stderr), all that it has started ended with it."""
    given = case.get("stdin", "").encode() * case.get("stdin_repeat", 1)
    argv = command(PROGRAM["run"], work) + case.get("argv", [])
    with open(place / "stdout", "w+b") as out, open(place / "stderr", "w+b") as err:
        process = subprocess.Popen(argv, cwd=work, env=ENVIRONMENT, stdin=subprocess.PIPE,
                                   stdout=out, stderr=err, start_new_session=True)
        try:
            process.communicate(given, timeout=case["timeout"])
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {case['timeout']} s")
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        out.seek(0)
        err.seek(0)
        return process.returncode, out.read(), err.read()


@pytest.mark.parametrize("case", [
    pytest.param(case, id=case["name"], marks=getattr(pytest.mark, case["class"]))
    for case in CASES])
def test_case(case, program, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(program, work)
    for name, text in case.get("files", {}).items():
        target = work / name
        if name in PROGRAM["files"] or (target.exists() and name not in PROGRAM["inputs"]):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    check(case["expect"], *run(case, work, tmp_path))
