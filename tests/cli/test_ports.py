# SPDX-License-Identifier: Apache-2.0
"""Ports of this machine that lead to a box that lives on."""
import concurrent.futures
import contextlib
import hashlib
import http.client
import os
import signal
import socket
import struct
import threading
import time

import pytest

from lib import host, kept, pace
from lib.net import own_port
from test_box_net import switchboards

MIB = 1 << 20
MUCH = pace.count(check=64, proof=10240) * MIB
IN_A_ROW = pace.count(check=300, proof=1000)

SERVER = """import hashlib, os, socket, sys, threading
def page(c):
    text = b''
    while b'\\r\\n\\r\\n' not in text:
        piece = c.recv(65536)
        if not piece:
            return
        text += piece
    c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + text.split(b' ')[1])
def echo(c):
    while piece := c.recv(1 << 18):
        c.sendall(piece)
def count(c):
    n = 0
    while piece := c.recv(1 << 18):
        n += len(piece)
    c.sendall(b'%d bytes' % n)
def flood(c):
    while True:
        c.sendall(b'x' * 65536)
def deaf(c):
    c.sendall(b'go away')
def rude(c):
    c.recv(1)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\\1\\0\\0\\0\\0\\0\\0\\0')
def serve(c):
    try:
        with c:
            KINDS[sys.argv[1]](c)
    except OSError:
        print('broken', flush=True)
KINDS = dict(page=page, echo=echo, count=count, flood=flood, deaf=deaf, rude=rude)
host = sys.argv[2] if len(sys.argv) > 2 else '127.0.0.1'
s = socket.create_server((host, 3000), backlog=512, family=socket.AF_INET6 if ':' in host else socket.AF_INET)
print('ready', flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


class Served:
    """A box whose port 3000 some server has, and the port of this machine that leads there."""

    def __init__(self, name, port, living):
        self.name, self.port, self.living = name, port, living

    def connect(self, timeout=60):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def get(self, path):
        with self.connect() as s:
            s.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            return read_all(s).partition(b"\r\n\r\n")[2].decode()


def read_all(s):
    pieces = []
    while piece := s.recv(1 << 18):
        pieces.append(piece)
    return b"".join(pieces)


def read_some(s, size):
    while size > 0:
        size -= len(s.recv(min(size, 1 << 18)))


def ports_of(name, **more):
    done = kept.call("ports", name, "--json", **more)
    assert done.returncode == 0, done
    return [(p["host_ip"], p["host_port"], p["port"]) for p in done.document["ports"]]


@contextlib.contextmanager
def served(kind, *options, address="127.0.0.1", as_user=None, limits=("--memory", "1g", "--pids", "1000", "--timeout", "10m")):
    with kept.made("--port", "0:3000", *limits, *options, as_user=as_user) as name:
        (ip, port, inside), = ports_of(name, as_user=as_user)
        assert (ip, inside) == ("127.0.0.1", 3000) and port > 0
        with kept.started(name, f"cat >s.py; exec python3 s.py {kind} {address}", "--timeout", "10m",
                          as_user=as_user) as living:
            living.process.stdin.write(SERVER.encode())
            living.process.stdin.close()
            living.expect(b"ready")
            yield Served(name, port, living)


# ---- what people see ----------------------------------------------------------------------------

def test_a_server_in_a_box_is_reached(host_user):
    with served("page", as_user=host_user) as box:
        assert box.get("/hello") == "/hello"
        lines = kept.call("ports", box.name, as_user=host_user)
        assert lines.out == f"127.0.0.1:{box.port} -> 3000\n".encode(), lines
    assert switchboards() == []


def test_the_number_that_was_chosen_is_told():
    done = kept.call("create", "--port", "0:3000", "-p", "127.0.0.2:0:3001", "--json")
    try:
        first, second = done.document["ports"]
        assert f"Port {first['host_port']} of 127.0.0.1 leads to port 3000".encode() in done.err, done
        assert (second["host_ip"], second["port"]) == ("127.0.0.2", 3001)
        assert kept.listed()[0]["ports"] == [first, second]
    finally:
        kept.call("rm", "--all")


def test_a_box_without_ports_has_none():
    with kept.made() as name:
        done = kept.call("ports", name)
        assert (done.returncode, done.out) == (0, b"") and b"No ports" in done.err, done
        assert ports_of(name) == []


@pytest.mark.parametrize("port", ["x", "", "70000:1", "1:70000", "1:0", "1:2:3:4", "8080", "a.b:1:2", "-1:2", "1:2 "])
def test_what_is_no_port_makes_no_box(port):
    done = kept.call("create", f"--port={port}")
    assert done.returncode == 2 and b"--port" in done.err and done.err.count(b"\n") <= 2, done
    assert kept.listed() == [] and kept.no_keeper()


@pytest.mark.parametrize("ip", ["0.0.0.0", "[::]", "192.0.2.1", "[2001:db8::1]"])
def test_no_port_is_open_to_others(ip):
    done = kept.call("create", f"--port={ip}:0:3000")
    assert done.returncode == 2 and b"loopback" in done.err and b"reverse proxy" in done.err, done
    assert done.err.count(b"\n") == 2 and kept.listed() == [] and kept.no_keeper()


def test_a_port_in_use_makes_no_box():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = kept.call("create", "--port", "0:1", "--port", f"{port}:3000")
        assert done.returncode == 2 and b"in use" in done.err and done.err.count(b"\n") <= 2, done
    assert kept.listed() == [] and kept.no_keeper() and kept.directories() == []
    assert host.until(lambda: switchboards() == [], 30)


def test_the_box_is_reached_and_reaches_nothing():
    with served("page") as box:
        done = kept.call("run", box.name, "--", "python3", "-c",
                         "import socket; socket.create_connection(('192.0.2.1', 80), 5)")
        assert b"Network is unreachable" in done.err, done
        assert box.get("/x") == "/x"


def test_a_port_where_nobody_listens_resets():
    with kept.made("--port", "0:3000") as name:
        (_, port, _), = ports_of(name)
        # The reset may be quicker than the return from connect().
        with pytest.raises(ConnectionResetError), socket.create_connection(("127.0.0.1", port), 20) as s:
            s.sendall(b"anybody?")
            s.recv(1)


@pytest.mark.parametrize("address", ["0.0.0.0", "::1", "::"])
def test_whichever_loopback_it_listens_on(address):
    with served("page", address=address) as box:
        assert box.get("/six") == "/six"


# ---- a real web server --------------------------------------------------------------------------

NODE = """const http = require('http');
http.createServer((q, a) => { a.setHeader('Content-Type', 'text/plain'); a.end(q.url + ' of ' + q.socket.remotePort); })
    .listen(3000, '127.0.0.1', () => console.log('ready'));
