# SPDX-License-Identifier: Apache-2.0
"""Fixtures: those that a test asks for, set up once for it and taken down in reverse order."""
from __future__ import annotations

import os
import sys
from collections import namedtuple

from . import minipytest
from .doubles import Guard
from .echo import Sink
from .minipytest import FixtureDefinition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

MISSING = object()
Captured = namedtuple("Captured", "out err")


def argument_names(function: Callable, bound: bool) -> list[str]:
    """Parameters without default, but for self and for what mock.patch passes."""
    inner = function
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    code = inner.__code__
    names = list(code.co_varnames[:code.co_argcount])
    names = names[:len(names) - len(inner.__defaults__ or ())]
    names += [name for name in code.co_varnames[code.co_argcount:][:code.co_kwonlyargcount]
              if name not in (inner.__kwdefaults__ or {})]
    patched = sum(1 for patching in getattr(function, "patchings", ())
                  if patching.attribute_name is None and repr(patching.new) == "sentinel.DEFAULT")
    return names[(1 if bound else 0) + patched:]


class MonkeyPatch:
    """Changes that are undone after the test."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._undo: list[Callable[[], Any]] = []

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    @classmethod
    def context(cls) -> Any:
        return _Context(cls(Guard.current))

    def setattr(self, target: Any, name: Any, value: Any = MISSING, raising: bool = True) -> None:
        if isinstance(target, str):
            path, value = target, name
            target, name = _resolve(path)
        self._guard.check(target, name)
        old = getattr(target, name, MISSING)
        if old is MISSING and raising:
            raise AttributeError(f"{target!r} has no attribute '{name}'")
        if isinstance(target, type):
            old = target.__dict__.get(name, MISSING)
        setattr(target, name, value)
        self._undo.append(lambda: delattr(target, name) if old is MISSING
                          else setattr(target, name, old))

    def delattr(self, target: Any, name: Any = MISSING, raising: bool = True) -> None:
        if isinstance(target, str):
            target, name = _resolve(target)
        self._guard.check(target, name)
        old = getattr(target, name, MISSING)
        if old is MISSING:
            if raising:
                raise AttributeError(name)
            return
        delattr(target, name)
        self._undo.append(lambda: setattr(target, name, old))

    def setitem(self, mapping: Any, key: Any, value: Any) -> None:
        self._guard.check_mapping(mapping)
        old = mapping.get(key, MISSING) if hasattr(mapping, "get") else mapping[key]
        mapping[key] = value
        self._undo.append(lambda: mapping.__delitem__(key) if old is MISSING
                          else mapping.__setitem__(key, old))

    def delitem(self, mapping: Any, key: Any, raising: bool = True) -> None:
        self._guard.check_mapping(mapping)
        if key not in mapping and not raising:
            return
        old = mapping[key]
        del mapping[key]
        self._undo.append(lambda: mapping.__setitem__(key, old))

    def setenv(self, name: str, value: Any, prepend: str | None = None) -> None:
        value = str(value)
        if prepend and name in os.environ:
            value += prepend + os.environ[name]
        self.setitem(os.environ, name, value)

    def delenv(self, name: str, raising: bool = True) -> None:
        self.delitem(os.environ, name, raising)

    def chdir(self, path: Any) -> None:
        old = os.getcwd()
        os.chdir(path)
        self._undo.append(lambda: os.chdir(old))

    def syspath_prepend(self, path: Any) -> None:
        sys.path.insert(0, str(path))
        self._undo.append(lambda: sys.path.remove(str(path)))

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()


minipytest.MonkeyPatch = MonkeyPatch


class _Context:
    def __init__(self, patch: MonkeyPatch) -> None:
        self._patch = patch

    def __enter__(self) -> MonkeyPatch:
        return self._patch

    def __exit__(self, *_: Any) -> None:
        self._patch.undo()


def _resolve(path: str) -> tuple[Any, str]:
    """"package.module.Class.name" -> (the object before the last dot, the name)."""
    parts = path.split(".")
    found = __import__(parts[0])
    for place, part in enumerate(parts[1:-1], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            __import__(".".join(parts[:place]))
            found = getattr(found, part)
    return found, parts[-1]


class CaptureFixture:
    """capsys: what was written since the last look."""

    def __init__(self, out: Sink, err: Sink) -> None:
        self._out, self._err = out, err
        out.take(), err.take()

    def readouterr(self) -> Captured:
        return Captured(self._out.take(), self._err.take())

    def disabled(self) -> Any:
        import contextlib
        return contextlib.nullcontext()


class LogCapture:
    """caplog: the records of the test."""

    def __init__(self) -> None:
        import logging
        records: list[Any] = []
        self._levels: list[tuple[Any, int]] = []

        class Handler(logging.Handler):
            def emit(self, record: Any) -> None:
                record.message = record.getMessage()
                records.append(record)

        self.records = records
        self.handler = Handler()
        logging.getLogger().addHandler(self.handler)

    @property
    def text(self) -> str:
        return "".join(f"{r.levelname:8} {r.name}:{r.filename}:{r.lineno} {r.message}\n"
                       for r in self.records)

    @property
    def messages(self) -> list[str]:
        return [record.message for record in self.records]

    @property
    def record_tuples(self) -> list[tuple[str, int, str]]:
        return [(record.name, record.levelno, record.message) for record in self.records]

    def clear(self) -> None:
        self.records.clear()

    def set_level(self, level: Any, logger: str | None = None) -> None:
        import logging
        target = logging.getLogger(logger)
        self._levels.append((target, target.level))
        target.setLevel(level)

    def at_level(self, level: Any, logger: str | None = None) -> Any:
        import contextlib

        @contextlib.contextmanager
        def lowered() -> Iterator[None]:
            self.set_level(level, logger)
            target, old = self._levels[-1]
            try:
                yield
            finally:
                target.setLevel(old)

        return lowered()

    def close(self) -> None:
        import logging
        logging.getLogger().removeHandler(self.handler)
        for target, level in reversed(self._levels):
            target.setLevel(level)


class _Node:
    def __init__(self, item: Any) -> None:
        self.name, self.nodeid = item.name, item.id
        self._item = item

    def get_closest_marker(self, name: str) -> Any:
        return next((mark for mark in self._item.marks if mark.name == name), None)


class Request:
    """The fixture `request`."""

    def __init__(self, setup: Setup, item: Any, instance: Any) -> None:
        self._setup = setup
        self.node = _Node(item)
        self.function, self.cls, self.module = item.function, item.owner, item.module
        self.instance = instance
        self.fixturename: str | None = None
        self.scope = "function"

    def __getattr__(self, name: str) -> Any:
        if name == "param" and self.fixturename in self._setup.parameters:
            return self._setup.parameters[self.fixturename]
        raise AttributeError(name)

    def getfixturevalue(self, name: str) -> Any:
        return self._setup.get(name)

    def addfinalizer(self, function: Callable[[], Any]) -> None:
        self._setup.finalizers.append(function)


class Setup:
    """The fixtures of one test, for its life."""

    def __init__(self, item: Any, instance: Any, surroundings: Any) -> None:
        self._item, self._instance, self._around = item, instance, surroundings
        self._values: dict[str, Any] = dict(item.arguments)
        self._open: list[str] = []
        self.parameters: dict[str, Any] = dict(item.fixture_parameters)
        self.finalizers: list[Callable[[], Any]] = []

    def get(self, name: str) -> Any:
        if name not in self._values:
            if name in self._open:
                raise RuntimeError(f"fixture '{name}' asks for itself")
            self._open.append(name)
            self._values[name] = self._make(name)
            self._open.pop()
        return self._values[name]

    def close(self) -> None:
        """All finalizers, also after one has failed; the first failure is raised."""
        failure = None
        while self.finalizers:
            try:
                self.finalizers.pop()()
            except BaseException as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _make(self, name: str) -> Any:
        found = self._item.fixtures.get(name)
        if found is None:
            if name not in BUILT_IN:
                raise LookupError(f"fixture '{name}' not found")
            return BUILT_IN[name](self)
        function, bound = found.function, "." in getattr(found.function, "__qualname__", "")
        bound = bound and "<locals>" not in found.function.__qualname__
        arguments = {wanted: self._argument(wanted, name)
                     for wanted in argument_names(function, bound)}
        owner = [self._instance] if bound else []
        made = function(*owner, **arguments)
        if type(made).__name__ == "generator":
            value = next(made)
            self.finalizers.append(lambda: _finish(made, name))
            return value
        return self._around.settle(made)

    def _argument(self, name: str, of: str) -> Any:
        if name == "request":
            request = Request(self, self._item, self._instance)
            request.fixturename = of
            return request
        return self.get(name)

    # Fixtures that every test has.
    def _request(self) -> Request:
        return Request(self, self._item, self._instance)

    def _tmp_path(self) -> Any:
        return self._around.new_directory()

    def _tmp_path_factory(self) -> Any:
        return _PathFactory(self._around.new_directory)

    def _capsys(self) -> CaptureFixture:
        return CaptureFixture(self._around.out, self._around.err)

    def _monkeypatch(self) -> MonkeyPatch:
        patch = MonkeyPatch(self._around.guard)
        self.finalizers.append(patch.undo)
        return patch

    def _recwarn(self) -> Any:
        recorder = minipytest.WarningsRecorder()
        recorder.__enter__()
        self.finalizers.append(lambda: recorder.__exit__(None, None, None))
        return recorder

    def _caplog(self) -> LogCapture:
        log = LogCapture()
        self.finalizers.append(log.close)
        return log

    def _record(self) -> Callable[..., None]:
        return lambda *_: None


BUILT_IN: dict[str, Callable[[Setup], Any]] = {
    "request": Setup._request,
    "tmp_path": Setup._tmp_path,
    "tmp_path_factory": Setup._tmp_path_factory,
    "capsys": Setup._capsys,
    "capfd": Setup._capsys,
    "monkeypatch": Setup._monkeypatch,
    "recwarn": Setup._recwarn,
    "caplog": Setup._caplog,
    "record_property": Setup._record,
}


class _PathFactory:
    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def mktemp(self, basename: str, numbered: bool = True) -> Any:
        path = self._make() / basename
        path.mkdir()
        return path

    def getbasetemp(self) -> Any:
        return self._make()


def _finish(generator: Any, name: str) -> None:
    try:
        next(generator)
    except StopIteration:
        return
    raise RuntimeError(f"fixture '{name}' has more than one yield")


def find_definitions(*spaces: dict) -> dict[str, FixtureDefinition]:
    """Fixtures by name; later spaces win."""
    found: dict[str, FixtureDefinition] = {}
    for space in spaces:
        for value in list(space.values()):
            if isinstance(value, FixtureDefinition):
                found[value.name] = value
    return found
