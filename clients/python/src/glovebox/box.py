# SPDX-License-Identifier: Apache-2.0
"""Boxes that live on: what one run leaves in its workspace, the next one finds.

    with Box.create(memory="256m", ttl=600) as box:
        box.run("open('n', 'w').write('1')")
        box.run("print(open('n').read())").stdout       # "1\\n"

A box belongs to nobody but its id: it lives until it is removed, its time to live has passed, or the
`with` block ends.  Several runs may be at work in it at once.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ContextManager, List, Mapping, Optional, Union

from . import _binary, _request
from . import _decode as d
from . import result as results
from ._binary import StrPath
from ._child import Completed, complete
from ._exec import ExecStream
from ._request import Call
from .errors import UsageError
from .result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

Code = Optional[Union[str, bytes]]


@dataclass(frozen=True)
class BoxInfo:
    """A box as `glovebox box list --json` tells it."""

    id: str = d.key(d.text)
    user: Optional[str] = d.key(d.optional(d.text))
    backend: str = d.key(d.text)
    image: str = d.key(d.text)
    workdir: str = d.key(d.text)
    created_ms: int = d.key(d.integer)
    ttl_ms: Optional[int] = d.key(d.optional(d.integer))
    ttl_left_ms: Optional[int] = d.key(d.optional(d.integer))
    runs: int = d.key(d.integer)
    memory_bytes: int = d.key(d.integer)
    cpus: float = d.key(d.number)
    pids: int = d.key(d.integer)
    disk_bytes: int = d.key(d.integer)


@dataclass(frozen=True)
class _List:
    boxes: List[BoxInfo] = d.key(d.many(d.record(BoxInfo)))


def create_words(options: "_request.CreateOptions") -> List[str]:
    _request.check_names(options, _request.CreateOptions)
    words = [_binary.find(options.get("binary")), "box", "create", "--json"]
    words += _request.option_words({name: value for name, value in options.items()
                                    if name not in _request.NOT_WORDS})
    words += _request.toolchain_words(options)
    _request.check_words(words)
    return words


def said(done: Completed) -> Completed:
    """Raises what a command that is no run failed with."""
    if done.returncode != 0:
        raise results.of_command(done)
    return done


def info_of(done: Completed) -> BoxInfo:
    return d.build(BoxInfo, d.parse(said(done).stdout))


def list_of(done: Completed) -> List[BoxInfo]:
    return d.build(_List, d.parse(said(done).stdout)).boxes


def id_of_user(user: str, boxes: List[BoxInfo]) -> Optional[str]:
    return next((info.id for info in boxes if info.user == user), None)


class BoxName:
    """The id, and the words of commands about it."""

    def __init__(self, id: str, *, binary: Optional[StrPath] = None):
        if not id or id.startswith("-") or "\0" in id:
            raise UsageError(f"{id!r} is no id of a box")
        self.id = id
        self._binary = binary

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def _call(self, code: Code, language: Optional[str], options: Mapping[str, Any],
              as_json: bool) -> ContextManager[Call]:
        _request.check_names(options, _request.InBoxOptions)
        return _request.exec_call(code, language, {**options, "binary": self._binary},
                                  as_json=as_json, known=_Known, box=self.id)

    def _remove_words(self) -> List[str]:
        return [_binary.find(self._binary), "box", "rm", self.id]


class _Known(_request.InBoxOptions, total=False):
    binary: Optional[StrPath]


class Box(BoxName):
    """A box by its id; create() makes one."""

    @classmethod
    def create(cls, **options: "Unpack[_request.CreateOptions]") -> "Box":
        """Limits and the rest as of exec(), `ttl` in seconds.  A user has one box: see of_user()."""
        done = complete(create_words(options), cwd=_request.folder(options))
        return cls(info_of(done).id, binary=options.get("binary"))

    @classmethod
    def of_user(cls, user: str, /, **options: "Unpack[_request.CreateOptions]") -> "Box":
        """The box of a user, made when there is none."""
        binary = options.get("binary")
        id = id_of_user(user, list_boxes(binary=binary))
        if id is None:
            made: _request.CreateOptions = {**options, "user": user}
            try:
                return cls.create(**made)
            except UsageError:  # somebody else was quicker, or the request is wrong
                id = id_of_user(user, list_boxes(binary=binary))
                if id is None:
                    raise
        return cls(id, binary=binary)

    def run(self, code: Code = None, language: Optional[str] = "python",
            **options: "Unpack[_request.InBoxOptions]") -> Result:
        """exec() in this box; the settings of the box hold."""
        with self._call(code, language, options, as_json=True) as call:
            return results.from_completed(complete(call.words, input=call.input))

    def stream(self, code: Code = None, language: Optional[str] = "python",
               **options: "Unpack[_request.InBoxOptions]") -> ExecStream:
        """exec_stream() in this box."""
        return ExecStream(self._call(code, language, options, as_json=False), None)

    def remove(self) -> None:
        """With everything in it; runs that are at work end."""
        said(complete(self._remove_words()))

    def __enter__(self) -> "Box":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def list_boxes(*, binary: Optional[StrPath] = None) -> List[BoxInfo]:
    """Every box of this user that lives on."""
    return list_of(complete([_binary.find(binary), "box", "list", "--json"]))
