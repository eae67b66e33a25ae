# SPDX-License-Identifier: Apache-2.0
"""The proxy of a box with rules: HTTP, CONNECT and SOCKS 5 on one port, by the same rules.

Where the kernel has no rules to catch connections it is the only way out, and programs find the
usual variables; where it has, the proxy is there for those who ask.
"""
import functools
import hashlib
import http.server
import os
import shutil
import ssl
import subprocess
import tempfile
import threading

import pytest

from lib import box, kept, net
from lib.net import NAMES, PROXY, decisions, page, python, read_head

VARIABLES = {"HTTP_PROXY": f"http://{PROXY}", "HTTPS_PROXY": f"http://{PROXY}", "ALL_PROXY": f"socks5h://{PROXY}",
             "NO_PROXY": "localhost,127.0.0.1,::1"}

# A client that says what it is told to, and prints what it is told: python(SAY, port, bytes…).
SAY = """
s = socket.create_connection(('127.0.0.1', 3128), 30)
for word in sys.argv[1:]:
    s.sendall(word.encode('latin-1').decode('unicode_escape').encode('latin-1'))
text = b''
while piece := s.recv(65536):
    text += piece
print(text.decode('latin-1'), end='')
"""

# SOCKS 5 by hand: the code of the reply to one request.
SOCKS = """
def socks(kind, host, port, command=1):
    s = socket.create_connection(('127.0.0.1', 3128), 30)
    s.sendall(b'\\x05\\x02\\x00\\x02')
    assert s.recv(2) == b'\\x05\\x00'
    s.sendall(bytes([5, command, 0, kind]) + host + port.to_bytes(2, 'big'))
    return s.recv(10)[1]
def name(text):
    return bytes([len(text)]) + text
port = int(sys.argv[1])
"""


@pytest.fixture
def serve():
    with net.serving() as make:
        yield make


@pytest.fixture(params=[False, True], ids=["caught", "proxy_only"])
def without_rules(request):
    return request.param


@pytest.fixture
def hosts(place):
    path = place.cwd / "hosts"
    path.write_text("127.0.0.1 localhost\n" + NAMES)
    return path


@pytest.fixture
def run(hosts):
    """`exec --json --net RULES -- WORDS` where the names of lib.net exist."""
    def call(rules, *words, options=(), without_rules=False, **more):
        words = net.exec_words(rules, *words, options=options)
        return box.run_words(net.command(hosts, words, without_rules=without_rules), **more)
    return call


@pytest.fixture
def site(place):
    """A real web server with a directory behind it, on a port of 127.0.0.1."""
    root = place.cwd / "site"
    root.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.root = root
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


# ---- real clients -------------------------------------------------------------------------------

@pytest.mark.parametrize("options", [
    ["-x", f"http://{PROXY}"], ["-p", "-x", f"http://{PROXY}"], ["--socks5-hostname", PROXY], ["--socks5", PROXY],
], ids=["http", "connect", "socks5h", "socks5"])
def test_curl_asks_the_proxy(run, serve, without_rules, options):
    """--socks5 looks the name up by itself, and asks for the address that stands for it."""
    server = serve(page)
    done = run(f"one.test:{server.port},127.0.0.1", "curl", "-sS", *options, f"http://one.test:{server.port}/",
               without_rules=without_rules)
    assert (done.returncode, done.document["stdout"]) == (0, "a page\n"), done
    assert decisions(done)[-1] == ("one.test", server.port, True, None)
    assert done.document["receipt"]["walls"]["net"] == ("proxy" if without_rules else "transparent")


@pytest.mark.parametrize("way", [["-x", f"http://{PROXY}"], ["--socks5-hostname", PROXY], []], ids=["http", "socks5h", "caught"])
def test_an_ordinary_user_has_it_too(ordinary_user, serve, way):
    server = serve(page)
    at = "127-0-0-1.address.internal"
    done = box.run(argv=["curl", "-sS", *way, f"http://{at}:{server.port}/"], net=f"{at}:{server.port},127.0.0.1",
                   as_user=ordinary_user)
    assert (done.returncode, done.stdout) == (0, "a page\n"), done
    assert done.document["receipt"]["walls"]["net"] == "transparent"


