# SPDX-License-Identifier: Apache-2.0
"""Programs and their cases: what passes, what is told of what does not, and what stays apart."""
import shutil

import pytest

from judge_drive import case, drive, judge_program, program_contract, results
from lib import pace

DOUBLE = "import sys\nprint(int(sys.stdin.read()) * 2)\n"
TWO = case("two", {"stdout": "4"}, stdin="2\n")


def test_a_program_passes(place):
    report = judge_program(DOUBLE, [TWO, case("no number", {"exit_code": "nonzero"}, "invalid",
                                              stdin="x\n")])
    assert (report["outcome"], report["diagnosis"], report["summary"]) == ("passed", "none", None)
    assert results(report) == {"two": "passed", "no number": "passed"}
    assert all(row["memory_bytes"] > 0 and row["seen"] for row in report["tests"])


def test_both_values_are_told(place):
    report = judge_program("print(5)\nimport sys\nprint('noise', file=sys.stderr)\n", [TWO])
    assert (report["outcome"], report["diagnosis"]) == ("failed", "wrong output")
    assert "4" in report["tests"][0]["message"] and "5" in report["tests"][0]["message"]
    assert "1 of 1 tests fail." in report["summary"] and "noise" in report["summary"]


@pytest.mark.parametrize("code, diagnosis, words", [
    ("print(4", "syntax", "main.py:1"),
    ("import no_such_module\nprint(4)\n", "missing module", "not installed in this box; available"),
])
def test_what_the_text_tells_is_told_without_a_run(place, code, diagnosis, words):
    report = judge_program(code, [TWO])
    assert (report["outcome"], report["diagnosis"], report["tests"]) == ("failed", diagnosis, [])
    assert words in report["summary"]


def test_packages_that_are_not_there_are_told_with_a_failure_only(place):
    contract = program_contract(packages=["numpy_of_nowhere"])
    wrong = judge_program({"main.py": "print(5)\n"}, [TWO], contract=contract)
    assert "packages that are not there: 'numpy_of_nowhere'" in wrong["summary"], wrong
    assert "not installed in this box; available" in wrong["summary"]
    right = judge_program({"main.py": DOUBLE}, [TWO], contract=contract)
    assert (right["outcome"], right["summary"]) == ("passed", None)


def test_a_missing_file_is_the_interface(place):
    report = judge_program({"other.py": "print(4)\n"}, [TWO])
    assert (report["outcome"], report["diagnosis"]) == ("failed", "interface")
    assert "main.py" in report["summary"]


@pytest.mark.parametrize("code, result, diagnosis", [
    ("while True: pass\n", "timeout", "timeout"),
    ("x = bytearray(1 << 30)\n", "failed", "memory"),
    ("import os\nos.abort()\n", "failed", "crash"),
    ("raise ValueError('odd')\n", "failed", "crash"),
])
def test_ends_that_are_not_its_own(place, code, result, diagnosis):
    slow = {**TWO, "timeout": 1 if result == "timeout" else 20}
    report = judge_program(code, [slow], limits={"memory_bytes": 128 << 20})
    assert results(report) == {"two": result}
    assert report["diagnosis"] == diagnosis, report


def test_a_slow_case_leaves_the_others_alone(place):
    code = "import sys, time\nn = int(sys.stdin.read())\ntime.sleep(60 if n == 1 else 0)\nprint(n)\n"
    cases = [case(f"n{n}", {"stdout": str(n)}, stdin=str(n), timeout=1 if n == 1 else 20) for n in range(4)]
    report = judge_program(code, cases)
    assert results(report) == {"n0": "passed", "n1": "timeout", "n2": "passed", "n3": "passed"}
    assert [row["id"] for row in report["tests"]] == ["n0", "n1", "n2", "n3"]


def test_each_case_has_a_fresh_box(place):
    code = ("import os\nfor place in ('/tmp/x', 'x', os.path.expanduser('~/x')):\n"
            "    print(os.path.exists(place))\n    open(place, 'w').close()\n")
    cases = [case(f"n{n}", {"stdout": "False\nFalse\nFalse"}) for n in range(3)]
    assert judge_program(code, cases)["outcome"] == "passed"


