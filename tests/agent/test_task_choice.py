# SPDX-License-Identifier: Apache-2.0
"""Best of several solutions; people who are asked; tasks that go on from others."""
import json

import task
from task import Agent, COUNT, TASK, WRONG_COUNT, cases, file, plan, program, rule, ruling

SUM = "import sys\n\ntry:\n    print(sum(int(line) for line in sys.stdin))\nexcept ValueError:\n    sys.exit('no number')\n"


def candidates(*versions, **more):
    """The n-th solution is the n-th version."""
    written = [rule(file("count.py", text), system=task.FIRST, seed=n + 1) for n, text in enumerate(versions)]
    return [rule(program(**more), system=task.PLANS), rule(cases(), system=task.CASES),
            rule(ruling("code"), system=task.RULES), rule("Done.", system=task.EXPLAINS), *written]


def matrix(done):
    found = done.document["matrix"]
    assert [test["id"] for test in found["tests"]] == [test["id"] for test in done.document["tests"]]
    return found, [solution["group"] for solution in found["solutions"]]


def test_solutions_of_one_mind_win(place):
    """Two ways to write the right one are one group, though their texts differ."""
    agent = Agent(place, candidates("print(3)\n", COUNT, WRONG_COUNT, SUM))
    done = agent.run("--candidates", "4", TASK)
    found, groups = matrix(done)
    assert groups == [1, 2, 3, 2] and found["chosen"] == 2 and not found["weak"]
    assert done.document["files"][0]["text"] == COUNT and done.document["outcome"] == "passed"
    assert {len(solution["results"]) for solution in found["solutions"]} == {5}
    assert found["solutions"][0]["outcome"] == "failed"
    counts = {test["id"]: test["counts"] for test in found["tests"]}
    assert counts["negative numbers count"]


def test_a_lead_of_less_than_one_solution_is_weak(place):
    agent = Agent(place, candidates(WRONG_COUNT, COUNT, "print(0)\n"))
    done = agent.call("--jsonl", "--candidates", "3", TASK, code=0)
    found, groups = matrix(done)
    assert groups == [1, 2, 3] and found["chosen"] == 2 and found["weak"]
    assert [e for e in done.events if e["event"] == "matrix" and "weak" in e["text"]]


def test_solutions_that_cannot_be_read_leave_the_others(place):
    agent = Agent(place, candidates("def broken(:\n", COUNT)[:-1] + [
        rule("nothing here", system=task.FIRST, seed=3),
        rule(file("count.py", COUNT), system=task.FIRST, seed=2)])
    done = agent.run("--candidates", "3", TASK)
    found, _ = matrix(done)
    assert len(found["solutions"]) == 2 and done.document["files"][0]["text"] == COUNT


def test_what_is_taken_is_measured_as_if_it_were_alone(place):
    """Coverage of a program, once: in the report of the choice and in the document; the others have none."""
    partly = SUM + "except OSError:\n    sys.exit('cannot be read')\n"
    agent = Agent(place, candidates(WRONG_COUNT, partly, partly + "\n"))
    done = agent.call("--jsonl", "--candidates", "3", TASK, code=0)
    alone = Agent(place, candidates(partly)).run(TASK)
    assert done.document["matrix"]["chosen"] == 2 and 0 < done.document["coverage"] < 1
    assert done.document["coverage"] == alone.document["coverage"]
    reports = [e["report"] for e in done.events if e["event"] == "report"]
    assert [report["coverage"] for report in reports] == [done.document["coverage"]]


def test_solutions_that_are_the_same_meet_the_tests_once(place):
    """And count as often as they were written."""
    agent = Agent(place, candidates(WRONG_COUNT, COUNT, COUNT, COUNT))
    done = agent.call("--jsonl", "--candidates", "4", TASK, code=0)
    found, groups = matrix(done)
    assert groups == [1, 2, 2, 2] and found["chosen"] == 2 and not found["weak"]
    assert len([e for e in done.events if e["event"] == "test"]) == 2 * len(found["tests"])
    assert [solution["outcome"] for solution in found["solutions"]] == ["failed", "passed", "passed", "passed"]
    assert done.document["coverage"] is not None


def test_all_but_the_first_are_sampled_warm(place):
    texts = iter([WRONG_COUNT, COUNT, SUM])
    say = task.by_role(PLANS=program(), CASES=cases(), CODES=lambda _: file("count.py", next(texts)),
                       EXPLAINS="Done.")
    with task.model(say) as server:
        Agent(place, server=server).run("--candidates", "3", TASK)
    asked = [request.body for request in server.seen if task.CODES in request.system]
    assert [body["temperature"] for body in asked] == [0, 0.8, 0.8]
    assert len({body["seed"] for body in asked}) == 3


