# SPDX-License-Identifier: Apache-2.0
"""JSON objects into dataclasses, checked.

A field made by key() says how its value is read; keys that a class does not know are passed over, as
the schema asks for.  A value of the wrong kind is a ProtocolError that names its place.
"""
from __future__ import annotations

import dataclasses
import json
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, TypeVar

from .errors import ProtocolError

T = TypeVar("T")
Reader = Callable[[Any], Any]
REQUIRED: Any = object()


class Mismatch(Exception):
    """What was wanted."""


def _plain(word: str, *kinds: type) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise Mismatch(word)
        return value
    return read


text = _plain("a string", str)
integer = _plain("an integer", int)
number = _plain("a number", int, float)
boolean = _plain("a boolean", bool)
mapping = _plain("an object", dict)
anything = _plain("anything", object)


def optional(reader: Reader) -> Reader:
    return lambda value: None if value is None else reader(value)


def either(*readers: Reader) -> Reader:
    def read(value: Any) -> Any:
        wanted = []
        for reader in readers:
            try:
                return reader(value)
            except Mismatch as why:
                wanted.append(str(why))
        raise Mismatch(" or ".join(wanted))
    return read


def many(reader: Reader) -> Reader:
    def read(value: Any) -> List[Any]:
        if not isinstance(value, list):
            raise Mismatch("an array")
        return [reader(item) for item in value]
    return read


def record(cls: Type[T]) -> Reader:
    def read(value: Any) -> T:
        return build(cls, mapping(value))
    return read


def key(reader: Reader, default: Any = REQUIRED, name: Optional[str] = None) -> Any:
    """A field of a dataclass; without a default it must be in the object."""
    told = {"reader": reader, "default": default, "name": name}
    if default is REQUIRED:
        return dataclasses.field(metadata=told)
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=type(default), metadata=told)
    return dataclasses.field(default=default, metadata=told)


def build(cls: Type[T], source: Mapping[str, Any]) -> T:
    values: Dict[str, Any] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if "reader" not in field.metadata:
            continue
        name = field.metadata["name"] or field.name
        if name not in source:
            if field.metadata["default"] is REQUIRED:
                raise ProtocolError(f"the command's answer has no '{name}'")
            continue
        try:
            values[field.name] = field.metadata["reader"](source[name])
        except Mismatch as why:
            raise ProtocolError(f"'{name}' of the command's answer is not {why}") from None
    return cls(**values)


def parse(line: bytes) -> Dict[str, Any]:
    """One JSON object."""
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as why:
        raise ProtocolError(f"the command's answer is not JSON: {line[:200]!r}") from why
    if not isinstance(value, dict):
        raise ProtocolError(f"the command's answer is no object: {line[:200]!r}")
    return value
