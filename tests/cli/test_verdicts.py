# SPDX-License-Identifier: Apache-2.0
"""Every verdict, the exit code that goes with it, and which of two wins.

The order is that of the table in docs/result.md: what we killed a program for comes before what
the kernel counted, and that before how the program ended.
"""
import os

import pytest

import command
from lib import box

# Allocates for ever, in steps that the smallest limit here survives once.
EAT = "kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))\n"
# A child that the kernel kills for memory; its parent tells how it ended.
CHILD_EATS = """
import os, signal, sys, time
pid = os.fork()
if pid == 0:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))
print("child ended by", os.WTERMSIG(os.waitpid(pid, 0)[1]), flush=True)
"""
# Forks until it is refused; the children wait for ever.
FORK_OUT = """
import os, signal, sys, time
def fork_out():
    while True:
        try:
            if os.fork() == 0:
                signal.pause()
        except BlockingIOError:
            return
fork_out()
print("refused", flush=True)
"""
FILL = "cat /dev/zero >/workspace/full"
FILES = "i=0; while echo x >/workspace/f$i; do i=$((i+1)); done 2>/dev/null"


def outcome(result):
    return result.verdict, result.exit_code, result.signal, result.returncode


# name: (language, code, limits, (verdict, exit_code, signal, exit code of the command))
VERDICTS = {
    "ok": ("sh", "exit 0", {}, ("ok", 0, None, 0)),
    "nonzero 1": ("sh", "exit 1", {}, ("nonzero", 1, None, 1)),
    "nonzero 2": ("sh", "exit 2", {}, ("nonzero", 2, None, 2)),
    "nonzero 124": ("sh", "exit 124", {}, ("nonzero", 124, None, 124)),
    "nonzero 125": ("sh", "exit 125", {}, ("nonzero", 125, None, 125)),
    "nonzero 130": ("sh", "exit 130", {}, ("nonzero", 130, None, 130)),
    "nonzero 137": ("sh", "exit 137", {}, ("nonzero", 137, None, 137)),
    "nonzero 255": ("sh", "exit 255", {}, ("nonzero", 255, None, 255)),
    "signal HUP": ("sh", "kill -HUP $$", {}, ("signal", None, 1, 129)),
    "signal INT": ("sh", "kill -INT $$", {}, ("signal", None, 2, 130)),
    "signal ABRT": ("sh", "kill -ABRT $$", {}, ("signal", None, 6, 134)),
    "signal KILL": ("sh", "kill -KILL $$", {}, ("signal", None, 9, 137)),
    "signal SEGV": ("c", "int main(void) { volatile int *p = 0; return *p; }", {},
                    ("signal", None, 11, 139)),
    "signal PIPE": ("sh", "kill -PIPE $$", {}, ("signal", None, 13, 141)),
    "signal TERM": ("sh", "kill -TERM $$", {}, ("signal", None, 15, 143)),
    "signal real time": ("sh", "kill -40 $$", {}, ("signal", None, 40, 168)),
    "timeout asleep": ("sh", "sleep 1000", {"timeout": 0.4}, ("timeout", None, 9, 124)),
    "timeout in a child": ("sh", "sleep 1000 & wait", {"timeout": 0.4}, ("timeout", None, 9, 124)),
    "cpu": ("sh", "while :; do :; done", {"cpu_time": 0.3}, ("cpu", None, 9, 124)),
    "cpu of children": ("sh", "(while :; do :; done) & (while :; do :; done) & wait",
                        {"cpu_time": 0.3, "cpus": 2}, ("cpu", None, 9, 124)),
    "cpu of children that have ended": (
        "sh", "while :; do sh -c 'i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done'; done",
        {"cpu_time": 0.5}, ("cpu", None, 9, 124)),
    "memory": ("python", EAT, {"memory": "64m"}, ("memory", None, 9, 137)),
    "memory of a child, parent fails": ("python", CHILD_EATS + "sys.exit(3)", {"memory": "64m"},
                                        ("memory", 3, None, 137)),
    "pids": ("python", FORK_OUT + "sys.exit(3)", {"pids": 8}, ("pids", 3, None, 3)),
    "pids, then a signal": ("python", FORK_OUT + "os.kill(os.getpid(), signal.SIGTERM)",
                            {"pids": 8}, ("pids", None, 15, 143)),
    "pids in a shell": ("sh", "while :; do sleep 100 & done", {"pids": 8}, ("pids", 2, None, 2)),
    "disk": ("sh", FILL, {"disk": "2m"}, ("disk", 1, None, 153)),
    "disk, several files": ("sh", "for f in a b c; do head -c 900k /dev/zero >$f || exit 4; done",
                            {"disk": "2m"}, ("disk", 4, None, 153)),
    "output": ("sh", "exec yes", {"output_max": "100k"}, ("output", None, 9, 153)),
    "output on stderr": ("sh", "exec yes >&2", {"output_max": "100k"}, ("output", None, 9, 153)),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict_and_exit_code(name, host_user):
    language, code, limits, expected = VERDICTS[name]
    result = box.run(code, language=language, as_user=host_user, **limits)
    assert outcome(result) == expected, result
    assert result.survivors == 0 and "error" not in result.document, result
    decided_by_limit = expected[0] in ("timeout", "cpu", "memory", "pids", "disk", "output")
    assert ("hint" in result.document) == decided_by_limit, result


def test_every_verdict_is_in_the_table():
    """Cancelled and sandbox_error need somebody outside; they have tests of their own below."""
    seen = {expected[0] for _, _, _, expected in VERDICTS.values()}
    assert seen == set("ok nonzero signal timeout cpu memory pids disk output".split())


def test_disk_by_number_of_files(host_user):
    result = box.run(FILES + "; exit 6", language="sh", host_env={"GLOVEBOX_INODES": "200"}, as_user=host_user)
    assert outcome(result) == ("disk", 6, None, 153), result


def test_a_file_longer_than_the_disk_is_xfsz_even_with_room_left():
    code = "import os\nos.truncate(os.open('/workspace/s', os.O_CREAT | os.O_RDWR), 3 << 20)\n"
    result = box.run("import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" + code,
                     language="python", disk="2m")
    assert outcome(result) == ("disk", None, 25, 153), result


# ---- who wins -----------------------------------------------------------------------------------

# name: (code, limits, verdict, events)
PRECEDENCE = {
    "memory of a child, parent ends well": (CHILD_EATS, {"memory": "64m"}, "ok", ["oom_kill"]),
    "refused forks, parent ends well": (FORK_OUT, {"pids": 8}, "ok", ["pids_max"]),
    "timeout before memory": (CHILD_EATS + "time.sleep(1000)", {"memory": "64m", "timeout": 4},
                              "timeout", ["oom_kill"]),
    "timeout before pids": (FORK_OUT + "time.sleep(1000)", {"pids": 8, "timeout": 3}, "timeout",
                            ["pids_max"]),
    "cpu before pids": (FORK_OUT + "while True: pass", {"pids": 8, "cpu_time": 0.5}, "cpu",
                        ["pids_max"]),
    "output before memory": (CHILD_EATS + "while True: print('x' * 4096)",
                             {"memory": "64m", "output_max": "64k"}, "output", ["oom_kill"]),
    "pids before disk": (
        FORK_OUT + "try:\n    open('/workspace/full', 'wb').write(bytes(3 << 20))\n"
        "except OSError:\n    sys.exit(9)", {"pids": 8, "disk": "2m"}, "pids", ["disk_full"]),
    "disk full, program ends well": (
        "try:\n    open('/workspace/full', 'wb').write(bytes(3 << 20))\nexcept OSError:\n    pass",
        {"disk": "2m"}, "ok", ["disk_full"]),
    "memory before a signal of its own": (
        CHILD_EATS + "os.kill(os.getpid(), signal.SIGTERM)", {"memory": "64m"}, "memory", []),
}


@pytest.mark.parametrize("name", PRECEDENCE)
def test_precedence(name, host_user):
    code, limits, verdict, events = PRECEDENCE[name]
    result = box.run(code, language="python", as_user=host_user, **limits)
    assert (result.verdict, result.events, result.survivors) == (verdict, events, 0), result


def test_memory_comes_before_pids(host_user):
    """Children that wait are in the way of the pids limit, one that eats in that of memory."""
    code = FORK_OUT.replace("fork_out()\nprint", "first = os.fork()\nif first == 0:\n"
                            "    signal.pause()\nfork_out()\nprint")
    code += "os.kill(first, 9); os.waitpid(first, 0)\n" + CHILD_EATS + "sys.exit(3)\n"
    result = box.run(code, language="python", memory="96m", pids=8, as_user=host_user)
    assert (result.verdict, result.exit_code, result.events) == ("memory", 3, ["pids_max"]), result


def test_a_limit_that_was_not_reached_decides_nothing(host_user):
    result = box.run("head -c 1000k /dev/zero >f; head -c 99k /dev/zero; sleep 0.1; exit 7",
                     language="sh", disk="2m", output_max="99k", timeout=20, pids=4, memory="32m", as_user=host_user)
    assert (result.verdict, result.exit_code, result.events) == ("nonzero", 7, []), result


# ---- started or not -----------------------------------------------------------------------------

def test_not_found_is_127_and_not_executable_126():
    missing = box.run(argv=["no-such-program"])
    assert (missing.verdict, missing.exit_code, missing.returncode) == ("nonzero", 127, 127), missing
    assert "no-such-program" in missing.stderr
    refused = box.run(argv=["/etc/passwd"])
    assert (refused.verdict, refused.exit_code, refused.returncode) == ("nonzero", 126, 126), refused
    folder = box.run(argv=["/usr"])
    assert folder.returncode == 126, folder


def test_a_program_that_exits_127_has_run():
    """What the glove says about an exec that failed is not in the output of one that ran."""
    result = box.run("exit 127", language="sh")
    assert (result.verdict, result.exit_code, result.stderr) == ("nonzero", 127, ""), result


def test_a_script_whose_interpreter_is_missing_is_not_found(place):
    script = place.cwd / "tool"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    result = box.run(argv=["./tool"], files=[script])
    assert result.returncode == 127, result


# ---- partial output -----------------------------------------------------------------------------

PARTIAL = {
    "timeout": ("sleep 1000", {"timeout": 1}),
    "cpu": ("while :; do :; done", {"cpu_time": 0.3}),
    "memory": ("exec perl -e '$x = q(x) x (1 << 30)'", {"memory": "64m"}),
    "pids": ("while :; do sleep 100 & done", {"pids": 8}),
    "disk": (FILL, {"disk": "2m"}),
    "signal": ("kill -9 $$", {}),
    "nonzero": ("exit 9", {}),
}


@pytest.mark.parametrize("verdict", PARTIAL)
def test_output_until_then_is_told(verdict, host_user):
    tail, limits = PARTIAL[verdict]
    result = box.run("printf before; printf also >&2; " + tail, language="sh", as_user=host_user, **limits)
    assert result.verdict == verdict, result
    assert result.stdout == "before" and result.stdout_bytes == 6, result
    assert result.stderr.startswith("also"), result
    assert result.stderr_bytes == len(result.stderr.encode()), result


@pytest.mark.parametrize("verdict", PARTIAL)
def test_output_until_then_is_passed_on_without_json(verdict):
    tail, limits = PARTIAL[verdict]
    result = box.run("printf before; printf also >&2; " + tail, language="sh", as_json=False, **limits)
    assert result.out == b"before" and result.err.startswith(b"also"), result
    assert b"glovebox: " + verdict.encode() in result.err or verdict in ("signal", "nonzero"), result


# ---- lost ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("victim", ["spawner", "glove"])
def test_a_lost_box_is_a_sandbox_error(victim, host_user):
    with box.start("echo before; cat", language="sh", as_user=host_user) as living:
        living.expect(b"before")
        os.kill(getattr(living, victim), 9)
        assert living.process.wait(20) == 125
        assert b"glovebox: " in living.process.stderr.read()


def test_sandbox_error_is_a_whole_document():
    with command.started("printf before; sleep 1000", language="sh") as living:
        living.await_program("sleep")
        os.kill(living.glove, 9)
        result = living.result()
    assert (result.verdict, result.returncode) == ("sandbox_error", 125), result
    assert (result.exit_code, result.survivors, result.stdout) == (None, 0, "before"), result
    assert result.error["message"] and result.error["wall"] is None, result


# ---- measures -----------------------------------------------------------------------------------

def test_times_are_measured(host_user):
    idle = box.run("sleep 0.5", language="sh", as_user=host_user)
    assert 450 <= idle.wall_ms < 5000 and idle.cpu_ms < 200, idle
    busy = box.run("import time\nwhile time.process_time() < 0.5: pass", language="python", as_user=host_user)
    assert 480 <= busy.cpu_ms < 2000 and busy.wall_ms >= 450, busy


def test_memory_peak_is_measured(host_user):
    small = box.run("pass", language="python", as_user=host_user)
    large = box.run("x = bytearray(b'x') * (100 << 20)", language="python", as_user=host_user)
    assert 100 << 20 <= large.memory_peak_bytes <= 200 << 20, large
    assert small.memory_peak_bytes < 60 << 20, small


def test_limits_in_force_are_in_the_receipt():
    result = box.run("exit 0", language="sh", memory="100m", cpus=0.5, pids=17, disk="10m", timeout=7,
                     cpu_time=3, output_max="1m")
    wanted = {"memory_bytes": 100 << 20, "cpus": 0.5, "pids": 17, "disk_bytes": 10 << 20,
              "wall_ms": 7000, "cpu_ms": 3000, "output_max_bytes": 1 << 20}
    assert {name: result.receipt["limits"][name] for name in wanted} == wanted
    assert result.receipt["backend"] == "native" and result.receipt["accounting"] == "run"
    assert all(result.receipt["walls"].values()), result


def test_defaults_are_those_of_the_manual():
    limits = box.run("exit 0", language="sh").receipt["limits"]
    assert limits["memory_bytes"] == 512 << 20 and limits["cpus"] == 1 and limits["pids"] == 128
    assert limits["disk_bytes"] == 256 << 20 and limits["wall_ms"] == limits["cpu_ms"] == 30000
    assert limits["output_max_bytes"] == 1 << 30 and limits["output_keep_bytes"] == 8 << 20


def test_cpu_time_follows_wall_time_and_cpus():
    limits = box.run("exit 0", language="sh", timeout=4, cpus=2).receipt["limits"]
    assert limits["cpu_ms"] == 8000
