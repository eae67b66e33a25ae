# SPDX-License-Identifier: Apache-2.0
"""L07: the disk of the engine is full.  Whatever is made on it then is an error with the engine's own
words and a remedy, leaves nothing, and works again when there is room."""
import contextlib
import os

import pytest

from lib import box, engines, host, kept, place as places, registry

BUILT = "agent-env:full"

pytestmark = pytest.mark.docker_only


class Small:
    """An engine with little room, and a registry beside it that has some."""

    def __init__(self, docker, shop):
        self.docker, self.engine = docker, docker.engine
        self.pulled = shop.push(docker.image, "library/busybox:test")
        self.filler = f"/proc/{self.engine.init.pid}/root{self.engine.base}/data/filler"

    @contextlib.contextmanager
    def full(self):
        """Big pieces first, then what is left byte by byte."""
        for piece in (bytes(1 << 16), b"x"):
            with contextlib.suppress(OSError), open(self.filler, "ab", buffering=0) as filler:
                while True:
                    filler.write(piece)
        try:
            yield
        finally:
            os.unlink(self.filler)

    def words(self, *words):
        return box.run_words([str(places.binary()), *words], host_env={
            **kept.environment(), **self.docker.environment})

    def is_clean(self):
        return self.docker.is_clean() and kept.directories() == [] and not kept.keepers()

    def tags(self):
        return {tag for image in self.engine.get("/images/json") for tag in image["RepoTags"] or []}


@pytest.fixture(scope="module")
def small_engine():
    with engines.docker(disk="32m") as engine, registry.running(engine, 5000) as shop:
        yield engine, shop


@pytest.fixture
def small(small_engine, make_docker):
    engine, shop = small_engine
    docker = make_docker(engine)
    assert docker.run("true").exit_code == 0
    assert host.until(docker.is_clean, within=30), docker.containers()
    return Small(docker, shop)


def forget_pulled(small):
    small.engine.ask("DELETE", f"/images/{small.pulled}?force=1")
    small.engine.ask("DELETE", f"/images/{small.docker.image}?force=1")


def build_context(place):
    folder = place.cwd / "context"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM busybox:test\nRUN head -c 2000000 /dev/urandom >/big\n")
    return str(folder)


def assert_told(done):
    """In the engine's own words, with a remedy."""
    said = done.out + done.err
    assert done.returncode == 125 and b"no space left on device" in said, done
    assert b"make room" in said, done


def test_L07_a_run_on_a_full_engine(small):
    with small.full():
        assert_told(small.docker.run("true"))
    assert host.until(small.is_clean, within=30), small.docker.containers()
    assert small.docker.run("true").exit_code == 0


def test_L07_a_box_on_a_full_engine(small):
    words = ("box", "create", "--backend", "docker", "--image", small.docker.image)
    with small.full():
        assert_told(small.words(*words))
    assert host.until(small.is_clean, within=30), (small.docker.containers(), kept.directories())
    made = small.words(*words)
    assert made.returncode == 0, made
    assert small.words("box", "rm", made.out.decode().strip()).returncode == 0


def test_L07_a_build_on_a_full_engine(small, place):
    words = ("image", "build", build_context(place), "-t", BUILT)
    before = small.tags()
    with small.full():
        assert_told(small.words(*words))
        assert small.tags() == before
    assert host.until(small.is_clean, within=30), small.docker.containers()
    made = small.words(*words)
    assert made.returncode == 0 and small.tags() == before | {BUILT}, made
    assert small.words("image", "rm", BUILT).returncode == 0


def test_L07_a_pull_on_a_full_engine(small):
    forget_pulled(small)
    with small.full():
        assert_told(small.words("image", "pull", small.pulled))
        assert small.pulled not in small.tags()
    made = small.words("image", "pull", small.pulled)
    assert made.returncode == 0 and small.pulled in small.tags(), made
    forget_pulled(small)
