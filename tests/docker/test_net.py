# SPDX-License-Identifier: Apache-2.0
"""`exec --backend docker --net`: rules as in a native box, in a container without a network device.

The names are those of a hosts file that only the command sees (lib.net); the engine has a network of
its own, and nothing here goes through it.
"""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import socket
import stat
import subprocess
import textwrap
import urllib.request

import pytest

from lib import box, engines, host, kept, net
from lib.net import HTTP, NAMES, PROXY, decisions, page, read_head

# Linux's numbers: what a container with rules has besides, and must have lost.
NET_BIND_SERVICE, NET_ADMIN = 10, 12


@pytest.fixture
def serve():
    with net.serving() as make:
        yield make


@pytest.fixture
def run(place, docker):
    """A shell script in a container with these rules."""
    hosts = place.cwd / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + NAMES)

    def call(rules, script, at=docker, **request):
        words = at.words(script, net=rules, **request)
        return box.run_words(net.command(hosts, words), host_env=at.environment)
    return call


def test_a_name_that_is_listed_is_reached(run, serve):
    server = serve(page)
    done = run(f"one.test:{server.port},127.0.0.1", f"wget -q -O - http://one.test:{server.port}/")
    assert (done.returncode, done.stdout) == (0, "a page\n"), done
    assert done.document["receipt"]["walls"]["net"] == "transparent"
    assert decisions(done)[-1] == ("one.test", server.port, True, None)
    assert {entry[:3] for entry in decisions(done)} == {("one.test", None, True), ("one.test", server.port, True)}


def test_what_is_not_listed_is_refused(run, serve):
    server = serve(page)
    done = run("one.test,127.0.0.1", f"wget -q -O - http://two.test:{server.port}/ || echo refused")
    assert done.stdout == "refused\n" and server.seen == 0, done
    assert ("two.test", None, False, "not listed") in decisions(done)
    done = run("full", f"for at in 10.0.0.1 169.254.169.254 192.168.0.1; do wget -q -O - http://$at:{server.port}/ || "
                       "echo refused; done")
    assert done.stdout == "refused\n" * 3, done
    assert {entry[3] for entry in decisions(done)} == {"not a public address"}


def test_there_is_no_device_but_loopback(run, docker):
    done = run("full", "tail -n +3 /proc/net/dev | cut -d: -f1; cat /etc/resolv.conf | grep -v '^#'; ping -c 1 -W 5 192.0.2.1 2>&1 | tail -1")
    words = done.stdout.split()
    assert words[0] == "lo", done
    if docker.is_podman:  # no file at all: this address is what the C library falls back on
        assert "nameserver" not in words, done
    else:
        assert "127.0.0.1" in words and words.count("nameserver") == 1, done


def test_a_run_has_none_of_what_the_rules_were_made_with(run):
    """Capabilities gone from every set, and no netlink socket with which to change a rule."""
    done = run("full", "cat /proc/self/status /proc/1/status; nc -z 127.0.0.1 2 && echo caught")
    sets = [int(line.split()[1], 16) for line in done.stdout.splitlines() if line.startswith("Cap")]
    run_sets, glove_sets = sets[:5], sets[5:]
    assert run_sets == [0] * 5 and len(glove_sets) == 5, done
    assert not any(caps >> bit & 1 for caps in glove_sets for bit in (NET_BIND_SERVICE, NET_ADMIN)), done
    assert done.document["receipt"]["walls"]["caps"], done


@pytest.mark.parametrize("way", ["HTTP", "CONNECT"])
def test_the_proxy_is_there_too(run, serve, way):
    server = serve(page)
    at = f"one.test:{server.port}"
    if way == "HTTP":
        script = f"http_proxy=http://{PROXY} wget -q -O - http://{at}/"
    else:
        # Its input does not end, so that the end of the answer is the end of it.
        script = (f"mkfifo say; exec 3<>say; printf 'CONNECT {at} HTTP/1.0\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n' >&3; "
                  f"nc {PROXY.replace(':', ' ')} <say | tail -n 1")
    done = run("one.test,127.0.0.1", script)
    assert done.stdout == "a page\n", done


def test_much_goes_both_ways_unchanged(run, serve):
    size = 4 << 20

    def swallow(connection):
        head, rest = read_head(connection)
        while len(rest) < size:
            rest += connection.recv(65536)
        digests.append(hashlib.sha256(rest).hexdigest())
        connection.sendall(HTTP % size + noise)

    noise, digests = os.urandom(size), []
    server = serve(swallow)
    done = run("one.test,127.0.0.1", f"base64 /dev/urandom | head -c {size} > big; wget -q -O back --post-file=big "
                                     f"http://one.test:{server.port}/; sha256sum big back", timeout=120)
    sent, _, back, _ = done.stdout.split()
    assert ([sent], back) == (digests, hashlib.sha256(noise).hexdigest()), done


