# SPDX-License-Identifier: Apache-2.0
"""Starts the server: takes the line away from the tested code, then serves once or for many."""
from __future__ import annotations

import os
import sys

from .serve import Server
from .wire import Channel, take_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


REPORT_FRAMES, REPORT_MAX = 8, 4000


def serve_line(read_fd: int, write_fd: int, code: str, inputs: list[str], cover: str) -> NoReturn:
    """Serves until the line ends; ends the process without asking the code's threads."""
    coverage = None
    if cover:
        from .cover import Coverage
        coverage = Coverage(code)
        coverage.start()
    report_fd = os.dup(2)
    server = Server(Channel(read_fd, write_fd), code, inputs)
    server.echo.install()
    try:
        server.run()
        if coverage:
            coverage.report(report_fd, cover)
    except BaseException:
        import traceback
        text = traceback.format_exc(limit=-REPORT_FRAMES)
        os.write(report_fd, text.encode("utf-8", "backslashreplace")[-REPORT_MAX:])
    finally:
        os._exit(0)


def main(argv: list[str]) -> NoReturn:
    code, cover, fork = "", "", False
    inputs: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--code":
            code = os.path.abspath(next(words, ""))
        elif word == "--input":
            inputs.append(next(words, ""))
        elif word == "--cover":
            cover = next(words, "")
        elif word == "--fork":
            fork = True
        else:
            sys.exit(f"judge_server: unknown argument '{word}'")
    if not code:
        sys.exit("judge_server: --code DIR is missing")
    line = take_line()
    sys.argv[:] = [""]
    sys.path[0] = code
    if fork:
        from .forking import serve_many
        serve_many(*line, lambda *fds: serve_line(*fds, code, inputs, cover), bool(cover))
    serve_line(*line, code, inputs, cover)
