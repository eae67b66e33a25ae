# SPDX-License-Identifier: Apache-2.0
"""Values as they cross: a flat heap of nodes, never pickle, never source text.

A message has values and a heap.  A value is a JSON scalar or [index], a reference into the heap;
a node of the heap is [tag, …] with values inside.  Nothing nests, so depth, cycles and aliases cost
nothing and the JSON reader cannot be driven into recursion.

Lists, dicts, sets and other mutable plain data have a *twin* on the other side while both know
them: whatever one side changes is told with its next message, as if both held the same object.

What is not plain data is `foreign`: each side says in its own subclass how that crosses.
"""
from __future__ import annotations

import sys
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections import Counter, OrderedDict, defaultdict, deque
from importlib import import_module
from operator import is_
from types import TracebackType

from .wire import TooLarge, Violation, require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Node = list
    Value = Any  # a JSON scalar, or [index]
    Ref = Callable[[Any], Value]
    Get = Callable[[Value], Any]

INT_MAX = 1 << 4096  # larger ones cross as hexadecimal text, which is read in linear time
TWIN_ELEMENTS_MAX = 2000  # larger containers have a twin for one call only
TWINS_MAX = 64

SCALARS = frozenset({type(None), bool, int, float, str})
QUICK = frozenset({type(None), bool, str})

# Modules of the standard library whose exceptions may be named across the link, and those of which
# any class may: plain data again.
NAMED_MODULES = frozenset(
    """abc argparse asyncio asyncio.exceptions asyncio.queues binascii builtins collections
    concurrent.futures concurrent.futures._base configparser csv _csv dataclasses datetime decimal
    email.errors enum fractions graphlib http.client io ipaddress json json.decoder numbers pathlib
    queue _queue re socket sqlite3 statistics string struct subprocess tarfile types
    urllib.error uuid xml.etree.ElementTree zipfile zlib zoneinfo zoneinfo._common""".split())

DATA_MODULES = frozenset(
    "builtins collections datetime decimal fractions ipaddress numbers pathlib uuid".split())

# Special methods that a proxy may have.  Equality and hash are each side's own affair.
OPERATORS = frozenset(f"__{name}__" for name in (
    """call len bool iter next reversed contains getitem setitem delitem missing enter exit aenter
    aexit aiter anext await lt le gt ge add radd iadd sub rsub isub mul rmul imul truediv rtruediv
    itruediv floordiv rfloordiv ifloordiv mod rmod imod pow rpow ipow divmod rdivmod matmul rmatmul
    and rand iand or ror ior xor rxor ixor lshift rlshift rshift rrshift neg pos abs invert int
    float complex index round trunc floor ceil str repr format bytes fspath length_hint""").split())

DICT_VIEWS = {"keys": type({}.keys()), "values": type({}.values()), "items": type({}.items())}
VIEW_NAMES = {view: name for name, view in DICT_VIEWS.items()}


def _text(obj: Any) -> list:
    return [str(obj)]


def _datetime_parts(obj: Any) -> list:
    return [obj.year, obj.month, obj.day, obj.hour, obj.minute, obj.second, obj.microsecond,
            obj.tzinfo, obj.fold]


def _make_datetime(cls: type, *parts: Any) -> Any:
    return cls(*parts[:8], fold=parts[8])


def _make_time(cls: type, *parts: Any) -> Any:
    return cls(*parts[:5], fold=parts[5])


def _make_pattern(_: type, pattern: Any, flags: int) -> Any:
    return import_module("re").compile(pattern, flags)


def _call(cls: type, *parts: Any) -> Any:
    return cls(*parts)


# "module.Class" -> (its parts, the object of these parts).  Parts are values themselves.
REBUILT: dict[str, tuple[Callable[[Any], list], Callable[..., Any]]] = {
    "decimal.Decimal": (_text, _call),
    "fractions.Fraction": (lambda f: [f.numerator, f.denominator], _call),
    "uuid.UUID": (_text, _call),
    "pathlib.PosixPath": (_text, _call),
    "pathlib.PurePosixPath": (_text, _call),
    "pathlib.PureWindowsPath": (_text, _call),
    "datetime.date": (lambda d: [d.year, d.month, d.day], _call),
    "datetime.time": (lambda t: [t.hour, t.minute, t.second, t.microsecond, t.tzinfo, t.fold],
                      _make_time),
    "datetime.datetime": (_datetime_parts, _make_datetime),
    "datetime.timedelta": (lambda d: [d.days, d.seconds, d.microseconds], _call),
    "datetime.timezone": (lambda z: list(z.__getinitargs__()), _call),
    "zoneinfo.ZoneInfo": (lambda z: [z.key], _call),
    "re.Pattern": (lambda p: [p.pattern, p.flags], _make_pattern),
    "ipaddress.IPv4Address": (_text, _call),
    "ipaddress.IPv6Address": (_text, _call),
    "ipaddress.IPv4Network": (_text, _call),
    "ipaddress.IPv6Network": (_text, _call),
    "builtins.range": (lambda r: [r.start, r.stop, r.step], _call),
    "builtins.slice": (lambda s: [s.start, s.stop, s.step], _call),
    "builtins.complex": (lambda c: [c.real, c.imag], _call),
}


