# SPDX-License-Identifier: Apache-2.0
"""`glovebox run`: answers, programs, libraries; what stands on stdout and what is delivered."""
import json
import subprocess
import sys

import pytest
import scripts
from scripts import Desk

TASK = "adds the numbers of its lines"

EXAMPLES = {
    "the sum of 1 to 100": ("print(sum(range(1, 101)))\n", "5050"),
    "squares of 1 to 10": ("print([n * n for n in range(1, 11)])\n",
                           "[1, 4, 9, 16, 25, 36, 49, 64, 81, 100]"),
    "factorial of 20": ("import math\n\nprint(math.factorial(20))\n", "2432902008176640000"),
    "the first 10 Fibonacci numbers": (
        "a, b, out = 0, 1, []\nfor _ in range(10):\n    out.append(a)\n    a, b = b, a + b\nprint(out)\n",
        "[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]"),
    "how often each word is in 'a b a'": (
        "from collections import Counter\n\nprint(dict(Counter('a b a'.split())))\n",
        "{'a': 2, 'b': 1}"),
    "pi by Monte Carlo with 10000 samples": (
        "import random\n\nr = random.Random(1)\n"
        "print(4 * sum(r.random() ** 2 + r.random() ** 2 < 1 for _ in range(10000)) / 10000)\n", "3.1"),
}


@pytest.mark.parametrize("task", EXAMPLES)
def test_a_computed_answer_takes_two_calls_and_stands_alone_on_stdout(place, task):
    """S1-08's six examples"""
    code, expected = EXAMPLES[task]
    desk = Desk(place, scripts.answer_rules(code))
    document = desk.document(task)
    assert document["spent"]["calls"] == 2
    assert document["outcome"] == "passed" and document["answer"].startswith(expected)
    assert document["files"] == [{"path": "main.py", "text": code}]
    plain = desk.run(task)
    assert plain.stdout.decode() == document["answer"] + "\n"
    assert b"coverage" not in plain.stderr
    assert code.splitlines()[-1] in plain.stderr.decode()


def test_an_answer_is_not_compared_with_others(place):
    answer = Desk(place, scripts.answer_rules("print(1)\n")).run("--candidates", "3", "one")
    assert answer.stdout == b"1\n" and b"one program is written" in answer.stderr


def test_what_needs_no_code_is_answered_in_one_call(place):
    desk = Desk(place, [scripts.rule(scripts.plan(action="finish", answer="Paris, of course."),
                                     system="You plan")])
    document = desk.document("the capital of France")
    assert document["spent"]["calls"] == 1 and document["files"] == []
    assert document["answer"] == "Paris, of course." and document["tested"] is False
    answer = desk.run("the capital of France")
    assert answer.stdout == b"Paris, of course.\n" and b"answered without code" in answer.stderr


def test_an_answer_cannot_command_the_terminal_it_is_not_shown_on(place):
    """A pipe gets the bytes; stderr is filtered in any case."""
    desk = Desk(place, scripts.answer_rules("print('\\x1b]0;mine\\x07done')\n"))
    answer = desk.run("a title")
    assert answer.stdout == b"\x1b]0;mine\x07done\n"
    assert b"\x1b]0" not in answer.stderr


def test_a_program_is_built_in_four_calls_and_delivered(place):
    desk = Desk(place, scripts.program_rules())
    answer = desk.run("adds the numbers of its lines")
    folder = desk.runs()[0]["folder"]
    assert answer.stdout.decode() == f"{folder}/delivered\n"
    assert scripts.tree(f"{folder}/delivered") == ["count.py", "pytest.ini", *scripts.PROGRAM_TESTS]
    said = answer.stderr.decode()
    for part in ("● model ", "scripted/model.script", "native, 512 MiB", "no network", "● contract",
                 "5 of 5 tests", "held back", "4 model calls", "It adds numbers.",
                 f"printf '1\\n2\\n' | glovebox exec --stdin {folder}/delivered/count.py"):
        assert part in said, said
    run = desk.call("exec", "--stdin", f"{folder}/delivered/count.py", stdin=b"4\n5\n")
    assert run.stdout == b"9\n"


