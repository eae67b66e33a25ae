# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the suite `engine`: a real Docker and a real Podman for the whole session, and the
client as a program (driver.c)."""
import json
import os
import subprocess
import types
from pathlib import Path

import pytest

from lib import engines, place

IMAGE = "localhost/busybox:test"
MAKERS = {"docker": engines.docker, "podman": engines.podman}


def build_directory():
    return Path(os.environ.get("GLOVEBOX_BUILD", place.ROOT / "build"))


def program():
    return str(build_directory() / "tests/engine/engine_driver")


def drive(words, data=b"", env=None, within=60, before=()):
    """What the driver answers: `ok`, `error`, and the keys of its JSON.  before: what starts it."""
    done = subprocess.run([*before, program(), *words], input=data, capture_output=True, timeout=within,
                          env={**os.environ, **(env or {})}, check=False)
    assert done.returncode in (0, 1), done
    lines = [text.splitlines()[-1] for text in (done.stdout, done.stderr)
             if text.splitlines() and text.splitlines()[-1].startswith(b"{")]
    found = json.loads(lines[-1])
    assert found.get("is_consistent", True), found
    return types.SimpleNamespace(**{"error": None, "remedy": None, **found}, out=done.stdout,
                                 err=done.stderr, ok=done.returncode == 0)


class Client:
    """The driver, bound to one engine."""

    def __init__(self, engine):
        self.engine = engine

    def __call__(self, *words, data=b"", env=None, **keys):
        named = [f"{name}={value}" for name, value in {"host": self.engine.host, **keys}.items()]
        return drive([*named, *words], data, env)

    def exit_code(self, name):
        """Of a container, when it has ended."""
        status, data = self.engine.ask("POST", f"/containers/{name}/wait")
        assert status == 200, data
        return json.loads(data)["StatusCode"]

    def create(self, *argv, name="-", env=None):
        made = self("create", name, IMAGE, *argv, env=env)
        assert made.ok, made
        return made.id


@pytest.fixture(scope="session", params=list(MAKERS))
def engine(request):
    with MAKERS[request.param]() as running:
        running.import_busybox(IMAGE)
        yield running


@pytest.fixture
def client(engine):
    """Removes what a test leaves on the engine, which is a fault of the test alone."""
    yield Client(engine)
    for container in engine.containers():
        engine.ask("DELETE", f"/containers/{container['Id']}?force=1&v=1")
