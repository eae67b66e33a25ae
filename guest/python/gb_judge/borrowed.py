# SPDX-License-Identifier: Apache-2.0
"""In the box of the tested code: what the tests lend it.

A function of a test becomes a function here, with the same name and parameters, that calls back.
An object becomes a proxy with the operators of its class; an iterator one that asks for the next
item.  The other side decides what may be asked of each (lent.py).
"""
from __future__ import annotations

import weakref
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .values import Get, Node

    Ask = Callable[..., Any]

HEAP_TYPE = 1 << 9  # a class that was made by a class statement
ERRORS_MAX = 64

FUNCTION = """
{head}def {name}({parameters}):
    return _call(({positional}), {{{named}}})
"""


class LentType(type):
    """A class of the tests; calling it makes the object there."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._lent_ask("call", cls._lent_number, "", args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_lent_"):
            raise AttributeError(name)
        return cls._lent_ask("get", cls._lent_number, name)


class Lent(metaclass=LentType):
    """An object of the tests."""

    _lent_number = 0
    _lent_hash = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_lent_"):
            raise AttributeError(name)
        return type(self)._lent_ask("get", self._lent_number, name)

    def __setattr__(self, name: str, value: Any) -> None:
        type(self)._lent_ask("set", self._lent_number, name, (value,))

    def __repr__(self) -> str:
        return str(self._lent_operator("__repr__"))

    def __str__(self) -> str:
        return str(self._lent_operator("__str__"))

    def __eq__(self, other: Any) -> Any:
        return self is other or self._lent_operator("__eq__", other)

    def __hash__(self) -> int:
        return self._lent_hash

    def _lent_operator(self, name: str, *args: Any) -> Any:
        return type(self)._lent_ask("operator", self._lent_number, name, args)


def _operator(name: str) -> Callable[..., Any]:
    def forward(self: Lent, *args: Any, **kwargs: Any) -> Any:
        do = "call" if name == "__call__" else "operator"
        return type(self)._lent_ask(do, self._lent_number, name, args, kwargs)

    return forward


class LentIterator:
    def __init__(self, ask: Ask, number: int) -> None:
        self._ask, self._number = ask, number

    def __iter__(self) -> LentIterator:
        return self

    def __next__(self) -> Any:
        return self._ask("next", self._number)


class Borrowed:
    """All that is lent at the moment, by number."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._alive: dict[int, Callable[[], Any]] = {}
        self._numbers: dict[int, int] = {}
        self._received: dict[int, int] = {}
        self._dropped: list[list[int]] = []
        self._classes: dict[int, type] = {}
        self._errors: list[Callable[[Any], None]] = []

    def number(self, obj: Any) -> int:
        """0 for what is not lent."""
        number = self._numbers.get(id(obj), 0)
        return number if number and self._alive[number]() is obj else 0

    def take_dropped(self) -> list[list[int]]:
        taken, self._dropped = self._dropped, []
        return taken

    def adopt(self, node: Node, get: Get) -> Any:
        if node[0] == "std":
            module, _, name = node[1].rpartition(":")
            found = import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
            return found
        number = node[1]
        self._received[number] = self._received.get(number, 0) + 1
        known = self._alive.get(number)
        obj = known() if known else None
        if obj is None:
            obj = self._make(node, get)
            self._keep(number, obj)
        return obj

    def _keep(self, number: int, obj: Any) -> None:
        place = id(obj)

        def gone(_: Any) -> None:
            self._numbers.pop(place, None)
            self._alive.pop(number, None)
            self._dropped.append([number, self._received.pop(number, 0)])

        self._numbers[place] = number
        if type(obj).__flags__ & HEAP_TYPE or not isinstance(obj, BaseException):
            self._alive[number] = weakref.ref(obj, gone)
            return
        self._alive[number] = lambda: obj  # no weak reference to a built-in exception
        self._errors.append(gone)
        if len(self._errors) > ERRORS_MAX:
            self._errors.pop(0)(None)

    def _make(self, node: Node, get: Get) -> Any:
        return {"kf": self._function, "kc": self._class, "ko": self._object, "kx": self._exception,
                "ki": self._iterator, "ka": self._coroutine}[node[0]](node, get)

    def _iterator(self, node: Node, _: Get) -> LentIterator:
        return LentIterator(self._ask, node[1])

    def _coroutine(self, node: Node, _: Get) -> Any:
        async def lent() -> Any:
            return self._ask("call", node[1])

        return lent()

    def _function(self, node: Node, get: Get) -> Callable[..., Any]:
        number, about = node[1], node[2]
        defaults = [get(value) for value in about["defaults"]]
        scope: dict[str, Any] = {f"_default{i}": value for i, value in enumerate(defaults)}
        scope["_absent"] = absent = object()

        def call(args: tuple, kwargs: dict) -> Any:
            given = {name: value for name, value in kwargs.items() if value is not absent}
            return self._ask("call", number, "", args, given)

        scope["_call"] = call
        exec(_source(about), scope)
        function = scope["_lent"]
        function.__name__, function.__qualname__ = about["name"], about["qualname"]
        function.__doc__, function.__module__ = about["doc"], about["module"]
        function.__annotations__ = {name: get(value) for name, value in about["annotations"]}
        return function

    def _class(self, node: Node, get: Get) -> type:
        number, about = node[1], node[2]
        if number in self._classes:
            return self._classes[number]
        error = get(about["error"])
        bases = (error,) if error else (Lent,)
        space: dict[str, Any] = {"__module__": about["module"], "_lent_number": number}
        if not error:
            space["_lent_ask"] = staticmethod(self._ask)
            space.update((name, _operator(name)) for name in about["operators"])
            if about["hash"] == "none":
                space["__hash__"] = None
        cls = type(bases[0])(about["name"], bases, space)
        self._classes[number] = cls
        return cls

    def _object(self, node: Node, get: Get) -> Lent:
        obj = object.__new__(self._class(node[2], get))
        object.__setattr__(obj, "_lent_number", node[1])
        object.__setattr__(obj, "_lent_hash", node[3])
        return obj

    def _exception(self, node: Node, get: Get) -> BaseException:
        cls = get(node[2])
        args = [get(value) for value in node[3]]
        try:
            error = cls(*args)
        except Exception:
            error = cls.__new__(cls)
        error.args = tuple(args)
        return error