def test_statements_of_a_program_that_its_cases_reach_are_measured(place):
    """In the document, the events, what a person sees, and what is kept; no figure where a case fails."""
    more = scripts.COUNT.replace("print(total)\n", "try:\n    print(total)\nexcept OSError:\n    sys.exit(1)\n")
    desk = Desk(place, scripts.program_rules(code=more))
    document = desk.document(TASK)
    assert document["outcome"] == "passed" and document["coverage"] == 0.8182, document
    assert document["spent"]["calls"] == 4
    lines = scripts.events(desk.run("--jsonl", TASK).stdout)
    assert [line["report"]["coverage"] for line in lines if line["event"] == "report"] == [0.8182]
    assert "coverage 82 % of statements" in desk.run("--plain", TASK).stderr.decode()
    desk.write(scripts.program_rules(code=scripts.WRONG_COUNT))
    assert desk.document("--max-attempts", "1", "--max-steps", "1", TASK, code=1)["coverage"] is None


def test_a_first_attempt_that_fails_is_mended(place):
    document = Desk(place, scripts.mended_rules()).document("adds the numbers of its lines")
    assert document["outcome"] == "passed" and document["attempts"] == 2 and document["tested"]
    assert document["files"][0]["text"] == scripts.COUNT
    assert {test["result"] for test in document["tests"]} == {"passed"}
    assert {test["class"] for test in document["tests"]} == {"normal", "edge", "invalid", "stress"}


def test_a_task_that_fails_says_why_and_exits_with_1(place):
    """S4-08"""
    desk = Desk(place, scripts.program_rules(code=scripts.WRONG_COUNT))
    answer = desk.run("--max-attempts", "2", "--max-steps", "1", "adds numbers", code=1)
    assert "● failed" in answer.stderr.decode() and "● reason" in answer.stderr.decode()
    assert "answered without code" not in answer.stderr.decode()
    assert desk.runs()[0]["state"] == "done" and desk.runs()[0]["outcome"] == "failed"


def test_code_that_cheats_its_tests_is_told_so_and_exits_with_1(place):
    """S02: a library that ends its process with 0 in the middle of a test."""
    cheat = "import os\n\n\ndef parse(text: str) -> int:\n    os._exit(0)\n"
    rules = [rule.replace(scripts.LIBRARY, cheat) for rule in scripts.library_rules()]
    desk = Desk(place, rules)
    words = ("--max-attempts", "1", "--max-steps", "1", "a library for durations")
    document = desk.document(*words, code=1)
    assert document["outcome"] == "tampered" and "ended" in document["reason"], document
    said = desk.run(*words, code=1).stderr.decode()
    assert "● tampered" in said and document["reason"] in said, said


