# SPDX-License-Identifier: Apache-2.0
"""In the box of the tests: objects of the tested code, as a test sees them.

A class over there is a class here, made by RemoteClass with the same name, bases and operators, so
isinstance, except and pytest.raises work; its objects are proxies.  Whether two things are equal is
decided here wherever plain data is part of it: a proxy never equals plain data, and what the
tested code answers about itself is noted with the test (`flags`).
"""
from __future__ import annotations

import abc

from .wire import Interruption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

PLAIN_TYPES = (int, float, complex, str, bytes, tuple, frozenset)
ORDER = frozenset({"__lt__", "__le__", "__gt__", "__ge__"})
ARITHMETIC = frozenset(f"__{kind}{name}__" for kind in ("", "r", "i") for name in
                       "add sub mul truediv floordiv mod pow divmod matmul and or xor lshift "
                       "rshift".split())
# What plain data is asked for; the answer is yes or no, which a liar knows without the question.
QUESTIONS = frozenset({name for cls in (str, bytes, int, float, set) for name in dir(cls)
                       if name.startswith("is") or name.endswith("swith")}
                      | {"is_absolute", "is_finite", "is_nan", "is_signed", "is_zero"})
# Of an object that has a plain value these are answered from the value.
OF_THE_VALUE = ORDER | {f"__{name}__" for name in
                        "bool len iter contains hash int float complex index bytes".split()}
PLAIN_SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
CAUSED = (TypeError, AttributeError)  # what a wrong value of the tested code makes in a test
STATE = "_judge_"


class NeedsTogether(Interruption):
    """The test does what can only work in one process with the tested code."""


