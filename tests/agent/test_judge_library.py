# SPDX-License-Identifier: Apache-2.0
"""Libraries and their tests: two boxes for each, and only the host's own word counts."""
import guest_pair
import pytest

from judge_drive import drive, judge_library, library_contract, results

DOUBLE = "def double(value):\n    return value * 2\n"
TESTS = '''
import pytest
from target import double

@pytest.mark.normal
@pytest.mark.parametrize("value", [1, "ab"])
def test_twice(value):
    assert double(value) == value + value

@pytest.mark.invalid
def test_nothing_is_refused():
    with pytest.raises(TypeError):
        double(None)

@pytest.mark.edge
def test_empty():
    assert double([]) == []

@pytest.mark.stress
def test_many():
    assert all(double(n) == 2 * n for n in range(100))
'''
CHEATS = guest_pair.SAMPLES / "cheats"
PAIRS = sorted(path.stem[:-len("_cheat")] for path in CHEATS.glob("*_cheat.py"))
# Proven by what came over the wire; the others have no effect, and simply fail their tests.
TAMPERED = {"exit_at_call", "forged_verdicts", "threads", "builtins", "deep", "flood"}
LATE = {"deep"}  # on a busy machine its answers may not come in time at all


def collected(tests, module="target.py"):
    return drive(library_contract(("double", "(value)"), module=module), {}, "collect",
                 tests=tests)["collect"]


def test_collecting_gives_ids_classes_and_origins(place):
    given = "import pytest\nfrom target import double\n\n\n@pytest.mark.normal\n" \
            "def test_given_1():\n    assert (double(1)) == (2)\n"
    tests = collected({"test_given.py": given, "test_it.py": TESTS})["tests"]
    assert [(test["id"], test["class"], test["origin"]) for test in tests] == [
        ("test_given.py::test_given_1", "normal", "given"),
        ("test_it.py::test_twice[1]", "normal", "derived"),
        ("test_it.py::test_twice[ab]", "normal", "derived"),
        ("test_it.py::test_nothing_is_refused", "invalid", "held back"),
        ("test_it.py::test_empty", "edge", "derived"),
        ("test_it.py::test_many", "stress", "derived")]


@pytest.mark.parametrize("tests, words", [
    ("def test_a(:\n", "SyntaxError"),
    ("import target\ndef test_a(): pass\n", "test_a"),
    ("import target\n", "no test"),
    ("import os\nos._exit(0)\n", "do not load"),
    ("import no_such_module\n", "no_such_module"),
])
def test_tests_that_cannot_be_used_are_the_models_affair(place, tests, words):
    answer = collected({"test_it.py": tests})
    assert answer["code"] == 22 and words in answer["error"], answer


def test_a_library_passes_with_its_coverage(place):
    report = judge_library(DOUBLE + "\n\ndef _unused():\n    return 1\n", TESTS)
    assert (report["outcome"], report["diagnosis"], report["summary"]) == ("passed", "none", None)
    assert set(results(report).values()) == {"passed"} and len(report["tests"]) == 5
    assert report["coverage"] == 0.75
    assert all(row["memory_bytes"] > 0 and row["seen"] for row in report["tests"])


def test_both_values_are_told_and_nothing_held_back(place):
    report = judge_library("def double(value):\n    return 7\n", TESTS)
    assert (report["outcome"], report["diagnosis"]) == ("failed", "assertion")
    assert "test_it.py::test_twice[1] (normal): expected 2, got 7" in report["summary"]
    assert "1 test that you do not see fails too: 1 invalid." in report["summary"]
    assert "TypeError" not in report["summary"] and "refused" not in report["summary"]
    assert "double(" not in report["summary"]


def test_held_back_alone_still_helps(place):
    code = "def double(value):\n    return value * 2 if value is not None else 1 // 0\n"
    report = judge_library(code, TESTS)
    assert report["outcome"] == "failed"
    assert report["summary"] == (
        "1 of 5 tests fail.\n\n1 test that you do not see fails: 1 invalid; they meet double.\n"
        "What went wrong: assertion.\n"), report


