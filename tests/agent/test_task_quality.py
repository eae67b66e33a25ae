# SPDX-License-Identifier: Apache-2.0
"""What keeps a pass from being one: tests that notice nothing, contracts that nobody agreed to."""
import json

import task
from task import Agent, contract, file, plan, rule

ADDS = "def add(a: int, b: int) -> int:\n    return a + b\n\n\ndef sub(a: int, b: int) -> int:\n    return a - b\n"
NAMES = [{"name": "add", "signature": "(a: int, b: int) -> int"}, {"name": "sub", "signature": "(a: int, b: int) -> int"}]
IDLE = "import pytest\n\nfrom adds import add\n" + "".join(
    f"\n\n@pytest.mark.{name}\ndef test_{name}():\n    assert callable(add)\n"
    for name in ("normal", "edge", "invalid", "stress"))
MORE = "import pytest\n\nfrom adds import sub\n\n\n@pytest.mark.edge\ndef test_sub():\n    assert callable(sub)\n"


def library():
    return contract("library", files=["adds.py"], module="adds.py", names=NAMES)


def library_rules(tests):
    return [rule(library(), system=task.PLANS),
            rule(file("test_adds_more.py", MORE), system=task.TESTS, when="What no test notices"),
            rule(file("test_adds.py", tests), system=task.TESTS),
            rule(file("adds.py", ADDS), system=task.CODES), rule("Done.", system=task.EXPLAINS)]


def test_tests_that_notice_nothing_make_a_pass_suspect(place):
    done = Agent(place, library_rules(IDLE)).run("add", code=1)
    document = done.document
    assert document["outcome"] == "suspect" and document["mutation_score"] == 0
    assert "notice" in document["reason"] or "notice" in (document["explanation"] or "")
    assert document["unnoticed"]


NOTICE_ADD = "import pytest\n\nfrom adds import add\n" + "".join(
    f"\n\n@pytest.mark.{name}\ndef test_{name}():\n    assert add({a}, {b}) == {a + b}\n"
    for name, a, b in (("normal", 1, 2), ("edge", 0, 0), ("invalid", -1, 3), ("stress", 10 ** 30, 1)))
NOTICE_SUB = MORE.replace("callable(sub)", "sub(5, 3) == 2")


def test_a_function_that_nobody_notices_gets_a_test_and_passes(place):
    """The tester is told once, adds one test, and the same code meets it."""
    rules = [rule.replace(MORE, NOTICE_SUB) for rule in library_rules(NOTICE_ADD)]
    done = Agent(place, rules).call("--jsonl", "add", code=0)
    document = done.document
    assert (document["outcome"], document["attempts"], document["spent"]["calls"]) == ("passed", 1, 5), done
    assert (document["mutation_score"], document["unnoticed"]) == (1, [])
    first, second = [event["mutation"] for event in done.events if event["event"] == "mutation"]
    assert 0 < first["score"] < 1 and second["score"] == 1
    assert [test["id"] for test in document["tests"]][-1] == "test_adds_more.py::test_sub"
    assert len(document["tests"]) == 5 and {test["result"] for test in document["tests"]} == {"passed"}


def test_what_a_linter_says_is_in_the_document(place):
    """S0-20. Whichever the box has: ruff, pyflakes, or the few checks of the judge itself."""
    rules = [rule.replace(ADDS, "import os\n\n\n" + ADDS).replace(MORE, NOTICE_SUB)
             for rule in library_rules(NOTICE_ADD)]
    document = Agent(place, rules).run("add").document
    assert document["lint"].startswith("adds.py:1: ") and "os" in document["lint"], document["lint"]
    clean = [rule.replace(MORE, NOTICE_SUB) for rule in library_rules(NOTICE_ADD)]
    assert Agent(place, clean).run("add").document["lint"] is None


def test_a_contract_that_was_refused_is_not_built(place):
    """The orchestrator says "go on" after a refusal: there is no contract to go on with."""
    agent = Agent(place, [rule(plan("code"), system=task.PLANS, when="wants another contract"),
                          rule(task.program(), system=task.PLANS), *task.program_rules()[1:]])
    waiting = agent.run("--ask", "always", task.TASK, code=3)
    done = agent.call("--json", waiting.document["id"], "no", command="runs answer", code=1)
    assert done.document["outcome"] == "error" and "contract" in done.document["reason"], done
    assert done.document["files"] == []


def test_files_of_another_contract_are_not_delivered(place):
    """The first one fails for good; the second has another file."""
    other = contract("program", files=["sums.py"])
    cases = task.cases()
    agent = Agent(place, [rule(other, system=task.PLANS, when="not built"),
                          rule(task.program(), system=task.PLANS), rule(cases, system=task.CASES),
                          rule(task.ruling("code"), system=task.RULES),
                          rule(file("sums.py", task.COUNT), system=task.CODES, when="sums.py"),
                          rule(file("count.py", task.WRONG_COUNT), system=task.CODES),
                          rule("Done.", system=task.EXPLAINS)])
    done = agent.run("--max-attempts", "1", task.TASK)
    assert [entry["path"] for entry in done.document["files"]] == ["sums.py"]


def test_a_server_that_tells_no_tokens_has_a_budget_all_the_same(place):
    agent = Agent(place, task.program_rules(first=task.WRONG_COUNT))
    done = agent.run("--max-tokens", "1000", task.TASK, code=1)
    assert done.document["spent"]["calls"] <= 2 and "--max-tokens" in done.document["reason"]


def test_a_limit_too_small_for_any_run_is_told_as_such(place):
    """Not as code that cannot be parsed."""
    done = Agent(place, library_rules(IDLE)).run("--timeout", "0.005", "add", code=1)
    assert done.document["reason"].startswith("timeout"), done
    assert "syntax" not in json.dumps(done.document), done
