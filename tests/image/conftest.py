# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the suite `image`: a real Docker, a real Podman, real registries, and the command."""
import contextlib
import io
import json
import subprocess
import tarfile
import types

import pytest

from lib import box, engines, place as places, registry

IMAGE = "localhost/busybox:test"
PATIENCE = 120


class Caller:
    """`glovebox image …` against one engine, in the directories of one test."""

    def __init__(self, engine, place):
        self.engine, self.place = engine, place
        self.docker_config = place.base / "docker"
        self.docker_config.mkdir()
        self.state = place.base / "state"

    def environment(self, **more):
        return {**box.environment(), "DOCKER_HOST": self.engine.host, "GLOVEBOX_STATE_DIR": str(self.state),
                "DOCKER_CONFIG": str(self.docker_config), **more}

    def words(self, *words):
        return [str(places.binary()), "image", *words]

    def __call__(self, *words, data=None, **more):
        done = subprocess.run(self.words(*words), input=data, capture_output=True, timeout=PATIENCE,
                              env=self.environment(**more), cwd=self.place.cwd, check=False)
        return types.SimpleNamespace(code=done.returncode, out=done.stdout.decode(),
                                     err=done.stderr.decode())

    def json(self, *words, code=0, **more):
        done = self(*words, "--json", **more)
        assert done.code == code, done
        return types.SimpleNamespace(**json.loads(done.out), stderr=done.err)

    def configure(self, **keys):
        (self.docker_config / "config.json").write_text(json.dumps(keys))

    def context(self, **files):
        """A directory with these files; dots in names are written as two underscores."""
        return self.tree({name.replace("__", "."): text for name, text in files.items()})

    def tree(self, files):
        folder = self.place.cwd / "context"
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return str(folder)

    def logs(self):
        """Oldest first: names tell the second only."""
        return sorted((self.state / "builds").glob("*.log"), key=lambda path: path.stat().st_mtime_ns)

    def tags(self):
        return sorted(tag for image in self.engine.get("/images/json") for tag in image["RepoTags"] or []
                      if "none" not in tag)


def _swept(engine):
    """Removes all images but the one that every test begins with."""
    for container in engine.containers():
        engine.ask("DELETE", f"/containers/{container['Id']}?force=1&v=1")
    keep = engine.get(f"/images/{IMAGE}/json")["Id"]
    for _ in range(3):
        for image in engine.get("/images/json"):
            for name in image["RepoTags"] or [image["Id"]]:
                if image["Id"] == keep and name in (IMAGE, image["Id"]):
                    continue
                engine.ask("DELETE", f"/images/{image['Id'] if 'none' in name else name}?force=1")


@pytest.fixture(scope="session")
def docker():
    with engines.docker() as running:
        running.import_busybox(IMAGE)
        yield running


@pytest.fixture(scope="session")
def podman():
    with engines.podman() as running:
        running.import_busybox(IMAGE)
        yield running


@pytest.fixture(scope="session")
def shop(docker):
    """A registry for everybody."""
    with registry.running(docker, 5000) as running:
        yield running


@pytest.fixture(scope="session")
def club(docker):
    """A registry that wants a log-in."""
    with registry.running(docker, 5001, has_auth=True) as running:
        yield running


@pytest.fixture
def image(docker, place):
    yield Caller(docker, place)
    _swept(docker)


# A Podman's groups have the same name everywhere: one worker has all tests of it.
@pytest.fixture(scope="session", params=["docker", pytest.param("podman", marks=pytest.mark.xdist_group("podman"))])
def each_engine(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def each(each_engine, place):
    """The command against both engines."""
    yield Caller(each_engine, place)
    _swept(each_engine)


@pytest.fixture
def running_call():
    """Starts a call and stops it at the end, whatever becomes of the test."""
    with contextlib.ExitStack() as stack:
        def start(caller, *words, **popen):
            process = subprocess.Popen(caller.words(*words), env=caller.environment(),
                                       cwd=caller.place.cwd, **popen)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        yield start


def ran(caller, tag, *argv):
    """What a program of the image prints."""
    engine = caller.engine
    body = {"Image": tag, "Cmd": list(argv), "Entrypoint": [], "HostConfig": {"NetworkMode": "none"}}
    status, data = engine.ask("POST", "/containers/create", body)
    assert status == 201, data
    made = json.loads(data)["Id"]
    assert engine.ask("POST", f"/containers/{made}/start")[0] == 204
    assert engine.ask("POST", f"/containers/{made}/wait")[0] == 200
    status, data = engine.ask("GET", f"/containers/{made}/logs?stdout=1&stderr=1")
    engine.ask("DELETE", f"/containers/{made}?force=1")
    text = b""
    while data:
        size = int.from_bytes(data[4:8], "big")
        text, data = text + data[8:8 + size], data[8 + size:]
    return text.decode()


def _tar(dockerfile):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile.encode())
        tar.addfile(entry, io.BytesIO(dockerfile.encode()))
    return out.getvalue()


def somebody_builds(caller, name, dockerfile):
    """An image that somebody else has made."""
    status, data = caller.engine.ask("POST", f"/build?t={name}", _tar(dockerfile),
                                     {"Content-Type": "application/x-tar"})
    assert status == 200 and b"errorDetail" not in data, data