"""
OPEN = 100


def test_a_browser_has_a_hundred_connections_open_to_a_web_server():
    """All stand at the same time, and each is kept for several requests."""
    with kept.made("--port", "0:3000", "--memory", "1g", "--pids", "256") as name:
        (_, port, _), = ports_of(name)
        with kept.started(name, "cat >s.js; exec node s.js", "--timeout", "10m") as living:
            living.process.stdin.write(NODE.encode())
            living.process.stdin.close()
            living.expect(b"ready")
            barrier = threading.Barrier(OPEN, timeout=pace.within(30))

            def visit(i):
                client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                with contextlib.closing(client):
                    client.connect()
                    ours = client.sock.getsockname()
                    barrier.wait()
                    told = set()
                    for step in range(3):
                        client.request("GET", f"/{i}/{step}")
                        path, _, peer = client.getresponse().read().decode().partition(" of ")
                        assert path == f"/{i}/{step}"
                        told.add(peer)
                        barrier.wait()
                    assert client.sock.getsockname() == ours
                    return told

            with concurrent.futures.ThreadPoolExecutor(OPEN) as pool:
                peers = list(pool.map(visit, range(OPEN)))
            # One connection in the box for each outside, and the same one for all its requests.
            assert {len(told) for told in peers} == {1} and len(set.union(*peers)) == OPEN


# ---- many, and much -----------------------------------------------------------------------------

def test_a_hundred_at_once_and_many_in_a_row():
    with served("page") as box:
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            got = list(pool.map(lambda i: box.get(f"/{i}"), range(300)))
        assert got == [f"/{i}" for i in range(300)]
        assert all(box.get(f"/{i}") == f"/{i}" for i in range(IN_A_ROW))


def test_two_hundred_stay_open_and_others_wait():
    """More than can be open at a time get their turn when one ends."""
    with served("echo") as box, contextlib.ExitStack() as stack:
        held = [stack.enter_context(box.connect()) for _ in range(200)]
        for i, s in enumerate(held):
            s.sendall(b"%d" % i)
        assert [int(s.recv(10)) for s in held] == list(range(200))
        more = [stack.enter_context(box.connect()) for _ in range(100)]
        for s in more:
            s.sendall(b"more")
        for s in held:
            s.close()
        assert [s.recv(10) for s in more] == [b"more"] * 100


def memory_kib(pid):
    fields = dict(line.split(":", 1) for line in host.read(f"/proc/{pid}/smaps_rollup").splitlines()[1:])
    return int(fields["Pss"].split()[0])


def test_much_goes_both_ways_unchanged_little_is_held_and_another_box_is_none_the_slower():
    noise = os.urandom(2 * MIB)
    with served("page") as other, served("echo") as box, box.connect() as s:
        digest, back, peak, took = hashlib.sha256(), hashlib.sha256(), [], []
        watched = [p.pid for p in [*switchboards(), *kept.keepers()]]
        assert len(watched) == 4

        def send():
            for i in range(MUCH // MIB):
                data = noise[i * 7919 % MIB:][:MIB]
                s.sendall(data)
                digest.update(data)
            s.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        got = 0
        while piece := s.recv(1 << 20):
            got += len(piece)
            back.update(piece)
            if got % (8 * MIB) < len(piece):
                peak += [memory_kib(pid) for pid in watched]
                began = time.monotonic()
                assert other.get("/x") == "/x"
                took.append(time.monotonic() - began)
        sender.join()
        assert got == MUCH and back.digest() == digest.digest(), box.living.end()
        assert max(peak) < 64 << 10, peak
        assert sorted(took)[len(took) // 2] < pace.within(0.1) and max(took) < pace.within(2), sorted(took)[-5:]


def test_a_slow_reader_holds_nobody_up_and_little_is_held():
    with served("flood") as box, box.connect() as slow:
        slow.recv(10)
        watched = [p.pid for p in [*switchboards(), *kept.keepers()]]
        for _ in range(5):
            with box.connect() as quick:
                read_some(quick, 1 << 16)
        assert max(memory_kib(pid) for pid in watched) < 64 << 10
        done = kept.call("run", box.name, "--", "echo", "quick")
        assert done.out == b"quick\n", done
        read_some(slow, 8 << 20)


# ---- ends ---------------------------------------------------------------------------------------

def test_one_direction_ends_before_the_other():
    with served("count") as box, box.connect() as s:
        s.sendall(b"x" * 300000)
        s.shutdown(socket.SHUT_WR)
        assert read_all(s) == b"300000 bytes"


def test_a_client_that_breaks_off_is_noticed_inside():
    with served("flood") as box:
        with box.connect() as s:
            s.recv(1000)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        box.living.expect(b"broken")


def test_a_server_that_only_talks_is_heard():
    with served("deaf") as box, box.connect() as s:
        assert read_all(s) == b"go away"


def is_closed(port):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return True
    return False


def test_ports_close_with_the_box():
    with served("echo") as box, box.connect() as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
        assert kept.call("rm", box.name).returncode == 0
        assert is_closed(box.port)
        with contextlib.suppress(ConnectionResetError):
            assert s.recv(1) == b""
    assert switchboards() == []


def test_without_its_switchboard_ports_are_closed_and_the_box_goes_on():
    with served("echo") as box, box.connect() as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
        board, = switchboards()
        os.kill(board.pid, signal.SIGKILL)
        with contextlib.suppress(ConnectionResetError):
            assert s.recv(1) == b""
        assert host.until(lambda: is_closed(box.port), 20)
        assert b"closed" in kept.call("ports", box.name).out
        assert kept.call("run", box.name, "--", "echo", "on").out == b"on\n"


def test_with_its_keeper_ports_are_closed():
    with served("echo") as box:
        keeper, = kept.keepers()
        os.kill(keeper.pid, signal.SIGKILL)
        assert host.until(lambda: is_closed(box.port) and switchboards() == [], 20)


def test_the_same_port_can_be_had_again():
    port = own_port()
    with kept.made("--port", f"{port}:3000"):
        # Nobody listens in the box: it is reset, at times before this end knows that it stood.
        with contextlib.suppress(ConnectionResetError), socket.create_connection(("127.0.0.1", port), 20):
            pass
    for _ in range(3):
        with kept.made("--port", f"{port}:3000") as name:
            assert ports_of(name) == [("127.0.0.1", port, 3000)]
