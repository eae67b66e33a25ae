# SPDX-License-Identifier: Apache-2.0
"""The posture of a living box, compared exactly with posture.json; later runs with first ones (C25)."""
import difflib
import json
import re
import subprocess
from pathlib import Path

import pytest

import sheet as sheets
from lib import box, host, posture

EXPECTED = Path(__file__).parent / "posture.json"
LIMITED = ("memory", "pids", "cpu")


@pytest.fixture
def living(host_user):
    with box.start(argv=["cat"], as_user=host_user) as found:
        found.send(b"ready\n")
        found.expect(b"ready")
        yield found
        found.end()


def who(host_user):
    return "root" if host_user is None else "ordinary"


def expected_of(kind, host_user):
    """posture.json: what both kinds of user share, then what differs."""
    document = json.loads(EXPECTED.read_text())
    wanted = json.loads(json.dumps(document[kind]["both"]))
    for section, entries in document[kind].get(who(host_user), {}).items():
        if isinstance(entries, dict):
            wanted.setdefault(section, {}).update(entries)
        else:
            wanted[section] = entries
    return wanted


def compare(kind, found, host_user):
    if sheets.is_writing_golden():
        document = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
        both = document.setdefault(kind, {}).setdefault("both", found)
        document[kind][who(host_user)] = {
            section: found[section] if not isinstance(found[section], dict) else
            {name: value for name, value in found[section].items()
             if both[section].get(name) != value}
            for section in found if found[section] != both[section]}
        EXPECTED.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    differences = posture.compare(found, expected_of(kind, host_user))
    assert not differences, "\n".join(differences)


def test_run_is_as_expected(living, host_user):
    compare("run", posture.of(living.runs[0].pid), host_user)


def test_glove_is_as_expected(living, host_user):
    """Its descriptors have no fixed numbers, its limits are the caller's, its signals its own."""
    found = posture.of(living.glove)
    found["descriptors"] = sorted(found["descriptors"].values())
    found["limits"] = {"Max core file size": found["limits"]["Max core file size"].split()[0]}
    del found["threads"]["SigBlk"], found["threads"]["SigIgn"]
    compare("glove", found, host_user)


def test_minder_is_as_expected(living, host_user):
    """Only where runs have no groups; numbers of descriptors and limits as the glove's."""
    if host_user is None:
        assert living.minders == []
        return
    minder, = living.minders
    found = posture.of(minder.pid)
    found["descriptors"] = sorted(found["descriptors"].values())
    found["limits"] = {"Max core file size": found["limits"]["Max core file size"].split()[0]}
    del found["threads"]["SigBlk"], found["threads"]["SigIgn"]
    compare("minder", found, host_user)
    assert found["threads"]["CapEff"] == found["threads"]["CapPrm"] == ["kill"]
    assert set(found["threads"]["CapBnd"]) | set(found["threads"]["CapInh"]) | set(found["threads"]["CapAmb"]) == set()


def test_glove_cannot_be_read_by_its_own_uid(living):
    """Not dumpable: a process of the box's root with the glove's own three capabilities, put into
    the box's user namespace from the host, may not look at it."""
    look = ["nsenter", f"--user=/proc/{living.glove}/ns/user", "setpriv", "--inh-caps=-all",
            "--bounding-set=-all,+kill,+setuid,+setgid", "cat"]
    own = subprocess.run([*look, "/proc/self/status"], capture_output=True, text=True)
    assert re.search(r"(?m)^Uid:\t0\t0\t0\t0$", own.stdout), own
    assert re.search(r"(?m)^CapEff:\t00000000000000e0$", own.stdout), own
    for name in ("maps", "environ", "auxv"):
        done = subprocess.run([*look, f"/proc/{living.glove}/{name}"], capture_output=True)
        assert done.returncode != 0 and b"denied" in done.stderr, (name, done)


def test_run_has_no_privilege_whatever_the_document_says(living):
    """The least that must hold, apart from the golden document."""
    for process in living.runs:
        threads = posture.threads(process.pid)
        for name in posture.CAPABILITY_SETS:
            assert threads[name] == [], name
        assert (threads["NoNewPrivs"], threads["Seccomp"]) == ("1", "2")
        assert threads["Uid"] == [1000] * 4 and threads["Gid"] == [1000] * 4
        assert threads["Groups"] == []
        own = posture.namespaces(process.pid)
        assert [name for name in own if own[name] != "own" and name != "time"] == []


def test_glove_keeps_three_capabilities(living):
    threads = posture.threads(living.glove)
    three = ["kill", "setgid", "setuid"]
    assert sorted(threads["CapPrm"]) == sorted(threads["CapEff"]) == three
    assert set(threads["CapBnd"]) <= set(three)
    assert threads["CapInh"] == [] and threads["CapAmb"] == []
    assert (threads["NoNewPrivs"], threads["Seccomp"]) == ("1", "2")
    assert host.read(f"/proc/{living.glove}/environ") == ""


def test_every_mount_is_nosuid_and_nodev_and_private(living):
    for line in host.read(f"/proc/{living.runs[0].pid}/mountinfo").splitlines():
        fields = line.split(" - ")[0].split()
        point, flags = fields[4], fields[5].split(",")
        assert "nosuid" in flags, line
        # Device nodes are bound one by one: nodev would shut them.
        is_device = re.fullmatch(r"/dev/(null|zero|full|random|urandom|tty|pts)", point)
        assert "nodev" in flags or is_device, line
        assert fields[6:] == [], line