def find_class(name: str) -> Any:
    """The class of that full name, if it is one that may be named."""
    module = name.rpartition(".")[0]
    found = _class_in(name) if module in NAMED_MODULES else None
    return found if found and _may_be_named(found, module) else None


def _class_in(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return None
    return found if isinstance(found, type) else None


def _may_be_named(cls: type, module: str) -> bool:
    return module in DATA_MODULES or BaseException in cls.__mro__


def name_of_class(cls: type) -> str | None:
    """The name under which find_class() finds this very class on the other side."""
    module, name = cls.__module__, cls.__qualname__
    if type(module) is not str or module not in NAMED_MODULES or type(name) is not str:
        return None
    known = sys.modules.get(module) if _may_be_named(cls, module) else None
    return f"{module}.{name}" if known and getattr(known, name, None) is cls else None


def _rebuilt_name(obj: Any) -> str | None:
    cls = type(obj)
    name = f"{cls.__module__}.{cls.__qualname__}".replace("pathlib._local.", "pathlib.")
    if name not in REBUILT:
        return None
    module, _, attribute = name.rpartition(".")
    return name if getattr(sys.modules.get(module), attribute, None) is cls else None


def pack_bytes(data: bytes | bytearray) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


def unpack_bytes(text: Any) -> bytes:
    require(type(text) is str, "bytes that are no text")
    try:
        return a2b_base64(text.encode("ascii"))
    except (Base64Error, UnicodeError):
        raise Violation("bytes that are no base64") from None


# Mutable plain data.  contents: the payload, refill: the other way round, photo: a shallow copy
# in which is_same() sees any change.
class _Kind:
    def __init__(self, tag: str, contents: Callable, refill: Callable, photo: Callable,
                 is_same: Callable) -> None:
        self.tag, self.contents, self.refill = tag, contents, refill
        self.photo, self.is_same = photo, is_same


def _same_items(obj: Any, photo: list) -> bool:
    return len(obj) == len(photo) and all(map(is_, obj, photo))


def _same_dict(obj: dict, photo: tuple[list, list]) -> bool:
    return _same_items(obj, photo[0]) and all(map(is_, obj.values(), photo[1]))


def _refs(items: Any, ref: Ref) -> list:
    """Values of many items; the usual list of short plain scalars is taken as it is."""
    if type(items) is list and QUICK.issuperset(map(type, items)):
        return items
    return [ref(item) for item in items]


def _gets(payload: Any, get: Get) -> list:
    require(type(payload) is list, "contents that are no list")
    if list not in set(map(type, payload)):
        require(SCALARS.issuperset(map(type, payload)), "an object among values")
        return payload
    return [get(value) for value in payload]


def _refill_list(obj: list, payload: Any, get: Get) -> None:
    obj[:] = _gets(payload, get)


def _refill_deque(obj: deque, payload: Any, get: Get) -> None:
    items = _gets(payload, get)
    obj.clear()
    obj.extend(items)


def _refill_set(obj: set, payload: Any, get: Get) -> None:
    items = _gets(payload, get)
    obj.clear()
    obj.update(items)


def _refill_dict(obj: dict, payload: Any, get: Get) -> None:
    require(type(payload) is list and len(payload) == 2, "a dict without keys and values")
    keys, values = _gets(payload[0], get), _gets(payload[1], get)
    require(len(keys) == len(values), "keys without values")
    obj.clear()
    for key, value in zip(keys, values):
        obj[key] = value


def _refill_bytearray(obj: bytearray, payload: Any, get: Get) -> None:
    obj[:] = unpack_bytes(payload)


def _dict_kind(tag: str) -> _Kind:
    return _Kind(tag, lambda d, ref: [_refs(list(d), ref), _refs(list(d.values()), ref)],
                 _refill_dict, lambda d: (list(d), list(d.values())), _same_dict)


KINDS: dict[type, _Kind] = {
    list: _Kind("l", _refs, _refill_list, list, _same_items),
    dict: _dict_kind("d"),
    set: _Kind("s", _refs, _refill_set, lambda s: (list(s), set(map(id, s))),
               lambda s, photo: set(map(id, s)) == photo[1]),
    bytearray: _Kind("a", lambda b, ref: pack_bytes(b), _refill_bytearray, bytes, bytearray.__eq__),
    OrderedDict: _dict_kind("od"),
    Counter: _dict_kind("ct"),
    defaultdict: _dict_kind("dd"),
    deque: _Kind("dq", _refs, _refill_deque, list, _same_items),
}
TAGGED = {kind.tag: cls for cls, kind in KINDS.items()}


# What sys.getrefcount() says in Twins.idle() of an object that nobody else holds.
_ALONE = [sys.getrefcount(obj) for number, obj in {1: []}.items()][0]


class Twins:
    """Mutable data that both sides hold.  Numbers given by this side have one sign."""

    def __init__(self, first: int, step: int) -> None:
        self._next, self._step = first, step
        self._objects: dict[int, Any] = {}
        self._photos: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}  # by id(); the object lives as long as its entry

    def number(self, obj: Any) -> int:
        return self._numbers.get(id(obj), 0)

    def get(self, number: int) -> Any:
        return self._objects.get(number)

    def give(self, obj: Any) -> int:
        """A number for a new one, 0 when there are enough."""
        if len(self._objects) >= TWINS_MAX:
            return 0
        number, self._next = self._next, self._next + self._step
        self.keep(number, obj)
        return number

    def keep(self, number: int, obj: Any) -> None:
        self._objects[number] = obj
        self._numbers[id(obj)] = number

    def photograph(self, number: int) -> None:
        obj = self._objects[number]
        self._photos[number] = KINDS[type(obj)].photo(obj)

    def is_changed(self, number: int) -> bool:
        obj = self._objects[number]
        if number not in self._photos:
            return True
        return not KINDS[type(obj)].is_same(obj, self._photos[number])

    def changed(self) -> list:
        return [self._objects[n] for n in self._objects if self.is_changed(n)]

    def forget(self, number: int) -> None:
        obj = self._objects.pop(number, None)
        self._photos.pop(number, None)
        self._numbers.pop(id(obj), None)

    def idle(self) -> list[int]:
        """Unchanged ones that nobody here holds but this table, and unchanged large ones."""
        return [number for number, obj in self._objects.items()
                if (sys.getrefcount(obj) <= _ALONE or len(obj) > TWIN_ELEMENTS_MAX)
                and not self.is_changed(number)]


