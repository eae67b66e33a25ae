# SPDX-License-Identifier: Apache-2.0
"""Real programs through the redirect, none of which is told of a proxy; and a thousand connections of one box."""
import contextlib
import http.server
import json
import os
import pwd
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from lib import box, host, kept, net, pace
from lib.net import page, python
from test_box_net import hosts, net_box, switchboards  # noqa: F401  (fixtures)
from test_net import run, serve  # noqa: F401  (fixtures)
from test_ports import memory_kib

RULES = "one.test,127.0.0.1"
MANY = 1000


# ---- real peers ---------------------------------------------------------------------------------

@pytest.fixture
def site(tmp_path):
    """A directory that a real web server of this machine serves: its address, the directory."""
    handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *rest: handler(*rest, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://one.test:{server.server_address[1]}", tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


def test_git_clones(run, site):  # noqa: F811
    at, folder = site
    work = folder / "work"
    script = ("git init -q -b main . && echo hello > file && git add file && "
              "git -c user.name=a -c user.email=a@a.test commit -q -m one && git clone -q --bare . ../code.git && "
              "git -C ../code.git update-server-info")
    work.mkdir()
    subprocess.run(["sh", "-c", script], cwd=work, check=True, env={"PATH": os.environ["PATH"], "HOME": str(work)})
    done = run(RULES, "sh", "-c", f"git clone -q {at}/code.git got && cat got/file && git -C got log --format=%s")
    assert done.document["stdout"] == "hello\none\n", done


def test_java_has_its_own_client(run, serve):  # noqa: F811
    server = serve(page)
    code = ("import java.net.*; import java.net.http.*; public class Main { public static void main(String[] a) throws "
            "Exception { System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(), "
            "HttpResponse.BodyHandlers.ofString()).body()); } }")
    done = run(RULES, "sh", "-c", f'echo "$0" > Main.java && java Main.java http://one.test:{server.port}/', code,
               options=["--memory", "1g", "--pids", "256", "--timeout", "120"])
    assert done.document["stdout"] == "a page\n", done


@pytest.fixture
def postgres(place, tmp_path_factory):
    """A PostgreSQL of the test's own, as an ordinary user on loopback: its port."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    who = pwd.getpwnam("nobody")
    folder = Path(subprocess.run(["mktemp", "-d", "/tmp/gb-postgres-XXXXXX"], check=True, capture_output=True,
                                 text=True).stdout.strip())
    os.chown(folder, who.pw_uid, who.pw_gid)
    port = net.own_port()
    as_nobody = dict(user=who.pw_uid, group=who.pw_gid, extra_groups=[], cwd=folder,
                     env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(folder)})
    subprocess.run([programs / "initdb", "-D", folder / "data", "-U", "box", "-A", "trust", "--no-sync"], check=True,
                   stdout=subprocess.DEVNULL, **as_nobody)
    server = subprocess.Popen([programs / "postgres", "-D", folder / "data", "-p", str(port), "-k", folder, "-F",
                               "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=16MB"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_nobody)
    try:
        ready = ["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "box", "-c", "select 1", "postgres"]
        assert host.until(lambda: subprocess.run(ready, capture_output=True).returncode == 0, 60)
        yield port
    finally:
        server.terminate()
        server.wait(60)
        subprocess.run(["rm", "-rf", folder], check=True)


def test_psql_asks_a_real_database(run, postgres):  # noqa: F811
    done = run(f"one.test:{postgres},127.0.0.1", "psql", "-At", "-h", "one.test", "-p", str(postgres), "-U", "box", "-c",
               "create table t as select generate_series(1, 100000) as n", "-c", "select sum(n) from t", "postgres")
    assert done.document["stdout"].split("\n")[-2] == "5000050000", done
    done = run("one.test:5433,127.0.0.1", "psql", "-h", "one.test", "-p", str(postgres), "-U", "box", "-c", "select 1", "postgres")
    assert done.document["exit_code"] == 2, done


# ---- many ---------------------------------------------------------------------------------------

# Half of all begin in the same moment, the others one after another meanwhile; each reads its own page.
CROWD = """
import threading
port, n = map(int, sys.argv[1:])
barrier, got, lock = threading.Barrier(n // 2 + 1), [], threading.Lock()
def get(i):
    with socket.create_connection(('one.test', port), 120) as s:
        s.sendall(b'GET /%d HTTP/1.0\\r\\n\\r\\n' % i)
        text = b''
        while piece := s.recv(1000):
            text += piece
    with lock:
        got.append(text.endswith(b'\\r\\n\\r\\n/%d' % i))
def at_once(i):
    barrier.wait()
    get(i)
threading.stack_size(65536)
threads = [threading.Thread(target=at_once, args=(i,)) for i in range(n // 2)]
for t in threads: t.start()
barrier.wait()
for i in range(n // 2, n): get(i)
for t in threads: t.join()
print(len(got), all(got))
"""


# All are open before one is answered: the answer to the first comes when the last has said what it is.
OPEN = """
import resource
port, n = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
opened = []
for i in range(n):
    opened.append(socket.create_connection(('one.test', port), 120))
    opened[-1].sendall(b'%6d' % i)
print(sum(s.recv(6, socket.MSG_WAITALL) == b'%6d' % i for i, s in enumerate(opened)))
"""


class Patient:
    """Answers with what was said to it, once so many have said something."""

    def __init__(self, n):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, args=(n,))
        self.thread.start()

    def _serve(self, n):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.socket)
            self.socket.settimeout(120)
            opened = [stack.enter_context(self.socket.accept()[0]) for _ in range(n)]
            for connection in opened:
                connection.sendall(connection.recv(6, socket.MSG_WAITALL))


@pytest.mark.parametrize("lives_on", [False, True], ids=["exec", "box"])
def test_a_thousand_connections_are_open_at_once(run, net_box, lives_on):  # noqa: F811
    server = Patient(MANY)
    words = python(OPEN, server.port, MANY)
    if lives_on:
        name = net_box(RULES, "--timeout", "200")
        done = kept.call("run", name, "--json", "--", *words, outer=240)
        out = done.stdout
    else:
        done = run(RULES, *words, options=["--timeout", "200"], outer=240)
        out = done.document["stdout"]
    server.thread.join()
    assert out == f"{MANY}\n", done


def echo_path(connection):
    head, _ = net.read_head(connection)
    body = head.split(b" ")[1]
    connection.sendall(net.HTTP % len(body) + body)


def test_a_thousand_connections_and_another_box_is_none_the_slower(net_box, serve):  # noqa: F811
    """None is lost, little is held, and meanwhile a request of another box takes no longer than a person would notice."""
    server = serve(echo_path)
    other = net_box(RULES)
    name = net_box(RULES, "--memory", "1g", "--pids", "1000", "--timeout", "300")
    watched = [p.pid for p in [*switchboards(), *kept.keepers()]]
    over, took, peak = threading.Event(), [], []

    def look():
        code = ("for _ in range(20):\n    began = time.monotonic()\n"
                "    s = socket.create_connection(('one.test', int(sys.argv[1])), 60)\n"
                "    s.sendall(b'GET /x HTTP/1.0\\r\\n\\r\\n'); s.recv(1000); s.close()\n"
                "    print(time.monotonic() - began)")
        while not over.is_set():
            done = kept.call("run", other, "--json", "--", *python(code, server.port))
            took.extend(map(float, done.stdout.split()))
            peak.extend(memory_kib(pid) for pid in watched)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        done = kept.call("run", name, "--json", "--", *python(CROWD, server.port, MANY), outer=330)
    finally:
        over.set()
        watcher.join()
    assert done.stdout == f"{MANY} True\n", done.stderr[-3000:]
    assert host.until(lambda: json.loads(kept.call("net", name, "--json").out)["connections"] == MANY, 30)
    assert sorted(took)[len(took) // 2] < pace.within(0.1) and max(took) < pace.within(2), sorted(took)[-5:]
    assert max(peak) < 64 << 10, max(peak)
