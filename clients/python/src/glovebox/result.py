# SPDX-License-Identifier: Apache-2.0
"""The result of a run: schema 1 of docs/result.md, as dataclasses."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Union

from . import _decode as d
from ._child import Completed, last_words
from .errors import ProtocolError, SandboxError, UsageError

SCHEMA = 1
EXIT_USAGE = 2


@dataclass(frozen=True)
class File:
    """A file that the run made or changed in its workspace."""

    path: str = d.key(d.text)
    bytes: int = d.key(d.integer)


@dataclass(frozen=True)
class Failure:
    """What glovebox could not do behind a program that has run."""

    message: str = d.key(d.text)
    wall: Optional[str] = d.key(d.optional(d.text), None)
    remedy: Optional[str] = d.key(d.optional(d.text), None)


@dataclass(frozen=True)
class Limits:
    """Those in force."""

    memory_bytes: Optional[int] = d.key(d.optional(d.integer), None)
    cpus: Optional[float] = d.key(d.optional(d.number), None)
    pids: Optional[int] = d.key(d.optional(d.integer), None)
    disk_bytes: Optional[int] = d.key(d.optional(d.integer), None)
    inodes: Optional[int] = d.key(d.optional(d.integer), None)
    wall_ms: Optional[float] = d.key(d.optional(d.number), None)
    cpu_ms: Optional[float] = d.key(d.optional(d.number), None)
    output_keep_bytes: Optional[int] = d.key(d.optional(d.integer), None)
    output_max_bytes: Optional[int] = d.key(d.optional(d.integer), None)


@dataclass(frozen=True)
class Receipt:
    """Which walls were really in force: False, True, or a detail."""

    backend: str = d.key(d.text)
    walls: Dict[str, Union[bool, str, int]] = d.key(d.mapping)
    accounting: str = d.key(d.text)
    limits: Limits = d.key(d.record(Limits))


@dataclass(frozen=True)
class Step:
    """Compiling or running; output is told of the steps before the deciding one."""

    name: str = d.key(d.text)
    verdict: str = d.key(d.text)
    exit_code: Optional[int] = d.key(d.optional(d.integer))
    signal: Optional[int] = d.key(d.optional(d.integer))
    wall_ms: float = d.key(d.number)
    cpu_ms: float = d.key(d.number)
    memory_peak_bytes: Optional[int] = d.key(d.optional(d.integer))
    stdout: Optional[str] = d.key(d.optional(d.text), None)
    stderr: Optional[str] = d.key(d.optional(d.text), None)
    stdout_bytes: Optional[int] = d.key(d.optional(d.integer), None)
    stderr_bytes: Optional[int] = d.key(d.optional(d.integer), None)


@dataclass(frozen=True)
class Package:
    """One that was installed for the run, or found in the cache."""

    name: str = d.key(d.text)
    version: str = d.key(d.text)
    kind: str = d.key(d.text)
    sha256: Optional[str] = d.key(d.optional(d.text), None)
    integrity: Optional[str] = d.key(d.optional(d.text), None)


@dataclass(frozen=True)
class Result:
    """How a run ended.  `verdict` is one of ok, nonzero, signal, timeout, cpu, memory, pids, disk,
    output, cancelled.  A program that fails is a result; see docs/result.md for each key."""

    schema: int = d.key(d.integer)
    id: str = d.key(d.text)
    language: Optional[str] = d.key(d.optional(d.text))
    verdict: str = d.key(d.text)
    exit_code: Optional[int] = d.key(d.optional(d.integer))
    signal: Optional[int] = d.key(d.optional(d.integer))
    stdout: str = d.key(d.text)
    stderr: str = d.key(d.text)
    stdout_bytes: int = d.key(d.integer)
    stderr_bytes: int = d.key(d.integer)
    truncated: bool = d.key(d.boolean)
    wall_ms: float = d.key(d.number)
    cpu_ms: float = d.key(d.number)
    memory_peak_bytes: Optional[int] = d.key(d.optional(d.integer))
    survivors: int = d.key(d.integer)
    files: List[File] = d.key(d.many(d.record(File)))
    events: List[str] = d.key(d.many(d.text))
    receipt: Optional[Receipt] = d.key(d.optional(d.record(Receipt)))
    signal_name: Optional[str] = d.key(d.optional(d.text), None)
    steps: List[Step] = d.key(d.many(d.record(Step)), [])
    failed_step: Optional[str] = d.key(d.optional(d.text), None)
    notes: List[str] = d.key(d.many(d.text), [])
    error: Optional[Failure] = d.key(d.optional(d.record(Failure)), None)
    hint: Optional[str] = d.key(d.optional(d.text), None)
    packages: List[Package] = d.key(d.many(d.record(Package)), [])
    stdout_base64: Optional[str] = d.key(d.text, None)
    stderr_base64: Optional[str] = d.key(d.text, None)
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """The program exited with 0, and everything that was asked for was done."""
        return self.verdict == "ok" and self.error is None

    @property
    def timed_out(self) -> bool:
        return self.verdict in ("timeout", "cpu")


def from_document(document: Dict[str, Any]) -> Result:
    if document.get("schema") != SCHEMA:
        raise ProtocolError(f"the result has schema {document.get('schema')!r}, not {SCHEMA}",
                            "use a client and a command of one release")
    result = d.build(Result, document)
    object.__setattr__(result, "document", document)
    return result


def _said(done: Completed) -> Failure:
    message, remedy = last_words(done.stderr)
    return Failure(message or f"the command ended with {done.returncode} and no result",
                   remedy=remedy)


def of_command(done: Completed) -> Union[UsageError, SandboxError]:
    """The error of a command that failed with words alone."""
    said = _said(done)
    if done.returncode == EXIT_USAGE:
        return UsageError(said.message, said.remedy)
    return SandboxError(said.message, said.remedy)


def from_completed(done: Completed) -> Result:
    """Of `exec --json`; raises when glovebox could not tell."""
    if not done.stdout.strip():
        raise of_command(done)
    return from_answer(d.parse(done.stdout), done)


def from_answer(document: Dict[str, Any], done: Completed) -> Result:
    """The same of a document that has been read already."""
    result = from_document(document)
    if result.verdict == "sandbox_error":
        error = result.error or _said(done)
        if done.returncode == EXIT_USAGE:
            raise UsageError(error.message, error.remedy)
        raise SandboxError(error.message, error.remedy, error.wall)
    return result
