# SPDX-License-Identifier: Apache-2.0
"""Nothing outlives a run: daemons (C23), and processes that are hard to kill (C24).

The ledger around each test finds any process that is left; `survivors` is glovebox's own count.
"""
import os
import time

import pytest

from lib import box, host, pace

# A run may take that much longer than its limit.
SLACK = pace.within(2)
STATES = ["stopped", "traced", "traceme", "vforked", "storm", "threads"]


def test_C23_daemons_do_not_outlive_the_program(probe, host_user):
    result = box.run(argv=["./probe", "daemons=50"], files=[(probe, "probe")], as_user=host_user)
    assert (result.verdict, result.survivors) == ("ok", 0), result


def test_C23_daemons_do_not_outlive_a_timeout(probe, host_user):
    result = box.run(argv=["./probe", "daemons=50,stay"], files=[(probe, "probe")], timeout=1,
                     as_user=host_user)
    assert (result.verdict, result.survivors) == ("timeout", 0), result
    assert result.stdout == "ready\n"
    assert result.seconds < 1 + SLACK


def test_C23_daemons_of_the_compile_step_are_gone_before_the_run(place, probe):
    wrapper = place.cwd / "as"
    wrapper.write_text('#!/bin/sh\n/workspace/probe daemons=50 >/dev/null\nexec /usr/bin/as "$@"\n')
    wrapper.chmod(0o755)
    code = """
#include <dirent.h>
#include <ctype.h>
#include <stdio.h>
int main(void)
{
    int n = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(proc));)
        n += isdigit((unsigned char)entry->d_name[0]) != 0;
    printf("%d\\n", n);
    return 0;
}"""
    result = box.run(code, language="c", env={"COMPILER_PATH": "/workspace/bin"},
                     files=[(wrapper, "bin/as"), (probe, "probe")])
    assert (result.verdict, result.survivors) == ("ok", 0), result
    # Itself alone: other users' processes, the glove's too, are hidden.
    assert result.stdout == "1\n", result


def test_C23_output_held_open_by_a_daemon_does_not_hold_the_result():
    result = box.run("(setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &); echo out; exit 5",
                     language="sh", timeout=60)
    assert (result.verdict, result.exit_code, result.stdout) == ("nonzero", 5, "out\n"), result
    assert result.seconds < SLACK and result.survivors == 0


@pytest.mark.parametrize("state", STATES)
def test_C24_every_state_can_be_killed(probe, state, host_user):
    for _ in range(pace.count(2, 50) if host_user is None else pace.count(1, 50)):
        result = box.run(argv=["./probe", state], files=[(probe, "probe")], timeout=0.7, pids=64,
                         as_user=host_user)
        assert result.stdout.startswith("ready"), result
        assert (result.verdict, result.survivors) == ("timeout", 0), result
        assert result.seconds < 1 + SLACK


def test_C24_a_program_that_makes_the_glove_its_tracer_is_judged_by_its_end(probe, host_user):
    """The parent of a run's main program is the glove: PTRACE_TRACEME makes every signal and exec
    of it a stop that the glove is told of.  A stop is not an end."""
    result = box.run(argv=["./probe", "traceme-exec"], files=[(probe, "probe")], timeout=5,
                     as_user=host_user)
    assert (result.verdict, result.exit_code) == ("nonzero", 1), result


@pytest.mark.parametrize("state", ["stopped", "traced", "storm"])
def test_C24_a_group_can_be_emptied_while_it_is_frozen(probe, state):
    """Somebody on the host has frozen the run; the kill must not wait for the thaw."""
    with box.start(argv=["./probe", state], files=[(probe, "probe")], timeout=5, pids=64) as living:
        living.expect(b"ready")
        group = living.runs[0].groups[""]
        mounts = [mount for mount, kind in host.hierarchies().items() if kind == "v2"]
        freezer = os.path.join(mounts[0], group.lstrip("/"), "cgroup.freeze")
        with open(freezer, "w", encoding="ascii") as knob:
            knob.write("1")
        start = time.monotonic()
        living.process.send_signal(2)
        living.gone(within=SLACK)
        assert time.monotonic() - start < SLACK


def test_C22_a_killed_program_is_a_signal_not_a_lost_sandbox():
    for signo, name in ((9, "KILL"), (15, "TERM"), (11, "SEGV"), (6, "ABRT"), (31, "SYS")):
        result = box.run(f"kill -{name} $$", language="sh")
        assert (result.verdict, result.signal) == ("signal", signo), result
        assert result.returncode == 128 + signo


def test_C22_kill_everything_and_self():
    result = box.run("sleep 1000 & kill -9 -1; kill -9 $$", language="sh", timeout=20)
    assert (result.verdict, result.signal, result.survivors) == ("signal", 9, 0), result


def test_C22_storm_of_signals_at_the_glove():
    code = """
import os, signal
for _ in range(2000):
    for signo in (1, 2, 15, 17, 18, 34):
        try:
            os.kill(1, signo)
        except OSError:
            pass
print("done")
"""
    result = box.run(code, language="python")
    assert (result.verdict, result.stdout) == ("ok", "done\n"), result
