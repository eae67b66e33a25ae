# SPDX-License-Identifier: Apache-2.0
"""What other tools know: clang-format, clang-tidy, cppcheck.

`make check` runs clang-tidy on the C files that changed since the branch left main (on main:
since the commit before the last), within a budget of time.  `make lint` sets
GLOVEBOX_LINT=full: the whole tree, and cppcheck.
"""
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from tree import BUILD, ROOT, files

FULL = os.environ.get("GLOVEBOX_LINT") == "full"
TIDY_SECONDS = 3600 if FULL else 300
TIDY = [
    "clang-tidy-14", "--quiet", "-p", BUILD,
    # gcc's flags that clang 14 does not know, or knows only behind another flag.
    "--extra-arg=-Wno-unknown-warning-option",
    "--extra-arg=-Wno-ignored-optimization-argument",
    "--extra-arg=-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang",
]


def run(*command, cwd=ROOT):
    return subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)


def git_names(*command):
    answer = run("git", *command)
    return set(answer.stdout.splitlines()) if answer.returncode == 0 else set()


def changed():
    """C files that differ from where this branch began, committed or not."""
    head = git_names("rev-parse", "HEAD")
    base = git_names("merge-base", "HEAD", "main") or head
    if base == head:
        base = git_names("rev-parse", "--verify", "-q", "HEAD~1") or head
    return git_names("diff", "--name-only", *base) | git_names("ls-files", "-o", "--exclude-standard")


def compiled():
    """C files of ours that the build knows how to compile."""
    database = (BUILD / "compile_commands.json").read_text()
    ours = files(".c", below="src/") + files(".c", below="tools/")
    return [name for name in ours if f"/{name}\"" in database]


def tidy(names):
    """The complaints that are errors, and files for which no time was left."""
    deadline = time.monotonic() + TIDY_SECONDS

    def one(name):
        if time.monotonic() > deadline:
            return f"{name}: not looked at within {TIDY_SECONDS} s; `make lint` takes its time"
        answer = run(*TIDY, name)
        return answer.stdout + answer.stderr if answer.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        return [text for text in pool.map(one, names) if text]


def format_complaint(*names, cwd=ROOT):
    answer = run("clang-format-14", f"--style=file:{ROOT}/.clang-format", "--dry-run", "-Werror",
                 *names, cwd=cwd)
    return answer.stderr if answer.returncode else ""


def test_format():
    complaint = format_complaint(*files(".c", ".h"))
    assert not complaint, complaint[-4000:] + "\n`make format` mends it"


def test_format_can_fail(tmp_path):
    (tmp_path / "bad.c").write_text("int f(void) { return 1; }\n")
    assert "bad.c" in format_complaint("bad.c", cwd=tmp_path)


def test_clang_tidy():
    wanted = changed()
    complaints = tidy([name for name in compiled() if FULL or name in wanted])
    assert not complaints, "\n".join(complaints)


def test_clang_tidy_can_fail(tmp_path):
    bad = tmp_path / "bad.c"
    bad.write_text("#include <fcntl.h>\nint f(void);\nint f(void)\n{\n"
                   '    return open("/", O_RDONLY);\n}\n')
    answer = run("clang-tidy-14", "--quiet", f"--config-file={ROOT}/.clang-tidy", bad, "--")
    assert answer.returncode != 0
    assert "android-cloexec-open" in answer.stdout


def cppcheck(*paths):
    answer = run("cppcheck", "--quiet", "--std=c11", "--error-exitcode=1", "--inline-suppr",
                 "--enable=warning,performance,portability", "--suppress=missingIncludeSystem",
                 f"-I{ROOT}/src", f"-I{BUILD}/src", "-j2", *paths)
    return answer.stderr if answer.returncode else ""


if FULL:

    def test_cppcheck():
        complaint = cppcheck(*files(".c", below="src/"), *files(".c", below="tests/fuzz"))
        assert not complaint, complaint

    def test_cppcheck_can_fail(tmp_path):
        bad = tmp_path / "bad.c"
        bad.write_text("int main(void)\n{\n    int a[2];\n    a[2] = 0;\n    return a[0];\n}\n")
        assert "out of bounds" in cppcheck(bad)