# What a case may leave behind: a test whether it is there, and how it is left.
TRACES = {
    "a file": ("os.path.exists('x')", "open('x', 'w')"),
    "a hidden file": ("os.path.exists('.x')", "open('.x', 'w')"),
    "a file in /tmp": ("os.path.exists('/tmp/x')", "open('/tmp/x', 'w')"),
    "a directory": ("os.path.exists('/var/tmp/x')", "os.mkdir('/var/tmp/x')"),
    "a file at home": ("os.path.exists(os.path.expanduser('~/x'))", "open(os.path.expanduser('~/x'), 'w')"),
    "shared memory": ("os.path.exists('/dev/shm/x')", "open('/dev/shm/x', 'w')"),
    "a mode": ("os.stat(__file__).st_mode & 1", "os.chmod(__file__, 0o755)"),
    "a time": ("os.stat(__file__).st_mtime_ns == 1", "os.utime(__file__, ns=(1, 1))"),
    "an attribute": ("os.listxattr(__file__)", "os.setxattr(__file__, 'user.x', b'1')"),
    "its own text": ("'left' in open(__file__).read()[-4:]", "open(__file__, 'a').write('# left')"),
    "a deleted file": ("not os.path.exists(__file__ + '.txt')", "os.unlink(__file__ + '.txt')"),
    "a mapped page": ("open(__file__, 'rb').read(1) == b'%'", "scribble()"),
    "a segment": ("libc.shmget(7, 64, 0) >= 0", "libc.shmget(7, 64, 0o1600)"),
    "a semaphore": ("libc.semget(7, 1, 0) >= 0", "libc.semget(7, 1, 0o1600)"),
    "a queue": ("libc.msgget(7, 0) >= 0", "libc.msgget(7, 0o1600)"),
    "a POSIX queue": ("libc.mq_open(b'/x', 0) >= 0", "libc.mq_open(b'/x', os.O_CREAT | os.O_RDWR, 0o600, None)"),
    "numbers of processes": ("os.getpid() > 20", "[os.fork() or os._exit(0) for n in range(40)]"),
    "numbers of segments": ("libc.shmget(0, 64, 0o600) > 20",
                            "[libc.shmctl(libc.shmget(0, 64, 0o600), 0, None) for n in range(40)]"),
    "a busy port": ("is_busy()", "meet()"),
}

# The page is read before it is written to, so that no time of the file changes.
TRACING = """# text
import ctypes, mmap, os, socket
libc = ctypes.CDLL(None)
def scribble():
    with open(__file__, 'r+b') as file, mmap.mmap(file.fileno(), 0) as pages:
        assert pages[0] == 35
        time = os.stat(__file__).st_ctime_ns
        pages[0] = 37
        assert os.stat(__file__).st_ctime_ns == time
def meet():
    with socket.create_server(('127.0.0.1', 4711)) as server:
        with socket.create_connection(('127.0.0.1', 4711)):
            server.accept()[0].close()
def is_busy():
    return any(line.split()[3] == '06' for line in open('/proc/net/tcp').readlines()[1:])
print(bool(%s), input())
%s
"""


@pytest.mark.parametrize("trace", TRACES)
def test_no_case_sees_what_another_left(place, trace):
    found, left = TRACES[trace]
    cases = [case(f"n{n}", {"stdout": f"False {n}"}, stdin=f"{n}\n") for n in range(8)]
    report = judge_program(TRACING % (found, left), cases, jobs=1, inputs={"main.py.txt": "input"})
    assert results(report) == {f"n{n}": "passed" for n in range(8)}, report


# Which box it is: each has a file system of its own, made when it was.
WHICH = "import os\nprint('box', os.stat('/workspace').st_ctime_ns)\n"


def boxes_of(code, n_cases=8):
    cases = [case(f"n{n}", {"stdout": "x"}) for n in range(n_cases)]
    report = judge_program(code, cases, jobs=1)
    return [row["detail"].split("box ")[1].split()[0] for row in report["tests"]]


def test_a_program_that_leaves_nothing_keeps_its_box(place):
    assert len(set(boxes_of(WHICH))) == 1


def test_a_few_cases_have_a_box_each(place):
    """Watching one would cost more."""
    assert len(set(boxes_of(WHICH, 4))) == 4


