# SPDX-License-Identifier: Apache-2.0
"""`exec --net`: programs reach what the rules allow, and nothing else; whatever the program is."""
import socket
import threading

import pytest

from lib import box, net
from lib.net import HTTP, NAMES, decisions, page, python


@pytest.fixture
def serve():
    """serve(handler) makes a Server that ends with the test."""
    with net.serving() as make:
        yield make


@pytest.fixture
def run(place):
    """`exec --json --net RULES -- WORDS` where the names of lib.net exist."""
    hosts = place.cwd / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + NAMES)

    def call(rules, *words, options=(), **more):
        return box.run_words(net.command(hosts, net.exec_words(rules, *words, options=options)), **more)
    return call


def test_a_name_that_is_listed_is_reached_by_a_program_that_knows_of_nothing(run, serve):
    server = serve(page)
    done = run(f"one.test:{server.port},127.0.0.1", "curl", "-sS", f"http://one.test:{server.port}/")
    assert (done.returncode, done.document["stdout"]) == (0, "a page\n"), done
    network = done.document["network"]
    assert decisions(done) == [("one.test", None, True, None), ("one.test", server.port, True, None)]
    assert network["decisions"][1]["address"] == "127.0.0.1"
    assert (network["connections"], network["refused"]) == (1, 0)
    assert network["bytes_received"] == len(HTTP % 7) + 7 and network["bytes_sent"] > 20
    assert done.document["receipt"]["walls"]["net"] == "transparent"


@pytest.mark.parametrize("words", [
    ["node", "-e", "fetch('http://one.test:PORT/').then(r => r.text()).then(t => process.stdout.write(t))"],
    ["python3", "-c", "import urllib.request as u; print(u.urlopen('http://one.test:PORT/').read().decode(), end='')"],
    ["perl", "-MIO::Socket::INET", "-e",
     "$s = IO::Socket::INET->new('one.test:PORT'); print $s \"GET / HTTP/1.0\\r\\n\\r\\n\"; print grep /page/, <$s>"],
], ids=["node", "python", "perl"])
def test_every_program_is_caught(run, serve, words):
    server = serve(page)
    done = run("one.test,127.0.0.1", *[word.replace("PORT", str(server.port)) for word in words],
               options=["--memory", "1g"])
    assert (done.returncode, done.document["stdout"]) == (0, "a page\n"), done


def test_all_below_a_name_and_nothing_else(run, serve):
    server = serve(page)
    rules = f"*.one.test:{server.port},127.0.0.1"
    done = run(rules, "curl", "-sS", f"http://deep.one.test:{server.port}/")
    assert done.document["stdout"] == "a page\n", done
    done = run(rules, "curl", "-sS", f"http://one.test:{server.port}/")
    assert "Could not resolve" in done.document["stderr"] and server.seen == 1
    assert decisions(done) == [("one.test", None, False, "not listed")]
    assert done.document["notes"] == ["network: one.test was refused: not listed"]


def test_a_port_that_is_not_listed_is_refused_at_once(run, serve):
    server = serve(page)
    done = run("one.test:443,127.0.0.1", *python(
        "began = time.monotonic()\n"
        "try:\n    print(socket.create_connection(('one.test', int(sys.argv[1])), 10).recv(10))\n"
        "except OSError as e:\n    print(type(e).__name__)\n"
        "assert time.monotonic() - began < 5", server.port))
    assert done.document["stdout"] == "ConnectionResetError\n" and server.seen == 0, done
    assert decisions(done)[-1] == ("one.test", server.port, False, "not listed")


def test_http_is_told_why(run):
    """On port 80 also without a proxy: what was refused, and why."""
    done = run("one.test:443", "sh", "-c", "for at in 192.0.2.9 one.test; do curl -sS -w '%{http_code}\\n' http://$at/; done")
    assert done.document["stdout"] == ("glovebox: 192.0.2.9:80 was refused: not a public address\n403\n"
                                       "glovebox: one.test:80 was refused: not listed\n403\n"), done
    assert decisions(done)[0] == (None, 80, False, "not a public address")


