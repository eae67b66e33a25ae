# SPDX-License-Identifier: Apache-2.0
"""Files in and out, the working directory, and the variables that a program finds.

What a hostile box makes of them is the escape suite's; here is what everybody does with them.
"""
import filecmp
import os
import random
import stat
import subprocess

import pytest

from lib import box, place as places

LARGE = 100 << 20
NAMES = ["plain.txt", "with space", "ünïcödé-名前-🍌", "-leading-dash", "quote'\"$(x)", ".hidden", "n" * 255]


def write(path, content=b"content"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def contents(folder):
    """path -> bytes of every file below."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            with open(path, "rb") as stream:
                found[os.path.relpath(path, folder)] = stream.read()
    return found


# ---- one file in --------------------------------------------------------------------------------

def test_a_file_is_copied_in_under_its_own_name(place):
    source = write(place.cwd / "data.csv", b"1,2\n")
    result = box.run("cat data.csv; ls -l data.csv | cut -c1-10; id -u; stat -c %u data.csv",
                     language="sh", files=[source])
    assert result.stdout == "1,2\n-rw-r--r--\n1000\n1000\n", result
    assert result.files == [], result


def test_a_file_can_be_given_another_name_and_directory(place):
    source = write(place.cwd / "data.csv", b"1,2\n")
    code = "cat a/b/c/other /tmp/else; rm a/b/c/other && touch a/b/new && echo writable"
    result = box.run(code, language="sh",
                     files=[f"{source}:a/b/c/other", f"{source}:/tmp/else"])
    assert result.stdout == "1,2\n1,2\nwritable\n", result


@pytest.mark.parametrize("name", NAMES)
def test_names_are_kept(place, name):
    source = write(place.cwd / name, name.encode())
    result = box.run("import os\nfor n in os.listdir():\n    if n != 'main.py': print(n, open(n).read())",
                     language="python", files=[source])
    assert result.stdout == f"{name} {name}\n", result


def test_an_executable_stays_one(place):
    tool = write(place.cwd / "tool", b"#!/bin/sh\necho tool $1\n")
    tool.chmod(0o700)
    plain = write(place.cwd / "plain", b"#!/bin/sh\n")
    plain.chmod(0o600)
    result = box.run(argv=["./tool", "runs"], files=[tool, plain])
    assert (result.stdout, result.verdict) == ("tool runs\n", "ok"), result
    result = box.run(argv=["./plain"], files=[tool, plain])
    assert result.returncode == 126, result


def test_a_setuid_file_is_a_plain_one(place):
    tool = write(place.cwd / "tool", b"#!/bin/sh\n")
    tool.chmod(0o6755)
    result = box.run("stat -c %a tool", language="sh", files=[tool])
    assert result.stdout == "755\n", result


def test_an_empty_file_and_a_link_to_one(place):
    write(place.cwd / "empty", b"")
    os.symlink("empty", place.cwd / "link")
    result = box.run("stat -c '%s %F' empty link", language="sh",
                     files=[place.cwd / "empty", place.cwd / "link"])
    assert result.stdout == "0 regular empty file\n" * 2, result


def test_many_files_at_once(place):
    sources = [write(place.cwd / f"f{i}", b"%d" % i) for i in range(60)]
    result = box.run("cat f* | wc -c; ls | wc -l", language="sh", files=sources)
    assert result.stdout.split() == [str(sum(len(str(i)) for i in range(60))), "61"], result


@pytest.mark.parametrize("words, part", [
    (["--file", "missing"], "missing"), (["--file", ".:dir"], "no regular file"), (["--file", "."], "'.'"),
    (["--file", "/dev/zero"], "/dev/zero"), (["--file", "fifo"], "fifo"),
    (["--out", "x:missing/x"], "missing"), (["--out", "x:."], "."),
    (["--out", "../x"], "../x"), (["--file", "real:../x"], "../x"), (["--file", "real:a/./b"], "a/./b"),
    (["--workspace", "missing"], "missing"), (["--workspace", "real"], "real"),
    (["--workdir", "relative"], "relative"), (["--workdir", "/a/../b"], "/a/../b"), (["--workdir", "/"], "/"),
])
def test_a_path_that_cannot_be_is_refused_before_anything_starts(place, words, part):
    write(place.cwd / "real")
    os.mkfifo(place.cwd / "fifo")
    result = box.run("echo started", language="sh", as_json=False, options=words)
    assert (result.returncode, result.out) == (2, b""), result
    assert result.err.startswith(b"glovebox: ") and part.encode() in result.err, result


def test_an_unreadable_file_is_refused(place, ordinary_user):
    secret = write(place.cwd / "secret")
    secret.chmod(0o600)
    result = box.run("echo started", language="sh", as_json=False, files=[secret], as_user=ordinary_user)
    assert (result.returncode, result.out) == (2, b"") and b"Permission denied" in result.err, result


# ---- one file out -------------------------------------------------------------------------------

def test_files_come_out(place):
    code = "printf one >a; mkdir -p d/e; printf two >d/e/b; printf '#!/bin/sh\\n' >x; chmod +x x; : >empty; " \
           "printf four >/tmp/c"
    outs = ["a", "d/e/b", "x", "empty:renamed", f"/tmp/c:{place.tmp}/c"]
    result = box.run(code, language="sh", out=outs)
    assert result.verdict == "ok", result
    assert (place.cwd / "a").read_text() == "one" and (place.cwd / "b").read_text() == "two"
    assert (place.cwd / "renamed").read_bytes() == b"" and (place.tmp / "c").read_text() == "four"
    assert stat.S_IMODE(os.stat(place.cwd / "x").st_mode) & 0o100
    assert not stat.S_IMODE(os.stat(place.cwd / "a").st_mode) & 0o100
    os.unlink(place.tmp / "c")


def test_a_file_comes_out_of_a_failed_run_too(place):
    result = box.run("printf partial >log; sleep 1000", language="sh", out=["log"], timeout=1)
    assert (result.verdict, result.returncode) == ("timeout", 124), result
    assert (place.cwd / "log").read_text() == "partial"


def test_a_file_that_is_missing_is_an_error_that_names_it(place):
    write(place.cwd / "result", b"from before")
    plain = box.run("echo ran", language="sh", out=["result"], as_json=False)
    assert plain.returncode == 125 and plain.out == b"ran\n", plain
    assert b"result" in plain.err and plain.err.startswith(b"glovebox: "), plain
    assert (place.cwd / "result").read_bytes() == b"from before", "replaced by nothing"
    told = box.run("echo ran", language="sh", out=["result"])
    assert told.returncode == 125 and "result" in told.error["message"], told
    assert (told.verdict, told.stdout) == ("ok", "ran\n"), told
    failed = box.run("exit 3", language="sh", out=["result"])
    assert (failed.returncode, failed.verdict) == (3, "nonzero") and failed.error, failed
    plain = box.run("exit 3", language="sh", out=["result"], as_json=False)
    assert plain.returncode == 3 and b"result" in plain.err, "the same code as with --json"


@pytest.mark.parametrize("name, part", [
    ("folder", "is a directory in the box"), ("pipe", "is a pipe"), ("link", "is a link in the box"),
    ("dangling", "is a link in the box"), ("way/file", "is a link in the box"), ("missing", "has no such file"),
    ("file/x", "no directory"), ("/dev/null", "is a pipe, a socket or a device"),
])
def test_what_is_no_regular_file_is_told_as_what_it_is(place, name, part):
    code = "mkdir folder; mkfifo pipe; ln -s /etc/passwd link; ln -s no dangling; ln -s folder way; " \
           "echo x >folder/file; echo x >file"
    result = box.run(code, language="sh", out=[f"{name}:got"])
    assert (result.returncode, result.verdict) == (125, "ok"), result
    assert result.error["message"].startswith(f"--out {name}: ") and part in result.error["message"], result
    assert not (place.cwd / "got").exists()


@pytest.mark.parametrize("target", ["/etc/x", "/x", "/usr/x", "/proc/x", "/dev/x", "/root/x", "/opt/x", "/tmp"])
def test_a_file_cannot_be_put_where_a_box_is_read_only(place, target):
    source = write(place.cwd / "data")
    result = box.run("echo started", language="sh", files=[f"{source}:{target}"])
    assert (result.returncode, result.stdout) == (2, ""), result
    assert result.error["message"].startswith("--file: ") and target in result.error["message"], result
    assert "/workspace, /home/box, /tmp, /var/tmp, /run, /dev/shm" in result.error["remedy"], result


def test_a_file_can_be_put_wherever_a_box_can_write(place):
    source = write(place.cwd / "data", b"x")
    targets = ["/workspace/x", "/home/box/x", "/tmp/x", "/var/tmp/x", "/run/x", "/dev/shm/x", "/srv/app/y"]
    result = box.run("cat " + " ".join(targets), language="sh", workdir="/srv/app",
                     files=[f"{source}:{target}" for target in targets])
    assert result.stdout == "x" * len(targets), result


def test_an_existing_file_is_replaced_whole(place):
    target = write(place.cwd / "out", b"x" * 100000)
    assert box.run("printf new >out", language="sh", out=["out"]).verdict == "ok"
    assert target.read_bytes() == b"new"
    assert sorted(os.listdir(place.cwd)) == ["out"]


def test_a_link_is_followed_and_stays(place):
    """As a shell's > does it."""
    target = write(place.cwd / "far" / "real", b"old")
    os.symlink("far/real", place.cwd / "out")
    assert box.run("printf new >out", language="sh", out=["out"]).verdict == "ok"
    assert os.readlink(place.cwd / "out") == "far/real" and target.read_bytes() == b"new"
    assert os.listdir(place.cwd / "far") == ["real"]
    os.symlink("nowhere", place.cwd / "dangling")
    result = box.run("echo started", language="sh", out=["x:dangling"], as_json=False)
    assert (result.returncode, result.out) == (2, b"") and b"leads nowhere" in result.err, result
    assert not os.path.lexists(place.cwd / "nowhere")


def test_a_file_can_be_written_to_stdout_and_into_devices(place):
    before = os.lstat("/dev/stdout").st_ino, os.lstat("/dev/null").st_ino
    result = box.run("printf shown; printf file >x", language="sh", as_json=False,
                     out=["x:/dev/stdout", "x:/dev/null"])
    assert (result.returncode, result.out, result.err) == (0, b"shownfile", b""), result
    with open(place.cwd / "log", "wb") as log:
        words = box.command("printf shown; printf file >x", language="sh", as_json=False,
                            out=["x:/dev/stdout"])
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=log, cwd=place.cwd,
                       env=box.environment(), timeout=60)
    assert (place.cwd / "log").read_bytes() == b"shownfile", "neither may replace the other"
    assert (os.lstat("/dev/stdout").st_ino, os.lstat("/dev/null").st_ino) == before
    mixed = box.run("printf file >x", language="sh", out=["x:/dev/stdout"])
    assert mixed.returncode == 2 and b"--json" in mixed.err, mixed


