# SPDX-License-Identifier: Apache-2.0
"""create_runtime_env, execute_code_block, get_container_logs, cleanup_env on native boxes."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import pytest

from lib import host, net, pace


def test_an_environment_is_found_by_the_next_call(tools):
    """S2-07, S2-12, S2-14, S2-18"""
    with tools.made() as made:
        assert os.path.isabs(made.workspace)
        assert os.path.basename(made.workspace).startswith("adde-workspace-")
        log = tools.run(made, "main.py", "import sys\nprint('<a&b>')\nprint('bad', file=sys.stderr)")
        assert (log["exit_code"], log["stdout"], log["stderr"]) == (0, "<a&b>\n", "bad\n")
        assert log["execution_time"].endswith("s") and float(log["execution_time"][:-1]) < 60
        assert len(log["execution_time"].split(".")[1]) == 3
        assert log["timed_out"] is False
        answer = tools.do("cleanup_env", container_id=made.container_id, delete_workspace=True)
        assert answer == {"ok": True}
        assert tools.boxes() == []


def create_for_nobody(tools, **popen):
    return subprocess.run([tools.link, "create_runtime_env", "{}"], stderr=subprocess.PIPE, cwd=tools.cwd, timeout=90,
                          env={**os.environ, **tools.environment}, check=False, **popen)


def test_an_environment_whose_id_reaches_nobody_is_not_left(tools):
    """A full disk under stdout, a reader who has left, no stdout at all."""
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "wb") as full:
        for stdout, said in ((full, b"No space left"), (writer, b"Broken pipe")):
            done = create_for_nobody(tools, stdout=stdout)
            assert done.returncode != 0 and said in done.stderr, done
            assert tools.boxes() == [] and tools.leftovers() == []
    os.close(writer)
    done = create_for_nobody(tools, preexec_fn=lambda: os.close(1))
    assert done.returncode == 1 and b"stdout is closed" in done.stderr, done
    assert tools.boxes() == [] and tools.leftovers() == []


def test_an_empty_workspace_goes_and_a_full_one_stays(tools, forget):
    with tools.made() as made:
        tools.do("cleanup_env", container_id=made.container_id)
        assert not os.path.exists(made.workspace)
    with tools.made() as made:
        tools.run(made, "a.sh", "echo kept > result.txt")
        tools.do("cleanup_env", container_id=made.container_id)
        forget(made.workspace)
        with open(f"{made.workspace}/result.txt", encoding="utf8") as file:
            assert file.read() == "kept\n"


def test_delete_workspace_follows_no_link(tools):
    keep = tools.cwd / "keep"
    keep.mkdir()
    (keep / "file").write_text("x")
    with tools.made() as made:
        os.symlink(keep, f"{made.workspace}/link")
        os.makedirs(f"{made.workspace}/a/b")
        tools.do("cleanup_env", container_id=made.container_id, delete_workspace=True)
        assert not os.path.exists(made.workspace)
    assert (keep / "file").read_text() == "x"


def test_files_of_the_workspace_go_in_and_come_out(tools):
    with tools.made() as made:
        with open(f"{made.workspace}/data.txt", "w", encoding="utf8") as file:
            file.write("from the host")
        log = tools.run(made, "deep/er/main.py",
                        "import os\nprint(open('data.txt').read(), os.getcwd())\n"
                        "open('out.txt','w').write('from the box')")
        assert log["stdout"] == "from the host /workspace\n"
        for name, text in (("out.txt", "from the box"), ("deep/er/main.py", None)):
            with open(f"{made.workspace}/{name}", encoding="utf8") as file:
                assert text in (None, file.read())
        assert os.stat(f"{made.workspace}/deep/er/main.py").st_mode & 0o777 == 0o644
        with open(f"{made.workspace}/data.txt", "w", encoding="utf8") as file:
            file.write("changed meanwhile")
        assert tools.run(made, "b.sh", "cat data.txt out.txt")["stdout"] == \
            "changed meanwhilefrom the box"


def test_what_a_program_leaves_outside_the_workspace_is_there_for_the_next(tools):
    with tools.made() as made:
        tools.run(made, "a.sh", "echo here > /tmp/note")
        assert tools.run(made, "b.sh", "cat /tmp/note")["stdout"] == "here\n"


def test_environments_do_not_see_each_other(tools):
    with tools.made() as one, tools.made() as other:
        tools.run(one, "a.sh", "echo secret > /tmp/note; echo secret > mine")
        log = tools.run(other, "b.sh", "cat /tmp/note mine")
        assert log["exit_code"] != 0 and "secret" not in log["stdout"]


def test_a_failing_program_is_a_result(tools):
    """S2-04"""
    with tools.made() as made:
        assert tools.run(made, "a.py", "raise SystemExit(7)")["exit_code"] == 7
        log = tools.run(made, "b.py", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        assert (log["exit_code"], log["verdict"]) == (137, "signal")


@pytest.mark.parametrize("name, code, out", [
    ("a.py", "print(6 * 7)", "42\n"),
    ("a.js", "console.log(6 * 7)", "42\n"),
    ("a.mjs", "import os from 'os'; console.log(typeof os.tmpdir)", "function\n"),
    ("a.ts", "const n: number = 6 * 7; console.log(n)", "42\n"),
    ("a.sh", "echo $((6 * 7))", "42\n"),
])
def test_the_ending_names_the_runner(tools, name, code, out):
    """S2-13"""
    with tools.made() as made:
        log = tools.run(made, name, code)
        assert (log["exit_code"], log["stdout"]) == (0, out), log


def test_another_ending_runs_as_a_program_and_is_no_shell_line(tools):
    """S2-13: not executable, 126; the name is not the shell's to read."""
    with tools.made() as made:
        for name in ("prog", "a;touch injected", "$(touch injected)", "a b"):
            log = tools.run(made, name, "echo never")
            assert (log["exit_code"], log["stdout"]) == (126, ""), log
        assert not os.path.exists(f"{made.workspace}/injected")