def test_the_box_in_which_a_script_was_read_serves_its_first_case(place):
    """The process that read it had a number, too; the other cases have boxes of their own."""
    cases = [case(f"n{n}", {"stdout": "x"}) for n in range(4)]
    report = judge_program('echo "pid $$"\n', cases, language="sh", file="main.sh", jobs=1)
    first, *others = [int(row["detail"].split("pid ")[1].split()[0]) for row in report["tests"]]
    assert len(set(others)) == 1 and first > others[0]


@pytest.mark.parametrize("more", ["open('/tmp/x', 'w')", "raise SystemExit(os.fork() and 0)"])
def test_one_that_leaves_something_has_a_new_box_each_time(place, more):
    assert len(set(boxes_of(WHICH + more + "\n"))) == 8


def test_a_killed_case_ends_its_box(place):
    code = WHICH + "import sys, time\nsys.stdout.flush()\ntime.sleep(60 if sys.argv[1:] else 0)\n"
    cases = [case("n0", {"stdout": "x"}), case("n1", {"stdout": "x"}, argv=["slow"], timeout=1),
             *[case(f"n{n}", {"stdout": "x"}) for n in range(2, 8)]]
    report = judge_program(code, cases, jobs=1)
    first, slow, *others = [row["detail"].split("box ")[1].split()[0] for row in report["tests"]]
    assert results(report) == {"n0": "failed", "n1": "timeout", **{f"n{n}": "failed" for n in range(2, 8)}}
    assert first == slow and slow not in others


def test_files_arguments_and_inputs_are_there(place):
    code = ("import sys\nprint(sys.argv[1:], open('given.txt').read(), open('data/in.txt').read())\n"
            "try:\n    open('data/in.txt', 'w')\nexcept OSError:\n    print('read-only')\n")
    cases = [case("all", {"stdout": "['a b', '-x'] case input\nread-only"}, argv=["a b", "-x"],
                  files={"given.txt": "case"})]
    report = judge_program(code, cases, inputs={"data/in.txt": "input"})
    assert report["outcome"] == "passed", report


def test_a_case_cannot_bring_the_program(place):
    answer = drive(program_contract(), {"main.py": "print(5)\n"},
                   cases={"cases": [{**TWO, "files": {"main.py": "print(4)\n"}}]})
    assert answer["collect"]["code"] == 22 and "main.py" in answer["collect"]["error"]


def test_the_contracts_command_starts_it(place):
    contract = program_contract(files=["app/tool.py"], command=["python", "app/tool.py", "--twice"])
    report = judge_program({"app/tool.py": "import sys\nprint(sys.argv[1:])\n"},
                           [case("args", {"stdout": "['--twice', 'x']"}, argv=["x"])],
                           contract=contract)
    assert report["outcome"] == "passed", report


# A program that doubles a number, and one that nobody can read.
PROGRAMS = {
    "javascript": ("node", "main.js", "console.log(parseInt(require('fs').readFileSync(0)) * 2)\n",
                   "console.log(\n"),
    "typescript": ("tsc", "main.ts", "const n: number = parseInt(require('fs').readFileSync(0, 'utf8'));\n"
                   "console.log(n * 2)\n", "const n: number = ;\n"),
    "bash": ("bash", "main.bash", "shopt -s extglob\nread -r n\ncase $n in +([0-9])) echo $((n * 2));; esac\n",
             "if true; then echo 4\n"),
    "sh": ("sh", "main.sh", "read -r n\necho $((n * 2))\n", "if true; then echo 4\n"),
    "perl": ("perl", "main.pl", "print 2 * <STDIN>, \"\\n\";\n", None),
    "c": ("gcc", "main.c", '#include <stdio.h>\nint main(void){int n;scanf("%d",&n);printf("%d\\n",n*2);}',
          "int main(void) { return x; }\n"),
    "cpp": ("g++", "main.cpp", "#include <iostream>\nint main(){int n;std::cin>>n;std::cout<<n*2;}",
            "int main() { return x; }\n"),
    "go": ("go", "main.go", 'package main\nimport "fmt"\nfunc main() { var n int; fmt.Scan(&n); fmt.Println(2 * n) }',
           None),
    "rust": ("rustc", "main.rs", "fn main() { let mut s = String::new(); std::io::stdin().read_line(&mut s).unwrap();"
             'println!("{}", 2 * s.trim().parse::<i64>().unwrap()); }', "fn main( {\n"),
    "java": ("javac", "Main.java", "public class Main { record R(int n) {} public static void main(String[] a)"
             "{ System.out.println(new R(new java.util.Scanner(System.in).nextInt() * 2).n()); } }", None),
    "ruby": ("ruby", "main.rb", "puts STDIN.read.to_i * 2\n", "puts(4\n"),
    "php": ("php", "main.php", "<?php echo 2 * (int) fgets(STDIN);\n", "<?php echo 4\n"),
    "lua": ("lua", "main.lua", "print(io.read('n') * 2)\n", "print(4\n"),
}
PATH = "/usr/local/bin:/usr/bin:/bin" + (":/usr/local/go/bin" if pace.IS_PROOF else "")  # Go takes long
PRESENT = [name for name, program in PROGRAMS.items() if shutil.which(program[0], path=PATH)]


