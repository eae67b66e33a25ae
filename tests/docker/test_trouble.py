# SPDX-License-Identifier: Apache-2.0
"""Deaths around a container: of the client, of the engine, of the container itself."""
import concurrent.futures
import contextlib
import hashlib
import os
import random
import select
import signal
import socket
import socketserver
import subprocess
import threading
import time
from pathlib import Path

import pytest

from lib import box, engines, host, kept, lacking, pace, place

CLIENT_DEATHS = pace.count(10, 300)
PARALLEL = pace.count(20, 100)
LABEL = "io.glovebox.managed"
EXPIRES = "io.glovebox.expires"
INSTANCE = "io.glovebox.instance"
OWNER = "io.glovebox.owner"
BOX = "io.glovebox.box"
DEAD = "4194305-1"  # no process has a number above 2^22
# What a link without its client's signs of life may take, ten seconds, and the removal, on a machine that is shared.
GONE_WITHIN = 60
NOWHERE = {"DOCKER_HOST": "unix:///nowhere/engine.sock"}


def begun(docker):
    """Without those of a Podman whose start was cut off with its client: the runtime waits in them for it."""
    return [process for process in docker.processes() if not docker.is_podman or "runc" not in process.comm]


def test_L15_a_killed_client_leaves_no_container(docker):
    docker.run("true")
    for i in range(CLIENT_DEATHS):
        process = docker.begin("echo up; sleep 1000")
        if i % 2:
            assert process.stdout.readline() == b"up\n"
        else:
            time.sleep(random.Random(i).random() * 0.5)
        process.kill()
        process.communicate()
        assert host.until(lambda: not begun(docker), within=GONE_WITHIN), begun(docker)
    # One that was made and never started is removed by whoever comes next.
    assert host.until(lambda: not [item for item in docker.containers()
                                   if item["State"] != "created"], within=GONE_WITHIN)
    assert docker.run("true").exit_code == 0
    assert host.until(docker.is_clean, within=30), docker.containers()
    # Podman removes what has ended a moment later, and what it held is the next one's to sweep.
    assert not docker.is_podman or docker.run("true").exit_code == 0
    assert len(docker.volumes()) == 2, docker.volumes()


def test_L14_a_container_removed_behind_our_back_is_an_error(docker):
    process = docker.begin("echo up; sleep 1000")
    assert process.stdout.readline() == b"up\n"
    [item] = docker.containers()
    assert docker.engine.ask("DELETE", f"/containers/{item['Id']}?force=1")[0] == 204
    _, err = process.communicate(timeout=30)
    assert process.returncode == 125, (process.returncode, err)
    assert b"lost" in err or b"ended" in err, err


class Between(socketserver.ThreadingUnixStreamServer):
    """What stands between a client and its engine, and spoils an attached stream when it is told to."""

    daemon_threads = True

    def __init__(self, path, engine):
        self.engine, self.spoil = str(engine.socket), threading.Event()
        super().__init__(str(path), Carrier)


class Carrier(socketserver.BaseRequestHandler):
    def handle(self):
        with socket.socket(socket.AF_UNIX) as far, contextlib.suppress(OSError):
            far.connect(self.server.engine)
            near, is_attached = self.request, False
            while True:
                ready, _, _ = select.select([near, far], [], [], 0.05)
                if is_attached and self.server.spoil.is_set():
                    near.sendall(b"\xff" * 64)  # no head of a frame
                    return
                for source in ready:
                    data = source.recv(65536)
                    if not data:
                        return
                    is_attached |= source is near and b"/attach?" in data
                    (far if source is near else near).sendall(data)


