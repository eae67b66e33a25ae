# SPDX-License-Identifier: Apache-2.0
"""Tests that are wrong, held back, or anchors; attempts that are worse; searches."""
import json
import re

import task
from task import Agent, COUNT, TASK, cases, file, program, rule, ruling

NUMBERS = ("--max-attempts", "3", "--max-steps", "1")


def case(name, given, wanted, kind="normal"):
    return {"name": name, "class": kind, "stdin": given, "expect": {"stdout": wanted}}


# Behind a test that is wrong every third is held back: those that say so.
WRONG = case("wrong", "2\n2\n", "5")
RIGHT = [case("one", "1\n", "1"), case("held back one", "7000\n731\n", "7731"), case("two", "1\n1\n", "2"),
         case("empty", "", "0", "edge"), case("held back two", "9000\n9\n", "9009", "edge"),
         {"name": "word", "class": "invalid", "stdin": "x\n", "expect": {"exit_code": "nonzero"}},
         {"name": "dots", "class": "invalid", "stdin": "1.5\n", "expect": {"exit_code": "nonzero"}},
         case("held back three", "600\n66\n", "666", "stress"), case("large", "1" + "0" * 40, "1" + "0" * 40, "stress")]
HELD = ("held back one", "held back two", "held back three")
FEW = [WRONG, RIGHT[0], RIGHT[3], RIGHT[5], RIGHT[8]]


def v(number, code=COUNT):
    """The same program as another text."""
    return f"# version {number}\n{code}"


def rules(tests, *versions, fault="test", planned=None):
    """The n-th attempt is the n-th version; seeds tell them apart."""
    written = [rule(file("count.py", text), system=task.CODES, seed=n + 1) for n, text in enumerate(versions)]
    return [rule(planned or program(), system=task.PLANS), rule(cases(*tests), system=task.CASES),
            rule(ruling(fault), system=task.RULES), rule("Done.", system=task.EXPLAINS), *written]


def results(done):
    return {test["id"]: test for test in done.document["tests"]}


def asked(agent, who):
    return task.prompts(agent.folder(), who)


def test_a_wrong_test_is_withdrawn_after_two_equal_failures(place):
    agent = Agent(place, rules([WRONG, *RIGHT], v(1), v(2)))
    done = agent.run(*NUMBERS, TASK)
    assert done.document["outcome"] == "passed" and done.document["attempts"] == 2
    found = results(done)
    assert found["wrong"]["withdrawn"] and found["wrong"]["result"] is None
    assert {test["result"] for name, test in found.items() if name != "wrong"} == {"passed"}
    assert not [name for name, test in found.items() if test["withdrawn"] and name != "wrong"]
    question, = asked(agent, "arbiter")
    assert '"wrong"' in question and "version" not in question and "got" in question
    delivered = json.loads((agent.folder() / "delivered/tests/cases.json").read_text())
    assert "wrong" not in [item["name"] for item in delivered["cases"]]
    review, = asked(agent, "review")
    assert "withdrawn wrong" in review and "passed one (normal, derived)" in review


def test_what_the_arbiter_leaves_stays(place):
    for fault in ("code", "ambiguous"):
        agent = Agent(place, rules(FEW, v(1), v(2), v(3), fault=fault), state=fault)
        done = agent.run(*NUMBERS, TASK, code=1)
        assert done.document["outcome"] == "failed" and not results(done)["wrong"]["withdrawn"]
        assert len(asked(agent, "arbiter")) == 1


def test_an_arbiter_who_makes_no_sense_withdraws_nothing(place):
    for n, text in enumerate(('{"fault": "judge"}', "[" * 70000, '{"fault": ["test"]}')):
        agent = Agent(place, [rule(text, system=task.RULES), *rules(FEW, v(1), v(2))], state=f"s{n}")
        done = agent.run("--max-attempts", "2", "--max-steps", "1", TASK, code=1)
        assert not results(done)["wrong"]["withdrawn"], done
        assert len(asked(agent, "arbiter")) == 3


