# SPDX-License-Identifier: Apache-2.0
"""Who breaks a connection off is seen to do so at its other end, behind what was said before; an end stays an end."""
import inspect
import queue
import select
import socket
import threading

import pytest

from lib import host, kept
from lib.net import python
from test_net import run, serve  # noqa: F401
from test_ports import served

RULES = "one.test,127.0.0.1"
RESET = b"\1\0\0\0\0\0\0\0"
LISTENS = "0A"  # in /proc/net/tcp

CONNECT = "s = socket.create_connection(('one.test', int(sys.argv[1])))\n"
FILL = ("s.settimeout(0.5)\nn = 0\n"
        "try:\n    while True:\n        n += s.send(b'x' * 65536)\nexcept OSError:\n    pass\n")


def read_all(s):
    """What comes, and how it ends."""
    got = b""
    try:
        while piece := s.recv(65536):
            got += piece
        return got, "end"
    except ConnectionResetError:
        return got, "reset"


READ_ALL = inspect.getsource(read_all)  # the same inside


class Watched:
    """A server, what it got and how that ended, read when the program comes to the second one, which ends behind it."""

    def __init__(self, serve, greeting=b"", late=b""):  # noqa: F811
        self.greeting, self.late = greeting, late
        self.go, self.over = threading.Event(), threading.Event()
        self.found = queue.Queue()
        self.ports = serve(self._listen).port, serve(self._wait).port

    def _listen(self, connection):
        if self.greeting:
            connection.sendall(self.greeting)
        self.go.wait(30)
        if self.late:
            connection.sendall(self.late)
        self.found.put(read_all(connection))
        self.over.set()

    def _wait(self, connection):
        self.go.set()
        self.over.wait(30)


SECOND = "s.close()\nsocket.create_connection(('one.test', int(sys.argv[2]))).recv(1)\n"


def test_a_program_that_leaves_words_unread_resets_behind_what_it_had_said(run, serve):  # noqa: F811
    watched = Watched(serve, b"hello")
    done = run(RULES, *python(CONNECT + "s.recv(5, socket.MSG_PEEK)\ns.sendall(b'a word')\n" + SECOND, *watched.ports))
    assert done.returncode == 0 and watched.found.get(timeout=30) == (b"a word", "reset"), done


def test_a_server_that_did_not_get_all_sees_no_end(run, serve):  # noqa: F811
    watched = Watched(serve, b"hello")
    done = run(RULES, *python(CONNECT + "s.recv(5, socket.MSG_PEEK)\n" + FILL + SECOND + "print(n)", *watched.ports))
    got, how = watched.found.get(timeout=30)
    assert done.returncode == 0 and how == "reset" and len(got) < int(done.document["stdout"]), (len(got), how, done)


def test_a_late_word_takes_nothing_away_from_what_was_sent(run, serve):  # noqa: F811
    watched = Watched(serve, late=b"late")
    done = run(RULES, *python(CONNECT + "s.sendall(b'x' * 20000)\n" + SECOND, *watched.ports))
    got, how = watched.found.get(timeout=30)
    assert done.returncode == 0 and (len(got), how) == (20000, "end"), (len(got), how, done)


def test_a_server_that_breaks_off_has_not_ended(run, serve):  # noqa: F811
    def rude(connection):
        connection.sendall(b"y" * 100000)
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    done = run(RULES, *python(
        READ_ALL + CONNECT + "n = len(s.recv(100000, socket.MSG_WAITALL))\ns.sendall(b'x')\nprint(n, read_all(s))",
        serve(rude).port))
    assert done.document["stdout"] == "100000 (b'', 'reset')\n", done


