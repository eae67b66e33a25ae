# SPDX-License-Identifier: Apache-2.0
"""A fresh server for each test of a batch, forked from a process that never saw tested code.

Lines of the tests that begin with "!" are for this process: "!begin" forks a server, "!end" ends
it and is answered by "!ended".  All others are passed on, both ways.  When a server ends by
itself, "!lost" says so.  A server that neither reads nor writes stops nobody: nothing here waits
for it but "!end", which kills it.
"""
from __future__ import annotations

import os
import select
import signal
import time

from .wire import LINE_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, NoReturn

CHUNK = 1 << 16
REPORT_SECONDS = 1.0  # for the report of statement coverage, where one is wanted


class _Pipe:
    """Bytes that wait to be written to a descriptor that does not block."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.waiting = bytearray()
        os.set_blocking(fd, False)

    def write(self) -> None:
        try:
            del self.waiting[:os.write(self.fd, self.waiting[:CHUNK])]
        except BlockingIOError:
            pass


class _Child:
    def __init__(self, serve: Callable[[int, int], NoReturn], close: list[int]) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            for fd in (*close, ours_in, ours_out):
                os.close(fd)
            serve(theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        self.output = ours_in
        self.input = _Pipe(ours_out)

    def end(self, patience: float) -> None:
        """Closes its line, waits for it as long as it may report, then kills its group."""
        os.close(self.input.fd)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if not select.select([self.output], [], [], until - time.monotonic())[0]:
                break
            if not os.read(self.output, CHUNK):
                break
        os.close(self.output)
        for kill in (os.killpg, os.kill):
            try:
                kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.waitpid(self.pid, 0)


class _Relay:
    def __init__(self, read_fd: int, write_fd: int, serve: Callable[[int, int], NoReturn],
                 reports: bool) -> None:
        self._input = read_fd
        self._tests = _Pipe(write_fd)
        self._serve, self._reports = serve, reports
        self._child: _Child | None = None
        self._line = bytearray()
        self._at_start = True  # of a line to the tests

    def run(self) -> None:
        """Until the tests close the line."""
        while True:
            child = self._child
            readers = [self._input] + ([child.output] if child else [])
            pipes = [pipe for pipe in (self._tests, child and child.input) if pipe and pipe.waiting]
            ready, writable, _ = select.select(self._wanted(readers), [p.fd for p in pipes], [])
            for pipe in pipes:
                if pipe.fd in writable:
                    self._write(pipe)
            if child and child.output in ready:
                self._from_child(child)
            if self._input in ready and not self._from_tests():
                break
        if self._child:
            self._child.end(0)

    def _wanted(self, readers: list[int]) -> list[int]:
        """Nobody is read from whose reader is slow."""
        full = len(self._tests.waiting) > LINE_MAX
        return [fd for fd in readers if fd == self._input or not full]

    def _write(self, pipe: _Pipe) -> None:
        try:
            pipe.write()
        except OSError:
            pipe.waiting.clear()  # its reader is gone, which its other end tells too

    def _from_child(self, child: _Child) -> None:
        data = os.read(child.output, CHUNK)
        if data:
            self._tests.waiting += data
            self._at_start = data.endswith(b"\n")
        else:
            child.end(0)
            self._child = None
            self._say(b"!lost\n")

    def _say(self, line: bytes) -> None:
        self._tests.waiting += line if self._at_start else b"\n" + line
        self._at_start = True

    def _from_tests(self) -> bool:
        data = os.read(self._input, CHUNK)
        self._line += data
        *lines, rest = self._line.split(b"\n")
        self._line = bytearray(rest)
        for line in lines:
            self._take(bytes(line))
        return bool(data)

    def _take(self, line: bytes) -> None:
        if line == b"!begin":
            self._child = _Child(self._serve, [self._input, self._tests.fd])
        elif line == b"!end":
            if self._child:
                self._child.end(REPORT_SECONDS if self._reports else 0)
            self._child = None
            self._say(b"!ended\n")
        elif self._child:
            self._child.input.waiting += line + b"\n"


def serve_many(read_fd: int, write_fd: int, serve: Callable[[int, int], NoReturn],
               reports: bool) -> NoReturn:
    """Never returns; ends with the line."""
    _Relay(read_fd, write_fd, serve, reports).run()
    os._exit(0)
