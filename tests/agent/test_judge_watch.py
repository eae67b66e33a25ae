# SPDX-License-Identifier: Apache-2.0
"""Statement coverage of Python programs: every way to end is measured, or the share is not told."""
import pytest

from judge_drive import case, drive, judge_program, program_contract

SIGN = """import sys


def sign(number):
    if number < 0:
        return -1
    return 1


def never():
    return 2


print(sign(int(sys.stdin.read())))
"""
UP = case("up", {"stdout": "1"}, stdin="5\n")
DOWN = case("down", {"stdout": "-1"}, stdin="-5\n")


def share(code, cases, **more):
    report = judge_program(code, cases, **more)
    assert report["outcome"] == "passed", report
    return report["coverage"]


def test_cases_together_reach_what_they_reach(place):
    assert share(SIGN, [UP]) == 6 / 8
    assert share(SIGN, [UP, DOWN]) == 7 / 8


def test_a_stress_case_is_not_run_again(place):
    assert share(SIGN, [UP, {**DOWN, "class": "stress"}]) == 6 / 8
    assert share(SIGN, [{**DOWN, "class": "stress"}]) is None


@pytest.mark.parametrize("end, code", [
    ("sys.exit(3)", 3),
    ("os._exit(3)", 3),
    ("raise ValueError", 1),
    ("os.execv('/bin/false', ['false'])", 1),
    ("atexit.register(sys.exit)", 0),
])
def test_however_it_ends_by_itself(place, end, code):
    program = f"import atexit, os, sys\nprint(1, flush=True)\nif '-x' in sys.argv:\n    never = 1\n{end}\n"
    assert share(program, [case("it", {"stdout": "1", "exit_code": code})]) == 4 / 5


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "while True: pass"])
def test_one_that_is_killed_is_not_measured(place, end):
    """What it ran is not known, and a part of it would be told as the whole."""
    program = f"import os\nif 'GB_COVER_RECORD' in os.environ:\n    {end}\nprint(1)\n"
    assert share(program, [case("it", {"stdout": "1"})], limits={"wall_ms": 2000}) is None


def test_no_case_is_watched_when_nothing_is_left_to_reach(place):
    program = "import os, sys\nprint(1)\n'GB_COVER_RECORD' in os.environ and len(sys.argv) > 1 and os.kill(os.getpid(), 9)\n"
    cases = [case("it", {"stdout": "1"}), case("killed when it is watched", {"stdout": "1"}, argv=["-x"])]
    assert share(program, cases, jobs=1) == 1
    assert share(program, cases[1:], jobs=1) is None


def test_threads_forks_and_started_programs_count(place):
    thread = "import threading\n\n\ndef work():\n    x = 1\n\n\nt = threading.Thread(target=work)\nt.start()\nt.join()\nprint(1)\n"
    assert share(thread, [case("it", {"stdout": "1"})]) == 1
    fork = "import os\nif os.fork() == 0:\n    x = 1\n    os._exit(0)\nos.wait()\nprint(1)\n"
    assert share(fork, [case("it", {"stdout": "1"})]) == 1
    start = ("import subprocess, sys\nif len(sys.argv) == 1:\n"
             "    out = subprocess.run([sys.executable, __file__, 'x'], capture_output=True)\n"
             "    assert out.stderr == b'', out\nelse:\n    pass\nprint(1)\n")
    assert share(start, [case("it", {"stdout": "1"})]) == 1


def test_modules_arguments_and_files_of_a_case(place):
    code = {"main.py": "import sys\nimport part\nprint(part.of(open(sys.argv[1]).read()))\n",
            "part.py": "def of(text):\n    return text * 2\n\n\ndef never():\n    return 1\n",
            "notes.txt": "not a statement\n"}
    cases = [case("it", {"stdout": "abab"}, argv=["in"], files={"in": "ab"})]
    contract = program_contract(files=["main.py", "part.py"])
    assert share(code, cases, contract=contract) == 0.8571  # six of seven
    assert share(code, cases, contract={**contract, "command": ["python3", "-m", "main"]}) == 0.8571  # six of seven


def test_a_program_finds_its_place_as_without(place):
    """Only the words that carry the watch differ: path, modules and its own sitecustomize are there."""
    program = ("import os, sys\nimport sitecustomize\nassert sys.argv == ['/workspace/main.py'], sys.argv\n"
               "assert sys.path[0] == '/workspace' and not any('.guest' in p for p in sys.path), sys.path\n"
               "assert sitecustomize.MINE and __name__ == '__main__' and os.getcwd() == '/workspace'\n"
               "assert sys.stdin.read() == 'in'\nprint('ran to its end')\n")
    code = {"main.py": program, "sitecustomize.py": "MINE = 1\n"}
    contract = program_contract(files=["main.py", "sitecustomize.py"])
    assert share(code, [case("it", {"stdout": "ran to its end"}, stdin="in")], contract=contract) == 1


def test_an_interpreter_that_hears_nobody_is_not_measured(place):
    contract = program_contract(command=["python3", "-I", "main.py"])
    assert share({"main.py": "print(1)\n"}, [case("it", {"stdout": "1"})], contract=contract) is None


def test_other_languages_and_solutions_of_which_one_will_be_taken_are_not_measured(place):
    assert share("echo 1\n", [case("it", {"stdout": "1"})], language="sh", file="main.sh") is None
    both = drive(program_contract(), [{"main.py": SIGN}, {"main.py": SIGN + "\n"}], cases={"cases": [UP]})
    assert [(report["outcome"], report["coverage"]) for report in both["run"]] == [("passed", None)] * 2


def test_a_program_that_fails_is_not_run_again(place):
    report = judge_program(SIGN, [UP, case("wrong", {"stdout": "7"}, stdin="1")])
    assert (report["outcome"], report["coverage"]) == ("failed", None)


FORGED = """import glob, os, sys
line = '{"cover":{"main.py":{"statements":[1],"ran":[1]},"x.py":{"statements":[1],"ran":[1]}}}'
for name in os.environ:
    if name.startswith("GB_COVER_RECORD"):
        with open(os.environ[name], "a") as file:
            file.write("/workspace/main.py\\0" + " ".join(map(str, range(10 ** 6))) + "\\n\\0x\\n" + "y" * 10 ** 6)
print(int(sys.stdin.read()) + watched if (watched := "GB_COVER_RECORD" in os.environ) else 4)
if watched and len(sys.argv) > 7:
    never = 1
"""


def test_what_a_program_claims_of_itself_changes_no_verdict(place):
    """It knows that it is watched, says that all has run, and answers otherwise there."""
    cheat = judge_program(FORGED, [TWO := case("two", {"stdout": "5"}, stdin="2\n")])
    assert (cheat["outcome"], cheat["coverage"]) == ("failed", None)
    honest = judge_program(FORGED, [{**TWO, "expect": {"stdout": "4"}}])
    assert honest["outcome"] == "passed" and 0 <= honest["coverage"] <= 1
