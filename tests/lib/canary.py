# SPDX-License-Identifier: Apache-2.0
"""Canaries: what no box may read, reach or change.

Each is a token that begins with one random prefix, so that a box can search for all of them with
one word, which it is given backwards: its own arguments must not look like a find.  check() fails
when a listener was reached or a planted thing has changed.
"""
import contextlib
import ctypes
import os
import secrets
import selectors
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.mq_open.restype = ctypes.c_int

IPC_CREAT, IPC_EXCL, IPC_RMID = 0o1000, 0o2000, 0
SYS_ADD_KEY, SYS_KEYCTL = 248, 250
KEYCTL_SETPERM, KEYCTL_UNLINK, KEYCTL_READ = 5, 9, 11
USER_KEYRING = -4
ALL_RIGHTS = 0x3F3F3F3F


def _checked(value, what):
    if value is None or value == -1 or value == ctypes.c_void_p(-1).value:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return value


class Listeners:
    """Sockets on the host, served by one thread that writes down who came."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.sockets = []
        self.visits = []
        self.stop_read, self.stop_write = os.pipe()
        self.selector.register(self.stop_read, selectors.EVENT_READ, None)
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def add(self, name, family, kind, address):
        sock = socket.socket(family, kind)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        if kind != socket.SOCK_DGRAM:
            sock.listen(8)
        sock.setblocking(False)
        self.sockets.append(sock)
        self.selector.register(sock, selectors.EVENT_READ, name)
        return sock.getsockname()

    def _serve(self):
        while True:
            for key, _ in self.selector.select():
                if key.data is None:
                    return
                with contextlib.suppress(BlockingIOError):
                    if key.fileobj.type == socket.SOCK_DGRAM:
                        key.fileobj.recv(64)
                    else:
                        key.fileobj.accept()[0].close()
                    self.visits.append(key.data)

    def close(self):
        os.write(self.stop_write, b"x")
        self.thread.join()
        self.selector.close()
        for sock in self.sockets:
            sock.close()
        os.close(self.stop_read)
        os.close(self.stop_write)


def own_addresses():
    """This machine's addresses as others would name it."""
    found = subprocess.run(["ip", "-brief", "address"], capture_output=True, text=True)
    words = [word.split("/")[0] for word in found.stdout.split() if "/" in word]
    return sorted(set(words) - {"127.0.0.1", "::1"})


def gateways():
    """Who this machine sends to what is not near."""
    found = []
    for family in ("-4", "-6"):
        told = subprocess.run(["ip", family, "route", "show", "default"], capture_output=True, text=True)
        words = told.stdout.split()
        found += [words[i + 1] for i, word in enumerate(words[:-1]) if word == "via"]
    return found


