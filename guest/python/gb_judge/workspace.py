# SPDX-License-Identifier: Apache-2.0
"""One directory that both boxes seem to share.

Tests write files that the tested code reads, and the other way round, but each side has a file
system of its own.  Before a message leaves, what has changed below the root since the last one is
put into it.  Regular files and directories only; what comes in is written below the root, through
no symbolic link, whatever path it names.

Nothing is looked at until the first audited call that may touch a file.

The user's files lie in both boxes already and do not cross: they are links below the root.
"""
from __future__ import annotations

import os
import stat
import sys

from .values import pack_bytes, unpack_bytes
from .wire import TooLarge, require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ENTRIES_MAX = 500
BYTES_MAX = 4 << 20
BASE = os.getcwd()  # before anybody goes elsewhere

TOUCHING = frozenset(
    """open os.mkdir os.rename os.remove os.rmdir os.link os.truncate os.chmod os.chdir
    tempfile.mkstemp tempfile.mkdtemp shutil.rmtree sqlite3.connect subprocess.Popen
    os.posix_spawn os.fork""".split())
WRITING = (os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)

Stamp = tuple  # (kind, mode, size, mtime)


_linked: set[str] = set()  # links of ours, which a file of the other side may replace
_watched: list[Workspace] = []  # by the one hook of this process; hooks stay for ever


def link_inputs(root: str, inputs: list[str]) -> None:
    """The user's files, by the same names as below the directory that this box began in."""
    for path in inputs:
        link = os.path.join(root, path)
        try:
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(os.path.join(BASE, path), link)
        except OSError:
            continue  # two that cannot lie side by side: the box refused them before
        _linked.add(link)


def _hook(event: str, args: tuple) -> None:
    if event in TOUCHING and _watched and not _watched[0].touched:
        _watched[0].touched = event != "open" or _watched[0].is_ours(args[0])


class Workspace:
    def __init__(self, root: str) -> None:
        self.root = root
        self.touched = False
        self._stamps: dict[str, Stamp] = {}

    def watch(self) -> None:
        """From now on notices when files may change; another one no longer does."""
        if not _watched:
            sys.addaudithook(_hook)
        _watched[:] = [self]

    def is_ours(self, path: Any) -> bool:
        """Below the root, or relative: the root is where both work."""
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        return isinstance(path, str) and (path[:1] != "/" or path.startswith(self.root))

    def changes(self) -> list:
        """[["d", path, mode] | ["f", path, mode, data] | ["x", path]] since the last call."""
        if not self.touched:
            return []
        now = self._look()
        gone = sorted(self._stamps.keys() - now.keys(), reverse=True)
        changes: list = [["x", path] for path in gone]
        size = 0
        for path in sorted(now):
            if now[path] != self._stamps.get(path):
                changes.append(self._entry(path, now[path]))
                size += len(changes[-1][-1]) if now[path][0] == "f" else 0
                if size > BYTES_MAX:
                    raise TooLarge(f"more than {BYTES_MAX} bytes of files at once")
        self._stamps = now
        return changes

    def apply(self, changes: Any) -> None:
        """What the other side told.  Its paths are not trusted."""
        require(type(changes) is list and len(changes) <= 2 * ENTRIES_MAX, "strange files")
        if not changes:
            return
        for change in changes:
            require(type(change) is list and len(change) >= 2, "a strange file")
            self._apply_one(*change)
        self.touched = True
        self._stamps = self._look()

    def _look(self) -> dict[str, Stamp]:
        found: dict[str, Stamp] = {}
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(os.path.join(self.root, folder)))
            except OSError:
                continue
            for entry in entries:
                path = os.path.join(folder, entry.name)
                stamp = _stamp(entry)
                if stamp:
                    found[path] = stamp
                    folders += [path] if stamp[0] == "d" else []
            if len(found) > ENTRIES_MAX:
                raise TooLarge(f"more than {ENTRIES_MAX} files")
        return found

    def _entry(self, path: str, stamp: Stamp) -> list:
        if stamp[0] == "d":
            return ["d", path, stamp[1]]
        if stamp[2] > BYTES_MAX:
            raise TooLarge(f"a file of {stamp[2]} bytes")
        return ["f", path, stamp[1], pack_bytes(self._read(path))]

    def _read(self, path: str) -> bytes:
        full = os.path.join(self.root, path)
        try:
            with open(full, "rb") as file:
                return file.read(BYTES_MAX + 1)
        except OSError:
            return b""  # unreadable for its owner too: its mode says so on the other side

    def _apply_one(self, kind: Any, path: Any, mode: Any = 0, data: Any = "") -> None:
        require(type(path) is str and type(mode) is int, "a strange file")
        full = self._inside(path)
        try:
            if kind == "d":
                os.makedirs(full, exist_ok=True)
            elif kind == "f":
                self._write(full, mode & 0o777, unpack_bytes(data))
            else:
                require(kind == "x", "a strange kind of file")
                os.rmdir(full) if os.path.isdir(full) else os.unlink(full)
        except OSError:
            pass  # e.g. removed here too; the next look tells what there really is

    def _inside(self, path: str) -> str:
        parts = path.split("/")
        require("\0" not in path and not {"", ".", ".."} & set(parts), "a path that leaves")
        full = self.root
        for part in parts:
            full = os.path.join(full, part)
            if full in _linked and os.path.islink(full):
                os.unlink(full)
            require(not os.path.islink(full), "a path through a link")
        return full

    @staticmethod
    def _write(full: str, mode: int, data: bytes) -> None:
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if _holds(full, mode, data):
            return
        fd = os.open(full, WRITING, mode)
        with open(fd, "wb") as file:
            file.write(data)
            os.fchmod(fd, mode)


def _holds(full: str, mode: int, data: bytes) -> bool:
    """Is it there already?  Then its time must not change."""
    try:
        info = os.lstat(full)
        if not stat.S_ISREG(info.st_mode) or stat.S_IMODE(info.st_mode) != mode:
            return False
        with open(full, "rb") as file:
            return info.st_size == len(data) and file.read() == data
    except OSError:
        return False


def _stamp(entry: os.DirEntry) -> Stamp | None:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    mode = stat.S_IMODE(info.st_mode)
    if stat.S_ISDIR(info.st_mode):
        return ("d", mode)
    if stat.S_ISREG(info.st_mode):
        return ("f", mode, info.st_size, info.st_mtime_ns, info.st_ino)
    return None
