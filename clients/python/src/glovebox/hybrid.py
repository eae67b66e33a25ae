# SPDX-License-Identifier: Apache-2.0
"""An agent that answers by itself or by code that ran in a box, whichever the prompt needs.

    agent = HybridAgent()
    await agent.initialize()
    response = await agent.run("sum of 1 to 100")
    print(agent.get_final_response(response))

Whether code is needed is the first decision of the task itself.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from . import _request, _task, aio
from .events import TaskResult

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Response:
    """`task` is all there is to know."""

    prompt: str
    task: TaskResult

    @property
    def needed_code(self) -> bool:
        return self.task.contract is not None


class HybridAgent:
    """Options are those of glovebox.run(); each prompt is a task of its own."""

    def __init__(self, **options: "Unpack[_task.RunOptions]"):
        _request.check_names(options, _task.RunOptions)
        self._options = options
        self._is_ready = False

    async def initialize(self) -> None:
        """Fails, with the remedy, when the command is not there or no box can be built."""
        of_boxes = {name: value for name, value in self._options.items()
                    if name in _request.BoxOptions.__annotations__}
        await aio.exec(argv=["true"], **of_boxes)  # type: ignore[arg-type]
        self._is_ready = True

    async def run(self, prompt: str) -> Response:
        if not self._is_ready:
            raise RuntimeError("await initialize() first")
        return Response(prompt, await aio.run(prompt, **self._options))

    def get_final_response(self, result: Response) -> str:
        """The answer; for a program or library its explanation and its code; else what is wrong."""
        task = result.task
        if task.is_waiting:
            return f"A question first: {task.question}"
        if not task.ok:
            return f"{task.outcome}: {task.reason}"
        return task.answer or "\n\n".join(_parts(task))


def _parts(task: TaskResult) -> "list[str]":
    language: Optional[str] = task.contract.language if task.contract else None
    parts = [task.explanation or ""]
    for file in task.files:
        parts.append(f"{file.path}:\n```{language or ''}\n{file.text.rstrip()}\n```")
    return [part for part in parts if part]