def test_what_was_for_the_proxy_does_not_reach_the_server(run, serve):
    heads = []

    def note(connection):
        head, _ = read_head(connection)
        heads.append(head)
        connection.sendall(net.HTTP % 0)

    server = serve(note)
    done = run("one.test,127.0.0.1", "curl", "-sS", "-x", f"http://user:secret@{PROXY}", "-H", "X-Kept: 1",
               "-H", "Connection: X-Dropped", "-H", "X-Dropped: 1", f"http://one.test:{server.port}/a?b=c")
    assert done.returncode == 0, done
    lines = heads[0].split(b"\r\n")
    assert lines[0] == b"GET /a?b=c HTTP/1.1" and lines[1] == b"Host: one.test:%d" % server.port
    assert b"X-Kept: 1" in lines and lines[-1] == b"Connection: close"
    assert not [line for line in lines if b"roxy" in line or b"Dropped" in line], lines


def test_wget_python_and_git_ask_the_proxy(run, site, without_rules):
    repository = site.root / "code.git"
    subprocess.run(["git", "init", "-q", "--bare", repository], check=True)
    tree = subprocess.run(["git", "-C", repository, "hash-object", "-t", "tree", "-w", "--stdin"], input="", text=True,
                          check=True, capture_output=True).stdout.strip()
    commit = subprocess.run(["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@a.test", "commit-tree", tree,
                             "-m", "one"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["git", "-C", repository, "update-ref", "refs/heads/main", commit], check=True)
    subprocess.run(["git", "-C", repository, "update-server-info"], check=True)
    (site.root / "page").write_text("a page\n")
    at = f"http://one.test:{site.server_port}"
    script = (f"wget -q -O - {at}/page; git ls-remote {at}/code.git; "
              f"python3 -c \"import urllib.request as u; print(u.urlopen('{at}/page').read().decode(), end='')\"")
    options = [word for name, value in VARIABLES.items() for word in ("--env", f"{name}={value}")]
    options += ["--env", f"http_proxy=http://{PROXY}"]
    done = run("one.test,127.0.0.1", "sh", "-c", script, options=[] if without_rules else options,
               without_rules=without_rules)
    assert done.document["stdout"] == f"a page\n{commit}\trefs/heads/main\na page\n", done


def test_java_asks_the_proxy(run, serve, without_rules):
    server = serve(page)
    code = ("import java.net.*; public class Main { public static void main(String[] a) throws Exception {"
            f" System.out.write(new URL(\"http://one.test:{server.port}/\").openStream().readAllBytes());"
            " System.out.flush(); } }")
    script = 'echo "$0" > Main.java && java -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 Main.java'
    done = run("one.test,127.0.0.1", "sh", "-c", script, code, without_rules=without_rules,
               options=["--memory", "1g", "--pids", "200", "--timeout", "60"])
    assert done.document["stdout"] == "a page\n", done


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate for one.test that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("authority")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder / "key.pem", "-out", folder / "ca.pem", "-days", "2", "-subj", "/CN=one.test",
                    "-addext", "subjectAltName=DNS:one.test"], check=True, capture_output=True)
    (folder / "ca.pem").chmod(0o644)
    return folder


@pytest.fixture
def secure_site(serve, authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "ca.pem", authority / "key.pem")

    def answer(connection):
        with context.wrap_socket(connection, server_side=True) as secure:
            page(secure)
    return serve(answer)


@pytest.mark.parametrize("way", [[], ["-x", f"http://{PROXY}"], ["--socks5-hostname", PROXY]],
                         ids=["caught", "connect", "socks5h"])
def test_tls_goes_through_untouched(run, secure_site, authority, way):
    done = run("one.test,127.0.0.1", "curl", "-sS", "--cacert", "ca.pem", *way, f"https://one.test:{secure_site.port}/",
               options=["--file", str(authority / "ca.pem")])
    assert done.document["stdout"] == "a page\n", done


