# SPDX-License-Identifier: Apache-2.0
"""Containers of a real engine, through the client."""
import io
import os
import subprocess
import tarfile

from conftest import IMAGE, program

from lib import host

LABEL = "io.glovebox.test=yes"


def test_a_version_is_agreed_on(client, engine):
    """The engine's own, up to the newest that the client knows."""
    told = engine.get("/version")
    if engine.kind == "docker":
        assert int(told["Version"].split(".")[0]) >= int(os.environ.get("GLOVEBOX_DOCKER") or 20), told
    found = client("ping")
    newest = min(51, int(told["ApiVersion"].removeprefix("1.")))
    assert (found.api, found.is_podman) == (newest, engine.kind == "podman")


def test_the_engine_tells_of_itself(client):
    found = client("info")
    assert found.os == "linux" and found.version
    assert found.cgroup_version in ("1", "2")
    assert found.has_runc and not found.has_nonesuch


def test_a_container_lives_and_ends(client):
    name = client.create("/bin/sh", "-c", "exit 7")
    assert client("inspect", name).status in ("created", "configured")
    assert client("start", name).ok
    assert client.exit_code(name) == 7
    state = client("inspect", name)
    assert (state.is_running, state.exit_code) == (False, 7)
    assert client("rm", name).ok
    assert client("inspect", name).error == "ENOENT"


def test_what_is_done_already_is_fine(client):
    name = client.create("/bin/sleep", "1000")
    assert client("start", name).ok and client("start", name).ok
    assert client("rm", name).ok and client("rm", name).ok


def test_a_kill_ends_it(client):
    name = client.create("/bin/sleep", "1000")
    assert client("kill", name, "KILL").error == "EBUSY"
    client("start", name)
    assert client("kill", name, "KILL").ok
    assert client.exit_code(name) == 137


def test_containers_are_found_by_label(client):
    assert client("list", LABEL).containers == []
    names = {client.create("/bin/true") for _ in range(3)}
    found = client("list", LABEL, "other").containers
    assert {item["id"] for item in found} == names
    assert {item["other"] for item in found} == {'a "b"'}
    assert client("list", "io.glovebox.test=no").containers == []


def test_a_missing_image_says_how_to_pull_it(client):
    found = client("create", "-", "localhost/nonesuch:1", "true")
    assert found.error == "ENOENT" and "nonesuch" in found.msg
    assert found.remedy == "glovebox image pull localhost/nonesuch:1"


def test_a_name_in_use_is_a_conflict(client):
    client.create("/bin/true", name="taken")
    assert client("create", "taken", IMAGE, "true").error == "EBUSY"


def test_a_name_that_leads_elsewhere_is_not_asked(client):
    for name in ("..", "a/b", "x?force=1", "%2e%2e", ""):
        found = client("rm", name)
        assert (found.error, found.blame) == ("EINVAL", 1)


# ---- the stream ----


def test_both_streams_and_stdin(client):
    name = client.create("/bin/sh", "-c", "echo out; echo err >&2; cat; echo bye; exit 3")
    found = client("attach", name, data=b"some input\n")
    assert found.out == b"out\nsome input\nbye\n"
    assert b"said: err\n" in found.err
    assert client.exit_code(name) == 3


def test_many_bytes_come_back_unchanged(client):
    data = os.urandom(1 << 20) * 8
    name = client.create("/bin/cat", env={"DRIVER_LOG": "none"})
    assert client("attach", name, data=data).out == data


def test_a_terminal_has_no_frames(client, engine):
    """Its stdin stays open: the end of it would hang the terminal up."""
    tty = {"DRIVER_TTY": "1"}
    name = client.create("/bin/sh", "-c", "tty; echo err >&2", env=tty)
    with subprocess.Popen([program(), f"host={engine.host}", "attach", name],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **tty}) as process:
        out = process.stdout.read()
    assert b"/dev/" in out and out.endswith(b"\r\nerr\r\n") and b"\0" not in out


def test_closing_the_stream_ends_stdin(client, engine):
    """The container reads an end of file when its client is killed."""
    name = client.create("/bin/sh", "-c", "echo ready; cat; exit 9")
    with subprocess.Popen([program(), f"host={engine.host}", "attach", name],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.kill()
    assert client.exit_code(name) == 9


def test_the_end_of_a_container_ends_the_stream(client, engine):
    name = client.create("/bin/sh", "-c", "echo ready; exec sleep 1000")
    with subprocess.Popen([program(), f"host={engine.host}", "attach", name],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        assert client("kill", name, "KILL").ok
        assert process.stdout.read() == b""
        assert process.wait(20) == 0
        process.stdin.close()


def test_a_container_that_is_not_there_has_no_stream(client):
    assert client("attach", "nonesuch").error == "ENOENT"


# ---- files and volumes ----


def _tar(name, data):
    """Ends with the two empty blocks, as ours do: at bytes behind them Podman 4 answers "broken
    pipe" now and then (buildah issue 6573: its reader is gone already)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
        end = tar.offset + 2 * tarfile.BLOCKSIZE
    return out.getvalue()[:end]


def test_files_go_into_a_volume_and_come_out(client):
    data = os.urandom(3 << 20)
    assert client("volume-create", "vol", "key", "value").ok
    try:
        assert client("volume-create", "vol", "key", "value").ok
        assert client("volume-labels", "vol").key == "value"
        name = client.create("/bin/sleep", "1000", env={"DRIVER_VOLUME": "vol"})
        assert client("put", name, "/volume", data=_tar("file", data)).ok
        with tarfile.open(fileobj=io.BytesIO(client("get", name, "/volume/file").out)) as tar:
            assert tar.extractfile("file").read() == data
        assert client("get", name, "/volume/none").error == "ENOENT"
        assert client("volume-rm", "vol").error == "EBUSY"
        assert client("rm", name).ok
    finally:
        # A container that is going has it for a moment more.
        assert host.until(lambda: client("volume-rm", "vol").ok, within=10)
    assert client("volume-rm", "vol").ok
    assert client("volume-labels", "vol").error == "ENOENT"


def test_an_archive_that_is_none_is_refused(client):
    name = client.create("/bin/true")
    assert not client("put", name, "/tmp", data=b"not a tar" * 1000).ok


# ---- deaths ----


def test_two_clients_are_apart(client, engine):
    names = [client.create("/bin/cat") for _ in range(4)]
    running = [subprocess.Popen([program(), f"host={engine.host}", "attach", name],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) for name in names]
    for i, process in enumerate(running):
        out, _ = process.communicate(f"I am {i}".encode(), timeout=60)
        assert out == f"I am {i}".encode()