def test_a_file_is_never_shown_on_a_terminal(place):
    ours, theirs = os.openpty()
    try:
        for where in ("/dev/stdout", os.ttyname(theirs)):
            process = subprocess.run(
                box.command("printf file >x", language="sh", as_json=False, out=[f"x:{where}"]),
                stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, cwd=place.cwd,
                env=box.environment(), timeout=60)
            assert process.returncode in (2, 125) and b"is a terminal" in process.stderr, process
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_large_file_goes_in_and_out_unchanged(place):
    block = random.Random(7).randbytes(1 << 20)
    source = place.cwd / "large"
    with open(source, "wb") as stream:
        for index in range(LARGE >> 20):
            stream.write(block[index:] + block[:index])
    result = box.run("mv large back; stat -c %s back", language="sh", files=[source], out=["back:copy"])
    assert (result.verdict, result.stdout) == ("ok", f"{LARGE}\n"), result
    assert filecmp.cmp(source, place.cwd / "copy", shallow=False)


def test_a_file_larger_than_the_disk_is_refused_with_the_reason(place):
    source = place.cwd / "large"
    source.touch()
    os.truncate(source, 20 << 20)
    result = box.run("echo started", language="sh", files=[source], disk="10m")
    assert result.returncode == 2 and result.verdict == "sandbox_error", result
    assert result.stdout == "", result
    assert "--disk" in result.error["message"], result