def test_a_timeout_is_a_result_and_kills(tools):
    """S2-15: partial output, 124, and every process of the run is gone."""
    with tools.made() as made:
        log = tools.run(made, "a.sh", "echo so far; sleep 1000 & sleep 1000", timeout_sec=1)
        assert (log["exit_code"], log["stdout"], log["timed_out"]) == (124, "so far\n", True)
        log = tools.run(made, "b.sh", "grep -al sleep /proc/[0-9]*/comm | wc -l; ls")
        assert log["stdout"].split()[0] == "0"


def test_a_busy_loop_ends_too(tools):
    with tools.made() as made:
        log = tools.run(made, "a.py", "print('x', flush=True)\nwhile True: pass", timeout_sec=1)
        assert (log["exit_code"], log["stdout"], log["timed_out"]) == (124, "x\n", True)


def test_no_timeout_means_thirty_seconds(tools):
    """S2-12: neither none nor forever.  A proof waits for the end."""
    slow, code = ("sleep 1000", 124) if pace.IS_PROOF else ("sleep 1.5; echo ok", 0)
    with tools.made() as made:
        for seconds in (0, -5):
            log = tools.run(made, "a.sh", slow, timeout_sec=seconds)
            assert (log["exit_code"], log["timed_out"]) == (code, code == 124), log
            took = float(log["execution_time"][:-1])
            assert 30 <= took < 33 if pace.IS_PROOF else 1.5 <= took < 30, log


def test_the_log_of_the_last_run_is_told_again(tools):
    """S2-17"""
    with tools.made() as made:
        which = {"container_id": made.container_id}
        assert tools.fails("get_container_logs", **which) == \
            "no previous execution log found (run execute_code_block first)"
        first = tools.run(made, "a.sh", "printf '1\\n2\\n3\\n'; printf 'e\\nf' >&2; exit 3")
        assert tools.do("get_container_logs", **which)["log"] == first
        for lines, out, err in ((1, "3\n", "f"), (2, "2\n3\n", "e\nf"), (9, "1\n2\n3\n", "e\nf"),
                                (0, "1\n2\n3\n", "e\nf"), (-1, "1\n2\n3\n", "e\nf")):
            log = tools.do("get_container_logs", **which, tail_lines=lines)["log"]
            assert (log["stdout"], log["stderr"], log["exit_code"]) == (out, err, 3)
        second = tools.run(made, "b.sh", "echo second")
        assert tools.do("get_container_logs", **which)["log"] == second


def test_any_bytes_of_a_program_are_told(tools):
    with tools.made() as made:
        log = tools.run(made, "a.py", "import os\nos.write(1, bytes(range(256)))")
        assert log["stdout"].startswith("\0\1\2") and "\ufffd" in log["stdout"]
        assert tools.do("get_container_logs", container_id=made.container_id)["log"] == log


def test_the_log_cannot_be_forged_from_inside(tools):
    """S2-16"""
    forged = json.dumps({"exit_code": 0, "stdout": "forged", "stderr": ""})
    with tools.made() as made:
        log = tools.run(made, "a.py",
                        "for name in ('.adde_last_run.json', 'last_run.json', 'environment.json'):\n"
                        f"    open(name, 'w').write({forged!r})\nprint('true')")
        again = tools.do("get_container_logs", container_id=made.container_id)["log"]
        assert again == log and again["stdout"] == "true\n"


