# SPDX-License-Identifier: Apache-2.0
"""Boxes that show their groups at /sys/fs/cgroup: what runtimes learn there, and what nobody may
do there (C07, C09, I02).

Boxes that live on show them, and those of languages whose runtimes read them; the sheet's box
(test_rows.py) does not.
"""
import collections
import json
import os
import re
import subprocess

import pytest

import sheet as sheets
from lib import box, host, kept, posture
from test_posture import compare
from test_rows import SHUT

MIB = 1 << 20
ROWS = ("C07", "C09=shown", "I02")
READ = """
const fs = require("fs"), own = fs.readFileSync("/proc/self/cgroup", "utf8");
const at = name => "/sys/fs/cgroup/" + name + own.match(new RegExp(":" + name + ":(.*)"))[1] + "/";
const read = (name, file) => Number(fs.readFileSync(at(name) + file, "utf8"));
console.log(JSON.stringify({
    memory: read("memory", "memory.limit_in_bytes"), pids: read("pids", "pids.max"),
    cpu: read("cpu", "cpu.cfs_quota_us") / read("cpu", "cpu.cfs_period_us"),
    constrained: process.constrainedMemory() }));
"""
START_BOTH = """
import json, subprocess
node = subprocess.run(["node", "-p", "JSON.stringify([process.constrainedMemory(), "
                       "v8.getHeapStatistics().heap_size_limit])"], capture_output=True, text=True)
java = subprocess.run(["java", "-XX:+PrintFlagsFinal", "-version"], capture_output=True, text=True)
print(json.dumps({"node": json.loads(node.stdout), "java": java.stdout, "said": java.stderr}))
"""

Asked = collections.namedtuple("Asked", "result sheet")


def ask_living(probe, host_user):
    """The rows, asked in a box that lives on."""
    with kept.made(as_user=host_user) as name:
        assert kept.call("put", name, f"{probe}:probe", as_user=host_user).returncode == 0
        result = kept.call("run", name, "--json", "--timeout", "60", "--", "./probe", *ROWS,
                           as_user=host_user)
    return result


def ask_javascript(probe, host_user):
    """The rows, asked by a child of a program whose language shows the groups."""
    code = ('require("child_process").execFileSync("./probe", %s, {stdio: "inherit"})'
            % json.dumps(ROWS))
    return box.run(code, language="javascript", files=[(probe, "probe")], timeout=60,
                   as_user=host_user)


@pytest.fixture(scope="module", params=[ask_living, ask_javascript], ids=["living", "javascript"])
def asked(request, probe, host_user):
    from lib import ledger as books, place as places
    with places.fresh(), books.watch(shared=False):
        result = request.param(probe, host_user)
    return Asked(result, sheets.Sheet(result.stdout or ""))


@pytest.mark.parametrize("row", ["C07", "C09"])
def test_row_where_groups_are_shown(asked, row):
    sheets.require(asked.result, asked.sheet, row)


def test_I02_readable_names_where_groups_are_shown(asked):
    found = {line.detail for line in asked.sheet.of("I02", "INFO") if line.variant == "readable"}
    assert asked.result.verdict == "ok" and not asked.sheet.unfinished("I02"), asked.result
    assert [name for name in found if name.startswith("/sys/fs/cgroup/memory/")], found
    if sheets.is_writing_golden():
        known = sorted(found | set(sheets.golden("readable.txt")))
        sheets.write_golden("readable.txt", "I02: files of /proc and /sys, outside of a process's "
                            "own, that can be read; numbers squashed to #.", known)
    assert sorted(found - set(sheets.golden("readable.txt"))) == []
    assert sorted(name for name in found if SHUT.search(name)) == []


