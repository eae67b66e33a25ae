# SPDX-License-Identifier: Apache-2.0
"""In the box of the tests: nodes from the tested code become proxies, every field checked first."""
from __future__ import annotations

from types import ModuleType
from weakref import WeakKeyDictionary, WeakValueDictionary

from .lent import Lending
from .proxies import (PLAIN_TYPES, Remote, RemoteClass, RemoteEnum, RemoteError, RemoteMethod,
                      RemoteValue, local_coroutine, local_generator, make_class)
from .values import OPERATORS, Codec
from .wire import require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .values import Get, Node, Ref, Value

NAME_MAX = 200
TEXT_MAX = 20000
ABOUT_TEXT = ("name", "module", "kind", "hash")
ABOUT_LISTS = ("bases", "operators", "abcs")
ABOUT_MAX = 200

LOCAL = {"generator": local_generator, "coroutine": local_coroutine}


def is_text(value: Any, limit: int) -> bool:
    return type(value) is str and len(value) <= limit


def _is_list(value: Any, limit: int) -> bool:
    return type(value) is list and len(value) <= limit


class TestCodec(Codec):
    """Proxies come in, lent objects go out."""

    def __init__(self, peer: Any, lending: Lending) -> None:
        super().__init__(first_twin=1, step=1)
        self._peer, self._lending = peer, lending
        self._proxies: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._classes: dict[int, RemoteClass] = {}
        self._members: dict[int, Any] = {}
        self._behind: WeakKeyDictionary[Any, Remote] = WeakKeyDictionary()  # of a local generator

    def foreign(self, obj: Any, ref: Ref) -> Node:
        if isinstance(obj, RemoteMethod):
            return ["HM", ref(obj.__self__), obj.__name__]
        obj = self._handle(obj)
        if isinstance(obj, (Remote, RemoteClass)):
            return ["H", obj._judge_number_]
        if isinstance(obj, ModuleType) and hasattr(type(obj), "_judge_module_"):
            return ["H", obj._judge_number_]
        return self._lending.node(obj, ref)

    def adopt(self, node: Node, get: Get) -> Any:
        make = self._MAKERS.get(node[0])
        require(make and len(node) > 1 and type(node[1]) is int, "an unknown node")
        known = None
        if node[0] not in ("C", "k"):  # those have numbers, or tables, of their own
            known = self._members.get(node[1], self._proxies.get(node[1]))
        if known is None:
            return make(self, node, get)
        handle = self._handle(known)
        object.__setattr__(handle, "_judge_count_", handle._judge_count_ + 1)
        return known

    def _handle(self, obj: Any) -> Any:
        """Of a generator or coroutine that stands for one over there: what it stands for."""
        return self._behind.get(obj, obj) if type(obj).__name__ in LOCAL else obj

    def _returned(self, node: Node, _: Get) -> Any:
        return self._lending.get(node[1])

    def _class(self, node: Node, get: Get) -> RemoteClass:
        number = node[1]
        if len(node) == 2:
            require(number in self._classes, "an unknown class")
            return self._classes[number]
        about = node[2]
        _check_class(about)
        bases = [get(base) for base in about["bases"]]
        require(all(isinstance(base, type) for base in bases), "a base that is no class")
        cls = self._classes[number] = make_class(self._peer, number, about, bases)
        return cls

    def _object(self, node: Node, get: Get) -> Any:
        require(len(node) == 4 and type(node[3]) in (int, type(None)), "a strange object")
        cls = _class_of(node[2], get, Remote)
        require(not issubclass(cls, (BaseException, *PLAIN_TYPES)), "an object of a strange class")
        proxy = handle = object.__new__(cls)
        _init(handle, node[1])
        if node[3] is not None:
            object.__setattr__(handle, "_judge_hash_", hash(node[3]))
        if cls.__name__ in LOCAL and cls.__module__ == "builtins":
            proxy = LOCAL[cls.__name__](handle)
            self._behind[proxy] = handle
        self._proxies[node[1]] = proxy
        return proxy

    def _member(self, node: Node, get: Get) -> Any:
        require(len(node) == 5, "a strange member")
        cls = _class_of(node[2], get, RemoteEnum)
        require(node[3] is None or is_text(node[3], NAME_MAX), "a strange name")
        value = get(node[4])
        base = getattr(cls, "_judge_base_", None)
        require(base is None or type(value) is base, "a member without its value")
        member = base.__new__(cls, value) if base else object.__new__(cls)
        _init(member, node[1])
        object.__setattr__(member, "name", node[3])
        object.__setattr__(member, "value", value)
        self._members[node[1]] = member
        return member

    def _valued(self, node: Node, get: Get) -> Any:
        require(len(node) == 4, "a strange value")
        cls = _class_of(node[2], get, RemoteValue)
        value = get(node[3])
        require(type(value) is cls._judge_base_, "a value of another type")
        obj = cls._judge_base_.__new__(cls, value)
        _init(obj, node[1])
        return obj

    def _exception(self, node: Node, get: Get) -> BaseException:
        require(len(node) == 8, "a strange exception")
        number, cls, args, text, trace, cause, fields = node[1:]
        require(is_text(text, TEXT_MAX) and is_text(trace, TEXT_MAX), "a strange text")
        require(_is_list(args, ABOUT_MAX) and _is_list(fields, ABOUT_MAX), "strange arguments")
        cls = _class_of(cls, get, BaseException)
        error = _new_error(cls, tuple(get(arg) for arg in args))
        if isinstance(error, RemoteError):
            _init(error, number)
            object.__setattr__(error, "_judge_text_", text)
            self._proxies[number] = error
        else:
            self._peer.drops.append([number, 1])
            _set_fields(error, fields, get)
        object.__setattr__(error, "_judge_trace_", trace)
        cause = get(cause)
        require(cause is None or isinstance(cause, BaseException), "a strange cause")
        error.__cause__ = cause
        return error

    _MAKERS = {"C": _class, "h": _object, "x": _exception, "e": _member, "w": _valued,
               "k": _returned}


