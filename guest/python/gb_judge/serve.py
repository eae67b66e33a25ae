# SPDX-License-Identifier: Apache-2.0
"""The box of the tested code: does what it is asked and tells what came of it.

It shares its process with the tested code, which can therefore make it say anything.  That is
no harm: nothing about the tests is here, and all it can lie about is what the code returns.
"""
from __future__ import annotations

import io
import os
import sys
from functools import partial
from importlib import import_module

from .borrowed import Borrowed
from .echo import Echo
from .values import KINDS, OPERATORS, Codec, name_of_class
from .wire import Interruption, Link, Lost, check_depth
from .workspace import Workspace, link_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .values import Node, Ref, Value
    from .wire import Channel, Message

TEXT_MAX = 20000
TRACE_FRAMES = 4
RECURSION_LEAST, FRAMES = 1000, 10

# Immutable built-ins: an object of a class derived from one of them crosses with its plain value.
PLAIN_VALUE: dict[type, Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__float__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda b: bytes(memoryview(b)),
    tuple: lambda t: tuple(tuple.__iter__(t)),
    frozenset: lambda s: frozenset(frozenset.__iter__(s)),
}


class Handles:
    """Objects that stay here, by number, with how often the number was sent."""

    def __init__(self) -> None:
        self._entries: dict[int, list] = {}
        self._numbers: dict[int, int] = {}
        self._next = 1

    def give(self, obj: Any) -> int:
        number = self._numbers.get(id(obj))
        if number is None:
            number, self._next = self._next, self._next + 1
            self._numbers[id(obj)] = number
            self._entries[number] = [obj, 0]
        self._entries[number][1] += 1
        return number

    def get(self, number: int) -> Any:
        return self._entries[number][0]

    def drop(self, number: int, count: int) -> None:
        entry = self._entries[number]
        entry[1] -= count
        if entry[1] <= 0:
            del self._entries[number]
            del self._numbers[id(entry[0])]


def _trace(error: BaseException, code: str) -> str:
    """Where in the tested code it happened, innermost last."""
    places = []
    step = error.__traceback__
    while step:
        name = step.tb_frame.f_code.co_filename
        if name.startswith(code):
            places.append(f"{name[len(code):].lstrip('/')}:{step.tb_lineno} "
                          f"in {step.tb_frame.f_code.co_name}")
        step = step.tb_next
    return " > ".join(places[-TRACE_FRAMES:])


def _operators(cls: type) -> list[str]:
    """Its special methods; not those of a built-in whose value crosses."""
    found = set()
    for base in cls.__mro__:
        if base is not object and base not in PLAIN_VALUE:
            found.update(OPERATORS.intersection(vars(base)))
    return sorted(name for name in found if getattr(cls, name, None) is not None)


def _kind(cls: type) -> str:
    """What a test's side must know of a class beside its operators."""
    enum = sys.modules.get("enum")
    if enum and issubclass(cls, enum.Enum):
        return "enum"
    return "data" if any(base in KINDS for base in cls.__mro__) else ""


def _hash_kind(cls: type) -> str:
    if cls.__hash__ is None:
        return "none"
    return "identity" if cls.__hash__ is object.__hash__ else "own"


class _Described:
    """The class of an object that stays here: told in full, also when it has a name that the other
    side knows (a map, an object())."""

    def __init__(self, cls: type) -> None:
        self.cls = cls


