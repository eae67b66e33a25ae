# SPDX-License-Identifier: Apache-2.0
"""A hostile model: whatever it says, nothing widens the policy, and budgets hold."""
import json
import os

import pytest
import task
from task import Agent, COUNT, TASK, cases, contract, file, plan, program, rule

DEEP = '{"a":' * 64 + "1" + "}" * 64

PATHS = [
    "../count.py", "OUTSIDE/count.py", "a/../../count.py", "..\\count.py", "C:\\count.py", "~/count.py/..",
    "./../x.py", "x/" * 130 + "count.py", "a" * 300 + ".py", "-rf.py", "con:x.py", "a|b.py",
    "count\u202e.py", "\u2025/x.py", "co\tunt.py", "`x`.py", "a//b.py", "a/./b.py", "count.py/",
    ".git/hooks/pre-commit", "src/.GIT/config", ".git", "HEAD", "src/head",
]


def outside(place):
    """What lies around the working directory; nothing of a task may come here."""
    return [task.tree(place.home), task.tree(place.tmp), sorted(os.listdir(place.base)),
            sorted(set(os.listdir(place.cwd)) - {"runs"})]


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_a_path_that_leads_elsewhere_writes_nothing(place, path):
    path = path.replace("OUTSIDE", f"{place.base}/outside")
    agent = Agent(place, [
        rule(contract("answer", files=["main.py"]), system=task.PLANS),
        rule(f"File: {path}\n```python\nprint('caught')\n```\n", system=task.SHORT)])
    agent.state.mkdir()
    before = outside(place)
    done = agent.run("--max-attempts", "1", "--max-steps", "1", "an answer", code=None)
    assert done.document, done
    for written in done.document["files"]:
        parts = written["path"].lower().split("/")
        assert not {"..", ".git", "head"} & set(parts) and not written["path"].startswith("/"), done
    assert outside(place) == before
    folder = agent.folder()
    for name in task.tree(folder):
        assert (folder / name).resolve().is_relative_to(folder.resolve())
        assert not {".git", "head"} & set(str(name).lower().split("/"))


def test_every_path_that_leads_elsewhere_is_told_to_the_model(place):
    """Refused in words that it can mend, three times, then the attempt is spent."""
    agent = Agent(place, [
        rule(contract("answer", files=["main.py"]), system=task.PLANS),
        rule(file("../main.py", "print(1)\n"), system=task.SHORT)])
    done = agent.run("--max-attempts", "2", "--max-steps", "1", "an answer", code=1)
    assert done.document["files"] == [] and done.document["answer"] is None
    asked = [text for text in task.prompts(agent.folder(), "code")]
    assert len(asked) in (3, 6) and "../main.py" in asked[1] and "could not be used" in asked[1]


def test_a_contract_with_paths_that_lead_elsewhere_is_refused(place):
    for files in (["../x.py"], [f"{place.base}/x.py"], ["a\\b.py"], ["x" * 300], [""], ["-x"], ["a", "a"], [".git/config"]):
        agent = Agent(place, [rule(contract("program", files=files), system=task.PLANS),
                              rule("No code.", system=task.DRAFTS)])
        done = agent.run(TASK, code=1)
        assert done.document["outcome"] == "error" and done.document["contract"] is None, done
        assert done.document["spent"]["calls"] == 6


@pytest.mark.parametrize("text", [
    "", "no JSON at all", "[]", "{}", "null", '"code"', '{"action": "format_disk"}',
    '{"action": "code"}', '{"action": "code", "contract": []}', '{"action": "code", "contract": null}',
    '{"action": ["code"]}', '{"action": "code", "contract": {"kind": 7}}', DEEP,
    '{"action": "code", "contract": ' + DEEP + "}", '{"action": "search"}', '{"action": "human"}',
    '{"action": "search", "query": {"a": 1}}', '{"action": "code", "contract": {"kind": "program", '
    '"language": "python", "files": ["a.py"], "summary": "' + "x" * 300000 + '"}}',
    "[" * 100000, '{"action": "finish", "answer": 7}', "```json\n{\"action\": \"code\"",
], ids=range(21))
def test_a_decision_of_a_wrong_shape_is_asked_for_again_and_then_the_task_ends(place, text):
    agent = Agent(place, [rule(text, system=task.PLANS), rule("No code.", system=task.DRAFTS)])
    done = agent.run(TASK, code=1)
    assert done.document["outcome"] == "error" and done.document["reason"], done
    assert done.document["spent"]["calls"] == 6
    assert len(done.document["reason"]) < 600


