# SPDX-License-Identifier: Apache-2.0
"""The network of boxes that live on: rules that hold for every run, what was decided, caps; and what becomes
of it when one of its processes is killed."""
import contextlib
import json
import os
import signal
import subprocess
import threading

import pytest

from lib import box, host, kept, place as places
from lib.net import own_port
from test_net import NAMES, HTTP, page, python, serve  # noqa: F401  (serve is a fixture)


@pytest.fixture
def hosts(place):
    path = place.cwd / "hosts"
    path.write_text("127.0.0.1 localhost\n" + NAMES)
    path.chmod(0o644)
    return path


def named(hosts, command, user=None):
    """The words of a command that finds the names of these tests."""
    drop = ["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"] if user else []
    return ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts), *drop, *command]


@pytest.fixture
def net_box(hosts, place):
    """net_box(RULES, *options): the id of a box, removed afterwards."""
    with contextlib.ExitStack() as stack:
        def make(rules, *options, user=None):
            words = kept.words("create", "--net", rules, *options)
            if user:
                words[0] = str(user.binary)
                place.give_to(user)
                stack.callback(place.take_back)
            done = box.run_words(named(hosts, words, user), host_env=kept.environment())
            assert done.returncode == 0, done
            name = done.out.decode().strip()
            stack.callback(kept.call, "rm", name, as_user=user)
            return name
        yield make


def run(name, *words, user=None, options=()):
    return kept.call("run", name, "--json", *options, "--", *words, as_user=user)


def net(name, *options, user=None):
    done = kept.call("net", name, "--json", *options, as_user=user)
    assert done.returncode == 0, done
    return done.document


def decisions(name):
    return [(d["what"], d["name"], d["port"], d["allowed"], d["reason"]) for d in net(name)["decisions"]]


def assert_decided(name, *decision):
    """It is written down, perhaps a moment after the program knew."""
    assert host.until(lambda: decision in decisions(name), 30), decisions(name)


def switchboards():
    host.reap_orphans()
    return [p for p in host.descendants(os.getpid()) if p.comm == "glovebox-switch"]


def fetch(name, port, user=None, host_name="one.test", options=("-m", "20")):
    return run(name, "curl", "-sS", *options, f"http://{host_name}:{port}/", user=user)


# ---- rules --------------------------------------------------------------------------------------

@pytest.mark.parametrize("words", [
    ["curl", "-sS", "http://one.test:PORT/"],
    ["node", "-e", "fetch('http://one.test:PORT/').then(r => r.text()).then(t => process.stdout.write(t))"],
    ["python3", "-c", "import urllib.request as u; print(u.urlopen('http://one.test:PORT/').read().decode(), end='')"],
], ids=["curl", "node", "python"])
def test_every_program_of_every_run_reaches_what_is_listed(net_box, serve, words):
    server = serve(page)
    name = net_box("one.test,127.0.0.1", "--memory", "1g")
    for _ in range(2):
        done = run(name, *[word.replace("PORT", str(server.port)) for word in words])
        assert (done.returncode, done.stdout) == (0, "a page\n"), done
    assert done.receipt["walls"]["net"] == "transparent"
    assert server.seen == 2


def test_what_is_not_listed_is_refused_and_written_down(net_box, serve):
    server = serve(page)
    name = net_box(f"one.test:{server.port},127.0.0.1")
    assert fetch(name, server.port).stdout == "a page\n"
    assert "Could not resolve" in fetch(name, server.port, host_name="two.test").stderr
    assert fetch(name, server.port + 1).document["exit_code"] in (7, 56)
    assert server.seen == 1
    # A resolver asks more than once.
    wanted = {
        ("look-up", "one.test", None, True, None),
        ("connection", "one.test", server.port, True, None),
        ("end", "one.test", server.port, True, None),
        ("look-up", "two.test", None, False, "not listed"),
        ("connection", "one.test", server.port + 1, False, "not listed"),
    }
    assert host.until(lambda: set(decisions(name)) == wanted, 30), decisions(name)
    told = net(name)
    refused = sum(not d["allowed"] for d in told["decisions"])
    assert (told["connections"], told["refused"], told["network"]) == (1, refused, "open")
    assert told["bytes_received"] == len(HTTP % 7) + 7 and told["bytes_sent"] > 20
    text = kept.call("net", name).out.decode()
    for part in ("allowed  one.test (127.0.0.1)\n", f"allowed  one.test:{server.port} (127.0.0.1)\n",
                 "refused  two.test: not listed\n", f"ended    one.test:{server.port} (127.0.0.1), ",
                 f"1 connection, {refused} refused, "):
        assert part in text, text


