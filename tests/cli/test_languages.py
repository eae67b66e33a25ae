# SPDX-License-Identifier: Apache-2.0
"""Every language: a program, its exit codes, its errors, arguments and input, and what its runtime
believes to have.

What is not installed here is checked for the error that names the package; the ten languages of
REQUIRED must run wherever the tests do.  Go compiles its whole library for every program (10-20 s of
CPU): in a check one program of Go does everything, in a proof it takes part in all.
"""
import collections
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lib import box, pace

Language = collections.namedtuple("Language", "ending program package hello exits fails talks")

# hello: prints "hello"; exits: ends with 7; fails: an error that nobody catches;
# talks: prints its arguments, one a line, then its standard input.
LANGUAGES = {
    "python": Language(
        "py", "python3", "python3", "print('hello')", "raise SystemExit(7)", "1 / 0",
        "import sys\nprint(*sys.argv[1:], sep='\\n')\nprint(sys.stdin.read(), end='')"),
    "javascript": Language(
        "js", "node", "nodejs", "console.log('hello')", "process.exit(7)", "throw new Error('x')",
        "process.argv.slice(2).forEach(a => console.log(a))\nprocess.stdin.pipe(process.stdout)"),
    "typescript": Language(
        "ts", "tsc", "node-typescript", "const word: string = 'hello'; console.log(word)",
        "process.exit(7)", "throw new Error('x')",
        "process.argv.slice(2).forEach((a: string) => console.log(a))\n"
        "process.stdin.pipe(process.stdout)"),
    "bash": Language(
        "bash", "bash", "bash", "w=(h e l l o); printf %s \"${w[@]}\"; echo", "exit 7",
        "set -e; false", 'printf "%s\\n" "$@"; cat'),
    "sh": Language("sh", "sh", "dash", "echo hello", "exit 7", "set -e; false",
                   'printf "%s\\n" "$@"; cat'),
    "perl": Language("pl", "perl", "perl", 'print "hello\\n"', "exit 7", "die 'x'",
                     'print "$_\\n" for @ARGV; print while <STDIN>'),
    "c": Language(
        "c", "gcc", "gcc libc6-dev", '#include <stdio.h>\nint main(void) { puts("hello"); }',
        "int main(void) { return 7; }", "#include <stdlib.h>\nint main(void) { abort(); }",
        '#include <stdio.h>\nint main(int n, char **v) { for (int i = 1; i < n; i++) puts(v[i]);\n'
        "int c; while ((c = getchar()) != EOF) putchar(c); return 0; }"),
    "cpp": Language(
        "cpp", "g++", "g++", '#include <iostream>\nint main() { std::cout << "hello\\n"; }',
        "int main() { return 7; }", "#include <vector>\nint main() { std::vector<int>().at(1); }",
        "#include <iostream>\nint main(int n, char **v) { for (int i = 1; i < n; i++) std::cout << v[i]"
        " << '\\n'; std::cout << std::cin.rdbuf(); }"),
    "go": Language(
        "go", "go", "golang-go", 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }',
        'package main\nimport "os"\nfunc main() { os.Exit(7) }',
        'package main\nfunc main() { panic("x") }',
        'package main\nimport ("fmt"; "io"; "os")\nfunc main() { for _, a := range os.Args[1:] '
        "{ fmt.Println(a) }; io.Copy(os.Stdout, os.Stdin) }"),
    "rust": Language(
        "rs", "rustc", "rustc gcc", 'fn main() { println!("hello"); }',
        "fn main() { std::process::exit(7); }", 'fn main() { panic!("x"); }',
        "use std::io;\nfn main() { for a in std::env::args().skip(1) { println!(\"{}\", a); }\n"
        "io::copy(&mut io::stdin(), &mut io::stdout()).unwrap(); }"),
    "java": Language(
        "java", "javac", "default-jdk-headless",
        'public class Hello { public static void main(String[] a) { System.out.println("hello"); } }',
        "class Exits { public static void main(String[] a) { System.exit(7); } }",
        'class Fails { public static void main(String[] a) { throw new RuntimeException("x"); } }',
        "class Talks { public static void main(String[] a) throws Exception { for (String s : a) "
        "System.out.println(s); System.in.transferTo(System.out); System.out.flush(); } }"),
    "ruby": Language("rb", "ruby", "ruby", "puts 'hello'", "exit 7", "raise 'x'",
                     "puts ARGV; print STDIN.read"),
    "php": Language("php", "php", "php-cli", "<?php echo \"hello\\n\";", "<?php exit(7);",
                    "<?php throw new Exception('x');",
                    "<?php foreach (array_slice($argv, 1) as $a) echo \"$a\\n\"; echo "
                    "stream_get_contents(STDIN);"),
    "lua": Language("lua", "lua", "lua5.4", "print('hello')", "os.exit(7)", "error('x')",
                    "for _, a in ipairs(arg) do print(a) end io.write(io.read('a'))"),
    "r": Language("R", "Rscript", "r-base-core", 'cat("hello\\n")', 'quit(status = 7)', 'stop("x")',
                  'writeLines(commandArgs(TRUE)); writeLines(readLines(file("stdin")))'),
}

