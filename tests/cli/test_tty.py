# SPDX-License-Identifier: Apache-2.0
"""`-t`: a program in a box has a terminal, and ours is none the worse for it."""
import contextlib
import os
import pty
import re
import signal
import subprocess
import termios

import pytest

from lib import box, kept, place as places, screen

CALM = "\x1b[0m\x1b[?25h"


def modes(fd):
    """Line discipline, without what belongs to the moment."""
    return termios.tcgetattr(fd)[:4]


def fresh_modes():
    """Of a terminal that nobody has used."""
    ours, theirs = pty.openpty()
    try:
        return modes(ours)
    finally:
        os.close(theirs)
        os.close(ours)


@contextlib.contextmanager
def session(place, *words, env=None):
    with screen.terminal([str(places.binary()), *words], box.environment({**kept.environment(), **(env or {})}),
                         place.cwd, screen=screen.Transcript()) as one:
        yield one


@pytest.fixture(params=["exec", "box run"])
def start(request, place):
    """Begins a session with a program in a new box, or in one that lives on."""
    if request.param == "exec":
        yield lambda *words, options=(), **more: session(place, "exec", *options, "-t", "--", *words, **more)
        return
    with kept.living() as living:
        yield lambda *words, options=(), **more: session(place, "box", "run", *options, "-t", living.name, "--",
                                                         *words, **more)


def test_a_shell_is_typed_to_and_its_exit_code_comes_back(start):
    with start("sh", "-c", "stty -echo; echo ready; read line; echo got $line; exit 7") as one:
        one.await_text("ready\r\n")
        one.type("words\r")
        assert one.end() == 7
        assert "got words\r\n" in one.screen.text and "\r\nwords" not in one.screen.text


def test_all_three_streams_are_the_terminal_and_it_is_the_session_s_own(start):
    with start("python3", "-c", "import os, sys\n"
               "print([os.isatty(fd) for fd in range(3)], os.ttyname(0) == os.ttyname(2), os.getsid(0) == os.getpid())\n"
               "print(os.tcgetpgrp(0) == os.getpgrp(), open('/dev/tty', 'w').write('tty\\n'))") as one:
        assert one.end() == 0
        assert "[True, True, True] True True\r\n" in one.screen.text
        assert re.search(r"True 4\r\n", one.screen.text) and "tty\r\n" in one.screen.text


def test_ctrl_c_reaches_the_program_and_does_not_end_the_command(start):
    with start("sh", "-c", "trap 'echo caught' INT; echo ready; while ! read line; do :; done; echo $line") as one:
        one.await_text("ready")
        one.type("\x03")
        one.await_text("caught")
        one.type("on\r")
        assert one.end() == 0
        assert "on\r\n" in one.screen.text


def test_the_size_is_ours_and_follows(start):
    script = "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done"
    with start("sh", "-c", script) as one:
        one.await_text("40 100\r\n")
        screen.resize(one.fd, 51, 123)
        one.await_text("51 123\r\n")
        one.process.send_signal(signal.SIGTERM)
        one.end()


def test_the_terminal_is_as_it_was(start):
    with start("sh", "-c", "echo ready; read x") as one:
        before = fresh_modes()
        one.await_text("ready")
        assert modes(one.fd) != before
        one.type("\x04")
        one.end()
        assert modes(one.fd) == before
        assert one.screen.text.rstrip().endswith("\x1b[?2004l")


def test_the_terminal_is_as_it_was_when_the_run_is_ended(start):
    with start("sh", "-c", "echo ready; read x") as one:
        before = fresh_modes()
        one.await_text("ready")
        one.process.send_signal(signal.SIGTERM)
        assert one.end() == 143 or one.process.returncode == 130
        assert modes(one.fd) == before


def test_a_program_that_drew_is_seen_and_one_that_reaches_further_is_not(start):
    drawing = r"\033[31mred\033[0m \033[2J\033[H"
    reaching = r"\033]52;c;aGk=\007 \033P$q\042p\033\\ \302\2350;title\007 \033%%@\2350;t\007"
    with start("sh", "-c", f"printf '{drawing}<{reaching}>'") as one:
        assert one.end() == 0
        shown = one.screen.text.split(CALM)[0]
        assert "\x1b[31mred\x1b[0m \x1b[2J\x1b[H<" in shown
        assert re.fullmatch(r"<[ \ufffd]*>", shown[shown.index("<"):].rstrip("\r\n")), repr(shown)


def test_the_kind_of_terminal_is_told(start):
    with start("sh", "-c", "echo $TERM") as one:
        assert one.end() == 0 and "xterm-256color\r\n" in one.screen.text


