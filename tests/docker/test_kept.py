# SPDX-License-Identifier: Apache-2.0
"""Containers that live on: their keeper is killed, they are removed behind its back, their time is
over, and a terminal reaches into them."""
import os
import random
import shutil
import signal
import time

import pytest

from lib import box, host, kept, pace, place as places, screen

MOMENTS = pace.count(check=2, proof=100)
# Nobody tells the glove that its keeper was killed: the engine ends its standard input, or no beat comes for ten
# seconds; and the machine is shared.
GONE_WITHIN = 60


@pytest.fixture
def create(docker):
    """The id of a new box on the engine."""
    options = ("--backend", "docker", "--image", docker.image)
    return lambda *more: kept.create(*options, *more, host_env=docker.environment)


def is_gone(docker):
    return docker.is_clean() and not kept.keepers() and not kept.directories()


def assert_forgotten(docker, name):
    """Whoever looks finds nothing, and nothing is there to be found."""
    assert host.until(lambda: not docker.processes(), GONE_WITHIN), docker.processes()
    assert kept.listed(host_env=docker.environment) == []
    assert host.until(lambda: is_gone(docker), GONE_WITHIN), (docker.containers(), kept.directories())
    again = kept.call("run", name, "--", "true", host_env=docker.environment)
    assert again.returncode == 2 and name.encode() in again.err, again
    # On Podman what the container held is the next one's to sweep, as soon as the engine lets it go.
    assert not docker.places() or host.until(
        lambda: docker.run("true").exit_code == 0 and not docker.places(), GONE_WITHIN), docker.places()


def test_L01_a_keeper_that_is_killed_takes_its_container_along(docker, create):
    name = create()
    keeper, = kept.keepers()
    with kept.started(name, "echo ready; sleep 1000 & cat") as living:
        living.expect(b"ready")
        os.kill(keeper.pid, signal.SIGKILL)
        code, _ = living.end(pace.within(2))
        said = living.process.stderr.read()
        assert code == 125 and said.startswith(b"glovebox: "), (code, said)
    assert_forgotten(docker, name)


def test_L01_a_keeper_that_is_killed_at_any_moment_leaves_nothing(docker, create):
    """While the box is made, used and removed."""
    for i in range(MOMENTS):
        name = create()
        keeper, = kept.keepers()
        draw = random.Random(i)
        with kept.started(name, "echo ready; cat"):
            time.sleep(draw.random() * 0.3)
            os.kill(keeper.pid, signal.SIGKILL)
        assert_forgotten(docker, name)


def test_L14_a_container_of_a_box_that_is_removed_behind_its_back_is_an_error(docker, create):
    name = create()
    with kept.started(name, "echo ready; cat") as living:
        living.expect(b"ready")
        [item] = docker.containers()
        assert docker.engine.ask("DELETE", f"/containers/{item['Id']}?force=1")[0] == 204
        code, _ = living.end(pace.within(10))
        said = living.process.stderr.read()
        assert code == 125 and said.startswith(b"glovebox: "), (code, said)
    assert kept.no_keeper()
    assert_forgotten(docker, name)


def test_L14_a_container_that_is_stopped_behind_its_back_is_the_end_of_the_box(docker, create):
    name = create()
    [item] = docker.containers()
    assert docker.engine.ask("POST", f"/containers/{item['Id']}/stop?t=0")[0] == 204
    assert kept.no_keeper()
    assert_forgotten(docker, name)


def test_after_its_time_a_container_is_gone(docker, create):
    name = create("--ttl", "5s")
    [item] = docker.containers()
    assert host.until(lambda: not docker.containers(), 5 + pace.within(5)), item
    assert kept.no_keeper()
    assert_forgotten(docker, name)


def test_a_container_that_nobody_can_reach_ends_with_its_last_client(docker, create):
    """Somebody has removed the directory of boxes."""
    name = create()
    with kept.started(name, "echo ready; cat; exit 7") as living:
        living.expect(b"ready")
        shutil.rmtree(kept.state_dir() / "boxes")
        living.send(b"still here\n")
        living.expect(b"still here\n")
        assert living.end()[0] == 7
    assert kept.no_keeper()
    assert_forgotten(docker, name)


@pytest.fixture(params=["exec", "box run"])
def session(request, docker, create, place):
    """Begins a session on a terminal in a container: a new one, or one that lives on."""
    def start(words):
        environment = box.environment({**kept.environment(), **docker.environment})
        return screen.terminal([str(places.binary()), *words], environment, place.cwd,
                               screen=screen.Transcript())

    if request.param == "exec":
        yield lambda *words: start(["exec", "-t", "--backend", "docker", "--image", docker.image,
                                    "--", *words])
        return
    name = create()
    yield lambda *words: start(["box", "run", "-t", name, "--", *words])
    assert kept.call("rm", name).returncode == 0


def test_a_terminal_reaches_into_a_container(session):
    script = ("trap 'echo caught' INT; trap 'stty size' WINCH; stty -echo; tty; stty size; echo ready;"
              " while :; do read line && test \"$line\" = done && exit 7; done")
    with session("sh", "-c", script) as one:
        one.await_text("ready\r\n")
        assert "/dev/pts/" in one.screen.text and "40 100\r\n" in one.screen.text
        one.type("\x03")
        one.await_text("caught\r\n")
        screen.resize(one.fd, 33, 77)
        one.await_text("33 77\r\n")
        one.type("done\r")
        assert one.end() == 7