# How an uncaught error ends the program; 1 elsewhere.
FAILS_WITH = {"c": ("signal", None, 6), "cpp": ("signal", None, 6), "go": ("nonzero", 2, None),
              "rust": ("nonzero", 101, None), "php": ("nonzero", 255, None)}
FAILS_BY_DIE = {"perl": ("nonzero", 255, None)}

COMPILED = ["typescript", "c", "cpp", "go", "rust", "java"]
REQUIRED = ["python", "javascript", "bash", "sh", "perl", "c", "cpp", "go", "java", "rust"]
BROKEN = {
    "typescript": "const x: number = 'text'\n", "c": "int main(void) { return missing; }\n",
    "cpp": "int main() { return missing; }\n", "go": "package main\nfunc main() { missing() }\n",
    "rust": "fn main() { missing() }\n",
    "java": "class Broken { public static void main(String[] a) { missing(); } }\n",
}
COMPILER_EXITS = {"typescript": {1}, "c": {1}, "cpp": {1}, "go": {1, 2}, "rust": {1}, "java": {1}}  # by version


def rust_toolchain():
    """The tree of a compiler outside /usr, which may be rustup's; None without one."""
    rustc = shutil.which("rustc")
    if not rustc:
        return None
    told = subprocess.run([rustc, "--print", "sysroot"], capture_output=True, text=True, check=False)
    tree = Path(told.stdout.strip())
    return tree if told.returncode == 0 and (tree / "bin" / "rustc").exists() else None


# Asked for here: in a test HOME is another one.
RUST = rust_toolchain()


def in_usr(program):
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"
    return shutil.which(program, path=path) is not None


def toolchains(name):
    """What --toolchain must show so that the language can run."""
    if name == "rust" and not in_usr("rustc"):
        return [RUST] if RUST else []
    return []


def is_there(name):
    return in_usr(LANGUAGES[name].program) or bool(toolchains(name))


def run(name, code, **request):
    request.setdefault("timeout", 60)
    return box.run(code, language=name, toolchains=toolchains(name), **request)


PRESENT = [name for name in LANGUAGES if is_there(name)]
QUICK = PRESENT if pace.IS_PROOF else [n for n in PRESENT if n != "go"]


def test_the_languages_that_must_be_here_are():
    assert not [name for name in REQUIRED if name not in PRESENT]


@pytest.mark.parametrize("name", [name for name in LANGUAGES if name not in PRESENT] or ["r"])
def test_a_missing_toolchain_names_the_package(name):
    if name in PRESENT:
        pytest.skip("every language is installed here")
    result = box.run(LANGUAGES[name].hello, language=name)
    assert result.returncode == 2 and result.verdict == "sandbox_error", result
    assert f"apt install {LANGUAGES[name].package}" in result.error["remedy"], result
    message = result.error["message"]
    assert name in message and LANGUAGES[name].program in message and "remedy" not in message, result
    plain = box.run(LANGUAGES[name].hello, language=name, as_json=False)
    text = plain.err.decode()
    assert plain.out == b"" and f"apt install {LANGUAGES[name].package}" in text, plain
    assert name in text and LANGUAGES[name].program in text and len(text.splitlines()) <= 2


@pytest.mark.parametrize("name", QUICK)
def test_hello(name):
    result = run(name, LANGUAGES[name].hello)
    assert (result.verdict, result.stdout, result.stderr) == ("ok", "hello\n", ""), result
    assert (result.language, result.survivors) == (name, 0), result
    assert result.files == [], "a compiler left its files in the workspace"
    if name in COMPILED:
        assert [step["name"] for step in result.steps] == ["compile", "run"], result
        assert result.failed_step is None and result.steps[0]["verdict"] == "ok"
    else:
        assert result.steps is None, result