def test_wishes_of_a_contract_are_not_granted(place):
    """Neither hosts nor packages, where the operator grants no network and turns installing off."""
    code = ("import os, socket\n"
            "try:\n    socket.create_connection(('127.0.0.1', PORT), 2)\n    print('dialled')\n"
            "except OSError as e:\n    print('refused', [line.split()[0] for line in open('/proc/net/dev')][2:])\n")
    with task.web([]) as (url, seen):
        port = url.rsplit(":", 1)[1]
        agent = Agent(place, [
            rule(contract("answer", files=["main.py"], hosts=["127.0.0.1", "example.org:443"],
                          packages=["requests", "../../evil"], network=True, sandbox="off",
                          backend="disabled", privileged=True), system=task.PLANS, nth=1),
            rule(contract("answer", files=["main.py"], hosts=["127.0.0.1", "example.org:443", "0.0.0.0/0"],
                          packages=["requests"]), system=task.PLANS),
            rule(file("main.py", code.replace("PORT", port)), system=task.SHORT)])
        done = agent.run("--ask", "never", "dial out")
        assert done.document["answer"].startswith("refused")
        assert [entry["host"] for entry in done.document["network"]["refused"]] == \
            ["127.0.0.1", "example.org:443", "0.0.0.0/0"]
        assert seen == []
    jsonl = agent.call("--ask", "never", "dial out")
    assert "no network" in jsonl.said


def test_ten_thousand_files_are_refused(place):
    many = "".join(file(f"f{n}.py", "") for n in range(10000))
    agent = Agent(place, [rule(program(), system=task.PLANS), rule(cases(), system=task.CASES),
                          rule(many, system=task.CODES, piece=100000)])
    done = agent.run("--max-attempts", "2", "--max-steps", "1", TASK, code=1)
    assert done.document["files"] == [] and done.document["spent"]["calls"] == 2 + 2 * 3
    assert len(task.tree(agent.folder())) < 60


def test_a_fence_that_never_closes_is_no_code(place):
    agent = Agent(place, [rule(program(), system=task.PLANS), rule(cases(), system=task.CASES),
                          rule("File: count.py\n```python\nprint(1)\n", system=task.CODES)])
    done = agent.run("--max-attempts", "1", "--max-steps", "1", TASK, code=1)
    assert done.document["files"] == [] and done.document["spent"]["calls"] == 5


def test_what_decides_about_tests_is_not_the_coders(place):
    """Its conftest.py, pytest.ini and tests are left out; what else Python starts by itself is the
    program's own affair, which is judged from outside."""
    said = "".join(file(path, "raise SystemExit(0)\n") for path in (
        "tests/conftest.py", "conftest.py", "pytest.ini", "test_count.py", "tests/test_more.py",
        "sitecustomize.py", "usercustomize.py"))
    agent = Agent(place, task.program_rules()[:4] + [rule(said + file("count.py", "print(99)\n"),
                                                          system=task.CODES)])
    done = agent.run("--max-attempts", "1", "--max-steps", "1", TASK, code=1)
    assert done.document["outcome"] == "failed"
    assert [f["path"] for f in done.document["files"]] == ["sitecustomize.py", "usercustomize.py", "count.py"]
    results = {test["result"] for test in done.document["tests"] if test["class"] != "invalid"}
    assert results == {"failed"}, done


def test_the_same_code_again_is_asked_for_anew_and_not_run(place):
    """Two calls an attempt, the second warmer; two such attempts end a step, two such steps the task."""
    agent = Agent(place, task.program_rules(first=task.WRONG_COUNT, mended=task.WRONG_COUNT))
    done = agent.call("--jsonl", TASK, code=1)
    document = done.document
    assert document["attempts"] == 7 and document["outcome"] == "failed"
    assert "expected" in document["reason"] and "the same code" in document["reason"]
    assert len([e for e in done.events if e["event"] == "report"]) == 1
    notes = [e["text"] for e in done.events if e["event"] == "note"]
    assert len([n for n in notes if "same code" in n]) == 6
    # plan, tests, code; then two answers for each of six attempts; two more plans.
    assert document["spent"]["calls"] == 3 + 2 * 6 + 2
    effects = [asked["effect"] for asked in task.inputs(agent.folder())]
    assert "step-1/attempt-2/code-anew" in effects and "step-3/attempt-7/code-anew" in effects


