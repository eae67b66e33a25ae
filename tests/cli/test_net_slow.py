# SPDX-License-Identifier: Apache-2.0
"""A slow peer gets every byte, in its place: out of a box, into one, both ways at once; by rules and through a port.

All that holds bytes on the way (windows, rings, queues) is full and wraps many times.  Each end checks what it gets
against a pattern that tells any two places apart.
"""
import concurrent.futures
import threading
from pathlib import Path

import pytest

from lib import host, kept, pace, pattern
from test_box_net import hosts, net_box  # noqa: F401  (fixtures)
from test_net import run, serve  # noqa: F401  (fixtures)
from test_ports import ports_of

MIB = 1 << 20
PIECE = 1 << 18
MUCH = pace.count(check=24, proof=512) * MIB
RULES = "one.test,127.0.0.1"
LONG = ("--timeout", "10m")

# More at once than there are wide windows.
MANY = 12
EACH = pace.count(check=3, proof=32) * MIB

SOURCE = Path(pattern.__file__).read_text() + """
import sys
from concurrent.futures import ThreadPoolExecutor
port, total, is_slow, n = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == 'slow', int(sys.argv[4])
def visit(s):
    with s:
        return exchange(s, total, is_slow)
def tell(opened):
    with ThreadPoolExecutor(n) as pool:
        print(*set(pool.map(visit, opened)), flush=True)
"""
CLIENT = SOURCE + "tell([connect('one.test', port, is_slow) for _ in range(n)])\n"
SERVER = SOURCE + """
with socket.create_server(('127.0.0.1', port)) as listener:
    if is_slow:
        narrow(listener)
    print('ready', flush=True)
    tell([listener.accept()[0] for _ in range(n)])
"""


@pytest.fixture(params=["out", "in", "both"])
def ways(request):
    """What the box sends and how it reads; the same of its peer."""
    return {"out": ((MUCH, "quick"), (0, "slow")),
            "in": ((0, "slow"), (MUCH, "quick")),
            "both": ((MUCH, "slow"), (MUCH, "slow"))}[request.param]


def right(total):
    return f"{total} right"


@pytest.fixture
def outside(serve):  # noqa: F811
    """outside(total, reads): a peer of boxes; its port, and what it found so far."""
    def make(total, reads):
        found = []
        server = serve(lambda s: found.append(pattern.exchange(s, total, reads == "slow")))
        if reads == "slow":
            pattern.narrow(server.socket)
        return server.port, found
    return make


# ---- by rules -----------------------------------------------------------------------------------

def test_by_rules(run, outside, ways):  # noqa: F811
    (total, reads), peer = ways
    port, found = outside(*peer)
    done = run(RULES, "python3", "-c", CLIENT, str(port), str(total), reads, "1", options=LONG, outer=700)
    assert done.document["stdout"] == right(peer[0]) + "\n", done
    assert host.until(lambda: found == [right(total)], 60), found


def test_by_rules_of_a_box_that_lives_on(net_box, outside, ways):  # noqa: F811
    (total, reads), peer = ways
    port, found = outside(*peer)
    name = net_box(RULES, *LONG)
    done = kept.call("run", name, "--json", "--", "python3", "-c", CLIENT, port, total, reads, "1", outer=700)
    assert done.stdout == right(peer[0]) + "\n", done
    assert host.until(lambda: found == [right(total)], 60), found


def test_many_at_once(run, outside):  # noqa: F811
    port, found = outside(EACH, "slow")
    done = run(RULES, "python3", "-c", CLIENT, str(port), str(EACH), "slow", str(MANY),
               options=[*LONG, "--memory", "1g"], outer=700)
    assert done.document["stdout"] == right(EACH) + "\n", done
    assert host.until(lambda: found == [right(EACH)] * MANY, 60), found


# It does not wait for an answer: what the kernel has taken from it is on its way, and nobody else sends it.
SENDER = SOURCE + "send(connect('one.test', port, False), total)\n"


def test_what_a_program_sent_before_it_ended_arrives(run, outside):  # noqa: F811
    port, found = outside(0, "slow")
    done = run(RULES, "python3", "-c", SENDER, str(port), str(MUCH), "quick", "1", options=LONG, outer=700)
    assert done.document["verdict"] == "ok" and done.document["network"]["bytes_sent"] == MUCH, done
    assert host.until(lambda: found == [right(MUCH)], 60), found


def test_what_a_program_sent_arrives_though_a_file_is_missing_that_was_to_come_out(run, outside):  # noqa: F811
    port, found = outside(0, "slow")
    done = run(RULES, "python3", "-c", SENDER, str(port), str(MUCH), "quick", "1",
               options=[*LONG, "--out", "answer"], outer=700)
    assert done.returncode == 125 and done.document["verdict"] == "ok" and "answer" in done.document["error"]["message"], done
    assert done.document["network"]["bytes_sent"] == MUCH, done
    assert host.until(lambda: found == [right(MUCH)], 60), found


def test_what_a_program_of_a_box_that_lives_on_sent_before_it_ended_arrives(net_box, outside):  # noqa: F811
    """Also when whoever ran it has left: the box has somebody of its own who sends it."""
    port, found = outside(0, "slow")
    name = net_box(RULES, *LONG)
    done = kept.call("run", name, "--json", "--", "python3", "-c", SENDER, port, MUCH, "quick", "1", outer=700)
    assert done.verdict == "ok", done
    assert host.until(lambda: found == [right(MUCH)], 60), found


def test_a_server_that_takes_no_more_is_not_waited_for_and_sees_no_regular_end(run, serve):  # noqa: F811
    over, found = threading.Event(), []

    def stuck(s):
        over.wait(60)
        try:
            while s.recv(PIECE):
                pass
            found.append("end")
        except ConnectionResetError:
            found.append("reset")

    server = serve(stuck)
    pattern.narrow(server.socket)
    code = SOURCE + "s = connect('one.test', port, False)\ns.sendall(bytes(total))\n"
    done = run(RULES, "python3", "-c", code, str(server.port), str(MIB), "quick", "1", options=("--timeout", "50"))
    over.set()
    assert done.document["verdict"] == "ok" and done.seconds < pace.within(4), done
    assert host.until(lambda: found == ["reset"], 60), found


# ---- through a port -----------------------------------------------------------------------------

def through_a_port(total, reads, peer, n):
    """What n peers outside found, and all that was found in the box."""
    with kept.made("--port", "0:3000", *LONG, "--memory", "1g") as name:
        (_, port, _), = ports_of(name)
        script = f"cat >s.py; exec python3 s.py 3000 {total} {reads} {n}"
        with kept.started(name, script, *LONG) as living, concurrent.futures.ThreadPoolExecutor(n) as pool:
            living.process.stdin.write(SERVER.encode())
            living.process.stdin.close()
            living.expect(b"ready\n")

            def visit(_):
                with pattern.connect("127.0.0.1", port, peer[1] == "slow") as s:
                    return pattern.exchange(s, peer[0], peer[1] == "slow")

            found = list(pool.map(visit, range(n)))
            code, out = living.end()
            assert code == 0, living
            return found, out.decode().split("\n")[1]


def test_through_a_port(ways):
    (total, reads), peer = ways
    assert through_a_port(total, reads, peer, 1) == ([right(total)], right(peer[0]))


def test_many_through_a_port():
    assert through_a_port(EACH, "slow", (EACH, "slow"), MANY) == ([right(EACH)] * MANY, right(EACH))