@pytest.fixture
def operators(authority):
    """A file of certificates that everybody may read, as the operator's environment names it."""
    folder = tempfile.mkdtemp(prefix="gb-authority-")
    os.chmod(folder, 0o755)
    try:
        yield shutil.copy(authority / "ca.pem", folder)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("variable, words", [
    ("SSL_CERT_FILE", ["curl", "-sS", "URL"]),
    ("SSL_CERT_FILE", ["python3", "-c", "import urllib.request as u; print(u.urlopen('URL').read().decode(), end='')"]),
    ("NODE_EXTRA_CA_CERTS", ["node", "-e", "fetch('URL').then(r => r.text()).then(t => process.stdout.write(t))"]),
], ids=["curl", "python", "node"])
def test_the_operators_authorities_are_trusted_in_the_box(run, secure_site, operators, variable, words):
    words = [word.replace("URL", f"https://one.test:{secure_site.port}/") for word in words]
    done = run("one.test,127.0.0.1", *words, options=["--memory", "1g"])
    assert "a page" not in done.document["stdout"], done
    done = run("one.test,127.0.0.1", *words, options=["--memory", "1g"], host_env={variable: operators})
    assert done.document["stdout"] == "a page\n", done


def test_a_box_that_lives_on_trusts_them_too(place, secure_site, operators):
    """As its maker's environment said, whoever runs in it."""
    hosts = place.cwd / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + NAMES)
    words = kept.words("create", "--net", "one.test,127.0.0.1")
    done = box.run_words(net.command(hosts, words), host_env=kept.environment({"SSL_CERT_FILE": operators}))
    name = done.out.decode().strip()
    try:
        for _ in range(2):
            done = kept.call("run", name, "--json", "--", "curl", "-sS", f"https://one.test:{secure_site.port}/")
            assert done.stdout == "a page\n", done
        done = kept.call("run", name, "--json", "--env", "SSL_CERT_FILE=/own", "--", "sh", "-c", "echo $SSL_CERT_FILE")
        assert done.stdout == "/own\n", done
    finally:
        kept.call("rm", name)


def test_authorities_are_for_boxes_with_a_network_and_hold_no_key(run, authority, operators):
    show = ["sh", "-c", "env | grep -c SSL_CERT_FILE; ls /etc/ssl/operator /etc/ssl/private 2>/dev/null; "
            "grep -rl 'PRIVATE KEY' /etc/ssl 2>/dev/null; true"]
    done = run("one.test", *show, host_env={"SSL_CERT_FILE": operators})
    assert done.document["stdout"] == "1\n/etc/ssl/operator:\nSSL_CERT_FILE.pem\n", done
    done = run("none", *show, host_env={"SSL_CERT_FILE": operators})
    assert done.document["stdout"] == "0\n", done
    with open(operators, "ab") as file:
        file.write((authority / "key.pem").read_bytes())
    done = run("one.test", *show, host_env={"SSL_CERT_FILE": operators})
    assert done.document["stdout"] == "0\n", done


def test_every_kind_of_resolver_finds_names(run, tmp_path):
    """musl's, and c-ares in node; the C library's is in every other test."""
    source = tmp_path / "look.c"
    source.write_text('#include <netdb.h>\n#include <stdio.h>\n#include <arpa/inet.h>\nint main(void) {\n'
                      'struct addrinfo *a; if (getaddrinfo("one.test", "80", NULL, &a)) return 1;\n'
                      'puts(inet_ntoa(((struct sockaddr_in *)a->ai_addr)->sin_addr)); return 0; }\n')
    subprocess.run(["musl-gcc", "-static", "-o", tmp_path / "look", source], check=True)
    done = run("one.test,127.0.0.1", "sh", "-c",
               "chmod +x look && ./look && node -e \"require('dns').resolve4('one.test', (e, a) => console.log(e || a[0]))\"",
               options=["--file", str(tmp_path / "look"), "--memory", "1g"])
    assert done.document["stdout"] == "198.18.0.1\n198.18.0.1\n", done


# ---- refusals -----------------------------------------------------------------------------------

def test_a_refusal_names_the_host_and_is_written_down(run, serve, without_rules):
    server = serve(page)
    done = run("one.test,127.0.0.1", "curl", "-sS", "-w", "%{http_code}", "-x", f"http://{PROXY}",
               f"http://two.test:{server.port}/", without_rules=without_rules)
    assert done.document["stdout"] == f"glovebox: two.test:{server.port} was refused: not listed\n403", done
    assert server.seen == 0 and decisions(done) == [("two.test", server.port, False, "not listed")]


def test_a_port_that_is_not_listed_is_refused_by_the_proxy_too(run, serve):
    server = serve(page)
    done = run("one.test:443,127.0.0.1", "curl", "-sS", "-x", f"http://{PROXY}", f"http://one.test:{server.port}/")
    assert "was refused" in done.document["stdout"] and server.seen == 0, done


