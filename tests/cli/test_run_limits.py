# SPDX-License-Identifier: Apache-2.0
"""Tasks that their budget has ended, and that go on with a larger one."""
import json
import re
import signal
import sqlite3

import pytest
import scripts
from scripts import Desk

TASK = "adds the numbers of its lines"

# Attempts 1 to 3 differ and are wrong, the fourth is right.
WRONG = [scripts.COUNT.replace("total += int(line)", f"total += abs(int(line)) + {n} - {n}") for n in (1, 2, 3)]


def rules(delay=None):
    """A program whose fourth attempt is right; without more attempts it is given up."""
    words = {"delay": delay} if delay else {}
    mended = [scripts.rule(scripts.file("count.py", text), system="It was tested and is not right", seed=n, **words)
              for n, text in ((2, WRONG[1]), (3, WRONG[2]), (4, scripts.COUNT))]
    return [scripts.rule(scripts.plan(action="finish", reason="too hard"), system="You plan", when="not built after"),
            scripts.rule(scripts.contract("program", files=["count.py"]), system="You plan"),
            scripts.rule(json.dumps(scripts.CASES), system="You write test cases", **words),
            *mended,
            scripts.rule(json.dumps({"reason": "from the task", "fault": "code"}), system="You decide who is wrong"),
            scripts.rule(scripts.file("count.py", WRONG[0]), system="You write code", **words),
            scripts.rule("It adds numbers.", system="You explain")]


def effects(desk, task):
    """Names of what was done, in its order."""
    path, = desk.place.base.glob("**/tasks.db")
    with sqlite3.connect(path) as store:
        found = [row[0] for row in store.execute("select name from effect where task = ? order by seq", (task,))]
    store.close()
    return found


def refused(desk, task, *words):
    """One line, a remedy, and nothing changed."""
    before = (effects(desk, task), desk.runs())
    answer = desk.run("--resume", task, *words, code=2)
    assert (effects(desk, task), desk.runs()) == before and answer.stdout == b""
    lines = answer.stderr.decode().splitlines()
    assert len(lines) <= 2 and lines[0].startswith("glovebox: "), lines
    return answer.stderr.decode()


# ---- each part of the budget ---------------------------------------------------------------------


def test_more_attempts_are_made_where_they_ended(place):
    desk = Desk(place, rules())
    expected = scripts.timeless(desk.document("--max-attempts", "4", TASK))
    first = desk.document("--max-attempts", "2", TASK, code=1)
    assert (first["outcome"], first["attempts"], first["used_up"]) == ("failed", 2, "attempts")
    before = effects(desk, first["id"])
    again = desk.document("--resume", first["id"], "--max-attempts", "4")
    assert again["id"] == first["id"] and scripts.timeless(again) == expected
    # What came of having no more attempts is forgotten, all else is kept and not done again.
    kept = [name for name in before if not name.startswith(("step-2/", "result"))]
    after = effects(desk, first["id"])
    assert after[:len(kept)] == kept and "step-2/decide" in before and "step-2/decide" not in after
    shown = json.loads(desk.call("runs show", "--json", first["id"]).stdout)
    assert shown["document"] == again and shown["outcome"] == "passed"


def test_nothing_that_was_done_is_asked_again(place):
    """The script of the second life knows neither plan nor tests nor the first two attempts."""
    desk = Desk(place, rules())
    first = desk.document("--max-attempts", "2", TASK, code=1)
    desk.write([rule for rule in rules() if "seed: 3" in rule or "seed: 4" in rule or "You explain" in rule])
    assert desk.document("--resume", first["id"], "--max-attempts", "4")["attempts"] == 4


def test_more_steps_go_on_with_the_next(place):
    """Two attempts a step; the plan of the second step goes on with the code."""
    two_steps = [scripts.rule(scripts.plan(action="code"), system="You plan", when="not built after"), *rules()[1:]]
    desk = Desk(place, two_steps)
    limits = ["--max-attempts", "2"]
    expected = scripts.timeless(desk.document(*limits, TASK))
    first = desk.document(*limits, "--max-steps", "1", TASK, code=1)
    assert first["used_up"] == "steps" and first["attempts"] == 2
    assert scripts.timeless(desk.document("--resume", first["id"], "--max-steps", "2")) == expected