class RemoteClass(type):
    """The class of a proxy.  Attributes that start with _judge_ are ours."""

    def __new__(mcs, name: str, bases: tuple, space: dict, peer: Any = None) -> Any:
        remote = any(isinstance(base, RemoteClass) and base._judge_number_ for base in bases)
        if remote and not peer:
            raise NeedsTogether(f"the test derives '{name}' from a class of the tested code")
        return super().__new__(mcs, name, bases, space)

    def __init__(cls, name: str, bases: tuple, space: dict, peer: Any = None) -> None:
        super().__init__(name, bases, space)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._judge_peer_.ask("call", cls._judge_number_, "", args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith(STATE) or name == "__abstractmethods__":
            raise AttributeError(name)
        found = cls._judge_peer_.get(cls, name)
        if isinstance(found, RemoteEnum) and found.name != name:
            cls._judge_peer_.flag("handle_equality")  # an alias, or a name that is not its own
        return found

    def __setattr__(cls, name: str, value: Any) -> None:
        if name.startswith("__") or name.startswith(("_judge_", "_abc_")):
            super().__setattr__(name, value)
        elif _is_of_the_test(cls) and type(value) not in PLAIN_SCALARS:
            raise NeedsTogether(f"the test replaces {cls.__name__}.{name} in the tested code")
        else:
            cls._judge_peer_.ask("set", cls._judge_number_, name, (value,))

    def __delattr__(cls, name: str) -> None:
        if _is_of_the_test(cls):
            raise NeedsTogether(f"the test removes {cls.__name__}.{name} from the tested code")
        cls._judge_peer_.ask("delete", cls._judge_number_, name)

    def __iter__(cls) -> Any:
        return cls._judge_peer_.operator(cls, "__iter__")

    def __len__(cls) -> int:
        return cls._judge_peer_.operator(cls, "__len__")

    def __bool__(cls) -> bool:
        return True

    def __contains__(cls, item: Any) -> bool:
        return cls._judge_peer_.operator(cls, "__contains__", item)

    def __getitem__(cls, key: Any) -> Any:
        return cls._judge_peer_.ask("standard", 0, "operator.getitem", (cls, key))

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"

    @property
    def __doc__(cls) -> Any:
        return cls._judge_peer_.get(cls, "__doc__") if cls._judge_number_ else None


class Remote(metaclass=RemoteClass):
    """An object that stays with the tested code."""

    _judge_peer_ = None  # no annotations here: a proxy of a function has those of the function
    _judge_number_ = 0
    _judge_named_ = False
    _judge_has_data_ = False
    _judge_library_ = False  # the test reached it as `target.os`: by a name of its own, not theirs
    _judge_hash_ = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith(STATE):
            raise AttributeError(name)
        found = self._judge_peer_.get(self, name)
        if self._judge_library_ and isinstance(found, Remote):
            object.__setattr__(found, "_judge_library_", True)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            object.__setattr__(self, name, value)
            return
        if self._judge_library_:
            raise NeedsTogether(f"the test replaces '{name}' inside the tested code")
        self._judge_peer_.ask("set", self._judge_number_, name, (value,))

    def __delattr__(self, name: str) -> None:
        self._judge_peer_.ask("delete", self._judge_number_, name)

    def __dir__(self) -> list[str]:
        return self._judge_peer_.ask("names", self._judge_number_)

    def __repr__(self) -> str:
        return str(self._judge_peer_.operator(self, "__repr__"))

    def __str__(self) -> str:
        return str(self._judge_peer_.operator(self, "__str__"))

    def __eq__(self, other: Any) -> Any:
        peer = self._judge_peer_
        if peer.unpacking:
            return self is other
        if isinstance(other, Remote):
            peer.flag("handle_equality")
            return peer.ask("equals", self._judge_number_, "", (other,)) is True
        if self._judge_has_data_:
            return peer.ask("data", self._judge_number_) == other
        if isinstance(other, peer.plain_types):
            peer.flag("handle_vs_data")
            return False
        return NotImplemented

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        own = self._judge_hash_
        return hash((STATE, self._judge_number_)) if own is None else own

    def __copy__(self) -> Any:
        return self._judge_peer_.ask("standard", 0, "copy.copy", (self,))

    def __deepcopy__(self, _: dict) -> Any:
        return self._judge_peer_.ask("standard", 0, "copy.deepcopy", (self,))

    def __reduce_ex__(self, _: Any) -> Any:
        raise NeedsTogether("the test pickles an object of the tested code")

    def __del__(self) -> None:
        self._judge_peer_.dropped(self)


class RemoteError(Remote, BaseException):
    """An exception of the tested code's own class; text and arguments have come along."""

    _judge_text_ = ""

    def __str__(self) -> str:
        return self._judge_text_

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.args))})"

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "args":
            BaseException.__setattr__(self, name, value)
        else:
            Remote.__setattr__(self, name, value)


class RemoteValue(Remote):
    """An object whose class derives from an immutable built-in: it equals, sorts and hashes as
    the value that has come along does."""

    def __eq__(self, other: Any) -> Any:
        return self._judge_base_.__eq__(self, other)

    def __ne__(self, other: Any) -> Any:
        return self._judge_base_.__ne__(self, other)

    def __hash__(self) -> int:
        return self._judge_base_.__hash__(self)


class RemoteEnum(Remote):
    """A member of an enumeration: equal when class and name are, which are data."""

    name = None
    value = None

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, RemoteEnum):
            mine, theirs = (self.name, self.value), (other.name, other.value)
            return type(self) is type(other) and mine == theirs
        base = _plain_base(type(self))
        return base.__eq__(self, other) if base else NotImplemented

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        base = _plain_base(type(self))
        return base.__hash__(self) if base else hash((type(self), self.name))


class RemoteMethod:
    """A method bound to a proxy; called in one step."""

    def __init__(self, owner: Any, name: str) -> None:
        self.__self__ = owner
        self.__name__ = name
        self._judge_number_ = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner = self.__self__
        return owner._judge_peer_.ask("method", owner._judge_number_, self.__name__, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._judge_bound_(), name)

    @property
    def __doc__(self) -> Any:
        return self._judge_bound_().__doc__

    def __repr__(self) -> str:
        return f"<method {self.__name__} of {type(self.__self__).__name__}>"

    def __eq__(self, other: Any) -> bool:
        return (isinstance(other, RemoteMethod) and self.__self__ is other.__self__
                and self.__name__ == other.__name__)

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__name__))

    def _judge_bound_(self) -> Any:
        peer = self.__self__._judge_peer_
        return peer.ask("standard", 0, "builtins.getattr", (self.__self__, self.__name__))