@pytest.mark.parametrize("way", ["file", "workspace", "code"])
def test_files_larger_than_the_memory_are_refused_with_the_reason(place, way):
    folder = place.cwd / "project"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / name).touch()
        os.truncate(folder / name, 20 << 20)
    request = {"workspace": folder} if way == "workspace" else {}
    if way == "file":
        request["files"] = [folder / "one", folder / "two"]
    code = "echo started" if way != "code" else None
    if way == "code":
        os.truncate(folder / "one", 33 << 20)
        request["path"] = folder / "one"
    result = box.run(code, language="sh", memory="32m", **request)
    assert (result.returncode, result.verdict, result.stdout) == (2, "sandbox_error", ""), result
    assert "do not fit" in result.error["message"] and "--memory is 32 MiB" in result.error["message"], result
    assert result.error["remedy"].startswith("raise --memory above "), result
    if way != "code":
        assert "need 40 MiB of memory" in result.error["message"], result


# ---- workspace ----------------------------------------------------------------------------------

def make_workspace(base):
    write(base / "a.txt", b"a")
    write(base / "deep/er/still/b.bin", bytes(range(256)))
    write(base / "ünï 名.txt", b"u")
    write(base / "empty", b"")
    write(base / "tool", b"#!/bin/sh\necho tool\n").chmod(0o755)
    return base