def test_a_test_of_the_task_itself_is_never_doubted(place):
    planned = program(examples=[{"input": "2\n2\n", "output": "5"}])
    agent = Agent(place, rules(RIGHT, v(1), v(2), v(3), planned=planned))
    done = agent.run(*NUMBERS, TASK, code=1)
    given = [test for test in done.document["tests"] if test["origin"] == "given"]
    assert [test["result"] for test in given] == ["failed"] and not given[0]["withdrawn"]
    assert asked(agent, "arbiter") == []


def test_the_last_of_a_class_stays(place):
    alone = [item for item in RIGHT if item["class"] != "edge"] + [case("wrong", "2\n2\n", "5", "edge")]
    agent = Agent(place, rules(alone, v(1), v(2)))
    done = agent.call("--jsonl", "--max-attempts", "2", "--max-steps", "1", TASK, code=1)
    assert not results(done)["wrong"]["withdrawn"]
    assert [e for e in done.events if e["event"] == "note" and "too many would be withdrawn" in e["text"]]


def test_at_most_a_quarter_is_withdrawn(place):
    wrong = [case(f"wrong {n}", f"{n}\n", str(n + 1)) for n in range(4)]
    agent = Agent(place, rules([*wrong, *RIGHT], v(1), v(2), v(3)))
    done = agent.run(*NUMBERS, TASK, code=1)
    withdrawn = [name for name, test in results(done).items() if test["withdrawn"]]
    assert 1 <= len(withdrawn) <= len(done.document["tests"]) // 4
    assert done.document["outcome"] == "failed"


def test_one_failure_is_no_reason_to_doubt(place):
    """The second attempt is worse and fails otherwise: nothing has failed alike."""
    worse = "import sys\nprint(len(sys.stdin.read()) * 1001 + 13)\n"
    agent = Agent(place, rules([WRONG, *RIGHT], v(1), worse))
    done = agent.run("--max-attempts", "2", "--max-steps", "1", TASK, code=1)
    doubted = "".join(asked(agent, "arbiter"))
    assert '"wrong"' not in doubted, doubted
    assert not results(done)["wrong"]["withdrawn"]


def test_a_worse_attempt_is_not_taken_and_anchors_are_named(place):
    worse = "import sys\nsys.exit(9)\n"
    agent = Agent(place, rules([WRONG, *RIGHT], v(1), worse, v(3), fault="code"))
    done = agent.run(*NUMBERS, TASK, code=1)
    assert done.document["files"][0]["text"] == v(3)
    second, third = asked(agent, "code")[1:3]
    for prompt in (second, third):
        part = prompt[prompt.index("# These have passed and must not break"):]
        named = set(part.split("\n\n")[1].split("\n"))
        assert {"one", "two", "empty", "word"} <= named
        assert not named & {"wrong", *HELD}
    assert "version 1" in third and "sys.exit(9)" not in third
    assert "The last attempt was worse" in third
    assert "version 1" in second and "was worse" not in second


def test_an_attempt_that_breaks_an_anchor_is_told_so_though_it_is_no_worse(place):
    """The second passes as many, and becomes the best; what it broke is named all the same, but not what is held
    back."""
    first = COUNT.replace("print(total)", "print(total if total != 1 else 77)")
    other = COUNT.replace("print(total)", "print({4: 5, 2: 88, 7731: 99}.get(total, total))")
    agent = Agent(place, rules([WRONG, *RIGHT], first, other, v(3), fault="code"))
    agent.run(*NUMBERS, TASK, code=1)
    second, third = asked(agent, "code")[1:3]
    assert "was worse" not in third and "2: 88" in third, "it must be the best for the test to mean anything"
    broken = re.search("Passed before and broke in the last attempt: (.*)", third)
    assert broken and broken[1] == "two", third
    assert "Passed before and broke" not in second
    anchors = third[third.index("# These have passed and must not break"):].split("\n\n")[1].split("\n")
    assert {"one", "two", "wrong", "empty"} <= set(anchors) and not set(anchors) & set(HELD)


