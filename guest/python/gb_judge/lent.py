# SPDX-License-Identifier: Apache-2.0
"""In the box of the tests: what a test lends to the tested code, and what may be asked of it.

Functions can be called, iterators asked for their next item, objects of the test's own classes
asked for public attributes.  There is no way from any of these to the runner: no attribute that
begins with an underscore, nothing of a function but what the test hung on it, nothing inherited
from a class that the test did not write, nothing that is not on a list below.
"""
from __future__ import annotations

import os
import sys
from types import BuiltinFunctionType, CoroutineType, FunctionType, MethodType, ModuleType

from .proxies import NeedsTogether
from .values import OPERATORS, SCALARS, name_of_class
from .wire import Interruption, TooLarge, require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .values import Node, Ref

LENT_MAX = 20000
ANSWERED = OPERATORS | {"__eq__", "__repr__", "__str__"}
ABOUT_CALLABLES = frozenset({"__name__", "__qualname__", "__doc__", "__module__"})
VARARGS, VARKEYWORDS, COROUTINE = 0x04, 0x08, 0x80

FILE_NAMES = frozenset("""read readline readlines write writelines seek tell close closed flush name
    mode encoding readable writable seekable isatty truncate getvalue""".split())
LOCK_NAMES = frozenset(
    "acquire release locked wait wait_for notify notify_all set clear is_set".split())
QUEUE_NAMES = frozenset("put get put_nowait get_nowait empty full qsize task_done join".split())

# Classes of the standard library whose objects may be lent -> their usable attributes.
LENDABLE: dict[str, frozenset[str]] = {
    "_io._IOBase": FILE_NAMES,
    "_thread.lock": LOCK_NAMES,
    "_thread.RLock": LOCK_NAMES,
    "threading.Condition": LOCK_NAMES,
    "threading.Event": LOCK_NAMES,
    "threading.Semaphore": LOCK_NAMES,
    "queue.Queue": QUEUE_NAMES,
    "_queue.SimpleQueue": QUEUE_NAMES,
}


def _library(module: Any) -> bool:
    """Does this name a module of the standard library?"""
    if type(module) is not str:
        return False
    names = getattr(sys, "stdlib_module_names", None)
    if names is not None:
        return module.partition(".")[0] in names
    file = getattr(sys.modules.get(module), "__file__", None)
    home = os.path.dirname(os.__file__)
    return module in sys.builtin_module_names or bool(
        file and file.startswith(home) and "-packages" not in file)


def _standard_name(obj: Any) -> str | None:
    """"module:name" of what the standard library of the other side has too."""
    if isinstance(obj, ModuleType):
        return f"{obj.__name__}:" if _library(obj.__name__) else None
    owner = getattr(obj, "__objclass__", obj)
    module = getattr(owner, "__module__", None)
    name = getattr(obj, "__qualname__", None)
    if not _library(module) or type(name) is not str or getattr(obj, "__self__", None) is not None \
            and not isinstance(obj.__self__, ModuleType):
        return None
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is obj else None


def _local_name(name: str) -> str:
    """Which test a function belongs to is nobody's business over there."""
    return name.rpartition("<locals>.")[2]


def _parameters(function: FunctionType) -> tuple[list, list]:
    """([name, kind, default], …), and the defaults that cross; others stay on this side."""
    code = function.__code__
    names = iter(code.co_varnames)
    first_default = code.co_argcount - len(function.__defaults__ or ())
    parameters: list = []
    defaults: list = []

    def add(name: str, kind: str, has_default: bool, default: Any) -> None:
        crosses = has_default and type(default) in SCALARS
        parameters.append([name, kind, "value" if crosses else "absent" if has_default else ""])
        defaults.extend([default] if crosses else [])

    for place in range(code.co_argcount):
        kind = "positional" if place < code.co_posonlyargcount else "either"
        has = place >= first_default
        add(next(names), kind, has, function.__defaults__[place - first_default] if has else None)
    keywords = [next(names) for _ in range(code.co_kwonlyargcount)]
    if code.co_flags & VARARGS:
        add(next(names), "args", False, None)
    for name in keywords:
        known = function.__kwdefaults__ or {}
        add(name, "named", name in known, known.get(name))
    if code.co_flags & VARKEYWORDS:
        add(next(names), "kwargs", False, None)
    return parameters, defaults