def test_C09_every_process_is_in_the_boxs_groups(host_user):
    code = "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sh -c 'sleep 1000 & sleep 1000' &) ; done; echo ready; cat"
    with box.start(code, language="sh", as_user=host_user) as living:
        living.expect(b"ready")
        def members():
            """Those that live when their groups have been read: some only start others."""
            found = [(process, process.groups) for process in living.runs]
            return [(process, groups) for process, groups in found if process.is_alive()]

        assert host.until(lambda: len(members()) >= 30, 30), living.runs
        for process, groups in members():
            boxes = {posture.box_group(groups[controller]) for controller in LIMITED}
            assert len(boxes) == 1 and None not in boxes, (str(process), groups)
            # The v2 tree kills and freezes; an ordinary user cannot be born into it from outside.
            assert host_user is not None or posture.box_group(groups[""]) in boxes, groups
        living.end()


def test_every_signal_is_at_its_default(probe):
    """What the caller or the glove ignores or blocks must not become the program's (3.4, step 9)."""
    words = box.command(argv=["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])
    shell = "trap '' INT QUIT PIPE CHLD HUP TERM USR1 TSTP XFSZ; exec \"$@\""
    result = box.run_words(["/bin/sh", "-c", shell, "sh", *words])
    zero = "0" * 16
    assert result.stdout == f"SigBlk:\t{zero}\nSigIgn:\t{zero}\n", result.stdout


# ---- C25 -----------------------------------------------------------------------------------------

WRAPPER = """#!/bin/sh
# Called by gcc in place of the assembler, in the compile step.
/workspace/probe status > /workspace/compile.status
exec /usr/bin/as "$@"
"""
MAIN = """
#include <unistd.h>
int main(void) { execl("/workspace/probe", "probe", "status", (char *)0); return 1; }
"""


def without_numbers(text):
    """What must be alike in two processes of one box."""
    text = re.sub(r"(?m)^(Name|Pid|Tgid|Ngid|PPid|NSpid|NSpgid|NSsid|NStgid|Vm\w+|Rss\w+|HugetlbPages|"
                  r"Threads|State|voluntary_\S+|nonvoluntary_\S+|FDSize|Sig\w+|Shd\w+|Umask|"
                  r"Speculation\S*|Cpus_allowed\S*|x86\S*|untag\S*|THP\S*|CoreDumping|"
                  r"TracerPid|Kthread):.*\n", "", text)
    # gcc gives itself and its children a greater stack; each run has a group of its own.
    text = re.sub(r"(?m)^Max stack size.*\n", "", text)
    text = re.sub(r"/run-\d+", "/run-N", text)
    return re.sub(r"(?m)^== parent.*\n", "", text)


def test_C25_a_later_run_has_the_posture_of_the_first(place, probe, host_user):
    """The compile step is the first run of a box, the program the second one."""
    wrapper = place.cwd / "as"
    wrapper.write_text(WRAPPER)
    wrapper.chmod(0o755)
    result = box.run(MAIN, language="c", as_user=host_user, env={"COMPILER_PATH": "/workspace/bin"},
                     files=[(wrapper, "bin/as"), (probe, "probe")],
                     out=[("compile.status", place.cwd / "compile.status")])
    assert result.verdict == "ok", result
    first = (place.cwd / "compile.status").read_text()
    assert "Seccomp:\t2" in first and "== ns user" in first
    assert without_numbers(first) == without_numbers(result.stdout)


def test_C25_what_a_first_run_writes_does_not_change_the_second(place):
    """The compile step plants what a careless second start would obey."""
    wrapper = place.cwd / "as"
    wrapper.write_text("""#!/bin/sh
for name in .profile .bashrc .bash_env .pam_environment; do echo 'echo PLANTED' > $HOME/$name; done
echo /tmp/evil.so > /tmp/ld.so.preload
ulimit -n 9 -c unlimited 2>/dev/null
umask 0
cd /tmp
export LD_PRELOAD=/tmp/evil.so GLOVEBOX_SECCOMP=off
exec /usr/bin/as "$@"
""")
    wrapper.chmod(0o755)
    code = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
int main(void)
{
    struct rlimit files, core;
    char cwd[256];
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_CORE, &core);
    printf("%lu %lu %s %s %o\\n", (unsigned long)files.rlim_cur, (unsigned long)core.rlim_max,
           getcwd(cwd, sizeof(cwd)), getenv("LD_PRELOAD") ? "preload" : "clean", umask(0));
    return 0;
}"""
    result = box.run(code, language="c", env={"COMPILER_PATH": "/workspace/bin"},
                     files=[(wrapper, "bin/as")])
    assert (result.verdict, result.stdout) == ("ok", "1024 0 /workspace clean 22\n"), result


def test_C25_boxes_one_after_another_look_alike(probe):
    seen = set()
    for _ in range(3):
        result = box.run(argv=["./probe", "status"], files=[(probe, "probe")])
        assert result.verdict == "ok", result
        text = re.sub(r"\[\d+\]", "[]", without_numbers(result.stdout))
        # The one before may still be on its way out: then this one has other ids, of another slot.
        text = re.sub(r"\b([ug]id)=\d+", r"\1=N", text)
        text = re.sub(r"(?m)^( +\d+ +)\d+( +1)$", r"\1N\2", text)
        seen.add(re.sub(r"(?m)^\d+ \d+ \d+:\d+ ", "", text))
    assert len(seen) == 1, "\n".join(difflib.unified_diff(*(text.splitlines() for text in sorted(seen)[:2])))