class Codec:
    """Packs and unpacks values.  Subclasses: foreign(), adopt()."""

    def __init__(self, first_twin: int, step: int) -> None:
        self.twins = Twins(first_twin, step)
        self.give_twins = True

    def foreign(self, obj: Any, ref: Ref) -> Node:
        """The node of what is no plain data."""
        raise NotImplementedError

    def adopt(self, node: Node, get: Get) -> Any:
        """The object of a node that is no plain data."""
        raise NotImplementedError

    def pack(self, values: list) -> tuple[list, list]:
        """(values, heap).  Twins that have changed are in the heap, referred to or not."""
        heap: list = []
        places: dict[int, int] = {}
        alive: list = []  # a freed object's id() would mean another one

        def ref(obj: Any) -> Value:
            kind = type(obj)
            if kind in QUICK or (kind is int and -INT_MAX < obj < INT_MAX):
                return obj
            if kind is float and obj - obj == 0.0:
                return obj
            place = places.get(id(obj))
            if place is None:
                place = places[id(obj)] = len(heap)
                heap.append(None)
                alive.append(obj)
            return [place]

        packed = [ref(value) for value in values]
        for twin in self.twins.changed():
            ref(twin)
        done = 0
        while done < len(heap):
            heap[done] = self._node(alive[done], ref)
            done += 1
        return packed, heap

    def _node(self, obj: Any, ref: Ref) -> Node:
        cls = type(obj)
        if cls in KINDS:
            return self._mutable_node(obj, KINDS[cls], ref)
        if cls is tuple or cls is frozenset:
            return ["t" if cls is tuple else "z", _refs(list(obj), ref)]
        if cls is bytes:
            return ["b", pack_bytes(obj)]
        if cls is int:
            return ["i", hex(obj)]
        if cls is float:
            return ["f", repr(obj)]
        if obj is Ellipsis or obj is NotImplemented:
            return ["const", repr(obj)]
        if cls is TracebackType:
            return ["const", "None"]  # of use to nobody over there
        if cls in VIEW_NAMES:
            return ["view", VIEW_NAMES[cls], [ref(item) for item in obj]]
        name = _rebuilt_name(obj)
        if name:
            return ["v", name, [ref(part) for part in REBUILT[name][0](obj)]]
        if isinstance(obj, type) and name_of_class(obj):
            return ["ty", name_of_class(obj)]
        return self.foreign(obj, ref)

    def _mutable_node(self, obj: Any, kind: _Kind, ref: Ref) -> Node:
        number = self.twins.number(obj)
        if number and not self.twins.is_changed(number):
            return ["=", number]
        if not number and self.give_twins:
            number = self.twins.give(obj)
        node = [kind.tag, number, kind.contents(obj, ref)]
        if type(obj) is defaultdict:
            node.append(ref(obj.default_factory))
        elif type(obj) is deque:
            node.append(obj.maxlen)
        if number:
            self.twins.photograph(number)
        return node

    def unpack(self, values: Any, heap: Any) -> list:
        """The values.  Twins in the heap have their new contents afterwards."""
        require(type(values) is list and type(heap) is list, "values or heap that are no lists")
        return _Unpacking(self, heap).all(values)