def test_a_library_passes_under_plain_pytest(place):
    desk = Desk(place, scripts.library_rules())
    document = desk.document("--out", "lib", "a library for durations")
    assert document["outcome"] == "passed" and document["spent"]["calls"] == 4, document
    assert document["coverage"] == 1 and document["mutation_score"] == 1 and document["unnoticed"] == []
    out = place.cwd / "lib"
    assert {"duration.py", "pytest.ini", "tests/test_duration.py"} <= set(scripts.tree(out))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=out,
                          capture_output=True, timeout=60, check=False,
                          env={**desk.env, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0 and b"6 passed" in done.stdout, done


def test_a_module_below_a_directory_passes_under_plain_pytest(place):
    rules = [rule.replace('"duration.py"', '"src/duration.py"').replace("File: duration.py", "File: src/duration.py")
             for rule in scripts.library_rules()]
    desk = Desk(place, rules)
    desk.run("--out", "lib", "a library for durations")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
                          cwd=place.cwd / "lib", capture_output=True, timeout=60, check=False,
                          env={**desk.env, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0 and b"6 passed" in done.stdout, done


SPOILS = "try:\n    open('in/sales.csv', 'w').write('x,9\\n')\nexcept OSError as error:\n    pass\n"
SUMS = "print(sum(int(line.split(',')[1]) for line in open('in/sales.csv')))\n"


@pytest.mark.parametrize("code", [SUMS, SPOILS + SUMS])
def test_files_reach_every_box_and_cannot_be_changed(place, code):
    """Of an answer."""
    (place.cwd / "sales.csv").write_text("a,3\nb,4\n")
    desk = Desk(place, scripts.answer_rules(code))
    answer = desk.run("--file", "sales.csv:in/sales.csv", "the sum")
    assert answer.stdout == b"7\n"
    assert f"glovebox exec --file {place.cwd}/sales.csv:in/sales.csv /" in answer.stderr.decode()
    assert (place.cwd / "sales.csv").read_text() == "a,3\nb,4\n"


def test_files_cannot_be_changed_by_a_program_either(place):
    (place.cwd / "sales.csv").write_text("a,3\nb,4\n")
    cases = [{"name": name, "class": name, "expect": {"stdout": "7"}}
             for name in ("normal", "edge", "invalid", "stress")]
    rules = [rule.replace(json.dumps(scripts.CASES), json.dumps({"cases": cases}))
             for rule in scripts.program_rules(code=SPOILS + SUMS)]
    document = Desk(place, rules).document("--file", "sales.csv:in/sales.csv", "the sum of sales")
    assert document["outcome"] == "passed", document
    told = SPOILS.replace("pass", "print(error)") + SUMS
    rules = [rule.replace(SPOILS + SUMS, told) for rule in rules]
    failed = Desk(place, rules).document("--file", "sales.csv:in/sales.csv", "--max-attempts", "1",
                                         "--max-steps", "1", "the sum of sales", code=1)
    assert "Permission denied" in json.dumps(failed["tests"]), failed["tests"]


REPLACES = {
    "another file": "os.unlink('in/sales.csv')\nopen('in/sales.csv', 'w').write('x,9\\n')\n",
    "another mode": "os.chmod('in/sales.csv', 0o644)\nopen('in/sales.csv', 'w').write('x,9\\n')\n",
    "another folder": "os.rename('in', 'old')\nos.mkdir('in')\nopen('in/sales.csv', 'w').write('x,9\\n')\n",
}


@pytest.mark.parametrize("how", REPLACES)
def test_a_file_that_is_replaced_in_a_box_is_as_it_was_in_the_next(place, how):
    """The copy is the box's own: no other test meets what a program made of it, and no user."""
    (place.cwd / "sales.csv").write_text("a,3\nb,4\n")
    cases = [{"name": f"{name} {i}", "class": name, "expect": {"stdout": "7"}}
             for name in ("normal", "edge", "invalid", "stress") for i in range(3)]
    code = "import os\n" + SUMS + REPLACES[how]
    rules = [rule.replace(json.dumps(scripts.CASES), json.dumps({"cases": cases}))
             for rule in scripts.program_rules(code=code)]
    document = Desk(place, rules).document("--file", "sales.csv:in/sales.csv", "the sum of sales")
    assert document["outcome"] == "passed", document
    assert [test["result"] for test in document["tests"]] == ["passed"] * 12
    assert (place.cwd / "sales.csv").read_text() == "a,3\nb,4\n"


TRAPS = {"Makefile": "make", ".envrc": "direnv", ".vscode/tasks.json": "VS Code", "lib/evil.pth": "Python",
         "lib/.EnvRC": "direnv"}


def test_what_other_tools_would_run_is_told_and_run_by_nobody(place):
    """S01"""
    fakes = place.base / "fakes"
    fakes.mkdir()
    for name in ("git", "make", "direnv", "code", "python3", "pytest", "sh"):
        (fakes / name).write_text(f"#!/bin/sh\n: >{place.base}/{name}.was-run\n")
        (fakes / name).chmod(0o755)
    rules = scripts.program_rules()
    files = "\n".join(scripts.file(path, "trap\n") for path in TRAPS)
    rules[0] = scripts.rule(scripts.contract("program", files=["count.py", *TRAPS]), system="You plan")
    rules[2] = scripts.rule(scripts.file("count.py", scripts.COUNT) + "\n" + files, system="You write code")
    desk = Desk(place, rules)
    out = place.cwd / "made"
    answer = desk.run("--jsonl", "--out", out, TASK, env={**desk.env, "PATH": f"{fakes}:{desk.env['PATH']}"})
    document = scripts.events(answer.stdout)[-1]["document"]
    assert {row["path"]: row["runner"] for row in document["runners"]} == TRAPS, document
    assert (out / ".envrc").read_text() == "trap\n" and not list(place.base.glob("*.was-run"))
    told = desk.run("--plain", TASK).stderr.decode()
    assert [line for line in told.splitlines() if "Makefile" in line and line.endswith("run by make")], told
    assert not [line for line in told.splitlines() if "count.py" in line and "run by" in line]


def test_out_is_never_written_over_somebodys_files(place):
    out = place.cwd / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    desk = Desk(place, scripts.program_rules())
    refused = desk.run("--out", "out", "adds numbers", code=2)
    assert b"is not empty" in refused.stderr and desk.runs() == []
    desk.run("--out", "out", "--force", "adds numbers")
    assert scripts.tree(out) == ["count.py", "notes.txt", "pytest.ini", *scripts.PROGRAM_TESTS]
    assert (out / "notes.txt").read_text() == "mine"


def test_the_folder_can_be_read_by_people(place):
    """S4-13"""
    desk = Desk(place, scripts.program_rules())
    desk.run("adds the numbers of its lines")
    folder = desk.runs()[0]["folder"]
    names = scripts.tree(folder)
    assert "objective.txt" in names and "checkpoint.json" in names and "transcript.jsonl" in names
    assert any(name.startswith("iteration_01_") for name in names)
    with open(f"{folder}/objective.txt", encoding="utf-8") as file:
        assert file.read().strip() == "adds the numbers of its lines"


def test_events_are_lines_of_json_and_the_document_comes_last(place):
    desk = Desk(place, scripts.program_rules())
    answer = desk.run("--jsonl", "adds the numbers of its lines")
    lines = scripts.events(answer.stdout.decode())
    kinds = [line["event"] for line in lines]
    assert kinds[0] == "begin" and kinds[-2:] == ["end", "result"]
    for kind in ("step", "contract", "tests", "attempt", "ask", "text", "answered", "code", "test", "report"):
        assert kind in kinds, kinds
    assert kinds.count("test") == 5
    assert lines[-1]["document"]["outcome"] == "passed"
    assert answer.stderr == b""


def test_a_language_can_be_demanded(place):
    rules = [scripts.rule(scripts.contract("answer", language="bash", files=["main.sh"]),
                          system="You plan"),
             scripts.rule("File: main.sh\n```bash\necho $((6 * 7))\n```", system="You write a short program")]
    desk = Desk(place, rules)
    assert desk.run("-l", "klingon", "6 times 7", code=2).stderr.startswith(b"glovebox: unknown language")
    assert b"say one of python, javascript," in desk.run("-l", "cobol", "6 times 7", code=2).stderr
    assert desk.run("-l", "bash", "6 times 7").stdout == b"42\n"


def test_best_of_several_is_told_with_its_matrix(place):
    document = Desk(place, scripts.program_rules()).document("--candidates", "2", "adds numbers")
    assert document["outcome"] == "passed" and document["matrix"] is not None
    assert json.dumps(document["matrix"])