@pytest.mark.parametrize("language", PRESENT)
def test_a_program_of_any_language_meets_its_cases(place, language):
    _, file, code, _ = PROGRAMS[language]
    cases = [case(f"n{n}", {"stdout": str(2 * n)}, stdin=f"{n}\n") for n in range(3)]
    report = judge_program(code, cases, language, file)
    assert report["outcome"] == "passed", report


@pytest.mark.parametrize("language", [name for name in PRESENT if PROGRAMS[name][3]])
def test_what_cannot_be_read_is_told_before_anything_runs(place, language):
    """S3-08: code is validated before it is executed"""
    _, file, _, code = PROGRAMS[language]
    report = judge_program(code, [TWO], language, file)
    assert (report["outcome"], report["diagnosis"], report["tests"]) == ("failed", "syntax", []), report
    assert file in report["summary"], report


def test_every_file_of_a_program_is_read_first(place):
    contract = program_contract("bash", ["main.bash", "lib.bash"])
    code = {"main.bash": "echo 4\n", "lib.bash": "twice() {\n"}
    report = judge_program(code, [TWO], contract=contract)
    assert report["diagnosis"] == "syntax" and "lib.bash" in report["summary"], report


def test_a_text_is_read_by_the_interpreter_that_starts_it(place):
    """What bash takes and sh does not, begun with bash."""
    contract = program_contract("sh", ["main.sh"], command=["bash", "main.sh"])
    report = judge_program({"main.sh": "n=(4)\necho ${n[0]}\n"}, [TWO], contract=contract)
    assert report["outcome"] == "passed", report


def test_a_compiled_program_of_two_files_by_its_own_name(place):
    contract = program_contract("c", ["main.c", "twice.c", "twice.h"], command=["./double", "-v"])
    code = {"main.c": '#include "twice.h"\n#include <stdio.h>\nint main(int c, char **v)'
                      '{printf("%s %s %d\\n", v[0], v[1], twice(2));}',
            "twice.c": "int twice(int n) { return 2 * n; }\n", "twice.h": "int twice(int n);\n"}
    report = judge_program(code, [case("all", {"stdout": "./double -v 4"})], contract=contract)
    assert report["outcome"] == "passed", report


def test_a_program_that_does_not_compile(place):
    report = judge_program("int main(void) { return x; }\n", [TWO], "c", "main.c")
    assert (report["diagnosis"], report["tests"]) == ("syntax", [])
    assert "undeclared" in report["summary"]


def test_held_back_cases_keep_their_values(place):
    cases = [case(f"secret{n}", {"stdout": f"value{n}"}, ("normal", "edge", "stress")[n % 3])
             for n in range(6)]
    answer = drive(program_contract(), {"main.py": "print('value0 value1')\n"},
                   cases={"cases": cases})
    origins = [test["origin"] for test in answer["collect"]["tests"]]
    assert origins == ["derived", "derived", "held back"] * 2
    summary = answer["run"][0]["summary"]
    assert "2 tests that you do not see fail too: 2 stress." in summary
    assert "secret2" not in summary and "value5" not in summary and "secret4" in summary


def test_given_cases_are_never_held_back(place):
    cases = [case(f"example {n}", {"stdout": "x"}) for n in (1, 2, 3)]
    cases += [case(f"n{n}", {"stdout": "x"}) for n in range(3)]
    contract = program_contract(examples=[{"input": "", "output": "x"}] * 3)
    answer = drive(contract, {"main.py": "print('x')\n"}, "collect",
                   cases={"cases": cases})
    assert [test["origin"] for test in answer["collect"]["tests"]] == [
        "given", "given", "given", "derived", "derived", "held back"]


