# SPDX-License-Identifier: Apache-2.0
"""Rows about boxes that are containers, beside what docker's own client does on the same private engine."""
import contextlib
import io
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from lib import engines, kept  # noqa: E402

IMAGE = "glovebox-bench-python:1"
PYTHON = "/usr/bin/python3"
DOCKER = shutil.which("docker") or "/usr/bin/docker"
PRINT = (PYTHON, "-c", "print(1)")
MIB = 1024 * 1024
FILE_BYTES = 100_000_000
LIVE = 0.3
ONCE = 0.8
COPY = 1.0
PAUSE_MS = 500  # exec does not wait for the removal: nobody else shall pay for it

# Of Python's own library: what no hello needs and what would make the image large.
LEFT_OUT = {"test", "idlelib", "lib2to3", "ensurepip", "tkinter", "config-3.11-x86_64-linux-gnu"}


def needed_files():
    """Python with the libraries that it is linked with."""
    listed = subprocess.run(["ldd", PYTHON], check=True, capture_output=True, text=True).stdout
    words = [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]
    return [os.path.realpath(PYTHON), *words]


def library():
    return Path(subprocess.run([PYTHON, "-Ic", "import os; print(os.__file__)"], check=True, capture_output=True,
                               text=True).stdout.strip()).parent


def python_tar():
    """A root file system with this machine's python3 and nothing else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ("bin", "etc", "root", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for path in needed_files():
            tar.add(os.path.realpath(path), arcname=path.lstrip("/"))
        if os.path.islink(PYTHON):
            tar.add(PYTHON, arcname=PYTHON.lstrip("/"))
        tar.add(library(), arcname=str(library()).lstrip("/"),
                filter=lambda entry: None if Path(entry.name).name in LEFT_OUT else entry)
    return out.getvalue()


@contextlib.contextmanager
def engine_with_python():
    with engines.docker() as engine:
        status, data = engine.ask("POST", f"/images/create?fromSrc=-&repo={IMAGE}", python_tar(),
                                  {"Content-Type": "application/x-tar"})
        assert status == 200 and b"errorDetail" not in data, data
        os.environ["DOCKER_HOST"] = engine.host
        try:
            yield engine
        finally:
            del os.environ["DOCKER_HOST"]


def docker(*words):
    return subprocess.run([DOCKER, *words], check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def peer_box():
    """A container of docker's own client that goes on, with the limits that a box has."""
    name = docker("run", "-d", "--network", "none", "--init", "--memory", "1g", "--pids-limit", "512",
                  IMAGE, PYTHON, "-c", "import signal; signal.pause()")
    try:
        yield name
    finally:
        docker("rm", "-f", name)


@contextlib.contextmanager
def live_box(bench):
    os.environ["GLOVEBOX_BIN"] = bench.glovebox
    os.environ["GLOVEBOX_STATE_DIR"] = str(kept.state_dir())
    try:
        with kept.made("--backend", "docker", "--image", IMAGE, "--memory", "1g", "--disk", "256m",
                       host_env={"DOCKER_HOST": os.environ["DOCKER_HOST"]}) as name:
            yield name
    finally:
        del os.environ["GLOVEBOX_STATE_DIR"]


def told(tell, name, what, series, limit):
    ours, peer = ([sample.ns / 1e6 for sample in samples] for samples in series)
    medians = statistics.median(ours), statistics.median(peer)
    shown = [f"{median:.1f} ms" for median in medians]
    return tell(name, what, *shown, medians[0] / medians[1], limit,
                samples={"ours_ms": [round(value, 3) for value in ours],
                         "peer_ms": [round(value, 3) for value in peer]})


def once(bench, tell):
    """docker run takes the file from a bind mount: no copy at all."""
    words = [DOCKER, "run", "--rm", "--network", "none", "-v", f"{bench.hello}:/hello.py:ro", IMAGE,
             PYTHON, "/hello.py"]
    series = bench.measure([bench.glovebox, "exec", "--backend", "docker", "--image", IMAGE, str(bench.hello)],
                           words, rounds=bench.effort.containers, pause_ms=PAUSE_MS)
    yield told(tell, "docker-hello", "exec hello.py in a container / docker run", series, ONCE)


def live(bench, tell, ours, peer):
    series = bench.measure([bench.glovebox, "box", "run", ours, "--", *PRINT], [DOCKER, "exec", peer, *PRINT],
                           rounds=bench.effort.containers)
    yield told(tell, "docker-live", "print(1) in a live container / docker exec", series, LIVE)


def copies(bench, tell, ours, peer):
    source, back, other = (bench.scratch / name for name in ("big.bin", "back.bin", "other.bin"))
    source.write_bytes(os.urandom(MIB) * (FILE_BYTES // MIB) + bytes(FILE_BYTES % MIB))
    glovebox = f"{bench.glovebox} box"
    series = bench.measure(
        ["/bin/sh", "-c", f"{glovebox} put {ours} {source}:big.bin && {glovebox} get {ours} big.bin:{back}"],
        ["/bin/sh", "-c", f"{DOCKER} cp -q {source} {peer}:/root/big.bin && {DOCKER} cp -q {peer}:/root/big.bin {other}"],
        rounds=bench.effort.copies)
    assert back.read_bytes() == other.read_bytes() == source.read_bytes()
    yield told(tell, "docker-copy", "put and get of 100 MB / docker cp both ways", series, COPY)


def containers(bench, tell):
    with engine_with_python():
        yield from once(bench, tell)
        with peer_box() as peer, live_box(bench) as ours:
            yield from live(bench, tell, ours, peer)
            yield from copies(bench, tell, ours, peer)


GROUPS = {"docker": containers}
