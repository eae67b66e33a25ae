# SPDX-License-Identifier: Apache-2.0
"""Whoever started a run can end it: Ctrl-C, SIGTERM, a lost terminal; and it is told like any end."""
import contextlib
import os
import pty
import signal
import subprocess
import termios

import pytest

import command
from lib import box, host

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

# Programs that do not want to be ended.
STUBBORN = {
    "asleep": "sleep 1000",
    "deaf": "trap '' INT TERM HUP QUIT; while :; do sleep 1000; done",
    "stopped": "sleep 1000 & kill -STOP $$; sleep 1000",
    "daemons": "(setsid sleep 1000 &); (setsid sleep 1000 &); sleep 1000",
    "flooding": "sleep 1000 & yes",
}


@pytest.mark.parametrize("signo", SIGNALS)
def test_a_signal_cancels_the_run(signo):
    with command.started("printf before; sleep 1000", language="sh") as living:
        living.await_program("sleep")
        living.process.send_signal(signo)
        result = living.result()
    assert (result.verdict, result.returncode, result.survivors) == ("cancelled", 130, 0), result
    assert (result.stdout, result.truncated) == ("before", False), result
    assert result.receipt["backend"] == "native" and result.wall_ms > 0


@pytest.mark.parametrize("name", STUBBORN)
def test_the_program_cannot_refuse(name):
    with command.started(STUBBORN[name], language="sh") as living:
        living.await_program("sleep")
        known = living.below()
        living.process.send_signal(signal.SIGINT)
        result = living.result(20)
    assert (result.verdict, result.returncode, result.survivors) == ("cancelled", 130, 0), result
    assert host.until(lambda: not [p for p in known if p.is_alive()], 20)


def test_without_json_the_output_so_far_was_passed_on():
    with box.start("echo before; cat", language="sh") as living:
        living.expect(b"before\n")
        living.process.send_signal(signal.SIGINT)
        assert living.end() == (130, b"before\n")


def test_the_program_does_not_get_the_signal():
    """It is killed; a handler of its own would tell it what happens outside."""
    code = "trap 'echo heard' INT TERM HUP; echo ready; while :; do sleep 0.1; done"
    with box.start(code, language="sh") as living:
        living.expect(b"ready\n")
        living.process.send_signal(signal.SIGINT)
        assert living.end() == (130, b"ready\n")


def test_several_signals_are_one_cancel():
    with command.started("sleep 1000", language="sh") as living:
        living.await_program("sleep")
        for signo in SIGNALS * 3:
            with contextlib.suppress(ProcessLookupError):
                living.process.send_signal(signo)
        result = living.result()
    assert (result.verdict, result.returncode) == ("cancelled", 130), result


@pytest.mark.parametrize("delay_ms", range(0, 40, 2))
def test_a_signal_at_any_moment_leaves_an_answer(delay_ms):
    """From before main() to after the end: the command is killed by it, cancelled or finished."""
    words = box.command("echo done", language="sh")
    with command.started("echo done", language="sh") as living:
        with contextlib.suppress(subprocess.TimeoutExpired):
            living.process.wait(delay_ms / 1000)
        living.process.send_signal(signal.SIGTERM)
        result = living.result()
    assert result.returncode in (0, 130, -signal.SIGTERM), (words, result)
    if result.returncode == -signal.SIGTERM:
        assert result.out == b"", result
    else:
        assert result.verdict == ("ok" if result.returncode == 0 else "cancelled"), result


def in_terminal(words, place):
    """The command in a session and terminal of its own: (process, master)."""
    master, slave = pty.openpty()

    def take_terminal():
        os.setsid()
        os.close(os.open(os.ttyname(slave), os.O_RDWR))

    process = subprocess.Popen(words, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=box.environment(), cwd=place.cwd, preexec_fn=take_terminal)
    os.close(slave)
    return process, master


@pytest.mark.parametrize("key", [b"\x03", None])
def test_control_c_and_a_terminal_that_goes_away(place, key):
    process, master = in_terminal(box.command("printf before; sleep 1000", language="sh"), place)
    try:
        assert host.until(lambda: any(p.comm == "sleep" for p in host.descendants(process.pid)), 30)
        if key:
            os.write(master, key)
        else:
            os.close(master)
            master = -1
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
        if master >= 0:
            os.close(master)
    result = box.Result([], process.returncode, out, err, 0, False)
    assert (result.verdict, result.returncode, result.survivors) == ("cancelled", 130, 0), result
    assert result.stdout == "before"


def test_the_limit_holds_while_the_command_is_stopped():
    """Ctrl-Z: a stopped command cannot watch the clock; the spawner does."""
    with command.started("sleep 1000", language="sh", timeout=2) as living:
        program = living.await_program("sleep")
        living.process.send_signal(signal.SIGSTOP)
        assert host.until(lambda: not program.is_alive(), 22)
        assert host.Process(living.process.pid).state == "T"
        living.process.send_signal(signal.SIGCONT)
        result = living.result()
    assert (result.verdict, result.returncode, result.survivors) == ("timeout", 124, 0), result


def test_the_box_has_no_terminal(place):
    """Not even the caller's settings can be seen or changed from inside."""
    code = "exec 3<>/dev/tty && echo has a tty; stty -a <&0 2>&1; echo done"
    process, master = in_terminal(box.command(code, language="sh", stdin=b""), place)
    before = termios.tcgetattr(master)
    try:
        os.write(master, b"\x04")
        out, err = process.communicate(timeout=20)
        assert termios.tcgetattr(master) == before
    finally:
        process.kill()
        process.wait()
        os.close(master)
    result = box.Result([], process.returncode, out, err, 0, False)
    assert "has a tty" not in result.stdout and "speed" not in result.stdout, result
