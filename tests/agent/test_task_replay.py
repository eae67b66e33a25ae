# SPDX-License-Identifier: Apache-2.0
"""Recordings: the same document with neither network nor box; what differs is named."""
import hashlib
import json

import pytest
import task
from task import Agent, TASK, WRONG_COUNT
from test_task_durable import TASKS


def recorded(place, kind="program"):
    """An agent, the document of a task, and the lines of its recording."""
    rules, words = TASKS[kind]
    agent = Agent(place, rules())
    done = agent.run(*words, "--record", "all.rec", TASK, code=None)
    assert done.document["state"] in ("done", "waiting"), done
    lines = (place.cwd / "all.rec").read_bytes().splitlines()
    return agent, done.document, [json.loads(line) for line in lines]


def write(place, lines, name="changed.rec"):
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    (place.cwd / name).write_text(text)
    return name


@pytest.mark.parametrize("kind", [kind for kind in TASKS if kind != "waiting"])
def test_a_replay_needs_neither_network_nor_box(place, kind):
    agent, document, _ = recorded(place, kind)
    agent.env["GLOVEBOX_BACKEND"] = "disabled"
    agent.env["GLOVEBOX_STATE_DIR"] = str(place.base / "none")
    agent.script.unlink()
    done = agent.run("--replay", "all.rec", before=["unshare", "-n"], code=0)
    assert task.timeless(done.document) == task.timeless(document)
    assert done.document["spent"] == document["spent"]
    assert not (place.base / "none").exists()


def test_a_recording_of_a_task_that_failed_replays_too(place):
    agent = Agent(place, task.program_rules(first=WRONG_COUNT, mended="print(3)\n"))
    first = agent.run("--max-attempts", "2", "--max-steps", "1", "--record", "all.rec", TASK, code=1)
    again = agent.run("--replay", "all.rec", code=1)
    assert task.timeless(again.document) == task.timeless(first.document)


def test_a_recording_of_a_task_whose_time_ran_out_replays_too(place):
    slow = task.rule(task.file("count.py", task.COUNT), system=task.FIRST, delay="500ms")
    agent = Agent(place, [slow, *task.program_rules()])
    first = agent.run("--max-time", "3s", "--record", "all.rec", TASK, code=1)
    assert "time" in first.document["reason"]
    again = agent.run("--replay", "all.rec", code=1)
    assert task.timeless(again.document) == task.timeless(first.document)


def test_the_first_divergence_is_named(place):
    """Every effect in turn gets another input: it is the one that is told."""
    agent, _, lines = recorded(place)
    for number in range(1, len(lines)):
        changed = [dict(line) for line in lines]
        changed[number]["digest"] = hashlib.sha256(b"other").hexdigest()[:len(changed[number]["digest"])]
        done = agent.call("--replay", write(place, changed))
        assert done.code == 1 and f"'{lines[number]['name']}'" in done.said, (lines[number]["name"], done)


def test_an_effect_that_is_missing_is_named(place):
    agent, _, lines = recorded(place)
    for number in range(1, len(lines)):
        done = agent.call("--replay", write(place, lines[:number] + lines[number + 1:]))
        assert done.code == 1, done
        assert f"'{lines[number]['name']}'" in done.said, (lines[number]["name"], done)


def test_an_answer_that_was_changed_diverges_behind_it(place):
    agent, _, lines = recorded(place)
    changed = [dict(line) for line in lines]
    number, = [n for n, line in enumerate(lines) if line.get("name") == "step-1/attempt-1/code"]
    answer = json.loads(changed[number]["output"])
    answer["text"] = answer["text"].replace("abs", "int")
    changed[number]["output"] = json.dumps(answer)
    done = agent.call("--replay", write(place, changed))
    assert done.code == 1 and "'step-1/attempt-1/judge'" in done.said, done


GOOD = {"glovebox-recording": 1, "objective": "x"}
LINE = {"name": "models", "digest": hashlib.sha256(b"").hexdigest(), "output": "[]"}

HOSTILE = {
    "empty": [],
    "no JSON": ["hello\n"],
    "deep": [GOOD, "[" * 100000 + "\n"],
    "deep object": [GOOD, '{"name":' * 10000 + "1" + "}" * 10000 + "\n"],
    "wrong types": [GOOD, {"name": 7, "digest": [], "output": {}}],
    "a path for a name": [GOOD, {**LINE, "name": "../../etc/passwd"}],
    "a long name": [GOOD, {**LINE, "name": "a" * 5000}],
    "no digest": [GOOD, {**LINE, "digest": "x"}],
    "twice": [GOOD, LINE, LINE],
    "two outputs": [GOOD, {**LINE, "output_base64": ""}],
    "no base64": [GOOD, {"name": "models", "digest": LINE["digest"], "output_base64": "===="}],
    "a later version": [{"glovebox-recording": 99, "objective": "x"}],
    "no objective": [{"glovebox-recording": 1}],
    "unknown keys": [GOOD, {**LINE, "run": "rm -rf /"}],
    "control bytes": [GOOD, {**LINE, "name": "\x1b[2J"}],
    "nothing of a task": [GOOD, LINE],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_recording_is_refused_in_one_line(place, kind):
    agent = Agent(place, [])
    done = agent.call("--replay", write(place, HOSTILE[kind]))
    assert done.code in (1, 2), done
    task.one_line(done)
    assert "\x1b" not in done.said


def test_a_huge_recording_is_refused_at_once(place):
    path = place.cwd / "huge.rec"
    with open(path, "wb") as huge:
        huge.truncate(64 << 30)
    done = Agent(place, []).call("--replay", path)
    assert done.code == 2
    task.one_line(done, "MiB")
    for special in ("/dev/zero", "/dev/stdin", "."):
        refused = Agent(place, []).call("--replay", special)
        assert refused.code == 2, refused
        task.one_line(refused)


def test_outputs_of_a_recording_are_strangers_words(place):
    """Each effect in turn says something else: an error, another end, never a crash or a file."""
    agent, _, lines = recorded(place)
    outputs = ["", "{}", "[]", "null", "7", "[" * 300, '{"text": 7}', '{"text": "x"}', '{"too_long": true}']
    for number in range(1, len(lines)):
        output = outputs[number % len(outputs)]
        changed = [dict(line) for line in lines]
        changed[number].pop("output_base64", None)
        changed[number]["output"] = output
        done = agent.call("--replay", write(place, changed))
        assert done.code in (0, 1, 2, 125), (lines[number]["name"], output, done)
