# SPDX-License-Identifier: Apache-2.0
"""Which statements of the tested code ran.  For information: the code could write here too."""
from __future__ import annotations

import os
import sys
from bisect import bisect_right
from types import CodeType, FrameType

from .wire import to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILES_MAX = 100
BYTES_MAX = 1 << 20


class Coverage:
    def __init__(self, code: str) -> None:
        self._code = code + "/"
        self._hits: dict[str, set[int]] = {}

    def start(self) -> None:
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is not None:
            tool = monitoring.COVERAGE_ID
            monitoring.use_tool_id(tool, "judge")
            monitoring.register_callback(tool, monitoring.events.LINE, self._on_line)
            monitoring.set_events(tool, monitoring.events.LINE)
            return
        import threading
        threading.settrace(self._on_call)
        sys.settrace(self._on_call)

    def report(self, fd: int, nonce: str) -> None:
        """One line: the nonce and {file: {"statements": [...], "ran": [...]}}."""
        sys.settrace(None)
        found = {name: _statements(text, self._hits.get(path, set()))
                 for path, name, text in self._files()}
        line = f"{nonce} {to_json({'cover': found})}\n"
        view = memoryview(line.encode())
        while view:
            view = view[os.write(fd, view):]

    def _on_line(self, code: CodeType, line: int) -> Any:
        if code.co_filename.startswith(self._code):
            self._hits.setdefault(code.co_filename, set()).add(line)
        return sys.monitoring.DISABLE  # each line tells once

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(self._code):
            return None
        lines = self._hits.setdefault(name, set())
        lines.add(frame.f_lineno)

        def on_line(inner: FrameType, what: str, _: Any) -> Any:
            if what == "line":
                lines.add(inner.f_lineno)
            return on_line

        return on_line

    def _files(self) -> list[tuple[str, str, str]]:
        found = []
        for folder, folders, names in os.walk(self._code):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith(".py") and os.path.getsize(path) <= BYTES_MAX:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        found.append((path, os.path.relpath(path, self._code), file.read()))
        return found[:FILES_MAX]


def _statements(text: str, lines: set[int]) -> dict[str, list[int]]:
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