@pytest.mark.parametrize("name", QUICK)
def test_its_exit_code_is_the_commands(name):
    result = run(name, LANGUAGES[name].exits)
    assert (result.verdict, result.exit_code, result.returncode) == ("nonzero", 7, 7), result
    assert result.steps is None or result.failed_step == "run"


@pytest.mark.parametrize("name", QUICK)
def test_an_error_at_run_time(name):
    result = run(name, LANGUAGES[name].fails)
    expected = {**FAILS_WITH, **FAILS_BY_DIE}.get(name, ("nonzero", 1, None))
    assert (result.verdict, result.exit_code, result.signal) == expected, result
    assert result.stderr or name in ("bash", "sh", "c"), result


@pytest.mark.parametrize("name", QUICK)
def test_arguments_and_input(name):
    words = ["plain", "two words", "*", "--help", "ü", "a'b\"c", "$HOME"]
    result = run(name, LANGUAGES[name].talks, args=words, stdin=b"line one\nline two\n")
    assert result.verdict == "ok", result
    assert result.stdout.splitlines() == [*words, "line one", "line two"], result


@pytest.mark.parametrize("name", [name for name in COMPILED if name in PRESENT])
def test_an_error_of_the_compiler(name):
    result = run(name, BROKEN[name], cpus=2)
    assert (result.verdict, result.failed_step) == ("nonzero", "compile"), result
    assert result.exit_code == result.returncode and result.exit_code in COMPILER_EXITS[name], result
    assert [step["name"] for step in result.steps] == ["compile"]
    assert "missing" in result.stderr or name == "typescript", result


@pytest.mark.parametrize("name", [name for name in COMPILED if name in QUICK])
def test_an_error_of_the_compiler_without_json(name):
    plain = run(name, BROKEN[name], as_json=False)
    assert plain.returncode in COMPILER_EXITS[name] and plain.out == b"" and plain.err, plain


@pytest.mark.parametrize("name", QUICK)
def test_by_the_ending_of_the_file(place, name):
    source = place.cwd / f"Hello.{LANGUAGES[name].ending}"
    source.write_text(LANGUAGES[name].hello)
    result = box.run(path=source, toolchains=toolchains(name), timeout=60)
    assert (result.verdict, result.language, result.stdout) == ("ok", name, "hello\n"), result


# ---- choosing -----------------------------------------------------------------------------------

SHEBANGS = {
    "#!/usr/bin/python3": ("python", "print('hello')"),
    "#!/usr/bin/env python3": ("python", "print('hello')"),
    "#! /usr/bin/env -S python3 -u": ("python", "print('hello')"),
    "#!/usr/bin/python3.11 -I": ("python", "print('hello')"),
    "#!/bin/sh": ("sh", "echo hello"),
    "#!/bin/bash -e": ("bash", "w=(hello); echo ${w[0]}"),
    "#!/usr/bin/perl -w": ("perl", 'print "hello\\n"'),
    "#!/usr/bin/env node": ("javascript", "console.log('hello')"),
}


@pytest.mark.parametrize("line", SHEBANGS)
def test_by_the_first_line(place, line):
    language, code = SHEBANGS[line]
    source = place.cwd / "program"
    source.write_text(f"{line}\n{code}\n")
    result = box.run(path=source)
    assert (result.verdict, result.language, result.stdout) == ("ok", language, "hello\n"), result
    inline = box.run(f"{line}\n{code}\n")
    assert (inline.verdict, inline.language) == ("ok", language), inline


def test_the_option_beats_ending_and_first_line(place):
    source = place.cwd / "program.py"
    source.write_text("#!/usr/bin/perl\necho $0 hello | sed 's,.*/,,'\n")
    result = box.run(path=source, language="sh")
    assert (result.language, result.stdout) == ("sh", "program.py hello\n"), result


def test_the_ending_beats_the_first_line(place):
    source = place.cwd / "program.py"
    source.write_text("#!/bin/sh\nprint('hello')\n")
    assert box.run(path=source).language == "python"


ALIASES = {"py": "python", "python3": "python", "PYTHON": "python", "js": "javascript",
           "node": "javascript", "c++": "cpp", "golang": "go", "rs": "rust", "ts": "typescript"}


