# SPDX-License-Identifier: Apache-2.0
"""Replacements that a test makes, and functions that look into objects.

With the tested code in another box, replacing something of the library or of that code here would
change nothing there.  Where a test does it, it is told apart (NeedsTogether) before it can pass or
fail for the wrong reason.  Some functions of the standard library look behind an object's
operators; for objects of the tested code they are called over there.
"""
from __future__ import annotations

import sys
from types import ModuleType

from .lent import _library
from .proxies import NeedsTogether, Remote, RemoteClass, RemoteMethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# What may be replaced here: it is carried over, or it is the test's own affair.
CARRIED = {("sys", "stdout"), ("sys", "stderr"), ("sys", "stdin"), ("sys", "argv"),
           ("os", "environ")}

# module -> functions whose first argument is looked into
FORWARDED = {
    "dataclasses": ("asdict", "astuple", "fields", "replace", "is_dataclass"),
    "inspect": ("signature", "isfunction", "ismethod", "isgeneratorfunction", "iscoroutinefunction",
                "isabstract", "isasyncgenfunction", "getdoc", "getsource", "getmembers"),
    "asyncio": ("iscoroutinefunction",),
    "typing": ("get_type_hints",),
    "random": (),
}


class Guard:
    """Watches over replacements.  Without a peer (together) everything may be replaced."""

    current: Guard

    def __init__(self, peer: Any) -> None:
        self._peer = peer
        Guard.current = self

    def check(self, target: Any, name: str) -> None:
        if self._peer is None or isinstance(target, (Remote, RemoteClass)):
            return  # a proxy says itself what may be set
        if isinstance(target, ModuleType):
            module = target.__name__
            if hasattr(type(target), "_judge_module_") or _library(module) \
                    and (module, name) not in CARRIED:
                raise NeedsTogether(f"the test replaces '{module}.{name}' for the tested code")
        elif isinstance(target, type) and _library(target.__module__):
            raise NeedsTogether(f"the test replaces '{target.__qualname__}.{name}'")

    def check_mapping(self, mapping: Any) -> None:
        if self._peer is not None and mapping is sys.modules:
            raise NeedsTogether("the test replaces a module for the tested code")

    def prepare(self, source: bytes) -> None:
        """Before a test file of that text is loaded."""
        if self._peer is None:
            return
        if b"mock" in source:
            self._watch_mock()
        for module, names in FORWARDED.items():
            if module.encode() in source:
                self._forward(module, names)

    def _watch_mock(self) -> None:
        from unittest import mock
        if hasattr(mock, "_judge_watched_"):
            mock._judge_watched_(self)
            return
        guards = [self]
        enter, enter_dict = mock._patch.__enter__, mock._patch_dict._patch_dict

        def watched(patching: Any) -> Any:
            guards[0].check(patching.getter(), patching.attribute)
            return enter(patching)

        def watched_dict(patching: Any) -> Any:
            guards[0].check_mapping(patching.in_dict)
            return enter_dict(patching)

        mock._patch.__enter__, mock._patch_dict._patch_dict = watched, watched_dict
        mock._judge_watched_ = lambda guard: guards.__setitem__(0, guard)

    def _forward(self, name: str, functions: tuple[str, ...]) -> None:
        module = __import__(name)
        if name == "random":
            self._follow_seed(module)
        for function in functions:
            here = getattr(module, function)
            here = getattr(here, "_judge_here_", here)
            setattr(module, function, self._asking(here, f"{name}.{function}"))

    def _asking(self, here: Callable, name: str) -> Callable:
        def ask(obj: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(obj, (Remote, RemoteClass, RemoteMethod)):
                return self._peer.ask("standard", 0, name, (obj, *args), kwargs)
            return here(obj, *args, **kwargs)

        ask.__name__, ask.__doc__, ask._judge_here_ = here.__name__, here.__doc__, here
        return ask

    def _follow_seed(self, random: Any) -> None:
        """random.seed() in a test is meant for the code."""
        here = getattr(random.seed, "_judge_here_", random.seed)

        def seed(*args: Any, **kwargs: Any) -> None:
            here(*args, **kwargs)
            self._peer.ask("standard", 0, "random.seed", args, kwargs)

        seed._judge_here_ = here
        random.seed = seed
