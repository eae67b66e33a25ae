# SPDX-License-Identifier: Apache-2.0
"""N01 on a machine with a gateway, a bridge, and a neighbour on it: no frame of a box is seen there.

The machine is a network namespace of the test's own, and so is the world around it.
"""
import contextlib
import subprocess

import pytest

import sheet as sheets
from lib import box, host, place as places

# In a namespace: answers on port 53 of every address, and counts the frames of all devices but
# loopback, without those that the kernel sends by itself (multicast listeners, routers wanted).
WATCH = """
import selectors, socket, sys
OWN = (bytes.fromhex("333300000016"), bytes.fromhex("333300000002"))
frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
server = socket.create_server(("::", 53), family=socket.AF_INET6, dualstack_ipv6=True)
datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
datagrams.bind(("::", 53))
chosen = selectors.DefaultSelector()
for one in (frames, server, datagrams, sys.stdin):
    chosen.register(one, selectors.EVENT_READ)
seen = visits = 0
print("ready", flush=True)
while True:
    for key, _ in chosen.select():
        if key.fileobj is frames:
            data, (device, *_) = frames.recvfrom(2048)
            seen += device != "lo" and data[:6] not in OWN
        elif key.fileobj is server:
            server.accept()[0].close()
            visits += 1
        elif key.fileobj is datagrams:
            datagrams.recv(2048)
            visits += 1
        elif sys.stdin.readline():
            print(seen, visits, flush=True)
        else:
            sys.exit()
"""
CONNECT = "import socket\nsocket.create_connection(('10.99.2.1', 53), 30)\nsocket.create_connection(('fd99:1::2', 53), 30)"

# HOST and WORLD are pids in the two namespaces; a word that is a pid is one of them.  A bridge that snoops joins
# the group of those that do, and says so some seconds later.
SETUP = """
HOST link add br0 type bridge mcast_snooping 0
HOST link add eth9 type veth peer name gateway netns WORLD
HOST link add port0 type veth peer name neighbour netns WORLD
HOST link set port0 master br0
HOST address add 10.99.1.1/24 dev br0
HOST address add fd99:1::1/64 dev br0 nodad
HOST address add 10.99.2.2/24 dev eth9
HOST address add fd99:2::2/64 dev eth9 nodad
WORLD address add 10.99.1.2/24 dev neighbour
WORLD address add fd99:1::2/64 dev neighbour nodad
WORLD address add 10.99.2.1/24 dev gateway
WORLD address add fd99:2::1/64 dev gateway nodad
HOST link set lo up
HOST link set br0 addrgenmode none
HOST link set br0 up
HOST link set port0 addrgenmode none
HOST link set port0 up
HOST link set eth9 addrgenmode none
HOST link set eth9 up
WORLD link set lo up
WORLD link set neighbour addrgenmode none
WORLD link set neighbour up
WORLD link set gateway addrgenmode none
WORLD link set gateway up
HOST route add default via 10.99.2.1
HOST route add default via fd99:2::1
"""
TARGETS = [f"{address}/53" for address in (
    "10.99.1.1", "10.99.1.2", "10.99.1.255", "10.99.2.1", "10.99.2.2", "fd99:1::1", "fd99:1::2", "fd99:2::1", "fd99:2::2")]


class Namespace:
    """One that lives as long as the watch in it."""

    def __init__(self, stack):
        self.process = stack.enter_context(subprocess.Popen(
            ["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        self.process.stdin.write(b"made\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"made\n"
        self.watch = None

    def inside(self, *words, user=None):
        ids = ["-S", user.uid, "-G", user.gid] if user else []
        return [str(word) for word in ("nsenter", "-t", self.process.pid, "--net", *ids, *words)]

    def begin_watch(self, stack):
        self.watch = stack.enter_context(subprocess.Popen(
            self.inside("/usr/bin/python3", "-c", WATCH), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert self.watch.stdout.readline() == "ready\n"

    def seen(self):
        """Frames, and visits of port 53, so far."""
        self.watch.stdin.write("\n")
        self.watch.stdin.flush()
        return tuple(map(int, self.watch.stdout.readline().split()))


@pytest.fixture
def lan():
    """(the machine, the world around it)"""
    with contextlib.ExitStack() as stack:
        machine, world = Namespace(stack), Namespace(stack)
        for line in SETUP.split("\n"):
            where, *words = line.split() or [None]
            words = [str(world.process.pid) if word == "WORLD" else word for word in words]
            if where:
                at = machine if where == "HOST" else world
                subprocess.run(at.inside("ip", *(["-6"] if "fd99:2::1" in words else []), *words), check=True)
        machine.begin_watch(stack)
        world.begin_watch(stack)
        yield machine, world


def test_N01_no_frame_reaches_a_bridge_or_a_gateway(lan, probe, place, host_user):
    machine, world = lan
    binary = host_user.binary if host_user else places.binary()
    if host_user is not None:
        place.give_to(host_user)
    words = box.command(argv=["./probe", ",".join([f"N01={sheets.SLOW_MS}", *TARGETS])], files=[(probe, "probe")],
                        timeout=60, binary=binary)
    result = box.run_words(machine.inside(*words, user=host_user))
    answers = sheets.Sheet(result.stdout or "")
    sheets.require(result, answers, "N01")
    tried = {line.variant for line in answers.of("N01", "BLOCKED")}
    assert {f"{kind}:{target.replace('/', ':')}" for kind in ("tcp", "udp") for target in TARGETS} <= tried, tried
    assert (machine.seen(), world.seen()) == ((0, 0), (0, 0))
    # That they would have been seen; a watch counts one thing after another.
    subprocess.run(machine.inside("/usr/bin/python3", "-c", CONNECT), check=True)
    assert host.until(lambda: machine.seen()[0] > 0 and world.seen()[0] > 0 and world.seen()[1] == 2, 30), world.seen()