def test_a_stream_that_is_spoilt_on_its_way_is_told_as_that(docker, tmp_path):
    assert docker.run("true").exit_code == 0
    path = tmp_path / "between.sock"
    with Between(path, docker.engine) as between:
        threading.Thread(target=between.serve_forever, args=(0.05,)).start()
        try:
            process = subprocess.Popen(docker.words("echo up; sleep 1000", as_json=False), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=box.environment({**docker.environment, "DOCKER_HOST": f"unix://{path}"}))
            assert process.stdout.readline() == b"up\n"
            between.spoil.set()
            _, err = process.communicate(timeout=60)
        finally:
            between.shutdown()
    assert process.returncode == 125 and b"the stream of the container broke" in err, (process.returncode, err)
    assert host.until(docker.is_clean, within=GONE_WITHIN), docker.containers()


@contextlib.contextmanager
def running(docker):
    """A run that goes on, and what the engine lists of its container."""
    process = docker.begin("echo up; sleep 1000")
    try:
        assert process.stdout.readline() == b"up\n"
        [item] = docker.containers()
        yield item
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert host.until(docker.is_clean, within=GONE_WITHIN)


@pytest.fixture
def leftovers(docker):
    """Containers as somebody left them, by what they are called; each is removed afterwards."""
    with running(docker) as item:
        labels = item["Labels"]

    def make(**names):
        for name, changes in names.items():
            status, data = docker.engine.ask(
                "POST", "/containers/create", {"Image": docker.image, "Cmd": ["true"],
                                               "Labels": {**labels, "is": name, **changes}})
            assert status == 201, data

    yield make
    for item in docker.containers():
        docker.engine.ask("DELETE", f"/containers/{item['Id']}?force=1")


def names_left(docker):
    return {item["Labels"].get("is") for item in docker.containers()} - {None}


def owner_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return f"{pid}-{fields[19]}"


def leave_some(make):
    """Names of those that are to stay."""
    now = int(time.time())
    here = owner_of(os.getpid())
    make(dead={OWNER: DEAD}, reused={OWNER: f"{os.getpid()}-1"},
         late={OWNER: here, EXPIRES: str(now - 1000)},
         alive={OWNER: here}, in_time={OWNER: here, EXPIRES: str(now + 1000)},
         of_others={OWNER: DEAD, INSTANCE: "0123456789abcdef", EXPIRES: str(now - 1000)},
         unmarked={OWNER: "", EXPIRES: "never"})
    return {"alive", "in_time", "of_others", "unmarked"}


def test_the_next_run_sweeps_what_is_dead_and_of_this_instance(docker, leftovers):
    stay = leave_some(leftovers)
    assert docker.run("true").exit_code == 0
    assert host.until(lambda: names_left(docker) <= stay, within=30), names_left(docker)
    assert names_left(docker) == stay


def test_prune_sweeps_what_is_dead_and_of_this_instance(docker, leftovers):
    stay = leave_some(leftovers)
    done = kept.call("prune", host_env=docker.environment)
    assert done.returncode == 0 and b"3 containers removed" in done.err, done
    assert names_left(docker) == stay
    assert kept.call("prune", host_env={"DOCKER_HOST": "unix:///nowhere"}).returncode == 0


def test_a_container_tells_whose_it_is(docker):
    with running(docker) as item:
        labels = item["Labels"]
        pid = int(labels[OWNER].split("-")[0])
        assert labels[OWNER] == owner_of(pid) and host.descendants(os.getpid())
        assert labels[LABEL] == "true" and len(labels[INSTANCE]) == 16
        assert int(labels[EXPIRES]) > time.time() and BOX not in labels
    options = ("--backend", "docker", "--image", docker.image, "--ttl", "1000s")
    with kept.made(*options, host_env=docker.environment) as name:
        [item] = docker.containers()
        assert item["Labels"][BOX] == name and item["Labels"][INSTANCE] == labels[INSTANCE]
        assert 0 < int(item["Labels"][EXPIRES]) - time.time() < 1001