def test_containers_without_rules_have_none_of_it(docker):
    """Neither the capabilities nor the wider profile."""
    process = subprocess.Popen(docker.words("echo up; sleep 1000", as_json=False), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, env=box.environment(docker.environment))
    try:
        assert process.stdout.readline() == b"up\n"
        [item] = docker.containers()
        asked = docker.engine.get(f"/containers/{item['Id']}/json")["HostConfig"]
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert not any("NET_" in cap for cap in asked["CapAdd"]), asked["CapAdd"]
    [profile] = [option for option in asked["SecurityOpt"] if option.startswith("seccomp=")]
    profile = profile.removeprefix("seccomp=")
    rules = json.loads(host.read(profile) if docker.is_podman else profile)["syscalls"]
    netlink = [rule["args"] for rule in rules if rule["names"] == ["socket"] and len(rule.get("args", [])) == 2]
    assert [[arg["op"] for arg in args] for args in netlink] == [["SCMP_CMP_MASKED_EQ", "SCMP_CMP_GE"]], netlink


# ---- boxes that live on -----------------------------------------------------------------------------

@pytest.fixture
def living(docker, place):
    """living(*options): the words of a box that is a container and lives on, as a function; removed afterwards."""
    hosts = place.cwd / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + NAMES)
    environment = kept.environment(docker.environment)
    with contextlib.ExitStack() as stack:
        def make(*options):
            words = kept.words("create", "--backend", "docker", "--image", docker.image, *options)
            done = box.run_words(net.command(hosts, words), host_env=environment)
            assert done.returncode == 0, done
            name = done.out.decode().strip()
            stack.callback(lambda: kept.call("rm", name, host_env=docker.environment))
            return lambda command, *rest: kept.call(command, name, *rest, host_env=docker.environment), name
        yield make


def lines_of(call):
    done = call("net", "--json")
    assert done.returncode == 0, done
    return done.document


def test_rules_hold_for_every_run_of_a_container_that_lives_on(living, serve):
    server = serve(page)
    call, _ = living("--net", f"one.test:{server.port},127.0.0.1")
    for _ in range(2):
        done = call("run", "--json", "--", "wget", "-q", "-O", "-", f"http://one.test:{server.port}/")
        assert (done.returncode, done.stdout) == (0, "a page\n"), done
        assert done.receipt["walls"]["net"] == "transparent"
    done = call("run", "--json", "--", "wget", "-q", "-O", "-", f"http://two.test:{server.port}/")
    assert done.document["exit_code"] == 1 and server.seen == 2, done
    assert host.until(lambda: lines_of(call)["connections"] == 2, 10)
    assert ("look-up", "two.test", False, "not listed") in {
        (d["what"], d["name"], d["allowed"], d["reason"]) for d in lines_of(call)["decisions"]}


def test_caps_hold_for_a_container(living, serve):
    server = serve(page)
    call, _ = living("--net", "one.test,127.0.0.1", "--net-connections", "1")
    words = ["wget", "-q", "-O", "-", f"http://one.test:{server.port}/"]
    assert call("run", "--json", "--", *words).stdout == "a page\n"
    assert call("run", "--json", "--", *words).document["exit_code"] == 1 and server.seen == 1


def test_a_port_leads_into_a_container(living, docker):
    """Many at once, without a network of the engine's or of the box's."""
    call, name = living("--port", "0:3000")
    told = call("ports", "--json").document["ports"]
    assert [(p["host_ip"], p["port"]) for p in told] == [("127.0.0.1", 3000)]
    port = told[0]["host_port"]
    script = "mkdir www; echo hello > www/index.html; httpd -f -p 127.0.0.1:3000 -h www & echo ready; wait"
    with kept.started(name, script, "--timeout", "5m", host_env=docker.environment) as running:
        running.expect(b"ready")

        def get(_):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                return answer.read()

        assert host.until(lambda: get(0) == b"hello\n", 20)
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            assert list(pool.map(get, range(120))) == [b"hello\n"] * 120
        assert b"unreachable" in call("run", "--", "sh", "-c", "wget -O - http://192.0.2.1/ 2>&1").out
    assert call("rm").returncode == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 5).close()


# ---- where the container gets no NET_ADMIN --------------------------------------------------------

# What some operators have in place of runc: an engine whose containers never administer a network.
RUNTIME = textwrap.dedent("""\
    #!/usr/bin/python3
    import json, os, sys
    words = sys.argv[1:]
    if "create" in words:
        path = os.path.join(words[words.index("--bundle") + 1], "config.json")
        with open(path) as file:
            config = json.load(file)
        for kind, names in config["process"]["capabilities"].items():
            config["process"]["capabilities"][kind] = [name for name in names if name != "CAP_NET_ADMIN"]
        with open(path, "w") as file:
            json.dump(config, file)
    os.execvp("runc", ["runc", *words])
    """)


@pytest.fixture
def strict(make_docker, tmp_path):
    """An engine that gives nobody NET_ADMIN."""
    runtime = tmp_path / "strict"
    runtime.write_text(RUNTIME)
    runtime.chmod(runtime.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    with engines.docker(f"--add-runtime=strict={runtime}", "--default-runtime=strict") as engine:
        yield make_docker(engine)


@pytest.mark.docker_only
def test_without_net_admin_the_proxy_remains(run, serve, strict):
    server = serve(page)
    done = run("one.test,127.0.0.1", f"env | grep -c _PROXY; wget -q -O - http://one.test:{server.port}/", at=strict)
    assert done.stdout == "4\na page\n" and server.seen == 1, done
    assert done.document["receipt"]["walls"]["net"] == "proxy"