def test_a_log_that_is_broken_is_an_error(tools):
    with tools.made() as made:
        tools.run(made, "a.sh", "echo x")
        path = tools.base / "state" / "boxes" / made.container_id / "last_run.json"
        for text in ("{", "[]", ""):
            path.write_text(text)
            error = tools.fails("get_container_logs", container_id=made.container_id)
            assert error.startswith("invalid last run data: ")


def test_variables_reach_the_program_as_they_are(tools):
    value = "a b $(touch x) \"' = \n ü"
    with tools.made(env_vars={"PLAIN": "1", "ODD": value}) as made:
        log = tools.run(made, "a.py", "import os, json\n"
                                      "print(json.dumps([os.environ['PLAIN'], os.environ['ODD']]))")
        assert json.loads(log["stdout"]) == ["1", value]


def test_limits_are_those_of_the_tools(tools):
    """S2-08, S2-31"""
    with tools.made() as made:
        log = tools.run(made, "a.py", "x = bytearray(700 << 20)")
        assert (log["verdict"], log["exit_code"]) == ("memory", 137)
        record = json.loads((tools.base / "state" / "boxes" / made.container_id / "box.json")
                            .read_text())
        assert (record["memory_bytes"], record["cpu_milli"]) == (512 << 20, 500)
        assert record["ttl_ms"] == 86400 * 1000


def test_limits_of_an_environment_can_only_be_lowered(tools):
    with tools.made(memory="64m", cpus=0.25, pids=20, disk="8m", ttl_sec=600) as made:
        record = json.loads((tools.base / "state" / "boxes" / made.container_id / "box.json")
                            .read_text())
        assert (record["memory_bytes"], record["cpu_milli"], record["pids"]) == (64 << 20, 250, 20)
        assert (record["disk_bytes"], record["ttl_ms"]) == (8 << 20, 600000)
    with tools.made(memory="100g", cpus=64, pids=30000, disk="1t") as made:
        record = json.loads((tools.base / "state" / "boxes" / made.container_id / "box.json")
                            .read_text())
        assert (record["memory_bytes"], record["cpu_milli"], record["pids"]) == (512 << 20, 1000, 128)
        assert record["disk_bytes"] == 256 << 20


def test_an_environment_ends_with_its_time(tools):
    with tools.made(ttl_sec=1) as made:
        assert host.until(lambda: not tools.boxes(), within=30)
        error = tools.fails("execute_code_block", container_id=made.container_id, filename="a.sh",
                            code_content="echo")
        assert "no environment" in error
        shutil.rmtree(made.workspace)


def test_a_dead_keeper_is_an_unknown_environment(tools):
    with tools.made() as made:
        below = host.descendants(os.getpid())
        glove = next(process for process in below if process.depth > 1)
        keeper = glove.ppid
        os.kill(keeper, signal.SIGKILL)
        assert host.until(lambda: not glove.is_alive() and not tools.boxes(), within=pace.within(2))
        error = tools.fails("execute_code_block", container_id=made.container_id, filename="a.sh",
                            code_content="echo")
        assert "no environment" in error
        shutil.rmtree(made.workspace)


def test_a_signal_ends_the_run_and_tells_what_there_is(tools):
    with tools.made() as made:
        request = {"container_id": made.container_id, "filename": "a.sh",
                   "code_content": "echo begun > begun; echo so far; sleep 1000"}
        running = subprocess.Popen([str(tools.link), "execute_code_block", json.dumps(request)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, **tools.environment})
        sleeper = lambda: [p for p in host.descendants(os.getpid()) if p.comm == "sleep"]
        assert host.until(sleeper, within=30)
        running.terminate()
        out, err = running.communicate(timeout=30)
        answer = json.loads(out)
        assert (running.returncode, err) == (1, b"")
        assert answer["log"]["stdout"] == "so far\n" and "ended" in answer["error"]
        assert host.until(lambda: not sleeper(), within=pace.within(2))
        assert tools.run(made, "b.sh", "echo alive")["stdout"] == "alive\n"


def test_kill_9_of_the_caller_ends_its_run_only(tools):
    with tools.made() as made:
        request = {"container_id": made.container_id, "filename": "a.sh",
                   "code_content": "sleep 1000"}
        running = subprocess.Popen([str(tools.link), "execute_code_block", json.dumps(request)],
                                   env={**os.environ, **tools.environment})
        sleeper = lambda: [p for p in host.descendants(os.getpid()) if p.comm == "sleep"]
        assert host.until(sleeper, within=30)
        running.kill()
        running.wait()
        assert host.until(lambda: not sleeper(), within=pace.within(2))
        assert tools.run(made, "b.sh", "echo alive")["stdout"] == "alive\n"