def _source(about: dict) -> str:
    """The text of a function with these parameters, which passes them on: those with a default
    by name, if it can, because a default may be known to the other side only."""
    parts: dict[str, list[str]] = {"parameters": [], "positional": [], "named": []}
    kinds = [kind for _, kind, _ in about["parameters"]]
    values = iter(range(len(about["defaults"])))
    for place, (name, kind, default) in enumerate(about["parameters"]):
        if kind == "named" and not {"named", "args"} & set(kinds[:place]):
            parts["parameters"].append("*")
        star = {"args": "*", "kwargs": "**"}.get(kind, "")
        equals = {"value": f"=_default{next(values)}" if default == "value" else "",
                  "absent": "=_absent", "": ""}[default]
        parts["parameters"].append(f"{star}{name}{equals}")
        if kind == "kwargs":
            parts["named"].append(f"**{name}")
        elif kind == "named" or kind == "either" and default and "args" not in kinds:
            parts["named"].append(f"'{name}': {name}")
        else:
            parts["positional"].append(f"{star}{name}")
        if kind == "positional" and kinds[place + 1:place + 2] != ["positional"]:
            parts["parameters"].append("/")
    return FUNCTION.format(
        head="async " if about["async"] else "", name="_lent",
        parameters=", ".join(parts["parameters"]), named=", ".join(parts["named"]),
        positional="".join(f"{part}, " for part in parts["positional"]))