def test_withdrawn_cases_do_not_run(place):
    report = judge_program(DOUBLE, [TWO, case("wrong", {"stdout": "5"}, stdin="2\n")],
                           withdrawn=["wrong"])
    assert report["outcome"] == "passed"
    assert results(report) == {"two": "passed", "wrong": "skipped"}


LARGE = "x = [" + "1, " * 300_000 + "]\n"


def test_solutions_that_are_read_in_one_box_are_judged_by_themselves(place):
    """One of them takes the reader's memory: those behind it are read once more, each alone."""
    right = "print(int(input()) * 2)\n"
    codes = [right, "def broken(:\n", "import nowhere_at_all\n" + right, LARGE + right, right, right + "# 6\n"]
    answer = drive(program_contract(), [{"main.py": code} for code in codes], jobs=1,
                   cases={"cases": [case("it", {"stdout": "4"}, stdin="2\n")]}, limits={"memory_bytes": 96 << 20})
    told = [(report["outcome"], report["diagnosis"]) for report in answer["run"]]
    assert told == [("passed", "none"), ("failed", "syntax"), ("failed", "missing module"), ("failed", "syntax"),
                    ("passed", "none"), ("passed", "none")], answer
    assert "main.py:1" in answer["run"][1]["summary"] and "nowhere_at_all" in answer["run"][2]["summary"]
    assert "available: the standard library" in answer["run"][2]["summary"]
    assert "memory" in answer["run"][3]["summary"]


def test_a_matrix_of_solutions(place):
    good, same, bad, broken = DOUBLE, DOUBLE + "# more\n", "print(4)\n", "print(\n"
    cases = [case(f"n{n}", {"stdout": str(2 * n)}, stdin=str(n)) for n in range(1, 4)]
    answer = drive(program_contract(), [{"main.py": code} for code in (good, same, bad, broken)],
                   cases={"cases": cases})
    reports = answer["run"]
    assert [report["outcome"] for report in reports] == ["passed", "passed", "failed", "failed"]
    seen = [[row["seen"] for row in report["tests"]] for report in reports]
    assert seen[0] == seen[1] and seen[2][1] == seen[0][1] and seen[2][0] != seen[0][0]
    assert len(answer["progress"].splitlines()) == 9


def test_cancelling_ends_it_all(place):
    cases = [case(f"n{n}", {"stdout": "x"}, timeout=60) for n in range(8)]
    code = "import time, sys\ntime.sleep(0 if sys.stdin.read() else 60)\n"
    cases[0]["stdin"] = "go"
    answer = drive(program_contract(), {"main.py": code}, cases={"cases": cases}, cancel_after=1,
                   jobs=2)
    assert answer["run"]["code"] == 125 and answer["progress"] == "n0\n", answer


def test_one_start(place):
    answer = drive(program_contract(), {"main.py": "import sys\nprint(sys.argv[1:], input())\n"
                                                   "print('e', file=sys.stderr)\n"},
                   "try", args=["a", "b"], input="in\n")["try"]
    assert (answer["out"], answer["errors"]) == ("['a', 'b'] in\n", "e\n")
    assert (answer["diagnosis"], answer["exit_code"], answer["summary"]) == ("none", 0, None)


@pytest.mark.parametrize("code, diagnosis, exit_code", [
    ("print(\n", "syntax", 1),
    ("import sys\nprint('so far')\nsys.exit(3)\n", "crash", 3),
    ("while True: pass\n", "timeout", 124),
    ("__import__('no_such_module')\n", "missing module", 1),
])
def test_one_start_that_fails(place, code, diagnosis, exit_code):
    wall_ms = 1000 if diagnosis == "timeout" else 20000
    answer = drive(program_contract(), {"main.py": code}, "try", limits={"wall_ms": wall_ms})["try"]
    assert (answer["diagnosis"], answer["exit_code"]) == (diagnosis, exit_code), answer
    assert answer["summary"] and answer["timed_out"] is (diagnosis == "timeout")
    if exit_code == 3:
        assert "so far" in answer["summary"] and answer["out"] == "so far\n"


