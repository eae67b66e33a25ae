# SPDX-License-Identifier: Apache-2.0
"""The world around a box with rules for its network: names, servers, and a kernel without rules.

Names are those of a hosts file that only the command sees, in a mount namespace of its own; servers
listen on 127.0.0.1, which a rule must list because it is no public address.
"""
import contextlib
import itertools
import os
import platform
import socket
import struct
import threading

from lib import place

NAMES = "127.0.0.1 one.test two.test deep.one.test\n192.0.2.1 far.test\n::1 six.test\n"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"

# Where the proxy of a box listens.
PROXY = "127.0.0.1:3128"

# A kernel without nf_tables, for everything that is started below: no such socket can be had.
_SOCKET = {"x86_64": 41, "aarch64": 198}
WITHOUT_RULES = f"""
import ctypes, os, struct, sys
insns = [(0x20, 0, 0, 0), (0x15, 0, 5, {_SOCKET.get(platform.machine(), -1)}), (0x20, 0, 0, 16), (0x15, 0, 3, 16),
         (0x20, 0, 0, 32), (0x15, 0, 1, 12), (6, 0, 0, 0x50000 | 93), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *insn) for insn in insns))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(insns), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(prog)), 0, 0):
    sys.exit(f"no filter: {{ctypes.get_errno()}}")
os.execv(sys.argv[1], sys.argv[1:])
"""


# Below the range out of which the kernel gives ports to whoever names none; a part for each process.
_PORTS_FIRST, _PORTS, _PORTS_EACH = 10000, 20000, 50
_tried = itertools.count()


def own_port():
    """A port of 127.0.0.1 that nobody has and nobody gets by chance, before it is used or afterwards."""
    first = _PORTS_FIRST + os.getpid() * _PORTS_EACH % _PORTS
    for _ in range(_PORTS_EACH):
        port = first + next(_tried) % _PORTS_EACH
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(f"no port from {first} on is free")


class Server:
    """Answers every connection with handler(connection) in a thread of its own; counts them."""

    def __init__(self, handler, address="127.0.0.1"):
        self.handler = handler
        self.seen = 0
        self.socket = socket.create_server((address, 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        self.threads = []
        self.main = threading.Thread(target=self._serve)
        self.main.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.seen += 1
            thread = threading.Thread(target=self._answer, args=(connection,))
            thread.start()
            self.threads.append(thread)

    def _answer(self, connection):
        with connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            self.handler(connection)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.main.join()
        for thread in self.threads:
            thread.join()


class NameServer:
    """A name server of the host's, on an address of loopback that is its own.

    records(name, kind) gives addresses, or None for a name that does not exist; every question is
    in `questions`.
    """

    KINDS = {1: socket.AF_INET, 28: socket.AF_INET6}

    def __init__(self, records):
        self.records = records
        self.questions = []
        self.address = f"127.88.{os.getpid() >> 8 & 255}.{os.getpid() % 255 + 1}"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((self.address, 53))
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        while True:
            query, sender = self.socket.recvfrom(2048)
            if not query:
                return
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
                at += 1 + query[at]
            kind = struct.unpack("!H", query[at + 1:at + 3])[0]
            name = ".".join(labels).lower()
            self.questions.append((name, kind))
            found = self.records(name, kind)
            answers = [socket.inet_pton(self.KINDS[kind], one) for one in found or () if kind in self.KINDS]
            self.socket.sendto(
                query[:2] + struct.pack("!5H", 0x8180 if found is not None else 0x8183, 1, len(answers), 0, 0)
                + query[12:at + 5] + b"".join(b"\xc0\x0c" + struct.pack("!2HIH", kind, 1, 0, len(a)) + a for a in answers),
                sender)

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"", (self.address, 53))
        self.thread.join()
        self.socket.close()


@contextlib.contextmanager
def serving():
    """serve(handler) makes a Server that ends with the block."""
    with contextlib.ExitStack() as stack:
        def make(handler, address="127.0.0.1"):
            server = Server(handler, address)
            stack.callback(server.close)
            return server
        yield make


def read_head(connection):
    """The head of a request and what came behind it."""
    request = b""
    while b"\r\n\r\n" not in request:
        piece = connection.recv(65536)
        if not piece:
            return None, b""
        request += piece
    return request.split(b"\r\n\r\n", 1)


def page(connection, body=b"a page\n"):
    head, _ = read_head(connection)
    if head is not None:
        connection.sendall(HTTP % len(body) + body)


def command(hosts, words, *, without_rules=False, target="/etc/hosts"):
    """The words of a command that sees these names, and perhaps a kernel without rules."""
    if without_rules:
        words = ["/usr/bin/python3", "-c", WITHOUT_RULES, *words]
    return ["unshare", "-m", "sh", "-c", f'mount --bind "$0" {target} && exec "$@"', str(hosts), *words]


def exec_words(rules, *words, options=()):
    return [str(place.binary()), "exec", "--json", "--net", rules, *options, "--", *words]


def python(code, *names):
    return ["python3", "-c", "import socket, sys, time\n" + code, *map(str, names)]


def decisions(done):
    return [(d["name"], d["port"], d["allowed"], d["reason"]) for d in done.document["network"]["decisions"]]
