# SPDX-License-Identifier: Apache-2.0
"""A delivered program is tested with plain pytest, and judged there as the judge did."""
import hashlib
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest

import task
from judge_drive import case, judge_program, results
from task import Agent, file, rule

ROOT = Path(__file__).resolve().parents[2]

CASES = [
    {"name": "adds all lines", "class": "normal", "stdin": "1\n2\n", "expect": {"stdout": "3"}},
    {"name": "in exactly one line", "class": "normal", "stdin": "5\n-2\n", "expect": {"stdout": "3\n", "mode": "exact"}},
    {"name": "a number as JSON", "class": "normal", "stdin": "4\n", "expect": {"stdout": " 4 ", "mode": "json"}},
    {"name": "near enough", "class": "edge", "stdin": "100\n",
     "expect": {"stdout": "101", "mode": "tolerance", "tolerance": 0.1}},
    {"name": "some digits: it's \"so\"", "class": "edge", "stdin": "7\n", "expect": {"stdout": "^[[:digit:]]+$", "mode": "pattern"}},
    {"name": "nothing is nothing", "class": "edge", "stdin": "", "expect": {"stdout": "0"}},
    {"name": "a word is refused", "class": "invalid", "stdin": "x\n",
     "expect": {"exit_code": 3, "stderr_contains": "not a number"}},
    {"name": "of a file", "class": "normal", "argv": ["in/numbers"], "files": {"in/numbers": "20\n22\n"}, "expect": {"stdout": "42"}},
    {"name": "many lines", "class": "stress", "stdin": "1\n", "stdin_repeat": 1000, "expect": {"stdout": "1000"}},
]

PYTHON = """import sys

total = 0
for line in open(sys.argv[1]) if sys.argv[1:] else sys.stdin:
    try:
        total += int(line)
    except ValueError:
        print("not a number", file=sys.stderr)
        sys.exit(3)
print(total)
"""
SH = """#!/bin/sh
[ $# -gt 0 ] && exec < "$1"
total=0
while read -r line; do
    case $line in
    *[!0-9-]*) echo "not a number" >&2; exit 3 ;;
    esac
    total=$((total + line))
done
echo $total
"""
C = """#include <stdio.h>
#include <stdlib.h>
#include "add.h"

int main(int argc, char **argv)
{
    char line[64];
    long total = 0;

    if (argc > 1 && !freopen(argv[1], "r", stdin))
        return 4;
    while (fgets(line, sizeof(line), stdin)) {
        char *end;
        long n = strtol(line, &end, 10);

        if (end == line || *end != '\\n') {
            fputs("not a number\\n", stderr);
            return 3;
        }
        total = add(total, n);
    }
    printf("%ld\\n", total);
}
"""
JAVA = """import java.nio.file.*;
import java.util.*;

public class Count {
    public static void main(String[] args) throws Exception {
        Scanner in = args.length > 0 ? new Scanner(Path.of(args[0])) : new Scanner(System.in);
        long total = 0;
        while (in.hasNext()) {
            if (!in.hasNextLong()) {
                System.err.println("not a number");
                System.exit(3);
            }
            total += in.nextLong();
        }
        System.out.println(total);
    }
}
"""
PROGRAMS = {
    "python": {"count.py": PYTHON},
    "python by a command": {"app/count.py": PYTHON},
    "sh": {"count.sh": SH},
    "c": {"count.c": C, "add.c": "long add(long a, long b) { return a + b; }\n", "add.h": "long add(long a, long b);\n"},
    "c by its name": {"count.c": C, "add.c": "long add(long a, long b) { return a + b; }\n",
                      "add.h": "long add(long a, long b);\n"},
    "java": {"Count.java": JAVA},
}
COMMANDS = {"python by a command": ["python", "app/count.py"], "sh": ["./count.sh"], "c by its name": ["./count"]}


def rules(name, files, tests=None):
    words = {"command": COMMANDS[name]} if name in COMMANDS else {}
    planned = task.contract("program", files=list(files), **words)
    planned = planned.replace('"language": "python"', f'"language": "{name.split()[0]}"')
    return [rule(planned, system=task.PLANS), rule(task.cases(*(tests or CASES)), system=task.CASES),
            rule("".join(file(path, text) for path, text in files.items()), system=task.CODES),
            rule("It adds.", system=task.EXPLAINS)]