def test_a_workspace_goes_in_and_changes_come_back(place):
    folder = make_workspace(place.base / "cwd" / "project")
    code = "./tool; printf changed >a.txt; printf new >deep/new.txt; mkdir -p x/y; printf z >x/y/z; " \
           "rm empty; cat 'ünï 名.txt'"
    result = box.run(code, language="sh", workspace=folder)
    assert (result.verdict, result.stdout) == ("ok", "tool\nu"), result
    after = contents(folder)
    assert after["a.txt"] == b"changed" and after["deep/new.txt"] == b"new" and after["x/y/z"] == b"z"
    assert after["deep/er/still/b.bin"] == bytes(range(256)) and after["empty"] == b""
    assert os.access(folder / "tool", os.X_OK)
    assert {file["path"]: file["bytes"] for file in result.files} == {
        "a.txt": 7, "deep/new.txt": 3, "x/y/z": 1}, result


def test_what_was_not_changed_is_not_written(place):
    folder = make_workspace(place.base / "cwd" / "project")
    for path in folder.rglob("*"):
        os.utime(path, (1000000000, 1000000000))
    assert box.run("cat a.txt >/dev/null; printf new >b", language="sh", workspace=folder).verdict == "ok"
    assert os.stat(folder / "a.txt").st_mtime == 1000000000
    assert (folder / "b").read_text() == "new"


def test_the_program_itself_stays_out_of_the_workspace(place):
    folder = make_workspace(place.base / "cwd" / "project")
    before = set(contents(folder))
    assert box.run("echo x", language="sh", workspace=folder).verdict == "ok"
    assert box.run("print(1)", language="python", workspace=folder).verdict == "ok"
    assert set(contents(folder)) == before


def test_a_projects_own_file_is_neither_shadowed_nor_replaced(place):
    folder = place.cwd / "project"
    write(folder / "main.py", b"value = 42\n")
    code = "import main\nprint(main.value)\nopen(__file__, 'a').write('# changed')"
    quiet = {"PYTHONDONTWRITEBYTECODE": 1}
    result = box.run(code, language="python", workspace=folder, env=quiet)
    assert (result.verdict, result.stdout, result.files) == ("ok", "42\n", []), result
    assert contents(folder) == {"main.py": b"value = 42\n"}
    piped = box.run_words([str(places.binary()), "exec", "--workspace", str(folder), "-l", "python",
                           "--env", "PYTHONDONTWRITEBYTECODE=1", "-"], input=code.encode())
    assert (piped.returncode, piped.out) == (0, b"42\n"), piped
    assert contents(folder) == {"main.py": b"value = 42\n"}


@pytest.mark.parametrize("language, code", [
    ("sh", "cat data"), ("javascript", "console.log(require('./lib.js').value)"),
    ("javascript", "import { value } from './mod.mjs'\nconsole.log(value)"),
    ("c", '#include <stdio.h>\n#include "lib.h"\nint main(void) { puts(VALUE); }'),
    ("ruby", "require_relative 'lib'\nputs $value"),
])
def test_code_finds_its_neighbours_in_the_workspace(place, language, code):
    folder = place.cwd / "project"
    write(folder / "data", b"42\n")
    write(folder / "lib.js", b"exports.value = 42\n")
    write(folder / "mod.mjs", b"export const value = 42\n")
    write(folder / "lib.h", b'#define VALUE "42"\n')
    write(folder / "lib.rb", b"$value = 42\n")
    before = contents(folder)
    result = box.run(code, language=language, workspace=folder)
    assert (result.verdict, result.stdout) == ("ok", "42\n"), result
    assert contents(folder) == before


