# SPDX-License-Identifier: Apache-2.0
"""Real engines for tests: a private Docker, a private Podman, and nothing left of them.

An engine lives in namespaces of its own (mounts, network, processes), below one directory, and its
containers in groups below one name.  The first process of these is no engine but an init, as on a
machine: an engine that is killed leaves its shims and containers, and can be started again.  When the
init ends the kernel ends everything that it started; then the groups are empty and are removed, and so
is the directory.  Nothing is installed here; what is missing raises Missing.
"""
import contextlib
import http.client
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from lib import host, testbed

START_WITHIN = 60
DOCKERD = "/usr/sbin/dockerd"
PODMAN = "/usr/bin/podman"
# Where its containers' groups are, and how their names begin; its monitors have one there, too.
PODMAN_GROUP = "libpod_parent"
PODMAN_TAG = "libpod-"
# A wall that its containers have only where all groups are v2's.
PODMAN_LACKS = "" if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "cgroup_ns"
BUSYBOX = "/bin/busybox"

# The mounts of the machine stay visible but what is mounted below stays here; /run and docker's
# own settings are fresh, so that no other engine's sockets, locks and key are met.
# Killed with who started it, and with it all below.
APART = ["setpriv", "--pdeathsig", "KILL", "--",
         "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
         "--propagation", "private", "--"]
SETTLE = ("mount -t tmpfs tmpfs /run && ip link set lo up && "
          "{ ! test -d /etc/docker || mount -t tmpfs tmpfs /etc/docker; } && ")

# Ends with an engine that ends by itself, not with one that is killed: AGAIN starts that anew.
AGAIN = signal.SIGUSR1
INIT = """
import os, signal, sys
HEARD = {signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)

def start():
    return os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, setsigmask=[],
                          setsigdef=[signal.SIGPIPE])

def reap():
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return 0, 0

engine, is_over, is_wanted = start(), False, False
while True:
    heard = signal.sigwait(HEARD)
    # The word to start anew can come before that of the end: of a process with many threads it is
    # seen from outside that it is dying, some time before it can be waited for.
    is_wanted |= heard == signal.SIGUSR1
    if heard == signal.SIGTERM:
        is_over = True
        if not engine:
            sys.exit()
        os.kill(engine, signal.SIGTERM)
    while (ended := reap())[0]:
        if ended[0] == engine:
            engine = 0
            if is_over or os.WIFEXITED(ended[1]):
                sys.exit()
    if is_wanted and not engine:
        engine, is_wanted = start(), False
"""

CONTAINERS_CONF = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=32768:32768"]
cgroups = "enabled"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


class Missing(Exception):
    pass


class Engine:
    """A running engine: `socket`, and as much of its API as tests need to prepare things."""

    def __init__(self, kind, base, program):
        self.kind = kind
        self.program = program
        self.base = Path(base)
        self.socket = self.base / "engine.sock"
        self.process = None
        self.log = self.base / "log"

    @property
    def host(self):
        return f"unix://{self.socket}"

    def ask(self, method, path, body=None, headers=None):
        """(status, bytes) of a request."""
        connection = _UnixConnection(str(self.socket))
        try:
            if isinstance(body, (dict, list)):
                body = json.dumps(body).encode()
                headers = {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path):
        status, data = self.ask("GET", path)
        assert status == 200, (status, data)
        return json.loads(data)

    def answers(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.ask("GET", "/_ping")[0] == 200
        return False

    def containers(self):
        return self.get("/containers/json?all=1")

    @property
    def init(self):
        """The first process of its namespaces."""
        return host.descendants(self.process.pid)[0]

    def daemon(self):
        """The engine itself, as a process; None while it is dead."""
        found = [process for process in host.descendants(self.init.pid)
                 if process.ppid == self.init.pid and process.comm == os.path.basename(self.program)]
        return found[0] if found else None

    def start_again(self):
        """After its daemon was killed."""
        assert host.until(lambda: not self.daemon(), within=10)
        os.kill(self.init.pid, AGAIN)
        assert host.until(self.answers, START_WITHIN, step=0.05), host.read(self.log)[-4000:]

    def import_busybox(self, name="localhost/busybox:test"):
        """An image out of Debian's static busybox.  Podman takes the tag only from `repo`."""
        status, data = self.ask("POST", f"/images/create?fromSrc=-&repo={name}",
                                busybox_tar(), {"Content-Type": "application/x-tar"})
        assert status == 200 and b"errorDetail" not in data, data
        return name


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def busybox_tar():
    """A root file system with one program and its names."""
    if not os.path.exists(BUSYBOX):
        raise Missing("busybox-static is not installed")
    data = Path(BUSYBOX).read_bytes()
    names = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True).stdout
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ("bin", "tmp", "etc", "dev", "proc", "sys", "usr"):
            _add(tar, folder, tarfile.DIRTYPE)
        _add(tar, "usr/bin", tarfile.SYMTYPE, link="../bin")
        _add(tar, "etc/passwd", tarfile.REGTYPE, b"root:x:0:0:root:/:/bin/sh\n", mode=0o644)
        _add(tar, "bin/busybox", tarfile.REGTYPE, data)
        for name in names.split():
            if name != "busybox":
                _add(tar, f"bin/{name}", tarfile.SYMTYPE, link="busybox")
    return out.getvalue()


