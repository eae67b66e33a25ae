# SPDX-License-Identifier: Apache-2.0
"""The same functions for asyncio.  Cancelling the awaiting task ends the run, and its box, first."""
from __future__ import annotations

import contextlib
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    ContextManager,
    List,
    Mapping,
    Optional,
    TypeVar,
    Union,
)

from . import _binary, _exec, _look, _request, _task
from . import result as results
from ._achild import AsyncChild, complete
from ._child import Chunk, Completed, Lines
from ._look import FileInfo, LogPage, Order, RunInfo, Stats, said
from ._request import Call, Contents
from .box import BoxInfo, BoxName, create_words, id_of_user, info_in, info_of, list_of
from .errors import TaskCancelled, UsageError
from .events import Event, TaskResult
from .result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")

__all__ = ["AsyncExecStream", "AsyncTaskStream", "Box", "answer", "answer_stream", "exec", "exec_stream",
           "list_boxes", "resume", "resume_stream", "run", "run_stream"]


async def exec(code: Optional[Union[str, bytes]] = None, language: Optional[str] = "python",
               **options: "Unpack[_request.ExecOptions]") -> Result:
    """glovebox.exec()"""
    with _request.exec_call(code, language, options) as call:
        return results.from_completed(
            await complete(call.words, input=call.input, cwd=_request.folder(options)))


class _Stream:
    """A command that is started by the first read, or by `async with`."""

    def __init__(self, call: ContextManager[Call], cwd: Optional[str]):
        self._call = call
        self._cwd = cwd
        self._child: Optional[AsyncChild] = None
        self._open = contextlib.AsyncExitStack()
        self._is_closed = False

    async def _read(self) -> Optional[Chunk]:
        if self._is_closed:
            return None
        if self._child is None:
            await self._start()
        assert self._child is not None
        return await self._child.read()

    async def _start(self) -> None:
        words, input = self._open.enter_context(self._call)
        self._child = await self._open.enter_async_context(
            await AsyncChild.start(words, input=input, cwd=self._cwd))

    async def aclose(self) -> None:
        """The run has ended when this returns."""
        self._is_closed = True
        await self._open.aclose()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class AsyncExecStream(_Stream):
    """glovebox.ExecStream; close it by `async with` or aclose()."""

    def __init__(self, call: ContextManager[Call], cwd: Optional[str]):
        super().__init__(call, cwd)
        self.result: Optional[Result] = None
        self._reader = _exec.Reader()
        self._is_over = False

    @property
    def id(self) -> Optional[str]:
        return self._reader.id

    async def __aenter__(self) -> "AsyncExecStream":
        return self

    def __aiter__(self) -> "AsyncExecStream":
        return self

    async def __anext__(self) -> Chunk:
        try:
            chunk = await self._next()
        except BaseException:
            await self.aclose()
            raise
        if chunk is None:
            await self.aclose()
            raise StopAsyncIteration
        return chunk

    async def _next(self) -> Optional[Chunk]:
        while not (self._is_over or self._is_closed):
            chunk = self._reader.next()
            if chunk is not None:
                return chunk
            piece = await self._read()
            if piece is not None:
                self._reader.add(piece)
            elif not self._is_closed:
                self._is_over = True
                assert self._child is not None
                self.result = self._reader.end(await self._child.wait())
        return None

    def cancel(self) -> None:
        """glovebox.ExecStream.cancel()"""
        if self._child is not None:
            self._child.signal_stop()


def exec_stream(code: Optional[Union[str, bytes]] = None, language: Optional[str] = "python",
                **options: "Unpack[_request.ExecOptions]") -> AsyncExecStream:
    """glovebox.exec_stream()"""
    call = _request.exec_call(code, language, options, style="--jsonl")
    return AsyncExecStream(call, _request.folder(options))


async def _do(order: "Order[T]") -> T:
    return order.read(await complete(order.words))


