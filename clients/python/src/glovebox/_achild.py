# SPDX-License-Identifier: Apache-2.0
"""The same as _child.py for asyncio."""
from __future__ import annotations

import asyncio
import contextlib
from typing import List, Optional, Sequence

from ._child import READ_BYTES, STOP_S, Chunk, Completed, Gathered, no_program

# Pieces that wait for a slow reader; then the pipe fills, and the run waits.
QUEUE_MAX = 16


class AsyncChild:
    """Made by start(); belongs to one loop and one reader."""

    def __init__(self, process: asyncio.subprocess.Process, input: bytes):
        self._process = process
        self._queue: "asyncio.Queue[Optional[Chunk]]" = asyncio.Queue(QUEUE_MAX)
        self._n_open = 2
        assert process.stdout is not None and process.stderr is not None
        self._tasks: List["asyncio.Task[None]"] = [
            asyncio.ensure_future(self._pump("stdout", process.stdout)),
            asyncio.ensure_future(self._pump("stderr", process.stderr)),
        ]
        if process.stdin is not None:
            self._tasks.append(asyncio.ensure_future(self._feed(process.stdin, input)))

    @classmethod
    async def start(cls, words: Sequence[str], *, input: bytes = b"",
                    cwd: Optional[str] = None) -> "AsyncChild":
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=pipe if input else asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe,
                cwd=cwd, limit=READ_BYTES)
        except OSError as why:
            raise no_program(words, why) from why
        return cls(process, input)

    async def __aenter__(self) -> "AsyncChild":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _pump(self, name: str, pipe: asyncio.StreamReader) -> None:
        while True:
            data = await pipe.read(READ_BYTES)
            if not data:
                break
            await self._queue.put(Chunk(name, data))
        await self._queue.put(None)

    @staticmethod
    async def _feed(pipe: asyncio.StreamWriter, input: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for start in range(0, len(input), READ_BYTES):
                pipe.write(input[start:start + READ_BYTES])
                await pipe.drain()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            pipe.close()
            await pipe.wait_closed()

    async def read(self) -> Optional[Chunk]:
        """The next piece; None when both streams have ended."""
        while self._n_open > 0:
            chunk = await self._queue.get()
            if chunk is not None:
                return chunk
            self._n_open -= 1
        return None

    async def wait(self) -> int:
        return await self._process.wait()

    def signal_stop(self) -> None:
        """Asks it to end, without waiting."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    async def stop(self) -> None:
        """It has ended when this returns, and its box with it, also when the caller is cancelled
        meanwhile."""
        ending = asyncio.ensure_future(self._end())
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await ending
            raise

    async def _end(self) -> None:
        self.signal_stop()
        draining = asyncio.ensure_future(self._drain())
        try:
            await asyncio.wait_for(self._process.wait(), STOP_S)
        except asyncio.TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        for task in (draining, *self._tasks):
            task.cancel()
        await asyncio.gather(draining, *self._tasks, return_exceptions=True)
        # What a killed command leaves unread would keep the descriptors until the collector comes.
        self._process._transport.close()  # type: ignore[attr-defined]

    async def _drain(self) -> None:
        """Nobody reads any more: a command that still writes must not wait for that."""
        while await self.read() is not None:
            pass


async def complete(words: Sequence[str], *, input: bytes = b"",
                   cwd: Optional[str] = None) -> Completed:
    """The command to its end; when the caller is cancelled the command has ended first."""
    gathered = Gathered()
    async with await AsyncChild.start(words, input=input, cwd=cwd) as child:
        while True:
            chunk = await child.read()
            if chunk is None:
                return gathered.completed(await child.wait())
            gathered.add(chunk)
