# SPDX-License-Identifier: Apache-2.0
"""The tools that the build and the tests stand on, above all the tally: it may not be fooled."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from tree import ROOT

TALLY = ROOT / "tools" / "tally"
PASSED = '<testsuite><testcase classname="a" name="b" time="1.5"/></testsuite>'
FAILED = '<testsuite><testcase name="b"><failure message="m">why</failure></testcase></testsuite>'
ERRORED = '<testsuite><testcase name="b"><error>why</error></testcase></testsuite>'
SKIPPED = '<testsuite><testcase name="b"><skipped message="m"/></testcase></testsuite>'
CUT = '<testsuite><testcase name="b"/>'


def meson(stdout, returncode=0):
    return json.dumps({
        "name": "glovebox:unit / test_a", "stdout": stdout, "stderr": "", "duration": 0.25,
        "result": "OK" if returncode == 0 else "FAIL", "returncode": returncode,
    }) + "\n"


def tally(folder, ci=False, **suites):
    """suites: name=(status, {file: text}).  Returns (exit status, lines)."""
    for name, (status, reports) in suites.items():
        (folder / f"{name}.status").write_text(f"{status} 1200\n")
        for file, text in reports.items():
            (folder / file).write_text(text)
    env = {key: value for key, value in os.environ.items() if key != "CI"}
    env.update({"CI": "true"} if ci else {})
    run = subprocess.run([TALLY, folder], env=env, capture_output=True, text=True)
    assert run.stderr == ""
    return run.returncode, run.stdout.splitlines()


def test_tally_sums_suites_of_every_kind(tmp_path):
    status, lines = tally(
        tmp_path,
        unit=(0, {"unit.json": meson("1..2\nok 1 - a\nok 2 - b\n")}),
        cli=(0, {"cli-parallel.xml": PASSED, "cli-serial.xml": PASSED}),
        more=(0, {"more.tap": "1..1\nok 1 - c\n"}),
    )
    assert (status, lines[-1]) == (0, "5 passed, 0 failed, 0 skipped")
    assert any(line.split() == ["unit", "2", "1.2", "s"] for line in lines)
    assert any(line.split() == ["1.50", "s", "cli", "/", "a::b"] for line in lines)


WRONG = {
    "failure": (1, "s.xml", FAILED, "0 passed, 1 failed, 0 skipped"),
    "error": (1, "s.xml", ERRORED, "0 passed, 1 failed, 0 skipped"),
    "cut report": (0, "s.xml", CUT, "0 passed, 1 failed, 0 skipped"),
    "empty report": (0, "s.xml", "<testsuite/>", "0 passed, 1 failed, 0 skipped"),
    "no report": (0, "s.txt", "", "0 passed, 1 failed, 0 skipped"),
    "suite status": (2, "s.xml", PASSED, "1 passed, 1 failed, 0 skipped"),
    "cut log": (0, "s.json", "{", "0 passed, 1 failed, 0 skipped"),
    "strange log": (0, "s.json", "{}", "0 passed, 1 failed, 0 skipped"),
    "not ok": (1, "s.json", meson("1..2\nok 1 - a\nnot ok 2 - b\n", 1),
               "1 passed, 1 failed, 0 skipped"),
    "crash": (1, "s.json", meson("1..1\nok 1 - a\n", -11), "1 passed, 1 failed, 0 skipped"),
    "short of plan": (0, "s.json", meson("1..2\nok 1 - a\n"), "1 passed, 1 failed, 0 skipped"),
    "no plan": (0, "s.json", meson("ok 1 - a\n"), "1 passed, 1 failed, 0 skipped"),
    "silence": (0, "s.json", meson(""), "0 passed, 1 failed, 0 skipped"),
    "second group": (0, "s.json", meson("1..1\nok 1 - a\n1..1\nnot ok 1 - b\n"),
                     "1 passed, 1 failed, 0 skipped"),
}


@pytest.mark.parametrize("case", WRONG)
def test_tally_finds_what_went_wrong(tmp_path, case):
    suite_status, file, text, last = WRONG[case]
    status, lines = tally(tmp_path, s=(suite_status, {file: text}))
    assert (status, lines[-1]) == (1, last)


def test_tally_of_nothing_is_a_failure(tmp_path):
    assert tally(tmp_path)[0] == 1


@pytest.mark.parametrize(
    "report", [{"s.xml": SKIPPED}, {"s.json": meson("1..1\nnot ok 1 # SKIP a\n")}]
)
@pytest.mark.parametrize("ci", [False, True])
def test_skips_fail_in_ci_only(tmp_path, report, ci):
    status, lines = tally(tmp_path, ci, s=(0, report))
    assert (status, lines[-1]) == (int(ci), "0 passed, 0 failed, 1 skipped")


def test_tally_names_the_ten_slowest(tmp_path):
    cases = "".join(f'<testcase name="t{n}" time="{n}"/>' for n in range(1, 13))
    _, lines = tally(tmp_path, s=(0, {"s.xml": f"<testsuite>{cases}</testsuite>"}))
    slowest = lines[lines.index("slowest") + 1 : -2]
    assert [line.split()[-1] for line in slowest] == [f"t{n}" for n in range(12, 2, -1)]


def test_embed_carries_the_bytes(tmp_path):
    data = bytes(range(256)) * 3
    (tmp_path / "a-file.bin").write_bytes(data)
    (tmp_path / "main.c").write_text(
        '#include "embed/embed.h"\n#include <stdio.h>\nextern const struct embed embed_a_file_bin;\n'
        "int main(void)\n{\n    const struct embed *e = &embed_a_file_bin;\n"
        '    fprintf(stderr, "%s %d", e->name, e->data[e->size]);\n'
        "    return fwrite(e->data, e->size, 1, stdout) != 1;\n}\n"
    )
    subprocess.run([ROOT / "tools/embed", tmp_path / "e.c", tmp_path / "a-file.bin"], check=True)
    subprocess.run(["gcc", f"-I{ROOT}/src", "-O2", "-fPIE", "-pie", tmp_path / "main.c",
                    tmp_path / "e.c", "-o", tmp_path / "main"], check=True)
    run = subprocess.run([tmp_path / "main"], capture_output=True, check=True)
    assert (run.stdout, run.stderr) == (data, b"a-file.bin 0")


def musl_cc(folder, text, max_size=200_000, flags=()):
    (folder / "main.c").write_text(text)
    return subprocess.run(
        [ROOT / "tools/musl-cc", "--output", folder / "out", "--depfile", folder / "out.d",
         "--work", folder / "work", "--max-size", str(max_size), folder / "main.c", "--", *flags],
        capture_output=True, text=True,
    )


def test_musl_cc_makes_a_program_that_runs(tmp_path):
    text = "#include <linux/landlock.h>\n#include <unistd.h>\n" \
           'int main(void)\n{\n    return write(1, "hi", 2) != 2;\n}\n'
    assert musl_cc(tmp_path, text).returncode == 0
    assert subprocess.run([tmp_path / "out"], capture_output=True, check=True).stdout == b"hi"
    assert "linux/landlock.h" in (tmp_path / "out.d").read_text()


REFUSED = {
    "too large": ("int main(void)\n{\n    return 0;\n}\n", 100, "more than 100"),
    "does not compile": ("int main(void)\n{\n    return x;\n}\n", 200_000, "undeclared"),
    "does not link": ("int f(void);\nint main(void)\n{\n    return f();\n}\n", 200_000,
                      "undefined reference"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_musl_cc_refuses(tmp_path, case):
    text, max_size, complaint = REFUSED[case]
    run = musl_cc(tmp_path, text, max_size)
    assert run.returncode != 0 and complaint in run.stderr
    assert not (tmp_path / "out").exists()


def deps(lists, *names):
    """tools/deps with lists of our own (the script looks beside itself), never as root."""
    (lists / "deps").write_bytes((ROOT / "tools/deps").read_bytes())
    command = ["bash", lists / "deps", *names]
    user = 65534 if os.geteuid() == 0 else None
    return subprocess.run(command, cwd="/", capture_output=True, text=True, user=user)


@pytest.fixture
def lists():
    """A folder that another user may read, which pytest's own temporary ones are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "deps.d").mkdir()
        for path in (folder, folder / "deps.d"):
            path.chmod(0o755)
        yield folder


def test_deps_says_nothing_when_all_is_there(lists):
    (lists / "deps.d/build").write_text("# what\ndpkg  # itself\n\nsh: no-such-package\n")
    run = deps(lists)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_deps_knows_its_lists(lists):
    run = deps(lists, "brew")
    assert run.returncode == 2 and "no list named 'brew'" in run.stderr


def test_deps_asks_an_ordinary_user_for_one_line(lists):
    (lists / "deps.d/build").write_text("dpkg\nno-such-command: no-such-package\nzz-other\n")
    run = deps(lists, "build")
    assert run.returncode == 1 and run.stdout == ""
    line = "sudo apt-get install -y --no-install-recommends no-such-package zz-other"
    assert run.stderr.splitlines()[-1].strip() == line