def _check_class(about: Any) -> None:
    require(type(about) is dict, "a strange class")
    require(all(is_text(about.get(key), NAME_MAX) for key in ABOUT_TEXT), "a strange class")
    require(all(_is_list(about.get(key), ABOUT_MAX) for key in ABOUT_LISTS), "a strange class")
    names = [*about["operators"], *about["abcs"]]
    require(all(is_text(name, NAME_MAX) for name in names), "a strange operator")
    require(OPERATORS.issuperset(about["operators"]), "an unknown operator")
    require("\0" not in about["name"] and about["name"], "a strange name")


def _class_of(value: Value, get: Get, kind: type) -> Any:
    cls = get(value)
    require(isinstance(cls, type) and issubclass(cls, kind), "an object of a strange class")
    return cls


def _init(handle: Any, number: int) -> None:
    object.__setattr__(handle, "_judge_number_", number)
    object.__setattr__(handle, "_judge_count_", 1)


def _new_error(cls: type, args: tuple) -> BaseException:
    """Built-in ones are called, for they set attributes from their arguments (errno, start, …)."""
    if isinstance(cls, RemoteClass):
        base = next(base for base in cls.__mro__
                    if not isinstance(base, RemoteClass) and issubclass(base, BaseException))
        error = base.__new__(cls, *args)
    else:
        try:
            error = cls(*args)
        except Exception:
            error = cls.__new__(cls)
    if type(error) is not cls:
        error = cls.__new__(cls)
    error.args = args if not isinstance(error, OSError) else error.args
    return error


def _set_fields(error: BaseException, fields: list, get: Get) -> None:
    for field in fields:
        require(_is_list(field, 2) and len(field) == 2 and is_text(field[0], NAME_MAX),
                "a strange field")
        if not field[0].startswith("_"):
            vars(error)[field[0]] = get(field[1])