class Canaries:
    def __init__(self, base):
        self.base = Path(base)
        self.prefix = "gb" + secrets.token_hex(10)
        self.tokens = {}
        self.listeners = Listeners()
        self.tcp_port = self.udp_port = 0
        self.abstract = f"canary-{os.getpid()}"
        self.socket_path = self.base / "canary.sock"
        self.mq_name = f"/canary-{os.getpid()}"
        self.shm_key = 0x63000000 + os.getpid()
        self.key_name = f"canary-{os.getpid()}"
        self.files = {}

    def token(self, name):
        """The token of that name, made when first asked for."""
        return self.tokens.setdefault(name, f"{self.prefix}-{name}-{secrets.token_hex(8)}")

    @property
    def reversed_prefix(self):
        return self.prefix[::-1]

    @property
    def environment(self):
        """For the environment of glovebox itself."""
        return {
            "CANARY": self.token("env"),
            "OPENAI_API_KEY": self.token("env-key"),
            "AWS_SECRET_ACCESS_KEY": self.token("env-aws"),
        }

    def plant(self):
        self._plant_files()
        self._plant_sockets()
        self._plant_ipc()
        self._plant_key()
        self.bystander = subprocess.Popen(
            ["/bin/sh", "-c", "read line", self.token("argv")], stdin=subprocess.PIPE,
            env={"CANARY": self.token("bystander-env")})

    def _plant_files(self):
        secret = self.base / "secret"
        open_to_all = self.base / "readable"
        for path, mode, name in ((secret, 0o600, "file"), (open_to_all, 0o644, "readable"),
                                 (Path(f"/etc/canary-{os.getpid()}"), 0o600, "etc"),
                                 (Path(f"/opt/canary-{os.getpid()}"), 0o644, "opt"),
                                 (Path(f"/root/canary-{os.getpid()}"), 0o644, "root")):
            path.write_text(self.token(name) + "\n")
            path.chmod(mode)
            self.files[path] = (self.token(name) + "\n", mode)

    def _plant_sockets(self):
        add, stream, dgram = self.listeners.add, socket.SOCK_STREAM, socket.SOCK_DGRAM
        add("abstract", socket.AF_UNIX, stream, "\0" + self.abstract)
        add("abstract dgram", socket.AF_UNIX, dgram, "\0" + self.abstract + "-dgram")
        add("path", socket.AF_UNIX, stream, str(self.socket_path))
        self.socket_path.chmod(0o777)
        self.tcp_port = add("tcp 0.0.0.0", socket.AF_INET, stream, ("0.0.0.0", 0))[1]
        self.loop_port = add("tcp 127.0.0.1", socket.AF_INET, stream, ("127.0.0.1", 0))[1]
        self.loop6_port = add("tcp ::1", socket.AF_INET6, stream, ("::1", 0))[1]
        self.tcp6_port = add("tcp ::", socket.AF_INET6, stream, ("::", 0))[1]
        self.udp_port = add("udp 0.0.0.0", socket.AF_INET, dgram, ("0.0.0.0", 0))[1]
        # Reaches across network namespaces: the hypervisor's own family.
        with contextlib.suppress(OSError, AttributeError):
            add("vsock", socket.AF_VSOCK, stream, (socket.VMADDR_CID_ANY, self.tcp_port))
        self.listeners.thread.start()

    def _plant_ipc(self):
        flags = IPC_CREAT | IPC_EXCL | 0o666
        self.shm = _checked(_libc.shmget(self.shm_key, 4096, flags), "shmget")
        address = _checked(_libc.shmat(self.shm, None, 0), "shmat")
        text = self.token("shm").encode() + b"\0"
        ctypes.memmove(address, text, len(text))
        _libc.shmdt(ctypes.c_void_p(address))
        self.msg = _checked(_libc.msgget(self.shm_key, flags), "msgget")
        name = self.mq_name.encode()
        queue = _checked(_libc.mq_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666, None),
                         "mq_open")
        text = self.token("mq").encode()
        _checked(_libc.mq_send(queue, text, len(text), 0), "mq_send")
        os.close(queue)

    def _plant_key(self):
        text = self.token("key").encode()
        self.key = _checked(
            _libc.syscall(SYS_ADD_KEY, b"user", self.key_name.encode(), text, len(text),
                          USER_KEYRING), "add_key")
        _checked(_libc.syscall(SYS_KEYCTL, KEYCTL_SETPERM, self.key, ALL_RIGHTS), "setperm")

    def remove(self):
        self.listeners.close()
        self.bystander.stdin.close()
        self.bystander.wait()
        _libc.shmctl(self.shm, IPC_RMID, None)
        _libc.msgctl(self.msg, IPC_RMID, None)
        _libc.mq_unlink(self.mq_name.encode())
        _libc.syscall(SYS_KEYCTL, KEYCTL_UNLINK, self.key, USER_KEYRING)
        for path in self.files:
            path.unlink(missing_ok=True)

    def check(self):
        """Nobody came, nothing changed."""
        assert not self.listeners.visits, f"reached from a box: {self.listeners.visits}"
        for path, (text, mode) in self.files.items():
            assert path.read_text() == text, f"{path} was written"
            assert path.stat().st_mode & 0o7777 == mode, f"the mode of {path} was changed"
        address = _checked(_libc.shmat(self.shm, None, 0o10000), "shmat")
        text = ctypes.string_at(address).decode()
        _libc.shmdt(ctypes.c_void_p(address))
        assert text == self.token("shm"), "the shared memory was written"
        space = ctypes.create_string_buffer(256)
        size = _libc.syscall(SYS_KEYCTL, KEYCTL_READ, self.key, space, 256)
        assert space.raw[:max(size, 0)].decode() == self.token("key"), "the key was changed"

    def found_in(self, *texts):
        """Names of the tokens that occur in any of the texts."""
        blob = b"\n".join(t if isinstance(t, bytes) else str(t).encode() for t in texts)
        names = [name for name, token in self.tokens.items() if token.encode() in blob]
        if not names and self.prefix.encode() in blob:
            names.append("a part of one")
        return names


@contextlib.contextmanager
def planted():
    base = tempfile.mkdtemp(prefix="gbtest-canary-", dir="/var/tmp")
    os.chmod(base, 0o755)
    birds = Canaries(base)
    try:
        birds.plant()
        try:
            yield birds
        finally:
            birds.remove()
    finally:
        shutil.rmtree(base)
