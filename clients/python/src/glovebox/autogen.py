# SPDX-License-Identifier: Apache-2.0
"""A CodeExecutor for AutoGen whose blocks run in boxes.

    async with GloveboxCodeExecutor(work_dir="coding", timeout=60) as executor:
        tool = PythonCodeExecutionTool(executor)

It keeps the contract of AutoGen's command line executors: blocks run in order and stop at the first
that fails; output is stdout and stderr in one, as they came; a timeout is exit code 124; a first line
`# filename: x` names the file; files stay in work_dir.  Each block has a box of its own: work_dir is
copied in before and changes are copied back afterwards, and nothing else is left of it.

The options are those of AutoGen's DockerCommandLineCodeExecutor, so that its line can be kept and the
name changed; one that a box cannot have is a ValueError that says why.
"""
from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

try:
    from autogen_core import CancellationToken, Component
    from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult
    from autogen_core.code_executor._func_with_reqs import build_python_functions_file
    from pydantic import BaseModel
except ImportError as missing:
    raise ImportError("glovebox.autogen needs the package autogen-core") from missing

from . import aio
from .result import Result

TIMEOUT_EXIT = 124
FAILED_EXIT = 1
# language of a block -> program of the box; PowerShell's names are known and refused where it is not
# in the box
PROGRAMS = {
    "python": "python3", "py": "python3",
    "bash": "bash", "sh": "sh", "shell": "sh",
    "pwsh": "pwsh", "powershell": "pwsh", "ps1": "pwsh",
}
# Joins the two streams in the box, where their order is known.  The program and the file are
# arguments, so nothing of theirs is read by this shell.
MERGE = 'exec "$@" 2>&1'
INIT = 'eval "$GLOVEBOX_INIT" && exec "$@" 2>&1'
# Verdicts that mean: it took too long.
TOO_LONG = ("timeout", "cpu")
# Options of Docker's executor: the one value that is true of boxes, and what is told of others.
ALWAYS: Mapping[str, Any] = {"auto_remove": True, "stop_container": True}
NEVER = {
    "container_name": "each block has a box of its own, which has no name",
    "extra_volumes": "a box has no directory of this machine but a copy of work_dir",
    "extra_hosts": "a box looks names up by its rules; say net=",
    "device_requests": "a box has no devices of this machine",
}


@dataclass
class GloveboxCodeResult(CodeResult):
    """`code_file` is that of the first block; `results` has what glovebox told of each."""

    code_file: Optional[str]
    results: List[Result]


class GloveboxCodeExecutorConfig(BaseModel):
    """What of an executor can be written down and loaded."""

    timeout: int = 60
    work_dir: Optional[str] = None
    init_command: Optional[str] = None
    delete_tmp_files: bool = False
    memory: Optional[Union[int, str]] = None
    cpus: Optional[float] = None
    cpu_time: Optional[float] = None
    pids: Optional[int] = None
    disk: Optional[Union[int, str]] = None
    image: Optional[str] = None
    backend: Optional[str] = None
    net: Optional[str] = None
    packages: Optional[List[str]] = None
    auto_packages: Optional[bool] = None
    binary: Optional[str] = None


