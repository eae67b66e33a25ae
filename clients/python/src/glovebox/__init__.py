# SPDX-License-Identifier: Apache-2.0
"""Runs code that nobody has read inside a sealed box: the client of the glovebox command.

    import glovebox

    result = glovebox.exec("print(6 * 7)", timeout=5)
    result.verdict, result.stdout            # "ok", "42\\n"

    task = glovebox.run("factorial of 20")
    task.answer                              # "2432902008176640000"

glovebox.aio has the same for asyncio.  glovebox.autogen, glovebox.langchain, glovebox.graph and
glovebox.hybrid are imported by whoever needs them.
"""
from . import events
from ._child import Chunk
from ._exec import ExecStream, exec, exec_stream
from ._look import FileInfo, LogChunk, LogPage, RunInfo, Stats
from ._task import TaskStream, answer, answer_stream, resume, resume_stream, run, run_stream
from .box import Box, BoxInfo, list_boxes
from .errors import (
                     BinaryNotFound,
                     GloveboxError,
                     ProtocolError,
                     SandboxError,
                     TaskCancelled,
                     TaskError,
                     UsageError,
)
from .events import TaskResult
from .result import Result

__version__ = "0.1.0"

__all__ = [
    "BinaryNotFound", "Box", "BoxInfo", "Chunk", "ExecStream", "FileInfo", "GloveboxError",
    "LogChunk", "LogPage", "ProtocolError", "Result", "RunInfo", "SandboxError", "Stats", "TaskCancelled", "TaskError", "TaskResult", "TaskStream",
    "UsageError", "answer", "answer_stream", "events", "exec", "exec_stream", "list_boxes", "resume",
    "resume_stream", "run", "run_stream",
]