@pytest.mark.parametrize("code, diagnosis, words", [
    ("def double(value:\n", "syntax", "target.py:1"),
    ("def duoble(value):\n    return value * 2\n", "interface", "'duoble'"),
    ("def double(value, more):\n    return value * 2\n", "interface", "more"),
    ("import no_such_module\n" + DOUBLE, "missing module", "not installed in this box; available"),
])
def test_what_the_text_tells_is_told_without_a_run(place, code, diagnosis, words):
    report = judge_library(code, TESTS)
    assert (report["outcome"], report["diagnosis"], report["tests"]) == ("failed", diagnosis, [])
    assert words in report["summary"]


ONE = "import pytest\nfrom target import double\n\n@pytest.mark.normal\ndef test_it():\n" \
      "    assert double(2) == 4\n"


@pytest.mark.parametrize("code, result, diagnosis, outcome", [
    ("def double(value):\n    while True: pass\n", "timeout", "timeout", "failed"),
    ("def double(value):\n    return len(bytearray(1 << 28))\n", "failed", "memory", "failed"),
    ("import os\ndef double(value):\n    os.abort()\n", "failed", "crash", "failed"),
    ("def double(value):\n    return 1 / 0\n", "failed", "assertion", "failed"),
    ("import os\ndef double(value):\n    os._exit(3)\n", "failed", "crash", "failed"),
    ("import os\ndef double(value):\n    os._exit(0)\n", "failed", "crash", "tampered"),
])
def test_ends_that_are_not_its_own(place, code, result, diagnosis, outcome):
    wall_ms = 1500 if result == "timeout" else 20000
    report = judge_library(code, ONE, limits={"memory_bytes": 128 << 20, "wall_ms": wall_ms})
    assert (results(report)["test_it.py::test_it"], report["diagnosis"], report["outcome"]) == (
        result, diagnosis, outcome), report


def test_a_broken_test_is_an_error(place):
    report = judge_library(DOUBLE, ONE.replace("double(2) == 4", "doubel(2) == 4"))
    assert report["outcome"] == "failed"


def test_tests_without_time_are_timeouts(place):
    report = judge_library(DOUBLE, ONE)
    assert report["outcome"] == "passed"
    late = drive(library_contract(("double", "(value)")), {"target.py": DOUBLE}, "collect",
                 tests={"test_it.py": ONE}, deadline_ms=0)["collect"]
    assert late["code"] == 22 and "whole task" in late["error"]
    slow = judge_library("import time\ndef double(value):\n    time.sleep(600)\n", TESTS,
                         deadline_ms=4000, limits={"wall_ms": 30000})
    assert set(results(slow).values()) == {"timeout"}, slow
    assert all("whole task" in row["message"] for row in slow["tests"]), slow


def test_each_test_meets_fresh_code(place):
    code = "calls = []\ndef double(value):\n    calls.append(value)\n    return len(calls)\n"
    tests = "import pytest\nfrom target import double\n" + "".join(
        f"@pytest.mark.normal\ndef test_{n}(): assert double(0) == 1\n" for n in range(3))
    assert judge_library(code, tests)["outcome"] == "passed"


MOCKING = '''
import pytest
import target

@pytest.mark.normal
def test_replaced(monkeypatch):
    monkeypatch.setattr(target, "factor", lambda: 3)
    assert target.double(2) == 6
'''
FACTOR = "def factor():\n    return 2\n\n\ndef double(value):\n    return value * factor()\n"


def test_tests_that_replace_parts_run_together_and_do_not_suffice(place):
    report = judge_library(FACTOR, MOCKING)
    assert report["tests"][0]["together"] and results(report) == {
        "test_it.py::test_replaced": "passed"}
    assert report["outcome"] == "suspect" and "replaces" in report["reason"]
    more = MOCKING + "\n@pytest.mark.edge\ndef test_zero(): assert target.double(0) == 0\n"
    assert judge_library(FACTOR, more)["outcome"] == "suspect"
    more += "".join(f"\n@pytest.mark.normal\ndef test_{n}(): assert target.double({n}) == {n * 2}\n"
                    for n in (1, 2))
    assert judge_library(FACTOR, more)["outcome"] == "passed"