def test_a_kind_of_terminal_that_was_asked_for_wins(start):
    with start("sh", "-c", "echo $TERM", options=["--env", "TERM=vt100"]) as one:
        assert one.end() == 0 and "vt100\r\n" in one.screen.text


def test_a_session_is_not_hurried_but_a_limit_that_was_set_holds(start):
    with start("sh", "-c", "sleep 100", options=["--timeout", "300ms"]) as one:
        assert one.end() == 124
        assert "timeout" in one.screen.text


def test_a_box_made_in_a_hurry_is_used_at_leisure(place):
    with kept.living("--timeout", "300ms") as living:
        with session(place, "box", "run", "-t", living.name, "--", "sh", "-c", "sleep 1; echo done") as one:
            assert one.end() == 0 and "done" in one.screen.text


def test_much_output_comes_whole(start):
    with start("sh", "-c", "seq 1 20000") as one:
        assert one.end() == 0
        numbers = one.screen.text.split(CALM)[0].split()
        assert numbers == [str(n) for n in range(1, 20001)]


def test_a_background_process_ends_with_the_session(start):
    with start("sh", "-c", "(trap '' HUP; sleep 1000) & echo ready") as one:
        assert one.end() == 0 and "ready" in one.screen.text


def test_a_program_that_closes_its_terminal_can_open_it_again(start):
    with start("sh", "-c", "exec </dev/null >/dev/null 2>&1; sleep 0.2; echo back >/dev/tty; read x </dev/tty; "
               "echo $x >/dev/tty") as one:
        one.await_text("back")
        one.type("typed\r")
        assert one.end() == 0 and one.screen.text.count("typed") == 2


def test_the_session_is_in_the_log(place):
    with kept.living() as living:
        with session(place, "box", "run", "-t", living.name, "--", "echo", "kept") as one:
            assert one.end() == 0
        assert living.call("logs").out == b"kept\r\n"


def test_the_files_of_a_compiled_program_are_built_without_a_terminal(place):
    code = '#include <unistd.h>\n#include <stdio.h>\nint main(void) { printf("%d\\n", isatty(0)); return 0; }'
    with session(place, "exec", "-t", "-l", "c", "-c", code) as one:
        assert one.end() == 0 and "1\r\n" in one.screen.text


@pytest.mark.parametrize("words", [["--stdin"], ["--json"]])
def test_what_excludes_it_is_said(place, words):
    done = box.run_words([str(places.binary()), "exec", "-t", *words, "--", "true"])
    assert done.returncode == 2 and b"-t excludes" in done.err + done.out


def test_without_a_terminal_it_is_refused(place):
    done = box.run_words([str(places.binary()), "exec", "-t", "--", "true"])
    assert done.returncode == 2 and b"must be a terminal" in done.err and b"--stdin" in done.err


def test_keys_of_another_process_cannot_be_forged(start):
    """TIOCSTI would type into the terminal that others of the session read."""
    with start("python3", "-c", "import fcntl, termios\n"
               "try:\n    fcntl.ioctl(0, termios.TIOCSTI, b'x')\nexcept OSError as e:\n    print('refused', e.errno)") as one:
        assert one.end() == 0 and "refused 1" in one.screen.text


@pytest.mark.parametrize("name, told", [("USR1", "usr1"), ("SIGTERM", "term"), ("2", "int")])
def test_a_signal_is_sent_by_another_command(place, name, told):
    script = ("trap 'echo usr1; exit 3' USR1; trap 'echo term; exit 3' TERM; trap 'echo int; exit 3' INT; "
              "echo ready; while :; do sleep 0.05; done")
    with kept.living() as living:
        command = [str(places.binary()), "box", "run", living.name, "--", "sh", "-c", script]
        with subprocess.Popen(command, env=box.environment(kept.environment()), stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL) as run:
            try:
                assert run.stdout.readline() == b"ready\n"
                [here] = living.json("runs")["runs"]
                sent = living.call("kill", here["id"], options=["--signal", name])
                assert sent.returncode == 0, sent
                assert run.stdout.read() == told.encode() + b"\n" and run.wait(30) == 3
            finally:
                run.kill()


def test_no_signal_of_that_name(place):
    with kept.living() as living:
        living.call("run", "--", "true")
        [here] = living.json("runs")["runs"]
        for name in ("FROB", "0", "99", ""):
            done = living.call("kill", here["id"], options=["--signal", name])
            assert done.returncode == 2 and b"no signal" in done.err, done
        over = living.call("kill", here["id"], options=["--signal", "INT"])
        assert over.returncode == 2 and b"is over" in over.err
