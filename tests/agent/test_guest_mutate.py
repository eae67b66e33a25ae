# SPDX-License-Identifier: Apache-2.0
"""Mutants: which there are, in which order, and that each is a program of as many lines."""
import collections
import json
import subprocess

import guest_pair
import pytest

STYLES = sorted((guest_pair.SAMPLES / "styles").glob("*.py"))

SOURCE = '''"""A docstring: 5 > 3."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from x import y


def clamp(value, low=0,
          high=10):
    """Keeps it inside: 1 < 2."""
    if value < low:
        return low
    return high if (value
                    > high) else value


def first(items): return items[0]


def nothing():
    """Only words."""


def later():
    raise NotImplementedError


def same(value):
    return value


class Box:
    def __init__(self, size):
        self.size = size

    def __repr__(self):
        return f"Box({self.size if self.size > 1 else 0})"

    def items(self):
        number = 0
        while number < self.size:
            yield number
            number += 1

    def odd(self):
        return [n for n in self.items() if n % 2 == 1]


if __name__ == "__main__":
    print(clamp(5))
'''


@pytest.fixture
def mutate(place):
    def run(source, *more):
        path = place.base / "it.py"
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        words = [guest_pair.PYTHON, "-I", guest_pair.GUEST / "judge_mutate.py", "--root",
                 place.base, *more, path]
        done = subprocess.run(words, capture_output=True, timeout=guest_pair.PATIENCE)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def test_kinds_and_places(mutate):
    mutants = mutate(SOURCE, "--max", "1000")
    scored = collections.Counter((m["function"], m["kind"]) for m in mutants
                                 if m["kind"] in ("empty", "branch"))
    assert scored == {("clamp", "empty"): 2, ("clamp", "branch"): 4, ("first", "empty"): 2,
                      ("same", "empty"): 1, ("Box.__init__", "empty"): 1,
                      ("Box.items", "empty"): 1, ("Box.items", "branch"): 1,
                      ("Box.odd", "empty"): 1, ("Box.odd", "branch"): 2}
    assert {m["file"] for m in mutants} == {"it.py"}
    assert [m["id"] for m in mutants] == [f"m{n + 1}" for n in range(len(mutants))]
    hints = [m for m in mutants if m["kind"] in ("compare", "constant")]
    assert {m["function"] for m in hints} == {"clamp", "first", "Box.items", "Box.odd"}
    assert not any("print" in m["what"] for m in mutants)


def test_scored_kinds_come_first_and_are_spread(mutate):
    mutants = mutate(SOURCE, "--max", "7")
    assert [m["function"] for m in mutants] == [
        "clamp", "first", "same", "Box.__init__", "Box.items", "Box.odd", "clamp"]
    assert {m["kind"] for m in mutants} == {"empty"}


def test_order_is_fixed(mutate):
    assert mutate(SOURCE) == mutate(SOURCE)


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.stem)
def test_each_mutant_is_a_different_program_of_as_many_lines(mutate, path):
    text = path.read_text()
    seen = {text}
    for mutant in mutate(text, "--max", "1000"):
        compile(mutant["source"], "mutant", "exec")
        assert mutant["source"].count("\n") == text.count("\n"), mutant
        assert mutant["source"] not in seen
        seen.add(mutant["source"])


def test_what_an_emptied_function_does(mutate):
    sources = {(m["function"], m["what"]): m["source"] for m in mutate(SOURCE, "--max", "1000")}

    def space(function, what):
        made = {"__name__": "it"}
        exec(sources[function, what], made)
        return made

    assert space("clamp", "does nothing")["clamp"](50) is None
    assert space("clamp", "returns its first argument")["clamp"](50) == 50
    assert space("first", "returns its first argument")["first"]("ab") == "ab"
    assert list(space("Box.items", "does nothing")["Box"](3).items()) == []
    assert not hasattr(space("Box.__init__", "does nothing")["Box"](3), "size")


def test_no_loop_becomes_endless(mutate):
    mutants = mutate("def f(n):\n    while n:\n        n -= 1\n    return n\n")
    assert [m["what"] for m in mutants if m["kind"] == "branch"] == [
        "the condition is always false"]


def test_letters_outside_ascii_keep_their_place(mutate):
    source = "def f(a):\n    é = 'ü€'; return 'x' if a else 'é'\n"
    branch = next(m for m in mutate(source) if m["kind"] == "branch")
    assert branch["source"] == "def f(a):\n    é = 'ü€'; return 'x' if (True) else 'é'\n"


def test_text_that_is_no_python_is_refused(place):
    path = place.base / "it.py"
    for data in (b"def f(:\n", b"\xff\xfe\x00", b"x = 1\n\0"):
        path.write_bytes(data)
        done = subprocess.run([guest_pair.PYTHON, "-I", guest_pair.GUEST / "judge_mutate.py", path],
                              capture_output=True, timeout=guest_pair.PATIENCE)
        assert done.returncode == 1 and b"judge_mutate: " in done.stderr
        assert b"Traceback" not in done.stderr


def test_mutants_are_killed_by_tests_that_can_fail(place):
    """The whole way: each scored mutant of an honest module meets its tests."""
    styles = guest_pair.SAMPLES / "styles"
    text = (styles / "machine.py").read_text()
    tests = {"test_machine.py": (styles / "test_machine.py").read_text()}
    (place.base / "machine.py").write_text(text)
    words = [guest_pair.PYTHON, "-I", guest_pair.GUEST / "judge_mutate.py", "--max", "12",
             place.base / "machine.py"]
    done = subprocess.run(words, capture_output=True, check=True, timeout=guest_pair.PATIENCE)
    survived = []
    for line in done.stdout.splitlines():
        mutant = json.loads(line)
        folder = place.base / mutant["id"]
        verdict = guest_pair.judge(folder, {"machine.py": mutant["source"]}, tests, "--exitfirst")
        if set(verdict.outcomes.values()) == {"passed"}:
            survived.append((mutant["function"], mutant["what"]))
    assert survived == []