def test_code_of_a_candidate_is_not_run_again(place):
    """The second attempt writes what a solution that was not chosen had."""
    agent = Agent(place, candidates("print(3)\n", WRONG_COUNT) + [
        rule(file("count.py", "print(3)\n"), system=task.MENDS)])
    done = agent.call("--jsonl", "--candidates", "2", "--max-attempts", "2", "--max-steps", "1", TASK, code=1)
    assert [e for e in done.events if e["event"] == "note" and "same code" in e["text"]]
    assert len([e for e in done.events if e["event"] == "report"]) == 1
    reports = list(agent.folder().glob("iteration_*/execution_report.txt"))
    assert len(reports) == 2


# ---- people --------------------------------------------------------------------------------------

ASKS = [rule(plan("finish", answer="so be it"), system=task.PLANS, when="Answer: blue"),
        rule(plan("human", question="Which colour?\x1b[2J"), system=task.PLANS)]


def test_a_question_waits_and_is_answered_once(place):
    """S4-11"""
    agent = Agent(place, ASKS)
    done = agent.run("paint it", code=3)
    assert done.document["state"] == "waiting" and "Which colour?" in done.document["question"]
    assert done.document["outcome"] is None
    task_id = done.document["id"]
    assert agent.call("--resume", task_id).code == 3
    answered = agent.call("--json", task_id, "blue", command="runs answer", code=0)
    assert answered.document["answer"] == "so be it" and answered.document["spent"]["calls"] == 2
    again = agent.call(task_id, "green", command="runs answer", code=2)
    task.one_line(again, "has ended")


def test_an_answer_of_a_person_has_a_bound(place):
    agent = Agent(place, ASKS)
    task_id = agent.run("paint it", code=3).document["id"]
    done = agent.call(task_id, "blue " + "x" * 100000, command="runs answer")
    assert done.code == 2 and "an answer may have 64 KiB" in done.said, done
    agent.call("--resume", task_id, code=3)
    agent.call(task_id, "blue", command="runs answer", code=0)


def test_who_never_wants_to_be_asked_is_not(place):
    agent = Agent(place, [rule(plan("finish", answer="assumed"), system=task.PLANS, when="nobody to ask"),
                          *ASKS])
    done = agent.run("--ask", "never", "paint it")
    assert done.document["answer"] == "assumed" and "Which colour?" not in done.said


def test_who_always_wants_to_be_asked_agrees_to_the_contract(place):
    """No is another plan, which is asked about again; yes goes on."""
    second = rule(program(assumptions=["as you wish"]), system=task.PLANS, when="Answer: shorter, please")
    agent = Agent(place, [second, *task.program_rules()])
    first = agent.run("--ask", "always", TASK, code=3)
    assert '"kind": "program"' in first.document["question"]
    task_id = first.document["id"]
    other = agent.call("--json", task_id, "shorter, please", command="runs answer", code=3)
    assert "as you wish" in other.document["question"]
    done = agent.call("--json", task_id, "yes", command="runs answer", code=0)
    assert done.document["outcome"] == "passed"
    assert done.document["contract"]["assumptions"] == ["as you wish"]


def test_a_task_goes_on_from_another(place):
    """It has its files and contract; a third goes on from the second."""
    agent = Agent(place, task.program_rules())
    first = agent.run(TASK).document
    louder = COUNT.replace("print(total)", "print(total)  # louder")
    agent.write([rule(plan("code"), system=task.PLANS, when="continues a finished one"),
                 rule(file("count.py", louder), system=task.FIRST, when="Files that there are"),
                 *task.program_rules()[1:]])
    second = agent.run("--continue", first["id"], "louder").document
    assert second["contract"] == first["contract"] and second["files"][0]["text"] == louder
    asked = task.prompts(agent.folder(second["id"]), "code")
    assert COUNT in asked[0]
    third = agent.run("--continue", second["id"], "louder still").document
    assert third["outcome"] == "passed" and third["contract"] == first["contract"]
    assert louder in task.prompts(agent.folder(third["id"]), "code")[0], "the second's files, not the first's"
    refused = agent.call("--continue", "t_nobody", "x", code=2)
    task.one_line(refused)
    assert json.dumps(first["files"]) != json.dumps(second["files"])