def test_http_is_told_why(net_box):
    name = net_box("one.test:443,127.0.0.1")
    done = fetch(name, 80)
    assert done.stdout == "glovebox: one.test:80 was refused: not listed\n", done
    port = own_port()
    name = net_box("one.test,127.0.0.1")
    done = fetch(name, port, options=("-m", "20", "-x", "http://127.0.0.1:3128"))
    assert done.stdout == f"glovebox: one.test:{port} cannot be reached: Connection refused\n", done


def test_an_ordinary_user_has_it_too(net_box, serve, ordinary_user):
    server = serve(page)
    name = net_box("one.test,127.0.0.1", user=ordinary_user)
    assert fetch(name, server.port, user=ordinary_user).stdout == "a page\n"
    assert net(name, user=ordinary_user)["connections"] == 1


def test_exec_of_an_ordinary_user(hosts, serve, place, ordinary_user):
    server = serve(page)
    place.give_to(ordinary_user)
    try:
        words = [str(ordinary_user.binary), "exec", "--json", "--net", "one.test,127.0.0.1", "--", "curl", "-sS",
                 f"http://one.test:{server.port}/"]
        done = box.run_words(named(hosts, words, ordinary_user))
    finally:
        place.take_back()
    assert (done.returncode, done.stdout) == (0, "a page\n"), done


def test_a_box_of_a_user_keeps_its_rules(net_box, serve):
    server = serve(page)
    name = net_box("one.test,127.0.0.1", "--user", "anna")
    done = kept.call("run", "--user", "anna", "--json", "--", "curl", "-sS", f"http://one.test:{server.port}/")
    assert done.stdout == "a page\n", done
    told, = kept.listed()
    assert (told["id"], told["net"], told["network"], told["ports"]) == (name, "one.test,127.0.0.1", "open", [])
    assert "network open" in kept.call("list").out.decode()


