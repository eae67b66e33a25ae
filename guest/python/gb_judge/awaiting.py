# SPDX-License-Identifier: Apache-2.0
"""Coroutines of the tested code, run where they live, in steps that the test's loop asks for.

All share one event loop.  It runs only while a step is asked for, for a few milliseconds at
most, so that a timeout or a callback on the test's side has its turn too.
"""
from __future__ import annotations

import asyncio
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STEP_SECONDS = 0.005


class Awaiting:
    def __init__(self) -> None:
        if sys.version_info < (3, 10):  # locks and queues have bound themselves to this one
            self._loop = asyncio.get_event_loop()
            return
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def do(self, what: str, obj: Any, *args: Any) -> Any:
        return {"spawn": self._spawn, "step": self._step, "cancel": self._cancel}[what](obj, *args)

    def _spawn(self, awaitable: Any) -> Any:
        return asyncio.ensure_future(awaitable, loop=self._loop)

    def _step(self, task: Any) -> tuple[bool, Any]:
        """(is it done, its result); raises what the task has raised."""
        if not task.done():
            self._loop.run_until_complete(asyncio.wait({task}, timeout=STEP_SECONDS))
        return (True, task.result()) if task.done() else (False, None)

    def _cancel(self, task: Any) -> None:
        task.cancel()
        if not task.done():
            self._loop.run_until_complete(asyncio.wait({task}, timeout=STEP_SECONDS))
