# SPDX-License-Identifier: Apache-2.0
"""exec() and exec_stream(): one run in a box of its own."""
from __future__ import annotations

import binascii
import collections
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ContextManager, Deque, Dict, Optional, Union

from . import _decode as d
from . import _request
from . import result as results
from ._child import Chunk, Completed, Lines, complete
from ._request import Call
from ._stream import Stream
from .errors import ProtocolError
from .result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack


def exec(code: Optional[Union[str, bytes]] = None, language: Optional[str] = "python",
         **options: "Unpack[_request.ExecOptions]") -> Result:
    """Runs code in a box of its own and returns how it ended.

    language     of the code; None: by its #! line
    argv         instead of code: a program that the box has, and its arguments
    args         arguments of the code
    files        {path in the box: contents as str or bytes, or a Path of this machine}
    out          {path in the box: path on this machine}, copied out afterwards
    workspace    a directory that is copied in, and changes back
    stdin, env   of the program; without stdin it reads nothing
    base64       True: the result has the output as bytes too, in stdout_base64 and stderr_base64
    timeout, cpu_time, memory, cpus, pids, disk, output_max
                 limits: seconds, bytes or "512m"
    packages, npm
                 names with versions, installed first and kept: ["requests", "numpy>=1.26"]
    auto_packages
                 True: what the code imports and this machine lacks, too
    backend, image, toolchains, require, allow_missing, workdir, net
                 as the options of `glovebox exec`
    binary       the command; else GLOVEBOX_BIN, else glovebox on PATH
    cwd          where the command looks for a project's settings

    A program that fails is a Result.  Raises UsageError for a wrong request and SandboxError when
    glovebox could not tell.  Whatever ends this call early, Ctrl-C included, ends the run first.
    """
    with _request.exec_call(code, language, options) as call:
        return results.from_completed(
            complete(call.words, input=call.input, cwd=_request.folder(options)))


class Reader:
    """From pieces of what the command writes to pieces of the program's output, and at the end to a
    result or an error."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._chunks: Deque[Chunk] = collections.deque()
        self._document: Optional[Dict[str, Any]] = None
        self.id: Optional[str] = None

    def add(self, piece: Chunk) -> None:
        for line in self._lines.add(piece):
            self._take(d.parse(line))

    def _take(self, line: Dict[str, Any]) -> None:
        """Events that this release does not know are passed over."""
        event = line.get("event")
        if event == "begin":
            self.id = d.build(_Begin, line).run
        elif event == "output":
            self._chunks.append(d.build(_Output, line).chunk())
        elif event == "result":
            self._document = d.build(_Ended, line).document

    def next(self) -> Optional[Chunk]:
        return self._chunks.popleft() if self._chunks else None

    def end(self, exit_code: int) -> Result:
        done = Completed(exit_code, b"", bytes(self._lines.stderr))
        if self._document is None:
            raise results.of_command(done)
        return results.from_answer(self._document, done)


@dataclass(frozen=True)
class _Begin:
    run: str = d.key(d.text)


@dataclass(frozen=True)
class _Output:
    stream: str = d.key(d.text)
    data: str = d.key(d.text)
    base64: Optional[str] = d.key(d.text, None)

    def chunk(self) -> Chunk:
        """What is no text comes a second time, as it was."""
        if self.base64 is None:
            return Chunk(self.stream, self.data.encode("utf-8", "replace"))
        try:
            return Chunk(self.stream, binascii.a2b_base64(self.base64))
        except ValueError as why:
            raise ProtocolError("'base64' of the command's answer is no such text") from why


@dataclass(frozen=True)
class _Ended:
    document: Dict[str, Any] = d.key(d.mapping)


class ExecStream(Stream[Chunk]):
    """Iterates over the output as it comes; then `result` is set, or the error raised.

    cancel() ends the run, whose result is then told as any other.  Closing the stream early, by
    close() or by the end of a `with` block, ends the run without a result.  A slow reader slows the
    run."""

    def __init__(self, call: ContextManager[Call], cwd: Optional[str]):
        self.result: Optional[Result] = None
        self._reader = Reader()
        super().__init__(call, cwd)

    @property
    def id(self) -> Optional[str]:
        """Of the run; known when the first output is."""
        return self._reader.id

    def _next(self) -> Optional[Chunk]:
        while not self._is_over:
            chunk = self._reader.next()
            if chunk is not None:
                return chunk
            piece = self._child.read()
            if piece is not None:
                self._reader.add(piece)
            elif not self._is_over:  # or somebody has closed it, who did not want the rest
                self._is_over = True
                self.result = self._reader.end(self._child.wait())
        return None

    def cancel(self) -> None:
        """Asks the run to end, without waiting for it; its verdict will be "cancelled".  May be
        called from another thread."""
        self._child.signal_stop()

    def close(self) -> None:
        """The run has ended when this returns; may be called from another thread."""
        self._is_over = True
        super().close()


def exec_stream(code: Optional[Union[str, bytes]] = None, language: Optional[str] = "python",
                **options: "Unpack[_request.ExecOptions]") -> ExecStream:
    """exec(), with the output as Chunks while the program runs, and the result behind it."""
    call = _request.exec_call(code, language, options, style="--jsonl")
    return ExecStream(call, _request.folder(options))
