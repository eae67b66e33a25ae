# SPDX-License-Identifier: Apache-2.0
"""Deaths around a container: of the client, of the engine, of the container itself."""
import os
import random
import signal
import subprocess
import time

from lib import box, host

CLIENT_DEATHS = 10
PARALLEL = 20
LABEL = "io.glovebox.managed"
EXPIRES = "io.glovebox.expires"
# What a link without its client's signs of life may take, and the removal.
GONE_WITHIN = 20


def begin(docker, script, **request):
    """A run that goes on."""
    return subprocess.Popen(docker.words(script, as_json=False, **request), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=box.environment(docker.environment))


def end(process):
    process.kill()
    process.communicate()


def is_engine_process(process):
    return process.comm == "dockerd"


def engine_process(docker):
    found = [process for process in host.descendants(docker.engine.process.pid)
             if is_engine_process(process)]
    assert found
    return found[0]


def test_a_killed_client_leaves_no_container(docker):
    docker.run("true")
    for i in range(CLIENT_DEATHS):
        process = begin(docker, "echo up; sleep 1000")
        if i % 2:
            assert process.stdout.readline() == b"up\n"
        else:
            time.sleep(random.Random(i).random() * 0.5)
        end(process)
        assert host.until(lambda: not docker.processes(), within=GONE_WITHIN), docker.processes()
    # One that was made and never started is removed by whoever comes after its time.
    left = [item for item in docker.containers() if item["State"] != "created"]
    assert host.until(lambda: not [item for item in docker.containers()
                                   if item["State"] != "created"], within=GONE_WITHIN), left
    for item in docker.containers():
        assert item["Labels"][LABEL] == "true" and int(item["Labels"][EXPIRES]) > 0
        docker.engine.ask("DELETE", f"/containers/{item['Id']}?force=1")
    assert len(docker.volumes()) == 2, docker.volumes()


def test_a_container_removed_behind_our_back_is_an_error(docker):
    process = begin(docker, "echo up; sleep 1000")
    assert process.stdout.readline() == b"up\n"
    [item] = docker.containers()
    assert docker.engine.ask("DELETE", f"/containers/{item['Id']}?force=1")[0] == 204
    _, err = process.communicate(timeout=30)
    assert process.returncode == 125, (process.returncode, err)
    assert b"lost" in err or b"ended" in err, err


def test_leftovers_are_swept_when_their_time_is_over_and_others_are_not(docker):
    def make(labels):
        status, data = docker.engine.ask("POST", "/containers/create",
                                         {"Image": docker.image, "Cmd": ["true"], "Labels": labels})
        assert status == 201, data

    now = int(time.time())
    make({LABEL: "true", EXPIRES: str(now - 10), "is": "old"})
    make({LABEL: "true", EXPIRES: str(now + 1000), "is": "young"})
    make({EXPIRES: "0", "is": "a stranger"})
    try:
        assert docker.run("true").exit_code == 0
        left = {item["Labels"]["is"] for item in docker.containers()}
        assert left == {"young", "a stranger"}
    finally:
        for item in docker.containers():
            docker.engine.ask("DELETE", f"/containers/{item['Id']}?force=1")


def test_a_volume_without_its_mark_is_filled_again(docker):
    assert docker.run("true").exit_code == 0
    [volume, mark] = docker.volumes()
    assert mark == f"{volume}-ready"
    assert docker.engine.ask("DELETE", f"/volumes/{mark}")[0] == 204
    assert docker.run("true").exit_code == 0
    assert docker.volumes() == [volume, mark]


def test_many_at_once_are_all_right(docker):
    """The first of them bring the glove, at the same time."""
    for volume in docker.volumes():
        assert docker.engine.ask("DELETE", f"/volumes/{volume}")[0] == 204
    for batch in range(0, PARALLEL, 5):
        processes = [begin(docker, f"echo {batch + i}; exit {batch + i}") for i in range(5)]
        for i, process in enumerate(processes):
            out, err = process.communicate(timeout=120)
            assert (out, process.returncode) == (f"{batch + i}\n".encode(), batch + i), err
    assert host.until(docker.is_clean, within=5)
    assert len(docker.volumes()) == 2


def test_a_killed_engine_is_an_error_within_the_deadline(own_engine):
    assert own_engine.run("true").exit_code == 0
    process = begin(own_engine, "echo up; sleep 1000", timeout="3")
    try:
        assert process.stdout.readline() == b"up\n"
        os.kill(engine_process(own_engine).pid, signal.SIGKILL)
        _, err = process.communicate(timeout=90)
        assert process.returncode in (124, 125), (process.returncode, err)
        refused = own_engine.run("true", outer=90)
        assert not refused.hung and refused.returncode == 125, refused
    finally:
        end(process)
