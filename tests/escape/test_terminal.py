# SPDX-License-Identifier: Apache-2.0
"""C17: glovebox is started at a terminal, and the box tries to type into it, read it or hold it."""
import contextlib
import os
import pty
import select
import signal
import termios
import time

import pytest

import sheet as sheets
from lib import box

ESCAPES = {
    "title": "\\033]0;owned\\007",
    "clipboard": "\\033]52;c;aGk=\\007",
    "cursor report": "\\033[6n",
    "device report": "\\033[c",
    "answerback": "\\005",
    "dcs": "\\033P$q\\042p\\033\\\\",
    "c1 csi": "\\2336n",
    "utf-8 c1 csi": "\\302\\2336n",
    "alternate screen": "\\033[?1049h",
    "backspace over": "rm -rf\\b\\b\\b\\b\\b\\b",
    "shift out": "\\016\\017",
}


class Terminal:
    """Our end of a terminal at which a command runs."""

    def __init__(self, words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            with contextlib.suppress(OSError):
                os.chdir(os.environ["TMPDIR"])
                os.execve(words[0], words, {**box.environment(), "TERM": "xterm"})
            os._exit(99)
        self.seen = b""

    def read(self, wanted=None, within=30):
        """Output until `wanted`, or until the command has closed its end."""
        end = time.monotonic() + within
        while wanted is None or wanted not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {wanted!r} at the terminal: {self.seen!r}"
            try:
                chunk = os.read(self.fd, 65536)
            except OSError:
                chunk = b""
            if not chunk:
                break
            self.seen += chunk
        return self.seen

    def close(self):
        os.close(self.fd)
        _, status = os.waitpid(self.pid, 0)
        return status


@contextlib.contextmanager
def terminal(*words, **request):
    place = Terminal([str(word) for word in words] or box.command(as_json=False, **request))
    try:
        yield place
    finally:
        place.close()


def test_C17_nothing_is_typed_and_settings_stay(probe):
    """The whole row with a real terminal as standard input, output and error of glovebox.  A
    shell stays at the terminal, so that what was typed behind its back could be seen."""
    run = " ".join(f"'{word}'" for word in box.command(
        argv=["./probe", "C17"], files=[(probe, "probe")], as_json=False))
    with terminal("/bin/sh", "-c", f"{run}; echo finished-$?; read line; echo got-$line") as place:
        before = termios.tcgetattr(place.fd)
        seen = place.read(b"finished-")
        answers = sheets.Sheet(seen.decode().replace("\r\n", "\n"))
        assert not answers.unfinished("C17"), seen
        assert not answers.faults("C17"), answers.faults("C17")
        assert termios.tcgetattr(place.fd) == before
        os.write(place.fd, b"mine\n")
        assert b"got-mine" in place.read(b"got-mine")


def test_C17_stdin_is_not_the_terminal_even_when_it_is_passed_on(probe):
    with terminal(argv=["./probe", "C17"], files=[(probe, "probe")], options=["--stdin"]) as place:
        seen = place.read()
        answers = sheets.Sheet(seen.decode().replace("\r\n", "\n"))
        assert not answers.unfinished("C17"), seen
        assert not answers.faults("C17"), answers.faults("C17")


@pytest.mark.parametrize("stream", ["", " >&2"], ids=["stdout", "stderr"])
def test_C17_control_bytes_reach_no_terminal(stream):
    """Replies to these would appear as if typed; others hide what was printed."""
    code = "".join(f"printf '{text}'{stream}\n" for text in ESCAPES.values()) + f"echo done{stream}"
    with terminal(code=code, language="sh") as place:
        seen = place.read()
    assert b"done" in seen
    bad = [byte for byte in (b"\x1b", b"\x07", b"\x05", b"\x08", b"\x0e", b"\x0f", b"\x9b")
           if byte in seen.replace(b"\xc2\x9b", b"\x9b")]
    # Colours of glovebox's own are not asked for: output of the box stands alone here.
    assert not bad, seen


def test_C17_a_sequence_in_pieces_is_caught_too():
    code = "printf '\\033'; sleep 0.2; printf '[6n'; sleep 0.2; printf '\\302'; sleep 0.2; " \
           "printf '\\2336n'; echo done"
    with terminal(code=code, language="sh") as place:
        seen = place.read()
    assert b"done" in seen and b"\x1b" not in seen and b"\x9b" not in seen, seen


def test_C17_names_and_errors_are_neutral_too(place):
    """A file's name is printed in an error."""
    evil = place.cwd / "\x1b]0;owned\x07.nolanguage"
    evil.write_text("x")
    with terminal(path=evil) as screen:
        seen = screen.read()
    assert b"\x1b]0" not in seen and b"\x07" not in seen, seen
    with terminal(path="/nonexistent/\x1b[6n") as screen:
        seen = screen.read()
    assert b"\x1b[6n" not in seen, seen


def test_C17_json_carries_no_control_byte():
    code = "".join(f"printf '{text}'\n" for text in ESCAPES.values())
    result = box.run(code, language="sh")
    assert result.verdict == "ok"
    assert not [byte for byte in result.out.rstrip(b"\n") if byte < 0x20 and byte != 0x0A], result.out


def test_C17_signals_to_its_own_group_stay_inside():
    """kill(0, …) reaches the process group; the caller's shell must not be in it."""
    code = "trap '' TERM HUP INT; kill -TERM 0; kill -HUP 0; kill -STOP 0; echo alive"
    run = " ".join("'" + word.replace("'", "'\\''") + "'" for word in box.command(
        code, language="sh", timeout=2, as_json=False))
    with terminal("/bin/sh", "-c", f"{run}; echo shell-lives-$?") as place:
        seen = place.read(b"shell-lives-")
    assert b"shell-lives-" in seen


def test_C17_interrupt_at_the_terminal_ends_the_run_and_says_so():
    """Ctrl-C goes to glovebox, which kills the run; nothing of the box keeps the terminal."""
    code = "trap '' INT; echo started; while :; do sleep 1; done"
    screen = Terminal(box.command(code, language="sh", as_json=False))
    screen.read(b"started")
    os.write(screen.fd, b"\x03")
    screen.read()
    status = screen.close()
    assert os.waitstatus_to_exitcode(status) in (130, -signal.SIGINT), (status, screen.seen)
