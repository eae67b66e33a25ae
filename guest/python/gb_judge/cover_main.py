# SPDX-License-Identifier: Apache-2.0
"""Starts a program with its lines watched, and says which of its statements ran.

The program is started by its own command; each Python that comes of it finds sitecustomize.py of
this archive first, and appends to one file which lines it ran.  Its output goes nowhere: what it
prints was judged in a run that nobody watched.
"""
from __future__ import annotations

import os
import sys

from .cover import read, statements, tell
from .watch import FOLDER, RECORD

RECORD_MAX = 8 << 20


def _run(command: list[str], env: dict[str, str]) -> bool:
    """Did it end by itself?"""
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    pid = os.posix_spawnp(command[0], command, env, file_actions=nowhere)
    return os.WIFEXITED(os.waitpid(pid, 0)[1])


def _lines(record: str) -> dict[str, set[int]]:
    """By path; any process of the program may have written anything."""
    ran: dict[str, set[int]] = {}
    with open(record, encoding="utf-8", errors="surrogateescape") as file:
        for line in file.read(RECORD_MAX).split("\n"):
            path, _, numbers = line.partition("\0")
            ran.setdefault(path, set()).update(int(n) for n in numbers.split()
                                               if n.isascii() and n.isdigit() and len(n) < 10)
    return ran


def _cover(nonce: str, archive: str, names: list[str], command: list[str]) -> None:
    folder = os.getcwd()
    sources = {name: read(name) for name in names}  # as they are before it runs
    record = os.path.join(os.environ.get("TMPDIR", "/tmp"), f".{nonce}")
    os.close(os.open(record, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    path = os.pathsep.join(filter(None, (archive, os.environ.get("PYTHONPATH"))))
    ended = _run(command, {**os.environ, "PYTHONPATH": path, FOLDER: folder, RECORD: record})
    ran = _lines(record)
    if not ended or not any(ran.values()):
        sys.exit("judge_cover: the program did not say which lines ran")
    tell(2, nonce, {name: statements(text, ran.get(os.path.join(folder, name), ()))
                    for name, text in sources.items()})


def main(archive: str, argv: list[str]) -> None:
    nonce = ""
    names: list[str] = []
    command: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--nonce":
            nonce = next(words, "")
        elif word == "--file":
            names.append(next(words, ""))
        elif word == "--":
            command = list(words)
        else:
            sys.exit(f"judge_cover: unknown argument '{word}'")
    if not nonce or not command:
        sys.exit("judge_cover: --nonce NONCE or the command is missing")
    _cover(nonce, archive, names, command)
