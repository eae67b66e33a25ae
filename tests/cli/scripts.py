# SPDX-License-Identifier: Apache-2.0
"""Tasks whose model is a script (docs/internals/model-script.md): the boxes are real."""
import json
import os
import subprocess
from pathlib import Path

from calls import environment
from lib import place as places

PATIENCE = 90
SMALL_PIPE = 4096

COUNT = """import sys

total = 0
for line in sys.stdin:
    try:
        total += int(line)
    except ValueError:
        sys.exit("not a number: " + line.strip())
print(total)
"""

WRONG_COUNT = COUNT.replace("total += int(line)", "total += abs(int(line))")

CASES = {"cases": [
    {"name": "adds all lines", "class": "normal", "stdin": "1\n2\n", "expect": {"stdout": "3"}},
    {"name": "negative numbers count", "class": "normal", "stdin": "5\n-2\n", "expect": {"stdout": "3"}},
    {"name": "nothing is nothing", "class": "edge", "stdin": "", "expect": {"stdout": "0"}},
    {"name": "a word is refused", "class": "invalid", "stdin": "x\n", "expect": {"exit_code": "nonzero"}},
    {"name": "many lines", "class": "stress", "stdin": "1\n", "stdin_repeat": 10000,
     "expect": {"stdout": "10000"}},
]}

PROGRAM_TESTS = ["tests/cases.json", "tests/program.json", "tests/test_cases.py"]

LIBRARY = '''"""Durations."""


def parse(text: str) -> int:
    """Seconds of a text such as 2m."""
    if not text or not text[:-1].isdigit() or text[-1] not in "sm":
        raise ValueError(f"no duration: {text!r}")
    return int(text[:-1]) * (60 if text[-1] == "m" else 1)
'''

LIBRARY_TESTS = '''"""Tests of durations."""
import pytest

from duration import parse


@pytest.mark.normal
def test_minutes():
    assert parse("2m") == 120


@pytest.mark.normal
def test_seconds():
    assert parse("7s") == 7


@pytest.mark.edge
def test_zero():
    assert parse("0s") == 0


@pytest.mark.invalid
def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError):
        parse("5x")


@pytest.mark.invalid
def test_nothing_is_refused():
    with pytest.raises(ValueError):
        parse("")


@pytest.mark.stress
def test_a_large_number():
    assert parse("9" * 50 + "s") == int("9" * 50)
'''


def rule(text, **words):
    """One rule of a script; a list repeats its word."""
    lines = ["answer"]
    for word, value in words.items():
        for item in value if isinstance(value, list) else [value]:
            lines.append(f"    {word}: {item}")
    return "\n".join([*lines, "<<<END-OF-ANSWER", text, "END-OF-ANSWER", ""])


def plan(**decision):
    decision.setdefault("reason", "so it is")
    return json.dumps(decision)


def contract(kind, **keys):
    keys.setdefault("language", "python")
    keys.setdefault("summary", "what is wanted")
    return plan(action="code", contract={"kind": kind, **keys})


def file(path, text):
    return f"File: {path}\n```python\n{text}```"


def answer_rules(code, **words):
    """A result that a short program computes: two calls."""
    return [rule(contract("answer", files=["main.py"]), system="You plan"),
            rule(file("main.py", code), system="You write a short program", **words)]


def program_rules(code=COUNT, **words):
    """A program whose first attempt is right."""
    return [rule(contract("program", files=["count.py"]), system="You plan"),
            rule(json.dumps(CASES), system="You write test cases", **words),
            rule(file("count.py", code), system="You write code", **words),
            rule("It adds numbers.", system="You explain")]


def mended_rules(**words):
    """The same, whose second attempt is."""
    return [rule(contract("program", files=["count.py"]), system="You plan"),
            rule(json.dumps(CASES), system="You write test cases", **words),
            rule(file("count.py", COUNT), system="It was tested and is not right", **words),
            rule(file("count.py", WRONG_COUNT), system="You write code", **words),
            rule("It adds numbers.", system="You explain")]


def library_rules():
    return [rule(contract("library", files=["duration.py"], module="duration.py",
                          names=[{"name": "parse", "signature": "(text: str) -> int",
                                  "raises": ["ValueError"]}]), system="You plan"),
            rule(file("test_duration.py", LIBRARY_TESTS), system="You write tests"),
            rule(file("duration.py", LIBRARY), system="You write code"),
            rule("It reads durations.", system="You explain")]


class Desk:
    """A working directory with a script, where tasks are run."""

    def __init__(self, place, rules):
        self.place = place
        self.script = place.base / "model.script"
        self.write(rules)

    def write(self, rules):
        self.script.write_text("\n".join(rules), encoding="utf-8")

    @property
    def env(self):
        return environment(self.place, LANG="C.UTF-8")

    def words(self, command, *words):
        """A task that is begun is told its model; later it knows."""
        first = command == "run" and not {"--resume", "--replay", "--resume_from"} & set(words)
        model = ["--model", f"scripted/{self.script}"] if first else []
        return [str(places.binary()), *command.split(), *model, *map(str, words)]

    def call(self, command, *words, stdin=b"", **popen):
        popen.setdefault("env", self.env)
        popen.setdefault("cwd", self.place.cwd)
        return subprocess.run(self.words(command, *words), input=stdin, capture_output=True,
                              timeout=PATIENCE, **popen)

    def run(self, *words, code=0, **more):
        answer = self.call("run", *words, **more)
        assert answer.returncode == code, answer
        return answer

    def document(self, *words, code=0):
        """What --json prints, and nothing else."""
        document = json.loads(self.run("--json", *words, code=code).stdout)
        assert document["schema"] == 1
        return document

    def start(self, *words):
        """A task that does not run far ahead of whoever reads its events: what is told then is longer
        than what a small pipe takes, and nothing is read before it is asked for."""
        return subprocess.Popen(self.words("run", *words), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env,
                                cwd=self.place.cwd, pipesize=SMALL_PIPE, bufsize=0)

    def runs(self):
        answer = self.call("runs list", "--json")
        assert answer.returncode == 0, answer
        return json.loads(answer.stdout)["runs"]


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def timeless(document):
    """A document without what differs from one run of the same task to the next."""
    copy = json.loads(json.dumps(document))
    del copy["id"], copy["spent"]["wall_ms"], copy["memory_peak_bytes"]
    for test in copy["tests"]:
        del test["ms"]
    return copy


def tree(folder):
    return sorted(str(Path(top, name).relative_to(folder)) for top, _, names in os.walk(folder)
                  for name in names)
