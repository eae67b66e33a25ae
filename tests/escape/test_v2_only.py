# SPDX-License-Identifier: Apache-2.0
"""A machine with v2 groups alone, as far as a hybrid one can be it: the v2 tree lies where such a
machine has it, in a mount namespace of the command.  Its controllers stay in v1's trees, so limits of
memory, CPU and processes are missing walls here; where a box lives, what it sees of its groups, and
how a run ends do not depend on them.
"""
import json

import pytest

import sheet as sheets
from lib import box, host, kept, lacking, pace

MISSING = "memory,cpu,pids"
DAEMONS = "for i in 1 2 3 4 5; do (setsid sh -c 'trap \"\" 1 2 15; sleep 1000 & sleep 1000' &); done; "
# What a runtime does to find its limits.
FIND = """
const fs = require("fs"), at = fs.readFileSync("/proc/self/cgroup", "utf8").match(/^0::(.*)$/m)[1];
const own = "/sys/fs/cgroup" + at;
let told;
try { fs.writeFileSync(own + "/cgroup.procs", "0"); told = "written"; } catch (error) { told = error.code; }
console.log(JSON.stringify({ at, pids: fs.readFileSync(own + "/cgroup.procs", "utf8").trim().split("\\n").map(Number),
    pid: process.pid, top: fs.readdirSync("/sys/fs/cgroup").filter(name => !name.includes(".")).sort(),
    files: fs.readdirSync(own), written: told }));
"""


def run(*args, **request):
    return box.run_words(lacking.without_v1(*box.command(*args, allow_missing=MISSING, **request)))


def test_limits_that_cannot_be_set_refuse_the_box():
    result = box.run_words(lacking.without_v1(*box.command("echo started", language="sh")))
    assert (result.returncode, result.verdict) == (125, "sandbox_error"), result
    assert result.error["wall"] == "memory" and "/sys/fs/cgroup" in result.error["message"], result


def test_a_run_finds_its_own_group_where_runtimes_look():
    """Not "/../run-1", as seen from the glove's leaf: its limits are written there."""
    result = run(FIND, language="javascript")
    assert (result.verdict, result.survivors) == ("ok", 0), result
    found = json.loads(result.stdout)
    assert found["at"] == "/run-1" and found["pid"] in found["pids"], found
    assert found["top"] == ["glove", "run-1"] and "cgroup.procs" in found["files"], found
    assert found["written"] == "EROFS", found


def test_so_does_every_run_of_a_box_that_lives_on():
    words = kept.words("create", "--allow-missing", MISSING)
    made = box.run_words(lacking.without_v1(*words), host_env=kept.environment())
    assert made.returncode == 0, made
    name = made.out.decode().strip()
    try:
        for number in range(1, 4):
            words = kept.words("run", name, "--json", "-l", "javascript", "-c", FIND)
            result = box.run_words(lacking.without_v1(*words), host_env=kept.environment())
            assert result.verdict == "ok", result
            found = json.loads(result.stdout)
            assert found["at"].startswith("/run-") and found["top"] == ["glove", found["at"][1:]], found
            assert found["pids"] == [found["pid"]], (number, found)
            # One that has ended may be busy for a moment more.
            assert host.until(lambda: not kept.run_groups(), pace.within(2)), kept.run_groups()
    finally:
        box.run_words(lacking.without_v1(*kept.words("rm", name)), host_env=kept.environment())


@pytest.mark.parametrize("language, then, verdict", [
    ("sh", "exit 0", "ok"), ("sh", "sleep 1000", "timeout"), ("sh", "kill -9 $$", "signal")])
def test_what_a_run_started_ends_with_it(language, then, verdict):
    result = run(DAEMONS + then, language=language, timeout=1 if verdict == "timeout" else 60)
    assert (result.verdict, result.survivors) == (verdict, 0), result
    assert result.receipt["accounting"] == "run" and result.receipt["walls"]["kill"] is True, result


@pytest.mark.parametrize("language", ["sh", "javascript"])
def test_cpu_time_is_counted_there(language):
    code = {"sh": "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done",
            "javascript": "while (process.cpuUsage().user < 200000);"}[language]
    result = run(code, language=language)
    assert result.verdict == "ok" and result.cpu_ms > 100, result


def test_rows(probe):
    rows = ("C02", "C07", "C15", "C21", "C22")
    words = box.command(argv=["./probe", *rows], files=[(probe, "probe")], timeout=60, allow_missing=MISSING)
    result = box.run_words(lacking.without_v1(*words))
    sheets.require(result, sheets.Sheet(result.stdout or ""), *rows)
