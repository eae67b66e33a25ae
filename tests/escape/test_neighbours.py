# SPDX-License-Identifier: Apache-2.0
"""Two boxes at once, and one after another: nothing of one is in the other (C15, C18, C27)."""
import contextlib
import os
import shutil
import socket
from pathlib import Path

import pytest

import sheet as sheets
from lib import box, canary, host, kept


@contextlib.contextmanager
def neighbour(probe, token, **request):
    """A box that has put its token everywhere it can."""
    with box.start(argv=["./probe", "neighbour"], files=[(probe, "probe")], **request) as living:
        living.send(token.encode() + b"\n")
        living.expect(b"ready\n")
        yield living
        code, seen = living.end()
        assert code == 0 and b"visits 0" in seen, seen


def test_C27_what_a_box_may_have_of_its_own_works(probe, host_user):
    """Own System V objects, message queues, names, ports, locks: honest programs use them."""
    with neighbour(probe, "x", as_user=host_user) as living:
        assert b"shm 1 sem 1 msg 1 mq 1 abstract 1 tcp 1 lock 1\n" in living.seen, living.seen


def test_C27_a_box_finds_nothing_of_another(probe, canaries, host_user):
    with neighbour(probe, canaries.token("neighbour"), as_user=host_user) as other:
        pids = ",".join(str(process.pid) for process in [*other.runs, *other.below()])
        result, answers = sheets.ask(probe, "C27", f"C11={pids}", "C18=neighbour",
                                     f"I01={canaries.reversed_prefix}", as_user=host_user)
    sheets.require(result, answers, "C27", "C11", "C18", "I01")
    assert canaries.found_in(result.out, result.err) == []


def test_C27_the_next_box_finds_nothing_of_the_one_before(probe, canaries, host_user):
    with neighbour(probe, canaries.token("predecessor"), as_user=host_user):
        pass
    result, answers = sheets.ask(probe, "C27", f"I01={canaries.reversed_prefix}", "C15", as_user=host_user)
    sheets.require(result, answers, "C27", "I01", "C15")
    assert canaries.found_in(result.out, result.err) == []


def test_C27_files_of_a_box_are_nowhere_on_the_host(probe, canaries, place, host_user):
    """The token lies in the box's files; the host's own file systems do not show it."""
    with neighbour(probe, canaries.token("inside"), as_user=host_user):
        for folder in (place.base, "/dev/shm", "/run"):
            for path in sorted(Path(folder).rglob("neighbour")):
                pytest.fail(f"{path} is visible on the host")


def test_C27_boxes_have_user_ids_of_their_own(probe, host_user):
    """Ids that two boxes shared would let one signal or trace the other, should a wall fall."""
    with box.start("echo ready; cat", language="sh", as_user=host_user) as one, \
            box.start("echo ready; cat", language="sh", as_user=host_user) as two:
        for living in (one, two):
            living.expect(b"ready")
        used = [{living.runs[0].status["Uid"], living.runs[0].status["Gid"]} for living in (one, two)]
        gloves = [host.Process(living.glove).status["Uid"] for living in (one, two)]
        assert not used[0] & used[1] and gloves[0] != gloves[1], (used, gloves)
        for living in (one, two):
            outside = {int(uid) for uid in living.runs[0].status["Uid"].split()}
            assert 0 not in outside and (host_user is None or host_user.uid not in outside)
            living.end()


def test_C11_another_run_of_the_same_box_is_out_of_reach(probe, host_user):
    """Runs of a box share its user and its pid namespace.  Landlock keeps them apart: no signal, no
    trace, no memory, no name in /proc.  SECURITY.md says what they share."""
    with kept.made(as_user=host_user) as name:
        assert kept.call("put", name, f"{probe}:probe", as_user=host_user).returncode == 0
        with kept.started(name, "sleep 1000 & echo pids $$ $!; cat", as_user=host_user) as victim:
            pids = victim.expect(b"\n").decode().split()[1:]
            result = kept.call("run", name, "--json", "--", "./probe",
                               "C11=sibling," + ",".join(pids), as_user=host_user)
            answers = sheets.Sheet(result.stdout or "")
            sheets.require(result, answers, "C11")
            assert len(answers.of("C11", "OK")) == 2, result
            everything = kept.call("run", name, "--json", "--", "sh", "-c", "kill -9 -1; true",
                                   as_user=host_user)
            assert everything.verdict == "ok", everything
            victim.send(b"alive\n")
            victim.expect(b"alive\n")
            assert victim.end()[0] == 0


def test_C15_keys_of_the_host_and_of_other_boxes_are_out_of_reach(probe, canaries, host_user):
    with neighbour(probe, canaries.token("keyring"), as_user=host_user):
        result, answers = sheets.ask(probe, "C15", as_user=host_user)
    sheets.require(result, answers, "C15")
    canaries.check()


def test_C18_sockets_in_a_toolchain_are_not_reachable(probe):
    """A read-only tree with a listening socket in it: the one bind mount a user can ask for."""
    folder = sheets.private_folder(below="/srv")
    listeners = canary.Listeners()
    try:
        (folder / "bin").mkdir()
        path = folder / "bin" / "agent.sock"
        listeners.add("toolchain", socket.AF_UNIX, socket.SOCK_STREAM, str(path))
        path.chmod(0o777)
        listeners.thread.start()
        result, answers = sheets.ask(probe, f"C18=x,{path}", toolchains=[folder])
        assert result.verdict == "ok" and not answers.unfinished("C18"), result
        assert not answers.faults("C18"), answers.faults("C18")
        assert listeners.visits == []
    finally:
        listeners.close()
        shutil.rmtree(folder)


LATER = """
import os, socket, sys
print("ready", flush=True)
sys.stdin.readline()
for name, kind in (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM)):
    with socket.socket(socket.AF_UNIX, kind) as sock:
        try:
            sock.connect(f"{FOLDER}/{name}")
            print(name, "connected")
        except ConnectionRefusedError:
            print(name, "refused")
pipe = os.open(f"{FOLDER}/pipe", os.O_RDONLY | os.O_NONBLOCK)
print("pipe", os.read(pipe, 100))
"""


def test_C18_sockets_and_pipes_that_come_later_lead_nowhere(host_user):
    """No look at a tree before the start would find them: the way it is shown must do it."""
    folder = sheets.private_folder(below="/srv")
    listeners = canary.Listeners()
    try:
        listeners.thread.start()
        code = LATER.replace("{FOLDER}", str(folder))
        with box.start(code, language="python", toolchains=[folder], as_user=host_user) as living:
            living.expect(b"ready\n")
            for name, kind in (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM)):
                listeners.add(name, socket.AF_UNIX, kind, str(folder / name))
                (folder / name).chmod(0o777)
            os.mkfifo(folder / "pipe")
            (folder / "pipe").chmod(0o666)
            pipe = os.open(folder / "pipe", os.O_RDWR)
            os.write(pipe, b"secret of the pipe")
            living.send(b"\n")
            code, seen = living.end()
        assert (code, seen) == (0, b"ready\nstream refused\ndgram refused\npipe b''\n"), seen
        assert listeners.visits == []
        assert os.read(pipe, 100) == b"secret of the pipe"
        os.close(pipe)
    finally:
        listeners.close()
        shutil.rmtree(folder)
