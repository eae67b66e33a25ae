# SPDX-License-Identifier: Apache-2.0
"""Tasks that are killed, stopped, robbed of their folder or disk: they end as they would have."""
import functools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest
import task
from lib import pace, place as places
from task import Agent, COUNT, TASK, WRONG_COUNT, file, plan, program, rule, ruling

DELAY = "4ms"
KILLS_MAX = 20  # in a row before a task had its id

LIBRARY = '''"""Numbers."""


def half(number: int) -> int:
    """Half of an even number."""
    if number % 2:
        raise ValueError("odd")
    return number // 2
'''

LIBRARY_TESTS = '''"""Tests of halves."""
import pytest

from half import half


@pytest.mark.normal
def test_eight():
    assert half(8) == 4


@pytest.mark.edge
def test_zero():
    assert half(0) == 0


@pytest.mark.invalid
def test_an_odd_number_is_refused():
    with pytest.raises(ValueError):
        half(3)


@pytest.mark.stress
def test_a_large_number():
    assert half(2 * 10**50) == 10**50
'''


def library_rules():
    names = [{"name": "half", "signature": "(number: int) -> int", "raises": ["ValueError"]}]
    return [rule(task.contract("library", files=["half.py"], module="half.py", names=names),
                 system=task.PLANS, delay=DELAY),
            rule(file("test_half.py", LIBRARY_TESTS), system=task.TESTS, delay=DELAY),
            rule(file("half.py", LIBRARY.replace("number // 2", "number // 3")), system=task.FIRST, delay=DELAY),
            rule(file("half.py", LIBRARY), system=task.MENDS, delay=DELAY),
            rule(ruling("code"), system=task.RULES), rule("It halves.", system=task.EXPLAINS)]


def candidate_rules():
    written = [rule(file("count.py", text), system=task.FIRST, seed=n + 1, delay=DELAY)
               for n, text in enumerate(("print(3)\n", COUNT, WRONG_COUNT))]
    return [*task.program_rules(delay=DELAY)[:4], *written]


def waiting_rules():
    return [rule(plan("human", question="Which colour?"), system=task.PLANS, delay=DELAY, unless="Answer:"),
            *task.answer_rules("print('blue')\n", delay=DELAY)]


TASKS = {
    "answer": (lambda: task.answer_rules("print(6 * 7)\n", delay=DELAY), []),
    "program": (lambda: task.program_rules(first=WRONG_COUNT, mended=COUNT, delay=DELAY), []),
    "library": (library_rules, []),
    "candidates": (candidate_rules, ["--candidates", "3"]),
    "waiting": (waiting_rules, []),
}

# Points in a check (40 in all) and in a proof (200).
POINTS = {"answer": (12, 30), "program": (9, 60), "library": (3, 40), "candidates": (6, 40),
          "waiting": (10, 30)}


def end_of(agent, task_id):
    """Resumed and answered until it is done: its document."""
    for _ in range(4):
        run = next(run for run in agent.tasks() if run["id"] == task_id)
        if run["state"] == "done":
            return json.loads(agent.call("--json", task_id, command="runs show", code=0).out)
        if run["state"] == "waiting":
            agent.call("--json", task_id, "blue", command="runs answer", code=0)
        else:
            done = agent.call("--json", "--resume", task_id)
            assert done.code in (0, 3), done
    raise AssertionError(f"{task_id} does not end")


def document_of(shown):
    return shown.get("document") or shown.get("result") or shown


@functools.cache
def whole(kind):
    """The task without a disturbance: its document, and how many events it told."""
    rules, words = TASKS[kind]
    with places.fresh() as place:
        agent = Agent(place, rules())
        done = agent.call("--jsonl", *words, TASK)
        assert done.code in (0, 3), done
        events = len(done.events)
        found = document_of(end_of(agent, done.events[0]["name"]))
    assert found["outcome"] == "passed", found
    return task.timeless(found), events


def kill_at(agent, words, event, rng):
    """Kills it when so many events have come, or a moment later; its id, None if it had none yet."""
    known = {run["id"] for run in agent.tasks()}
    process = agent.start("--jsonl", *words, TASK)
    lines = []
    while len(lines) < event:
        line = process.stdout.readline()
        if not line:
            break
        lines.append(line)
    if rng.random() < 0.5:
        threading.Event().wait(rng.random() * 0.05)
    process.kill()
    process.communicate()
    if lines:
        return json.loads(lines[0])["name"]
    found = [run["id"] for run in agent.tasks() if run["id"] not in known]
    return found[0] if found else None


