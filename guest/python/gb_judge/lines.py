# SPDX-License-Identifier: Apache-2.0
"""Which lines of the files below a directory run in this process, whatever its thread."""
from __future__ import annotations

import os
import sys
from types import CodeType, FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class Lines:
    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "")
        self._known: dict[str, set[int] | None] = {}  # by the name in code objects; None: foreign
        self._ran: dict[str, set[int]] = {}

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

    def ran(self) -> dict[str, list[int]]:
        """By path.  Other threads may go on."""
        return {path: sorted(lines.copy()) for path, lines in self._ran.copy().items()}

    def _lines_of(self, name: str) -> set[int] | None:
        if name in self._known:
            return self._known[name]
        # Before 3.9 a script has the name that it was called by.
        path = os.path.normpath(os.path.join(self._folder, name))
        lines = None
        if path.startswith(self._folder) and not name.startswith("<"):
            lines = self._ran.setdefault(path, set())
        self._known[name] = lines
        return lines

    def _on_line(self, code: CodeType, line: int) -> Any:
        lines = self._lines_of(code.co_filename)
        if lines is not None:
            lines.add(line)
        return sys.monitoring.DISABLE  # each line tells once

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        lines = self._lines_of(frame.f_code.co_filename)
        if lines is None:
            return None
        lines.add(frame.f_lineno)

        def on_line(inner: FrameType, what: str, _: Any) -> Any:
            if what == "line":
                lines.add(inner.f_lineno)
            return on_line

        return on_line
