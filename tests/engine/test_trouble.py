# SPDX-License-Identifier: Apache-2.0
"""What an engine does that is none, or not well: real where it can be had, scripted where not."""
import os
import signal
import socket
import subprocess
import time

import pytest
from conftest import IMAGE, Client, drive, program

from lib import engines, host
from lib.scripted import PING, scripted
from lib.scripted import answer as _answer

def ask(place, *words, **keys):
    return drive([f"host=unix://{place.base}/s", *(f"{k}={v}" for k, v in keys.items()), *words])


@pytest.fixture
def sock(place):
    return place.base / "s"


def test_a_newer_version_of_the_api_than_is_known_here_is_lowered(place, sock):
    with scripted(sock, PING, _answer(b"[]")) as asked:
        assert ask(place, "list", api="1.999").ok
    assert b"/v1.999/" not in asked[-1] and b"/v1." in asked[-1], asked


def test_a_version_of_the_api_that_is_none_is_refused(place, sock):
    with scripted(sock, PING):
        found = ask(place, "list", api="new")
    assert found.error == "EINVAL" and "1.41" in found.remedy, found


# ---- no engine ----


def test_no_engine_is_told_with_what_helps(place):
    found = ask(place, "ping")
    assert found.error == "ECONNREFUSED" and "no engine is running" in found.msg
    assert "systemctl start docker" in found.remedy


def test_a_dead_socket_is_no_engine(place, sock):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(sock))
    assert ask(place, "ping").error == "ECONNREFUSED"


def test_a_socket_of_somebody_else_is_permission_denied(place, sock, ordinary_user):
    with scripted(sock):
        os.chmod(sock, 0o600)
        copy = os.path.join(ordinary_user.home, "engine_driver")
        subprocess.run(["install", "-m", "755", program(), copy], check=True)
        try:
            done = subprocess.run(["setpriv", f"--reuid={ordinary_user.uid}", "--clear-groups",
                                   copy, f"host=unix://{sock}", "ping"],
                                  capture_output=True, check=False)
        finally:
            os.unlink(copy)
    assert b'"error":"EACCES"' in done.stdout and b"usermod -aG docker" in done.stdout, done


def test_an_engine_that_hangs_is_left_at_the_deadline(place, sock):
    with scripted(sock, None):
        begin = time.monotonic()
        found = ask(place, "ping", call_ms=300)
        assert found.error == "ETIMEDOUT" and time.monotonic() - begin < 10


# ---- versions ----


def test_an_old_engine_is_refused(place, sock):
    with scripted(sock, PING.replace(b"1.41", b"1.40")):
        found = ask(place, "ping")
    assert found.error == "EPROTONOSUPPORT" and "update the engine" in found.remedy


def test_a_new_engine_is_spoken_to_in_our_version(place, sock):
    with scripted(sock, PING.replace(b"1.41", b"1.99"), _answer(b"[]")) as asked:
        assert ask(place, "list").ok
    assert asked[1].startswith(b"GET /v1.51/containers/json?all=1 HTTP/1.1\r\n")


def test_a_version_that_is_too_new_is_lowered_once(place, sock):
    words = b'{"message":"client version 1.51 is too new. Maximum supported API version is 1.42"}'
    with scripted(sock, PING, _answer(words, "400 Bad"), _answer(b"[]")) as asked:
        assert ask(place, "list", api="1.51").ok
    assert [head.split()[1][:7] for head in asked[1:]] == [b"/v1.51/", b"/v1.42/"]
    with scripted(sock, PING, _answer(words, "400 Bad"), _answer(words, "400 Bad")):
        assert ask(place, "list", api="1.51").error == "EPROTONOSUPPORT"


def test_a_version_is_asked_for_where_the_head_has_none(place, sock):
    bare = PING.replace(b"API-Version: 1.41\r\n", b"")
    with scripted(sock, bare, _answer(b'{"ApiVersion":"1.43"}')):
        assert ask(place, "ping").api == 43
    with scripted(sock, bare, _answer(b'{"hello":"world"}')):
        assert ask(place, "ping").error == "EBADMSG"


