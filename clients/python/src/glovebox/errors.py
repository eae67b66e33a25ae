# SPDX-License-Identifier: Apache-2.0
"""What this package raises.

A program that fails in its box is a Result, and code that fails its tests is a TaskResult.  An
exception says that glovebox could not tell, or was asked for something that it cannot do.
"""
from __future__ import annotations

from typing import Optional


class GloveboxError(Exception):
    """The message says what went wrong, `remedy` what would help (None where that is not known)."""

    def __init__(self, message: str, remedy: Optional[str] = None):
        super().__init__(message if remedy is None else f"{message}\nremedy: {remedy}")
        self.message = message
        self.remedy = remedy


class BinaryNotFound(GloveboxError):
    """There is no glovebox command where it was looked for."""


class UsageError(GloveboxError, ValueError):
    """The request is wrong; nothing was started."""


class SandboxError(GloveboxError):
    """A box could not be built or was lost; `wall` names the wall if it is about one."""

    def __init__(self, message: str, remedy: Optional[str] = None, wall: Optional[str] = None):
        super().__init__(message, remedy)
        self.wall = wall


class TaskError(GloveboxError):
    """A task could not go on: no model answers, a key is refused, no box can be built.  `id` names
    the task if it was begun; it can be resumed."""

    def __init__(self, message: str, remedy: Optional[str] = None, id: Optional[str] = None):
        super().__init__(message, remedy)
        self.id = id


class TaskCancelled(TaskError):
    """Somebody stopped the task; it can be resumed."""


class ProtocolError(GloveboxError):
    """What the command said cannot be understood, or is longer than it may be."""
