# SPDX-License-Identifier: Apache-2.0
"""exec() and exec_stream(): one run in a box of its own."""
from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ContextManager, Iterator, Optional, Union

from . import _request
from . import result as results
from ._child import Child, Chunk, complete
from ._request import Call
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
    timeout, cpu_time, memory, cpus, pids, disk, output_max
                 limits: seconds, bytes or "512m"
    backend, image, toolchains, require, allow_missing, workdir, net
                 as the options of `glovebox exec`
    binary       the command; else GLOVEBOX_BIN, else glovebox on PATH
    cwd          where the command looks for a project's settings

    A program that fails is a Result.  Raises UsageError for a wrong request and SandboxError when
    glovebox could not tell.  Whatever ends this call early, Ctrl-C included, ends the run first.
    """
    with _request.exec_call(code, language, options, as_json=True) as call:
        return results.from_completed(
            complete(call.words, input=call.input, cwd=_request.folder(options)))


@dataclass(frozen=True)
class StreamEnd:
    """How a streamed run ended: the exit code of the command (docs/result.md), which is the program's
    own or stands for a verdict.  What glovebox had to say is at the end of stderr."""

    exit_code: int
    stdout_bytes: int
    stderr_bytes: int


class Tally:
    """What has been handed on."""

    def __init__(self) -> None:
        self._bytes = {"stdout": 0, "stderr": 0}

    def add(self, chunk: Chunk) -> None:
        self._bytes[chunk.stream] += len(chunk.data)

    def end(self, exit_code: int) -> StreamEnd:
        return StreamEnd(exit_code, self._bytes["stdout"], self._bytes["stderr"])


class ExecStream:
    """Iterates over the output as it comes; then `end` is set.  Closing it early, by close() or by
    the end of a `with` block, ends the run.  A slow reader slows the run."""

    def __init__(self, call: ContextManager[Call], cwd: Optional[str]):
        self.end: Optional[StreamEnd] = None
        self._tally = Tally()
        self._open = contextlib.ExitStack()
        with self._open:
            words, input = self._open.enter_context(call)
            self._child = self._open.enter_context(Child(words, input=input, cwd=cwd))
            self._open = self._open.pop_all()

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        try:
            chunk = None if self.end else self._child.read()
        except BaseException:
            self.close()
            raise
        if chunk is None:
            if self.end is None:
                self.end = self._tally.end(self._child.wait())
            self.close()
            raise StopIteration
        self._tally.add(chunk)
        return chunk

    def close(self) -> None:
        """The run has ended when this returns; may be called from another thread."""
        self._open.close()

    def __enter__(self) -> "ExecStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def exec_stream(code: Optional[Union[str, bytes]] = None, language: Optional[str] = "python",
                **options: "Unpack[_request.ExecOptions]") -> ExecStream:
    """exec(), with the output as Chunks while the program runs, and no verdict: see StreamEnd."""
    call = _request.exec_call(code, language, options, as_json=False)
    return ExecStream(call, _request.folder(options))