# ---- answers that are wrong ----


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def _endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n[")
    while True:
        connection.sendall(b'"x",' * 16384)


WRONG = {
    "html": (_answer(b"<html>oops</html>", "500 Oops"), "EREMOTEIO"),
    "junk": (_answer(b"hello"), "EBADMSG"),
    "cut": (lambda c: c.sendall(_answer(b"[]")[:-1]), "ECONNRESET"),
    "torn_chunk": (lambda c: c.sendall(CHUNKED + b"ff\r\n["), "ECONNRESET"),
    "bad_chunk": (lambda c: c.sendall(CHUNKED + b"zz\r\n["), "ECONNRESET"),
    "deep": (_answer(b"[" * 1000), "EBADMSG"),
    "no_list": (_answer(b"{}"), "EBADMSG"),
    "bad_id": (_answer(b'[{"Id":"../x"}]'), "EBADMSG"),
    "endless": (_endless, "EMSGSIZE"),
    "no_http": (lambda c: c.sendall(b"\0\0\0\0\r\n\r\n"), "EPROTO"),
    "nothing": (lambda c: None, "ECONNRESET"),  # asked once more, on a connection of its own
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_answer_is_a_typed_error(place, sock, kind):
    answer, error = WRONG[kind]
    with scripted(sock, PING, answer, answer):
        assert ask(place, "list", call_ms=5000).error == error


def test_words_of_an_engine_are_plain(place, sock):
    body = b'{"message":"\\u001b[31mred\\nline"}'
    with scripted(sock, PING, _answer(body, "500 Oops")):
        assert "?[31mred line" in ask(place, "list").msg


STREAMS = {
    "late": (b'{"status":"ok"}{"errorDetail":{"message":"manifest unknown"}}', "ENOENT"),
    "auth": (b'{"error":"unauthorized: authentication required"}', "EACCES"),
    "bare": (b'{"errorDetail":{}}', "EREMOTEIO"),
    "junk": (b'{"status":"ok"}junk', "EBADMSG"),
    "cut": (b'{"status":"ok"}{"status":', "EBADMSG"),
    "long": (b'{"status":"' + b"x" * (2 << 20) + b'"}', "EMSGSIZE"),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_a_failure_in_a_stream_is_the_calls(place, sock, kind):
    body, error = STREAMS[kind]
    with scripted(sock, PING, _answer(body)):
        found = ask(place, "pull", "x", "1")
    assert found.error == error
    if kind in ("late", "junk", "cut"):
        assert [event["status"] for event in found.events] == ["ok"]


def test_a_sink_may_cancel(place, sock):
    with scripted(sock, PING, lambda c: c.sendall(CHUNKED + b'f\r\n{"status":"ok"}\r\n')):
        found = drive([f"host=unix://{sock}", "pull", "x", "1"], env={"DRIVER_CANCEL": "1"})
    assert found.error == "ECANCELED" and len(found.events) == 1


# ---- attached streams that are wrong ----

UPGRADED = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
ATTACHED = {
    "frames": (UPGRADED + b"\1\0\0\0\0\0\0\2hi\2\0\0\0\0\0\0\3err", None, b"hi"),
    "proxy": (b"HTTP/1.1 200 OK\r\n\r\n\1\0\0\0\0\0\0\2hi", None, b"hi"),
    "early": (b"HTTP/1.1 100 Continue\r\n\r\n" + UPGRADED, None, b""),
    "no_head": (UPGRADED + b"\1\0\0\0\0\0\0\2hiHTTP/1.1 400", "EPROTO", b"hi"),
    "refused": (_answer(b'{"message":"No such container: x"}', "404 No"), "ENOENT", b""),
    "chunked": (CHUNKED, "EPROTO", b""),
    "no_http": (b"hello\r\n\r\n", "EPROTO", b""),
    "long_head": (b"HTTP/1.1 101 X\r\nA: " + b"x" * (1 << 20), "EMSGSIZE", b""),
    "cut_head": (b"HTTP/1.1 101", "ECONNRESET", b""),
}


@pytest.mark.parametrize("kind", ATTACHED)
def test_an_attached_stream_is_checked(place, sock, kind):
    answer, error, out = ATTACHED[kind]

    def serve(connection):
        connection.sendall(answer)

    with scripted(sock, PING, serve, _answer(b"", "204 Started")):
        found = ask(place, "attach", "x")
    assert found.error == error, found
    assert found.out.startswith(out)
    if kind == "frames":
        assert b"said: err" in found.err


# ---- a real engine that dies ----


def test_an_engine_that_is_killed_ends_what_hangs_on_it():
    with engines.docker() as engine:
        client = Client(engine)
        engine.import_busybox(IMAGE)
        name = client.create("/bin/sh", "-c", "echo ready; exec sleep 1000")
        with subprocess.Popen([program(), f"host={engine.host}", "attach", name],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as attached:
            assert attached.stdout.readline() == b"ready\n"
            daemon = [process for process in host.descendants(engine.process.pid)
                      if process.comm == "dockerd"]
            os.kill(daemon[0].pid, signal.SIGKILL)
            assert attached.stdout.read() == b""
            attached.wait(30)
            attached.stdin.close()
        # It closes one descriptor after another.
        assert host.until(lambda: client("ping").error == "ECONNREFUSED", within=30)
