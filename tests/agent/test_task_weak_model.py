# SPDX-License-Identifier: Apache-2.0
"""Models that are too weak for parts of the loop: no plan, no end, no tests.  The task goes on with what
can be had, and says what it is."""
import json

import pytest
import task
from task import Agent, file, rule

TASK = "Write a Python library with add(a, b): the sum of two numbers."
RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
TESTS = '''import pytest

from solution import add


@pytest.mark.normal
def test_sum():
    assert add(1, 2) == 3


@pytest.mark.edge
def test_nothing():
    assert add(0, 0) == 0


@pytest.mark.invalid
def test_none_is_refused():
    with pytest.raises(TypeError):
        add(None, 1)


@pytest.mark.stress
def test_large():
    assert add(10 ** 1000, 1) == 10 ** 1000 + 1
'''
BAD_PLANS = {
    "no JSON": "I would write a function.",
    "wrong types": '{"action": "code", "reason": 7, "contract": {"kind": 1, "files": "x.py"}}',
    "a contract of wrong types": task.plan("code", contract={"kind": "library", "language": "python", "files": 3}),
    "unfinished": '{"action": "code", "reason": "so", "contract": {"kind": "libr',
    "the example": task.contract("library", summary="converts between Roman numerals and integers", files=["roman.py"], module="roman.py",
                                 names=[{"name": "to_roman", "signature": "(number: int) -> str"}]),
}


def weak(plan="Plan? Code!", draft=file("solution.py", RIGHT), tests=file("test_solution.py", TESTS), more=()):
    """Rules of a model that cannot plan."""
    return [*more, rule(plan, system=task.PLANS), rule(draft, system=task.DRAFTS),
            rule(tests, system=task.TESTS), rule("It adds.", system=task.EXPLAINS)]


def assumed(document):
    return any("no plan could be had from the model" in line for line in document["contract"]["assumptions"])


@pytest.mark.parametrize("plan", BAD_PLANS.values(), ids=BAD_PLANS)
def test_a_plan_that_cannot_be_read_thrice_is_done_without(place, plan):
    """S4-12, which gives up at once"""
    agent = Agent(place, weak(plan))
    done = agent.run("--out", "out", TASK)
    document = done.document
    assert document["outcome"] == "passed" and document["tested"] and assumed(document), done
    assert document["contract"]["names"] == [{"name": "add", "signature": "(a, b)"}]
    assert (place.cwd / "out/solution.py").read_text() == RIGHT
    assert document["spent"]["calls"] == 3 + 3, "three plans, then code, tests and review"
    assert document["attempts"] == 1
    asked = task.inputs(agent.folder())
    assert [entry["effect"] for entry in asked] == [
        "step-1/decide", "step-1/decide.2", "step-1/decide.3", "step-1/draft", "step-1/tests", "review"]


def test_the_tests_of_a_draft_are_written_without_its_code(place):
    agent = Agent(place, weak(draft=file("solution.py", "# a mark of the code\n" + RIGHT)))
    agent.run(TASK)
    prompt, = task.prompts(agent.folder(), "tests")
    assert "a mark of the code" not in prompt and '"add"' in prompt


def test_a_plan_without_end_is_done_without(place):
    """Cut at its length, and the rest, and the rest of the rest."""
    begin = '{"action": "code", "reason": "' + "on and on " * 20
    agent = Agent(place, weak(more=[rule(begin, system=task.PLANS, finish="cut"),
                                    rule("on and on " * 20, after="on and on", finish="cut")]))
    document = agent.run(TASK).document
    assert document["outcome"] == "passed" and assumed(document), document
    retries = [entry["prompt"] for entry in task.inputs(agent.folder()) if ".2" in entry["effect"]]
    assert "did not come to an end" in retries[0]


def test_a_plan_that_takes_too_long_leaves_time_for_the_work(place):
    """It has half of the time; a drip of a plan would else use all of it up."""
    slow = rule("x" * 5000, system=task.PLANS, delay="500ms")
    document = Agent(place, weak(more=[slow])).run("--max-time", "20s", TASK).document
    assert document["outcome"] == "passed" and assumed(document), document
    assert document["spent"]["wall_ms"] >= 5000, "it was waited for"


def test_what_decides_about_tests_is_not_a_drafts(place):
    """Its pytest.ini would be delivered in place of ours."""
    draft = file("solution.py", RIGHT) + file("pytest.ini", "[pytest]\naddopts = --collect-only\n") + \
        file("conftest.py", "") + file("more_test.py", "")
    agent = Agent(place, weak(draft=draft))
    document = agent.run("--out", "out", TASK).document
    assert document["outcome"] == "passed" and [f["path"] for f in document["files"]] == ["solution.py"]
    assert "collect-only" not in (place.cwd / "out/pytest.ini").read_text()


def test_names_come_from_the_code_where_the_task_has_none(place):
    agent = Agent(place, weak())
    document = agent.run("Write a Python function for the sum of two numbers.").document
    assert document["outcome"] == "passed" and document["contract"]["names"][0]["name"] == "add"


@pytest.mark.parametrize("draft", [
    f"```python\n{RIGHT}```\n\nUse it so:\n\n```python\nprint(add(1, 2))\n```\n",
    f"```python\n{RIGHT}```\n\nAnd then:\n\n```python\nfor ever in",
    f"File: solution.py\n```python\n{RIGHT}```\nFile: test_solution.py\n```python\nassert True\n```\n",
], ids=["two fences", "a fence without end", "tests"])
def test_the_first_code_of_a_draft_counts(place, draft):
    document = Agent(place, weak(draft=draft)).run(TASK).document
    assert document["outcome"] == "passed"
    assert document["files"] == [{"path": "solution.py", "text": RIGHT}]