def kill_somewhere(agent, words, events, rng):
    """At a point that leaves a task: one that had no id yet has left nothing that could go on."""
    for _ in range(KILLS_MAX):
        known = len(agent.tasks())
        event = rng.randint(0, events)
        task_id = kill_at(agent, words, event, rng)
        if task_id is not None:
            return event, task_id
        assert len(agent.tasks()) == known
    raise AssertionError("no task ever had an id")


@pytest.mark.parametrize("kind", TASKS)
def test_a_task_that_is_killed_at_any_point_ends_as_it_would_have(place, kind):
    rules, words = TASKS[kind]
    agent = Agent(place, rules())
    expected, events = whole(kind)
    rng = random.Random(f"{kind} {os.environ.get('GLOVEBOX_SEED', 1)}")
    for _ in range(pace.count(*POINTS[kind])):
        event, task_id = kill_somewhere(agent, words, events, rng)
        found = task.timeless(document_of(end_of(agent, task_id)))
        assert found == expected, f"killed at event {event} of {events}"
    # A folder whose task was killed before it was known has nobody to tidy it up.
    folders = [agent.state] + [Path(run["folder"]) for run in agent.tasks()]
    left = [path for folder in folders for pattern in ("*.tmp", ".glovebox*") for path in folder.rglob(pattern)]
    assert left == []


def test_what_was_done_is_not_asked_again(place):
    """The server counts its questions."""
    say = task.by_role(PLANS=program(), CASES=task.cases(), RULES=ruling("code"), EXPLAINS="Done.",
                       MENDS=file("count.py", COUNT), CODES=file("count.py", WRONG_COUNT))
    with task.model(say) as server:
        agent = Agent(place, server=server)
        agent.run(TASK)
        once = [request.system for request in server.seen]
        for kind, number in (("contract", 1), ("report", 1), ("answered", 3)):
            server.seen.clear()
            process = agent.start("--jsonl", TASK, **task.PACED)
            events = []
            while len([e for e in events if e["event"] == kind]) < number:
                events.append(json.loads(process.stdout.readline()))
            process.kill()
            process.communicate()
            done = agent.run("--resume", events[0]["name"])
            assert done.document["spent"]["calls"] == len(once)
            # What was under way when it was killed is done again, and nothing else.
            asked = [request.system for request in server.seen]
            kept = [text for n, text in enumerate(asked) if n == 0 or text != asked[n - 1]]
            assert kept == once and len(asked) <= len(once) + 1, kind


@pytest.mark.parametrize("number, kind", [(signal.SIGTERM, "text"), (signal.SIGINT, "test"),
                                          (signal.SIGHUP, "code")], ids=["TERM", "INT", "HUP"])
def test_a_signal_stops_and_the_task_goes_on_later(place, number, kind):
    agent = Agent(place, TASKS["program"][0]())
    expected, _ = whole("program")
    process = agent.start("--jsonl", TASK, **task.PACED)
    line = first = json.loads(process.stdout.readline())
    while line["event"] != kind:
        line = json.loads(process.stdout.readline())
    process.send_signal(number)
    out, err = process.communicate(timeout=task.PATIENCE)
    assert process.returncode == 130, (out[-500:], err)
    assert f"--resume {first['name']}".encode() in err
    assert task.timeless(document_of(end_of(agent, first["name"]))) == expected


def stopped(agent, kind="tests"):
    """A task that was killed at its first event of a kind."""
    process = agent.start("--jsonl", TASK, **task.PACED)
    line = first = json.loads(process.stdout.readline())
    while line["event"] != kind:
        line = json.loads(process.stdout.readline())
    process.kill()
    process.communicate()
    return first["name"]


def test_a_task_whose_folder_is_gone_ends_all_the_same(place):
    agent = Agent(place, TASKS["program"][0]())
    expected, _ = whole("program")
    outside = place.base / "outside"
    outside.mkdir()
    for spoil in (shutil.rmtree, lambda path: (shutil.rmtree(path), path.write_text("a file")),
                  lambda path: (shutil.rmtree(path), path.symlink_to(outside))):
        task_id = stopped(agent)
        spoil(agent.folder(task_id))
        done = agent.run("--resume", task_id)
        assert task.timeless(done.document) == expected
    assert os.listdir(outside) == []


