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
from typing import (
    TYPE_CHECKING,
    Any,
    ContextManager,
    Iterator,
    List,
    Mapping,
    Optional,
    TypeVar,
    Union,
)

from . import _binary, _look, _request
from . import _decode as d
from . import result as results
from ._binary import StrPath
from ._child import Child, Completed, Lines, complete
from ._exec import ExecStream
from ._look import FileInfo, LogPage, Order, RunInfo, Stats, said
from ._request import Call, Contents
from .errors import UsageError
from .result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Code = Optional[Union[str, bytes]]


@dataclass(frozen=True)
class BoxInfo:
    """A box as `glovebox box list --json` tells it; `runs` counts those under way."""

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
    words += _request.toolchain_words(options) + _request.package_words(options)
    words += [f"--port={port}" for port in options.get("ports") or ()]
    _request.check_words(words)
    return words


def info_of(done: Completed) -> BoxInfo:
    return d.build(BoxInfo, d.parse(said(done).stdout))


def list_of(done: Completed) -> List[BoxInfo]:
    return d.build(_List, d.parse(said(done).stdout)).boxes


def info_in(id: str, boxes: List[BoxInfo]) -> BoxInfo:
    found = [info for info in boxes if info.id.startswith(id)]
    if len(found) != 1:
        raise UsageError(f"there is no box {id}")
    return found[0]


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
              style: str = "--json") -> ContextManager[Call]:
        _request.check_names(options, _request.InBoxOptions)
        return _request.exec_call(code, language, {**options, "binary": self._binary},
                                  style=style, known=_Known, box=self.id)

    def _detached(self, code: Code, language: Optional[str],
                  options: Mapping[str, Any]) -> ContextManager[Call]:
        if options.get("stdin") is not None:
            raise UsageError("a run that nobody waits for has no stdin", "put() it into a file")
        return self._call(code, language, options, "--detach")

    def _find(self) -> str:
        return _binary.find(self._binary)

    def _remove_words(self) -> List[str]:
        return [self._find(), "box", "rm", self.id]


class _Known(_request.InBoxOptions, total=False):
    binary: Optional[StrPath]


def _do(order: "Order[T]") -> T:
    return order.read(complete(order.words))


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
        with self._call(code, language, options) as call:
            return results.from_completed(complete(call.words, input=call.input))

    def stream(self, code: Code = None, language: Optional[str] = "python",
               **options: "Unpack[_request.InBoxOptions]") -> ExecStream:
        """exec_stream() in this box."""
        return ExecStream(self._call(code, language, options, style="--jsonl"), None)

    def start(self, code: Code = None, language: Optional[str] = "python",
              **options: "Unpack[_request.InBoxOptions]") -> str:
        """run(), but nobody waits for it: the id of the run, for logs(), wait() and kill()."""
        with self._detached(code, language, options) as call:
            return _look.started_run(complete(call.words, input=call.input))

    # ---- runs ------------------------------------------------------------------------------------

    def runs(self) -> List[RunInfo]:
        """What ran in it and runs, the newest last; the last 64 are known."""
        return _do(_look.runs(self._find(), self.id))

    def logs(self, run: Optional[str] = None, cursor: int = 0) -> LogPage:
        """What a run (the newest) wrote, from a cursor on, about a megabyte at most."""
        return _do(_look.logs(self._find(), self.id, run, cursor))

    def follow(self, run: Optional[str] = None, cursor: int = 0) -> Iterator[LogPage]:
        """Pages as they come, until the run has ended."""
        lines = Lines()
        with Child(_look.follow_words(self._find(), self.id, run, cursor)) as child:
            for piece in iter(child.read, None):
                for line in lines.add(piece):
                    yield _look.page_of(line)
            said(Completed(child.wait(), b"", bytes(lines.stderr)))

    def wait(self, run: str) -> RunInfo:
        """Until it has ended, and how."""
        _do(_look.wait(self._find(), self.id, run))
        return _look.ended_run(run, self.runs())

    def kill(self, run: str, signal: Union[int, str, None] = None) -> None:
        """Ends a run and all that it started.  With a signal, its program gets that instead."""
        _do(_look.kill(self._find(), self.id, run, signal))

    def stats(self) -> Stats:
        """What it uses now."""
        return _do(_look.stats(self._find(), self.id))

    def info(self) -> BoxInfo:
        """What it is, and how long it will live."""
        return info_in(self.id, list_boxes(binary=self._binary))

    # ---- files -----------------------------------------------------------------------------------

    def put(self, files: Mapping[str, Contents]) -> None:
        """{path in the box: contents, or a Path of this machine: a file or a directory}.  Paths are
        absolute, or lie where runs begin."""
        with _look.put(self._find(), self.id, files) as order:
            _do(order)

    def get(self, path: str, host: StrPath) -> None:
        """Copies a file or a directory out, to that place."""
        _do(_look.get(self._find(), self.id, path, host))

    def read(self, path: str) -> bytes:
        """The contents of a file."""
        with _look.read(self._find(), self.id, path) as order:
            return _do(order)

    def ls(self, path: Optional[str] = None) -> List[FileInfo]:
        """What lies in a directory; without one, where runs begin."""
        return _do(_look.ls(self._find(), self.id, path))

    def stat(self, path: str) -> FileInfo:
        """What a path is, also of a link."""
        return _do(_look.stat(self._find(), self.id, path))

    def rmfile(self, *paths: str, recursive: bool = False) -> None:
        """Removes files and empty directories; with recursive, all that is in them."""
        _do(_look.rmfile(self._find(), self.id, paths, recursive))

    # ---- the end ---------------------------------------------------------------------------------

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
