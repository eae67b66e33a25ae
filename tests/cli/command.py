# SPDX-License-Identifier: Apache-2.0
"""A `glovebox exec` that is watched from outside while it runs, with --json or without.

lib/box.py's Living reads the streamed output of one; here the streams are left alone, so that a
test can say what becomes of them, and the moment to act is when a program runs in the box.
"""
import contextlib
import os
import subprocess
import time

from lib import box, host

PATIENCE = 30


class Command(box.Living):
    """process, below(), glove, spawner as of a Living box; the streams are the test's."""

    def __init__(self, words, **popen):
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        base = os.path.dirname(os.environ["GLOVEBOX_RUN_DIR"])
        self.words = words
        self.start = time.monotonic()
        self.process = subprocess.Popen(words, env=box.environment(), cwd=f"{base}/cwd", **popen)

    def await_program(self, name, within=PATIENCE):
        """Until a process of that name is in the box; the process."""
        def find():
            return [p for p in self.runs if p.comm == name]

        assert host.until(lambda: find() or self.process.poll() is not None, within), name
        found = find()
        assert found, f"the command ended with {self.process.returncode} before {name} ran"
        return found[0]

    def result(self, within=PATIENCE):
        """Waits for the end."""
        out, err = self.process.communicate(timeout=within)
        seconds = time.monotonic() - self.start
        return box.Result(self.words, self.process.returncode, out or b"", err or b"", seconds, False)


@contextlib.contextmanager
def started(code=None, popen=None, **request):
    """A Command, killed at the end of the block if it has not ended."""
    running = Command(box.command(code, **request), **(popen or {}))
    try:
        yield running
    finally:
        process = running.process
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
