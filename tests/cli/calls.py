# SPDX-License-Identifier: Apache-2.0
"""Calling glovebox the way a shell does, for tests that start no box."""
import os
import subprocess

from lib import place as places

KEPT = ("PATH", "HOME", "TMPDIR", "GLOVEBOX_RUN_DIR", "GLOVEBOX_UID_BASE", "ASAN_OPTIONS",
        "UBSAN_OPTIONS")


def environment(place, **more):
    """Nothing of the caller's but what the build and the place need; None removes a name."""
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env["GLOVEBOX_STATE_DIR"] = str(place.base / "state")
    env["CONFIGURATION_DIRECTORY"] = str(place.base / "system")
    env.update(more)
    return {name: value for name, value in env.items() if value is not None}


def call(place, *words, stdin=b"", env=None, **popen):
    """Runs glovebox in the place's working directory; words may be bytes."""
    popen.setdefault("cwd", place.cwd)
    return subprocess.run(
        [os.fsencode(places.binary()), *(os.fsencode(word) for word in words)],
        input=stdin, capture_output=True, timeout=60, env=env or environment(place), **popen)


def refused(answer, *parts, code=2):
    """One clear line, perhaps a second with the remedy, and no output."""
    text = answer.stderr.decode()
    lines = text.splitlines()
    assert answer.returncode == code, answer
    assert answer.stdout == b""
    assert 1 <= len(lines) <= 2, text
    assert lines[0].startswith("glovebox: ")
    assert len(lines) == 1 or lines[1].startswith("  remedy: ")
    assert all(ord(char) >= 32 and char != "\x7f" for line in lines for char in line), text
    for part in parts:
        assert part in text, text
    return text
