# SPDX-License-Identifier: Apache-2.0
"""Blocking calls from asyncio, for frameworks whose event loop must not touch files or processes.

A thread cannot be cancelled, so the command that it waits for is stopped instead.
"""
from __future__ import annotations

import asyncio
import threading
from typing import Callable, Optional, TypeVar

from ._child import Child

T = TypeVar("T")


async def in_thread(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """work() in a thread.  When the caller is cancelled, stop() must make work() return; only then
    does the cancellation go on."""
    running = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # it has been seen; the cancellation counts
        raise


class Stopper:
    """Stops a child that may not have been started yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Optional[Child] = None
        self._is_stopped = False

    def attach(self, child: Child) -> None:
        with self._lock:
            self._child = child
            if self._is_stopped:
                child.signal_stop()

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._child is not None:
                self._child.signal_stop()
