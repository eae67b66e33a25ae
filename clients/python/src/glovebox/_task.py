# SPDX-License-Identifier: Apache-2.0
"""run(), answer(), resume(): tasks that the agent works on, and what they tell meanwhile."""
from __future__ import annotations

import collections
import contextlib
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ContextManager,
    Deque,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    TypedDict,
)

from . import _binary, _request, events
from ._binary import StrPath
from ._child import Child, Chunk, Lines, last_words
from ._request import BoxOptions, Call, Contents, Seconds
from ._stream import Stream
from .errors import ProtocolError, TaskCancelled, TaskError, UsageError
from .events import Event, TaskResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

EXIT_USAGE = 2
EXIT_CANCELLED = 130


class RunOptions(BoxOptions, total=False):
    """Of run(), run_stream() and their twins in glovebox.aio."""

    files: Mapping[str, Contents]
    language: str
    net: str
    user: str
    packages: Sequence[str]
    npm: Sequence[str]
    install: bool
    out: StrPath
    force: bool
    model: str
    base_url: str
    effort: str
    candidates: int
    ask: str
    max_steps: int
    max_attempts: int
    max_tokens: int
    max_cost: float
    max_time: Seconds
    runs_dir: StrPath
    record: StrPath
    continue_from: str


class AnswerOptions(TypedDict, total=False):
    """Of answer() and answer_stream()."""

    model: str
    base_url: str
    record: StrPath
    force: bool
    binary: Optional[StrPath]
    cwd: Optional[StrPath]


NOT_WORDS = ("files", "force", "toolchains", "packages", "npm", "install", "binary", "cwd")


def _words(command: List[str], options: Mapping[str, Any], shelf: _request.Shelf) -> List[str]:
    words = [_binary.find(options.get("binary")), *command, "--jsonl", "--color=never"]
    words += _request.option_words({name: value for name, value in options.items()
                                    if name not in NOT_WORDS})
    words += ["--force"] if options.get("force") else []
    words += _request.toolchain_words(options)
    words += _request.package_words(options)
    if options.get("install") is not None:
        words.append(f"--install={'yes' if options['install'] else 'no'}")
    return words + _request.file_words(options.get("files"), shelf)


@contextlib.contextmanager
def begin_call(task: str, options: RunOptions) -> Iterator[Call]:
    _request.check_names(options, RunOptions)
    shelf = _request.Shelf()
    try:
        words = [*_words(["run"], options, shelf), "-"]
        _request.check_words(words)
        yield Call(words, _request.as_bytes(task))
    finally:
        shelf.clear()


@contextlib.contextmanager
def resume_call(id: str, options: RunOptions) -> Iterator[Call]:
    _request.check_names(options, RunOptions)
    shelf = _request.Shelf()
    try:
        words = [*_words(["run"], options, shelf), f"--resume={id}"]
        _request.check_words(words)
        yield Call(words, b"")
    finally:
        shelf.clear()


@contextlib.contextmanager
def answer_call(id: str, text: str, options: AnswerOptions) -> Iterator[Call]:
    _request.check_names(options, AnswerOptions)
    # What begins with a dash would be an option; with a blank before it, it is the same answer.
    if id.startswith("-"):
        raise UsageError(f"{id!r} is no id of a task")
    words = [*_words(["runs", "answer"], options, _request.Shelf()), id,
             " " + text if text.startswith("-") else text]
    _request.check_words(words)
    yield Call(words, b"")


