# SPDX-License-Identifier: Apache-2.0
"""Boxes that live on: made, used by many commands, listed, removed; nothing of them is left."""
import concurrent.futures
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest

import calls
from lib import box, host, kept, pace

RUNS_IN_A_ROW = pace.count(check=150, proof=1000)

SHAPE = {"id", "user", "backend", "image", "workdir", "created_ms", "ttl_ms", "ttl_left_ms", "runs",
         "memory_bytes", "cpus", "pids", "disk_bytes", "net", "network", "ports"}


# ---- its life -----------------------------------------------------------------------------------

def test_removing_a_box_waits_for_nothing_that_it_has_not():
    name = kept.create()
    start = time.monotonic()
    kept.call("rm", name)
    assert time.monotonic() - start < pace.within(0.4)


def test_a_box_whose_id_cannot_be_printed_is_not_left():
    for options in ((), ("--json",)):
        with open("/dev/full", "wb") as full:
            made = subprocess.run(kept.words("create", "--ttl", "60s", *options), stdout=full,
                                  stderr=subprocess.PIPE, check=False,
                                  env={**os.environ, **kept.environment()})
        assert made.returncode == 125 and b"No space left" in made.stderr, made
        assert kept.listed() == []
        reader, writer = os.pipe()
        os.close(reader)
        made = subprocess.run(kept.words("create", "--ttl", "60s", *options), stdout=writer, stderr=subprocess.PIPE,
                              check=False, env={**os.environ, **kept.environment()})
        os.close(writer)
        assert made.returncode == 125 and b"Broken pipe" in made.stderr, made
        assert kept.listed() == []


def test_a_box_whose_id_nobody_would_learn_is_not_made():
    for options in ("", "--json", "--user ada"):
        made = box.run_words(["/bin/sh", "-c", f'exec "$@" {options} >&-', "sh", *kept.words("create")],
                             host_env=kept.environment())
        assert made.returncode == 2 and b"stdout is closed" in made.err, made
        assert kept.listed() == []
    with kept.made("--user", "ada") as name:
        thrown_away = box.run_words(["/bin/sh", "-c", 'exec "$@" >/dev/null', "sh", *kept.words("create")],
                                    host_env=kept.environment())
        assert thrown_away.returncode == 0, thrown_away
        assert len(kept.listed()) == 2 and kept.call("prune").returncode == 0
        kept.call("rm", *(one["id"] for one in kept.listed() if one["id"] != name))


def test_an_empty_id_is_no_box_however_many_there_are():
    names = [kept.create(), kept.create()]
    done = kept.call("rm", "")
    assert done.returncode == 2 and b"there is no box ''" in done.err, done
    kept.call("rm", *names)


def test_a_box_is_made_used_listed_and_removed(host_user):
    name = kept.create(as_user=host_user)
    assert name.startswith("b_") and len(name) == 28
    ran = kept.call("run", name, "-l", "sh", "-c", "echo from the box", as_user=host_user)
    assert (ran.returncode, ran.out, ran.err) == (0, b"from the box\n", b""), ran
    assert [b["id"] for b in kept.listed(as_user=host_user)] == [name]
    removed = kept.call("rm", name, as_user=host_user)
    assert (removed.returncode, removed.out, removed.err) == (0, b"", b""), removed
    assert kept.listed(as_user=host_user) == []
    assert kept.no_keeper()


def test_files_stay_between_runs(host_user):
    with kept.made(as_user=host_user) as name:
        assert kept.sh(name, "echo 1 >f; pwd", as_user=host_user).stdout == "/workspace\n"
        assert kept.sh(name, "echo 2 >>f", as_user=host_user).verdict == "ok"
        assert kept.sh(name, "cat f", as_user=host_user).stdout == "1\n2\n"


def test_the_documents(place):
    made = kept.call("create", "--json", "--user", "anna", "--ttl", "2h", "--memory", "64M", "--pids", "17")
    try:
        assert made.returncode == 0 and set(made.document) == SHAPE, made
        first, = kept.listed()
        assert set(first) == SHAPE
        assert (first["id"], first["user"], first["backend"]) == (made.id, "anna", "native")
        assert (first["memory_bytes"], first["pids"], first["runs"]) == (64 << 20, 17, 0)
        assert first["ttl_ms"] == 7200000 and 0 < first["ttl_left_ms"] <= 7200000
        assert first["workdir"] == "/workspace" and first["image"] == "host"
        lines = kept.call("list").out.decode().splitlines()
        assert len(lines) == 1 and lines[0].startswith(made.id[:10]) and "of anna" in lines[0]
    finally:
        kept.call("rm", "--all")
    nothing = kept.call("list", "--json")
    assert nothing.document == {"schema": 1, "boxes": []}
    assert b"box create" in kept.call("list").err