def test_stats_of_a_live_container_are_true(docker):
    options = ("--backend", "docker", "--image", docker.image)
    with kept.made(*options, host_env=docker.environment) as name:
        before = kept.call("stats", name, "--json").document
        done = kept.sh(name, "head -c 20000000 /dev/zero > big; sleep 1000 & sleep 1000 & i=0;"
                             " while [ $i -lt 20000 ]; do i=$((i + 1)); done")
        assert done.exit_code == 0, done
        def grown():
            """The kernel gathers this counter from its processors now and then."""
            return kept.call("stats", name, "--json").document["files_bytes"] - before["files_bytes"]

        assert host.until(lambda: grown() >= 20000000, within=30), grown()
        after = kept.call("stats", name, "--json").document
        assert before["processes"] == after["processes"] == 1  # the glove
        assert after["memory_peak_bytes"] >= after["memory_bytes"] >= 20000000
        assert after["cpu_ms"] > before["cpu_ms"]


def test_R03_a_live_container_that_is_full_of_files_refuses_runs_until_there_is_room(docker):
    options = ("--backend", "docker", "--image", docker.image, "--memory", "128m", "--disk", "100m")
    with kept.made(*options, host_env=docker.environment) as name:
        assert kept.sh(name, "head -c 80000000 /dev/zero >f").exit_code == 0
        for _ in range(5):
            refused = kept.sh(name, "echo started")
            assert (refused.returncode, refused.stdout) == (125, ""), refused
            assert "of the box's 128 MiB" in refused.error["message"], refused
            assert "rmfile" in refused.error["remedy"], refused
        assert kept.call("rmfile", name, "f").returncode == 0
        assert kept.sh(name, "echo again").stdout == "again\n"


def test_a_volume_without_its_mark_is_filled_again(docker):
    assert docker.run("true").exit_code == 0
    [volume, mark] = docker.volumes()
    assert mark == f"{volume}-filled"
    assert docker.engine.ask("DELETE", f"/volumes/{mark}")[0] == 204
    assert docker.run("true").exit_code == 0
    assert docker.volumes() == [volume, mark]


def test_the_gloves_volume_is_named_by_all_that_is_in_it(docker):
    """A version that changes any of its files is not given the volume of another."""
    done = docker.run("cd /.glovebox; cut -d/ -f3 /proc/1/cmdline | tr '\\0' '\\n' | head -n 1;"
                      " for f in *; do echo $f $(stat -c %a $f) $(sha256sum <$f); done")
    [glove, *lines] = done.stdout.splitlines()
    files = sorted(line.split() for line in lines if line.startswith(glove))
    basis = "".join(f"{name.removeprefix(glove).lstrip('.') or 'glove'} {mode} {digest}\n"
                    for name, mode, digest, _ in files).encode()
    assert f"glovebox-glove-{hashlib.sha256(basis).hexdigest()}" in docker.volumes(), done


@pytest.mark.docker_only
def test_the_glove_is_pid_1_also_where_the_engine_has_an_init_of_its_own(make_docker):
    """"init": true in daemon.json; the glove could neither kill nor count what a run leaves."""
    with engines.docker("--init") as engine:
        docker = make_docker(engine)
        done = docker.run("(setsid sleep 1000 &); cut -d/ -f3 /proc/1/cmdline; exit 3")
        assert done.verdict == "nonzero" and done.exit_code == 3 and done.stdout.startswith("g_"), done
        assert done.document["survivors"] == 0 and host.until(docker.is_clean, within=30)


def test_many_at_once_are_all_right(docker):
    """The first of them bring the glove, at the same time."""
    for volume in docker.volumes():
        assert docker.engine.ask("DELETE", f"/volumes/{volume}")[0] == 204
    for batch in range(0, PARALLEL, 5):
        processes = [docker.begin(f"echo {batch + i}; exit {batch + i}") for i in range(5)]
        for i, process in enumerate(processes):
            out, err = process.communicate(timeout=120)
            assert (out, process.returncode) == (f"{batch + i}\n".encode(), batch + i), err
    assert host.until(docker.is_clean, within=30)
    assert len(docker.volumes()) == 2


