# SPDX-License-Identifier: Apache-2.0
"""Commands about a box that lives on: their words, and how their answers are read.

Each function gives an Order; glovebox.Box does it at once, glovebox.aio.Box awaits it.  An order that
needs files of this machine is a context manager, and they are gone with its block.
"""
from __future__ import annotations

import contextlib
import os
import signal as signals
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Generic, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from . import _decode as d
from . import _request
from . import result as results
from ._binary import StrPath
from ._child import Completed
from ._request import Contents
from .errors import SandboxError, UsageError

T = TypeVar("T")

EXIT_USAGE = 2


@dataclass(frozen=True)
class FileInfo:
    """What lies in a box.  `kind` is "file", "directory", "link", "pipe", "socket", "character device"
    or "block device"."""

    name: str = d.key(d.text)
    kind: str = d.key(d.text)
    size: int = d.key(d.integer)
    mode: int = d.key(lambda value: int(d.text(value), 8))
    changed_ms: int = d.key(d.integer)


@dataclass(frozen=True)
class RunInfo:
    """A run in a box.  `state` is "running", "ended", or "lost": whoever did it was killed.  The exit
    code is the command's, see docs/result.md."""

    id: str = d.key(d.text)
    state: str = d.key(d.text)
    verdict: Optional[str] = d.key(d.optional(d.text))
    exit_code: Optional[int] = d.key(d.optional(d.integer))
    command: str = d.key(d.text)
    started_ms: int = d.key(d.integer)
    ended_ms: Optional[int] = d.key(d.optional(d.integer))
    output_bytes: int = d.key(d.integer)


@dataclass(frozen=True)
class LogChunk:
    """A piece of what a run wrote, as text."""

    stream: str = d.key(d.text)
    data: str = d.key(d.text)


@dataclass(frozen=True)
class LogPage:
    """What a run wrote from a cursor on.  `next` is the cursor to go on with, `eof` says that nothing
    comes behind it, `dropped` how many bytes on the way were not kept."""

    run: str = d.key(d.text)
    chunks: List[LogChunk] = d.key(d.many(d.record(LogChunk)))
    next: int = d.key(d.integer)
    eof: bool = d.key(d.boolean)
    dropped: int = d.key(d.integer)

    def text(self, stream: str = "stdout") -> str:
        return "".join(chunk.data for chunk in self.chunks if chunk.stream == stream)


@dataclass(frozen=True)
class Stats:
    """What a box uses, all of its runs together; `runs` counts those under way."""

    id: str = d.key(d.text)
    runs: int = d.key(d.integer)
    processes: int = d.key(d.integer)
    processes_max: int = d.key(d.integer)
    memory_bytes: int = d.key(d.integer)
    memory_peak_bytes: int = d.key(d.integer)
    memory_max_bytes: int = d.key(d.integer)
    files_bytes: int = d.key(d.integer)
    files_max_bytes: int = d.key(d.integer)
    cpu_ms: float = d.key(d.number)


@dataclass(frozen=True)
class Order(Generic[T]):
    words: List[str]
    read: Callable[[Completed], T]


def said(done: Completed) -> Completed:
    """Raises what a command that is no run failed with."""
    if done.returncode != 0:
        raise results.of_command(done)
    return done


def done_only(done: Completed) -> None:
    said(done)


def _reader(cls: Callable[..., T]) -> Callable[[Completed], T]:
    return lambda done: d.build(cls, d.parse(said(done).stdout))  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Entries:
    entries: List[FileInfo] = d.key(d.many(d.record(FileInfo)))


@dataclass(frozen=True)
class _Runs:
    runs: List[RunInfo] = d.key(d.many(d.record(RunInfo)))


# ---- words ---------------------------------------------------------------------------------------

def _operand(text: str, what: str) -> str:
    """These commands know no `--` before their operands."""
    if not text or text.startswith("-") or "\0" in text:
        raise UsageError(f"{text!r} is no {what}",
                         "name it from the root on" if text.startswith("-") else None)
    return text


def _words(binary: str, command: str, box: str, operands: Sequence[str] = (),
           options: Sequence[str] = ()) -> List[str]:
    return [binary, "box", command, *options, "--color=never", box, *operands]


