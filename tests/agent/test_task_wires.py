# SPDX-License-Identifier: Apache-2.0
"""Whole tasks over the wires of both kinds of servers, and what is learnt of a model on the way."""
import json

import pytest
import task
from task import Agent

PARTS = {"PLANS": task.program(), "CASES": task.cases(), "RULES": task.ruling("code"),
         "EXPLAINS": "It adds numbers.", "CODES": task.file("count.py", task.WRONG_COUNT),
         "MENDS": task.file("count.py", task.WRONG_COUNT)}


def of_role(server, words):
    return [request for request in server.seen if words in request.system]


def test_a_task_over_anthropics_wire(place):
    """The same code comes twice, and there is no temperature to raise: another approach is asked for."""
    say = task.by_role(**PARTS, ELSEWISE=task.file("count.py", task.COUNT))
    with task.claude(say) as server:
        done = Agent(place, server=server).run("--effort", "low", task.TASK)
    document = done.document
    assert document["outcome"] == "passed" and document["files"][0]["text"] == task.COUNT, done
    assert len(of_role(server, task.ELSEWISE)) == 1 and len(of_role(server, task.MENDS)) == 1
    bodies = [request.body for request in server.seen]
    assert all("temperature" not in body and "seed" not in body for body in bodies)
    assert all(body["output_config"]["effort"] == "low" for body in bodies)
    assert document["spent"]["cached"] == 4 * len(bodies)
    assert document["spent"]["tokens"] == 20 * len(bodies)
    assert document["spent"]["dollars"] is None


def test_model_and_endpoint_are_told_first(place):
    """So that nobody wonders where the task went."""
    with task.model(task.by_role(PLANS=task.plan("finish", answer="Paris."))) as server:
        done = Agent(place, server=server).call("the capital of France", code=0)
    assert f"● model       openai-compatible/m at {server.url}\n" in done.said, done
    assert done.said.index("● model") < done.said.index("● plan")


def test_the_same_code_is_sampled_anew_where_a_model_samples(place):
    asked = []

    def mends(request):
        asked.append((request.body["temperature"], request.body["seed"]))
        return task.file("count.py", task.COUNT if request.body["temperature"] > 0 else task.WRONG_COUNT)
    with task.model(task.by_role(**{**PARTS, "MENDS": mends})) as server:
        done = Agent(place, server=server).run(task.TASK)
    assert done.document["outcome"] == "passed", done
    (first, seed), (second, other) = asked
    assert (first, second) == (0, 0.6) and seed != other
    assert not of_role(server, task.ELSEWISE)


@pytest.fixture
def refusing():
    """A model that takes no temperature, and says so only when it gets one."""
    say = task.by_role(**PARTS, ELSEWISE=task.file("count.py", task.COUNT))

    def refuse(request):
        if "temperature" in request.body:
            error = {"message": "'temperature' is not supported with this model", "param": "temperature"}
            return (400, json.dumps({"error": error}).encode())
        return say(request)
    with task.model(refuse) as server:
        yield server


def test_that_a_model_takes_no_temperature_is_learnt_and_replayed(place, refusing):
    agent = Agent(place, server=refusing)
    done = agent.run("--record", "r.jsonl", task.TASK)
    assert done.document["outcome"] == "passed", done
    assert len(of_role(refusing, task.ELSEWISE)) == 1
    assert sum("temperature" in request.body for request in refusing.seen) == 1
    n = len(refusing.seen)
    again = agent.run("--replay", "r.jsonl")
    assert again.document == done.document and len(refusing.seen) == n


def test_an_answer_that_comes_again_is_asked_for_in_another_way(place, refusing):
    """The same for a short program, whose prompt is its own."""
    wrong, right = task.file("main.py", "print(1 / 0)\n"), task.file("main.py", "print(42)\n")
    before = refusing.say
    parts = {"PLANS": task.contract("answer", files=["main.py"]), "SHORT": wrong, "ELSEWISE": right}
    say = task.by_role(**parts)
    refusing.say = lambda request: before(request) if "temperature" in request.body else say(request)
    done = Agent(place, server=refusing).run("six times seven")
    assert done.document["answer"] == "42", done
    assert len(of_role(refusing, task.ELSEWISE)) == 1


def test_each_role_asks_its_own_model_with_the_effort(place):
    say = task.by_role(**{**PARTS, "MENDS": task.file("count.py", task.COUNT)})
    with task.model(say) as server:
        agent = Agent(place, server=server)
        (place.cwd / "glovebox.yaml").write_text(
            "models:\n  orchestrator: openai-compatible/plans\n  coder: openai-compatible/codes\n"
            "  tester: openai-compatible/tests\n")
        agent.model = []
        agent.env["OPENAI_COMPATIBLE_BASE_URL"] = server.url
        done = agent.run("--effort", "high", task.TASK)
    assert done.document["outcome"] == "passed", done
    wanted = {task.PLANS: "plans", task.CASES: "tests", task.CODES: "codes", task.MENDS: "codes"}
    for words, name in wanted.items():
        assert {request.body["model"] for request in of_role(server, words)} == {name}, words
    assert {request.body["reasoning_effort"] for request in server.seen} == {"high"}