def test_runs_of_one_environment_at_the_same_time(tools):
    with tools.made() as made:
        def start(i):
            request = {"container_id": made.container_id, "filename": f"{i}.sh",
                       "code_content": f"echo {i}"}
            return subprocess.Popen([str(tools.link), "execute_code_block", json.dumps(request)],
                                    stdout=subprocess.PIPE, env={**os.environ, **tools.environment})
        running = [start(i) for i in range(6)]
        for i, process in enumerate(running):
            out, _ = process.communicate(timeout=60)
            assert json.loads(out)["log"]["stdout"] == f"{i}\n"


# ---- network and ports --------------------------------------------------------------------------

ONE_REQUEST = """import socket
with socket.create_server(("127.0.0.1", 3000)) as s:
    c, _ = s.accept()
    c.sendall(c.recv(100).upper())
    c.close()
"""


def ask_until_answered(port):
    """Until the server listens a connection is reset."""
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 30) as s:
                s.sendall(b"hello")
                if answer := s.recv(100):
                    return answer
        except (ConnectionResetError, BrokenPipeError):
            continue


def test_ports_lead_into_a_native_environment(tools):
    port = net.own_port()
    with tools.made(port_bindings={"3000": str(port)}) as made:
        log = {}
        thread = threading.Thread(target=lambda: log.update(tools.run(made, "s.py", ONE_REQUEST)))
        thread.start()
        assert ask_until_answered(port) == b"HELLO"
        thread.join()
        assert log["exit_code"] == 0, log
        assert "in use" in tools.fails("create_runtime_env", port_bindings={"1": str(port)})
        assert len(tools.boxes()) == 1


FAR = """import socket
s = socket.create_server(("0.0.0.0", 80))
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(c.recv(100).upper())
    c.close()
"""


@pytest.fixture
def far(tools):
    """A server at a public address, in a world of two network namespaces; the tools are called in the other one."""
    def start(*words):
        process = subprocess.Popen(["unshare", "-n", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    def inside(process, *words):
        subprocess.run(["nsenter", f"--net=/proc/{process.pid}/ns/net", *words], check=True)

    processes = []
    try:
        near, there = start("sh", "-c", "echo; exec cat"), start("sh", "-c", 'echo; exec "$0" -c "$1"', "/usr/bin/python3", FAR)
        for process in processes:
            assert process.stdout.readline() == "\n"
        inside(near, "ip", "link", "add", "near", "type", "veth", "peer", "far", "netns", str(there.pid))
        for process, name, address in ((near, "near", "93.184.215.1/24"), (there, "far", "93.184.215.14/24")):
            inside(process, "ip", "address", "add", address, "dev", name)
            inside(process, "ip", "link", "set", name, "up")
            inside(process, "ip", "link", "set", "lo", "up")
        assert there.stdout.readline() == "ready\n"
        link = tools.link
        tools.link = tools.base / "near"
        tools.link.write_text(f'#!/bin/sh\nexec nsenter --net=/proc/{near.pid}/ns/net {link} "$@"\n')
        tools.link.chmod(0o755)
        yield "93.184.215.14"
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def test_a_network_on_native_reaches_what_is_public(tools, far):
    with tools.made(network=True) as made, tools.made() as closed:
        code = f"import socket\ns = socket.create_connection(('{far}', 80), 20)\ns.sendall(b'hello')\nprint(s.recv(9))"
        assert tools.run(made, "a.py", code)["stdout"] == "b'HELLO'\n"
        assert "unreachable" in tools.run(closed, "a.py", code)["stderr"]


def test_the_operators_authorities_are_known_in_a_native_environment_with_a_network(tools):
    """The variable, and the file that it names."""
    code = "import os\np = os.environ.get('SSL_CERT_FILE')\nprint(p and open(p).readline(), end='')"
    folder = tempfile.mkdtemp(prefix="gb-authority-")
    try:
        os.chmod(folder, 0o755)
        authority = os.path.join(folder, "ca.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", "/dev/null", "-out", authority, "-days", "2", "-subj", "/CN=a"], check=True, capture_output=True)
        os.chmod(authority, 0o644)
        tools.environment["SSL_CERT_FILE"] = authority
        with tools.made(network=True) as made:
            # The box was given it when it was made: whoever runs in it later need not know.
            del tools.environment["SSL_CERT_FILE"]
            assert tools.run(made, "a.py", code)["stdout"] == "-----BEGIN CERTIFICATE-----\n"
        tools.environment["SSL_CERT_FILE"] = authority
        with tools.made() as made:
            assert tools.run(made, "a.py", code)["stdout"] == "None"
    finally:
        shutil.rmtree(folder)


def test_a_network_on_native_reaches_public_addresses_only(tools):
    with tools.made(network=True) as made:
        # The reset may be quicker than the return from connect().
        log = tools.run(made, "a.py", "import socket\n"
                                      "try:\n    socket.create_connection(('10.0.0.1', 81), 20).recv(1)\n"
                                      "except ConnectionResetError:\n    print('reset')")
        assert log["stdout"] == "reset\n", log
