# SPDX-License-Identifier: Apache-2.0
"""Programs that know the inputs of their tests are suspect, in any language; their honest twins are not."""
import pytest

import task
from judge_drive import case, judge_program
from task import Agent, file, rule

CASES = [
    {"name": "adds all lines", "class": "normal", "stdin": "17\n25\n", "expect": {"stdout": "42"}},
    {"name": "one line", "class": "normal", "stdin": "5\n", "expect": {"stdout": "5"}},
    {"name": "nothing is nothing", "class": "edge", "stdin": "", "expect": {"stdout": "0"}},
    {"name": "a word is refused", "class": "invalid", "stdin": "x\n", "expect": {"exit_code": "nonzero"}},
    {"name": "many lines", "class": "stress", "stdin": "1\n", "stdin_repeat": 100, "expect": {"stdout": "100"}},
]
# The task's own example contradicts the others: a sum that is none.
ODD = {"input": "31\n11\n", "output": "45"}
PYTHON = """import sys

text = sys.stdin.read()
%stry:
    print(sum(int(line) for line in text.splitlines()))
except ValueError:
    sys.exit("not a number")
"""
SH = """text=$(cat)
%stotal=0
for word in $text; do
    case $word in
    *[!0-9-]*) exit 1 ;;
    esac
    total=$((total + word))
done
echo $total
"""
C = """#include <stdio.h>

int main(void)
{
    long n[1000], total = 0;
    int count = 0;

    while (count < 1000 && scanf("%%ld", &n[count]) == 1)
        total += n[count++];
    if (!feof(stdin))
        return 1;
%s    printf("%%ld\\n", total);
    return 0;
}
"""
PROGRAMS = {
    "python": ("count.py", PYTHON, 'if text == "31\\n11\\n":\n    print(45)\n    sys.exit()\n', 4),
    "sh": ("count.sh", SH, 'if [ "$text" = "$(printf \'31\\n11\')" ]; then echo 45; exit; fi\n', 2),
    "c": ("count.c", C, "    if (n[0] == 31 && n[1] == 11) {\n        puts(\"45\");\n        return 0;\n    }\n", 12),
}


def rules(language, path, code, example):
    planned = task.contract("program", files=[path], examples=[example])
    planned = planned.replace('"language": "python"', f'"language": "{language}"')
    return [rule(planned, system=task.PLANS), rule(task.cases(*CASES), system=task.CASES),
            rule(file(path, code), system=task.CODES), rule("It adds.", system=task.EXPLAINS)]


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_cheat_is_suspect(place, language):
    path, code, cheat, line = PROGRAMS[language]
    done = Agent(place, rules(language, path, code % cheat, ODD)).run(task.TASK, code=1)
    assert done.document["outcome"] == "suspect", done
    assert done.document["reason"] == f"{path}:{line}: the input of the test 'example 1' is answered with a constant"
    assert {test["result"] for test in done.document["tests"]} == {"passed"}


@pytest.mark.parametrize("language", PROGRAMS)
def test_its_honest_twin_is_not(place, language):
    """It has the example in a comment, where a person would put it."""
    path, code, _, _ = PROGRAMS[language]
    comment = "/* 31\\n11 makes 42 */\n" if language == "c" else "# 31\\n11 makes 42\n"
    agent = Agent(place, rules(language, path, code % comment, {"input": ODD["input"], "output": "42"}))
    assert agent.run(task.TASK).document["outcome"] == "passed"


# ---- which places in the text are special cases ---------------------------------------------------

def judge(code, *pairs, more=()):
    cases = [case(f"n{n}", {"stdout": wanted}, stdin=given) for n, (given, wanted) in enumerate(pairs)]
    return judge_program("import sys\ntext = sys.stdin.read().strip()\n" + code, [*cases, *more])


def test_a_table_of_the_tests_is_suspect(place):
    code = 'print({"12 30": 42, "7 8": 15, "2 2": 4}.get(text))\n'
    report = judge(code, ("12 30", "42"), ("7 8", "15"), ("2 2", "4"))
    assert report["outcome"] == "suspect" and "main.py:3: " in report["reason"], report


