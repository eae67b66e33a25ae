# SPDX-License-Identifier: Apache-2.0
"""Boxes that live on: `glovebox box` as functions, and the processes behind one.

A keeper belongs to nobody: pytest adopts it, and finds it among its own children.  The directory of
boxes is the test's own: root's is the machine's, with boxes of others in it.
"""
import contextlib
import os
import subprocess
from pathlib import Path

from lib import box, host, place


def words(*rest):
    return [str(place.binary()), "box", *map(str, rest)]


def state_dir():
    return Path(os.environ["GLOVEBOX_RUN_DIR"]).parent / "home" / "state"


def environment(host_env=None):
    return {"GLOVEBOX_STATE_DIR": str(state_dir()), **(host_env or {})}


def call(*rest, host_env=None, **more):
    """Any `glovebox box …` to its end."""
    return box.run_words(words(*rest), host_env=environment(host_env), **more)


def create(*options, **more):
    """The id of a new box."""
    done = call("create", *options, **more)
    assert done.returncode == 0, done
    return done.out.decode().strip()


def listed(**more):
    done = call("list", "--json", **more)
    assert done.returncode == 0, done
    return done.document["boxes"]


def sh(name, script, *options, **more):
    """A shell script in the box; with --json."""
    return call("run", name, *options, "--json", "-l", "sh", "-c", script, **more)


@contextlib.contextmanager
def made(*options, **more):
    """The id of a box that is removed afterwards, if it is still there."""
    name = create(*options, **more)
    try:
        yield name
    finally:
        call("rm", name, **more)


@contextlib.contextmanager
def started(name, script, *options, as_user=None, host_env=None):
    """A Living run in the box: its output streams, its standard input stays open."""
    command = words("run", name, *options, "--stdin", "-l", "sh", "-c", script)
    with box.working_directory(as_user) as here:
        if as_user is not None:
            command[0] = str(as_user.binary)
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=box.environment(environment(host_env)), cwd=here, **box.credentials(as_user))
    living = box.Living(process)
    try:
        yield living
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        living.selector.close()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Kept:
    """One box in the words of a command: call("ls", "PATH") is `glovebox box ls BOX PATH`."""

    def __init__(self, name):
        self.name = name

    def call(self, command, *rest, options=(), **run):
        return call(command, *options, self.name, *rest, **run)

    def sh(self, script):
        """A script in the box, which must go well; its output."""
        done = self.call("run", "--", "sh", "-c", script)
        assert done.returncode == 0, done
        return done.out.decode()

    def json(self, command, *rest):
        done = self.call(command, *rest, options=["--json"])
        assert done.returncode == 0 and done.document is not None, done
        return done.document


@contextlib.contextmanager
def living(*options):
    """A Kept, which must be there to be removed afterwards."""
    one = Kept(create(*options))
    try:
        yield one
    finally:
        gone = one.call("rm")
        assert gone.returncode == 0, gone


def keepers():
    """The keepers there are, as processes."""
    host.reap_orphans()
    return [p for p in host.descendants(os.getpid()) if p.comm == "glovebox-keeper"]


def no_keeper(within_s=30):
    """A keeper tells the end of its box, then ends itself."""
    return host.until(lambda: not keepers(), within_s)


def parts(keeper):
    """name -> process of what belongs to one keeper: itself, guard, glove.  Nobody waits for the guard,
    which has its name when it has begun."""
    found = {"keeper": keeper}

    def is_whole():
        for process in host.descendants(keeper.pid):
            if process.comm == "glovebox-guard" and process.ppid == keeper.pid:
                found["guard"] = process
            elif process.depth > 1 and process.inner_pid == 1:
                found["glove"] = process
        return len(found) == 3

    assert host.until(is_whole, 30), found
    return found


def inside(keeper):
    """Processes in its box but the glove."""
    return [p for p in host.descendants(keeper.pid) if p.depth > 1 and p.inner_pid != 1]


def run_groups():
    """Groups of single runs in this test's boxes."""
    from lib import ledger
    found = []
    for folder in ledger.own_groups():
        with contextlib.suppress(FileNotFoundError):
            found += [f"{folder}/{name}" for name in os.listdir(folder) if name.startswith("run-")]
    return found


def directories():
    """What lies in the directory of boxes but its lock."""
    folder = state_dir() / "boxes"
    return [name for name in os.listdir(folder) if name != ".lock"] if folder.exists() else []