def test_of_long_output_the_end_is_told_too(place):
    code = ("import sys\nsys.stderr.write('first words\\n')\nfor n in range(300000):\n"
            "    sys.stderr.write(f'line {n}\\n')\nraise ValueError('last words')\n")
    report = judge_program(code, [TWO])
    detail = report["tests"][0]["detail"]
    assert "first words" in detail and "line 299999\n" in detail
    assert detail.rstrip().endswith("ValueError: last words")


def test_a_cases_own_file_goes_over_an_input_and_under_the_code(place):
    code = {"main.py": "from words import NAME\nprint(NAME, open('data.txt').read())\n",
            "words.py": "NAME = 'code'\n"}
    cases = [case("its own", {"stdout": "code case"},
                  files={"data.txt": "case", "words.py": "NAME = 'case'\n"}),
             case("the input", {"stdout": "code input"})]
    assert judge_program(code, cases, inputs={"data.txt": "input"})["outcome"] == "passed"


def test_only_the_contracts_examples_are_given(place):
    contract = program_contract(examples=[{"input": "2", "output": "4"}])
    cases = [case(name, {"stdout": "4"}, stdin="2")
             for name in ("example 1", "example 2", "example of mine", "a")]
    tests = drive(contract, {"main.py": DOUBLE}, "collect", cases={"cases": cases})["collect"]
    assert [test["origin"] for test in tests["tests"]] == [
        "given", "derived", "derived", "held back"]


# ---- whatever a box says ends in a report ---------------------------------------------------------

def test_code_with_too_much_to_say_about_is_diagnosed(place):
    code = "".join(f"import q{n}\n" for n in range(60000))
    report = judge_program(code, [TWO])
    assert (report["outcome"], report["diagnosis"]) == ("failed", "missing module"), report


def test_output_that_grows_when_it_is_written_down(place):
    code = "import sys\nfor out in (sys.stdout, sys.stderr):\n    out.write('\\x01' * (1 << 20))\n"
    said = drive(program_contract(), {"main.py": code}, "try")["try"]
    assert said["exit_code"] == 0 and said["cut"], said.keys()
    assert len(said["out"]) == len(said["errors"]) == 256 << 10


@pytest.mark.parametrize("text", ["'\\n' * 3999 + 'x'", "'\\x01' * 9999"])
def test_a_failure_with_strange_output_is_told(place, text):
    code = f"import sys\nfor out in (sys.stdout, sys.stderr):\n    out.write({text})\nsys.exit(1)\n"
    said = drive(program_contract(), {"main.py": code}, "try")["try"]
    assert said["diagnosis"] == "crash" and "exit code 1" in said["summary"], said


@pytest.mark.skipif(not shutil.which("javac"), reason="needs a compiler that makes many files")
def test_a_build_of_too_many_files_is_told(place):
    classes = "".join(f"    static class C{n} {{}}\n" for n in range(2100))
    code = f"class Main {{\n{classes}    public static void main(String[] a) {{}}\n}}\n"
    report = judge_program(code, [TWO], "java", "Main.java", limits={"memory_bytes": 1 << 30})
    assert (report["outcome"], report["tests"]) == ("failed", []), report
    assert "more than 2000 files" in report["summary"]


def test_files_that_cannot_lie_side_by_side_are_told(place):
    report = judge_program({"main.py": "print(4)\n", "a": "x", "a/b": "y"}, [TWO])
    assert report["outcome"] == "failed", report
    assert "Not a directory" in report["summary"] or "exists" in report["summary"], report


# ---- a deadline -----------------------------------------------------------------------------------

def test_what_had_no_time_is_a_timeout_that_says_so(place):
    report = judge_program(DOUBLE, [TWO], deadline_ms=0)
    assert (report["outcome"], report["diagnosis"]) == ("failed", "timeout")
    assert results(report) == {"two": "timeout"}
    assert "whole task" in report["tests"][0]["message"] and not report["tests"][0]["seen"]


def test_a_deadline_ends_what_runs(place):
    code = "import time\ntime.sleep(600)\n"
    report = judge_program(code, [{**TWO, "timeout": 20}], deadline_ms=3000)
    assert results(report) == {"two": "timeout"}
    assert "whole task" in report["tests"][0]["message"] and report["tests"][0]["ms"] < 15000
