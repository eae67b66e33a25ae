# SPDX-License-Identifier: Apache-2.0
"""In each Python of a watched program: says which lines ran when that ends, however it does.

atexit tells after everything that the program itself does at its end.  What goes past atexit is
told before: os._exit(), with which forked children end too, and a program that another replaces.
One that a signal ends says nothing.
"""
from __future__ import annotations

import atexit
import os

from .lines import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# The environment has them, so that what the program starts is watched too.
FOLDER, RECORD = "GB_COVER_FOLDER", "GB_COVER_RECORD"
PAST_ATEXIT = ("_exit", "execv", "execve")


def watch(folder: str, record: str) -> None:
    lines = Lines(folder)

    def tell() -> None:
        text = "".join(f"{path}\0{' '.join(map(str, ran))}\n" for path, ran in lines.ran().items())
        try:
            fd = os.open(record, os.O_WRONLY | os.O_APPEND)
            os.write(fd, text.encode("utf-8", "surrogateescape"))
            os.close(fd)
        except OSError:
            pass  # the program is to end as it would have

    def telling(call: Callable[..., Any]) -> Callable[..., Any]:
        def told(*args: Any, **more: Any) -> Any:
            tell()
            return call(*args, **more)
        return told

    for name in PAST_ATEXIT:
        setattr(os, name, telling(getattr(os, name)))
    atexit.register(tell)
    lines.start()