def test_a_box_of_the_given_directory():
    with kept.made("--workdir", "/workspace/deep/er") as name:
        assert kept.sh(name, "pwd").stdout == "/workspace/deep/er\n"
        assert kept.sh(name, "pwd", "--workdir", "/tmp").stdout == "/tmp\n"


def test_after_its_time_it_ends_by_itself(host_user):
    name = kept.create("--ttl", "1s", as_user=host_user)
    known = [process for keeper in kept.keepers() for process in (*host.descendants(keeper.pid), keeper)]
    assert host.until(lambda: not [p for p in known if p.is_alive()], pace.within(3))
    assert kept.listed(as_user=host_user) == []
    gone = kept.call("run", name, "--", "true", as_user=host_user)
    assert gone.returncode == 2 and name.encode() in gone.err, gone


def test_a_run_that_is_under_way_ends_with_the_box():
    with kept.made() as name, kept.started(name, "echo ready; cat") as living:
        living.expect(b"ready")
        assert kept.call("rm", name).returncode == 0
        code, _ = living.end()
        assert code == 125


def test_all_are_removed_at_once():
    names = {kept.create() for _ in range(3)}
    assert {b["id"] for b in kept.listed()} == names
    assert kept.call("rm", "--all").returncode == 0
    assert kept.listed() == []


def test_several_are_removed_though_one_is_not_there():
    names = [kept.create() for _ in range(2)]
    done = kept.call("rm", names[0], "b_nosuchbox", names[1])
    assert done.returncode == 2 and b"b_nosuchbox" in done.err, done
    assert kept.listed() == []


def test_every_box_that_is_not_removed_is_told():
    done = kept.call("rm", "b_nosuchbox", "b_norsuchone")
    assert done.returncode == 2, done
    assert b"b_nosuchbox" in done.err and b"b_norsuchone" in done.err, done


def test_rm_and_prune_as_documents():
    name = kept.create()
    done = kept.call("rm", "--json", name, "b_nosuchbox")
    assert done.returncode == 2, done
    [gone, none] = done.document["boxes"]
    assert gone == {"box": name, "removed": True, "error": None, "remedy": None}
    assert none["box"] == "b_nosuchbox" and not none["removed"] and "no box" in none["error"], none
    done = kept.call("prune", "--json")
    assert done.returncode == 0 and done.document["alive"] == 0, done
    assert done.document["containers_removed"] == 0 and done.err == b"", done


def test_prune_tells_how_many_live():
    with kept.made():
        done = kept.call("prune")
        assert (done.returncode, done.err) == (0, b"1 box alive.\n"), done


# ---- names --------------------------------------------------------------------------------------

def test_the_beginning_of_an_id_is_enough_if_no_other_has_it():
    with kept.made() as one, kept.made() as other:
        n = next(i for i in range(28) if one[i] != other[i]) + 1
        assert kept.sh(one[:n], "exit 3").exit_code == 3
        calls.refused(as_answer(kept.call("run", "b_", "--", "true")), "2 boxes", "remedy")
        calls.refused(as_answer(kept.call("rm", "b")), "2 boxes")
        assert len(kept.listed()) == 2


def as_answer(result):
    """What calls.refused() looks at."""
    result.stdout, result.stderr = result.out, result.err
    return result


@pytest.mark.parametrize("words, part", [
    (("run",), "BOX"),
    (("run", "b_nosuch", "--", "true"), "there is no box 'b_nosuch'"),
    (("run", "b_" + "0" * 26, "--", "true"), "there is no box"),
    (("run", "../../etc", "--", "true"), "there is no box"),
    (("run", "", "--", "true"), "there is no box"),
    (("run", "x" * 5000, "--", "true"), "there is no box"),
    (("run", "a\x1b[31m\nb", "--", "true"), "there is no box"),
    (("rm",), "BOX"),
    (("rm", "b_nosuch"), "there is no box"),
    (("rm", "b_x", "--all"), "--all"),
    (("rm", "--user", "nobody"), "'nobody' has no box"),
    (("create", "extra"), "extra"),
    (("create", "--user", ""), "--user"),
    (("create", "--user", "a b"), "--user"),
    (("create", "--user", "a\x1b[2J"), "--user"),
    (("create", "--user", "a\nb"), "--user"),
    (("create", "--user", "../x"), "--user"),
    (("create", "--user", "x" * 64), "--user"),
    (("create", "--ttl", "0"), "--ttl"),
    (("create", "--ttl", "50d"), "--ttl"),
    (("create", "--ttl", "soon"), "--ttl"),
    (("create", "--workdir", "relative"), "--workdir"),
    (("create", "--workdir", "/a/../b"), "--workdir"),
    (("create", "--memory", "lots"), "memory"),
    (("list", "extra"), "extra"),
    (("prune", "extra"), "extra"),
])
def test_bad_input_is_one_line_and_nothing_is_started(place, words, part):
    calls.refused(calls.call(place, "box", *words), part)
    assert kept.no_keeper()