@pytest.mark.parametrize("alias", [a for a in ALIASES if ALIASES[a] in QUICK])
def test_other_names_of_a_language(alias):
    name = ALIASES[alias]
    result = box.run(LANGUAGES[name].hello, language=alias, toolchains=toolchains(name), timeout=60)
    assert (result.language, result.stdout) == (name, "hello\n"), result


@pytest.mark.parametrize("request_", [{"language": "cobol"}, {}])
def test_a_language_that_cannot_be_known(place, request_):
    source = place.cwd / "program"
    source.write_text("hello\n")
    result = box.run(path=source, as_json=False, **request_)
    assert result.returncode == 2 and result.out == b"", result
    assert result.err.startswith(b"glovebox: ") and len(result.err.splitlines()) <= 2, result


# ---- details that people meet -------------------------------------------------------------------

def test_python_sees_its_own_file_and_neighbours(place):
    (place.cwd / "helper.py").write_text("word = 'from next door'\n")
    source = place.cwd / "script.py"
    source.write_text("import helper, sys\nprint(helper.word, sys.argv[0], __file__, __name__)\n")
    result = box.run(path=source, files=[place.cwd / "helper.py"])
    assert result.stdout == "from next door /workspace/script.py /workspace/script.py __main__\n", result


def test_python_is_unbuffered():
    with box.start("print('one'); input()", language="python") as living:
        living.expect(b"one\n")
        living.send(b"\n")
        assert living.end()[0] == 0


def test_javascript_modules(place):
    (place.cwd / "m.mjs").write_text("import fs from 'fs'; console.log(typeof fs.readFileSync)\n")
    (place.cwd / "m.cjs").write_text("console.log(typeof require('fs').readFileSync)\n")
    for name in ("m.mjs", "m.cjs"):
        assert box.run(path=place.cwd / name).stdout == "function\n"
    result = box.run("import os from 'os'; console.log(typeof os.cpus)", language="javascript")
    assert result.stdout == "function\n", result


def test_a_java_class_may_have_any_name_and_package():
    code = "package a.b;\nclass Other {}\npublic class Named {\n  public static void main(String[] a) " \
           "{ System.out.println(Named.class.getName()); }\n}\n"
    result = box.run(code, language="java", timeout=60)
    assert (result.verdict, result.stdout) == ("ok", "a.b.Named\n"), result


def test_c_warnings_of_a_good_program_are_in_its_step():
    result = box.run('#warning careful\n#include <stdio.h>\nint main(void) { fputs("err", stderr); }',
                     language="c")
    assert (result.verdict, result.stderr) == ("ok", "err"), result
    assert "careful" in result.steps[0]["stderr"], result


def test_limits_hold_for_the_compiler_too():
    """#include of an endless file: the compile step is killed and told as such."""
    result = box.run('#include "/dev/zero"\n', language="c", timeout=2, memory="128m")
    assert result.failed_step == "compile", result
    assert result.verdict in ("timeout", "cpu", "memory", "nonzero") and result.survivors == 0, result
    slow = "int main() { int x = 0; " + "x += (x * 7) ^ (x >> 3);" * 200000 + " return x; }\n"
    words = box.command(path="-", language="cpp", timeout=1)
    result = box.run_words(words, input=slow.encode())
    assert (result.verdict, result.failed_step, result.returncode) == ("timeout", "compile", 124), result
    assert result.survivors == 0


# ---- what runtimes believe to have --------------------------------------------------------------

MEMORY = 256 << 20

JAVA_HEAP = """
import java.util.*;
class Heap { public static void main(String[] a) {
    System.out.println(Runtime.getRuntime().maxMemory());
    System.out.println(Runtime.getRuntime().availableProcessors());
    List<byte[]> kept = new ArrayList<>();
    try { while (true) kept.add(new byte[1 << 20]); }
    catch (OutOfMemoryError e) { int n = kept.size(); kept = null; System.out.println("caught " + (n > 50)); }
} }
"""


def test_java_runs_out_of_heap_before_it_runs_out_of_memory():
    result = box.run(JAVA_HEAP, language="java", memory=MEMORY, timeout=60)
    assert result.verdict == "ok", result
    heap, cpus, caught = result.stdout.splitlines()
    assert MEMORY // 4 < int(heap) < MEMORY and caught == "caught true", result
    assert int(cpus) == 1