def is_forgotten(port):
    """Whether no connection of that server's is left: one that it ended itself stays until its client resets it."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    return not [row for row in rows if row[1].endswith(f":{port:04X}") and row[3] != LISTENS]


def test_a_slow_program_gets_all_though_it_speaks_to_a_server_that_has_ended(run, serve):  # noqa: F811
    def brief(connection):
        connection.sendall(b"y" * 300000)
        connection.close()
        gone.set()

    def wait(connection):
        gone.wait(30)
        connection.sendall(b"speak")
        connection.recv(1)
        assert host.until(lambda: is_forgotten(server.port), 30)
        connection.sendall(b"read")

    gone, server = threading.Event(), serve(brief)
    done = run(RULES, *python(
        READ_ALL + "s = socket.socket()\ns.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)\n"
        "s.connect(('one.test', int(sys.argv[1])))\n"
        "t = socket.create_connection(('one.test', int(sys.argv[2])))\nt.recv(5, socket.MSG_WAITALL)\n"
        "s.sendall(b'x')\nt.sendall(b'x')\nt.recv(4)\ngot, how = read_all(s)\nprint(len(got), how)",
        server.port, serve(wait).port))
    assert done.document["stdout"] == "300000 end\n", done


def test_an_answer_before_all_was_said_is_heard(run, serve):  # noqa: F811
    def refuse(connection):
        connection.recv(10)
        connection.sendall(b"too much" * 10000)  # and a reset, because much was not read

    done = run(RULES, *python(READ_ALL + CONNECT + FILL + "print(len(read_all(s)[0]))", serve(refuse).port))
    assert done.document["stdout"] == "80000\n", done


def test_a_server_of_a_box_that_has_had_its_bytes_sees_no_end(run, serve):  # noqa: F811
    found = queue.Queue()
    server = serve(lambda connection: found.put(read_all(connection)[1]))
    run(RULES, *python(CONNECT + FILL, server.port), options=["--net-bytes", "100k"])
    assert found.get(timeout=30) == "reset"


def test_a_server_that_is_blocked_by_its_own_words_is_not_left_alone(run, serve):  # noqa: F811
    """Both directions are full when the program, which runs on, has done with it."""
    ended = threading.Event()

    def echo(connection):
        try:
            while piece := connection.recv(65536):
                connection.sendall(piece)
        except ConnectionResetError:
            ended.set()

    done = run(RULES, *python(CONNECT + FILL + SECOND, serve(echo).port, serve(lambda connection: ended.wait(20)).port))
    assert done.returncode == 0 and ended.is_set(), done


def test_a_server_that_has_ended_and_reads_nothing_is_told(run, serve):  # noqa: F811
    told = threading.Event()

    def silent(connection):
        connection.shutdown(socket.SHUT_WR)
        poll = select.poll()
        poll.register(connection, 0)
        if [event for _, event in poll.poll(20000) if event & select.POLLERR]:
            told.set()

    done = run(RULES, *python(
        CONNECT + "s.recv(1)\n" + FILL + "s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\\1' + bytes(3) + bytes(4))\n"
        + SECOND, serve(silent).port, serve(lambda connection: told.wait(20)).port))
    assert done.returncode == 0 and told.is_set(), done


def test_a_program_that_resets_its_proxy_has_not_ended(run, serve):  # noqa: F811
    watched = Watched(serve)
    done = run(RULES, *python(
        "s = socket.create_connection(('127.0.0.1', 3128))\n"
        "s.sendall(b'CONNECT one.test:%d HTTP/1.1\\r\\nHost: one.test\\r\\n\\r\\nhalf of a file' % int(sys.argv[1]))\n"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\\1\\0\\0\\0\\0\\0\\0\\0')\n" + SECOND, *watched.ports))
    got, how = watched.found.get(timeout=30)
    assert done.returncode == 0 and how == "reset", (got, how, done)


# ---- through a port -----------------------------------------------------------------------------

def test_a_server_in_a_box_that_breaks_off_has_not_ended():
    with served("rude") as box, box.connect() as s:
        s.sendall(b"x")
        with pytest.raises(ConnectionResetError):
            s.recv(1)


def test_a_server_whose_box_is_removed_has_not_ended():
    with served("flood") as box, box.connect() as s:
        s.recv(1000)
        assert kept.call("rm", box.name).returncode == 0
        with pytest.raises(ConnectionResetError):
            while s.recv(65536):
                pass


def test_a_client_that_breaks_off_has_not_ended():
    with served("echo") as box:
        with box.connect() as s:
            s.sendall(b"x")
            assert s.recv(1) == b"x"
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        box.living.expect(b"broken")