def test_more_attempts_help_where_the_steps_are_used_up_too(place):
    desk = Desk(place, rules())
    expected = scripts.timeless(desk.document("--max-attempts", "4", TASK))
    first = desk.document("--max-attempts", "2", "--max-steps", "1", TASK, code=1)
    assert scripts.timeless(desk.document("--resume", first["id"], "--max-attempts", "4")) == expected


def test_more_tokens_go_on_with_the_next_call(place):
    desk = Desk(place, rules())
    whole = desk.document(TASK)
    some = whole["spent"]["tokens"] // 2
    first = desk.document("--max-tokens", some, TASK, code=1)
    assert first["used_up"] == "tokens" and 0 < first["spent"]["calls"] < whole["spent"]["calls"]
    assert "--max-tokens" in refused(desk, first["id"], "--max-attempts", "9")
    again = desk.document("--resume", first["id"], "--max-tokens", "1000000")
    assert scripts.timeless(again) == scripts.timeless(whole)


def test_an_answer_that_did_not_come_in_time_is_asked_for_again(place):
    desk = Desk(place, rules())
    expected = scripts.timeless(desk.document(TASK))
    desk.write([rule.replace("seed: 3", "seed: 3\n    delay: 100s") for rule in rules()])
    first = desk.document("--max-time", "20s", TASK, code=1)
    assert first["used_up"] == "time" and first["attempts"] == 3
    assert "--max-time" in refused(desk, first["id"])
    assert "--max-time" in refused(desk, first["id"], "--max-time", "20s")
    desk.write(rules())
    assert scripts.timeless(desk.document("--resume", first["id"], "--max-time", "30m")) == expected


def test_an_answers_program_gets_more_attempts_too(place):
    bad = [scripts.rule(scripts.file("main.py", f"raise SystemExit({n})\n"), system="You write a short program", seed=n)
           for n in (1, 2)]
    good = scripts.rule(scripts.file("main.py", "print(42)\n"), system="You write a short program")
    given_up = scripts.rule(scripts.plan(action="finish", reason="no"), system="You plan", when="did not work")
    desk = Desk(place, [given_up, scripts.answer_rules("")[0], *bad, good])
    first = desk.document("--max-attempts", "1", "6 times 7", code=1)
    assert desk.run("--resume", first["id"], "--max-attempts", "3").stdout == b"42\n"


# ---- lives of such a task ------------------------------------------------------------------------


def test_limits_are_raised_twice(place):
    desk = Desk(place, rules())
    expected = scripts.timeless(desk.document("--max-attempts", "4", TASK))
    task = desk.document("--max-attempts", "2", TASK, code=1)["id"]
    second = desk.document("--resume", task, "--max-attempts", "3", code=1)
    assert (second["attempts"], second["used_up"]) == (3, "attempts")
    assert json.loads(desk.call("runs show", "--json", task).stdout)["document"] == second
    assert "--max-attempts N" in refused(desk, task, "--max-attempts", "3")
    desk.document("--resume", task, "--max-attempts", "4", "--record", "task.rec")
    document = json.loads(desk.call("runs show", "--json", task).stdout)["document"]
    assert scripts.timeless(document) == expected
    assert desk.document("--replay", "task.rec") == document


@pytest.mark.parametrize("kind, number", [("begin", 1), ("note", 1), ("ask", 1), ("code", 3), ("test", 1),
                                          ("report", 3)])
def test_a_raised_task_that_is_killed_ends_as_it_would_have(place, kind, number):
    desk = Desk(place, rules(delay="2ms"))
    expected = scripts.timeless(desk.document("--max-attempts", "4", TASK))
    task = desk.document("--max-attempts", "2", TASK, code=1)["id"]
    process = desk.start("--jsonl", "--resume", task, "--max-attempts", "4")
    while number > 0:
        number -= json.loads(process.stdout.readline())["event"] == kind
    process.kill()
    process.communicate(timeout=scripts.PATIENCE)
    assert process.returncode == -signal.SIGKILL and desk.runs()[0]["state"] == "interrupted"
    assert scripts.timeless(desk.document("--resume", task)) == expected


