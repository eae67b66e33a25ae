# SPDX-License-Identifier: Apache-2.0
"""Where a test works.

Two tests run at once, and so may two suites on one machine.  What a test causes can be told from
what others do because every test has a run directory of its own, from which glovebox derives the
names of its groups, and every process of pytest has user ids of its own.
"""
import contextlib
import os
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

UID_FIRST = 0x40000000
UID_SPAN = 0x10000


def binary():
    """The program under test."""
    named = os.environ.get("GLOVEBOX_BIN") or os.environ.get("GLOVEBOX")
    if named:
        return Path(named).resolve()
    build = Path(os.environ.get("GLOVEBOX_BUILD", ROOT / "build"))
    for candidate in (build / "glovebox", build / "src" / "glovebox"):
        if candidate.exists():
            return candidate.resolve()
    return build / "glovebox"


def uid_base():
    """First of the user ids that boxes of this process of pytest get."""
    return UID_FIRST + (os.getpid() % 4096) * UID_SPAN


class Place:
    """A directory of one test: `run` for glovebox, `tmp` for TMPDIR, `cwd` to work in."""

    def __init__(self, base):
        self.base = Path(base)
        self.run = self.base / "run"
        self.tmp = self.base / "tmp"
        self.cwd = self.base / "cwd"
        self.home = self.base / "home"
        for folder in (self.run, self.tmp, self.cwd, self.home):
            folder.mkdir()

    def give_to(self, user):
        """All of it belongs to an ordinary user, so that it can work here as root does."""
        self._chown(user.uid, user.gid)

    def take_back(self):
        self._chown(0, 0)

    def _chown(self, uid, gid):
        for folder, names, files in os.walk(self.base):
            for path in [folder] + [os.path.join(folder, name) for name in names + files]:
                os.chown(path, uid, gid, follow_symlinks=False)

    def environment(self):
        return {
            "GLOVEBOX_RUN_DIR": str(self.run),
            "GLOVEBOX_UID_BASE": str(uid_base()),
            "TMPDIR": str(self.tmp),
            "HOME": str(self.home),
        }

    def apart(self):
        """The same for tasks, which are none of those that this machine's user has."""
        return {**self.environment(), "GLOVEBOX_STATE_DIR": str(self.base / "state")}


@contextlib.contextmanager
def fresh():
    """A Place in the environment of this process; afterwards both are as before."""
    base = tempfile.mkdtemp(prefix="gbtest-", dir="/tmp")
    os.chmod(base, 0o711)
    here = Place(base)
    added = here.environment()
    saved = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield here
    finally:
        for name, value in saved.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        shutil.rmtree(base)