def path_of(path: str) -> str:
    return _operand(path, "path of a box")


def run_of(run: Optional[str]) -> List[str]:
    return [] if run is None else [_operand(run, "id of a run")]


# ---- files ---------------------------------------------------------------------------------------

def ls(binary: str, box: str, path: Optional[str]) -> "Order[List[FileInfo]]":
    operands = [] if path is None else [path_of(path)]
    return Order(_words(binary, "ls", box, operands, ["--json"]),
                 lambda done: _reader(_Entries)(done).entries)


def stat(binary: str, box: str, path: str) -> "Order[FileInfo]":
    return Order(_words(binary, "stat", box, [path_of(path)], ["--json"]), _reader(FileInfo))


def rmfile(binary: str, box: str, paths: Sequence[str], recursive: bool) -> "Order[None]":
    if not paths:
        raise UsageError("which files?")
    return Order(_words(binary, "rmfile", box, [path_of(path) for path in paths],
                        ["--recursive"] if recursive else []), done_only)


@contextlib.contextmanager
def put(binary: str, box: str, files: Mapping[str, Contents]) -> "Iterator[Order[None]]":
    shelf = _request.Shelf()
    try:
        pairs = [_request.host_pair(path_of(path), contents, shelf)
                 for path, contents in files.items()]
        if not pairs:
            raise UsageError("which files?")
        yield Order(_words(binary, "put", box, pairs), done_only)
    finally:
        shelf.clear()


def get(binary: str, box: str, path: str, host: StrPath) -> "Order[None]":
    where = os.path.abspath(os.fspath(host))
    if ":" in where:
        raise UsageError(f"{where!r}: the command cannot write where a colon is in the path")
    return Order(_words(binary, "get", box, [f"{path_of(path)}:{where}"]), done_only)


@contextlib.contextmanager
def read(binary: str, box: str, path: str) -> "Iterator[Order[bytes]]":
    with tempfile.TemporaryDirectory(prefix="glovebox-client-") as folder:
        host = Path(folder, "file")
        order = get(binary, box, path, host)

        def contents(done: Completed) -> bytes:
            said(done)
            if not host.is_file():
                raise UsageError(f"'{path}' is no file", "get() copies directories")
            return host.read_bytes()

        yield Order(order.words, contents)


# ---- runs ----------------------------------------------------------------------------------------

def runs(binary: str, box: str) -> "Order[List[RunInfo]]":
    return Order(_words(binary, "runs", box, (), ["--json"]), lambda done: _reader(_Runs)(done).runs)


def logs(binary: str, box: str, run: Optional[str], cursor: int) -> "Order[LogPage]":
    return Order(_words(binary, "logs", box, run_of(run), ["--json", f"--cursor={cursor}"]),
                 _reader(LogPage))


def follow_words(binary: str, box: str, run: Optional[str], cursor: int) -> List[str]:
    return _words(binary, "logs", box, run_of(run), ["--json", "--follow", f"--cursor={cursor}"])


def page_of(line: bytes) -> LogPage:
    return d.build(LogPage, d.parse(line))


def wait(binary: str, box: str, run: str) -> "Order[None]":
    """It exits as the run did; only its words tell a run that could not be waited for."""
    def ended(done: Completed) -> None:
        if done.returncode != 0 and done.stderr.strip():
            raise results.of_command(done)
    return Order(_words(binary, "wait", box, run_of(run)), ended)


def ended_run(run: str, known: List[RunInfo]) -> RunInfo:
    found = [info for info in known if info.id.startswith(run)]
    if len(found) != 1:
        raise SandboxError(f"run {run} is not known any more", "64 newer ones have come")
    return found[0]


def kill(binary: str, box: str, run: str, signal: Union[int, str, None]) -> "Order[None]":
    options = []
    if signal is not None:
        number = int(signal) if isinstance(signal, (int, signals.Signals)) else signal
        options = [f"--signal={number}"]
    return Order(_words(binary, "kill", box, run_of(run), options), done_only)


def stats(binary: str, box: str) -> "Order[Stats]":
    return Order(_words(binary, "stats", box, (), ["--json"]), _reader(Stats))


def started_run(done: Completed) -> str:
    """Of `box run -d`."""
    return said(done).stdout.decode("ascii", "replace").strip()