def test_C09_no_group_but_the_boxs_own_is_shown(asked):
    """cpuset and cpuacct, in which a box has no group, would show the host's: they are covered."""
    names = {line.detail for line in asked.sheet.of("I02", "INFO") if line.variant == "readable"}
    shown = {name.split("/")[4] for name in names if name.startswith("/sys/fs/cgroup/")}
    assert {"memory", "pids", "cpu"} <= shown <= {"memory", "pids", "cpu", "cpuacct"}, shown
    assert not [name for name in names if "glovebox" in name]


def test_posture_of_a_run_in_a_box_that_lives_on(host_user):
    with kept.made(as_user=host_user) as name:
        with kept.started(name, "exec cat", as_user=host_user) as living:
            living.send(b"ready\n")
            living.expect(b"ready")
            keeper, = kept.keepers()
            run, = [p for p in kept.inside(keeper) if p.comm == "cat"]
            compare("kept run", posture.of(run.pid), host_user)
            living.end()


def test_a_program_reads_its_limits(host_user):
    """Of the run where it has groups of its own, else of the box: the glove's share is on top."""
    result = box.run(READ, language="javascript", as_user=host_user, memory="300m", pids=99, cpus=0.5)
    assert result.verdict == "ok", result
    found = json.loads(result.stdout)
    more = 0 if host_user is None else 2 * MIB
    assert 300 * MIB <= found["memory"] <= 300 * MIB + more, found
    assert found["constrained"] == found["memory"] and found["cpu"] == 0.5, found
    assert 99 <= found["pids"] <= (99 if host_user is None else 101), found


def test_a_strict_umask_of_the_caller_hides_no_limit(host_user):
    words = box.command(READ, language="javascript", memory="300m")
    if host_user is not None:
        words[0] = str(host_user.binary)
    result = box.run_words(["/bin/sh", "-c", 'umask 077; exec "$@"', "sh", *words], as_user=host_user)
    assert result.verdict == "ok" and json.loads(result.stdout)["memory"] >= 300 * MIB, result


def test_runtimes_that_another_program_starts_size_themselves_by_the_box(host_user):
    """No option of glovebox on their command lines: what they know, they have read."""
    with kept.made("--memory", "256m", "--cpus", "1", as_user=host_user) as name:
        result = kept.call("run", name, "--json", "-l", "python", "-c", START_BOTH, as_user=host_user)
    assert result.verdict == "ok", result
    found = json.loads(result.stdout)
    constrained, heap = found["node"]
    assert 256 * MIB <= constrained <= 258 * MIB and heap <= 300 * MIB, found["node"]
    largest = int(re.search(r"\bMaxHeapSize\s+= (\d+)", found["java"])[1])
    assert 0 < largest <= 192 * MIB, (largest, found["said"])


def test_nobody_on_the_host_may_write_to_a_group_that_is_shown(ordinary_user):
    """Others may read its counters, as they may read /proc; not even an owner of other groups may
    put a process there."""
    with kept.made() as name, kept.started(name, "echo ready; exec cat") as living:
        living.expect(b"ready")
        keeper, = kept.keepers()
        inside = kept.inside(keeper)[0]
        mounts = {path.rsplit("/", 1)[1]: path for path in host.hierarchies()}
        for controller in ("memory", "pids", "cpu"):
            folder = mounts[controller] + inside.groups[controller]
            assert box_mode(folder) == 0o755, folder
            tried = subprocess.run(
                ["find", folder, "-maxdepth", "1", "-writable"], capture_output=True, text=True,
                **box.credentials(ordinary_user))
            assert (tried.returncode, tried.stdout) == (0, ""), tried
        living.end()


def box_mode(folder):
    return os.stat(folder).st_mode & 0o7777


def test_groups_of_a_box_that_shows_none_are_its_owners_alone():
    with box.start(argv=["cat"]) as living:
        living.send(b"ready\n")
        living.expect(b"ready")
        glove = host.Process(living.glove)
        mounts = {path.rsplit("/", 1)[1]: path for path in host.hierarchies()}
        for controller in ("memory", "pids", "cpu"):
            assert box_mode(mounts[controller] + glove.groups[controller]) == 0o700
        living.end()
