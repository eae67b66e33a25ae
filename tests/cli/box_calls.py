# SPDX-License-Identifier: Apache-2.0
"""A box that lives on, for tests of the commands on it: made, used, and removed with its test."""
import contextlib
import os
from pathlib import Path

from lib import box, place as places


def state_dir():
    return Path(os.environ["GLOVEBOX_RUN_DIR"]).parent / "state"


def environment():
    return {"GLOVEBOX_STATE_DIR": str(state_dir())}


class Kept:
    """call("ls", "PATH") is `glovebox box ls BOX PATH`."""

    def __init__(self, name):
        self.name = name

    def call(self, command, *words, options=(), **run):
        return box.run_words([str(places.binary()), "box", command, *options, self.name, *map(str, words)],
                             host_env=environment(), **run)

    def sh(self, script):
        """A script in the box, which must go well; its output."""
        done = self.call("run", "--", "sh", "-c", script)
        assert done.returncode == 0, done
        return done.out.decode()

    def json(self, command, *words):
        done = self.call(command, *words, options=["--json"])
        assert done.returncode == 0 and done.document is not None, done
        return done.document


@contextlib.contextmanager
def made(*options):
    words = [str(places.binary()), "box"]
    done = box.run_words([*words, "create", *options], host_env=environment())
    assert done.returncode == 0, done
    kept = Kept(done.out.decode().strip())
    try:
        yield kept
    finally:
        gone = box.run_words([*words, "rm", kept.name], host_env=environment())
        assert gone.returncode == 0, gone