class ServerCodec(Codec):
    """Handles go out, borrowed objects of the tests come in."""

    def __init__(self, code: str) -> None:
        super().__init__(first_twin=-1, step=-1)
        self.code = code
        self.handles = Handles()
        self._told: dict[int, type] = {}
        self._described: dict[type, _Described] = {}
        self.borrowed: Any = None

    def foreign(self, obj: Any, ref: Ref) -> Node:
        lent = self.borrowed.number(obj)
        if lent:
            return ["k", lent]
        cls = type(obj)
        if cls is _Described:
            return self._class_node(obj.cls, ref)
        if issubclass(cls, type):
            return self._class_node(obj, ref)
        number = self.handles.give(obj)
        if issubclass(cls, BaseException):
            return self._exception_node(number, obj, ref)
        if _kind(cls) == "enum":
            name = obj._name_ if type(obj._name_) is str else None
            return ["e", number, ref(cls), name, ref(self._plain(obj._value_))]
        for base, value in PLAIN_VALUE.items():
            if issubclass(cls, base):
                return ["w", number, ref(cls), ref(value(obj))]
        return ["h", number, ref(self._described.setdefault(cls, _Described(cls))), self._hash(obj)]

    def adopt(self, node: Node, get: Callable[[Value], Any]) -> Any:
        if node[0] == "H":
            return self.handles.get(node[1])
        if node[0] == "HM":
            return getattr(get(node[1]), node[2])
        return self.borrowed.adopt(node, get)

    @staticmethod
    def _plain(value: Any) -> Any:
        for base, plain in PLAIN_VALUE.items():
            if isinstance(value, base) and type(value) is not bool:
                return plain(value)
        return value

    @staticmethod
    def _hash(obj: Any) -> int | None:
        if _hash_kind(type(obj)) != "own":
            return None
        try:
            return int.__index__(hash(obj))
        except Exception:
            return None

    def _class_node(self, cls: type, ref: Ref) -> Node:
        number = self.handles.give(cls)
        if number in self._told:
            return ["C", number]
        self._told[number] = cls
        return ["C", number, {
            "name": str(cls.__name__)[:200],
            "module": str(cls.__module__)[:200],
            "bases": [ref(base) for base in cls.__bases__],
            "operators": _operators(cls),
            "kind": _kind(cls),
            "hash": _hash_kind(cls),
            "abcs": [base.__name__ for base in cls.__mro__ if base.__module__ == "collections.abc"],
        }]

    def _exception_node(self, number: int, error: BaseException, ref: Ref) -> Node:
        args = error.args if type(error.args) is tuple else ()
        if isinstance(error, OSError) and error.filename is not None:
            args = (error.errno, error.strerror, error.filename)
        try:
            text = str(error)[:TEXT_MAX]
        except Exception:
            text = ""
        fields = vars(error) if name_of_class(type(error)) else {}
        return ["x", number, ref(type(error)), [ref(arg) for arg in args], text,
                _trace(error, self.code), ref(error.__cause__),
                [[str(name), ref(value)] for name, value in list(fields.items())[:50]]]