def test_two_runs_at_once_each_get_their_own(net_box, serve):
    """Each reads a page that only its own request names."""
    def echo(connection):
        request = connection.recv(65536)
        body = request.split(b" ")[1] * 100
        connection.sendall(HTTP % len(body) + body)

    server = serve(echo)
    name = net_box("one.test,127.0.0.1")
    got = {}

    def fetch_many(which):
        code = "\n".join([
            "import sys, urllib.request as u",
            f"url = 'http://one.test:{server.port}/{which}'",
            f"print(all(u.urlopen(url).read() == b'/{which}' * 100 for _ in range(40)))"])
        got[which] = run(name, "python3", "-c", code)

    threads = [threading.Thread(target=fetch_many, args=(which,)) for which in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [got[which].stdout for which in "ab"] == ["True\n", "True\n"], got


def test_what_the_operator_denied_when_a_box_was_made_is_denied_to_all_its_runs(hosts, serve):
    server = serve(page)
    words = named(hosts, kept.words("create", "--net", "full,127.0.0.1"))
    done = box.run_words(words, host_env=kept.environment({"GLOVEBOX_NET_DENY": "*.one.test,two.test"}))
    name = done.out.decode().strip()
    try:
        assert fetch(name, server.port).stdout == "a page\n"
        for other in ("two.test", "deep.one.test"):
            assert fetch(name, server.port, host_name=other).stdout == ""
        # A resolver may ask for a name more than once.
        assert {d[1:2] + d[3:] for d in decisions(name) if d[1] != "one.test"} == {
            (other, False, "denied by the operator") for other in ("two.test", "deep.one.test")}
        assert server.seen == 1
    finally:
        kept.call("rm", name)


def test_what_the_operator_denies_later_is_denied_to_boxes_that_live_on(net_box, serve, place):
    """From the next question on, as the operator's file says then; one that cannot be read changes nothing."""
    server = serve(page)
    file = place.home / ".config/glovebox/config.yaml"
    file.parent.mkdir(parents=True)
    elsewhere = {"XDG_CONFIG_HOME": str(place.base / "nowhere")}

    def reached(name):
        """Which names a run reaches whose own command does not read the file."""
        def page_of(host_name):
            words = ["curl", "-sS", "-m", "20", f"http://{host_name}:{server.port}/"]
            return kept.call("run", name, "--json", "--", *words, host_env=elsewhere).stdout
        return {host_name for host_name in ("one.test", "two.test") if page_of(host_name) == "a page\n"}

    name = net_box("full,127.0.0.1")
    assert reached(name) == {"one.test", "two.test"}
    file.write_text("net:\n  deny: one.test\n")
    assert reached(name) == {"two.test"}
    assert_decided(name, "look-up", "one.test", None, False, "denied by the operator")
    made_then = net_box("full,127.0.0.1")
    file.write_text("net: [\n")
    assert reached(name) == {"two.test"}
    file.write_text("net:\n  deny: 127.0.0.0/8\n")
    assert reached(name) == set()
    file.unlink()
    assert reached(name) == {"one.test", "two.test"}
    assert reached(made_then) == {"two.test"}, "what was denied when it was made is denied to its end"


def test_a_box_without_rules_has_none():
    with kept.made() as name:
        done = kept.call("run", name, "--", *python("socket.create_connection(('192.0.2.1', 80), 10)"))
        assert b"Network is unreachable" in done.err, done
        done = kept.call("net", name)
        assert (done.returncode, done.out) == (0, b"") and b"no network" in done.err, done
        assert net(name)["network"] is None
        assert switchboards() == []


NO_RULES = ["", " ", "a b", "a.org:0", "a.org:65536", "*", "10.0.0.1/8", "http://a.org", "ful", "all", "host", "None", "a.org,,b.org"]


@pytest.mark.parametrize("rules", NO_RULES)
def test_rules_that_make_no_sense_make_no_box(rules):
    """One line and its remedy, and nothing is started."""
    done = kept.call("create", "--net", rules)
    assert done.returncode == 2 and done.out == b"", done
    assert [line.startswith(start) for line, start in zip(done.err.splitlines(), (b"glovebox: --net: ", b"  remedy: "))] == [
        True, True] and done.err.count(b"\n") == 2, done
    assert kept.listed() == [] and kept.no_keeper() and switchboards() == []


@pytest.mark.parametrize("rules", NO_RULES)
def test_rules_that_make_no_sense_run_nothing(rules):
    done = box.run_words([str(places.binary()), "exec", "--net", rules, "--", "sh", "-c", "echo run"])
    assert done.returncode == 2 and done.out == b"", done
    assert done.err.startswith(b"glovebox: --net: ") and done.err.count(b"\n") == 2, done


# ---- caps ---------------------------------------------------------------------------------------

def test_connections_beyond_the_cap_are_refused(net_box, serve):
    server = serve(page)
    name = net_box("one.test,127.0.0.1", "--net-connections", "2")
    for _ in range(2):
        assert fetch(name, server.port).stdout == "a page\n"
    assert fetch(name, server.port).document["exit_code"] in (7, 56)
    assert server.seen == 2
    assert_decided(name, "connection", "one.test", server.port, False, "the box has had all its connections")


AT_ONCE = """
import threading
barrier, open_ones, lock = threading.Barrier(int(sys.argv[2])), [], threading.Lock()
def connect():
    barrier.wait()
    try:
        with socket.create_connection(('one.test', int(sys.argv[1])), 30) as s:
            s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
            if s.recv(1):
                with lock:
                    open_ones.append(s)
    except OSError:
        pass
threads = [threading.Thread(target=connect) for _ in range(int(sys.argv[2]))]
for t in threads: t.start()
for t in threads: t.join()
print(len(open_ones))
"""


def test_connections_at_once_do_not_slip_under_the_cap(net_box, serve):
    server = serve(page)
    name = net_box("one.test,127.0.0.1", "--net-connections", "3")
    done = run(name, *python(AT_ONCE, server.port, 60))
    assert (done.stdout, server.seen) == ("3\n", 3), done
    assert host.until(lambda: (net(name)["connections"], net(name)["refused"]) == (3, 57), 30), net(name)


def test_a_connection_that_nobody_answers_is_one_of_them(net_box, serve):
    server = serve(page)
    port = own_port()
    name = net_box("one.test,127.0.0.1", "--net-connections", "2")
    for _ in range(2):
        assert fetch(name, port).document["exit_code"] in (7, 56)
    assert fetch(name, server.port).document["exit_code"] in (7, 56) and server.seen == 0
    assert_decided(name, "connection", "one.test", server.port, False, "the box has had all its connections")


def test_bytes_beyond_the_cap_end_what_is_open(net_box, serve):
    def endless(connection):
        while True:
            connection.sendall(b"x" * 65536)

    server = serve(endless)
    name = net_box("one.test,127.0.0.1", "--net-bytes", "1m")
    done = run(name, *python("s = socket.create_connection(('one.test', int(sys.argv[1])))\n"
                             "n = 0\n"
                             "try:\n"
                             "    while piece := s.recv(65536):\n        n += len(piece)\n"
                             "except ConnectionResetError:\n    pass\n"
                             "print(n)", server.port))
    assert 0 < int(done.stdout) < 4 << 20, done
    assert_decided(name, "end", "one.test", server.port, False, "the box has had all its bytes")
    assert fetch(name, server.port).document["exit_code"] in (7, 56)


def test_exec_has_the_caps_too(hosts, serve):
    server = serve(page)
    words = [str(places.binary()), "exec", "--json", "--net", "one.test,127.0.0.1", "--net-connections", "1", "--",
             "sh", "-c", f"curl -sS http://one.test:{server.port}/; curl -sS http://one.test:{server.port}/"]
    done = box.run_words(named(hosts, words))
    assert done.stdout == "a page\n" and server.seen == 1, done
    assert "the box has had all its connections" in [d["reason"] for d in done.document["network"]["decisions"]]


# ---- following ----------------------------------------------------------------------------------

def test_following_tells_as_it_happens_and_ends_with_the_box(net_box, serve):
    server = serve(page)
    name = net_box("one.test,127.0.0.1")
    follower = subprocess.Popen(kept.words("net", "-f", "--json", name), stdout=subprocess.PIPE,
                                env=box.environment(kept.environment()))
    try:
        fetch(name, server.port)
        seen = []
        while "end" not in seen:
            seen.append(json.loads(follower.stdout.readline())["what"])
        assert list(dict.fromkeys(seen)) == ["look-up", "connection", "end"], seen
        assert kept.call("rm", name).returncode == 0
        assert follower.stdout.read() == b"" and follower.wait(20) == 0
    finally:
        follower.kill()
        follower.wait()
        follower.stdout.close()


def test_a_flood_of_refusals_stays_small(net_box, place):
    """What is not written down is counted, to the last one."""
    name = net_box("full", "--timeout", "5m")
    # The reset may be quicker than the return from connect().
    done = run(name, *python("for i in range(3000):\n"
                             "    try:\n        socket.create_connection(('10.0.0.1', 81)).recv(1)\n"
                             "    except OSError:\n        pass"))
    assert done.returncode == 0, done
    assert host.until(lambda: net(name)["refused"] == 3000, 60), net(name)["refused"]
    told = net(name)["decisions"]
    assert sum(d["count"] if d["what"] == "more" else 1 for d in told) == 3000
    folder = kept.state_dir() / "boxes" / name
    assert sum(f.stat().st_size for f in folder.glob("network.*")) < 600 << 10


# ---- ends ---------------------------------------------------------------------------------------

# Connected to the server, not only to the glove, which accepts before the server is dialled.
LONG = ("s = socket.create_connection(('one.test', int(sys.argv[1])))\ns.recv(1)\nprint('connected', flush=True)\n"
        "try:\n    print(s.recv(1))\nexcept OSError as e:\n    print(type(e).__name__)\n")


def wait_for_ever(ended):
    def handler(connection):
        with contextlib.suppress(OSError):
            connection.sendall(b"!")
            connection.recv(1)
        ended.set()
    return handler


def test_without_its_switchboard_the_network_is_closed_and_the_box_goes_on(net_box, serve):
    ended = threading.Event()
    server = serve(wait_for_ever(ended))
    name = net_box("one.test,127.0.0.1")
    script = f"python3 -c \"import socket, sys\n{LONG}\" {server.port}"
    with kept.started(name, script) as living:
        living.expect(b"connected")
        board, = switchboards()
        os.kill(board.pid, signal.SIGKILL)
        code, _ = living.end()
        assert code == 0, living
    assert ended.wait(20)
    done = run(name, *python("began = time.monotonic()\n"
                             "try:\n    socket.gethostbyname('one.test')\nexcept OSError as e:\n    print('no name')\n"
                             "try:\n    socket.create_connection(('192.0.2.1', 443), 20).recv(1)\n"
                             "except ConnectionResetError:\n    print('reset')\n"
                             "print(time.monotonic() - began < 10)"))
    assert done.stdout == "no name\nreset\nTrue\n", done
    assert net(name)["network"] == "closed"
    assert "closed" in kept.call("net", name).out.decode()
    assert kept.listed()[0]["network"] == "closed"
    assert kept.call("rm", name).returncode == 0


def test_with_its_keeper_everything_ends(net_box, serve):
    ended = threading.Event()
    server = serve(wait_for_ever(ended))
    name = net_box("one.test,127.0.0.1")
    with kept.started(name, f"python3 -c \"import socket, sys\n{LONG}\" {server.port}") as living:
        living.expect(b"connected")
        keeper, = kept.keepers()
        os.kill(keeper.pid, signal.SIGKILL)
        assert ended.wait(20)
        living.end()
    assert host.until(lambda: switchboards() == [], 20)
    assert kept.call("net", name).returncode == 2


def test_with_the_box_its_switchboard_has_ended(net_box):
    name = net_box("full")
    assert len(switchboards()) == 1
    assert kept.call("rm", name).returncode == 0
    assert switchboards() == [] and kept.directories() == []


def test_after_its_time_a_box_with_a_network_ends(net_box):
    net_box("full", "--ttl", "1s")
    assert host.until(lambda: switchboards() == [] and kept.keepers() == [], 20)
