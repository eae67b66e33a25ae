# SPDX-License-Identifier: Apache-2.0
"""L14: the engine is killed while boxes live on it, and comes back.

Shims (Podman: monitors) and containers outlive their engine, and the shim holds the container's standard input open: the
glove has no other sign than the missing beat.  Half of the rounds leave it that time.  In the others
the engine is back before, and ends what it finds.
"""
import contextlib
import os
import signal

from lib import host, kept, pace

ROUNDS = pace.count(check=2, proof=50)
LABEL = "io.glovebox.managed=true"
# Ten seconds without a beat, on a machine that is shared.
SILENT_WITHIN = 30


def kill_engine(docker):
    """The engine alone is gone: shims and containers are alive."""
    daemon = docker.engine.daemon()
    os.kill(daemon.pid, signal.SIGKILL)
    assert host.until(lambda: not docker.engine.daemon(), within=10)
    assert any(holder in process.cmdline for process in host.descendants(docker.engine.init.pid)
               for holder in ("shim", "conmon"))
    assert docker.is_podman or docker.processes(), "a monitor ends what it reads for; a shim does not"


def labelled(docker):
    return docker.engine.get(f'/containers/json?all=1&filters={{"label":["{LABEL}"]}}')


def come_back(docker, is_waited_for):
    """The engine, after the boxes have ended by themselves or before."""
    if is_waited_for:
        assert host.until(lambda: not docker.processes(), within=SILENT_WITHIN), docker.processes()
    docker.engine.start_again()
    assert host.until(lambda: not docker.processes(), within=SILENT_WITHIN), docker.processes()

    again = docker.run("echo again")
    assert again.stdout == "again\n", again
    assert host.until(lambda: not [c for c in labelled(docker) if c["State"] != "dead"], within=30), \
        [(c["State"], c["Status"], c["Labels"]) for c in labelled(docker)] + docker.processes()
    # One that the engine failed to remove it calls dead; whoever sweeps next takes it.
    environment = {**docker.environment, "GLOVEBOX_BACKEND": "docker"}
    assert host.until(lambda: kept.call("prune", host_env=environment) and not labelled(docker), within=30)


@contextlib.contextmanager
def running(docker):
    """A run that goes on, to its end."""
    process = docker.begin("echo up; sleep 1000")
    try:
        assert process.stdout.readline() == b"up\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def one_round(docker, is_waited_for):
    """One box for a run alone, one that lives on; both are told, and none is left."""
    name = kept.create("--backend", "docker", "--image", docker.image, host_env=docker.environment)
    with running(docker) as process, kept.started(name, "echo ready; cat") as living:
        living.expect(b"ready")
        assert len(labelled(docker)) == 2
        kill_engine(docker)
        _, err = process.communicate(timeout=pace.within(10))
        assert process.returncode == 125 and err.startswith(b"glovebox: the box was lost"), (process.returncode, err)
        assert b"the engine has ended" in err and b"remedy: " in err, err
        code, _ = living.end(pace.within(10))
        said = living.process.stderr.read()
        assert code == 125 and said.startswith(b"glovebox: "), (code, said)
    refused = docker.run("true")
    assert refused.returncode == 125 and b"no engine is running" in refused.out, refused
    assert kept.no_keeper() and kept.directories() == [] and kept.listed() == []
    gone = kept.call("run", name, "--", "true")
    assert gone.returncode == 2 and name.encode() in gone.err, gone
    come_back(docker, is_waited_for)


def test_L14_a_killed_engine_is_an_error_and_nothing_is_left_when_it_is_back(own_engine):
    assert own_engine.run("true").exit_code == 0
    assert host.until(own_engine.is_clean, within=30)
    for i in range(ROUNDS):
        one_round(own_engine, is_waited_for=i % 2 == 0)