def test_no_name_of_an_object_moves_a_test_into_the_codes_process(place):
    tests = (CHEATS / "test_kind_name.py").read_text() \
        + "\n\n@pytest.mark.edge\ndef test_harmless():\n    assert target.version() == '1'\n"
    sources = [(CHEATS / f"kind_name_{kind}.py").read_text() for kind in ("cheat", "twin")]
    cheat, twin = judge_library(sources, tests, ("version", "()"), ("open_one", "(balance)"))
    assert cheat["outcome"] == "failed" and twin["outcome"] == "passed", (cheat, twin)
    assert not any(row["together"] for row in cheat["tests"] + twin["tests"])
    assert set(results(cheat).values()) == {"failed", "passed"}


def test_an_early_exit_together_is_tampering(place):
    code = FACTOR.replace("return value * factor()", "import os; os._exit(0)")
    report = judge_library(code, MOCKING)
    assert report["outcome"] == "tampered", report


def test_withdrawn_tests_do_not_count(place):
    tests = ONE + "\n@pytest.mark.edge\ndef test_wrong():\n    assert double(2) == 5\n"
    report = judge_library(DOUBLE, tests, withdrawn=["test_it.py::test_wrong"])
    assert report["outcome"] == "passed"
    assert results(report)["test_it.py::test_wrong"] == "skipped"


def test_a_module_in_a_folder_with_inputs_and_a_neighbour(place):
    contract = {**library_contract(("double", "(value)"), module="src/target.py"),
                "files": ["src/target.py", "src/words.py"]}
    code = {"src/target.py": "from words import number\n\ndef double(value):\n"
                             "    return number(value) * 2\n",
            "src/words.py": "def number(text):\n"
                            "    return int(open('/workspace/numbers.txt').read())\n"}
    answer = drive(contract, code, tests={"test_it.py": ONE}, inputs={"numbers.txt": "2"})
    assert answer["run"][0]["outcome"] == "passed", answer


def cheat_and_twin(name):
    own = CHEATS / f"test_{name}.py"
    tests = (own if own.exists() else CHEATS / "test_target.py").read_text()
    names = [("version", "()"), ("open_one", "(balance)")] if own.exists() else [("add", ""), ("parse", "")]
    sources = [(CHEATS / f"{name}_{kind}.py").read_text() for kind in ("cheat", "twin")]
    return judge_library(sources, tests, *names)


@pytest.mark.parametrize("name", PAIRS)
def test_a_cheat_is_refused_and_its_twin_is_not(place, name):
    """S02: 0 of the cheats accepted, all of their honest twins."""
    cheat, twin = cheat_and_twin(name)
    assert twin["outcome"] == "passed", twin
    wanted = {"tampered" if name in TAMPERED else "failed"} | ({"failed"} if name in LATE else set())
    assert cheat["outcome"] in wanted, cheat
    assert (cheat["reason"] is not None) is (cheat["outcome"] == "tampered")


def test_equality_that_only_the_code_vouches_for_is_suspect(place):
    suspects = guest_pair.SAMPLES / "suspects"
    tests = (suspects / "test_equal_objects.py").read_text().replace("from suspect", "from target")
    report = judge_library((suspects / "equal_objects.py").read_text(), tests, ("parse", ""))
    assert report["outcome"] == "suspect" and "vouches" in report["reason"], report
    assert report["tests"][0]["suspect"]


def doubles(*numbers, rest="return 0"):
    return "def double(value):\n" + "".join(
        f"    if value == {n}:\n        return {2 * n}\n" for n in numbers) + f"    {rest}\n"


