# SPDX-License-Identifier: Apache-2.0
"""Rows about the network of a box: what a request costs through the redirect and through a port, beside the same
request on this machine's loopback, both on one connection that stays open; what a connection costs from its beginning
to its first answer; and how fast a download and an upload are, beside the same program without a box."""
import contextlib
import json
import os
import socket
import statistics
import subprocess
import threading

MIB = 1 << 20
PYTHON = "/usr/bin/python3"
NAME = "server.test"
MORE_US = 150
RATE = 0.5
PIECES = 15

# Answers 100 bytes to 100 bytes, on as many connections as come.
SERVER = """import socket, sys, threading
def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while len(c.recv(100)) == 100:
        c.sendall(bytes(100))
s = socket.create_server((sys.argv[1], int(sys.argv[2])))
print(s.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""

# Median microseconds of a request.
CLIENT = """import socket, statistics, sys, time
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
took = []
for _ in range(int(sys.argv[3])):
    began = time.perf_counter_ns()
    s.sendall(bytes(100))
    assert len(s.recv(100)) == 100
    took.append(time.perf_counter_ns() - began)
print(statistics.median(took) / 1000)
"""


# Median microseconds of a connection, a request and its answer; the name is looked up once before.
CONNECTOR = """import socket, statistics, sys, time
address = socket.gethostbyname(sys.argv[1])
took = []
for _ in range(int(sys.argv[3])):
    began = time.perf_counter_ns()
    s = socket.create_connection((address, int(sys.argv[2])))
    s.sendall(bytes(100))
    assert len(s.recv(100)) == 100
    took.append(time.perf_counter_ns() - began)
    s.close()
print(statistics.median(took) / 1000)
"""


@contextlib.contextmanager
def started(words, **more):
    """A server; its first line."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **more)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def named(bench, words):
    """A command in whose mount namespace NAME is this machine."""
    hosts = bench.scratch / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {NAME}\n")
    return ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts), *words]


def figure(words, **more):
    return float(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **more).stdout)


def latency_row(tell, name, what, ours, peer, limit=MORE_US):
    more = statistics.median(ours) - statistics.median(peer)
    return tell(name, what, f"{statistics.median(ours):.0f} µs", f"{statistics.median(peer):.0f} µs", more, limit,
                unit=" µs", samples={"ours_us": ours, "peer_us": peer})


def from_box(bench, client, requests):
    """Figures of a client in a box and outside, in turn."""
    with started([PYTHON, "-c", SERVER, "127.0.0.1", "0"]) as port:
        ours, peer = [], []
        for _ in range(PIECES):
            words = [PYTHON, "-c", client, NAME, port, str(requests)]
            ours.append(figure(named(bench, [bench.glovebox, "exec", "--net", f"{NAME},127.0.0.1", "--", *words])))
            peer.append(figure([PYTHON, "-c", client, "127.0.0.1", port, str(requests)]))
    return ours, peer


def redirect(bench, tell):
    ours, peer = from_box(bench, CLIENT, bench.effort.requests)
    yield latency_row(tell, "net-redirect", "a request from a box - the same from outside", ours, peer)


def connect(bench, tell):
    ours, peer = from_box(bench, CONNECTOR, bench.effort.requests // 10)
    yield latency_row(tell, "net-connect", "a connection from a box and its first answer - the same from outside", ours,
                      peer, limit=None)


def port(bench, tell):
    box = subprocess.run([bench.glovebox, "box", "create", "--port", "0:3000", "--json"], check=True,
                         capture_output=True, text=True)
    document = json.loads(box.stdout)
    leads = str(document["ports"][0]["host_port"])
    try:
        server = [bench.glovebox, "box", "run", document["id"], "--timeout", "10m", "--", PYTHON, "-c", SERVER,
                  "127.0.0.1", "3000"]
        with started(server), started([PYTHON, "-c", SERVER, "127.0.0.1", "0"]) as direct:
            ours, peer = [], []
            for _ in range(PIECES):
                for figures, at in ((ours, leads), (peer, direct)):
                    figures.append(figure([PYTHON, "-c", CLIENT, "127.0.0.1", at, str(bench.effort.requests)]))
    finally:
        subprocess.run([bench.glovebox, "box", "rm", document["id"]], check=True)
    yield latency_row(tell, "net-port", "a request to a port of a box - to a server outside", ours, peer)


class Warehouse:
    """Gives one file to whoever asks, and takes as much from whoever brings it, again and again."""

    def __init__(self, path):
        self.path = path
        self.size = os.path.getsize(path)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                request = connection.recv(65536)
                if request.startswith(b"PUT"):
                    self._take(connection, request)
                else:
                    self._give(connection)

    def _give(self, connection):
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % self.size)
        with open(self.path, "rb") as file:
            connection.sendfile(file)

    def _take(self, connection, request):
        room = memoryview(bytearray(MIB))
        got = len(request) - request.index(b"\r\n\r\n") - 4
        while got < self.size and (n := connection.recv_into(room)):
            got += n
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


def rate_row(bench, tell_rate, name, port, curl, target):
    """Rates of a script in a box and outside, in turn; it finds the server's address in $0."""
    size = bench.effort.output_bytes
    script = ["sh", "-c", f"truncate -s {size} upload.bin && exec {curl} $0"]
    ours, peer = [], []
    for _ in range(bench.effort.output):
        ours.append(figure(named(bench, [bench.glovebox, "exec", "--timeout", "5m", "--disk", "2g", "--net",
                                         f"{NAME},127.0.0.1", "--", *script, f"http://{NAME}:{port}/"])) / MIB)
        peer.append(figure([*script, f"http://127.0.0.1:{port}/"], cwd=bench.scratch) / MIB)
    shown = [f"{statistics.median(values):.0f} MiB/s" for values in (ours, peer)]
    return tell_rate(name, f"curl of {size // MIB} MiB in a box, rate / outside", *shown,
                     statistics.median(ours) / statistics.median(peer), target,
                     samples={"ours_mib_s": ours, "peer_mib_s": peer})


def rates(bench, tell_rate):
    path = bench.scratch / "download.bin"
    with open(path, "wb") as file:
        file.truncate(bench.effort.output_bytes)
    warehouse = Warehouse(path)
    try:
        yield rate_row(bench, tell_rate, "net-download", warehouse.port, "curl -sS -o /dev/null -w '%{speed_download}'", RATE)
        yield rate_row(bench, tell_rate, "net-upload", warehouse.port,
                       "curl -sS -o /dev/null -w '%{speed_upload}' -H Expect: -T upload.bin", None)
    finally:
        warehouse.close()
        path.unlink()


def network(bench, at_most, at_least):
    yield from redirect(bench, at_most)
    yield from connect(bench, at_most)
    yield from port(bench, at_most)
    yield from rates(bench, at_least)
