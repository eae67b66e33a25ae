# SPDX-License-Identifier: Apache-2.0
"""Commands on an engine that answers as no real one can be made to."""
import json
import signal
import subprocess
import time

import pytest

from lib import box, host, pace, place as places
from lib.scripted import PING, answer, scripted

GONE = answer(b'{"message":"no such thing"}', "404 Not Found")
DEAD = "4194305-1"  # no process has a number above 2^22


@pytest.fixture
def engine(place):
    """Where a scripted engine is, and the environment that says so."""
    path = place.base / "s"
    return path, {"DOCKER_HOST": f"unix://{path}"}


def left_behind(name):
    return {"Id": name * 64, "Names": ["/x"], "Image": "i", "State": "exited", "Status": "",
            "Labels": {"io.glovebox.managed": "true", "io.glovebox.owner": DEAD}}


def test_a_container_that_cannot_be_removed_keeps_no_other(engine):
    path, env = engine
    stuck = answer(b'{"message":"driver failed"}', "500 Internal Server Error")
    found = answer(json.dumps([left_behind("a"), left_behind("b")]).encode())
    with scripted(path, PING, found, stuck, answer(b"", "204 No Content")) as asked:
        done = box.run_words([str(places.binary()), "box", "prune"],
                             host_env={**env, "GLOVEBOX_BACKEND": "docker"})
    assert [head.split()[0] for head in asked] == [b"HEAD", b"GET", b"DELETE", b"DELETE"]
    assert b"b" * 64 in asked[3] and b"1 container removed" in done.err, done
    assert done.returncode != 0 and b"driver failed" in done.err, done


def test_the_time_of_a_build_is_that_of_its_base_images_too(engine, place):
    path, env = engine
    (place.cwd / "Dockerfile").write_text("FROM nowhere:1\n")
    with scripted(path, PING, GONE, GONE, None, None):
        began = time.monotonic()
        done = box.run_words([str(places.binary()), "image", "build", "--timeout", "2s", str(place.cwd)],
                             host_env=env, outer=60)
        assert time.monotonic() - began < pace.within(15)
    assert not done.hung and done.returncode == 125, done
    assert b"in time" in done.err, done


@pytest.mark.parametrize("words, n_gone", [(["pull", "some:1"], 1), (["build", "-"], 2)])
@pytest.mark.parametrize("said, asked_for", [("linux/s390x", b"platform=linux%2Fs390x"), ("", None)])
def test_the_platform_of_the_environment_is_that_of_pulls(engine, words, n_gone, said, asked_for):
    path, env = engine
    with scripted(path, PING, *[GONE] * (n_gone + 1)) as asked:
        done = box.run_words([str(places.binary()), "image", *words], input=b"FROM some:1\n",
                             host_env={**env, "DOCKER_DEFAULT_PLATFORM": said})
    assert done.returncode == 2, done
    assert b"POST" in asked[-1] and (asked_for or b"fromImage") in asked[-1], asked
    assert (b"platform" in asked[-1]) == bool(said), asked


def test_a_command_that_is_cancelled_while_its_container_is_made_ends(engine):
    path, env = engine
    words = box.command("true", language="sh", backend="docker", image="i")
    with scripted(path, PING, None) as asked:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=box.environment(env))
        try:
            assert host.until(lambda: len(asked) == 2, within=10), asked
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=pace.within(10))
        finally:
            process.kill()
            process.communicate()
    assert process.returncode == 130 and json.loads(out)["verdict"] == "cancelled", out