def _run_coroutine(coroutine: Any) -> Any:
    """To its end, in a loop of its own: the thread's own loop may be the one that waits."""
    import asyncio
    import threading

    outcome: list = []

    def work() -> None:
        try:
            outcome.append((asyncio.run(coroutine), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if outcome[0][1] is not None:
        raise outcome[0][1]
    return outcome[0][0]


class Lending:
    def __init__(self) -> None:
        self.own_modules: set[str] = set()  # those of the tests
        self.failed_assert: BaseException | None = None
        self.refused = ""
        self._entries: dict[int, list] = {}
        self._numbers: dict[int, int] = {}
        self._next = 1

    def get(self, number: int) -> Any:
        require(number in self._entries, "an object that was never lent")
        return self._entries[number][0]

    def drop(self, number: int, count: int) -> None:
        entry = self._entries.get(number)
        require(entry is not None and 0 < count <= entry[1], "gives back what it does not have")
        entry[1] -= count
        if entry[1] == 0:
            del self._entries[number]
            del self._numbers[id(entry[0])]

    def node(self, obj: Any, ref: Ref) -> Node:
        standard = _standard_name(obj)
        if standard:
            return ["std", standard]
        for is_kind, make in self._KINDS:
            if is_kind(self, obj):
                return make(self, self._give(obj), obj, ref)
        kind = type(obj).__name__
        raise NeedsTogether(f"an object of type '{kind}' cannot cross to the tested code")

    def serve(self, do: str, number: int, name: str, args: list, kwargs: dict) -> Any:
        """Answers a question about a lent object, or one for the test's standard input."""
        require(do in self._ACTIONS, "an unknown question")
        obj = self.get(number) if do != "stdin" else sys.stdin
        try:
            return self._ACTIONS[do](self, obj, name, args, kwargs)
        except Interruption:
            raise
        except BaseException as error:
            if self.is_failure(error):
                self.note_failure(error)
            raise

    def is_failure(self, error: BaseException) -> bool:
        """Does the test fail by this?  Every failed assert, also of a module beside the tests or of
        a library; not what a test raises itself to see what the code does."""
        if hasattr(error, "_judge_assert_"):
            return True
        if not isinstance(error, AssertionError) or hasattr(error, "_judge_trace_"):
            return False
        step = error.__traceback__
        while step and step.tb_next:
            step = step.tb_next
        if step is None:
            return False
        from opcode import opmap
        frame = step.tb_frame
        asserts = opmap.get("LOAD_ASSERTION_ERROR") in frame.f_code.co_code[::2]
        return asserts or frame.f_globals.get("__name__") not in self.own_modules

    def note_failure(self, error: BaseException) -> None:
        """A failure of the test, which the tested code may swallow: it counts all the same."""
        self.failed_assert = self.failed_assert or error

    def _give(self, obj: Any) -> int:
        number = self._numbers.get(id(obj))
        if number is None:
            if len(self._entries) >= LENT_MAX:
                raise TooLarge("too many objects lent to the tested code at once")
            number, self._next = self._next, self._next + 1
            self._numbers[id(obj)] = number
            self._entries[number] = [obj, 0]
        self._entries[number][1] += 1
        return number

    # What can be lent, as nodes.
    def _is_function(self, obj: Any) -> bool:
        return type(obj) is FunctionType

    def _function(self, number: int, function: Any, ref: Ref) -> Node:
        parameters, defaults = _parameters(function)
        hints = [(name, hint) for name, hint in function.__annotations__.items()
                 if isinstance(hint, str) or isinstance(hint, type) and name_of_class(hint)]
        return ["kf", number, {
            "name": function.__name__,
            "qualname": _local_name(function.__qualname__),
            "module": "__main__",
            "doc": function.__doc__,
            "parameters": parameters,
            "defaults": [ref(value) for value in defaults],
            "annotations": [[name, ref(hint)] for name, hint in hints],
            "async": bool(function.__code__.co_flags & COROUTINE),
        }]

    def _is_error(self, obj: Any) -> bool:
        return isinstance(obj, BaseException)

    def _error(self, number: int, error: Any, ref: Ref) -> Node:
        # What a failed assert says holds expected values: those never cross.
        args = () if self.is_failure(error) else error.args
        return ["kx", number, ref(type(error)), [ref(arg) for arg in args]]

    def _is_class(self, obj: Any) -> bool:
        return isinstance(obj, type)

    def _class(self, number: int, cls: Any, ref: Ref) -> Node:
        error = next((base for base in cls.__mro__ if issubclass(base, BaseException)
                      and name_of_class(base)), None)
        operators = {name for base in cls.__mro__ if base is not object
                     for name in OPERATORS.intersection(vars(base))}
        return ["kc", number, {
            "name": cls.__name__,
            "module": "__main__",
            "operators": sorted(operators),
            "hash": "none" if cls.__hash__ is None else "",
            "error": ref(error),
        }]

    def _is_coroutine(self, obj: Any) -> bool:
        return type(obj) is CoroutineType

    def _coroutine(self, number: int, obj: Any, _: Ref) -> Node:
        return ["ka", number]

    def _is_iterator(self, obj: Any) -> bool:
        return (hasattr(type(obj), "__next__") and hasattr(type(obj), "__iter__")
                and not self._is_object(obj))

    def _iterator(self, number: int, _: Any, __: Ref) -> Node:
        return ["ki", number]

    def _is_object(self, obj: Any) -> bool:
        cls = type(obj)
        return (cls in (MethodType, BuiltinFunctionType) or self._is_mock(obj)
                or self._lendable(cls) is not None or cls.__module__ in self.own_modules
                or (callable(obj) and cls.__module__ in ("functools", "operator")))

    def _object(self, number: int, obj: Any, ref: Ref) -> Node:
        try:
            own_hash = hash(obj) if type(obj).__hash__ else None
        except TypeError:
            own_hash = None
        cls = _CallableKind if _is_bare(obj) else type(obj)
        return ["ko", number, self._class(self._give(cls), cls, ref), own_hash]

    _KINDS: list[tuple[Callable[..., bool], Callable[..., Node]]] = [
        (_is_function, _function),
        (_is_error, _error),
        (_is_class, _class),
        (_is_coroutine, _coroutine),
        (_is_iterator, _iterator),
        (_is_object, _object),
    ]

    # What can be asked.
    def _call(self, obj: Any, _: str, args: list, kwargs: dict) -> Any:
        if type(obj) is CoroutineType:
            return _run_coroutine(obj)
        result = obj(*args, **kwargs)
        return _run_coroutine(result) if type(result) is CoroutineType else result

    def _next_item(self, obj: Any, *_: Any) -> Any:
        require(self._is_iterator(obj), "the next item of something else")
        return next(obj)

    def _input(self, stream: Any, name: str, args: list, _: dict) -> Any:
        require(name in ("read", "readline") and len(args) == 1, "a strange wish for input")
        return getattr(stream, name)(*args)

    def _get(self, obj: Any, name: str, *_: Any) -> Any:
        if name in ABOUT_CALLABLES and callable(obj):
            value = getattr(obj, name)
            return _local_name(value) if isinstance(value, str) else None
        if not self._may_use(obj, name):
            raise AttributeError(f"'{type(obj).__name__}' object has no attribute '{name}'")
        return getattr(obj, name)

    def _set(self, obj: Any, name: str, args: list, _: dict) -> None:
        settable = type(obj).__module__ in self.own_modules and not isinstance(obj, type) \
            and not self._is_mock(obj) and not name.startswith("_") \
            and not callable(getattr(type(obj), name, None))
        if not settable or len(args) != 1:
            self.refused = f"the tested code sets '{name}' of what the test lent it"
            raise AttributeError(f"cannot set '{name}'")
        setattr(obj, name, args[0])

    def _operator(self, obj: Any, name: str, args: list, kwargs: dict) -> Any:
        require(name in ANSWERED, "an unknown operator")
        if name in ("__repr__", "__str__") and type(obj) in (FunctionType, MethodType):
            return f"<function {_local_name(obj.__qualname__)}>"
        return getattr(type(obj), name)(obj, *args, **kwargs)

    _ACTIONS: dict[str, Callable[..., Any]] = {
        "call": _call,
        "next": _next_item,
        "stdin": _input,
        "get": _get,
        "set": _set,
        "operator": _operator,
    }

    def _may_use(self, obj: Any, name: str) -> bool:
        if name.startswith("_"):
            return False
        if isinstance(obj, FunctionType):
            return name in obj.__dict__
        if self._is_mock(obj):
            return name not in dir(sys.modules["unittest.mock"].NonCallableMock)
        allowed = self._lendable(type(obj))
        if allowed is not None:
            return name in allowed
        classes = obj.__mro__ if isinstance(obj, type) else type(obj).__mro__
        own = [cls for cls in classes if cls.__module__ in self.own_modules]
        if not own:
            return False
        fields = getattr(obj, "__dict__", {}) if not isinstance(obj, type) else {}
        if name in fields or name in ("name", "value") and _is_enum(obj):
            return True
        return any(name in vars(cls) or "__getattr__" in vars(cls) for cls in own)

    @staticmethod
    def _is_mock(obj: Any) -> bool:
        mock = sys.modules.get("unittest.mock")
        return mock is not None and isinstance(obj, mock.NonCallableMock)

    @staticmethod
    def _lendable(cls: type) -> frozenset[str] | None:
        for base in cls.__mro__:
            found = LENDABLE.get(f"{base.__module__}.{base.__qualname__}")
            if found is not None and _library(base.__module__):
                return found
        return None


class _CallableKind:
    """Stands for the class of bound methods, partial objects and the like: they can be called."""

    def __call__(self) -> None:
        raise NotImplementedError


def _is_bare(obj: Any) -> bool:
    return type(obj) in (MethodType, BuiltinFunctionType) or type(obj).__module__ in (
        "functools", "operator")


def _is_enum(obj: Any) -> bool:
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(obj, enum.Enum)