def test_a_file_of_the_workspace_runs_where_it_is(place):
    folder = place.cwd / "project"
    write(folder / "main.py", b"print('the wrong one')\n")
    write(folder / "src" / "main.py", b"import near, sys\nprint(near.value, sys.argv[0])\nopen('made', 'w')\n")
    write(folder / "src" / "near.py", b"value = 42\n")
    result = box.run(path=folder / "src" / "main.py", workspace=folder)
    assert (result.verdict, result.stdout) == ("ok", "42 /workspace/src/main.py\n"), result
    assert [file["path"] for file in result.files if "pycache" not in file["path"]] == ["made"], result
    assert (folder / "main.py").read_bytes() == b"print('the wrong one')\n"


def test_code_from_elsewhere_never_replaces_a_file_of_the_workspace(place):
    folder = place.cwd / "project"
    write(folder / "hello.sh", b"echo project\n")
    other = write(place.cwd / "hello.sh", b"echo other\n")
    result = box.run(path=other, workspace=folder, as_json=False)
    assert (result.returncode, result.out) == (2, b""), result
    assert b"has a 'hello.sh' of its own" in result.err, result
    assert contents(folder) == {"hello.sh": b"echo project\n"}


@pytest.mark.parametrize("words", [
    ["--file", "data:hello.sh", "hello.sh"], ["--file", "data:/workspace/hello.sh", "hello.sh"],
    ["--file", "data:hello.sh/x", "hello.sh"], ["--file", "data:x", "--file", "hello.sh:x", "hello.sh"],
    ["--file", "data:x", "--file", "hello.sh:/workspace/x", "--", "true"],
    ["--file", "data:main.sh", "-l", "sh", "-c", "true"], ["--file", "data", "--file", "data", "--", "true"],
])
def test_two_things_that_claim_one_name_are_refused(place, words):
    write(place.cwd / "hello.sh", b"echo started\n")
    write(place.cwd / "data", b"echo data\n")
    result = box.run_words([str(places.binary()), "exec", *words])
    assert (result.returncode, result.out) == (2, b""), result
    assert result.err.startswith(b"glovebox: --file: '") and b"in the box too" in result.err, result


def test_what_other_tools_would_run_gets_a_note(place):
    """S01: a file that was there and is the same did not come back."""
    folder = make_workspace(place.base / "cwd" / "project")
    write(folder / "Makefile", b"all:\n")
    result = box.run("mkdir .vscode; echo evil | tee .envrc .vscode/tasks.json fine >/dev/null", language="sh", workspace=folder)
    assert sorted(result.notes) == ["copied back, and VS Code runs it: .vscode/tasks.json",
                                    "copied back, and direnv runs it: .envrc"], result
    assert (folder / ".envrc").read_bytes() == b"evil\n"


def test_git_is_not_written_to(place):
    folder = make_workspace(place.base / "cwd" / "project")
    write(folder / ".git" / "config", b"[core]\n")
    code = "cat .git/config; mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit; " \
           "echo evil >>.git/config; echo fine >fine"
    result = box.run(code, language="sh", workspace=folder)
    assert (result.verdict, result.returncode, result.stdout) == ("ok", 0, "[core]\n"), result
    assert len(result.notes) == 2 and ".git/" in result.notes[0], result
    assert (folder / ".git" / "config").read_bytes() == b"[core]\n"
    assert not (folder / ".git" / "hooks").exists() and (folder / "fine").exists()
    plain = box.run(code, language="sh", workspace=folder, as_json=False)
    assert plain.returncode == 0 and plain.err.startswith(b"glovebox: not copied back"), plain


