# SPDX-License-Identifier: Apache-2.0
"""What a command tells while it works, as an iterator that ends the command with its block."""
from __future__ import annotations

import contextlib
from typing import Callable, ContextManager, Generic, Iterator, Optional, TypeVar

from ._child import Child
from ._request import Call

T = TypeVar("T")
Self = TypeVar("Self", bound="Stream")  # type: ignore[type-arg]


class Stream(Generic[T]):
    """Closed when it is read to its end or fails; close() may come from another thread."""

    def __init__(self, call: ContextManager[Call], cwd: Optional[str],
                 on_start: Callable[[Child], None] = lambda child: None):
        self._is_over = False
        self._open = contextlib.ExitStack()
        with self._open:
            words, input = self._open.enter_context(call)
            self._child = self._open.enter_context(Child(words, input=input, cwd=cwd))
            on_start(self._child)
            self._open = self._open.pop_all()

    def _next(self) -> Optional[T]:
        """None at the end."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            item = self._next()
        except BaseException:
            self.close()
            raise
        if item is None:
            self.close()
            raise StopIteration
        return item

    def close(self) -> None:
        self._open.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
