# SPDX-License-Identifier: Apache-2.0
"""Which statements of the tested code ran.  For information: the code could write here too."""
from __future__ import annotations

import os
import sys
from bisect import bisect_right

from .lines import Lines
from .wire import to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

FILES_MAX = 100
BYTES_MAX = 1 << 20


class Coverage:
    """Of a library: all files below its directory."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._lines = Lines(code)

    def start(self) -> None:
        self._lines.start()

    def report(self, fd: int, nonce: str) -> None:
        sys.settrace(None)
        ran = self._lines.ran()
        tell(fd, nonce, {os.path.relpath(path, self._code): statements(read(path), ran.get(path, ()))
                         for path in self._files()})

    def _files(self) -> list[str]:
        found = []
        for folder, folders, names in os.walk(self._code):
            folders.sort()
            found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".py")]
        return [path for path in found if os.path.getsize(path) <= BYTES_MAX][:FILES_MAX]


def read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(BYTES_MAX)


def tell(fd: int, nonce: str, found: dict[str, dict[str, list[int]]]) -> None:
    """One line: the nonce and {file: {"statements": [...], "ran": [...]}}."""
    view = memoryview(f"{nonce} {to_json({'cover': found})}\n".encode())
    while view:
        view = view[os.write(fd, view):]


def statements(text: str, lines: Iterable[int]) -> dict[str, list[int]]:
    """First lines of all statements (an except counts as one) but docstrings, and of those in
    which a line has run."""
    import ast
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {"statements": [], "ran": []}
    kinds = (ast.stmt, ast.ExceptHandler)
    starts = sorted({node.lineno for node in ast.walk(tree)
                     if isinstance(node, kinds) and not _says_nothing(node)})
    ran = set()
    for line in lines:
        place = bisect_right(starts, line)
        if place:
            ran.add(starts[place - 1])
    return {"statements": starts, "ran": sorted(ran)}


def _says_nothing(node: Any) -> bool:
    """A docstring, or a declaration for which no code is made."""
    import ast
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, (ast.Global, ast.Nonlocal))
