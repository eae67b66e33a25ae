# SPDX-License-Identifier: Apache-2.0
"""Mutants meet the tests: what nobody notices is told, and what time does not allow is left out."""
import time

from judge_drive import case, drive, library_contract, program_contract
from lib import pace

CODE = '''
def clamp(value, low):
    if value < low:
        return low
    return value


def unseen(value):
    return value + 1
'''
TESTS = '''
import pytest
from target import clamp

@pytest.mark.normal
def test_inside(): assert clamp(5, 1) == 5

@pytest.mark.edge
def test_below(): assert clamp(0, 1) == 1
'''


def mutate(code, tests, **more):
    answer = drive(library_contract(("clamp", "")), {"target.py": code}, "collect", "mutate",
                   tests={"test_it.py": tests}, **more)
    assert "mutants" in answer["mutate"], answer
    return answer["mutate"]


def survivors(mutation):
    return {(one["function"], one["what"]) for one in mutation["mutants"]
            if not one["killed"] and not one["hint"]}


def test_a_function_that_no_test_notices_is_told(place):
    mutation = mutate(CODE, TESTS)
    assert survivors(mutation) == {("unseen", "does nothing"),
                                   ("unseen", "returns its first argument")}
    scored = [one for one in mutation["mutants"] if not one["hint"]]
    assert mutation["score"] == round(1 - 2 / len(scored), 4) and len(scored) == 6
    assert any(one["hint"] for one in mutation["mutants"])


def test_withdrawn_and_failing_tests_kill_nobody(place):
    tests = TESTS + "\n@pytest.mark.edge\ndef test_wrong(): assert clamp(1, 1) == 2\n"
    assert mutate(CODE, tests)["score"] == mutate(CODE, TESTS)["score"]
    fewer = mutate(CODE, TESTS, withdrawn=["test_it.py::test_below"])
    assert ("clamp", "the condition is always false") in survivors(fewer)


def test_an_endless_mutant_is_killed(place):
    code = "def clamp(value, low):\n    while value < low:\n        value += 1\n        if value > 9:\n" \
           "            value = 0\n    return value\n"
    tests = TESTS + "\n@pytest.mark.edge\ndef test_end(): assert clamp(9, 8) == 9\n"
    mutation = mutate(code, tests)
    endless = [one for one in mutation["mutants"]
               if one["what"] == "the condition is always true"]
    assert endless and all(one["killed"] for one in endless)


def test_time_that_is_up_leaves_mutants_out(place):
    functions = "".join(f"def f{n}(value):\n    return value + {n}\n\n\n" for n in range(30))
    tests = "import pytest\nimport target\nimport time\n" + "".join(
        f"@pytest.mark.normal\ndef test_{n}():\n    time.sleep(0.8)\n    assert target.f0(1) == 1\n"
        for n in range(4))
    mutation = mutate("def clamp(value, low):\n    return value\n\n\n" + functions, tests)
    assert len(mutation["mutants"]) < 40
    assert all(one["function"] != "f0" or one["killed"] for one in mutation["mutants"]
               if not one["hint"] and one["what"] == "does nothing")


def test_the_mutator_has_no_more_time_than_its_mutants(place):
    """Code of this size takes it minutes; what ends it must be the deadline, not the limit of its box (30 s)."""
    code = "".join(f"def f{n}(value, low={n}):\n    if value < low:\n        return low\n    return value + {n}\n\n\n"
                   for n in range(4000))
    started = time.monotonic()
    answer = drive(library_contract(("f0", "")), {"target.py": code}, "mutate",
                   tests={"test_it.py": TESTS}, deadline_ms=1000)
    assert time.monotonic() - started < pace.within(2.5) and answer["mutate"]["score"] is None


def test_no_mutant_is_made_or_met_after_the_deadline(place):
    answer = drive(library_contract(("clamp", "")), {"target.py": CODE}, "mutate",
                   tests={"test_it.py": TESTS}, deadline_ms=0)
    assert answer["mutate"] == {"score": None, "mutants": []}


def test_code_that_kills_its_server_cancels_nothing(place):
    """The one that forks for each test; what the other box writes to it then, nobody takes."""
    killer = "import os\nif os.getppid() > 1:\n    os.kill(os.getppid(), 9)\n"
    body = CODE.replace("    if value < low:", "    import os\n    if os.getppid() > 1:\n"
                        "        os.kill(os.getppid(), 9)\n    if value < low:")
    for code in (killer + CODE, body):
        answer = drive(library_contract(("clamp", "")), {"target.py": code}, "collect", "mutate",
                       tests={"test_it.py": TESTS})
        assert "cancelled" not in str(answer["mutate"]), answer


def test_nothing_to_mutate_has_no_score(place):
    assert mutate("clamp = max\n", TESTS) == {"score": None, "mutants": []}


def test_a_program_meets_its_mutants(place):
    code = ("import sys\n\n\ndef double(n):\n    return n * 2\n\n\ndef unseen(n):\n    return n\n\n\n"
            "if __name__ == '__main__':\n    print(double(int(sys.stdin.read())))\n")
    cases = [case("two", {"stdout": "4"}, stdin="2"), case("wrong", {"stdout": "7"}, stdin="2")]
    answer = drive(program_contract(), {"main.py": code}, "collect", "mutate",
                   cases={"cases": cases})["mutate"]
    alive = {(one["function"], one["what"]) for one in answer["mutants"] if not one["killed"]}
    assert ("unseen", "does nothing") in alive and ("double", "does nothing") not in alive
    assert 0 < answer["score"] < 1


def test_other_languages_have_no_mutants(place):
    answer = drive(program_contract("c", ["main.c"]), {"main.c": "int main(void) { return 0; }\n"},
                   "collect", "mutate", cases={"cases": [case("all", {"exit_code": 0})]})
    assert answer["mutate"] == {"score": None, "mutants": []}