def test_codes_of_socks(run, serve):
    server = serve(page)
    done = run("one.test,gone.test,127.0.0.1", *python(
        SOCKS +
        "print(socks(3, name(b'one.test'), port), socks(3, name(b'ONE.test.'), port))\n"
        "print(socks(3, name(b'two.test'), port), socks(1, bytes([10, 0, 0, 1]), port), socks(1, bytes([127, 0, 0, 1]), port))\n"
        "print(socks(3, name(b'gone.test'), port), socks(3, name(b'one.test'), 1))\n"
        "print(socks(3, name(b'one.test\\0.x'), port), socks(3, name(b'one.t\\xc3\\xa9st'), port), socks(3, name(b''), port))\n"
        "print(socks(4, bytes(15) + b'\\x01', port), socks(1, bytes(4), port, 2), socks(1, bytes(4), port, 3))", server.port))
    assert done.document["stdout"] == "0 0\n2 2 2\n4 5\n2 2 2\n8 7 7\n", done
    assert server.seen == 2


def test_what_cannot_be_reached_is_told(run):
    done = run("one.test,gone.test,127.0.0.1", "sh", "-c",
               f"for at in one.test:1 gone.test; do curl -sS -w '%{{http_code}}\\n' -x http://{PROXY} http://$at/; done")
    assert done.document["stdout"] == ("glovebox: one.test:1 cannot be reached: Connection refused\n502\n"
                                       "glovebox: gone.test:80 cannot be reached: no such name\n502\n"), done


@pytest.mark.parametrize("said", [
    "GET http://one.test/ HTTP/1.1\\r\\nHost: two.test\\r\\n\\r\\n",
    "GET http://one.test@two.test/ HTTP/1.1\\r\\nHost: one.test\\r\\n\\r\\n",
    "GET / HTTP/1.1\\r\\nHost: one.test\\r\\n\\r\\n",
    "GET http://one.test/ HTTP/1.1\\nHost: one.test\\n\\n",
    "CONNECT one.test HTTP/1.1\\r\\nHost: one.test\\r\\n\\r\\n",
], ids=["host", "user", "origin", "bare_feed", "no_port"])
def test_what_could_be_read_in_two_ways_is_not_asked_for(run, said):
    done = run("full", *python(SAY, said))
    assert done.document["stdout"].startswith("HTTP/1.1 400 Bad Request\r\n"), done
    assert done.document["network"]["decisions"] == []


@pytest.mark.parametrize("said", ["\\x04\\x01\\x00\\x50\\x0a\\x00\\x00\\x01\\x00", "\\x16\\x03\\x01\\x02\\x00", "\\x00"],
                         ids=["socks4", "tls", "nul"])
def test_what_is_neither_is_hung_up_on(run, said):
    done = run("full", *python(
        "s = socket.create_connection(('127.0.0.1', 3128), 30)\n"
        "s.sendall(sys.argv[1].encode('latin-1').decode('unicode_escape').encode('latin-1'))\n"
        "try:\n    print(s.recv(100))\nexcept ConnectionResetError:\n    print(b'')", said))
    assert done.document["stdout"] == "b''\n", done


def test_a_head_that_does_not_end_is_refused(run):
    done = run("full", *python(SAY, "GET http://one.test/ HTTP/1.1\\r\\nX: " + "a" * 20000))
    assert done.document["stdout"].startswith("HTTP/1.1 431 "), done


# ---- streams ------------------------------------------------------------------------------------

def test_a_request_byte_by_byte_and_bytes_right_behind_it(run, serve):
    server = serve(page)
    done = run("one.test,127.0.0.1", *python(
        "at = b'one.test:' + sys.argv[1].encode()\n"
        "s = socket.create_connection(('127.0.0.1', 3128), 30)\n"
        "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
        "for byte in b'CONNECT ' + at + b' HTTP/1.0\\r\\n\\r\\n':\n    s.sendall(bytes([byte]))\n"
        "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
        "text = b''\n"
        "while piece := s.recv(65536):\n    text += piece\n"
        "t = socket.create_connection(('127.0.0.1', 3128), 30)\n"
        "t.sendall(b'CONNECT ' + at + b' HTTP/1.0\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n')\n"
        "while piece := t.recv(65536):\n    text += piece\n"
        "print(text.count(b'200 Connection established'), text.count(b'a page'))", server.port))
    assert done.document["stdout"] == "2 2\n", done