def test_a_raised_task_is_recorded_and_replayed(place):
    desk = Desk(place, rules())
    task = desk.document("--max-attempts", "2", "--record", "first.rec", TASK, code=1)
    whole = desk.document("--resume", task["id"], "--max-attempts", "4", "--record", "whole.rec")
    assert desk.document("--replay", "whole.rec") == whole
    assert desk.document("--replay", "first.rec", code=1) == task


def test_a_task_that_was_interrupted_gets_more_too(place):
    desk = Desk(place, rules(delay="2ms"))
    expected = scripts.timeless(desk.document("--max-attempts", "4", TASK))
    process = desk.start("--jsonl", "--max-attempts", "2", TASK)
    task = json.loads(process.stdout.readline())["name"]
    while json.loads(process.stdout.readline())["event"] != "report":
        pass
    process.kill()
    process.communicate(timeout=scripts.PATIENCE)
    assert scripts.timeless(desk.document("--resume", task, "--max-attempts", "4")) == expected


def test_what_the_first_end_delivered_is_replaced_and_nothing_else(place):
    desk = Desk(place, rules())
    out = place.cwd / "out"
    task = desk.document("--out", "out", "--max-attempts", "2", TASK, code=1)["id"]
    assert (out / "count.py").read_text() in WRONG
    desk.run("--resume", task, "--max-attempts", "4")
    assert (out / "count.py").read_text() == scripts.COUNT
    task = desk.document("--out", "mine", "--max-attempts", "2", TASK, code=1)["id"]
    (place.cwd / "mine/count.py").write_text("my own change\n")
    answer = desk.run("--resume", task, "--max-attempts", "4")
    assert (place.cwd / "mine/count.py").read_text() == "my own change\n"
    assert b"the files lie in" in answer.stderr and desk.runs()[0]["outcome"] == "passed"


# ---- what is refused -----------------------------------------------------------------------------


def test_without_more_room_the_option_is_named(place):
    desk = Desk(place, rules())
    answer = desk.run("--max-attempts", "2", TASK, code=1)
    task = desk.runs()[0]["id"]
    assert f"glovebox run --resume {task} --max-attempts N" in answer.stderr.decode()
    assert f"glovebox run --resume {task} --max-attempts N" in desk.call("runs show", task).stdout.decode()
    for words in ([], ["--max-attempts", "2"], ["--max-steps", "99"]):
        said = refused(desk, task, *words)
        assert re.search(r"has used 2 attempts, and may use 2$", said, re.MULTILINE), said
        assert f"--resume {task} --max-attempts N, with more than that" in said


def test_a_limit_is_never_lowered(place):
    desk = Desk(place, rules())
    task = desk.document("--max-attempts", "2", TASK, code=1)["id"]
    said = refused(desk, task, "--max-attempts", "1")
    assert "--max-attempts is less than what the task has" in said


def test_a_task_that_passed_stays_so(place):
    desk = Desk(place, scripts.program_rules())
    task = desk.document("--max-attempts", "1", TASK)["id"]
    said = refused(desk, task, "--max-attempts", "9")
    assert "has ended (passed)" in said and f"glovebox run --continue {task}" in said


def test_a_task_that_was_given_up_is_continued_instead(place):
    desk = Desk(place, [scripts.rule(scripts.plan(action="finish", reason="cannot be done"), system="You plan")])
    document = desk.document("the impossible", code=1)
    assert document["used_up"] is None
    assert "--continue" in refused(desk, document["id"], "--max-steps", "99")


def test_an_end_without_room_is_told_in_json(place):
    desk = Desk(place, rules())
    task = desk.document("--max-attempts", "2", TASK, code=1)["id"]
    error = json.loads(desk.run("--resume", task, "--json", code=2).stdout)["error"]
    assert "--max-attempts N" in error["remedy"]