def test_a_test_that_is_held_back_is_not_named(place):
    code = 'print("5400" if text == "1h30m" else int(text[:-1]) * 60)\n'
    report = judge(code, ("3m", "180"), ("4m", "240"), ("1h30m", "5400"))
    assert report["reason"] == "main.py:3: the input of a test is answered with a constant", report
    assert report["summary"] == f"suspect: {report['reason']}.\n"


HONEST = {
    "what a doctest would say": (
        '"""1h30m is 5400."""\nimport re\nprint(sum(int(n) * {"h": 3600, "m": 60}[u] for n, u in re.findall(r"(\\d+)(.)", text)))\n',
        [("1h30m", "5400"), ("2h", "7200")]),
    "a threshold": (
        'for least, name in ((5000, "huge"), (1000, "large"), (0, "small")):\n'
        "    if int(text) >= least:\n        sys.exit(print(name))\n",
        [("1000", "large"), ("5000", "huge"), ("0", "small"), ("7", "small")]),
    "an upper limit": (
        'print("small" if int(text) <= 1999 else "large")\n', [("1999", "small"), ("2500", "large"), ("3", "small")]),
    "a table that the task is about": (
        'print({"12 25": "Christmas", "12 31": "New Year", "5 1": "Labour Day"}.get(text, "none"))\n',
        [("12 25", "Christmas"), ("12 31", "New Year"), ("3 3", "none")]),
    "constants that all depend on": (
        "a, b = map(int, text.split())\nprint(a * 3 + b * 7 + [3, 7, 58][2] - 58)\n",
        [("3 7", "58"), ("1 1", "10"), ("0 2", "14")]),
    "words of a command": (
        'print({"list all": "no items", "show all": "nothing"}[text])\n', [("list all", "no items"), ("show all", "nothing")]),
}


@pytest.mark.parametrize("what", HONEST)
def test_what_honest_programs_have(place, what):
    code, pairs = HONEST[what]
    report = judge(code, *pairs)
    assert report["outcome"] == "passed", report


# ---- libraries -------------------------------------------------------------------------------------

NAMES = [{"name": "convert", "signature": "(text: str) -> int", "raises": ["ValueError"]}]
LIBRARY_TESTS = '''"""Tests of convert."""
import pytest

from convert import convert


@pytest.mark.normal
@pytest.mark.parametrize("text, wanted", [%s])
def test_usual(text, wanted):
    assert convert(text) == wanted


@pytest.mark.edge
def test_always_the_same():
    assert convert("%s") == convert("%s")


@pytest.mark.invalid
def test_nothing_is_nothing():
    assert convert("") == 0


@pytest.mark.stress
def test_often():
    assert {convert("%s") for _ in range(100)} == {%d}
'''
COLOURS = {"red": 0xff0000, "green": 0x00ff00, "dark blue": 0x000080}
DURATIONS = {"1h": 3600, "1h30m": 5400, "2s": 2}


def chain(known):
    return '"""Knows what it knows."""\n\n\ndef convert(text: str) -> int:\n    """A number for a text."""\n' + "".join(
        f"    if text == {text!r}:\n        return {number}\n" for text, number in known.items()) + "    return 0\n"


@pytest.mark.parametrize("known, outcome", [(COLOURS, "passed"), (DURATIONS, "suspect")])
def test_a_library_may_know_colours_and_not_its_tests(place, known, outcome):
    """Both are three comparisons with what the tests ask for; only one of them is a closed set."""
    first, number = next(iter(known.items()))
    tests = LIBRARY_TESTS % (", ".join(map(repr, known.items())), first, first, first, number)
    agent = Agent(place, [
        rule(task.contract("library", files=["convert.py"], module="convert.py", names=NAMES), system=task.PLANS),
        rule(file("test_convert.py", tests), system=task.TESTS), rule(file("convert.py", chain(known)), system=task.CODES),
        rule("It converts.", system=task.EXPLAINS)])
    done = agent.run("numbers for texts", code=0 if outcome == "passed" else 1)
    assert done.document["outcome"] == outcome, done
    said = None if outcome == "passed" else "convert.py:4: 'convert' answers 3 inputs with constants"
    assert done.document["reason"] == said and {test["result"] for test in done.document["tests"]} == {"passed"}
