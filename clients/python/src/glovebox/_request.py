# SPDX-License-Identifier: Apache-2.0
"""What a caller asks for, as words of the command line.

Texts that a program or a model wrote travel by stdin or by a file, never as an option: a code that
begins with a dash is code.  Contents of files are put into a temporary directory that only the caller
can read and that is removed with the request.
"""
from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Sequence, TypedDict, Union

from . import _binary
from ._binary import StrPath
from .errors import UsageError

Contents = Union[str, bytes, "os.PathLike[str]"]
Size = Union[int, str]
Seconds = Union[int, float, str]

# keyword -> option; of `exec`, `run` and what makes a box
OPTIONS = {
    "timeout": "--timeout",
    "cpu_time": "--cpu-time",
    "memory": "--memory",
    "cpus": "--cpus",
    "pids": "--pids",
    "disk": "--disk",
    "output_max": "--output-max",
    "workdir": "--workdir",
    "workspace": "--workspace",
    "net": "--net",
    "backend": "--backend",
    "image": "--image",
    "require": "--require",
    "allow_missing": "--allow-missing",
    "language": "--language",
    "out": "--out",
    "model": "--model",
    "base_url": "--base-url",
    "effort": "--effort",
    "candidates": "--candidates",
    "ask": "--ask",
    "max_steps": "--max-steps",
    "max_attempts": "--max-attempts",
    "max_tokens": "--max-tokens",
    "max_cost": "--max-cost",
    "max_time": "--max-time",
    "runs_dir": "--runs-dir",
    "record": "--record",
    "continue_from": "--continue",
    "user": "--user",
    "ttl": "--ttl",
}
DURATIONS = ("timeout", "cpu_time", "max_time", "ttl")
LISTS = ("require", "allow_missing")


class Call(NamedTuple):
    """Words and stdin of one command."""

    words: List[str]
    input: bytes


def duration(seconds: Seconds) -> str:
    """Numbers are seconds; texts are taken as the command takes them."""
    if isinstance(seconds, str):
        return seconds
    try:
        return f"{round(seconds * 1000)}ms"
    except (ValueError, OverflowError) as why:
        raise UsageError(f"{seconds} is no time") from why


def option_words(values: Mapping[str, object]) -> List[str]:
    """Each as one word, so that no value is taken for an option."""
    words = []
    for name, value in values.items():
        if value is None:
            continue
        if name in DURATIONS:
            value = duration(value)  # type: ignore[arg-type]
        elif name in LISTS and not isinstance(value, str):
            value = ",".join(value)  # type: ignore[arg-type]
        elif isinstance(value, os.PathLike):
            value = os.fspath(value)
        words.append(f"{OPTIONS[name]}={value}")
    return words


def as_bytes(text: Union[str, bytes]) -> bytes:
    """A text that is no UTF-8 (lone surrogates of a model's JSON) is the caller's to mend."""
    try:
        return text.encode("utf-8") if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError as why:
        raise UsageError(f"the text cannot be written as UTF-8: {why}") from why


def check_words(words: Sequence[str]) -> None:
    for word in words:
        if "\0" in word:
            raise UsageError(f"a NUL byte in {word[:60]!r}")