def _add(tar, name, kind, data=b"", link="", mode=0o755):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(data), link
    tar.addfile(entry, io.BytesIO(data))


FETCH = ("import sys, urllib.request as r\n"
         "sys.stdout.write(r.urlopen(sys.argv[1], timeout=10).read().decode())")


def fetch(engine, url):
    """What a server says in the engine's network, where the ports of its machine are; None."""
    done = subprocess.run(["nsenter", f"--net=/proc/{engine.init.pid}/ns/net", "/usr/bin/python3", "-IS",
                           "-c", FETCH, url], capture_output=True, timeout=30, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


def _groups(name):
    return host.group_directories(lambda found: found == name)


def _remove_groups(names):
    """They are empty of processes by now, or will be at once."""
    for name in names:
        for top in _groups(name):
            for folder, _, _ in os.walk(top, topdown=False):
                host.until(lambda: host.remove_directory(folder), within=5)


def _stop(engine):
    """Ends the engine and all below it, and waits until they are gone."""
    below = host.descendants(engine.process.pid)
    for process in below[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        engine.process.wait(15)
    engine.process.kill()
    engine.process.wait()
    host.until(lambda: not any(process.is_alive() for process in below), within=10)
    host.reap_orphans()


@contextlib.contextmanager
def _running(kind, program, command, groups, environment=None, settle=lambda engine: ""):
    if not os.path.exists(program):
        raise Missing(f"{program} is not installed")
    base = tempfile.mkdtemp(prefix="gbengine-", dir="/var/tmp")
    engine = Engine(kind, base, program)
    made = [name for name in groups if not _groups(name)]
    try:
        with open(engine.log, "wb") as log:
            engine.process = subprocess.Popen(
                [*APART, "sh", "-c", SETTLE + settle(engine) + 'exec "$@"', "sh",
                 "/usr/bin/python3", "-IS", "-c", INIT, program, *command(engine)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=base,
                env={**os.environ, **(environment(engine) if environment else {})})
        ready = host.until(lambda: engine.answers() or engine.process.poll() is not None,
                           START_WITHIN, step=0.05)
        if not ready or engine.process.poll() is not None:
            raise RuntimeError(f"{kind} does not start:\n{host.read(engine.log)[-4000:]}")
        yield engine
    finally:
        if engine.process:
            _stop(engine)
        _remove_groups(made)
        shutil.rmtree(base)


def programs():
    """Where the Docker under test has its programs: GLOVEBOX_DOCKER names one of tools/testbed."""
    version = os.environ.get("GLOVEBOX_DOCKER")
    if not version:
        return Path(DOCKERD).parent
    try:
        return testbed.directory(f"docker{version}") / "bin"
    except testbed.Missing as why:
        if os.environ.get("CI"):
            raise Missing(str(why)) from why
        pytest.skip(str(why))  # for want of a network


def docker(*arguments, disk=None, remap=None):
    """A private Docker; a context manager.  disk: the size of all that it can keep, "24m".  remap: the first of
    65536 ids that its containers have instead of the machine's (userns-remap)."""
    group = f"gbengine-{os.getpid()}"
    folder = programs()

    def command(engine):
        base = engine.base
        (base / "daemon.json").write_text("{}")
        return ["--config-file", str(base / "daemon.json"), "--data-root", str(base / "data"),
                "--exec-root", str(base / "exec"), "--pidfile", str(base / "pid"),
                "--host", engine.host, "--cgroup-parent", f"/{group}", "--group", "root",
                *(["--userns-remap", "nobody:nogroup"] if remap else []), *arguments]

    def settle(engine):
        data = engine.base / "data"
        lines = f"mkdir {data} && mount -t tmpfs -o size={disk} tmpfs {data} && " if disk else ""
        if remap:
            ids = engine.base / "ids"
            ids.write_text(f"nobody:{remap}:65536\nnogroup:{remap}:65536\n")
            engine.base.chmod(0o711)
            lines += f"mount --bind {ids} /etc/subuid && mount --bind {ids} /etc/subgid && "
        return lines

    def environment(engine):
        # containerd writes its stacks there when it was stopped
        return {"TMPDIR": str(engine.base), "PATH": f"{folder}:{os.environ['PATH']}"}

    return _running("docker", str(folder / "dockerd"), command, [group], environment, settle)


def podman():
    """A private Podman; a context manager."""

    def command(engine):
        base = engine.base
        (base / "containers.conf").write_text(CONTAINERS_CONF)
        return ["--root", str(base / "root"), "--runroot", str(base / "runroot"),
                "--tmpdir", str(base / "tmp"), "--cgroup-manager=cgroupfs",
                "system", "service", "--time=0", engine.host]

    def environment(engine):
        return {"CONTAINERS_CONF": str(engine.base / "containers.conf"),
                "TMPDIR": str(engine.base)}

    return _running("podman", PODMAN, command, [PODMAN_GROUP], environment)


def under_test():
    """The engine that boxes are tried on: a Docker, or with GLOVEBOX_DOCKER=podman a Podman."""
    return podman() if os.environ.get("GLOVEBOX_DOCKER") == "podman" else docker()