def test_a_draft_that_fails_its_tests_is_mended(place):
    rules = weak(draft=file("solution.py", WRONG), more=[rule(file("solution.py", RIGHT), system=task.MENDS)])
    document = Agent(place, rules).run(TASK).document
    assert document["outcome"] == "passed" and document["attempts"] == 2
    assert document["files"][0]["text"] == RIGHT


def test_code_whose_tests_cannot_be_had_is_delivered_untested(place):
    agent = Agent(place, weak(tests="No tests."))
    done = agent.run("--out", "out", TASK, code=1)
    document = done.document
    assert document["outcome"] == "error" and document["tested"] is False
    assert "no tests could be had" in document["reason"] and "untested" in document["reason"]
    assert (place.cwd / "out/solution.py").read_text() == RIGHT
    assert document["tests"] == [] and document["attempts"] == 1


def test_so_is_that_of_a_plan(place):
    """A model that plans and cannot write tests: here too there was nothing once."""
    rules = [rule(task.program(), system=task.PLANS), rule("{}", system=task.CASES),
             rule(file("count.py", task.COUNT), system=task.CODES)]
    document = Agent(place, rules).run(task.TASK, code=1).document
    assert document["outcome"] == "error" and "no tests could be had" in document["reason"]
    assert document["files"] == [{"path": "count.py", "text": task.COUNT}]
    assert not assumed({"contract": {"assumptions": [], **document["contract"]}})


def test_untested_code_must_still_be_code_with_its_names(place):
    """The check needs no tests: what it finds goes back to the coder."""
    rules = weak(draft=file("solution.py", "def sub(a, b):\n    return a - b\n"), tests="No tests.",
                 more=[rule(file("solution.py", RIGHT), system=task.MENDS)])
    document = Agent(place, rules).run(TASK, code=1).document
    assert document["outcome"] == "error" and "untested" in document["reason"], document
    assert document["files"][0]["text"] == RIGHT and document["attempts"] == 2


@pytest.mark.parametrize("code, outcome", [(RIGHT, "suspect"), (WRONG, "failed")])
def test_examples_of_the_task_are_tests_and_never_enough(place, code, outcome):
    rules = weak(draft=file("solution.py", code), tests="No tests.",
                 more=[rule(file("solution.py", code), system=task.MENDS)])
    done = Agent(place, rules).run(TASK + " add(1, 2) is 3.", code=1)
    document = done.document
    assert document["outcome"] == outcome, done
    assert [test["origin"] for test in document["tests"]] == ["given"]
    if outcome == "suspect":
        assert document["reason"] == "there is no test of these classes: edge, invalid, stress"


def test_tests_that_leave_a_class_out_twice_make_no_pass(place):
    """S0-03: Whoever planned it."""
    cases = task.cases(*[case for case in task.COUNT_CASES if case["class"] != "stress"])
    document = Agent(place, task.program_rules(tests=cases)).run(task.TASK, code=1).document
    assert document["outcome"] == "suspect" and document["reason"].endswith("classes: stress")


def test_neither_plan_nor_code_is_an_error(place):
    document = Agent(place, weak(draft="I cannot.")).run(TASK, code=1).document
    assert document["outcome"] == "error" and document["files"] == [] and document["contract"] is None
    assert document["spent"]["calls"] == 6


def test_an_answer_that_nobody_planned_is_suspect(place):
    rules = [rule("What a question!", system=task.PLANS),
             rule(file("main.py", "print(6 * 7)\n"), system=task.SHORT)]
    document = Agent(place, rules).run("What is 6 times 7?", code=1).document
    assert document["answer"] == "42" and document["outcome"] == "suspect" and assumed(document)
    assert "no plan could be had" in document["reason"]


def test_a_model_that_fails_to_plan_after_a_build_ends_with_what_it_has(place):
    rules = task.program_rules(first=task.WRONG_COUNT, mended=task.WRONG_COUNT)
    rules.insert(0, rule("Again?", system=task.PLANS, when="not built after"))
    document = Agent(place, rules).run(task.TASK, code=1).document
    assert document["outcome"] == "failed" and document["files"][0]["text"] == task.WRONG_COUNT
    assert "negative numbers count" in document["reason"] or "tests passed" in document["reason"]


def test_what_went_without_a_plan_replays(place):
    agent = Agent(place, weak(tests="No tests."))
    first = agent.run("--record", "all.rec", TASK, code=1).document
    again = agent.run("--replay", "all.rec", code=1).document
    assert task.timeless(again) == task.timeless(first)


def test_small_models_get_schemas_with_bounds_and_large_ones_do_not(place):
    """A model that a server holds to a grammar could else go on in a string for ever."""
    said = task.by_role(PLANS="No plan.", DRAFTS="No code.")
    with task.model(said) as server:
        Agent(place, server=server).run(TASK, code=1)
        small = server.seen[0].body["response_format"]
    assert "maxLength" in json.dumps(small) and "maxItems" in json.dumps(small)
    with task.model(said) as server:
        agent = Agent(place, server=server, state="large")
        agent.model = ["--model", "openai/m", "--base-url", server.url]
        agent.env["OPENAI_API_KEY"] = "not-a-real-key-0123456789"
        agent.run(TASK, code=1)
        large = server.seen[0].body["response_format"]
    assert "maxLength" not in json.dumps(large) and "maxItems" not in json.dumps(large)