def test_without_a_place_to_remember_boxes(place, ordinary_user):
    """Root has one of the machine's; an ordinary user needs a home."""
    env = calls.environment(place, GLOVEBOX_STATE_DIR=None, HOME=None)
    done = subprocess.run([ordinary_user.binary, "box", "create"], env=env, capture_output=True, cwd="/",
                          timeout=60, **box.credentials(ordinary_user))
    calls.refused(done, "GLOVEBOX_STATE_DIR", code=125)
    assert kept.no_keeper()


# ---- users --------------------------------------------------------------------------------------

def test_a_user_has_one_box_which_is_made_when_it_is_needed(host_user):
    def run(script, user="anna"):
        return kept.call("run", "--user", user, "--json", "-l", "sh", "-c", script, as_user=host_user)

    try:
        assert run("echo mine >f").verdict == "ok"
        assert run("cat f").stdout == "mine\n"
        assert run("cat f", "bob").exit_code == 1
        assert sorted(b["user"] for b in kept.listed(as_user=host_user)) == ["anna", "bob"]
        again = kept.call("create", "--user", "anna", as_user=host_user)
        calls.refused(as_answer(again), "has a box already", "rm --user anna")
        assert kept.call("rm", "--user", "anna", as_user=host_user).returncode == 0
        assert [b["user"] for b in kept.listed(as_user=host_user)] == ["bob"]
        assert run("cat f").exit_code == 1
    finally:
        kept.call("rm", "--all", as_user=host_user)


@contextlib.contextmanager
def going(user):
    """A box of that user's that is there for whoever looks, and gone for whoever comes in."""
    with kept.made("--user", user) as model:
        name = model[:10] + ("0" if model[10] != "0" else "1") + model[11:]
        folder = kept.state_dir() / "boxes" / name
        shutil.copytree(folder.with_name(model), kept.state_dir() / "copy", ignore=lambda where, names: {"socket"})
    listener = socket.socket(socket.AF_UNIX)
    (kept.state_dir() / "copy").rename(folder)
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # its own path may be too long for a socket
    listener.bind(f"/proc/self/fd/{inside}/socket")
    os.close(inside)
    listener.listen()

    def serve():
        listener.accept()[0].close()
        with listener.accept()[0]:
            shutil.rmtree(folder, ignore_errors=True)  # the next to look may be quicker
            listener.close()
    with listener, concurrent.futures.ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve)
        yield name
        served.result(timeout=30)


def test_a_users_box_that_is_removed_when_it_was_found_is_made_anew(place):
    with going("anna") as name:
        done = kept.call("run", "--user", "anna", "-l", "sh", "-c", "echo new")
    assert done.returncode == 0 and done.out == b"new\n", done
    assert name not in [b["id"] for b in kept.listed()] and len(kept.listed()) == 1
    kept.call("rm", "--all")


def test_many_at_once_make_one_box_for_a_user():
    def run(_):
        return kept.call("run", "--user", "anna", "--json", "-l", "sh", "-c", "echo x >>f")

    try:
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            assert [done.verdict for done in pool.map(run, range(6))] == ["ok"] * 6
        assert len(kept.listed()) == 1
        lines = kept.call("run", "--user", "anna", "--json", "-l", "sh", "-c", "wc -l <f")
        assert lines.stdout.strip() == "6"
    finally:
        kept.call("rm", "--all")


def test_two_creates_for_a_user_at_once_make_one_box():
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = list(pool.map(lambda _: kept.call("create", "--user", "anna"), range(4)))
        assert sorted(d.returncode for d in done) == [0, 2, 2, 2], done
        assert len(kept.listed()) == 1
    finally:
        kept.call("rm", "--all")


def test_the_box_of_another_user_of_the_machine_cannot_be_reached(place, ordinary_user):
    state = place.base / "state"
    with kept.made(host_env={"GLOVEBOX_STATE_DIR": str(state)}) as name:
        os.chmod(state, 0o755)
        seen = kept.call("run", name, "--", "true", as_user=ordinary_user,
                         host_env={"GLOVEBOX_STATE_DIR": str(state)})
        assert seen.returncode not in (0, -signal.SIGSEGV) and b"box" in seen.err, seen
        # Nor when every directory stands open.
        for folder in (state / "boxes", state / "boxes" / name):
            os.chmod(folder, 0o777)
        os.chmod(state / "boxes" / name / "socket", 0o777)
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid(ordinary_user.gid)
            os.setuid(ordinary_user.uid)
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(str(state / "boxes" / name / "socket"))
                os._exit(0 if s.recv(1) == b"" else 1)
        assert os.waitpid(pid, 0)[1] == 0