def test_where_connections_are_caught_no_variable_leads_to_the_proxy(run):
    """A program's own servers are reached by whatever name it has for them, which a proxy could not know."""
    done = run("one.test", "sh", "-c", "env | grep -ci _proxy; python3 -m http.server -b 0.0.0.0 8000 >/dev/null 2>&1 & "
               "until curl -s -o /dev/null http://127.0.0.1:8000/; do :; done; "
               "for at in $(hostname) 0.0.0.0 127.0.0.9; do curl -sS -o /dev/null -w '%{http_code}\\n' http://$at:8000/; done")
    assert done.document["stdout"] == "0\n200\n200\n200\n", done
    assert done.document["network"]["decisions"] == []


def test_a_name_that_leads_to_a_private_address_is_refused(run, serve):
    """By the address that would be dialled, whatever the name is."""
    server = serve(page)
    done = run("full", "curl", "-sS", "-m", "10", f"http://one.test:{server.port}/")
    assert done.document["exit_code"] in (7, 56) and server.seen == 0, done
    assert decisions(done)[-1] == ("one.test", server.port, False, "not a public address")
    done = run("one.test,two.test", "curl", "-sS", "-m", "10", f"http://two.test:{server.port}/")
    assert done.document["exit_code"] in (7, 56) and server.seen == 0, done


PRIVATE = ["10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.100.100.200", "192.0.2.7", "224.0.0.1",
           "255.255.255.255", "0.0.0.0", "100.64.0.1", "198.51.100.1", "240.0.0.1"]


def test_private_addresses_are_refused_though_everything_is_allowed(run):
    done = run("full", *python(
        "for at in sys.argv[1:]:\n"
        "    began = time.monotonic()\n"
        "    try:\n"
        "        s = socket.create_connection((at, 81), 10)\n"
        "        s.recv(1)\n"
        "        print(at, 'open')\n"
        "    except OSError as e:\n"
        "        print(at, 'refused' if time.monotonic() - began < 5 else 'slow')", *PRIVATE))
    assert done.document["stdout"].split("\n")[:-1] == [f"{at} refused" for at in PRIVATE], done


def test_a_made_up_address_that_nobody_looked_up_leads_nowhere(run):
    done = run("full", *python("s = socket.create_connection(('198.18.0.99', 443), 10)\nprint(s.recv(1))"))
    assert "ConnectionResetError" in done.document["stderr"], done
    assert decisions(done) == [(None, 443, False, "an address that was never looked up")]


def test_a_programs_own_servers_are_its_own(run):
    done = run("full", *python(
        "server = socket.create_server(('127.0.0.1', 8080))\n"
        "client = socket.create_connection(('127.0.0.1', 8080))\n"
        "server.accept()[0].sendall(b'own')\nprint(client.recv(10).decode())"))
    assert done.document["stdout"] == "own\n" and done.document["network"]["decisions"] == [], done


def test_what_is_no_tcp_fails_at_once(run):
    done = run("full", *python(
        "def tell(what, call):\n"
        "    began = time.monotonic()\n"
        "    try:\n        call()\n        print(what, 'went')\n"
        "    except OSError as e:\n        print(what, 'refused' if time.monotonic() - began < 5 else 'slow')\n"
        "def udp():\n    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10)\n"
        "    s.connect(('192.0.2.1', 123)); s.send(b'x'); s.recv(1)\n"
        "tell('udp', udp)\n"
        "tell('six', lambda: socket.create_connection(('2001:db8::1', 80), 10))\n"
        "tell('ping', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(b'\\x08\\0\\0\\0\\0\\0\\0\\0', ('192.0.2.1', 0)))\n"
        "tell('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))"))
    assert done.document["stdout"] == "udp refused\nsix refused\nping refused\nraw refused\n", done