def has_stopped(pid):
    """Every thread of it: they stop one after another."""
    states = [host.read(f"/proc/{pid}/task/{task}/stat").rpartition(")")[2].split()[:1]
              for task in os.listdir(f"/proc/{pid}/task")]
    return all(state == ["T"] for state in states)


@contextlib.contextmanager
def hung(docker):
    """The engine does nothing, and answers nothing, for a while."""
    process = docker.engine.daemon()
    os.kill(process.pid, signal.SIGSTOP)
    try:
        assert host.until(lambda: has_stopped(process.pid), within=30)
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


# A kill that the glove does not answer, one deadline of the engine, and a slow machine.
HUNG_WITHIN = 45


@contextlib.contextmanager
def begun_before(docker, **requests):
    """Runs that go on, by name; each has written its first line."""
    processes = {name: docker.begin("echo up; sleep 1000", **request) for name, request in requests.items()}
    try:
        assert all(process.stdout.readline() == b"up\n" for process in processes.values())
        yield processes
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()


def test_L14_on_an_engine_that_hangs_everything_ends_within_its_deadline(own_engine):
    """All at the same time, for each waits for deadlines: a run, one whose CPU time the glove would tell (whether
    that limit was reached is not known, and that is said), one that comes later, and a box that lives on."""
    name = kept.create("--backend", "docker", "--image", own_engine.image, host_env=own_engine.environment)
    requests = {"counted": {"timeout": "60", "cpu_time": "1"}, "timed": {"timeout": "3"}}
    with begun_before(own_engine, **requests) as processes:
        with hung(own_engine), concurrent.futures.ThreadPoolExecutor() as pool:
            ends = {which: pool.submit(process.communicate, timeout=HUNG_WITHIN) for which, process in processes.items()}
            coming = pool.submit(own_engine.run, "true", outer=HUNG_WITHIN)
            in_box = [pool.submit(kept.call, *words, outer=HUNG_WITHIN)
                      for words in (("run", name, "--timeout", "2", "--", "true"), ("stats", name))]
            for done in (*(one.result() for one in in_box), kept.call("rm", name, outer=HUNG_WITHIN)):
                assert not done.hung and done.returncode != 0 and done.err, done
            late = coming.result()
            assert not late.hung and late.returncode == 125, late
            assert b"did not answer in time" in late.out + late.err, late
            said = {which: (end.result()[1], processes[which].returncode) for which, end in ends.items()}
            assert b"timeout" in said["timed"][0] and said["timed"][1] == 124, said
            assert b"what ended the program is not known: a counter of its group" in said["counted"][0], said
            assert said["counted"][1] == 125, said
            assert host.until(lambda: not kept.keepers() and not own_engine.processes(), within=GONE_WITHIN)
        assert host.until(own_engine.is_clean, within=GONE_WITHIN), own_engine.containers()
    assert kept.listed() == []


def test_L15_a_box_whose_maker_is_killed_while_it_is_made_does_not_live_on(docker):
    """Nobody was told its id."""
    with hung(docker):
        maker = subprocess.Popen(kept.words("create", "--backend", "docker", "--image", docker.image),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=box.environment(kept.environment(docker.environment)))
        try:
            assert host.until(kept.keepers, within=30)
        finally:
            maker.kill()
            maker.communicate()
    assert kept.no_keeper() and not kept.directories(), kept.directories()
    assert host.until(docker.is_clean, within=GONE_WITHIN), docker.containers()


@pytest.mark.parametrize("image", ["Not A Name", "UPPER:1", "a//b", "-x", "a@sha256:12"])
def test_what_is_no_name_of_an_image_is_refused_before_an_engine_is_asked(place, image):
    done = box.run_words(box.command("true", language="sh", backend="docker", image=image, as_json=False),
                         host_env=NOWHERE)
    assert done.returncode == 2 and b"glovebox: --image: " in done.err and b"engine" not in done.err, done


