# SPDX-License-Identifier: Apache-2.0
"""Whole tasks with models that nobody wrote a script for.

Whatever they say, a task ends within its budget, with an outcome, a documented exit status and a
reason, and leaves nothing behind (the ledger) but its folder.  Whether it is solved is `make eval`'s
to report."""
import json
import os
import re
import subprocess
import time
import types
from pathlib import Path

import choosing
import pytest
from lib import pace
from lib import place as places

TASKS = [
    "What is 6 times 7?",
    "Write a Python library with is_palindrome(text): does it read the same backwards?",
    "Write a program that reads numbers from standard input and prints their sum.",
    "Say hello.",
    "Search the web for the newest release of Python, ask me which one I want, then do nothing.",
]
# Outcomes that come from the loop, with their exit status (glovebox-run(1)).
STATUSES = {"passed": 0, "failed": 1, "error": 1, "tampered": 1, "suspect": 1, "waiting": 3}
ROOT = Path(__file__).resolve().parents[2]
GRACE_S = 20  # behind the budget: a box is removed, a folder written


def run(place, server, task, *words, seconds):
    environment = {**place.apart(), "PATH": "/usr/bin:/bin", "LLAMACPP_BASE_URL": server.url,
                   **({"LLAMA_API_KEY": server.key} if server.key else {})}
    command = [str(places.binary()), "run", "--jsonl", "--max-time", str(seconds), "--runs-dir",
               str(place.base / "runs"), *words, task]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, cwd=place.cwd, env=environment,
                          stdin=subprocess.DEVNULL, timeout=10 * seconds + 60)
    return done, time.monotonic() - start


def check(done, took, server, seconds):
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr[-2000:]
    assert lines[-1]["event"] == "result"
    document = lines[-1]["document"]
    ending = "waiting" if document["state"] == "waiting" else document["outcome"]
    assert STATUSES[ending] == done.returncode, (document, done.stderr[-2000:])
    assert done.returncode == 0 or document["question"] or document["reason"], document
    assert took < seconds + pace.within(GRACE_S)
    if server.key:
        assert server.key.encode() not in done.stdout + done.stderr
    return document


@pytest.mark.parametrize("task", TASKS[-pace.count(3, len(TASKS)):])
def test_a_task_with_a_model_of_random_weights_ends(place, chance, task):
    done, took = run(place, chance, task, "--ask", "never", "--max-steps", "5", seconds=20)
    check(done, took, chance, 20)


RIGHT = "import sys\nprint(sum(int(line) for line in sys.stdin))\n"
WRONG = "import sys\nprint(sum(1 for line in sys.stdin))\n"
LOOPS = "while True:\n    pass\n"
PLAN = {"action": "code", "reason": "a sum", "contract": {
    "kind": "program", "language": "python", "summary": "adds lines", "files": ["sum.py"]}}
CASES = {"cases": [{"name": f"{name} {i}", "class": name, "stdin": f"{i}\n2\n", "timeout": 2,
                    "expect": {"stdout": str(i + 2)} if name != "invalid" else {"exit_code": "nonzero"},
                    **({"stdin": "x\n"} if name == "invalid" else {})}
                   for name in ("normal", "edge", "invalid", "stress") for i in (4, 7)]}


def fenced(text):
    return f"File: sum.py\n```python\n{text}```\n"


@pytest.mark.parametrize("seed", range(pace.count(1, 6)))
def test_what_a_model_of_random_weights_chooses_is_judged(place, chance, seed):
    """Its answers are real tokens of a real server; which of three programs it writes is its own choice, and only
    the right one passes."""
    roles = {"You plan": [json.dumps(PLAN)], "You write test cases": [json.dumps(CASES)],
             "You write code": [fenced(text) for text in (RIGHT, WRONG, LOOPS)],
             "You decide who is wrong": [json.dumps({"reason": "r", "fault": fault}) for fault in ("code", "ambiguous")],
             "You explain": ["It adds."]}
    with choosing.between(chance, roles) as (url, asked):
        server = types.SimpleNamespace(url=url, key=chance.key)
        done, took = run(place, server, f"{TASKS[2]} ({seed})", "--ask", "never", "--max-steps", "3", seconds=120)
    document = check(done, took, server, 120)
    assert "You write code" in asked and "You write test cases" in asked
    code, = [file["text"] for file in document["files"]]
    assert code in (RIGHT, WRONG, LOOPS)
    assert {test["result"] for test in document["tests"]} <= {"passed", "failed"} and len(document["tests"]) == 8
    assert (document["outcome"] == "passed") == (code == RIGHT), document


@pytest.mark.parametrize("words", [("--candidates", "4"), ("--ask", "blocked"), ("--max-tokens", "3000"),
                                   ("--max-steps", "1"), ("-l", "c")], ids=" ".join)
def test_a_budget_of_any_kind_ends_it(place, chance, words):
    done, took = run(place, chance, TASKS[1], *words, seconds=20)
    check(done, took, chance, 20)


@pytest.mark.parametrize("task", TASKS[:pace.count(1, len(TASKS))])
def test_a_task_with_the_small_model_ends(place, small, task):
    seconds = pace.count(5, 240)
    done, took = run(place, small, task, "--ask", "never", seconds=seconds)
    check(done, took, small, seconds)


def test_what_the_live_demo_made_is_kept_and_its_place_told(place):
    """`make demo-live`, with a task that has two seconds."""
    done = subprocess.run([ROOT / "tools/demo-live", places.binary(), "2"], capture_output=True, text=True, cwd=place.cwd,
                          env={**os.environ, **place.environment(), "TMPDIR": str(place.base)}, timeout=300, check=False)
    assert done.returncode == 0, done
    runs = Path(re.search(r"lies in (\S+/runs)\.", done.stdout).group(1))
    folder, = runs.iterdir()
    assert "is_palindrome" in (folder / "objective.txt").read_text()
    assert (folder / "transcript.jsonl").stat().st_size > 0
    assert (runs.parent / "state" / "tasks.db").exists()


def test_a_task_that_is_cancelled_while_the_model_writes_can_be_resumed(place, small):
    """130 is the status of that."""
    environment = {**place.apart(), "PATH": "/usr/bin:/bin", "LLAMACPP_BASE_URL": small.url}
    command = [str(places.binary()), "run", "--jsonl", "--max-time", "60", "--runs-dir",
               str(place.base / "runs"), TASKS[1]]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=place.cwd, env=environment) as process:
        first = json.loads(process.stdout.readline())
        process.send_signal(2)
        process.communicate(timeout=60)
    assert first and process.returncode == 130
