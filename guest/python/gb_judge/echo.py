# SPDX-License-Identifier: Apache-2.0
"""What the tested code says beside its results: output, warnings, log records.

It is collected here and travels with the next answer, so that a test finds it where it would have
found it had both run in one process (capsys, pytest.warns, caplog).
"""
from __future__ import annotations

import io
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OUTPUT_MAX = 1 << 20
NOTES_MAX = 500


class Sink(io.RawIOBase):
    """Bytes of one stream since the last answer."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.left = OUTPUT_MAX
        self.cut = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        taken = memoryview(data).cast("B")[:self.left]
        self.cut = self.cut or len(taken) < len(data)
        self.left -= len(taken)
        self.data += taken
        return len(data)

    def take(self) -> str:
        text = self.data.decode("utf-8", "replace")
        self.data.clear()
        return text


def text_stream(sink: Sink, errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(sink, encoding="utf-8", errors=errors, write_through=True)


class Echo:
    def __init__(self) -> None:
        self._out, self._err = Sink(), Sink()
        self._warnings: list[tuple[Any, str]] = []
        self._records: list[tuple[str, int, str]] = []
        self._logs = False

    def install(self) -> None:
        sys.stdout = text_stream(self._out, "strict")
        sys.stderr = text_stream(self._err, "backslashreplace")
        warnings.simplefilter("always")
        warnings.showwarning = self._warned

    def take(self) -> dict[str, Any]:
        """Fields of an answer; warnings have a category, which is a value, and are apart."""
        self._listen_to_logs()
        said: dict[str, Any] = {}
        if self._out.data:
            said["out"] = self._out.take()
        if self._err.data:
            said["err_out"] = self._err.take()
        if self._out.cut or self._err.cut:
            said["cut"] = 1
        if self._records:
            said["logs"], self._records = self._records, []
        return said

    def take_warnings(self) -> list[tuple[Any, str]]:
        taken, self._warnings = self._warnings, []
        return taken

    def _warned(self, message: Any, category: Any, *_: Any, **__: Any) -> None:
        if len(self._warnings) < NOTES_MAX:
            self._warnings.append((category, str(message)[:2000]))

    def _listen_to_logs(self) -> None:
        """The root logger is ours once the code has imported logging: the test filters."""
        logging = sys.modules.get("logging")
        if self._logs or not hasattr(logging, "getLogger"):
            return
        self._logs = True
        echo = self

        class Handler(logging.Handler):
            def emit(self, record: Any) -> None:
                if len(echo._records) < NOTES_MAX:
                    echo._records.append(
                        (record.name, record.levelno, record.getMessage()[:2000]))

        root = logging.getLogger()
        root.addHandler(Handler())
        root.setLevel(1)