def test_an_id_is_the_name_of_an_image(docker):
    found = docker.engine.get(f"/images/{docker.image}/json")["Id"]
    for name in (found, found.removeprefix("sha256:"), found.removeprefix("sha256:")[:12]):
        assert docker.run("echo up", image=name).stdout == "up\n", name


def test_a_language_that_an_image_lacks_is_told_with_what_helps(docker):
    done = box.run_words(box.command("print(1)", language="python", backend="docker", image=docker.image),
                         host_env=docker.environment)
    assert (done.returncode, done.stderr) == (127, "glovebox: python3: No such file or directory\n"), done
    assert done.document["notes"] == ["the image has no python3: name one that has it with --image"], done


def doctor(**host_env):
    return box.run_words([str(place.binary()), "doctor", "--json"], host_env=host_env).document


def test_doctor_judges_the_backend_that_boxes_are_made_by(docker):
    words = [str(place.binary()), "doctor", "--backend", "docker"]
    image = {**docker.environment, "GLOVEBOX_IMAGE": docker.image}
    fit = box.run_words([*words, "--json"], host_env=image)
    assert (fit.returncode, fit.document["ok"], fit.document["backend"]) == (0, True, "docker"), fit
    assert "error" not in fit.document
    unfit = box.run_words([*words, "--json"], host_env=NOWHERE)
    assert (unfit.returncode, unfit.document["ok"]) == (1, False), unfit
    assert "no engine is running" in unfit.document["error"]["message"], unfit
    assert all(wall["ok"] for wall in unfit.document["walls"].values()), "native boxes could be made"
    text = box.run_words(words, host_env=NOWHERE)
    assert text.returncode == 1 and b"No box could be tried" in text.out, text
    # One that every wall is asked of is none that an engine makes.
    strict = box.run_words([*words, "--json"], host_env={**image, "GLOVEBOX_REQUIRE": "user_ns"})
    assert strict.returncode == 1 and "user_ns" in strict.document["error"]["message"], strict


def test_S1_11_doctor_looks_for_the_image(docker):
    words = [str(place.binary()), "doctor", "--json", "--backend", "docker"]
    fit = box.run_words(words, host_env={**docker.environment, "GLOVEBOX_IMAGE": docker.image}).document["docker"]
    assert (fit["image"], fit["has_image"]) == (docker.image, True), fit
    unfit = box.run_words(words, host_env=docker.environment)
    assert (unfit.returncode, unfit.document["docker"]["ok"], unfit.document["docker"]["has_image"]) == (1, True, False), unfit
    assert unfit.document["error"]["remedy"] == "glovebox image pull python:3.11-slim", unfit
    # It is only told where boxes are native ones.
    native = box.run_words([*words[:3], "--backend", "native"], host_env=docker.environment)
    assert native.returncode == 0 and native.document["docker"]["has_image"] is False, native


def test_doctor_does_not_mind_native_walls_where_boxes_are_containers(docker):
    lame = lacking.without_namespaces("max_net_namespaces", 0, place.binary(), "doctor", "--json", "--backend")
    as_native = box.run_words([*lame, "native"], host_env=docker.environment)
    assert (as_native.returncode, as_native.document["walls"]["net"]["ok"]) == (1, False), as_native
    as_container = box.run_words([*lame, "docker"], host_env={**docker.environment, "GLOVEBOX_IMAGE": docker.image})
    assert (as_container.returncode, as_container.document["ok"]) == (0, True), as_container
    assert as_container.document["walls"]["net"]["ok"] is False, "told all the same"


def test_doctor_says_whether_boxes_can_be_made_on_the_engine(docker):
    told = doctor(**docker.environment)["docker"]
    assert told["reachable"] is True and told["ok"] is True, told
    assert ("Podman" if docker.is_podman else "Docker") in told["detail"] and "boxes can be made" in told["detail"], told
    told = doctor(DOCKER_HOST="unix:///nowhere/engine.sock")["docker"]
    assert told["reachable"] is False and told["ok"] is False, told
    assert "no engine is running" in told["detail"], told