def test_an_uncaught_out_of_memory_in_java_is_javas_error():
    code = "import java.util.*;\nclass Eat { public static void main(String[] a) { List<long[]> x = " \
           "new ArrayList<>(); while (true) x.add(new long[100000]); } }"
    result = box.run(code, language="java", memory=MEMORY, timeout=60)
    assert (result.verdict, result.exit_code) == ("nonzero", 1), result
    assert "java.lang.OutOfMemoryError" in result.stderr


def test_node_has_a_heap_below_the_limit():
    code = "console.log(require('v8').getHeapStatistics().heap_size_limit)"
    result = box.run(code, language="javascript", memory=MEMORY)
    assert MEMORY // 4 < int(result.stdout) < MEMORY, result


def test_node_runs_out_of_heap_before_it_runs_out_of_memory():
    code = "const x = []; for (;;) x.push(new Array(1000).fill(Math.random()))"
    result = box.run(code, language="javascript", memory=MEMORY, timeout=60)
    assert (result.verdict, result.signal) == ("signal", 6), result
    assert "heap out of memory" in result.stderr


CPU_COUNTS = {
    "java": ("class C { public static void main(String[] a) { System.out.println("
             "Runtime.getRuntime().availableProcessors()); } }"),
    "go": 'package main\nimport ("fmt"; "runtime")\nfunc main() { fmt.Println(runtime.GOMAXPROCS(0)) }',
}


@pytest.mark.parametrize("name", [name for name in CPU_COUNTS if name in QUICK])
@pytest.mark.parametrize("cpus, seen", [(0.5, 1), (1, 1), (2, 2)])
def test_runtimes_see_the_number_of_cpus(name, cpus, seen):
    result = box.run(CPU_COUNTS[name], language=name, cpus=cpus, timeout=60)
    assert result.stdout == f"{seen}\n", result


GO = """package main
import ("fmt"; "io"; "os"; "runtime")
var keep [64][]byte
func main() {
    for _, a := range os.Args[1:] { fmt.Println(a) }
    io.Copy(os.Stdout, os.Stdin)
    fmt.Println(runtime.GOMAXPROCS(0))
    for i := 0; i < 3000; i++ { keep[i%64] = make([]byte, 1<<20); keep[i%64][i] = 1 }
    fmt.Fprintln(os.Stderr, "alive")
    os.Exit(7)
}"""


def test_go_in_one_program(place):
    """By its ending: arguments, input, CPUs, exit code; and garbage of several times the limit, of
    which little is alive, is collected before the kernel has to kill."""
    source = place.cwd / "program.go"
    source.write_text(GO)
    result = box.run(path=source, cpus=2, timeout=300, args=["a b", "--c"], stdin=b"input\n", outer=330)
    assert (result.verdict, result.exit_code, result.failed_step) == ("nonzero", 7, "run"), result
    assert (result.stdout, result.stderr) == ("a b\n--c\ninput\n2\n", "alive\n"), result
    assert [step["verdict"] for step in result.steps] == ["ok", "nonzero"], result


def test_threads_of_every_runtime_work():
    code = "import concurrent.futures as c, multiprocessing as m\n" \
           "print(sum(c.ThreadPoolExecutor(8).map(int, range(100))))\n" \
           "print(sum(m.Pool(4).map(abs, range(100))))"
    result = box.run(code, language="python")
    assert result.stdout == "4950\n4950\n", result
    code = "const {Worker} = require('worker_threads');\n" \
           "new Worker('require(\"worker_threads\").parentPort.postMessage(42)', {eval: true})" \
           ".on('message', console.log)"
    assert box.run(code, language="javascript").stdout == "42\n"


def test_subprocesses_of_a_program_are_found_on_its_path():
    result = box.run("import subprocess\nprint(subprocess.run(['perl', '-e', 'print 42'], "
                     "capture_output=True, text=True).stdout)", language="python")
    assert result.stdout == "42\n", result


def test_every_path_is_the_boxs_own():
    """No program of the host's PATH that lies outside is found by accident."""
    result = box.run("echo $PATH; echo $HOME; pwd", language="sh",
                     host_env={"PATH": "/opt/evil:" + os.environ.get("PATH", "")})
    path, home, cwd = result.stdout.split()
    assert "/opt/evil" not in path and "/root" not in path and home != os.environ.get("HOME"), result
    assert cwd == "/workspace"