def test_what_is_held_back_never_reaches_coder_or_planner(place):
    """Not in diagnoses, not in the history, not after a withdrawal has moved the rows."""
    fails_held = COUNT.replace("print(total)", "print(total + 3000 if total in (7731, 9009, 666) else total)")
    agent = Agent(place, [rule(ruling("code"), system=task.RULES, when="held back"),
                          *rules([WRONG, *RIGHT], *(v(n, fails_held) for n in range(1, 6)))])
    done = agent.run("--max-attempts", "2", "--max-steps", "2", TASK, code=1)
    held = [test["id"] for test in done.document["tests"] if test["origin"] == "held back"]
    assert held == list(HELD) and results(done)["wrong"]["withdrawn"], done
    values = {"held back one": ("7731", "10731", "731"), "held back two": ("9009", "12009"),
              "held back three": ("3666", "666")}
    hidden = [value for name in held for value in values[name]]
    for who in ("code", "orchestrator"):
        for prompt in asked(agent, who):
            bare = prompt
            for version in range(1, 6):
                bare = bare.replace(v(version, fails_held), "")
            assert not [value for value in hidden if re.search(rf"\b{value}\b", bare)], bare
            assert not [name for name in held if name in bare], bare


def test_the_same_failure_twice_is_searched_for_three_times_at_most(place):
    broken = "import sys\nraise ValueError('frobnicate the flux')\n"
    with task.web([{"title": "Flux", "url": "https://example.org/", "content": "Turn it."}]) as (url, seen):
        agent = Agent(place, rules(FEW[1:], *(v(n, broken) for n in range(1, 9)), fault="code"))
        agent.env["SEARXNG_URL"] = url
        done = agent.call("--jsonl", "--max-attempts", "6", "--max-steps", "1", TASK, code=1)
    assert len(seen) == 3
    assert all("ValueError" in query and "731" not in query for query in seen), seen
    assert "Turn it." in asked(agent, "code")[2] and "Turn it." not in asked(agent, "code")[1]
    assert len([e for e in done.events if e["event"] == "search"]) == 3


def test_a_search_that_fails_once_does_not_end_searching(place):
    """The server fails, then knows.  Values that differ are no query, and the task's words are none either."""
    broken = "import sys\nraise ValueError('frobnicate the flux')\n"
    with task.web([{"title": "Flux", "url": "https://example.org/", "content": "Turn it."}], fails=1) as (url, seen):
        agent = Agent(place, rules(FEW[1:], *(v(n, broken) for n in range(1, 9)), fault="code"))
        agent.env["SEARXNG_URL"] = url
        done = agent.call("--jsonl", "--max-attempts", "4", "--max-steps", "1", TASK, code=1)
        assert "Turn it." in asked(agent, "code")[3] and "Turn it." not in asked(agent, "code")[2]
        wrong = task.WRONG_COUNT.replace("total)", "total + 7)")
        other = Agent(place, rules(FEW[1:], *(v(n, wrong) for n in range(1, 9)), fault="code"))
        other.env["SEARXNG_URL"] = url
        n_before = len(seen)
        other.run("--max-attempts", "4", "--max-steps", "1", TASK, code=1)
    assert len(seen) == n_before, seen
    assert [e for e in done.events if e["event"] == "note" and "a search failed" in e["text"]]


def test_that_there_is_no_search_is_said_once(place):
    broken = "import sys\nraise ValueError('frobnicate the flux')\n"
    agent = Agent(place, rules(FEW[1:], *(v(n, broken) for n in range(1, 9)), fault="code"))
    done = agent.call("--jsonl", "--max-attempts", "5", "--max-steps", "1", TASK, code=1)
    notes = [e["text"] for e in done.events if e["event"] == "note" and "no search" in e["text"]]
    assert len(notes) == 1, notes