class _Unpacking:
    """One heap being turned into objects."""

    def __init__(self, codec: Codec, heap: list) -> None:
        self.codec, self.heap = codec, heap
        self.built: dict[int, Any] = {}
        self.open: set[int] = set()

    def all(self, values: list) -> list:
        try:
            shells = [(place, node) for place, node in enumerate(self.heap) if self._is_shell(node)]
            for place, node in shells:
                self.built[place] = self._shell(node)
            for place, node in shells:
                self._fill(self.built[place], node)
            return [self.get(value) for value in values]
        except RecursionError:
            raise TooLarge("tuples nest deeper than can cross") from None
        except Exception as error:
            raise Violation(f"a value that cannot be: {str(error)[:200]}") from None

    def get(self, value: Value) -> Any:
        if type(value) is not list:
            require(type(value) in SCALARS, "an object where a value should be")
            return value
        require(len(value) == 1 and type(value[0]) is int, "a strange reference")
        place = value[0]
        require(0 <= place < len(self.heap), "a reference to nowhere")
        if place not in self.built:
            require(place not in self.open, "data that contains itself and cannot")
            self.open.add(place)
            self.built[place] = self._build(self.heap[place])
            self.open.discard(place)
        return self.built[place]

    def _is_shell(self, node: Any) -> bool:
        require(type(node) is list and node and type(node[0]) is str, "a strange node")
        return node[0] in TAGGED or node[0] == "="

    def _shell(self, node: Node) -> Any:
        number = node[1]
        require(type(number) is int, "a twin without number")
        known = self.codec.twins.get(number) if number else None
        if node[0] == "=":
            require(known is not None, "a twin that nobody knows")
            return known
        if known is not None:
            require(type(known) is TAGGED[node[0]], "a twin that became something else")
            return known
        made = self._make(node)
        if number:
            self.codec.twins.keep(number, made)
        return made

    def _make(self, node: Node) -> Any:
        cls = TAGGED[node[0]]
        if cls is defaultdict:
            factory = self.get(node[3])
            require(factory is None or callable(factory), "a factory that cannot be called")
            return defaultdict(factory)
        if cls is deque:
            return deque(maxlen=node[3])
        return cls()

    def _fill(self, obj: Any, node: Node) -> None:
        if node[0] == "=":
            return
        KINDS[type(obj)].refill(obj, node[2], self.get)
        if node[1]:
            self.codec.twins.photograph(node[1])

    def _build(self, node: Node) -> Any:
        make = _BUILDERS.get(node[0])
        return make(self, node) if make else self.codec.adopt(node, self.get)

    def _tuple(self, node: Node) -> tuple:
        return tuple(_gets(node[1], self.get))

    def _frozenset(self, node: Node) -> frozenset:
        return frozenset(_gets(node[1], self.get))

    def _bytes(self, node: Node) -> bytes:
        return unpack_bytes(node[1])

    def _int(self, node: Node) -> int:
        return int(node[1], 16)

    def _float(self, node: Node) -> float:
        require(node[1] in ("nan", "inf", "-inf"), "a strange float")
        return float(node[1])

    def _constant(self, node: Node) -> Any:
        return {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented, "None": None}[node[1]]

    def _view(self, node: Node) -> Any:
        items = _gets(node[2], self.get)
        if node[1] == "values":
            return dict(enumerate(items)).values()
        return dict.fromkeys(items).keys() if node[1] == "keys" else dict(items).items()

    def _rebuilt(self, node: Node) -> Any:
        make = REBUILT[node[1]][1]
        cls = _class_in(node[1])  # of a name in our own table
        require(cls, "a class that is not there")
        return make(cls, *_gets(node[2], self.get))

    def _class(self, node: Node) -> type:
        found = find_class(node[1]) if type(node[1]) is str else None
        require(found, "a class that may not be named")
        return found


_BUILDERS: dict[str, Callable[[_Unpacking, Node], Any]] = {
    "t": _Unpacking._tuple,
    "z": _Unpacking._frozenset,
    "b": _Unpacking._bytes,
    "i": _Unpacking._int,
    "f": _Unpacking._float,
    "const": _Unpacking._constant,
    "view": _Unpacking._view,
    "v": _Unpacking._rebuilt,
    "ty": _Unpacking._class,
}
