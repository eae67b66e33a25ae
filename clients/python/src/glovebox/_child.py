# SPDX-License-Identifier: Apache-2.0
"""One call of the glovebox command, as a child process: fed, read in bounds, and never left behind.

A Child belongs to one reader at a time; stop() may be called from any thread, also while another
one reads.  No shell is involved, and the child inherits no descriptor but its three streams.
"""
from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import threading
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from .errors import BinaryNotFound, ProtocolError

READ_BYTES = 1 << 16
# A document carries at most output_keep bytes of each step, each at most six characters long.
STDOUT_MAX = 256 << 20
STDERR_MAX = 1 << 20
# The command kills its box and leaves within two seconds; on a busy machine later.
STOP_S = 20.0


@dataclass(frozen=True)
class Chunk:
    """A piece of output; `stream` is "stdout" or "stderr"."""

    stream: str
    data: bytes


@dataclass(frozen=True)
class Completed:
    returncode: int
    stdout: bytes
    stderr: bytes


class Gathered:
    """Output up to a limit: more of stdout is an error, more of stderr is dropped."""

    def __init__(self, stdout_max: int = STDOUT_MAX):
        self._stdout_max = stdout_max
        self._pieces: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        self._sizes = {"stdout": 0, "stderr": 0}

    def add(self, chunk: Chunk) -> None:
        size = self._sizes[chunk.stream] + len(chunk.data)
        if chunk.stream == "stdout" and size > self._stdout_max:
            raise ProtocolError(f"the command wrote more than {self._stdout_max} bytes")
        if chunk.stream == "stderr" and size > STDERR_MAX:
            return
        self._sizes[chunk.stream] = size
        self._pieces[chunk.stream].append(chunk.data)

    def completed(self, returncode: int) -> Completed:
        return Completed(returncode, b"".join(self._pieces["stdout"]),
                         b"".join(self._pieces["stderr"]))


def no_program(words: Sequence[str], why: OSError) -> BinaryNotFound:
    return BinaryNotFound(f"{words[0]} cannot be started: {why.strerror or why}")


class Child:
    def __init__(self, words: Sequence[str], *, input: bytes = b"", cwd: Optional[str] = None):
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE if input else subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, bufsize=0)
        except OSError as why:
            raise no_program(words, why) from why
        self._unsent = memoryview(input)
        self._reading = threading.Lock()
        self._is_closed = False
        self._selector = selectors.DefaultSelector()
        for name, pipe in (("stdout", self._process.stdout), ("stderr", self._process.stderr)):
            assert pipe is not None
            self._selector.register(pipe, selectors.EVENT_READ, name)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._selector.register(self._process.stdin, selectors.EVENT_WRITE, "stdin")

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def read(self) -> Optional[Chunk]:
        """The next piece; None when both streams have ended."""
        with self._reading:
            while not self._is_closed and self._is_open():
                for key, _ in self._selector.select():
                    chunk = self._serve(key)
                    if chunk is not None:
                        return chunk
        return None

    def _is_open(self) -> bool:
        return any(key.data != "stdin" for key in self._selector.get_map().values())

    def _serve(self, key: selectors.SelectorKey) -> Optional[Chunk]:
        if key.data == "stdin":
            self._send()
            return None
        data = os.read(key.fd, READ_BYTES)
        if data:
            return Chunk(key.data, data)
        self._drop(key.fileobj)
        return None

    def _send(self) -> None:
        """Whoever does not read any more has seen what it wanted."""
        pipe = self._process.stdin
        assert pipe is not None
        try:
            sent = os.write(pipe.fileno(), self._unsent[:READ_BYTES])
            self._unsent = self._unsent[sent:]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = memoryview(b"")
        if not self._unsent:
            self._drop(pipe)

    def _drop(self, pipe: object) -> None:
        self._selector.unregister(pipe)  # type: ignore[arg-type]
        pipe.close()  # type: ignore[attr-defined]

    def wait(self) -> int:
        """The exit code, once read() has returned None."""
        return self._process.wait()

    def signal_stop(self) -> None:
        """Asks it to end, without waiting."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    def stop(self) -> None:
        """It has ended when this returns, and its box with it.  May be called again."""
        self.signal_stop()
        is_mine = self._reading.acquire(timeout=STOP_S)
        if not is_mine:
            self._process.kill()
            self._reading.acquire()
        try:
            self._close()
        finally:
            self._reading.release()

    def _close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            for key in list(self._selector.get_map().values()):
                self._drop(key.fileobj)
            self._selector.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def complete(words: Sequence[str], *, input: bytes = b"", cwd: Optional[str] = None,
             on_start: Callable[["Child"], None] = lambda child: None) -> Completed:
    """The command to its end; an exception, Ctrl-C included, ends the command first."""
    gathered = Gathered()
    with Child(words, input=input, cwd=cwd) as child:
        on_start(child)
        for chunk in iter(child.read, None):
            gathered.add(chunk)
        return gathered.completed(child.wait())


class Lines:
    """Cuts stdout into lines, keeps the rest of stderr for an error's text."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self.stderr = bytearray()

    def add(self, chunk: Chunk) -> Iterator[bytes]:
        if chunk.stream == "stderr":
            self.stderr += chunk.data[:STDERR_MAX - len(self.stderr)]
            return
        *whole, rest = chunk.data.split(b"\n")
        for line in whole:
            self._begun += line
            yield bytes(self._begun)
            self._begun.clear()
        self._begun += rest
        if len(self._begun) > STDOUT_MAX:
            raise ProtocolError(f"the command wrote a line of more than {STDOUT_MAX} bytes")


def last_words(stderr: bytes) -> Tuple[str, Optional[str]]:
    """Message and remedy of a command that failed without a document."""
    message, remedy = "", None
    for line in stderr.decode("utf-8", "replace").splitlines():
        if line.startswith("  remedy: "):
            remedy = line[len("  remedy: "):]
        elif line.strip():
            message, remedy = line, None
    prefix = "glovebox: "
    return message[len(prefix):] if message.startswith(prefix) else message, remedy
