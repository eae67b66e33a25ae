# SPDX-License-Identifier: Apache-2.0
"""A terminal as glovebox uses one: what stands on it, and what stood on it at any moment."""
import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(r"\x1b\[(\?7[lh]|\d*[AJK]|\d+(?:;\d+)*m|m)")


class Screen:
    """Lines of text and a cursor; anything but the few sequences of cli/live.c is an error.  What stood
    there is kept before it is drawn over, however much of it comes at once."""

    def __init__(self, columns):
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0
        self.is_wrapping = True
        self.frames = []
        self.rest = ""

    def feed(self, text):
        text = self.rest + text
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if not match and len(text) - at < 8:
                    break
                assert match, f"an unknown sequence: {text[at:at + 20]!r}"
                self._obey(match[1])
                at = match.end()
                continue
            self._put(text[at])
            at += 1
        self.rest = text[at:]
        self.frames.append("\n".join(self.lines))

    def _obey(self, what):
        if what[-1] in "AJK":
            self.frames.append("\n".join(self.lines))
        if what in ("?7l", "?7h"):
            self.is_wrapping = what == "?7h"
        elif what.endswith("A"):
            self.row = max(0, self.row - int(what[:-1] or 1))
        elif what.endswith("K"):
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif what.endswith("J"):
            self.lines[self.row] = self.lines[self.row][:self.column]
            del self.lines[self.row + 1:]

    def _put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row += 1
            self.column = 0 if self.is_wrapping else self.column
            self.lines += [""] * (self.row + 1 - len(self.lines))
        else:
            assert ord(char) >= 32, f"a control character: {char!r}"
            if self.column >= self.columns and not self.is_wrapping:
                return
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + char + line[self.column + 1:]
            self.column += 1

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)

    def ever(self, part):
        return any(part in frame for frame in self.frames)


class Transcript:
    """All that was sent, as it came."""

    def __init__(self):
        self.text = ""

    def feed(self, text):
        self.text += text


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextlib.contextmanager
def terminal(words, env, cwd, columns=100, screen=None, **popen):
    """A command whose stdin, stdout and stderr are a terminal, its own: yields a Session."""
    ours, theirs = pty.openpty()
    resize(theirs, 40, columns)
    popen.setdefault("preexec_fn", lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    popen.setdefault("stdout", theirs)
    process = subprocess.Popen(words, stdin=theirs, stderr=theirs, cwd=cwd, start_new_session=True,
                               env={**env, "TERM": "xterm-256color"}, **popen)
    os.close(theirs)
    session = Session(ours, process, screen or Screen(columns))
    try:
        yield session
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)


class Session:
    def __init__(self, fd, process, screen):
        self.fd, self.process, self.screen = fd, process, screen
        # A character may come in two pieces.
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def _step(self, deadline):
        """False at the end of the output."""
        assert time.monotonic() < deadline, self.screen.text
        if not select.select([self.fd], [], [], 1)[0]:
            return True
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            return False
        self.screen.feed(self.decoder.decode(piece))
        return bool(piece)

    def await_text(self, part, within=60):
        deadline = time.monotonic() + within
        while part not in self.screen.text:
            assert self._step(deadline), self.screen.text

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, within=60):
        deadline = time.monotonic() + within
        while self._step(deadline):
            pass
        return self.process.wait(within)