def test_much_goes_through_the_proxy_unchanged(run, serve):
    size = 8 << 20

    def swallow(connection):
        head, rest = read_head(connection)
        assert b"Content-Length: %d" % size in head
        seen, n = hashlib.sha256(rest), len(rest)
        while n < size:
            piece = connection.recv(65536)
            seen.update(piece)
            n += len(piece)
        digests.append(seen.hexdigest())
        connection.sendall(net.HTTP % len(noise) + noise)

    noise, digests = os.urandom(size), []
    server = serve(swallow)
    done = run("one.test,127.0.0.1", "sh", "-c",
               f"head -c {size} /dev/urandom > noise && curl -sS -x http://{PROXY} --data-binary @noise -H Expect: "
               f"http://one.test:{server.port}/ | sha256sum - noise", options=["--timeout", "120"])
    back, _, sent, _ = done.document["stdout"].split()
    assert (back, [sent]) == (hashlib.sha256(noise).hexdigest(), digests), done


def test_many_ask_at_once(run, serve):
    server = serve(page)
    done = run("one.test,127.0.0.1", *python(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def get(i):\n"
        "    s = socket.create_connection(('127.0.0.1', 3128), 60)\n"
        "    at = b'one.test:' + sys.argv[1].encode()\n"
        "    fat = b'X: ' + b'a' * 12000 + b'\\r\\n'\n"
        "    s.sendall(b'GET http://' + at + b'/ HTTP/1.1\\r\\nHost: ' + at + b'\\r\\n' + fat + b'\\r\\n')\n    text = b''\n"
        "    while piece := s.recv(1000):\n        text += piece\n"
        "    s.close()\n    return text.endswith(b'a page\\n')\n"
        "with ThreadPoolExecutor(100) as pool:\n    print(sum(pool.map(get, range(400))))", server.port),
        options=["--timeout", "120", "--pids", "200"])
    assert done.document["stdout"] == "400\n", done


def test_those_who_say_nothing_keep_nobody_from_the_network(run, serve):
    """Their places are bounded; connections that are caught have others."""
    server = serve(page)
    done = run("one.test,127.0.0.1", *python(
        "silent = [socket.create_connection(('127.0.0.1', 3128), 30) for _ in range(150)]\n"
        "s = socket.create_connection(('one.test', int(sys.argv[1])), 30)\n"
        "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\nprint(b'a page' in s.recv(1000) + s.recv(1000))\n"
        "for one in silent:\n    one.close()\n"
        "t = socket.create_connection(('127.0.0.1', 3128), 30)\n"
        "t.sendall(b'\\x05\\x01\\x00')\nprint(t.recv(2))", server.port))
    assert done.document["stdout"] == "True\nb'\\x05\\x00'\n", done


# ---- a kernel without rules ---------------------------------------------------------------------

def test_variables_are_set_only_where_nothing_is_caught(run, without_rules):
    done = run("one.test", "env", without_rules=without_rules, options=["--env", "https_proxy=mine"])
    found = dict(line.split("=", 1) for line in done.document["stdout"].splitlines() if "proxy" in line.lower())
    expected = {**VARIABLES, **{name.lower(): value for name, value in VARIABLES.items()}} if without_rules else {}
    assert found == {**expected, "https_proxy": "mine"}, done


def test_without_rules_of_the_kernel_nothing_else_leads_out(run, serve):
    server = serve(page)
    done = run("one.test,127.0.0.1", *python(
        "def tell(call):\n"
        "    began = time.monotonic()\n"
        "    try:\n        return call()\n"
        "    except OSError as e:\n        return e.errno, time.monotonic() - began < 5\n"
        "print(tell(lambda: socket.create_connection(('192.0.2.1', 80), 30)))\n"
        "print(tell(lambda: socket.create_connection(('one.test', int(sys.argv[1])), 30)))\n"
        "own = socket.create_server(('127.0.0.1', 8080))\n"
        "print(tell(lambda: socket.create_connection(('127.0.0.1', 8080), 30).getpeername()))", server.port),
        without_rules=True)
    assert done.document["stdout"] == "(101, True)\n(101, True)\n('127.0.0.1', 8080)\n" and server.seen == 0, done
    assert done.document["receipt"]["walls"]["net"] == "proxy"