def test_no_directory_becomes_a_repository(place):
    """To git one is whatever has HEAD, objects and refs; a prompt that shows a branch runs what its settings name."""
    folder = make_workspace(place.base / "cwd" / "project")
    ran = place.base / "ran"
    result = box.run("mkdir -p sub/objects/info sub/refs/heads; cd sub; echo 'ref: refs/heads/main' >HEAD; echo >objects/info/packs;"
                     f" echo >refs/heads/.keep; printf '[core]\\nbare=false\\nworktree=.\\nfsmonitor=\"touch {ran}; false\"\\n' >config",
                     language="sh", workspace=folder)
    assert result.notes == ["not copied back, because git would obey it: sub/HEAD"], result
    assert (folder / "sub" / "config").exists() and (folder / "sub" / "objects" / "info" / "packs").exists()
    seen = subprocess.run(["git", "status"], cwd=folder / "sub", capture_output=True)
    assert b"not a git repository" in seen.stderr and not ran.exists(), seen


def test_a_repository_of_any_name_is_not_written_to(place):
    folder = make_workspace(place.base / "cwd" / "project")
    for name in ("HEAD", "config"):  # what else a repository has the program could add
        write(folder / "sample.git" / name, b"ours\n")
    result = box.run("cd sample.git; cat HEAD; mkdir hooks; echo evil | tee config hooks/post-update ../fine >/dev/null",
                     language="sh", workspace=folder)
    assert (result.verdict, result.stdout, len(result.notes)) == ("ok", "ours\n", 2), result
    assert result.notes[0].startswith("not copied back, because git would obey it: sample.git/"), result
    assert (folder / "sample.git" / "config").read_bytes() == b"ours\n"
    assert not (folder / "sample.git" / "hooks").exists() and (folder / "fine").exists()


def test_what_cannot_be_copied_back_keeps_nothing_else_from_it(place):
    folder = make_workspace(place.base / "cwd" / "project")
    os.symlink("/tmp", folder / "way")
    code = "mkdir way; echo x >way/in; echo y >z"
    result = box.run(code, language="sh", workspace=folder)
    assert (result.verdict, result.returncode) == ("ok", 125), result
    assert "way/in" in result.error["message"] and "1 of 2 files" in result.error["message"], result
    assert (folder / "z").read_text() == "y\n"
    assert {"way/in", "z"} == {file["path"] for file in result.files}, result
    plain = box.run(code, language="sh", workspace=folder, as_json=False)
    assert plain.returncode == 125 and b"not copied back: way/in" in plain.err, plain


def test_files_are_listed_though_one_cannot_be_had(place):
    result = box.run("echo x >made", language="sh", out=["missing", "made", "gone"])
    assert result.returncode == 125 and "missing" in result.error["message"], result
    assert [file["path"] for file in result.files] == ["made"], result
    assert (place.cwd / "made").read_text() == "x\n" and "gone" in result.notes[0], result


def test_a_workspace_survives_a_killed_run(place):
    folder = make_workspace(place.base / "cwd" / "project")
    result = box.run("printf half >half; kill -9 $$", language="sh", workspace=folder)
    assert result.verdict == "signal" and (folder / "half").read_text() == "half", result


def test_links_and_special_files_do_not_travel(place):
    folder = make_workspace(place.base / "cwd" / "project")
    os.symlink("/etc/passwd", folder / "link")
    os.symlink("deep", folder / "dirlink")
    os.mkfifo(folder / "fifo")
    result = box.run("ls -A; ln -s /etc/shadow made; mkfifo pipe", language="sh", workspace=folder)
    assert result.verdict == "ok" and "link" not in result.stdout and "fifo" not in result.stdout, result
    assert not os.path.lexists(folder / "made") and not os.path.lexists(folder / "pipe")


def test_a_workspace_with_many_files(place):
    folder = place.cwd / "project"
    for index in range(1500):
        write(folder / f"d{index % 30}" / f"f{index}", b"%d" % index)
    code = "find . -name 'f*' | wc -l; for i in $(seq 500); do echo n >new$i; done"
    result = box.run(code, language="sh", workspace=folder)
    assert result.stdout == "1500\n", result
    assert len(contents(folder)) == 2000 and len(result.files) == 500


def test_a_workspace_larger_than_the_disk_is_refused(place):
    folder = place.cwd / "project"
    write(folder / "large", b"")
    os.truncate(folder / "large", 20 << 20)
    result = box.run("echo started", language="sh", workspace=folder, disk="10m")
    assert result.returncode == 2 and result.stdout == "" and result.error["message"], result