class Steps:
    """The iterator under a generator of ours that stands for one of the tested code."""

    def __init__(self, handle: Remote) -> None:
        self._handle: Remote | None = handle

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> Any:
        return self._do("operator", "__next__")

    def send(self, value: Any) -> Any:
        return self._do("method", "send", value)

    def throw(self, *error: Any) -> Any:
        return self._do("method", "throw", error[1] if len(error) > 1 and error[1] else error[0])

    def close(self) -> None:
        """Letting go closes it: this also runs when the collector finds the generator."""
        self._handle = None

    def _do(self, do: str, name: str, *args: Any) -> Any:
        handle = self._handle
        if handle is None:
            raise StopIteration
        return handle._judge_peer_.ask(do, handle._judge_number_, name, args)


def local_generator(handle: Remote) -> Any:
    """A true generator, for inspect and isinstance."""
    return (yield from Steps(handle))


class _Awaited:
    def __init__(self, handle: Remote) -> None:
        self._handle = handle

    def __await__(self) -> Iterator[None]:
        return drive(self._handle)


async def local_coroutine(handle: Remote) -> Any:
    """A true coroutine, for asyncio.run and asyncio.gather."""
    return await _Awaited(handle)


def drive(handle: Any) -> Any:
    """Awaits over there.  After the first step others may start theirs, so that several run at
    once in the loop over there."""
    peer = handle._judge_peer_
    task = peer.ask("await", handle._judge_number_, "spawn")
    try:
        yield
        while True:
            done, result = peer.ask("await", task._judge_number_, "step")
            if done:
                return result
            yield
    except GeneratorExit:
        raise
    except BaseException:
        if not peer.link.dead:
            peer.ask("await", task._judge_number_, "cancel")
        raise


def _plain_base(cls: type) -> Any:
    return next((base for base in cls.__mro__ if base in PLAIN_TYPES), None)


def _is_of_the_test(cls: Any) -> bool:
    """Has the test reached this class by its name in a module?  What an object is called, or that
    it is a class at all, is the tested code's word: that moves no test into its process."""
    return bool(vars(cls).get("_judge_named_"))


def is_named(obj: Any) -> bool:
    """Has the test itself named the object's class, or a base of it?"""
    return any(vars(cls).get("_judge_named_") for cls in type(obj).__mro__)


def _forward(name: str) -> Callable[..., Any]:
    def forward(self: Remote, *args: Any) -> Any:
        return self._judge_peer_.operator(self, name, *args)

    return forward


def _call(self: Remote, *args: Any, **kwargs: Any) -> Any:
    return self._judge_peer_.ask("call", self._judge_number_, "", args, kwargs)


def _order(name: str) -> Callable[..., Any]:
    """Against plain data an object of a class that the test never named does not compare: it
    could claim anything.  A named class is asked, and that is noted."""
    def compare(self: Remote, other: Any) -> Any:
        peer = self._judge_peer_
        if not (is_named(self) and isinstance(other, Remote)):
            peer.flag("handle_order")
            if not isinstance(other, Remote) and not is_named(self):
                return NotImplemented
        return peer.operator(self, name, other)

    return compare


def _arithmetic(name: str) -> Callable[..., Any]:
    """`abs(mean(…) - 1.5) < 1e-9`: the object learns what is expected, and can answer anything."""
    def compute(self: Remote, *args: Any) -> Any:
        if not is_named(self) and not all(isinstance(arg, Remote) for arg in args):
            self._judge_peer_.flag("unnamed_type")
        return self._judge_peer_.operator(self, name, *args)

    return compute


