# SPDX-License-Identifier: Apache-2.0
"""Finds the tests of files written for pytest or unittest.

Ids are those of pytest: path::Class::test_name[parameters].  They must not depend on the tested
code: collecting works without it (Absent stands for everything it would give), so the host knows
which tests to expect before any code exists.
"""
from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from itertools import product
from types import CodeType, ModuleType

from . import asserts
from .fixtures import argument_names, find_definitions
from .minipytest import FixtureDefinition, Mark, ParameterSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

CLASSES = ("normal", "edge", "invalid", "stress")
ID_MAX = 100
ITEMS_MAX = 5000

_compiled: dict[str, tuple[bytes, CodeType]] = {}


class Absent:
    """Anything of a module that is not here: callable, usable as decorator, base and number."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> Any:
        return Absent()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()

    def __getitem__(self, _: Any) -> Any:
        return Absent()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def _same(self, *_: Any) -> Any:
        return Absent()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _same
    __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __neg__ = __or__ = __and__ = __enter__ = _same

    def __exit__(self, *_: Any) -> None:
        return None


class AbsentFinder:
    """Gives modules full of Absent for the names of the contract."""

    def __init__(self, modules: list[str]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        known = any(name == module or name.startswith(module + ".") for module in self._modules)
        return ModuleSpec(name, self) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = _absent_attribute
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__all__ = []


def _absent_attribute(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent()


class Item:
    """One test: a function with its arguments, or a method of a unittest class."""

    def __init__(self, path: str, module: ModuleType, owner: type | None, name: str,
                 function: Callable) -> None:
        self.path, self.module, self.owner, self.function = path, module, owner, function
        self.name = name
        self.is_unittest = _is_unittest(owner)
        self.arguments: dict[str, Any] = {}
        self.fixture_parameters: dict[str, Any] = {}
        self.fixtures: dict[str, FixtureDefinition] = {}
        self.marks: list[Mark] = [*_marks(function), *_class_marks(owner), *_marks(module)]

    @property
    def id(self) -> str:
        owner = f"{self.owner.__qualname__.replace('.', '::')}::" if self.owner else ""
        return f"{self.path}::{owner}{self.name}"

    @property
    def line(self) -> int:
        inner = self.function
        while hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        code = getattr(inner, "__code__", None)
        return code.co_firstlineno if code else 0

    @property
    def kind(self) -> str | None:
        """normal, edge, invalid or stress, by mark or name."""
        for mark in self.marks:
            if mark.name in CLASSES:
                return mark.name
        return next((kind for kind in CLASSES if self.name.startswith(f"test_{kind}_")), None)

    def parametrized(self, name: str, arguments: dict, fixture_parameters: dict,
                     marks: list[Mark]) -> Item:
        made = Item(self.path, self.module, self.owner, name, self.function)
        made.fixtures, made.marks = self.fixtures, [*marks, *self.marks]
        made.arguments, made.fixture_parameters = arguments, fixture_parameters
        return made


def _marks(obj: Any) -> list[Mark]:
    found = getattr(obj, "pytestmark", [])
    found = found if isinstance(found, (list, tuple)) else [found]
    return [getattr(mark, "mark", mark) for mark in found]


def _class_marks(owner: type | None) -> list[Mark]:
    found: list[Mark] = []
    for cls in owner.__mro__ if owner else ():
        found += _marks_of_space(vars(cls))
    return found


def _marks_of_space(space: Any) -> list[Mark]:
    found = space.get("pytestmark", [])
    found = found if isinstance(found, (list, tuple)) else [found]
    return [getattr(mark, "mark", mark) for mark in found]


def _is_unittest(owner: Any) -> bool:
    case = sys.modules.get("unittest.case")
    return case is not None and isinstance(owner, type) and issubclass(owner, case.TestCase)


def load(path: str, name: str, prepare: Callable[[bytes], None]) -> ModuleType:
    """A test file as a module of its own, asserts rewritten; compiled once."""
    if path not in _compiled:
        with open(path, "rb") as file:
            source = file.read()
        _compiled[path] = source, asserts.rewrite(source, path)
    source, code = _compiled[path]
    if b"unittest" in source:
        from . import unit  # noqa: F401  its assertions tell what they saw
    prepare(source)
    module = ModuleType(name)
    module.__file__ = path
    module.__dict__.update(asserts.SCOPE)
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def load_tests(paths: list[str], base: str, prepare: Callable[[bytes], None]) -> list[Item]:
    """All tests of these files, in their order.  Paths are relative to the base."""
    items: list[Item] = []
    for path in paths:
        full = os.path.join(base, path)
        folder = os.path.dirname(full)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        shared: list[dict] = []
        conftest = os.path.join(folder, "conftest.py")
        if os.path.exists(conftest):
            shared.append(vars(load(conftest, "conftest", prepare)))
        module = load(full, os.path.splitext(os.path.basename(full))[0], prepare)
        items += collect(module, path, shared)
    if len(items) > ITEMS_MAX:
        raise ValueError(f"more than {ITEMS_MAX} tests")
    return items


def collect(module: ModuleType, path: str, shared: list[dict]) -> list[Item]:
    found: list[Item] = []
    for name, value in list(vars(module).items()):
        if isinstance(value, type):
            found += _of_class(module, path, value, name, shared)
        elif name.startswith("test") and _is_test_function(value):
            item = Item(path, module, None, name, value)
            item.fixtures = find_definitions(*shared, vars(module))
            found += _expand(item)
    return found


def _is_test_function(value: Any) -> bool:
    return callable(value) and hasattr(value, "__code__")


def _holds_tests(cls: type, name: str) -> bool:
    if _is_unittest(cls):
        return not cls.__module__.startswith("unittest")
    wanted = getattr(cls, "__test__", True)
    return name.startswith("Test") and "__init__" not in vars(cls) and bool(wanted)


def _of_class(module: ModuleType, path: str, cls: type, name: str,
              shared: list[dict]) -> list[Item]:
    if not _holds_tests(cls, name):
        return []
    spaces = [vars(base) for base in reversed(cls.__mro__)]
    found: list[Item] = []
    seen: dict[str, Any] = {}
    for space in spaces[1:]:
        seen.update(space)
    for method, value in seen.items():
        if method.startswith("test") and _is_test_function(getattr(value, "__func__", value)):
            item = Item(path, module, cls, method, getattr(value, "__func__", value))
            item.fixtures = find_definitions(*shared, vars(module), *spaces)
            found += _expand(item)
        elif isinstance(value, type) and not _is_unittest(cls):
            found += _of_class(module, path, value, method, shared)
    return found


def _expand(item: Item) -> list[Item]:
    """One item for each set of parameters."""
    if item.is_unittest:
        return [item]
    axes = [_axis(mark, item) for mark in item.marks if mark.name == "parametrize"]
    axes += [_fixture_axis(definition) for definition in _needed(item) if definition.params]
    if not axes:
        return [item]
    made = []
    for choice in product(*axes):
        arguments: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        marks: list[Mark] = []
        for part in choice:
            arguments.update(part["arguments"])
            parameters.update(part["parameters"])
            marks += part["marks"]
        name = f"{item.name}[{'-'.join(part['id'] for part in choice)}]"
        made.append(item.parametrized(name, arguments, parameters, marks))
    return made


def _needed(item: Item) -> list[FixtureDefinition]:
    """Fixtures that the test uses, directly or not."""
    names = [name for name, definition in item.fixtures.items() if definition.autouse]
    for mark in item.marks:
        names += mark.args if mark.name == "usefixtures" else ()
    names += argument_names(item.function, item.owner is not None)
    found: dict[str, FixtureDefinition] = {}
    while names:
        definition = item.fixtures.get(names.pop(0))
        if definition and definition.name not in found:
            found[definition.name] = definition
            names += argument_names(definition.function, False)
    return list(found.values())


def _axis(mark: Mark, item: Item) -> list[dict]:
    names = mark.args[0] if mark.args else mark.kwargs["argnames"]
    values = mark.args[1] if len(mark.args) > 1 else mark.kwargs["argvalues"]
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",") if name.strip()]
    indirect = mark.kwargs.get("indirect", False)
    behind = set(names) if indirect is True else set(indirect or ())
    sets = [_parameter_set(value, len(names)) for value in values]
    ids = _ids(sets, list(names), mark.kwargs.get("ids"))
    axis = []
    for one, name in zip(sets, ids):
        if len(one.values) != len(names):
            raise ValueError(f"{item.name}: {len(names)} names and {len(one.values)} values")
        pairs = list(zip(names, one.values))
        axis.append({"id": name, "marks": one.marks,
                     "arguments": {key: value for key, value in pairs if key not in behind},
                     "parameters": {key: value for key, value in pairs if key in behind}})
    return axis or [{"id": "NOTSET", "marks": [Mark("skip", ("no parameters",))], "arguments": {},
                     "parameters": {}}]


def _fixture_axis(definition: FixtureDefinition) -> list[dict]:
    sets = [_parameter_set(value, 1) for value in definition.params or ()]
    ids = _ids(sets, [definition.name], definition.ids)
    return [{"id": name, "marks": one.marks, "arguments": {},
             "parameters": {definition.name: one.values[0]}} for one, name in zip(sets, ids)]


def _parameter_set(value: Any, count: int) -> ParameterSet:
    if isinstance(value, ParameterSet):
        return value
    return ParameterSet((value,) if count == 1 else tuple(value), None, ())


def _ids(sets: list[ParameterSet], names: list[str], given: Any) -> list[str]:
    given_list = list(given) if given is not None and not callable(given) else []
    ids = []
    for place, one in enumerate(sets):
        told = one.id
        if told is None and place < len(given_list):
            told = given_list[place]
        if told is None:
            told = "-".join(_id(value, f"{name}{place}", given if callable(given) else None)
                            for value, name in zip(one.values, names))
        ids.append(_escaped(str(told)[:ID_MAX]))
    return [f"{one}{ids[:place].count(one)}" if ids.count(one) > 1 else one
            for place, one in enumerate(ids)]


def _id(value: Any, fallback: str, make: Any) -> str:
    if make is not None:
        made = make(value)
        if made is not None:
            return str(made)
    if type(value) in (str, int, float, bool, complex, type(None)):
        return str(value)
    if type(value) is bytes:
        return value.decode("ascii", "backslashreplace")
    name = getattr(value, "__name__", None)
    own = type(value) is type or type(value).__name__ == "function"
    return name if own and isinstance(name, str) else fallback


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
