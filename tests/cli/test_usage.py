# SPDX-License-Identifier: Apache-2.0
"""Help, version, and command lines that are wrong: one clear line, and nothing is started."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from calls import call, environment, refused
from lib import place as places

COMMANDS = ["run", "runs list", "runs show", "runs answer", "runs replay", "runs rm", "exec", "box create", "box run",
            "box runs", "box logs", "box wait", "box kill", "box stats", "box net", "box ports", "box put", "box get", "box ls", "box stat", "box rmfile", "box list", "box rm", "box prune", "tool", "image pull", "image build", "image list", "image rm", "image prune",
            "cache list", "cache prune", "cache rm", "doctor", "models",
            "config show", "config trust", "version"]


@pytest.fixture
def hello(place):
    (place.cwd / "hello.py").write_text("print(1)\n")
    return place


def dumped(place):
    """kind -> rows of what the build makes the man pages from."""
    rows = {}
    for line in call(place, "--dump-options").stdout.decode().splitlines():
        kind, *fields = line.split("\t")
        rows.setdefault(kind, []).append(fields)
    return rows


# ---- help and version ------------------------------------------------------------------------

@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_help_names_every_command(place, words):
    answer = call(place, *words)
    assert (answer.returncode, answer.stderr) == (0, b"")
    for name in COMMANDS:
        assert f"  {name} " in answer.stdout.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_fits_a_screen(place, name):
    answer = call(place, *name.split(), "--help")
    lines = answer.stdout.decode().splitlines()
    assert (answer.returncode, answer.stderr) == (0, b"")
    assert lines[0].startswith(f"Usage: glovebox {name} ")
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert call(place, "help", *name.split()).stdout == answer.stdout
    assert call(place, *name.split(), "-h").stdout == answer.stdout


@pytest.mark.parametrize("words", [["config", "--help"], ["config", "-h"], ["help", "config"]])
def test_help_of_a_group_lists_its_commands(place, words):
    answer = call(place, *words)
    assert (answer.returncode, answer.stderr) == (0, b"")
    lines = answer.stdout.decode().splitlines()
    assert lines[0] == "Usage: glovebox config COMMAND [OPTIONS]"
    assert [line.split()[:2] for line in lines if line.startswith("  ")] == [["config", "show"], ["config", "trust"]]


def test_help_man_and_parser_have_the_same_options(place):
    rows = dumped(place)
    assert [row[0] for row in rows["command"]] == COMMANDS
    for command, letter, option, argument, *_ in rows["option"]:
        text = call(place, *command.split(), "--help").stdout.decode()
        shown = f"--{option} {argument}" if argument != "-" else f"--{option}"
        assert re.search(re.escape(shown) + r"( |$)", text, re.MULTILINE)
        if argument != "-":
            answer = call(place, *command.split(), f"--{option}")
            refused(answer, f"--{option} needs an argument")
            if letter != "-":
                refused(call(place, *command.split(), f"-{letter}"), f"--{option} needs an argument")


def test_the_manual_has_every_option_key_and_wall(place):
    pages = Path(os.environ.get("GLOVEBOX_BUILD", places.ROOT / "build")) / "man"
    text = {page.name: page.read_text().replace("\\&", "").replace("\\", "")
            for page in pages.glob("glovebox*.[15]")}
    rows = dumped(place)
    for command, _, option, *_ in rows["option"]:
        if command != "version":
            page = f"glovebox-{command.split()[0]}.1"
            assert f"--{option}fR" in text[page], (page, option)
    for name, *_ in rows["key"]:
        assert f"{name}fR" in text["glovebox.5"]
    for name, _ in rows["wall"]:
        assert f"{name}fR" in text["glovebox.1"]


def test_version_is_said_in_three_ways(place):
    line = call(place, "version").stdout.decode()
    document = json.loads(call(place, "version", "--json").stdout)
    assert document["schema"] == 1
    assert line == f"glovebox {document['version']} ({document['commit']})\n"
    assert call(place, "--version").stdout.decode() == line


def test_version_and_help_read_no_configuration(place):
    (place.cwd / "glovebox.yaml").write_text("nonsense: [\n")
    for words in (["version"], ["--help"], ["exec", "--help"]):
        assert call(place, *words).returncode == 0
    refused(call(place, "config", "show"), "glovebox.yaml:")
    trace = place.tmp / "trace"
    subprocess.run(["strace", "-f", "-o", trace, "-e", "trace=open,openat,openat2,execve,clone,clone3",
                    places.binary(), "version"], check=True, stdout=subprocess.DEVNULL,
                   cwd=place.cwd, env=environment(place, ASAN_OPTIONS="detect_leaks=0"))
    text = trace.read_text()
    trace.unlink()
    assert "glovebox.yaml" not in text and ".env" not in text and "clone(" not in text and "clone3(" not in text


# ---- bad input -------------------------------------------------------------------------------

@pytest.mark.parametrize("words,part", [
    ([], "which command?"),
    (["exce"], "unknown command 'exce', did you mean 'exec'?"),
    (["zzzzzz"], "'glovebox --help' lists them"),
    (["--josn"], "unknown option '--josn'"),
    (["config"], "config: one of show, trust must follow 'config'; 'glovebox config --help' explains them"),
    (["config", "shwo"], "unknown command 'config shwo', did you mean 'config show'?"),
    (["box", "zzzzzz"], "unknown command 'zzzzzz': one of create, run,"),
    (["box", "creat"], "unknown command 'box creat', did you mean 'box create'?"),
    (["version", "x"], "unexpected argument 'x'"),
    (["version", "--"], "unexpected argument '--'"),
    (["version", "--json=1"], "--json takes no argument"),
    (["doctor", "x"], "unexpected argument 'x'"),
    (["doctor", "--delegate", "../root"], "'../root' is no user's name"),
    (["doctor", "--delegate", ""], "'' is no user's name"),
    (["doctor", "--delegate", "-x"], "'-x' is no user's name"),
    (["doctor", "--plan", "--delegate", "me"], "exclude each other"),
    (["help", "nothing"], "unknown command 'nothing'"),
])
def test_wrong_command_lines(place, words, part):
    refused(call(place, *words), part)


@pytest.mark.parametrize("words,part", [
    (["--timeot", "3"], "unknown option '--timeot', did you mean '--timeout'?"),
    (["-x"], "unknown option '-x'"),
    (["--timeout"], "--timeout needs an argument"),
    (["--json=yes"], "--json takes no argument"),
    (["second.py"], "arguments of the program stand behind --"),
    (["-c", "print(1)"], "-c CODE and 'hello.py' exclude each other"),
    (["-l", "pyhton"], "unknown language 'pyhton', did you mean 'python'?"),
    (["--net", "a.org:http"], "has no port from 1 to 65535"),
    (["--net="], "--net: '' is empty"),
    (["--image", "python:3.12-slim"], "only the image 'host'"),
    (["--image="], "--image: '' cannot be used"),
    (["--backend", "podman"], "allowed is native, docker or disabled"),
    (["--require", "moat"], "no wall is named 'moat'"),
    (["--allow-missing", ""], "no wall is named ''"),
    (["--workdir", "app"], "--workdir: 'app' is no absolute path"),
    (["--workdir", "/app/../etc"], "is no absolute path without"),
    (["--workdir", "/"], "is no absolute path"),
    (["--workspace", "nowhere"], "--workspace: nowhere: No such file"),
    (["--workspace", "hello.py"], "is no directory"),
    (["--toolchain", "relative"], "--toolchain: 'relative' cannot be used"),
    (["--toolchain", "/opt/../root"], "--toolchain: '/opt/../root' cannot be used"),
    (["--toolchain="], "--toolchain: '' cannot be used"),
])
def test_wrong_options_of_exec(hello, words, part):
    refused(call(hello, "exec", "hello.py", *words), part)


@pytest.mark.parametrize("words,parts", [
    (["--memory", "0"], ["allowed is 1 MiB to 64 TiB, such as 512m"]),
    (["--memory", "65536"], ["1 MiB to 64 TiB is allowed"]),
    (["--memory", "99999999999999999999"], ["allowed is 1 MiB to 64 TiB"]),
    (["--disk", "x"], ["allowed is 64 KiB to 64 TiB"]),
    (["--pids", "0"], ["allowed is a whole number, 1 to 32768"]), (["--pids", "99999"], ["1 to 32768 is allowed"]),
    (["--cpus", "0"], ["allowed is 0.01 to 1024"]),
    (["-l", ""], ["unknown language ''", "say one of python, javascript, typescript, bash, sh, c, cpp"]),
    (["-l", "cobol"], ["unknown language 'cobol'", "python", "rust"]),
    (["--width", "800"], ["unknown option '--width'", "behind --: FILE -- ARGS"]),
    (["--toolchain", "/"], ["toolchain '/'", "bin"]),
])
def test_what_is_advised_is_true(hello, words, parts):
    text = refused(call(hello, "exec", "hello.py", *words), *parts)
    assert "65536, " not in text and "more than 0" not in text


def test_the_smallest_and_largest_that_are_told_are_taken(hello):
    for words in (["--memory", "1m"], ["--memory", "64t"], ["--disk", "64k"], ["--pids", "32768"],
                  ["--cpus", "0.01"], ["--cpus", "1024"]):
        answer = call(hello, "exec", "--backend", "disabled", *words, "hello.py")
        refused(answer, "running code is disabled", code=125)


def test_nobody_is_told_to_open_a_home(hello):
    if os.stat("/root").st_mode & 0o005 == 0o005:
        pytest.skip("/root is open already")
    text = refused(call(hello, "exec", "--toolchain", "/root", "hello.py"), "home directory", "/opt")
    assert "chmod" not in text


LIMITS = ["timeout", "cpu-time", "memory", "cpus", "pids", "disk", "output-max"]


@pytest.mark.parametrize("option", LIMITS)
@pytest.mark.parametrize("value", [
    "0", "-1", "nan", "NaN", "inf", "1e9", "0x10", "", " 5", "5 ", "5x", "+5", "0.0000000001x",
    "99999999999999999999999999", "18446744073709551615", "9223372036854775807", "１２",
])
def test_limits_that_make_no_sense(hello, option, value):
    refused(call(hello, "exec", f"--{option}={value}", "hello.py"), f"--{option}: ")


@pytest.mark.parametrize("value,part", [
    ("A", "'A' is not NAME=VALUE"),
    ("=x", "'' is no name"),
    ("1A=x", "'1A' is no name"),
    ("A-B=x", "'A-B' is no name"),
    ("A B=x", "'A B' is no name"),
    ("A\nB=x", "'A^JB' is no name"),
    ("\x1b[2J=x", "'^[[2J' is no name"),
    ("Ä=x", "is no name"),
    (b"A\xff=x", "is no name"),
    ("A" * 300 + "-=x", "is no name"),
])
def test_bad_names_of_variables(hello, value, part):
    refused(call(hello, "exec", "--env", value, "hello.py"), "--env: ", part)


@pytest.mark.parametrize("words,part", [
    (["nowhere.py"], "nowhere.py: No such file or directory"),
    (["."], ".: is a directory"),
    (["/"], "/: is a directory"),
    (["hello.py/x"], "hello.py/x: Not a directory"),
    (["unknown.xyz"], "unknown.xyz: which language is it? Say -l LANG"),
    ([b"\xff\xfe.py"], "the file's name: '\\xff\\xfe.py' is not UTF-8"),
    (["x" * 300 + ".py"], "File name too long"),
    (["-c", "print(1)"], "-c: which language is it?"),
    (["-"], "stdin: which language is it?"),
    (["-l", "python", "--stdin", "-"], "- and --stdin exclude each other"),
    (["-l", "python"], "what is to run?"),
    (["-l", "python", "--", "true"], "-l needs a FILE"),
    (["--"], "what is to run?"),
    ([""], "the FILE's name is empty"),
    (["--", ""], "the program's name is empty"),
])
def test_programs_that_cannot_be_run(hello, words, part):
    (hello.cwd / "unknown.xyz").write_text("x\n")
    with open(os.fsencode(hello.cwd) + b"/\xff\xfe.py", "w") as file:
        file.write("print(1)\n")
    refused(call(hello, "exec", *words), part)


@pytest.mark.parametrize("option,value,part", [
    ("--file", "nowhere", "--file: nowhere: No such file"),
    ("--file", ".", "'.' is no path in the box"),
    ("--file", "/tmp:x", "is no regular file; --workspace takes a directory"),
    ("--file", "/dev/zero", "is no regular file"),
    ("--file", "fifo", "is no regular file"),
    ("--file", "hello.py:../x", "'../x' is no path in the box"),
    ("--file", "hello.py:a/../../x", "is no path in the box"),
    ("--file", "hello.py:/a/../x", "is no path in the box"),
    ("--file", "hello.py:", "'' is no path in the box"),
    ("--file", "hello.py:x/", "'x/' is no path in the box"),
    ("--file", "hello.py:/", "'/' is no path in the box"),
    ("--file", "", "'' is no path in the box"),
    ("--file", b"hello.py:\xff", "is not UTF-8"),
    ("--out", "..", "'..' is no path in the box"),
    ("--out", "a/../b", "is no path in the box"),
    ("--out", "", "is no path in the box"),
    ("--out", "x:nowhere/y", "--out: nowhere/: No such file"),
    ("--out", "x:", "'' is no file name"),
    ("--out", "x:/tmp/", "'/tmp/' is no file name"),
    ("--out", "x:/tmp", "--out: /tmp: is no regular file, character device or pipe"),
    ("--out", b"\xff", "is not UTF-8"),
])
def test_files_that_cannot_be_copied(hello, option, value, part):
    os.mkfifo(hello.cwd / "fifo")
    refused(call(hello, "exec", option, value, "hello.py"), part)


@pytest.mark.parametrize("words,part,code", [
    (["nowhere.py"], "nowhere.py: No such file", 2), (["-l", "pyhton", "hello.py"], "unknown language", 2),
    (["--memory", "lots", "hello.py"], "--memory: ", 2), (["--image", "foo", "hello.py"], "'host'", 2),
    (["--env", "A", "hello.py"], "'A' is not NAME=VALUE", 2), (["--timeot", "3"], "unknown option", 2),
    (["--backend", "docker", "--image", "host", "hello.py"], "of its engine", 2),
    (["--timeout"], "needs an argument", 2),
    (["--backend", "disabled", "hello.py"], "running code is disabled", 125), ([], "what is to run?", 2),
    (["--file", "nowhere", "hello.py"], "--file: nowhere", 2), (["--out", "x:/tmp", "hello.py"], "/tmp", 2),
    (["--workspace", "nowhere", "hello.py"], "nowhere", 2), (["--require", "moat", "hello.py"], "moat", 2),
])
def test_with_json_every_refusal_is_a_document(hello, words, part, code):
    for place_of_json in (["--json", *words], [*words, "--json"]):
        if place_of_json[-2:] == ["--timeout", "--json"]:
            continue  # there it is the argument
        answer = call(hello, "exec", *place_of_json)
        document = json.loads(answer.stdout)
        assert answer.returncode == code and document["verdict"] == "sandbox_error", answer
        assert part in document["error"]["message"] and "\n" not in document["error"]["message"]
        assert document["schema"] == 1 and document["id"].startswith("r_") and document["receipt"] is None
        assert (document["exit_code"], document["stdout"], document["files"]) == (None, "", [])
        lines = answer.stderr.decode().splitlines()
        assert lines[0].startswith("glovebox: ") and part in lines[0], answer
        assert (document["error"]["remedy"] is not None) == (len(lines) == 2), answer
    plain = call(hello, "exec", *words, *([] if "--timeout" in words else ["--", "--json"]))
    assert plain.stdout == b"", "behind -- it is the program's"


@pytest.mark.parametrize("name", ["fifo", ".", "/dev/zero"])
@pytest.mark.parametrize("option", ["--requirements", "--package-json"])
def test_what_packages_are_read_from_is_a_regular_file(hello, option, name):
    os.mkfifo(hello.cwd / "fifo")
    refused(call(hello, "exec", option, name, "hello.py"), f"{option}: '{name}': is no regular file")


@pytest.mark.parametrize("words,part", [
    (["build", "/nowhere"], "/nowhere"), (["build", "hello.py"], "hello.py"), (["build", "."], "no Dockerfile"),
    (["build", "-f", "fifo", "."], "'fifo' of the build context: is no regular file"),
    (["build", "-f", "folder", "."], "'folder' of the build context: is no regular file"),
    (["build", "-t", "bad tag!", "."], "bad tag!"), (["pull", "bad name!"], "'bad name!' is no name of an image"),
    (["pull", "\x1b[2Jname"], "'?[2Jname' is no name of an image"),
])
def test_what_is_wrong_with_an_image_is_told_before_an_engine_is_asked(hello, words, part):
    os.mkfifo(hello.cwd / "fifo")
    (hello.cwd / "folder").mkdir()
    env = environment(hello, DOCKER_HOST="unix:///nowhere/docker.sock")
    refused(call(hello, "image", *words, env=env), part)


@pytest.mark.parametrize("words,key", [(["box", "list"], "boxes"), (["runs", "list"], "runs"),
                                       (["cache", "list"], "layers")])
def test_an_empty_list_says_so_to_people_alone(place, words, key):
    env = environment(place, GLOVEBOX_CACHE_DIR=str(place.base / "cache"))
    answer = call(place, *words, env=env)
    assert (answer.returncode, answer.stdout) == (0, b""), answer
    assert re.fullmatch(rb"No \w+( yet)?; glovebox [^\n]+\n", answer.stderr), answer
    answer = call(place, *words, "--json", env=env)
    assert (answer.returncode, answer.stderr, json.loads(answer.stdout)[key]) == (0, b"", []), answer


def test_files_that_may_not_be_read(hello, ordinary_user):
    (hello.cwd / "secret.py").write_text("print(1)\n")
    (hello.cwd / "secret.py").chmod(0o600)
    hello.give_to(ordinary_user)
    os.chown(hello.cwd / "secret.py", 0, 0)
    try:
        for words in (["secret.py"], ["--file", "secret.py", "hello.py"]):
            answer = subprocess.run(
                ["setpriv", f"--reuid={ordinary_user.uid}", f"--regid={ordinary_user.gid}",
                 "--clear-groups", ordinary_user.binary, "exec", *words],
                capture_output=True, cwd=hello.cwd, env=environment(hello), timeout=60)
            refused(answer, "secret.py: Permission denied")
    finally:
        hello.take_back()


def test_arguments_that_are_too_long(hello):
    words = ["x" * 100000]
    refused(call(hello, "exec", "hello.py", "--", *words), "arguments and --env are too long",
            "--file or --stdin")
    refused(call(hello, "exec", "--env", "A=" + "x" * 100000, "hello.py"), "are too long")
    refused(call(hello, "exec", "hello.py", "--", *["x"] * 5000), "are too long")
    refused(call(hello, "exec", *["--env=A=1"] * 1001, "hello.py"), "more than 1000 variables")
    refused(call(hello, "exec", *["--file=hello.py"] * 257, "hello.py"), "more than 256 files")


MANY = ["x" * 127_000] * 15  # nearly what the kernel lets anybody start a program with


@pytest.mark.parametrize("words", [
    ["exec", "hello.py", "--", *MANY], ["exec", "--", "true", *MANY], ["exec", *MANY], ["exec", "-c", *MANY],
    ["exec", *(word for text in MANY for word in ("--env", f"A={text}")), "hello.py"],
    ["exec", "--file", *MANY], ["doctor", *MANY], ["config", "show", *MANY], ["config", "trust", *MANY],
    ["version", *MANY], MANY, ["box", "run", "no-such-box", "--", *MANY], ["box", "create", *MANY],
    ["box", *MANY], ["image", "build", *MANY],
], ids=lambda words: " ".join(word for word in words if len(word) < 100)[:30])
def test_nearly_two_megabytes_of_arguments_are_one_line(hello, words):
    answer = call(hello, *words)
    assert answer.returncode == 2, (answer.returncode, answer.stderr[:300])
    assert answer.stdout == b"" or answer.stdout.startswith(b"{"), answer.stdout[:300]
    lines = answer.stderr.decode().splitlines()
    assert 1 <= len(lines) <= 2 and lines[0].startswith("glovebox: "), answer.stderr[:300]
    assert all(len(line) < 1000 for line in lines)


def test_code_that_is_too_long(hello):
    with open(hello.cwd / "big.py", "wb") as file:
        file.truncate((64 << 20) + 1)
    refused(call(hello, "exec", "big.py"), "big.py: code may have at most 64 MiB")
    answer = call(hello, "exec", "big.py", "--backend=disabled")
    refused(answer, "running code is disabled", code=125)  # the settings come before the code
    with open(hello.cwd / "big.py", "rb") as file:
        answer = subprocess.run([places.binary(), "exec", "-l", "python", "-"], stdin=file,
                                capture_output=True, env=environment(hello), cwd=hello.cwd)
    refused(answer, "stdin: code may have at most 64 MiB")


def test_closed_standard_streams_are_no_way_in(hello):
    """A file that glovebox opens must not become its stdout."""
    answer = subprocess.run(
        ["/bin/sh", "-c", '"$0" config show >&- 2>&- <&-; echo $?', places.binary()],
        capture_output=True, text=True, cwd=hello.cwd, env=environment(hello), timeout=60)
    assert answer.stdout == "0\n"


def test_errors_carry_no_control_bytes(place):
    refused(call(place, "exec", "\x1b]52;c;aGk=\x07.py"), "^[]52;c;aGk=^G.py: No such file")
    refused(call(place, "\x1b[2J\nx"), "unknown command '^[[2J^Jx'")
    refused(call(place, "exec", "--\x1b[2J"), "unknown option '--^[[2J'")
