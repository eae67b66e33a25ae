# SPDX-License-Identifier: Apache-2.0
"""Whole flows that users of such agents know, from the request to the delivery."""
import json
import subprocess

import pytest
import task
from lib import indexes
from task import Agent, contract, file, rule

NAMES = [{"name": "parse_rows", "signature": "(text: str) -> list", "raises": ["ValueError"]}]
TESTS = '''"""Tests of rows."""
import pytest

from rows import parse_rows


@pytest.mark.invalid
def test_rows_of_different_length_are_refused():
    with pytest.raises(ValueError):
        parse_rows("a,1\\nb\\n")


@pytest.mark.normal
def test_rows_and_columns():
    assert parse_rows("a,1\\nb,2\\n") == [["a", "1"], ["b", "2"]]


@pytest.mark.edge
def test_nothing_is_no_row():
    assert parse_rows("") == []


@pytest.mark.stress
def test_many_rows():
    assert len(parse_rows("a,b\\n" * 20000)) == 20000
'''
RIGHT = '''"""Rows of comma-separated text."""
import csv


def parse_rows(text: str) -> list:
    """The rows; all have the same number of columns."""
    rows = list(csv.reader(text.splitlines()))
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("rows of different length")
    return rows
'''
WITH_PACKAGE = RIGHT.replace("import csv", "import csv\n\nimport frobnicate_rows")
WRONG = RIGHT.replace('raise ValueError("rows of different length")', 'raise KeyError("columns")')
ALSO_WRONG = WRONG.replace("Rows of", "The rows of")


def library(**keys):
    return contract("library", files=["rows.py"], module="rows.py", names=NAMES, **keys)


@pytest.fixture
def flow(place):
    """A package that is not there, an error that comes twice and is looked up, then working code."""
    found = [{"title": "csv", "url": "https://example.org/csv", "content": "Compare the lengths yourself."}]
    with task.web(found) as (url, seen), indexes.PythonIndex() as index:
        agent = Agent(place, [
            rule(library(packages=["frobnicate-rows"]), system=task.PLANS),
            rule(file("test_rows.py", TESTS), system=task.TESTS),
            rule(task.ruling("code"), system=task.RULES),
            rule(file("rows.py", RIGHT), system=task.MENDS, when="Compare the lengths yourself."),
            rule(file("rows.py", ALSO_WRONG), system=task.MENDS, when="KeyError"),
            rule(file("rows.py", WRONG), system=task.MENDS, when="frobnicate_rows"),
            rule(file("rows.py", WITH_PACKAGE), system=task.FIRST),
            rule("`parse_rows` reads rows.", system=task.EXPLAINS)]).installing(index)
        agent.env["SEARXNG_URL"] = url
        done = agent.call("--jsonl", "--out", "rows", "rows of comma-separated text", code=0)
    return agent, done, seen


def test_request_dependencies_run_search_and_working_code_with_tests(place, flow):
    """S0-05, S0-03: six steps from the request to code that works, and its tests."""
    agent, done, seen = flow
    assert done.document["outcome"] == "passed"
    reports = [event["report"] for event in done.events if event["event"] == "report"]
    assert reports[0]["diagnosis"] == "missing module" and reports[-1]["outcome"] == "passed"
    mending = task.prompts(agent.folder(), "code")
    assert "frobnicate_rows" in mending[1] and "not installed in this box" in mending[1]
    assert "the index has no such package" in mending[1]
    assert len(seen) == 1 and "KeyError" in seen[0] and "columns" not in seen[0]
    assert "Compare the lengths yourself." in mending[3]
    assert {test["class"] for test in done.document["tests"]} == {"normal", "edge", "invalid", "stress"}
    out = place.cwd / "rows"
    assert (out / "rows.py").read_text() == RIGHT
    plain = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q"], cwd=out, capture_output=True, text=True)
    assert plain.returncode == 0, plain.stdout


def test_analysis_generation_dependencies_execution_errors_and_an_explanation(place, flow):
    """S0-06, S0-11: its stages in their order, the last with an explanation."""
    agent, done, _ = flow
    kinds = [event["event"] for event in done.events]
    order = [kinds.index(kind) for kind in ("contract", "tests", "code", "report", "search", "mutation", "end")]
    assert order == sorted(order), kinds
    assert kinds.count("code") == kinds.count("attempt") == 4
    assert done.document["explanation"] == "`parse_rows` reads rows."
    asked = [entry["command"] for entry in task.inputs(agent.folder()) if "command" in entry]
    assert asked == ["rows.py"] * 4


def test_logic_and_tests_are_written_apart(place, flow):
    """S0-02, S0-04: neither sees the other's text, and the coder is asked for code that people can keep."""
    agent, _, _ = flow
    coder = "".join(task.prompts(agent.folder(), "code"))
    tester = "".join(task.prompts(agent.folder(), "tests"))
    assert "pytest.mark" not in coder and "csv.reader" not in tester and "import csv" not in tester
    for quality in ("PEP 8", "type hints", "Check input where it enters", "Small functions"):
        assert quality in coder, quality


def test_code_environment_execution_logs_adaption(place):
    """S2-30: code is proposed and run, its log goes back, the agent does without the network."""
    dials = "import urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:9/').status)\n"
    agent = Agent(place, [
        rule(contract("answer", files=["main.py"], hosts=["example.org"]), system=task.PLANS),
        rule(file("main.py", "print(6 * 7)\n"), system=task.SHORT, when="URLError"),
        rule(file("main.py", dials), system=task.SHORT)])
    done = agent.run("--ask", "never", "six times seven")
    assert done.document["answer"] == "42" and done.document["attempts"] == 2
    report = (agent.folder() / "iteration_02_code" / "execution_report.txt").read_text()
    assert "URLError" in report and "Exit code: 1" in report


def test_plan_generate_execute_analyse_refine_finish(place):
    """S0-01, S4-01, S4-09, S4-10, S4-13: the orchestrator plans, the coder writes files, a box runs them, the feedback
    goes back to the coder, every step leaves its files, and the run can be taken up from its folder."""
    agent = Agent(place, task.program_rules(first=task.WRONG_COUNT, mended=task.COUNT))
    done = agent.run("--objective", task.TASK)
    assert done.document["outcome"] == "passed" and done.document["attempts"] == 2
    folder = agent.folder()
    assert (folder / "objective.txt").read_text().strip() == task.TASK
    first = json.loads((folder / "iteration_03_code" / "agent_output.json").read_text())
    assert first["files"] == [{"relative_path": "count.py", "content": task.WRONG_COUNT}]
    refined = json.loads((folder / "iteration_04_code" / "agent_input.json").read_text())
    assert refined["previous_result"]["files"] == first["files"] and "expected" in refined["execution_feedback"]
    assert refined["command"] == "count.py"
    assert "STDOUT" in (folder / "iteration_03_code" / "execution_report.txt").read_text()
    checkpoint = json.loads((folder / "checkpoint.json").read_text())
    assert checkpoint["orchestrator_step"] == 1
    assert checkpoint["latest_code"]["files"][0]["content"] == task.COUNT
    again = agent.call("--resume_from", folder, code=2)
    assert "has ended (passed)" in again.said and "--continue" in again.said