def _without_dockers(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options without those of a container, which are checked."""
    for name, why in NEVER.items():
        if options.get(name):
            raise ValueError(f"{name}: {why}")
    for name, value in ALWAYS.items():
        if options.get(name, value) != value:
            raise ValueError(f"{name}: a box is always removed, with all that ran in it")
    return {name: value for name, value in options.items() if name not in {*NEVER, *ALWAYS}}


def _one_folder(work_dir: Union[Path, str, None], bind_dir: Union[Path, str, None]) -> Optional[Path]:
    """bind_dir is where the engine finds work_dir: the same directory, or none."""
    if work_dir is None or bind_dir is None:
        given = work_dir if work_dir is not None else bind_dir
        return Path(given) if given is not None else None
    if Path(work_dir).resolve() != Path(bind_dir).resolve():
        raise ValueError("bind_dir: boxes get a copy of work_dir, so it must be the same directory")
    return Path(work_dir)


class GloveboxCodeExecutor(CodeExecutor, Component[GloveboxCodeExecutorConfig]):
    """work_dir           where files are; else a temporary directory until stop()
    timeout            seconds of each block, at least 1
    init_command       a shell command before each block, in its box
    delete_tmp_files   remove the blocks' own files afterwards
    functions          what blocks may import from functions_module; a file of work_dir from start() on.
                       Packages that they require are installed.  Not written down with the executor
    net, packages, auto_packages
                       what blocks may reach, and what is installed for them before
    memory, cpus, cpu_time, pids, disk, image, backend, binary
                       as of glovebox.exec(); an image other than `host` is one of docker's
    bind_dir, auto_remove, stop_container
                       as boxes are: work_dir, True, True
    container_name, extra_volumes, extra_hosts, device_requests
                       a ValueError: no box has them
    """

    component_config_schema = GloveboxCodeExecutorConfig
    component_provider_override = "glovebox.autogen.GloveboxCodeExecutor"
    SUPPORTED_LANGUAGES = sorted(PROGRAMS)

    def __init__(self, *, timeout: int = 60, work_dir: Union[Path, str, None] = None,
                 init_command: Optional[str] = None, delete_tmp_files: bool = False,
                 bind_dir: Union[Path, str, None] = None, functions: Sequence[Any] = (),
                 functions_module: str = "functions", **options: Any):
        if timeout < 1:
            raise ValueError("Timeout must be greater than or equal to 1.")
        if not functions_module.isidentifier():
            raise ValueError("functions_module must be a valid Python identifier.")
        box = _without_dockers(options)
        unknown = set(box) - set(GloveboxCodeExecutorConfig.model_fields)
        if unknown:
            raise TypeError(f"unexpected keyword argument '{sorted(unknown)[0]}'")
        self._timeout = timeout
        self._init_command = init_command
        self._delete_tmp_files = delete_tmp_files
        self._box = {name: value for name, value in box.items() if value is not None}
        if self._box.get("image", "host") != "host":
            self._box.setdefault("backend", "docker")
        self._functions = list(functions)
        self._functions_module = functions_module
        self._given_dir = _one_folder(work_dir, bind_dir)
        self._temporary: Optional["tempfile.TemporaryDirectory[str]"] = None
        self._is_started = False

    # ---- life ------------------------------------------------------------------------------------

    @property
    def timeout(self) -> int:
        return self._timeout

    @property
    def work_dir(self) -> Path:
        if self._given_dir is not None:
            return self._given_dir
        if self._temporary is None:
            raise RuntimeError("Working directory not properly initialized")
        return Path(self._temporary.name)

    async def start(self) -> None:
        """Fails, with the remedy, when no box can be built."""
        await aio.exec(argv=["true"], **self._box)
        if self._given_dir is not None:
            self._given_dir.mkdir(exist_ok=True, parents=True)
        elif self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="glovebox-autogen-")
        if self._functions:
            (self.work_dir / f"{self._functions_module}.py").write_text(
                build_python_functions_file(self._functions), encoding="utf-8")
        self._is_started = True

    async def stop(self) -> None:
        self._is_started = False
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    async def restart(self) -> None:
        """Boxes are fresh anyway; files stay where they are."""
        if not self._is_started:
            raise ValueError("Executor must be started first.")

    @property
    def functions_module(self) -> str:
        return self._functions_module

    def _run_options(self) -> Dict[str, Any]:
        """Of each block: with the packages of the functions."""
        required = [name for function in self._functions
                    for name in getattr(function, "python_packages", ())]
        packages = [*self._box.get("packages", ()), *required]
        return {**self._box, "packages": packages} if packages else self._box

    def _to_config(self) -> GloveboxCodeExecutorConfig:
        return GloveboxCodeExecutorConfig(
            timeout=self._timeout, init_command=self._init_command,
            delete_tmp_files=self._delete_tmp_files,
            work_dir=str(self._given_dir) if self._given_dir is not None else None, **self._box)

    @classmethod
    def _from_config(cls, config: GloveboxCodeExecutorConfig) -> "GloveboxCodeExecutor":
        return cls(**config.model_dump())

    # ---- blocks ----------------------------------------------------------------------------------

    async def execute_code_blocks(self, code_blocks: List[CodeBlock],
                                  cancellation_token: CancellationToken) -> GloveboxCodeResult:
        if not self._is_started:
            raise ValueError("Executor is not running. Must first be started with either start or "
                             "a context manager.")
        if not code_blocks:
            raise ValueError("No code blocks to execute.")
        done = GloveboxCodeResult(exit_code=0, output="", code_file=None, results=[])
        files: List[Path] = []
        try:
            for block in code_blocks:
                await self._one(block, cancellation_token, done, files)
                if done.exit_code != 0:
                    break
        finally:
            if self._delete_tmp_files:
                for file in files:
                    file.unlink(missing_ok=True)
        return done

    async def _one(self, block: CodeBlock, token: CancellationToken, done: GloveboxCodeResult,
                   files: List[Path]) -> None:
        language = block.language.lower()
        if language not in PROGRAMS:
            raise ValueError(f"Unsupported language: {block.language}")
        name = self._file_name(block.code, language)
        if name is None:
            done.exit_code = FAILED_EXIT
            done.output += "Filename is not in the workspace"
            return
        path = self.work_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code, encoding="utf-8")
        files.append(path)
        done.code_file = done.code_file or str(path)
        await self._run(PROGRAMS[language], name, token, done)

    def _file_name(self, code: str, language: str) -> Optional[str]:
        """Below work_dir, links followed; None when it is not."""
        first = code.split("\n", 1)[0]
        if not first.startswith("# filename:"):
            return f"tmp_code_{sha256(code.encode()).hexdigest()}.{language}"
        wanted = first[len("# filename:"):].strip()
        root = self.work_dir.resolve()
        try:
            path = (root / wanted).resolve()
            name = path.relative_to(root)
        except (ValueError, OSError, RuntimeError):
            return None
        # git runs what lies in its folder, and nothing can be written over a directory
        if not name.parts or ".git" in name.parts or path.is_dir():
            return None
        return str(name)

    async def _run(self, program: str, name: str, token: CancellationToken,
                   done: GloveboxCodeResult) -> None:
        script, env = (MERGE, {}) if self._init_command is None else (
            INIT, {"GLOVEBOX_INIT": self._init_command})
        run = asyncio.ensure_future(aio.exec(
            argv=["sh", "-c", script, "sh", program, os.path.join(".", name)], env=env,
            workspace=self.work_dir, timeout=self._timeout, **self._run_options()))
        token.link_future(run)
        try:
            result = await run
        except asyncio.CancelledError:
            if not token.is_cancelled():
                raise
            done.exit_code = FAILED_EXIT
            done.output += "Code execution was cancelled."
            return
        done.results.append(result)
        done.output += result.stdout + result.stderr
        if result.verdict in TOO_LONG:
            done.exit_code = TIMEOUT_EXIT
            done.output += "\n Timeout"
        elif result.exit_code is not None:
            done.exit_code = result.exit_code
        else:
            done.exit_code = 128 + (result.signal or 0)
        self._tell_limit(result, done)

    @staticmethod
    def _tell_limit(result: Result, done: GloveboxCodeResult) -> None:
        """What the program cannot know: which limit ended it, and what could not be copied back."""
        said = [result.hint] if result.hint and result.verdict not in TOO_LONG else []
        said += [result.error.message] if result.error else []
        if said:
            done.exit_code = done.exit_code or FAILED_EXIT
            done.output += "\n" + "\n".join(said)