def _exit(self: Remote, *error: Any) -> bool:
    return _swallowed(self, self._judge_peer_.operator(self, "__exit__", *error), error)


async def _aexit(self: Remote, *error: Any) -> bool:
    return _swallowed(self, await self._judge_peer_.operator(self, "__aexit__", *error), error)


def _swallowed(block: Remote, answer: Any, error: tuple) -> bool:
    """A `with` block of the tested code may swallow what the test raises, but no failed assert;
    swallowing what the code itself has caused skips the rest of the block, which is noted."""
    value = error[1] if len(error) == 3 else None
    swallows = bool(answer) and value is not None
    if swallows and block._judge_peer_.lending.is_failure(value):
        block._judge_peer_.lending.note_failure(value)
    elif swallows and (hasattr(value, "_judge_trace_") or isinstance(value, CAUSED)):
        block._judge_peer_.flag("swallowed")
    return swallows


def _contains(self: Remote, item: Any) -> bool:
    if not is_named(self):
        self._judge_peer_.flag("unnamed_type")
    return self._judge_peer_.operator(self, "__contains__", item) is True


SPECIAL: dict[str, Callable[..., Any]] = {
    "__call__": _call,
    "__contains__": _contains,
    "__await__": drive,
    "__exit__": _exit,
    "__aexit__": _aexit,
    **{name: _order(name) for name in ORDER},
    **{name: _arithmetic(name) for name in ARITHMETIC},
}


def _remote(name: str) -> property:
    """For what every object has here too, so that __getattr__ is not asked."""
    return property(lambda self: self._judge_peer_.get(self, name))


def make_class(peer: Any, number: int, about: dict, bases: list) -> RemoteClass:
    """The class of the tested code that `about` describes; all of it is checked already."""
    root = _root(about, bases)
    names = set(about["operators"])
    space: dict[str, Any] = {"__module__": about["module"], "__dict__": _remote("__dict__"),
                             "__doc__": _remote("__doc__"), "_judge_number_": number,
                             "_judge_peer_": peer}
    if root in (RemoteValue, RemoteEnum):
        names -= OF_THE_VALUE if any(issubclass(base, PLAIN_TYPES) for base in bases) else set()
    if root is RemoteError:
        names -= {"__str__", "__repr__"}
        del space["__dict__"]
    space.update((name, SPECIAL.get(name) or _forward(name)) for name in names)
    if about["hash"] == "none":
        space["__hash__"] = None
    if about["kind"] == "data":
        space["_judge_has_data_"] = True
    cls = _build(peer, about["name"], root, bases, space)
    _register(cls, about["abcs"])
    return cls


def _root(about: dict, bases: list) -> type:
    if any(issubclass(base, BaseException) for base in bases):
        return RemoteError
    if about["kind"] == "enum":
        return RemoteEnum
    return RemoteValue if any(issubclass(base, PLAIN_TYPES) for base in bases) else Remote


def _build(peer: Any, name: str, root: type, bases: list, space: dict) -> RemoteClass:
    kept = [base for base in bases if isinstance(base, RemoteClass)
            or issubclass(base, (BaseException, *PLAIN_TYPES))]
    plain = next((plain for base in kept for plain in base.__mro__ if plain in PLAIN_TYPES), None)
    if plain and root in (RemoteValue, RemoteEnum):
        space["_judge_base_"] = plain
    if not any(issubclass(base, root) for base in kept):
        kept.insert(0, root)
    fallback = [root, *(base for base in kept if not isinstance(base, RemoteClass))][:2]
    for tried in (kept, fallback):
        try:
            return RemoteClass(name, tuple(tried), space, peer=peer)
        except TypeError:
            continue
    return RemoteClass(name, (root,), space, peer=peer)


def _register(cls: type, names: list[str]) -> None:
    """Abstract classes of collections.abc from which it derives over there."""
    if names:
        import collections.abc
        for name in names:
            known = getattr(collections.abc, name, None)
            if isinstance(known, abc.ABCMeta):
                known.register(cls)