def plain_pytest(folder, *words):
    """Where it lies, except that its temporary files go with the place."""
    words = ["-q", "-p", "no:cacheprovider", f"--basetemp={folder.parent / 'plain'}", *words]
    return subprocess.run(["/usr/bin/python3", "-m", "pytest", *words], cwd=folder, capture_output=True, text=True,
                          timeout=task.PATIENCE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_its_cases_pass_under_plain_pytest(place, name):
    agent = Agent(place, rules(name, PROGRAMS[name]))
    done = agent.call("--plain", "--out", "o", task.TASK, code=0)
    out = place.cwd / "o"
    assert f"cd {out} && python3 -m pytest" in done.said, done
    before = task.tree(out)
    plain = plain_pytest(out, "-W", "error")
    assert plain.returncode == 0 and f"{len(CASES)} passed" in plain.stdout, plain.stdout
    assert [path for path in task.tree(out) if "__pycache__" not in path] == before
    chosen = plain_pytest(out, "-m", "stress")
    assert "1 passed" in chosen.stdout, chosen.stdout


def test_what_no_longer_works_fails_there(place):
    """The tests look at the program that lies there, not at what was delivered once."""
    agent = Agent(place, rules("python", PROGRAMS["python"]))
    agent.call("--out", "o", task.TASK, code=0)
    program = place.cwd / "o" / "count.py"
    program.write_text(PYTHON.replace("int(line)", "abs(int(line))"))
    plain = plain_pytest(place.cwd / "o")
    assert plain.returncode == 1 and "1 failed" in plain.stdout, plain.stdout
    assert "in exactly one line" in plain.stdout
    program.write_text("while True:\n    pass\n")
    path = place.cwd / "o" / "tests" / "cases.json"
    cases = json.loads(path.read_text())["cases"]
    path.write_text(json.dumps({"cases": [{**item, "timeout": 0.2} for item in cases]}))
    plain = plain_pytest(place.cwd / "o")
    assert plain.returncode == 1 and "still running after 0.2 s" in plain.stdout, plain.stdout


def test_an_input_of_the_task_is_asked_for(place):
    """It is the user's file, and not delivered: without it the cases are skipped, and say so."""
    (place.cwd / "rates.txt").write_text("3\n")
    code = "import sys\nprint(int(open('rates.txt').read()) * int(sys.stdin.read()))\n"
    tests = [{"name": f"times {n}", "class": kind, "stdin": f"{n}\n", "expect": {"stdout": str(3 * n)}}
             for n, kind in enumerate(("normal", "edge", "stress"))]
    tests.append({"name": "word", "class": "invalid", "stdin": "x", "expect": {"exit_code": "nonzero"}})
    agent = Agent(place, rules("python", {"count.py": code}, tests))
    agent.call("--file", "rates.txt", "--out", "o", task.TASK, code=0)
    plain = plain_pytest(place.cwd / "o", "-rs")
    assert "4 skipped" in plain.stdout and "rates.txt" in plain.stdout, plain.stdout
    shutil.copy(place.cwd / "rates.txt", place.cwd / "o")
    plain = plain_pytest(place.cwd / "o")
    assert plain.returncode == 0 and "4 passed" in plain.stdout, plain.stdout


# ---- the last run ---------------------------------------------------------------------------------

def test_what_was_compiled_for_the_tests_runs_at_the_end(place):
    """The program says when it was compiled; one test takes longer than that clock's step."""
    code = ("#include <stdio.h>\n#include <unistd.h>\n"
            "int main(int n, char **v) { (void)v; if (n > 1) sleep(2); puts(__DATE__ __TIME__); return 0; }\n")
    tests = [{"name": name, "class": name, "argv": ["x"] if name == "stress" else [],
              "expect": {"stdout": "^[A-Z]", "mode": "pattern"}} for name in ("normal", "edge", "invalid", "stress")]
    agent = Agent(place, rules("c", {"count.c": code}, tests))
    done = agent.call("--jsonl", task.TASK, code=0)
    assert done.document["run_failed"] is None
    output, = [event["text"] for event in done.events if event["event"] == "output"]
    report, = [event["report"] for event in done.events if event["event"] == "report"]
    assert report["tests"][0]["seen"] == hashlib.sha256(f"ok 0\n{output}".encode()).hexdigest(), done


def test_a_last_run_that_fails_is_told(place):
    """Tests have passed and the program fails all the same: what a recording says of that run is changed."""
    agent = Agent(place, rules("python", PROGRAMS["python"]))
    document = agent.run("--record", "r.jsonl", task.TASK).document
    assert document["run_failed"] is None
    path = place.cwd / "r.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line.get("name") == "program":
            took, _, known = line["output"].partition("\n")
            known = {**json.loads(known), "diagnosis": "crash", "exit_code": 1,
                     "summary": "The program failed: it ended with exit code 1.\nstdout:\n"}
            line["output"] = f"{took}\n{json.dumps(known)}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = "the last run, of 'adds all lines', failed: The program failed: it ended with exit code 1."
    done = agent.call("--jsonl", "--replay", "r.jsonl", code=0)
    assert done.document["run_failed"] == said and done.document["outcome"] == "passed"
    assert said in [event["text"] for event in done.events if event["event"] == "note"]
    people = agent.call("--plain", "--replay", "r.jsonl", code=0)
    assert people.said.count(said) == 2, people


# ---- the same comparisons -------------------------------------------------------------------------

def expects(stdout, mode, printed, **more):
    return {"stdout": stdout, "mode": mode, **more}, printed


PAIRS = [
    *(expects(wanted, "trimmed", printed) for wanted, printed in (
        ("a", "a \t\r\n\n\n"), ("a\nb", "a  \nb"), ("a\nb", "a\n\nb"), ("", "\n \n"), ("a", " a"), ("é", "é\n"), ("a", "a\0"))),
    *(expects(wanted, "exact", printed) for wanted, printed in (("a\n", "a\n"), ("a\n", "a"), ("a", "a "), ("", "x"))),
    *(expects(wanted, "tolerance", printed, tolerance=0.01) for wanted, printed in (
        ("x=1.0 y=200", "x = 1.005\ny=201.5"), ("1", "1.02"), ("1 2", "12"), (".5", "0.5"), ("5.", "5 ."), ("1e3", "1005"),
        ("-1", "- 1"), ("a b", "ab"), ("1", "1 1"), ("1e999", "1e998"), ("1e999", "1e999"), ("0", "1e-3"),
        ("1" * 600, "1" * 599 + "2"), ("1" * 600, "1" * 600))),
    *(expects(wanted, "json", printed) for wanted, printed in (
        ('{"a": 1, "b": [true, null]}', '{"b":[true,null],"a":1}'), ("1", "true"), ("1", "1.0"), ("0", "false"), ("[1]", "[1,2]"),
        ("0.3", "0.30000000000000004"), ("0.3", "3e-1"), ("9007199254740993", "9007199254740992"), ('{"a":1}', '{"a":1,"a":1}'),
        ("1", "NaN"), ("1", "1 x"), ('"\\u00e9"', '"é"'), ("null", "null\n"), ('{"a":1}', '{"a":1,"b":2}'), ("{}", "[]"))),
    *(expects(wanted, "json", printed, tolerance=0.1) for wanted, printed in (
        ("[1, 100]", "[1.05, 109]"), ("[1, 100]", "[1.2, 100]"), ("1", "true"), ('"1"', '"1.01"'))),
    *(expects(wanted, "pattern", printed) for wanted, printed in (
        ("^a.c$", "abc\n\n"), ("^a.c$", "a\nc"), ("[[:upper:]_]+[[:digit:]]", "xA_7"), ("[[:punct:]]", "a]b"), ("[[:punct:]]", "ab"),
        (r"\d{2,3}", "x1"), (r"\bcat\b", "concat"), (r"^\w+$", "é"), ("^.$", "é"), ("a{x", "a{x"), ("(?:ab|c)+?d", "abcd"),
        ("[]x]", "]"), ("^$", "\n"), (r"a\.b", "a.b"), (r"[^\s]", " \n"), ("^b", "a\nb"))),
    ({"exit_code": 2}, "exit 2"), ({"exit_code": 2}, "exit 1"), ({"exit_code": "nonzero"}, "exit 9"),
    ({"exit_code": "nonzero"}, "exit 0"), ({"exit_code": "nonzero"}, "kill"), ({"exit_code": 137}, "kill"),
    ({"stderr_contains": "odd"}, "say so odd"), ({"stderr_contains": "odd"}, "say even"),
]
SAYS = """import os, signal, sys
text = sys.stdin.buffer.read()
if text.startswith(b"exit "):
    sys.exit(int(text[5:]))
if text == b"kill":
    os.kill(os.getpid(), signal.SIGKILL)
if text.startswith(b"say "):
    sys.exit(print(text.decode(), file=sys.stderr))
sys.stdout.buffer.write(text)
"""


def delivered_tests(folder):
    """test_cases.py as a module."""
    folder.mkdir()
    shutil.copy(ROOT / "guest/python/test_cases.py", folder)
    (folder / "cases.json").write_text('{"cases": []}')
    (folder / "program.json").write_text(json.dumps({"files": [], "inputs": [], "env": {}, "build": None, "name": None,
                                                     "run": ["/usr/bin/python3", "-c", SAYS]}))
    spec = importlib.util.spec_from_file_location("delivered_test_cases", folder / "test_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verdict(module, item, folder):
    folder.mkdir()
    try:
        module.check(item["expect"], *module.run(item, folder, folder))
    except (AssertionError, ValueError):
        return "failed"
    return "passed"


def test_they_compare_as_the_judge_does(place, tmp_path):
    items = [case(f"n{n}", expect, stdin=text.replace("\0", "\x01"), timeout=5) for n, (expect, text) in enumerate(PAIRS)]
    judged = results(judge_program(SAYS, items))
    module = delivered_tests(tmp_path / "tests")
    here = {item["name"]: verdict(module, item, tmp_path / item["name"]) for item in items}
    assert len(set(here.values())) == 2
    assert {name: (PAIRS[int(name[1:])], result) for name, result in here.items() if judged[name] != result} == {}