# ---- runs ---------------------------------------------------------------------------------------

def test_many_runs_in_a_row_leave_nothing():
    with kept.made() as name:
        keeper, = kept.keepers()
        for index in range(RUNS_IN_A_ROW):
            done = kept.call("run", name, "-l", "sh", "-c", f"(setsid sleep 1000 &); echo {index}")
            assert (done.returncode, done.out) == (0, b"%d\n" % index), done
        assert host.until(lambda: not kept.inside(keeper) and not kept.run_groups(), pace.within(1)), (
            [str(p) for p in kept.inside(keeper)], kept.run_groups())
        held = os.listdir(f"/proc/{keeper.pid}/fd")
        assert len(held) < 30, held


def test_several_runs_at_once_do_not_meet():
    with kept.made() as name:
        def run(index):
            return kept.sh(name, f"for i in $(seq 2000); do echo {index}-$i; done; exit {index}")

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(run, range(8)))
        for index, result in enumerate(results):
            assert result.exit_code == index, result
            assert result.stdout == "".join(f"{index}-{i}\n" for i in range(1, 2001))


def test_a_list_tells_of_runs_under_way_and_disturbs_none():
    with kept.made() as name, kept.started(name, "echo ready; cat; exit 7") as living:
        living.expect(b"ready")
        for _ in range(5):
            assert [b["runs"] for b in kept.listed()] == [1]
        assert b"  1 running" in kept.call("list").out
        living.send(b"echo\n")
        living.expect(b"echo\n")
        assert living.end()[0] == 7
        assert [b["runs"] for b in kept.listed()] == [0]
        assert b"  0 running" in kept.call("list").out


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_and_not_the_box(signo):
    with kept.made() as name:
        keeper, = kept.keepers()
        with kept.started(name, "(setsid sleep 1000 &); echo ready; cat") as living:
            living.expect(b"ready")
            living.process.send_signal(signo)
            assert living.end()[0] == 130
        assert host.until(lambda: not kept.inside(keeper), pace.within(2))
        assert kept.sh(name, "exit 4").exit_code == 4


def test_a_run_does_not_end_what_another_has_started():
    with kept.made() as name, kept.started(name, "echo ready; cat; exit 6") as living:
        living.expect(b"ready")
        assert kept.sh(name, "(setsid sleep 1000 &); exit 5").exit_code == 5
        assert kept.sh(name, "sleep 1000", "--timeout", "0.2").verdict == "timeout"
        assert living.end()[0] == 6


def test_a_run_may_lower_the_limits_of_its_box_and_not_raise_them():
    with kept.made("--timeout", "1s", "--pids", "20", "--output-max", "4K") as name:
        over = kept.sh(name, "sleep 1000", "--timeout", "100s")
        assert over.verdict == "timeout" and over.document["notes"] == [
            "--timeout is more than the box has, whose own limit holds; glovebox box create --timeout makes one with "
            "more"], over
        assert kept.sh(name, "head -c 100000 /dev/zero", "--output-max", "1M").verdict == "output"
        lower = kept.sh(name, "head -c 3000 /dev/zero", "--output-max", "1K")
        assert lower.verdict == "output" and "notes" not in lower.document, lower
        assert kept.sh(name, "exit 0").verdict == "ok"


def test_a_memory_limit_of_one_run_is_its_own():
    hungry = "python3 -c 'x = bytearray(150 << 20); print(len(x))'"
    with kept.made("--memory", "256M") as name:
        assert kept.sh(name, hungry, "--memory", "64M").exit_code != 0
        assert kept.sh(name, hungry).verdict == "ok"


# ---- where they are remembered ------------------------------------------------------------------

def test_a_place_whose_path_is_longer_than_a_sockets(place):
    deep = place.base / ("d" * 100) / ("e" * 100) / ("f" * 100)
    env = {"GLOVEBOX_STATE_DIR": str(deep)}
    with kept.made(host_env=env) as name:
        assert kept.sh(name, "exit 3", host_env=env).exit_code == 3
        assert [b["id"] for b in kept.listed(host_env=env)] == [name]


@pytest.mark.parametrize("path", ["/proc/none", "/dev/null", "/" + "x" * 5000])
def test_a_place_where_nothing_can_be_written(place, path):
    env = calls.environment(place, GLOVEBOX_STATE_DIR=path)
    calls.refused(calls.call(place, "box", "create", env=env), code=125 if len(path) < 100 else 2)
    assert kept.no_keeper()


def test_a_place_that_is_another_users(place, ordinary_user):
    state = place.base / "state"
    state.mkdir(mode=0o755)
    done = kept.call("create", as_user=ordinary_user, host_env={"GLOVEBOX_STATE_DIR": str(state)})
    assert done.returncode == 125 and b"Permission denied" in done.err, done
    assert kept.no_keeper()
