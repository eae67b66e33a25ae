# SPDX-License-Identifier: Apache-2.0
"""Tools for LangChain and LangGraph agents.

    agent = create_agent(model, tools=[code_tool(timeout=10), task_tool()])

What the model may choose is the code; limits, walls and the command itself are the caller's, and no
argument of a tool reaches them.  A program that fails is an answer for the model; the whole Result is
the message's artifact.
"""
from __future__ import annotations

import inspect
import json
import typing
from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Sequence, Tuple, Type

try:
    from langchain_core.tools import StructuredTool, ToolException
    from pydantic import BaseModel, Field, create_model
except ImportError as missing:
    raise ImportError("glovebox.langchain needs the package langchain-core") from missing

from . import _request, _task
from . import result as results
from ._child import complete
from ._thread import Stopper, in_thread
from .errors import GloveboxError
from .events import TaskResult
from .result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

# What a model sees of one stream: the beginning and the end.
SHOWN_CHARS = 8000


class CodeInput(BaseModel):
    code: str = Field(description="The whole program.")
    language: str = Field(default="python", description="Language of the code.")
    stdin: Optional[str] = Field(default=None, description="What the program reads.")


class TaskInput(BaseModel):
    task: str = Field(description="What is wanted: a result, a program or a library, in words.")


def shown(text: str, limit: int = SHOWN_CHARS) -> str:
    """Head and tail, the cut marked."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def describe(result: Result) -> str:
    """A result in words for a model."""
    said = [f"verdict: {result.verdict}"]
    if result.exit_code:
        said.append(f"exit code: {result.exit_code}")
    if result.failed_step:
        said.append(f"failed step: {result.failed_step}")
    if result.hint:
        said.append(f"hint: {result.hint}")
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            said.append(f"{name}:\n{shown(text)}")
    return "\n".join(said)


def describe_task(task: TaskResult) -> str:
    """A task's end in words for a model."""
    if task.is_waiting:
        return f"question: {task.question}"
    said = [f"outcome: {task.outcome}"]
    said += [f"{name}: {text}" for name, text in (("reason", task.reason), ("answer", task.answer),
                                                  ("explanation", task.explanation)) if text]
    return "\n".join(said + [f"{file.path}:\n{shown(file.text)}" for file in task.files])


def code_input(options: Mapping[str, Any]) -> Type[BaseModel]:
    """What a model is told of its program: of the network and the files that the caller gives it."""
    net = options.get("net") or "none"
    reach = {"none": "It has no network", "full": "It may use the network"}.get(
        net, f"Of the network it may reach {net}")
    found = sorted(options.get("files") or ())
    files = "finds the caller's files in its directory" if options.get("workspace") else \
        f"finds the files {', '.join(found)}" if found else "starts with no files"
    told = f"The whole program. {reach} and it {files}."
    if options.get("packages"):
        told += f" Installed: {', '.join(options['packages'])}."
    return create_model("CodeInput", __base__=CodeInput, code=(str, Field(description=told)))


def code_tool(*, name: str = "run_code", languages: Optional[Sequence[str]] = None,
              **options: "Unpack[_request.ExecOptions]") -> StructuredTool:
    """Runs code in a box of its own; options are those of glovebox.exec().  `languages` are those
    that the model may use; all that the box has if left out."""
    _request.check_names(options, _request.ExecOptions)

    def work(stopper: Stopper, code: str, language: str, stdin: Optional[str]) -> Tuple[str, Any]:
        if languages is not None and language not in languages:
            raise ToolException(f"language '{language}': say one of {', '.join(languages)}")
        request: Any = {**options, "stdin": stdin if stdin is not None else options.get("stdin")}
        try:
            with _request.exec_call(code, language, request) as call:
                result = results.from_completed(complete(
                    call.words, input=call.input, cwd=_request.folder(options),
                    on_start=stopper.attach))
        except GloveboxError as why:
            raise ToolException(str(why)) from why
        return describe(result), result

    def run(code: str, language: str = "python", stdin: Optional[str] = None) -> Tuple[str, Any]:
        return work(Stopper(), code, language, stdin)

    async def arun(code: str, language: str = "python",
                   stdin: Optional[str] = None) -> Tuple[str, Any]:
        stopper = Stopper()
        return await in_thread(lambda: work(stopper, code, language, stdin), stopper.stop)

    some = f" Languages: {', '.join(languages)}." if languages is not None else ""
    return StructuredTool.from_function(
        func=run, coroutine=arun, name=name, args_schema=code_input(options),
        description="Runs a program in a sealed box and tells its output and how it ended." + some,
        response_format="content_and_artifact", handle_tool_error=True)


def task_tool(*, name: str = "write_code",
              **options: "Unpack[_task.RunOptions]") -> StructuredTool:
    """Hands a task to the agent of glovebox, which writes code and tests it; options are those of
    glovebox.run()."""
    _request.check_names(options, _task.RunOptions)

    def work(stopper: Stopper, task: str) -> Tuple[str, Any]:
        try:
            with _task.TaskStream(_task.begin_call(task, options), _request.folder(options),
                                  stopper.attach) as stream:
                for _ in stream:
                    pass
        except GloveboxError as why:
            raise ToolException(str(why)) from why
        assert stream.result is not None
        return describe_task(stream.result), stream.result

    def run(task: str) -> Tuple[str, Any]:
        return work(Stopper(), task)

    async def arun(task: str) -> Tuple[str, Any]:
        stopper = Stopper()
        return await in_thread(lambda: work(stopper, task), stopper.stop)

    return StructuredTool.from_function(
        func=run, coroutine=arun, name=name, args_schema=TaskInput,
        description="Has code written for a task and tested in sealed boxes; tells the outcome, the "
                    "answer or the files.",
        response_format="content_and_artifact", handle_tool_error=True)


def _adde_tool(function: Callable[..., Any], bin_path: Optional[str]) -> StructuredTool:
    """One function of adde; where the command is stays the caller's."""
    kinds = typing.get_type_hints(function)
    fields: Any = {
        name: (kinds[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(function).parameters.items() if name != "bin_path"}

    def run(**request: Any) -> str:
        try:
            return json.dumps(function(**request, bin_path=bin_path))
        except (RuntimeError, ValueError, OSError) as why:
            raise ToolException(str(why)) from why

    return StructuredTool.from_function(
        func=run, name=f"adde_{function.__name__}", description=inspect.getdoc(function),
        args_schema=create_model(f"adde_{function.__name__}", **fields), handle_tool_error=True)


def adde_tools(names: Optional[Sequence[str]] = None, *,
               bin_path: Optional[str] = None) -> List[StructuredTool]:
    """The tools of the module adde for a model, `adde_create_runtime_env` and so on: all eleven, or those
    of the names.  An answer is the tool's JSON.  The model chooses images, networks and what is deleted:
    give it those tools that it needs."""
    import adde
    for name in names or ():
        if name not in adde.__all__:
            raise ValueError(f"no tool '{name}'; there are: {', '.join(adde.__all__)}")
    return [_adde_tool(getattr(adde, name), bin_path) for name in names or adde.__all__]