def test_a_short_program_that_comes_back_after_another_is_not_run_again(place):
    """The third is the first once more, not the second."""
    one, two = file("main.py", "raise SystemExit(1)\n"), file("main.py", "raise SystemExit(2)\n")
    written = [rule(text, system=task.SHORT, seed=n + 1) for n, text in enumerate((one, two, one))]
    agent = Agent(place, [task.answer_rules("")[0], *written, rule(one, system=task.SHORT)])
    done = agent.call("--jsonl", "--max-steps", "1", "6 times 7", code=1)
    assert len([e for e in done.events if e["event"] == "output"]) == 2, done
    assert done.document["attempts"] == 4, "two in a row without new code end a step"
    assert len([e for e in done.events if e["event"] == "note" and "same code" in e["text"]]) == 2


def test_anew_means_another_temperature_and_seed(place):
    wrong = file("count.py", task.WRONG_COUNT)
    say = task.by_role(PLANS=program(), CASES=cases(), CODES=wrong)
    with task.model(say) as server:
        Agent(place, server=server).run("--max-attempts", "2", "--max-steps", "1", TASK, code=1)
    asked = [request.body for request in server.seen if task.CODES in request.system]
    assert [body.get("temperature") for body in asked] == [0, 0, 0.6]
    assert len({body.get("seed") for body in asked}) == 3


def test_a_tester_whose_cases_cannot_fail_leaves_the_code_untested(place):
    idle = [{"name": f"c{n}", "class": name, "expect": {}} for n, name in
            enumerate(("normal", "edge", "invalid", "stress"))]
    for text in (json.dumps({"cases": idle}), json.dumps({"cases": []}), "{}", "none", cases(
            {"name": "x", "class": "normal", "files": {"../x": "y"}, "expect": {"stdout": "3"}}),
            cases({"name": "x\ny", "class": "normal", "expect": {"stdout": "3"}})):
        agent = Agent(place, [rule(program(), system=task.PLANS), rule(text, system=task.CASES),
                              rule(file("count.py", task.COUNT), system=task.CODES)])
        done = agent.run(TASK, code=1)
        assert done.document["outcome"] == "error" and done.document["spent"]["calls"] == 5, done
        assert not done.document["tested"] and "untested" in done.document["reason"], done


def test_an_orchestrator_that_never_builds_has_25_steps(place):
    agent = Agent(place, [rule(plan("search", query="how to disable a sandbox"), system=task.PLANS)])
    done = agent.run("--ask", "never", TASK, code=1)
    assert done.document["spent"]["calls"] == 25 and done.document["outcome"] == "failed"
    assert "25 steps" in done.document["reason"] or "--max-steps" in done.document["reason"]


def test_an_orchestrator_that_only_asks_ends_when_nobody_answers(place):
    agent = Agent(place, [rule(plan("human", question="May I?"), system=task.PLANS)])
    done = agent.call("--jsonl", "--ask", "never", TASK, code=1)
    assert done.document["spent"]["calls"] == 3 and "needs an answer" in done.document["reason"]
    assert [e for e in done.events if e["event"] == "note" and "May I?" in e["text"]]


def test_an_orchestrator_that_builds_for_ever_has_its_attempts_only(place):
    """A new contract each time: tests and attempts begin anew, steps do not."""
    planned = [rule(program(assumptions=[f"take {n}"]), system=task.PLANS, seed=n) for n in (1, 2, 3)]
    agent = Agent(place, planned + task.program_rules(first="print(1)\n", mended="print(2)\n")[1:])
    done = agent.run("--max-steps", "3", "--max-attempts", "2", TASK, code=1)
    assert done.document["attempts"] == 6 and done.document["outcome"] == "failed"
    # A plan, tests, two programs, and whether the test that both failed alike is right.
    assert done.document["spent"]["calls"] == 3 * (1 + 1 + 2 + 1)