class _Input(io.TextIOBase):
    """The test's standard input, asked for by line."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def readable(self) -> bool:
        return True

    def readline(self, size: int = -1) -> str:
        return self._ask("stdin", 0, "readline", (size,))

    def read(self, size: int = -1) -> str:
        return self._ask("stdin", 0, "read", (size,))


class Server:
    def __init__(self, channel: Channel, code: str, inputs: list[str]) -> None:
        self.echo = Echo()
        self.codec = ServerCodec(code)
        self.link = Link(channel, self._serve, self._prepare, step=-1)
        self.codec.borrowed = Borrowed(self.ask)
        self.workspace: Workspace | None = None
        self._code = code
        self._inputs = inputs
        self._awaiting: Any = None
        self._nested = 0

    def run(self) -> None:
        """Until the line ends.  Returns, whatever state the code has left."""
        sys.stdin = _Input(self.ask)
        try:
            self.link.serve_forever()
        except Lost:
            pass

    def ask(self, do: str, number: int, name: str = "", args: tuple = (),
            kwargs: dict | None = None) -> Any:
        """A question to the tests: call a callback, read an attribute of a lent object."""
        kwargs = kwargs or {}

        def pack() -> Message:
            message = self._pack([*args, *kwargs.values()])
            message.update(do=do, n=number, name=name, kw=list(kwargs))
            return message

        answer = self.link.ask(pack)
        if "error" in answer:
            raise answer["values"][0]
        return answer["values"][0]

    def _serve(self, question: Message) -> Callable[[], Message]:
        self._nested += 1
        self._make_room()
        try:
            check_depth(question)
            result = OPERATIONS[question["do"]](self, question)
        except Interruption:
            raise
        except BaseException as error:
            return partial(self._answer, {"error": 1}, error)
        finally:
            self._nested -= 1
        return partial(self._answer, {}, result)

    def _make_room(self) -> None:
        """The frames of a call within a callback within a call are not the code's."""
        wanted = RECURSION_LEAST + FRAMES * self._nested
        if self._nested > 1 and sys.getrecursionlimit() < wanted:
            sys.setrecursionlimit(wanted)

    def _answer(self, message: Message, result: Any) -> Message:
        if isinstance(result, _Method):
            message["method"], result = 1, None
        noted = self.echo.take_warnings()
        message.update(self._pack([result, *(category for category, _ in noted)]))
        if noted:
            message["warnings"] = [text for _, text in noted]
        if self.link.is_busy_elsewhere():
            message["bg"] = 1
        return message

    def _pack(self, values: list) -> Message:
        self.codec.give_twins = not self.link.threaded
        packed, heap = self.codec.pack(values)
        message = self.echo.take()
        message["v"], message["heap"] = packed, heap
        dropped = self.codec.borrowed.take_dropped()
        if dropped:
            message["drop"] = dropped
        files = self.workspace.changes() if self.workspace else []
        if files:
            message["files"] = files
        return message

    def _prepare(self, message: Message) -> None:
        if "root" in message:
            self._settle(message["root"])
        if "files" in message:
            self.workspace.apply(message["files"])
        if "cwd" in message:
            os.chdir(message["cwd"])
        for name, value in message.get("env", {}).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if "argv" in message:
            sys.argv[:] = message["argv"]
        for number, count in message.get("drop", ()):
            self.codec.handles.drop(number, count)
        for number in message.get("forget", ()):
            self.codec.twins.forget(number)
        message["values"] = self.codec.unpack(message.get("v", []), message.get("heap", []))

    def _settle(self, root: str) -> None:
        """The directory that both sides seem to share becomes the working directory."""
        os.makedirs(root, exist_ok=True)
        os.chdir(root)
        link_inputs(root, self._inputs)
        self.workspace = Workspace(root)
        self.workspace.watch()
        tempfile = sys.modules.get("tempfile")
        if tempfile:
            tempfile.tempdir = root
        os.environ["TMPDIR"] = root

    # Operations: what a test's proxies ask for.
    def _object(self, question: Message) -> Any:
        return self.codec.handles.get(question["n"])

    def _arguments(self, question: Message) -> tuple[list, dict]:
        values, names = question["values"], question.get("kw", ())
        split = len(values) - len(names)
        return values[:split], dict(zip(names, values[split:]))

    def _import(self, question: Message) -> Any:
        name = question["name"]
        _make_room(name, self._code)
        module = import_module(name)
        self.echo.take_warnings()
        public = getattr(module, "__all__", None)
        if public is None:
            public = [known for known in vars(module) if not known.startswith("_")]
        return [self.codec.handles.give(module), hasattr(module, "__path__"), list(public)]

    def _get(self, question: Message) -> Any:
        obj, name = self._object(question), question["name"]
        found = getattr(obj, name)
        if type(found) in BOUND and found.__self__ is obj and type(obj) not in (type, type(sys)):
            return _Method()
        return found

    def _set(self, question: Message) -> None:
        setattr(self._object(question), question["name"], question["values"][0])

    def _delete(self, question: Message) -> None:
        delattr(self._object(question), question["name"])

    def _call(self, question: Message) -> Any:
        args, kwargs = self._arguments(question)
        return self._object(question)(*args, **kwargs)

    def _method(self, question: Message) -> Any:
        args, kwargs = self._arguments(question)
        return getattr(self._object(question), question["name"])(*args, **kwargs)

    def _operator(self, question: Message) -> Any:
        obj = self._object(question)
        return getattr(type(obj), question["name"])(obj, *question["values"])

    def _equals(self, question: Message) -> bool:
        return bool(self._object(question) == question["values"][0])

    def _data(self, question: Message) -> Any:
        """The plain contents of a list, dict, … of the code's own class."""
        obj = self._object(question)
        for cls in type(obj).__mro__:
            if cls in KINDS:
                plain = cls()
                fill = getattr(cls, "extend", None) or cls.update
                fill(plain, dict(dict.items(obj)) if isinstance(obj, dict) else cls.__iter__(obj))
                return plain
        raise TypeError("no plain data")

    def _standard(self, question: Message) -> Any:
        """A function of the standard library that must look at the object itself."""
        module, _, name = question["name"].rpartition(".")
        args, kwargs = self._arguments(question)
        return getattr(import_module(module), name)(*args, **kwargs)

    def _names(self, question: Message) -> list[str]:
        return dir(self._object(question))

    def _await(self, question: Message) -> Any:
        if self._awaiting is None:
            from .awaiting import Awaiting
            self._awaiting = Awaiting()
        return self._awaiting.do(question["name"], self._object(question), *question["values"])

    def _bye(self, _: Message) -> None:
        return None


class _Method:
    """Stands for a method bound to the object that was asked: the test's side makes its own."""


BOUND = (type(Handles().give), type([].append))

OPERATIONS: dict[str, Callable[[Server, Message], Any]] = {
    "import": Server._import,
    "get": Server._get,
    "set": Server._set,
    "delete": Server._delete,
    "call": Server._call,
    "method": Server._method,
    "operator": Server._operator,
    "equals": Server._equals,
    "data": Server._data,
    "standard": Server._standard,
    "names": Server._names,
    "await": Server._await,
    "bye": Server._bye,
}


def _make_room(name: str, code: str) -> None:
    """A module of the code goes before one of the library that has the same name."""
    known = sys.modules.get(name)
    file = getattr(known, "__file__", None) or ""
    ours = os.path.join(code, *name.split("."))
    if known is not None and not file.startswith(code):
        if os.path.exists(ours + ".py") or os.path.isdir(ours):
            del sys.modules[name]
