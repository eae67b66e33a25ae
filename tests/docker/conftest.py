# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the docker suites: a private engine for each worker, and boxes on it."""
import os
import subprocess

import pytest

from lib import box, engines, host

IMAGE = "busybox:test"


class Docker:
    """An engine with an image, and `glovebox exec` on it."""

    def __init__(self, engine, group, image=IMAGE, tag="", lacks=""):
        self.engine = engine
        self.group = group
        self.tag = tag  # how the names of the containers' own groups begin, in that one
        self.image = image
        self.lacks = lacks  # a wall that the operator does without

    @property
    def environment(self):
        allowed = {"GLOVEBOX_ALLOW_MISSING": self.lacks} if self.lacks else {}
        return {"DOCKER_HOST": self.engine.host, **allowed}

    def words(self, script=None, **request):
        """The words of a run of a shell script."""
        return box.command(script, language="sh" if script is not None else None,
                           backend="docker", image=request.pop("image", self.image), **request)

    def run(self, script=None, **request):
        """One run to its end."""
        outer = request.pop("outer", box.OUTER_SECONDS)
        stdin = request.get("stdin")
        return box.run_words(self.words(script, **request), input=stdin,
                             host_env=self.environment, outer=outer)

    def begin(self, script, **request):
        """A run that goes on."""
        return subprocess.Popen(self.words(script, as_json=False, **request),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=box.environment(self.environment))

    def containers(self):
        return self.engine.containers()

    @property
    def is_podman(self):
        return self.engine.kind == "podman"

    def volumes(self):
        found = self.engine.get("/volumes")["Volumes"] or []
        return sorted(volume["Name"] for volume in found)

    def places(self):
        """Volumes that are the writable places of boxes (Podman only)."""
        return [name for name in self.volumes() if name.startswith("glovebox-place-")]

    def drop_places(self):
        """Those of boxes whose run directory is gone: nobody would come to sweep them."""
        for name in self.places():
            assert host.until(lambda at=f"/volumes/{name}": self.engine.ask("DELETE", at)[0] in (204, 404),
                              within=10), name

    def processes(self):
        """Living processes of its containers."""
        mark = f"/{self.group}/{self.tag}"
        return [process for process in host.processes()
                if any(path.startswith(mark) for path in process.groups.values())
                and process.state not in "ZX"]

    def is_clean(self):
        return not self.containers() and not self.processes()


def private(engine, prefix="gbengine-"):
    if engine.kind == "podman":
        return Docker(engine, engines.PODMAN_GROUP, engine.import_busybox(), engines.PODMAN_TAG,
                      engines.PODMAN_LACKS)
    docker = Docker(engine, f"{prefix}{os.getpid()}")
    engine.import_busybox(IMAGE)
    return docker


@pytest.fixture(scope="session")
def shared_engine():
    with engines.under_test() as engine:
        yield private(engine)


@pytest.fixture
def docker(shared_engine):
    """The worker's engine; a test leaves no container on it."""
    yield shared_engine
    assert host.until(shared_engine.is_clean, within=30), (
        shared_engine.containers(), [str(process) for process in shared_engine.processes()])


@pytest.fixture
def own_engine():
    """One for a test that mistreats it."""
    with engines.under_test() as engine:
        yield private(engine)


@pytest.fixture(scope="session")
def make_docker():
    """For a test that starts an engine of its own kind."""
    return private