def test_names_are_asked_of_nobody_else(run):
    """A resolver of its own is caught too; there are addresses of IPv4 and nothing else."""
    done = run("one.test,127.0.0.1", *python(
        "import struct\n"
        "def ask(name, kind):\n"
        "    query = struct.pack('!6H', 7, 0x100, 1, 0, 0, 0)\n"
        "    query += b''.join(bytes([len(l)]) + l for l in name.split(b'.')) + b'\\0' + struct.pack('!2H', kind, 1)\n"
        "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10)\n"
        "    s.sendto(query, ('8.8.8.8', 53))\n"
        "    answer = s.recv(600)\n"
        "    _, flags, _, n, _, _ = struct.unpack('!6H', answer[:12])\n"
        "    return flags & 15, n, socket.inet_ntoa(answer[-4:]) if n else None\n"
        "print(ask(b'one.test', 1), ask(b'ONE.test', 1), ask(b'one.test', 28), ask(b'one.test', 16))\n"
        "print(ask(b'two.test', 1), ask(b'one.test\\x00.evil', 1), ask(b'x' * 63 + b'.test', 1))"))
    assert done.document["stdout"] == ("(0, 1, '198.18.0.1') (0, 1, '198.18.0.1') (0, 0, None) (0, 0, None)\n"
                                       "(3, 0, None) (3, 0, None) (3, 0, None)\n"), done


def test_nonsense_for_the_name_server_does_no_harm(run):
    done = run("one.test,127.0.0.1", *python(
        "import os\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for i in range(2000):\n    s.sendto(os.urandom(i % 600), ('127.0.0.1', 53))\n"
        "for i in range(10):\n    s.sendto(b'\\0' * 12, ('127.0.0.1', 53))\n"
        "print(socket.gethostbyname('one.test'))"))
    assert done.document["stdout"] == "198.18.0.1\n", done


def test_much_goes_both_ways_unchanged(run, serve):
    size = 24 << 20

    def echo(connection):
        while piece := connection.recv(65536):
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)

    server = serve(echo)
    done = run("one.test,127.0.0.1", *python(
        "import hashlib, os, threading\n"
        f"data = os.urandom({size})\n"
        "s = socket.create_connection(('one.test', int(sys.argv[1])))\n"
        "def send():\n    s.sendall(data); s.shutdown(socket.SHUT_WR)\n"
        "t = threading.Thread(target=send); t.start()\n"
        "back = hashlib.sha256(); n = 0\n"
        "while piece := s.recv(1 << 20):\n    back.update(piece); n += len(piece)\n"
        "print(n, back.hexdigest() == hashlib.sha256(data).hexdigest())", server.port), options=["--timeout", "120"])
    assert done.document["stdout"] == f"{size} True\n", done
    assert (done.document["network"]["bytes_sent"], done.document["network"]["bytes_received"]) == (size, size)


def test_one_direction_ends_before_the_other(run, serve):
    def count(connection):
        n = 0
        while piece := connection.recv(65536):
            n += len(piece)
        connection.sendall(f"{n} bytes".encode())

    server = serve(count)
    done = run("one.test,127.0.0.1", *python(
        "s = socket.create_connection(('one.test', int(sys.argv[1])))\n"
        "s.sendall(b'x' * 100000); s.shutdown(socket.SHUT_WR)\nprint(s.recv(100).decode(), s.recv(1))", server.port))
    assert done.document["stdout"] == "100000 bytes b''\n", done


def test_a_program_that_goes_ends_an_endless_download(run, serve):
    ended = threading.Event()

    def endless(connection):
        try:
            while True:
                connection.sendall(b"x" * 65536)
        except OSError:
            ended.set()

    server = serve(endless)
    done = run("one.test,127.0.0.1", *python(
        "s = socket.create_connection(('one.test', int(sys.argv[1])))\ns.recv(1000000)\ns.close()\n"
        "time.sleep(0.5)\nprint('done')", server.port))
    assert done.document["stdout"] == "done\n" and ended.wait(10), done


def test_a_server_that_is_not_there(run):
    port = net.own_port()
    done = run("one.test,127.0.0.1", *python(
        "try:\n    print(socket.create_connection(('one.test', int(sys.argv[1]))).recv(10))\n"
        "except OSError as e:\n    print(type(e).__name__)", port))
    assert done.document["stdout"] == "ConnectionResetError\n", done
    assert decisions(done)[-1] == ("one.test", port, True, "Connection refused")


def test_many_connections_one_after_another_and_at_once(run, serve):
    server = serve(page)
    done = run("one.test,127.0.0.1", *python(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def get(_):\n"
        "    s = socket.create_connection(('one.test', int(sys.argv[1])), 30)\n"
        "    s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n    text = b''\n"
        "    while piece := s.recv(1000):\n        text += piece\n"
        "    s.close()\n    return text.endswith(b'a page\\n')\n"
        "with ThreadPoolExecutor(50) as pool:\n    print(sum(pool.map(get, range(600))))", server.port),
        options=["--timeout", "120"])
    assert done.document["stdout"] == "600\n" and server.seen == 600, (done.document["stderr"], done.document["network"])
    assert done.document["network"]["connections"] == 600