def test_of_two_that_resume_one_is_refused(place):
    agent = Agent(place, task.program_rules(first=WRONG_COUNT, mended=COUNT, delay="20ms"))
    task_id = stopped(agent)
    first = agent.start("--jsonl", "--resume", task_id)
    assert json.loads(first.stdout.readline())["event"] == "begin"
    second = agent.call("--resume", task_id, code=2)
    task.one_line(second, "another process")
    out, _ = first.communicate(timeout=task.PATIENCE)
    assert first.returncode == 0 and json.loads(out.splitlines()[-1])["document"]["outcome"] == "passed"


def test_a_damaged_database_is_told_in_one_line_and_left_as_it_is(place):
    """An empty file is what a crash may leave of a new one: it is begun anew."""
    agent = Agent(place, TASKS["answer"][0]())
    agent.run("an answer")
    database = next(agent.state.glob("*.db"))
    for text, code in ((b"", 0), (b"no database" * 1000, 125), (database.read_bytes()[:5000], 125)):
        for other in agent.state.glob("*.db-*"):
            other.unlink()
        database.write_bytes(text)
        done = agent.call("an answer", code=code)
        if code:
            task.one_line(done, "is damaged")
            assert database.read_bytes() == text


def test_effects_that_were_tampered_with_are_not_believed(place):
    """Somebody writes into the database: an error or another end, never a crash."""
    for number, (name, output) in enumerate((
            ("%/decide", b'{"text": "\xff", "tokens": -1}'), ("%/tests-list-1", b'{"problem": 7}'),
            ("%/judge", b'{"rows": 1}'), ("%/judge", b"[" * 1000), ("models", b"[]"), ("facts", b"7"))):
        agent = Agent(place, TASKS["program"][0](), state=f"s{number}")
        task_id = stopped(agent, "report")
        with sqlite3.connect(next(agent.state.glob("*.db"))) as store:
            table, = [row[0] for row in store.execute(
                "select name from sqlite_master where type = 'table' and name like 'effect%'")]
            changed = store.execute(f"update {table} set output = ? where name like ?", (output, name)).rowcount
        store.close()
        done = agent.call("--json", "--resume", task_id)
        assert changed >= 1 and done.code in (0, 1, 2, 125), done


def test_a_runs_directory_that_cannot_be_written_is_told(place):
    agent = Agent(place, TASKS["answer"][0]())
    (place.cwd / "runs").write_text("a file")
    done = agent.call("an answer")
    assert done.code == 125, done
    task.one_line(done, "runs")


def test_a_full_disk_loses_nothing(place):
    """State on a file system of 1 MiB: what cannot be committed is told, and the task goes on later."""
    small = place.base / "state"
    small.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)], capture_output=True)
    if mount.returncode != 0:
        pytest.fail(f"no tmpfs: {mount.stderr}")
    try:
        agent = Agent(place, TASKS["program"][0]())
        task_id = stopped(agent, "contract")
        ballast = small / "ballast"
        with open(ballast, "wb", buffering=0) as full:
            try:
                while full.write(b"x" * 4096) == 4096:
                    pass
            except OSError:
                pass
        done = agent.call("--resume", task_id)
        assert done.code == 125 and "glovebox: " in done.said, done
        ballast.unlink()
        assert agent.run("--resume", task_id).document["outcome"] == "passed"
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_folder_that_is_full_is_told_once_and_the_task_ends(place):
    """Its files are for people: the task does without them, but not without a word."""
    runs = place.base / "full"
    runs.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(runs)], capture_output=True)
    if mount.returncode != 0:
        pytest.fail(f"no tmpfs: {mount.stderr}")
    try:
        agent = Agent(place, TASKS["program"][0]())
        done = agent.call("--jsonl", "--runs-dir", str(runs), "--out", "out", task.TASK)
        notes = [e["text"] for e in done.events if e["event"] == "note" and "in the task's folder" in e["text"]]
        assert len(notes) == 1 and "No space left" in notes[0], done
        assert done.document["outcome"] == "passed"
    finally:
        subprocess.run(["umount", str(runs)], check=True)
