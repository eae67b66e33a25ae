# SPDX-License-Identifier: Apache-2.0
"""Boxes on a private Podman: what is different there.  The whole suite is run on it in a proof, and the
conformance suite in every check (tools/check: podman)."""
import contextlib
import glob
import re
import socket
import threading

import pytest

from lib import box, engines, host, place


# The groups of every Podman have one name: there is one at a time on a machine.
pytestmark = pytest.mark.xdist_group("podman")


@pytest.fixture(scope="module")
def running():
    with engines.podman() as engine:
        yield engine


@pytest.fixture
def podman(running, make_docker):
    made = make_docker(running)
    yield made
    assert host.until(made.is_clean, within=30), made.containers()


def say(podman, *options, environment=None):
    words = podman.words("echo up", as_json=False)
    return box.run_words([*words[:2], *options, *words[2:]], host_env=environment or podman.environment)


@contextlib.contextmanager
def relayed(path, listener, heard=lambda data: None):
    """Whoever comes to the listener talks to the socket; heard() gets what clients say."""
    def pour(source, sink, heard):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                heard(data)
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve(client):
        with client, socket.socket(socket.AF_UNIX) as engine:
            engine.connect(str(path))
            back = threading.Thread(target=pour, args=(engine, client, lambda data: None))
            back.start()
            pour(client, engine, heard)
            back.join()

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threads.append(threading.Thread(target=serve, args=(listener.accept()[0],)))
                threads[-1].start()

    threads = []
    with listener:
        threads.append(threading.Thread(target=accept))
        threads[0].start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


@contextlib.contextmanager
def by_tcp(path):
    """A port of this machine that leads to a socket: the address of another machine, to a client."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    with relayed(path, listener):
        yield address


@contextlib.contextmanager
def overheard(path, at):
    """An address that leads to a socket, and the requests that are made there: method and path."""
    asked = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(at))
    listener.listen()

    def heard(data):
        asked.extend(line.decode() for line in re.findall(rb"^((?:GET|POST|PUT|DELETE|HEAD) /\S+) HTTP/1", data, re.M))
    with relayed(path, listener, heard):
        yield f"unix://{at}", asked


def test_a_run_leaves_neither_container_nor_volume(podman):
    done = say(podman)
    assert done.returncode == 0 and done.out == b"up\n", done
    [volume, mark] = podman.volumes()
    assert mark == f"{volume}-filled", "nothing but the glove's"


def test_a_start_asks_nothing_more_of_it_where_other_boxes_are(podman, tmp_path):
    """Each box has six volumes there; what is known of them comes in one answer."""
    with overheard(podman.engine.socket, tmp_path / "podman") as (address, asked), contextlib.ExitStack() as others:
        def ask():
            asked.clear()
            done = say(podman, environment={**podman.environment, "DOCKER_HOST": address})
            assert done.returncode == 0, done
            return sorted(line for line in asked if re.match(r"GET /[^?]*/volumes", line))
        ask()  # the glove's own volume is there now
        alone = ask()
        for _ in range(2):
            process = podman.begin("echo up; sleep 1000")
            others.callback(process.communicate)
            others.callback(process.terminate)
            assert process.stdout.readline() == b"up\n"
        assert len(podman.places()) >= 12
        assert alone and ask() == alone


@pytest.mark.skipif(not engines.PODMAN_LACKS, reason="all groups are v2's: nothing is lacking")
def test_a_wall_that_it_lacks_here_is_refused_by_name(podman):
    environment = {**podman.environment, "GLOVEBOX_ALLOW_MISSING": "none"}
    done = say(podman, environment=environment)
    assert done.returncode == 125 and b"the wall 'cgroup_ns' cannot be built" in done.err, done
    assert b"--allow-missing cgroup_ns" in done.err, done
    allowed = podman.run("true")
    assert allowed.document["receipt"]["walls"]["cgroup_ns"] is False, allowed


def test_one_on_another_machine_is_refused_by_the_wall_that_it_cannot_have(podman):
    with by_tcp(podman.engine.socket) as address:
        environment = {**podman.environment, "DOCKER_HOST": address}
        done = say(podman, environment=environment)
        assert done.returncode == 125 and b"the wall 'seccomp' cannot be built" in done.err, done
        told = box.run_words([str(place.binary()), "doctor", "--json"], host_env=environment).document["docker"]
    assert told["reachable"] is True and told["ok"] is False and "images only" in told["detail"], told


def test_a_runtime_is_refused_and_not_passed_over(podman):
    """Podman would use its own and say nothing."""
    done = say(podman, "--runtime", "runsc")
    assert done.returncode == 125 and b"Podman takes no runtime from a client" in done.err, done
    assert b"containers.conf" in done.err and podman.containers() == [], done


def test_what_is_hidden_is_hidden_whatever_its_name(podman):
    """Also what Podman's list of masked paths cannot name, because it has a colon in it."""
    assert glob.glob("/sys/devices/*:*"), "this machine has some"
    done = podman.run("ls /sys/class /sys/module /proc/bus && cat /proc/kallsyms /proc/keys && ls /sys/devices")
    entries = [line for line in done.stdout.splitlines() if line and not line.endswith(":")]
    assert entries == ["system"], done


def test_a_killed_client_leaves_volumes_only_until_the_next_sweep(podman):
    process = podman.begin("echo up; sleep 1000")
    assert process.stdout.readline() == b"up\n"
    assert len(podman.volumes()) > 2
    process.kill()
    process.communicate()
    assert host.until(podman.is_clean, within=20), podman.containers()
    pruned = box.run_words([str(place.binary()), "box", "prune"], host_env=podman.environment)
    assert pruned.returncode == 0, pruned
    assert len(podman.volumes()) == 2, podman.volumes()