class Shelf:
    """Host files for what the caller gave as contents; made when the first one comes."""

    def __init__(self) -> None:
        self._folder: Optional["tempfile.TemporaryDirectory[str]"] = None
        self._n = 0

    def put(self, contents: Union[str, bytes], name: Optional[str] = None) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="glovebox-client-")
        self._n += 1
        path = Path(self._folder.name, name or f"file-{self._n}")
        path.write_bytes(as_bytes(contents))
        return str(path)

    def clear(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def _pair(left: str, right: str) -> str:
    """HOST:BOX is cut at its last colon, BOX:HOST at its first: a path in the box has none."""
    return f"{left}:{right}"


def _check_box_path(path: str) -> str:
    if not path or ":" in path:
        raise UsageError(f"{path!r} is no path of a box: it is empty or has a colon")
    return path


def host_pair(box_path: str, contents: Contents, shelf: Shelf) -> str:
    host = (shelf.put(contents) if isinstance(contents, (str, bytes))
            else os.path.abspath(os.fspath(contents)))
    return _pair(host, _check_box_path(box_path))


def file_words(files: Optional[Mapping[str, Contents]], shelf: Shelf) -> List[str]:
    return ["--file=" + host_pair(box_path, contents, shelf)
            for box_path, contents in (files or {}).items()]


def out_words(out: Optional[Mapping[str, StrPath]]) -> List[str]:
    return ["--out=" + _pair(_check_box_path(box_path), os.path.abspath(os.fspath(host)))
            for box_path, host in (out or {}).items()]


class BoxOptions(TypedDict, total=False):
    """What `exec` and `run` say of their boxes; what is left out comes from the settings.  Times are
    seconds, sizes bytes or texts such as "512m"."""

    timeout: Seconds
    cpu_time: Seconds
    memory: Size
    cpus: float
    pids: int
    disk: Size
    backend: str
    image: str
    require: Union[str, Sequence[str]]
    allow_missing: Union[str, Sequence[str]]
    toolchains: Sequence[StrPath]
    binary: Optional[StrPath]
    cwd: Optional[StrPath]


class ProgramOptions(TypedDict, total=False):
    """What a program gets, in a box of its own or in one that lives on."""

    argv: Sequence[str]
    args: Sequence[str]
    files: Mapping[str, Contents]
    out: Mapping[str, StrPath]
    stdin: Union[str, bytes, None]
    env: Mapping[str, str]
    workdir: str
    output_max: Size
    base64: bool


class ExecOptions(BoxOptions, ProgramOptions, total=False):
    """Of exec(), exec_stream() and their twins in glovebox.aio."""

    workspace: StrPath
    net: str
    packages: Sequence[str]
    npm: Sequence[str]
    auto_packages: bool


class InBoxOptions(ProgramOptions, total=False):
    """Of Box.run() and Box.stream(): limits within those of the box."""

    timeout: Seconds
    cpu_time: Seconds
    memory: Size
    pids: int


class CreateOptions(BoxOptions, total=False):
    """Of Box.create(): the limits are those of each run unless it says less."""

    user: str
    ttl: Seconds
    workdir: str
    output_max: Size
    packages: Sequence[str]
    npm: Sequence[str]
    net: str
    ports: Sequence[str]  # "[IP:]HOST:BOX"


NOT_WORDS = ("argv", "args", "files", "out", "stdin", "env", "toolchains", "packages", "npm", "auto_packages",
             "base64", "ports", "binary", "cwd")


def check_names(options: Mapping[str, object], known: type) -> None:
    """As Python does for a keyword that a function does not have."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"unexpected keyword argument '{name}'")


def folder(options: Mapping[str, Any]) -> Optional[str]:
    cwd = options.get("cwd")
    return None if cwd is None else os.fspath(cwd)


def env_words(env: Optional[Mapping[str, str]]) -> List[str]:
    """A name with = in it would set another variable than the one that was named."""
    for name in env or {}:
        if "=" in name:
            raise UsageError(f"{name!r} is no name of a variable: it has a =")
    return [f"--env={name}={value}" for name, value in (env or {}).items()]


def toolchain_words(options: Mapping[str, Any]) -> List[str]:
    return [f"--toolchain={os.path.abspath(os.fspath(tree))}"
            for tree in options.get("toolchains") or ()]


def package_words(options: Mapping[str, Any]) -> List[str]:
    words = [f"--package={name}" for name in options.get("packages") or ()]
    words += [f"--npm={name}" for name in options.get("npm") or ()]
    return words + (["--auto-packages"] if options.get("auto_packages") else [])


@contextlib.contextmanager
def exec_call(code: Optional[Union[str, bytes]], language: Optional[str],
              options: Mapping[str, Any], *, style: str = "--json", known: type = ExecOptions,
              box: Optional[str] = None) -> Iterator[Call]:
    """`glovebox exec`, or `box run` in a box that lives on, with --json or --jsonl; what it needs on
    the host lives as long as the block."""
    check_names(options, known)
    argv, stdin = options.get("argv"), options.get("stdin")
    if (code is None) == (argv is None):
        raise UsageError("say either code or argv")
    shelf = Shelf()
    try:
        command = ["exec"] if box is None else ["box", "run"]
        words = [_binary.find(options.get("binary")), *command]
        words += option_words({name: value for name, value in options.items()
                               if name not in NOT_WORDS})
        words += [style, "--color=never", *(["--base64"] if options.get("base64") else [])]
        words += file_words(options.get("files"), shelf) + out_words(options.get("out"))
        words += env_words(options.get("env"))
        words += toolchain_words(options) + package_words(options)
        words += ["--stdin"] if stdin is not None else []
        given = as_bytes(stdin) if stdin is not None else b""
        words += [box] if box is not None else []
        if code is not None:
            words += [f"--language={language}"] if language is not None else []
            words.append("-" if stdin is None else shelf.put(code, "glovebox-main"))
            given = as_bytes(code) if stdin is None else given
        tail = argv if argv is not None else options.get("args") or ()
        words += ["--", *tail] if tail or argv is not None else []
        check_words(words)
        yield Call(words, given)
    finally:
        shelf.clear()