def asking(*pairs):
    return "import pytest\nfrom target import double\n" + "".join(
        f"\n@pytest.mark.normal\ndef test_{n}():\n    assert double({given!r}) == {wanted!r}\n"
        for n, (given, wanted) in enumerate(pairs))


KNOWN = asking((2, 4), (3, 6), (4, 8))


@pytest.mark.parametrize("rest", ["return 0", "return value + value"])
def test_special_cases_are_suspect(place, rest):
    """Whether the function can do without them or not."""
    report = judge_library(doubles(2, 3, 4, rest=rest), KNOWN)
    assert report["outcome"] == "suspect", report
    assert report["reason"] == "target.py:1: 'double' answers 3 inputs with constants"


@pytest.mark.parametrize("name", ["chain", "pairs", "nested_chain", "table", "equal_objects"])
def test_samples_of_what_is_only_noticed(place, name):
    folder = guest_pair.SAMPLES / "suspects"
    tests = folder / ("test_equal_objects.py" if name == "equal_objects" else "test_suspect.py")
    answer = drive(library_contract(("parse", ""), module="suspect.py"),
                   {"suspect.py": (folder / f"{name}.py").read_text()}, tests={"test_it.py": tests.read_text()})
    assert [report["outcome"] for report in answer["run"]] == ["suspect"], answer


def test_a_table_of_what_tests_ask_for_is_suspect(place):
    tests = asking(("1h", 3600), ("1h30m", 5400), ("2s", 2))
    code = "ANSWERS = {'1h': 3600, '1h30m': 5400, '2s': 2}\n\n\ndef double(value):\n    return ANSWERS.get(value, 0)\n"
    report = judge_library(code, tests)
    assert (report["outcome"], report["reason"]) == ("suspect", "target.py:4: 'double' answers 3 inputs with constants")


def words(rest, *pairs):
    return "def double(value):\n" + "".join(
        f"    if value == {given!r}:\n        return {wanted!r}\n" for given, wanted in pairs) + f"    {rest}\n"


COLOURS = [("red", "#ff0000"), ("green", "#00ff00"), ("dark blue", "#000080")]
UNITS = [("km", 1000), ("m", 1), ("cm", 0.01)]
STATES = [(200, "ok"), (404, "not found"), (500, "internal error")]
LAST = [(1, 31), (2, 28), (4, 30)]
HONEST = {
    "colours": (words("return '#000000'", *COLOURS), asking(*COLOURS)),
    "units": (words("return 0", *UNITS), asking(*UNITS)),
    "plurals": (words("return value + 's'", ("child", "children"), ("mouse", "mice"), ("man", "men")),
                asking(("child", "children"), ("mouse", "mice"), ("man", "men"), ("cat", "cats"))),
    "numbers with names": (words("return 'unknown'", *STATES), asking(*STATES)),
    "numbers that are all there are": (words("raise ValueError(value)", *LAST), asking(*LAST)),
    "more than tests ask for": (words("return 30", *LAST, (3, 31), (5, 31), (7, 31)), asking(*LAST)),
    "first values": (words("return double(value - 1) + double(value - 2)", (0, 0), (1, 1), (2, 1)),
                     asking((0, 0), (1, 1), (2, 1), (7, 13))),
    "a table": ("UNITS = {'km': 1000, 'm': 1, 'cm': 0.01}\ndef double(value):\n    return UNITS.get(value, 0)\n",
                asking(*UNITS)),
}


@pytest.mark.parametrize("what", HONEST)
def test_honest_tables_are_not(place, what):
    code, tests = HONEST[what]
    report = judge_library(code, tests)
    assert (report["outcome"], report["reason"]) == ("passed", None)


def test_a_matrix_tells_who_is_of_one_mind(place):
    codes = [DOUBLE, "def double(value):\n    return value + value\n",
             "def double(value):\n    return 7\n"]
    one, same, other = judge_library(codes, TESTS)
    seen = [[row["seen"] for row in report["tests"]] for report in (one, same, other)]
    assert seen[0] == seen[1] != seen[2]