def test_what_is_refused_again_and_again_is_counted(run):
    done = run("one.test", *python(
        "for i in range(50):\n"
        "    try:\n        socket.gethostbyname('two.test')\n    except OSError:\n        pass"))
    [entry] = done.document["network"]["decisions"]
    assert entry["count"] >= 50 and done.document["network"]["refused"] == entry["count"], done


DENIED = "denied by the operator"


@pytest.mark.parametrize("rules", ["one.test,127.0.0.1", "full,127.0.0.1"])
@pytest.mark.parametrize("deny", ["one.test", "*.test", "full", "one.test:PORT", "127.0.0.0/8", "127.0.0.1:PORT"])
def test_what_the_operator_denies_is_reached_by_nobody(run, serve, rules, deny):
    server = serve(page)
    url = f"http://one.test:{server.port}/"
    assert run(rules, "curl", "-sS", "-m", "10", url).document["stdout"] == "a page\n"
    done = run(rules, "curl", "-sS", "-m", "10", url,
               host_env={"GLOVEBOX_NET_DENY": f"elsewhere.org,{deny.replace('PORT', str(server.port))}"})
    assert done.document["stdout"] == "" and done.document["exit_code"] != 0 and server.seen == 1, done
    assert decisions(done)[-1][2:] == (False, DENIED), decisions(done)


def test_a_port_that_is_denied_is_no_other(run, serve):
    server = serve(page)
    done = run("full,127.0.0.1", "curl", "-sS", f"http://one.test:{server.port}/", host_env={"GLOVEBOX_NET_DENY": "one.test:1"})
    assert done.document["stdout"] == "a page\n", done


def test_denials_can_be_a_list_in_a_file(run, serve, tmp_path):
    server = serve(page)
    (tmp_path / "glovebox").mkdir()
    (tmp_path / "glovebox/config.yaml").write_text('net:\n  deny:\n    - elsewhere.org\n    - "*.test"\n')
    done = run("full,127.0.0.1", "curl", "-sS", "-m", "10", f"http://one.test:{server.port}/",
               host_env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert done.document["stdout"] == "" and server.seen == 0, done
    assert decisions(done)[-1][2:] == (False, DENIED), decisions(done)


@pytest.mark.parametrize("deny", ["not a name", "a,,b", "127.1", "x:99999"])
def test_denials_that_make_no_sense_run_nothing(run, deny):
    done = run("full", "true", host_env={"GLOVEBOX_NET_DENY": deny})
    assert done.returncode == 2 and b"GLOVEBOX_NET_DENY" in done.err, done


def test_without_rules_there_is_nothing_to_ask(run):
    done = run("none", *python("try:\n    socket.create_connection(('192.0.2.1', 80), 10)\nexcept OSError as e:\n    print(e.errno)"))
    assert done.document["stdout"] == "101\n" and "network" not in done.document, done
    assert done.document["receipt"]["walls"]["net"] == "none"


@pytest.mark.parametrize("rules", ["", "a b", "a.org:0", "a.org:65536", "*", "10.0.0.1/8", "a..org", "http://a.org"])
def test_rules_that_make_no_sense_are_refused(run, rules):
    done = run(rules, "true")
    assert done.returncode == 2 and "--net" in done.document["error"]["message"], done


@pytest.mark.parametrize("words", [["exec"], ["box", "create"]])
@pytest.mark.parametrize("cap", ["--net-connections=5", "--net-bytes=5m", "--net-names=5"])
def test_a_cap_of_a_network_that_is_not_there_is_refused(words, cap):
    """It would bound nothing.  In the environment it waits for a network."""
    rest = ["--", "true"] if words == ["exec"] else []
    done = box.run_words([box.command()[0], *words, cap, *rest])
    assert done.returncode == 2 and cap.split("=")[0].encode() in done.err and b"--net, too" in done.err, done
    assert box.run(argv=["true"], host_env={"GLOVEBOX_NET_BYTES": "5m"}).verdict == "ok"