class Reader:
    """From pieces of output to events, and at the end to a result or an error."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._events: Deque[Event] = collections.deque()
        self._last: Optional[Event] = None
        self.id: Optional[str] = None

    def add(self, chunk: Chunk) -> None:
        for line in self._lines.add(chunk):
            event = events.from_line(line)
            if event.event == "begin":
                self.id = getattr(event, "name", None)
            self._last = event
            self._events.append(event)

    def next(self) -> Optional[Event]:
        return self._events.popleft() if self._events else None

    def end(self, exit_code: int) -> TaskResult:
        """What the last line says; the exit code tells apart why there is no document."""
        if isinstance(self._last, events.Ended):
            return events.from_document(self._last.document)
        if isinstance(self._last, events.Failed):
            message = str(self._last.error.get("message"))
            remedy = self._last.error.get("remedy")
        else:
            message, remedy = last_words(bytes(self._lines.stderr))
        message = message or f"the command ended with {exit_code} and no document"
        if exit_code == EXIT_USAGE:
            raise UsageError(message, remedy)
        if exit_code == EXIT_CANCELLED or exit_code < 0:
            raise TaskCancelled(message, remedy, self.id)
        if exit_code == 0:
            raise ProtocolError("the command ended without a document")
        raise TaskError(message, remedy, self.id)


class TaskStream(Stream[Event]):
    """Iterates over a task's events as they come; then `result` is set, or the error raised.

    Closing it early stops the task, which can be resumed by its `id`; the command and its boxes
    have ended when close() returns.
    """

    def __init__(self, call: ContextManager[Call], cwd: Optional[str],
                 on_start: Callable[[Child], None] = lambda child: None):
        self.result: Optional[TaskResult] = None
        self._reader = Reader()
        super().__init__(call, cwd, on_start)

    @property
    def id(self) -> Optional[str]:
        """Known from the first event on."""
        return self._reader.id

    def _next(self) -> Optional[Event]:
        while True:
            event = self._reader.next()
            if event is not None or self._is_over:
                return event
            chunk = self._child.read()
            if chunk is not None:
                self._reader.add(chunk)
            else:
                self._is_over = True
                self.result = self._reader.end(self._child.wait())

    def signal_stop(self) -> None:
        """Asks the task to stop, without waiting for it; from any thread."""
        self._child.signal_stop()


def run_stream(task: str, **options: "Unpack[RunOptions]") -> TaskStream:
    """run(), with its events while it works."""
    return TaskStream(begin_call(task, options), _request.folder(options))


def resume_stream(id: str, **options: "Unpack[RunOptions]") -> TaskStream:
    """Goes on with a task that was stopped; it tells once more what it remembers."""
    return TaskStream(resume_call(id, options), _request.folder(options))


def answer_stream(id: str, text: str, **options: "Unpack[AnswerOptions]") -> TaskStream:
    """Answers the question that a task waits with, and goes on with it."""
    return TaskStream(answer_call(id, text, options), _request.folder(options))


def _finish(stream: TaskStream) -> TaskResult:
    with stream:
        for _ in stream:
            pass
    if stream.result is None:
        raise TaskCancelled("the task was stopped", id=stream.id)
    return stream.result


def run(task: str, **options: "Unpack[RunOptions]") -> TaskResult:
    """Has a model write code for a task, and tests it in boxes.

    files           {path in every box: contents, or a Path of this machine}
    language        that it must be written in
    net             what the program may reach when it is run at the end: "example.org:443"
    user            whose box keeps files and packages: the program is run there at the end
    packages, npm   names with versions that every box has
    install         False: what contract and code want besides is not installed
    out, force      a directory that gets code and tests; may files there be replaced
    model, base_url, effort, candidates, ask, max_steps, max_attempts, max_tokens, max_cost,
    max_time, runs_dir, record
                    as the options of `glovebox run`
    continue_from   a task's id: start from what it has built
    timeout, memory, … binary, cwd
                    limits of each box, and the rest, as of exec()

    Code that fails its tests is a TaskResult, and so is a question: see `is_waiting` and answer().
    Raises UsageError, or TaskError when the task could not go on.
    """
    return _finish(run_stream(task, **options))


def resume(id: str, **options: "Unpack[RunOptions]") -> TaskResult:
    """resume_stream() to its end."""
    return _finish(resume_stream(id, **options))


def answer(id: str, text: str, **options: "Unpack[AnswerOptions]") -> TaskResult:
    """answer_stream() to its end."""
    return _finish(answer_stream(id, text, **options))