class Box(BoxName):
    """glovebox.Box"""

    @classmethod
    async def create(cls, **options: "Unpack[_request.CreateOptions]") -> "Box":
        done = await complete(create_words(options), cwd=_request.folder(options))
        return cls(info_of(done).id, binary=options.get("binary"))

    @classmethod
    async def of_user(cls, user: str, /, **options: "Unpack[_request.CreateOptions]") -> "Box":
        binary = options.get("binary")
        id = id_of_user(user, await list_boxes(binary=binary))
        if id is None:
            made: _request.CreateOptions = {**options, "user": user}
            try:
                return await cls.create(**made)
            except UsageError:
                id = id_of_user(user, await list_boxes(binary=binary))
                if id is None:
                    raise
        return cls(id, binary=binary)

    async def run(self, code: Optional[Union[str, bytes]] = None,
                  language: Optional[str] = "python",
                  **options: "Unpack[_request.InBoxOptions]") -> Result:
        with self._call(code, language, options) as call:
            return results.from_completed(await complete(call.words, input=call.input))

    def stream(self, code: Optional[Union[str, bytes]] = None, language: Optional[str] = "python",
               **options: "Unpack[_request.InBoxOptions]") -> AsyncExecStream:
        return AsyncExecStream(self._call(code, language, options, style="--jsonl"), None)

    async def start(self, code: Optional[Union[str, bytes]] = None,
                    language: Optional[str] = "python",
                    **options: "Unpack[_request.InBoxOptions]") -> str:
        with self._detached(code, language, options) as call:
            return _look.started_run(await complete(call.words, input=call.input))

    async def runs(self) -> List[RunInfo]:
        return await _do(_look.runs(self._find(), self.id))

    async def logs(self, run: Optional[str] = None, cursor: int = 0) -> LogPage:
        return await _do(_look.logs(self._find(), self.id, run, cursor))

    async def follow(self, run: Optional[str] = None, cursor: int = 0) -> AsyncIterator[LogPage]:
        """Close it by aclose() when it is left early."""
        lines = Lines()
        words = _look.follow_words(self._find(), self.id, run, cursor)
        async with await AsyncChild.start(words) as child:
            while True:
                piece = await child.read()
                if piece is None:
                    said(Completed(await child.wait(), b"", bytes(lines.stderr)))
                    return
                for line in lines.add(piece):
                    yield _look.page_of(line)

    async def wait(self, run: str) -> RunInfo:
        await _do(_look.wait(self._find(), self.id, run))
        return _look.ended_run(run, await self.runs())

    async def kill(self, run: str, signal: Union[int, str, None] = None) -> None:
        await _do(_look.kill(self._find(), self.id, run, signal))

    async def stats(self) -> Stats:
        return await _do(_look.stats(self._find(), self.id))

    async def info(self) -> BoxInfo:
        return info_in(self.id, await list_boxes(binary=self._binary))

    async def put(self, files: Mapping[str, Contents]) -> None:
        with _look.put(self._find(), self.id, files) as order:
            await _do(order)

    async def get(self, path: str, host: _binary.StrPath) -> None:
        await _do(_look.get(self._find(), self.id, path, host))

    async def read(self, path: str) -> bytes:
        with _look.read(self._find(), self.id, path) as order:
            return await _do(order)

    async def ls(self, path: Optional[str] = None) -> List[FileInfo]:
        return await _do(_look.ls(self._find(), self.id, path))

    async def stat(self, path: str) -> FileInfo:
        return await _do(_look.stat(self._find(), self.id, path))

    async def rmfile(self, *paths: str, recursive: bool = False) -> None:
        await _do(_look.rmfile(self._find(), self.id, paths, recursive))

    async def remove(self) -> None:
        said(await complete(self._remove_words()))

    async def __aenter__(self) -> "Box":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.remove()


async def list_boxes(*, binary: Optional[_binary.StrPath] = None) -> List[BoxInfo]:
    """glovebox.list_boxes()"""
    return list_of(await complete([_binary.find(binary), "box", "list", "--json"]))


class AsyncTaskStream(_Stream):
    """glovebox.TaskStream; close it by `async with` or aclose()."""

    def __init__(self, call: ContextManager[Call], cwd: Optional[str]):
        super().__init__(call, cwd)
        self.result: Optional[TaskResult] = None
        self._reader = _task.Reader()
        self._is_over = False

    @property
    def id(self) -> Optional[str]:
        return self._reader.id

    async def __aenter__(self) -> "AsyncTaskStream":
        return self

    def __aiter__(self) -> "AsyncTaskStream":
        return self

    async def __anext__(self) -> Event:
        try:
            event = await self._next()
        except BaseException:
            await self.aclose()
            raise
        if event is None:
            await self.aclose()
            raise StopAsyncIteration
        return event

    async def _next(self) -> Optional[Event]:
        while True:
            event = self._reader.next()
            if event is not None or self._is_over:
                return event
            chunk = await self._read()
            if chunk is not None:
                self._reader.add(chunk)
                continue
            self._is_over = True
            if self._child is not None:
                self.result = self._reader.end(await self._child.wait())


def run_stream(task: str, **options: "Unpack[_task.RunOptions]") -> AsyncTaskStream:
    """glovebox.run_stream()"""
    return AsyncTaskStream(_task.begin_call(task, options), _request.folder(options))


def resume_stream(id: str, **options: "Unpack[_task.RunOptions]") -> AsyncTaskStream:
    """glovebox.resume_stream()"""
    return AsyncTaskStream(_task.resume_call(id, options), _request.folder(options))


def answer_stream(id: str, text: str, **options: "Unpack[_task.AnswerOptions]") -> AsyncTaskStream:
    """glovebox.answer_stream()"""
    return AsyncTaskStream(_task.answer_call(id, text, options), _request.folder(options))


async def _finish(stream: AsyncTaskStream, on_event: Optional[Callable[[Event], Any]]) -> TaskResult:
    async with stream:
        async for event in stream:
            if on_event is not None:
                on_event(event)
    if stream.result is None:
        raise TaskCancelled("the task was stopped", id=stream.id)
    return stream.result


async def run(task: str, *, on_event: Optional[Callable[[Event], Any]] = None,
              **options: "Unpack[_task.RunOptions]") -> TaskResult:
    """glovebox.run(); on_event gets each event as it comes."""
    return await _finish(run_stream(task, **options), on_event)


async def resume(id: str, *, on_event: Optional[Callable[[Event], Any]] = None,
                 **options: "Unpack[_task.RunOptions]") -> TaskResult:
    """glovebox.resume()"""
    return await _finish(resume_stream(id, **options), on_event)


async def answer(id: str, text: str, *, on_event: Optional[Callable[[Event], Any]] = None,
                 **options: "Unpack[_task.AnswerOptions]") -> TaskResult:
    """glovebox.answer()"""
    return await _finish(answer_stream(id, text, **options), on_event)
