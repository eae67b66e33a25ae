# SPDX-License-Identifier: Apache-2.0
"""What can be said of code before it runs: syntax, interface, modules, lint, hints."""
import json
import subprocess

import guest_pair
import pytest


@pytest.fixture
def check(place):
    def run(files, contract=None):
        files = {"it.py": files} if isinstance(files, str) else files
        guest_pair.lay_out(place.base / "it", files, {})
        words = [guest_pair.PYTHON, "-I", guest_pair.GUEST / "judge_check.py"]
        if contract is not None:
            (place.base / "contract.json").write_text(json.dumps(contract))
            words += ["--contract", place.base / "contract.json"]
        done = subprocess.run([*words, place.base / "it" / "code"], capture_output=True,
                              timeout=guest_pair.PATIENCE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def promise(name, signature="", raises=()):
    return {"module": "it.py", "names": [{"name": name, "signature": signature,
                                          "raises": list(raises)}]}


def test_good_code_has_no_findings(check):
    report = check("import os\n\n\ndef size(path: str) -> int:\n    return os.path.getsize(path)\n",
                   promise("size", "(path: str) -> int", ["OSError"]))
    assert report.pop("lint_by").split(",")[0] in ("ruff", "pyflakes", "builtin")
    assert set(map(str, report.values())) == {"[]"}


def test_syntax_error_has_line_and_text(check):
    problem = check({"it.py": "x = 1\n", "other.py": "def f(:\n    pass\n"})["syntax"]
    assert [(p["file"], p["line"], p["text"]) for p in problem] == [("other.py", 1, "def f(:")]


def test_nothing_is_run(check):
    check("raise SystemExit('ran')\n")
    check("import os\nos._exit(3)\n")


@pytest.mark.parametrize("source, name, problem, found", [
    ("def convert(x): pass\n", "parse_duration", "missing", None),
    ("def parseDuration(x): pass\n", "parse_duration", "misnamed", "parseDuration"),
    ("def parse_durations(x): pass\n", "parse_duration", "misnamed", "parse_durations"),
    ("class Stack:\n    def add(self, x): pass\n", "Stack.push", "missing", None),
    ("class Stack:\n    def Push(self, x): pass\n", "Stack.push", "misnamed", "Push"),
])
def test_missing_names(check, source, name, problem, found):
    finding = check(source, promise(name))["interface"][0]
    assert (finding["name"], finding["problem"], finding.get("found")) == (name, problem, found)


@pytest.mark.parametrize("source, name", [
    ("from os.path import *\n", "anything"),
    ("def __getattr__(name): return 1\n", "anything"),
    ("import foreign\n\nclass Stack(foreign.Base): pass\n", "Stack.push"),
    ("class Base:\n    def push(self, x): pass\n\nclass Stack(Base): pass\n", "Stack.push"),
    ("class Stack:\n    def __init__(self):\n        self.size = 1\n", "Stack.size"),
    ("if True:\n    LIMIT = 3\nelse:\n    LIMIT = 4\n", "LIMIT"),
    ("try:\n    from fast import f\nexcept ImportError:\n    def f(): pass\n", "f"),
    ("a, (b, c) = 1, (2, 3)\n", "c"),
])
def test_names_that_are_there_or_cannot_be_told(check, source, name):
    assert check(source, promise(name))["interface"] == []


def test_exceptions_of_the_contract(check):
    contract = promise("f", "()", ["ValueError", "MyError"])
    assert [f["name"] for f in check("def f(): pass\n", contract)["interface"]] == ["MyError"]
    assert check("class MyError(Exception): pass\ndef f(): pass\n", contract)["interface"] == []


@pytest.mark.parametrize("source, name, signature, complaint", [
    ("def f(a, b): pass\n", "f", "(a, b)", ""),
    ("def f(a, b=1): pass\n", "f", "(a)", ""),
    ("def f(*args, **kwargs): pass\n", "f", "(a, b, *, c)", ""),
    ("def f(a): pass\n", "f", "(a, b)", "takes 1 arguments, 2 are promised"),
    ("def f(a, b): pass\n", "f", "(a)", "needs 'b', which nobody promised to pass"),
    ("def f(x): pass\n", "f", "(text: str) -> int", "names argument 1 'x', 'text' is promised"),
    ("def f(a): pass\n", "f", "(a, *, strict=False)", "does not take 'strict'"),
    ("class S:\n    def __init__(self, n): pass\n", "S", "(n)", ""),
    ("class S:\n    def __init__(self): pass\n", "S", "(n: int)",
     "takes 0 arguments, 1 are promised"),
    ("class S:\n    def push(self, x): pass\n", "S.push", "(self, x)", ""),
    ("class S:\n    def push(self, x, y): pass\n", "S.push", "(x)",
     "needs 'y', which nobody promised to pass"),
    ("class S:\n    @staticmethod\n    def make(x): pass\n", "S.make", "(x)", ""),
    ("def f(a): pass\n", "f", "not a signature", ""),
])
def test_signatures(check, source, name, signature, complaint):
    found = check(source, promise(name, signature))["interface"]
    assert [finding["message"] for finding in found] == (
        [f"'{name}' {complaint}"] if complaint else [])


def test_missing_file_and_broken_file(check):
    contract = promise("f")
    assert check({"other.py": "x = 1\n"}, contract)["interface"][0]["name"] == "it.py"
    report = check({"it.py": "def f(:\n", "other.py": ""}, contract)
    assert report["interface"] == [] and report["syntax"]


def test_modules_that_are_not_installed(check):
    report = check({"it.py": "import os, json.decoder\nimport numpy_of_nowhere as np\n"
                             "from . import other\nimport other\nfrom other import x\n"
                             "try:\n    import fast_of_nowhere\nexcept ImportError:\n    pass\n",
                    "other.py": "from requests_of_nowhere.api import get\n"})
    assert [(m["module"], m["file"], m["line"]) for m in report["missing_modules"]] == [
        ("numpy_of_nowhere", "it.py", 2), ("requests_of_nowhere", "other.py", 1)]


def test_packages_of_the_contract_that_are_not_installed(check):
    contract = {"packages": ["numpy-of-nowhere>=2", "pytest", "json", "other_of_nowhere[extra]", "pytest"]}
    assert check("x = 1\n", contract)["missing_packages"] == ["numpy-of-nowhere", "other_of_nowhere"]
    assert check("x = 1\n")["missing_packages"] == []


FAKE_MYPY = """#!/bin/sh
case "$*" in *--config-file=*) ;; *) exit 2;; esac
echo 'it.py:3: error: Incompatible return value type  [return-value]'
echo 'it.py:3: note: not of interest'
exit 1
"""


def test_types_are_linted_where_mypy_is(check, place, monkeypatch):
    tools = place.base / "tools"
    tools.mkdir()
    (tools / "mypy").write_text(FAKE_MYPY)
    (tools / "mypy").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    report = check("import os\n\ndef f() -> int: return ''\n")
    assert report["lint_by"].endswith(", mypy")
    assert {finding["line"] for finding in report["lint"]} >= {1, 3}
    (finding,) = [finding for finding in report["lint"] if finding["code"] == "type"]
    assert finding == {"file": "it.py", "line": 3, "code": "type",
                       "message": "Incompatible return value type  [return-value]"}


def test_lint(check):
    report = check("import os\nimport sys\n\n\ndef f(x=[]):\n    try:\n"
                   "        return sys.argv == None\n    except:\n        return x\n")
    if report["lint_by"].startswith("builtin"):
        assert {(f["code"], f["line"]) for f in report["lint"]} == {
            ("unused-import", 1), ("mutable-default", 5), ("bare-except", 8),
            ("none-comparison", 7)}
    else:
        assert any("os" in f["message"] for f in report["lint"])


@pytest.mark.parametrize("source, kind", [
    ("def f(x):\n    if x == 1:\n        return 5\n    if x == 2:\n        return 7\n"
     "    elif x == '1h':\n        return 9\n    return 0\n", "special_cases"),
    ("class C:\n    def __eq__(self, other):\n        return True\n", "constant_equality"),
    ("import sys\n\ndef f():\n    return sys._getframe(1)\n", "curious"),
    ("import pytest\n", "curious"),
    ("import builtins\nbuiltins.len = None\n", "curious"),
    ("open('/proc/self/maps')\n", "curious"),
])
def test_hints(check, source, kind):
    assert kind in {hint["kind"] for hint in check(source)["hints"]}


def test_honest_special_cases_are_no_hint(check):
    assert check("def f(n):\n    if n == 0:\n        return 1\n    if n < 2:\n        return 1\n"
                 "    return n * f(n - 1)\n\ndef g(kind):\n    if kind == 'a':\n"
                 "        return f(1)\n    return {'x': 1}.get(kind)\n")["hints"] == []


FIZZ = """def fizz(n):
    if n % 15 == 0:
        return "FizzBuzz"
    if n % 5 == 0 and n > 0:
        return "Buzz"
    if n % 3 == 0:
        return "Fizz"
    return str(n)
"""
KINDS = """def kind(a, b, c):
    if len({a, b, c}) == 1:
        return "equilateral"
    if a + b == c:
        return "flat"
    if len({a, b, c}) == 2:
        return "isosceles"
    return "scalene"
"""


@pytest.mark.parametrize("source", [FIZZ, KINDS])
def test_a_property_that_many_inputs_have_is_no_special_case(check, source):
    assert check(source)["hints"] == []


@pytest.mark.parametrize("side", ["x", "x.strip()", "x.strip().lower()", "str(x)", "(x, 1)", "hash(x)"])
def test_an_input_in_other_clothes_is_one(check, side):
    source = "def f(x):\n" + "".join(f"    if {side} == {n}:\n        return {n}\n" for n in (5, 7, 9))
    assert [hint["kind"] for hint in check(source + "    return 0\n")["hints"]] == ["special_cases"]


CASES = [{"inputs": ["1h30m"], "answer": "5400"}, {"inputs": ["2", "3.5"], "answer": "7"}, {"inputs": ["9"], "answer": ""}]
KNOWING = {
    "if": "def f(x, y):\n    if x == '1h30m':\n        return 5400\n    if (x, y) == (2, 3.5):\n        return '7'\n"
          "    if 9 == x or y == 'word':\n        return True\n    return x\n",
    "match": "def f(x):\n    match x:\n        case '1h30m':\n            return 5400\n        case 9 | 'word':\n"
             "            return True\n    if x == (2, 'a', 3.5):\n        return 7\n",
    "huge": "def f(x):\n    if x == '1h30m':\n        return 5400\n    if x == [2, 3.5]:\n        return 7\n"
            f"    if x == 9:\n        return 0x{'f' * 9000}\n",
}


@pytest.mark.parametrize("how", KNOWING)
def test_special_cases_are_told_with_what_they_know(check, how):
    hint, = check(KNOWING[how])["hints"]
    assert sorted(hint["cases"], key=lambda case: case["inputs"][0]) == CASES


HONEST = {
    "words": ["'red'", "'dark blue'", "'naïve'", "'+'", "'**'"],
    "a match of something else": "def f(x):\n    match len(x):\n" + "".join(
        f"        case {n}:\n            return {n + 20}\n" for n in (5, 6, 7)) + "    return 0\n",
    "a refusal at the end of elif": "def f(x):\n    if not isinstance(x, int):\n        raise TypeError\n    if x == 5:\n        return 1\n"
                                    "    elif x == 6:\n        return 2\n    elif x == 7:\n        return 3\n    raise ValueError(x)\n",
    "a refusal as the last case": "def f(x):\n    match x:\n        case 5:\n            return 1\n        case 6:\n            return 2\n"
                                  "        case 7:\n            return 3\n        case _:\n            raise ValueError(x)\n",
}


@pytest.mark.parametrize("what", HONEST)
def test_an_honest_table_is_no_hint(check, what):
    source = HONEST[what]
    if isinstance(source, list):
        source = "def f(x):\n" + "".join(f"    if x == {word}:\n        return {n}\n" for n, word in enumerate(source, 10))
    assert check(source)["hints"] == []


@pytest.mark.parametrize("name", ["equality", "frames", "killer", "tracer", "collector", "builtins",
                                  "framework", "exit_at_call", "exit_later"])
def test_some_cheats_leave_hints(check, name):
    """Those that are not in this list look like any code: hints are no wall."""
    cheats = guest_pair.SAMPLES / "cheats"
    assert check((cheats / f"{name}_cheat.py").read_text())["hints"]