def test_a_box_cannot_fill_the_hosts_disk_through_its_workspace(place):
    """What comes back is at most what the disk limit let it write."""
    folder = make_workspace(place.base / "cwd" / "project")
    box.run("for i in $(seq 100); do truncate -s 4m s$i; done; cat /dev/zero >full", language="sh",
            workspace=folder, disk="5m")
    used = sum(os.lstat(path).st_blocks * 512 for path in folder.rglob("*"))
    assert used <= 12 << 20, used


# ---- where it runs ------------------------------------------------------------------------------

@pytest.mark.parametrize("workdir", ["/app", "/tmp", "/workspace", "/home/box/deep/er", "/srv/ünï"])
def test_workdir(place, workdir):
    source = write(place.cwd / "data", b"data\n")
    result = box.run("pwd; echo $PWD; cat data; printf x >made", language="sh", workdir=workdir,
                     files=[source], out=["made"])
    assert result.stdout == f"{workdir}\n{workdir}\ndata\n", result
    assert (place.cwd / "made").read_text() == "x"


def test_workdir_and_workspace_together(place):
    folder = make_workspace(place.base / "cwd" / "project")
    result = box.run("pwd; cat a.txt; printf new >a.txt", language="sh", workdir="/app", workspace=folder)
    assert result.stdout == "/app\na", result
    assert (folder / "a.txt").read_text() == "new"


def test_where_files_can_be_written():
    places = ["/workspace", "/tmp", "/var/tmp", "/dev/shm", "$HOME"]
    code = "".join(f"touch {name}/x && echo ok; " for name in places)
    code += "for d in / /usr /etc /var /proc /dev /bin /home; do touch $d/x 2>/dev/null && echo BAD $d; done"
    result = box.run(code + "; true", language="sh")
    assert result.stdout == "ok\n" * len(places), result


# ---- variables ----------------------------------------------------------------------------------

ALLOWED = {"HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "PYTHONUNBUFFERED", "PYTHONPATH", "PATH",
           "PWD"}


@pytest.mark.parametrize("language", ["python", "perl"])
def test_a_program_finds_the_allowed_variables_and_no_others(language):
    code = {"python": "import os\nprint(*sorted(os.environ))",
            "perl": 'print join(" ", sort keys %ENV), "\\n"'}[language]
    result = box.run(code, language=language, host_env={
        "SECRET": "x", "LD_PRELOAD": "", "AWS_SECRET_ACCESS_KEY": "x", "PYTHONSTARTUP": "/x",
        "NODE_OPTIONS": "--inspect", "BASH_ENV": "/x", "GLOVEBOX_TIMEOUT": "20"})
    assert set(result.stdout.split()) - {"LC_CTYPE"} == ALLOWED, result


def test_what_the_variables_say():
    result = box.run("echo $HOME $USER $LOGNAME $SHELL $LANG $TMPDIR $PYTHONUNBUFFERED $PYTHONPATH $PWD",
                     language="sh")
    assert result.stdout.split() == ["/home/box", "box", "box", "/bin/sh", "C.UTF-8", "/tmp", "1",
                                     "/workspace", "/workspace"], result


@pytest.mark.parametrize("value", ["", "plain", "two words", "a=b=c", "$HOME `id` \"'", "line\nline", "ü名",
                                   "x" * 20000])
def test_given_variables_arrive_unchanged(value):
    result = box.run("import os\nprint(os.environ['GIVEN'], end='')", language="python",
                     env={"GIVEN": value})
    assert (result.verdict, result.stdout) == ("ok", value), result


def test_given_variables_beat_the_boxs_own():
    result = box.run("echo $LANG $HOME $EXTRA; date +%Z", language="sh",
                     env={"LANG": "C", "HOME": "/tmp", "EXTRA": "e", "TZ": "XYZ0"})
    assert result.stdout == "C /tmp e\nXYZ\n", result


@pytest.mark.parametrize("pair", ["NOVALUE", "=x", "A B=x", "1A=x", "A-B=x", "ü=x", "A\nB=x", ""])
def test_bad_variables_are_refused(pair):
    result = box.run("echo started", language="sh", as_json=False, options=["--env", pair])
    assert (result.returncode, result.out) == (2, b""), result
    assert result.err.startswith(b"glovebox: --env"), result