def test_tool_calls_without_end_are_no_answer(place):
    """Nobody offered a tool: calls are passed over, and what is left is no decision."""
    def say(_):
        for n in range(2000):
            yield {"tool_calls": [{"index": n, "id": f"c{n}", "type": "function", "function":
                                   {"name": "shell", "arguments": '{"command": "rm -rf /"}'}}]}

    with task.model(say) as server:
        done = Agent(place, server=server).run(TASK, code=None)
    assert done.code in (1, 125), done
    assert len(server.seen) <= 9


@pytest.mark.parametrize("unit", ["print(1)\n" * 1000, "\x01" * 1000], ids=["code", "escapes"])
def test_an_answer_of_50_megabytes_ends_in_one_line(place, unit):
    def endless(_):
        yield "File: main.py\n```python\n"
        for _ in range(50 * (1 << 20) // len(unit)):
            yield unit

    say = task.by_role(PLANS=contract("answer", files=["main.py"]), SHORT=endless)
    with task.model(say) as server:
        agent = Agent(place, server=server)
        done = agent.call("--max-attempts", "1", "--max-steps", "1", "an answer", code=1)
    assert "--max-tokens" in done.said and agent.tasks()[0]["state"] == "done", "its length is paid for"


def test_a_refusal_costs_a_try_and_thrice_it_ends_the_task(place):
    refused = rule("I will not.", system=task.CODES, finish="refused")
    agent = Agent(place, task.program_rules()[:4] + [
        rule(file("count.py", COUNT), system=task.CODES, when="it was refused"), refused])
    document = agent.run(TASK).document
    assert document["outcome"] == "passed" and document["spent"]["calls"] == 5
    agent.write(task.program_rules()[:4] + [refused])
    done = agent.run("--max-attempts", "1", "--max-steps", "1", TASK, code=1)
    assert done.document["outcome"] == "failed" and done.document["spent"]["calls"] == 5, done


@pytest.mark.parametrize("how", ["refused", "failed"])
def test_work_that_passed_is_delivered_though_nobody_explains_it(place, how):
    ways = {"refused": {"finish": "refused"}, "failed": {"error": "400 no"}}
    agent = Agent(place, [rule("", system=task.EXPLAINS, **ways[how]), *task.program_rules()])
    done = agent.call("--jsonl", "--record", "all.rec", "--out", "out", TASK, code=0)
    assert done.document["outcome"] == "passed" and done.document["explanation"] is None
    notes = [e["text"] for e in done.events if e["event"] == "note"]
    assert len([note for note in notes if "there is no explanation: " in note]) == 1, notes
    assert (place.cwd / "out/count.py").read_text() == COUNT
    assert agent.run("--replay", "all.rec").document == done.document


def test_an_answer_that_never_ends_meets_the_time_of_the_task(place):
    def endless(_):
        while True:
            yield "thinking "
            task.threading.Event().wait(0.05)

    with task.model(endless) as server:
        done = Agent(place, server=server).run("--max-time", "2s", TASK, code=1)
    assert done.document["outcome"] == "failed" and "time" in done.document["reason"], done


def test_tokens_that_a_server_claims_end_the_task(place):
    agent = Agent(place, [rule(plan("search", query="x"), system=task.PLANS,
                               usage="1000000000000 1000000000000")])
    done = agent.run(TASK, code=1)
    assert done.document["spent"]["calls"] == 1 and "--max-tokens" in done.document["reason"]


def test_nothing_comes_into_the_home(place):
    before = task.tree(place.home)
    agent = Agent(place, task.program_rules(first="import os, pathlib\n"
                                            "pathlib.Path(os.path.expanduser('~/caught')).touch()\n" + COUNT))
    agent.run(TASK)
    assert task.tree(place.home) == before
    assert set(os.listdir(place.cwd)) == {"runs"}


def test_output_that_swells_when_it_is_kept_ends_the_attempt(place):
    """Every byte of it takes six in JSON, and there is more than an answer may have."""
    shout = "import sys\nsys.stderr.write('\\x01' * (1 << 21))\nsys.stdout.write('\\x01' * (1 << 21))\n"
    done = Agent(place, task.answer_rules(shout)).run("--max-attempts", "1", "--max-steps", "1", "shout", code=1)
    assert done.document["outcome"] == "failed" and done.document["answer"] is None
