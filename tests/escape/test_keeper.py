# SPDX-License-Identifier: Apache-2.0
"""kill -9 around boxes that live on (L01, L04).

The keeper, its guard, the glove, a client, and pairs of them, while programs run and at random
moments of create, run and rm.  Within 2 s nothing of a box that lost its keeper or its glove is left,
its directory included, and its other clients are told so; a client that is killed takes its run
and what that started with it, and nothing else.  Only when keeper and guard die together the empty
groups wait for the next box, and the directory for whoever looks.

Moments are drawn at random; GLOVEBOX_SEED repeats them.
"""
import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
import types

import pytest

from lib import box, host, kept, ledger as books, pace

GONE_WITHIN = pace.within(2)
MOMENTS = pace.count(check=12, proof=300)
SEED = int(os.environ.get("GLOVEBOX_SEED", time.time_ns() % 1_000_000))

PROGRAM = "echo ready; (setsid sleep 1000 &); sleep 1000 & cat; exit 7"


def assert_gone(known, what="", groups_may_stay=False, directory_may_stay=False):
    """Nothing of these processes, nor of any box of this test."""
    def left():
        host.reap_orphans()
        found = [str(p) for p in known if p.is_alive()] + [str(p) for p in kept.keepers()]
        if not groups_may_stay:
            found += books.own_groups() + books.run_directory()
        return found + ([] if directory_may_stay else kept.directories())

    assert host.until(lambda: not left(), GONE_WITHIN), (what, left())


def kill(parts, names):
    """Stopped first, so that none can clean up after another."""
    for signo in (signal.SIGSTOP, signal.SIGKILL):
        for name in names:
            os.kill(parts[name].pid, signo)


# ---- when it stands -----------------------------------------------------------------------------

@pytest.mark.parametrize("names", [("keeper",), ("glove",), ("keeper", "glove"), ("guard", "glove")],
                         ids="+".join)
def test_L01_a_box_that_is_killed_leaves_nothing(host_user, names):
    name = kept.create(as_user=host_user)
    keeper, = kept.keepers()
    parts = kept.parts(keeper)
    with kept.started(name, PROGRAM, as_user=host_user) as one, \
            kept.started(name, PROGRAM, as_user=host_user) as other:
        one.expect(b"ready")
        other.expect(b"ready")
        known = [keeper, *host.descendants(keeper.pid)]
        kill(parts, names)
        for living in (one, other):
            code, _ = living.end(GONE_WITHIN)
            said = living.process.stderr.read()
            assert code == 125 and said.startswith(b"glovebox: "), (code, said)
    assert_gone(known)
    assert kept.listed(as_user=host_user) == []
    again = kept.call("run", name, "--", "true", as_user=host_user)
    assert again.returncode == 2, again


def test_L01_the_verdict_of_a_run_whose_keeper_is_killed():
    name = kept.create()
    keeper, = kept.keepers()
    command = kept.words("run", name, "--json", "-l", "sh", "-c", "sleep 1000")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=box.environment(kept.environment())) as process:
        assert host.until(lambda: kept.inside(keeper), 30)
        known = [keeper, *host.descendants(keeper.pid)]
        os.kill(keeper.pid, signal.SIGKILL)
        out, err = process.communicate(timeout=GONE_WITHIN)
    result = box.Result(command, process.returncode, out, err, 0, False)
    assert (result.verdict, result.returncode) == ("sandbox_error", 125), result
    assert result.error["message"], result
    assert_gone(known)


def test_L01_without_a_guard_all_goes_on(host_user):
    with kept.made(as_user=host_user) as name:
        keeper, = kept.keepers()
        kill(kept.parts(keeper), ("guard",))
        assert kept.sh(name, "exit 3", as_user=host_user).exit_code == 3
        known = [keeper, *host.descendants(keeper.pid)]
        assert kept.call("rm", name, as_user=host_user).returncode == 0
        assert_gone(known)


def test_L01_keeper_and_guard_at_once(host_user):
    """Nobody is left who could tidy up: no process lives on, and the next ones find it clean."""
    name = kept.create(as_user=host_user)
    keeper, = kept.keepers()
    with kept.started(name, PROGRAM, as_user=host_user) as living:
        living.expect(b"ready")
        known = [keeper, *host.descendants(keeper.pid)]
        kill(kept.parts(keeper), ("keeper", "guard"))
        assert living.end(GONE_WITHIN)[0] == 125
    assert_gone(known, groups_may_stay=True, directory_may_stay=True)
    assert kept.directories() == [name]
    assert kept.listed(as_user=host_user) == []
    assert kept.directories() == []
    assert box.run("exit 0", language="sh", as_user=host_user).verdict == "ok"
    assert_gone(known)


def test_a_box_that_nobody_can_reach_ends_with_its_last_client():
    """Somebody has removed the directory of boxes: a run that is under way ends as it would have."""
    names = [kept.create(), kept.create("--net", "example.org"), kept.create()]
    known = [one for keeper in kept.keepers() for one in (keeper, *host.descendants(keeper.pid))]
    with kept.started(names[2], "echo ready; cat; exit 7") as living:
        living.expect(b"ready")
        shutil.rmtree(kept.state_dir() / "boxes")
        assert host.until(lambda: len(kept.keepers()) == 1, 30), kept.keepers()
        living.send(b"still here\n")
        living.expect(b"still here\n")
        assert living.end()[0] == 7
    assert kept.no_keeper()
    assert_gone(known)


@pytest.mark.parametrize("look", ["run", "rm", "prune"])
def test_L01_whoever_looks_at_a_dead_box_forgets_it(look):
    name = kept.create()
    keeper, = kept.keepers()
    known = [keeper, *host.descendants(keeper.pid)]
    kill(kept.parts(keeper), ("keeper", "guard"))
    assert_gone(known, groups_may_stay=True, directory_may_stay=True)
    words = {"run": ("run", name, "--", "true"), "rm": ("rm", name), "prune": ("prune",)}[look]
    assert kept.call(*words).returncode == (0 if look == "prune" else 2)
    assert kept.directories() == []
    assert box.run("exit 0", language="sh").verdict == "ok"


@contextlib.contextmanager
def with_another_run(host_user):
    """A box with its keeper, in which another program reads its input; it ends well at the end."""
    with kept.made(as_user=host_user) as name:
        keeper, = kept.keepers()
        with kept.started(name, "echo ready; cat; exit 7", as_user=host_user) as other:
            other.send(b"all here\n")
            other.expect(b"ready\nall here\n")
            before = {p.pid for p in kept.inside(keeper)}
            yield types.SimpleNamespace(name=name, keeper=keeper, other=other, before=before)
            assert other.end()[0] == 7
        assert host.until(lambda: not kept.inside(keeper), GONE_WITHIN)


def assert_only_the_other_is_left(living):
    assert host.until(lambda: {p.pid for p in kept.inside(living.keeper)} == living.before, GONE_WITHIN), (
        [str(p) for p in kept.inside(living.keeper)])


def test_L01_a_client_that_is_killed_takes_its_run_and_nothing_else(host_user):
    with with_another_run(host_user) as living:
        groups = set(kept.run_groups())
        with kept.started(living.name, PROGRAM, as_user=host_user) as victim:
            victim.expect(b"ready")
            assert host.until(lambda: len(kept.inside(living.keeper)) >= len(living.before) + 3, 30)
            victim.process.kill()
            victim.process.wait()
        assert_only_the_other_is_left(living)
        assert host.until(lambda: set(kept.run_groups()) == groups, GONE_WITHIN), kept.run_groups()
        # The glove tells of the end a moment after it.
        assert host.until(lambda: [b["runs"] for b in kept.listed(as_user=host_user)] == [1], GONE_WITHIN)
        living.other.send(b"still here\n")
        living.other.expect(b"still here\n")


def test_L01_what_a_run_left_goes_with_it_though_another_is_under_way(host_user):
    with with_another_run(host_user) as living:
        script = "mkfifo f; (setsid sh -c 'echo >f; exec sleep 1000' &); sleep 1000 & read go <f; exit 3"
        assert kept.sh(living.name, script, as_user=host_user).exit_code == 3
        assert_only_the_other_is_left(living)


def test_L01_a_command_behind_the_scenes_that_is_killed_takes_its_run(host_user):
    """`run -d` has a process that writes the log; its end is the end of its run, which is then lost."""
    with with_another_run(host_user) as living:
        here = {p.pid for p in host.descendants(os.getpid())}

        def writers():
            """What came since then and is in no box, whose processes come and go."""
            return [p for p in host.descendants(os.getpid()) if p.pid not in here and p.depth == 1 and p.is_alive()]

        done = kept.call("run", "-d", living.name, "-l", "sh", "-c",
                         "(setsid sleep 1000 &); sleep 1000 & sleep 1000", as_user=host_user)
        assert done.returncode == 0, done
        run = done.out.decode().strip()
        assert host.until(lambda: len(kept.inside(living.keeper)) >= len(living.before) + 3, 30)
        assert host.until(lambda: len(writers()) == 1, 30), [str(p) for p in writers()]
        os.kill(writers()[0].pid, signal.SIGKILL)
        assert_only_the_other_is_left(living)
        told = kept.call("runs", living.name, "--json", as_user=host_user).document["runs"]
        assert (run, "lost") in [(one["id"], one["state"]) for one in told], told


def test_L01_many_clients_are_killed_at_once():
    """More than one has groups that are still busy in that moment."""
    with kept.made() as name:
        keeper, = kept.keepers()
        clients = [subprocess.Popen(kept.words("run", name, "-l", "sh", "-c", "(setsid sleep 1000 &); sleep 1000"),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, env=box.environment(kept.environment()))
                   for _ in range(8)]
        try:
            assert host.until(lambda: len(kept.inside(keeper)) >= 8, 30)
        finally:
            for client in clients:
                client.kill()
            for client in clients:
                client.wait()
        assert host.until(lambda: not kept.inside(keeper) and not kept.run_groups(), GONE_WITHIN), (
            [str(p) for p in kept.inside(keeper)], kept.run_groups())
        assert kept.sh(name, "exit 3").exit_code == 3


def test_L04_a_stopped_client_with_a_flood_stops_nobody():
    with kept.made() as name:
        with kept.started(name, "echo ready; yes") as flood:
            flood.expect(b"ready")
            flood.process.send_signal(signal.SIGSTOP)
            try:
                for index in range(5):
                    done = kept.sh(name, f"exit {index}", outer=60)
                    assert done.exit_code == index, done
                    # What is under way for him is bounded by what he granted.
                    assert done.seconds < pace.within(1), done
            finally:
                flood.process.send_signal(signal.SIGCONT)
        assert kept.sh(name, "exit 9").exit_code == 9


def test_L04_a_stopped_keeper_is_not_waited_for_for_ever():
    with kept.made() as name:
        keeper, = kept.keepers()
        os.kill(keeper.pid, signal.SIGSTOP)
        try:
            done = kept.call("run", name, "--", "true", outer=60)
        finally:
            os.kill(keeper.pid, signal.SIGCONT)
        assert not done.hung and done.returncode == 125 and b"does not answer" in done.err, done
        assert host.until(lambda: kept.sh(name, "exit 5").exit_code == 5, 30)


# ---- at any moment ------------------------------------------------------------------------------

def strike(process, names):
    """SIGKILL to those that are there now: the command itself, or parts of any box of this test."""
    hit = []
    if "command" in names:
        process.kill()
        hit.append("command")
    found = host.descendants(os.getpid())
    keepers = {p.pid for p in found if p.comm in ("glovebox-keeper", "glovebox-spawn")}
    for below in found:
        what = "keeper" if below.pid in keepers else below.comm
        # A guard or a glove that has no name of its own yet is not meant.
        if what in names and not (what == "keeper" and below.ppid in keepers):
            hit.append(what)
            try:
                os.kill(below.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return hit


def struck(words, names, delay):
    """One command that loses somebody after so long."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=box.environment(kept.environment())) as process:
        time.sleep(delay)
        hit = strike(process, names)
        out, err = process.communicate(timeout=30 + GONE_WITHIN)
    return hit, box.Result(words, process.returncode, out, err, 0, False)


RANDOM = [("command",), ("keeper",), ("glove",), ("command", "keeper"), ("keeper", "glove")]


@pytest.mark.parametrize("what", ["create", "run", "run -d", "rm"])
def test_L01_killed_at_random_moments(what):
    rng = random.Random(f"{SEED}{what}")
    for index in range(MOMENTS):
        names = rng.choice(RANDOM)
        delay = rng.uniform(0, 0.05)
        name = None if what == "create" else kept.create()
        words = kept.words(*{"create": ("create",), "run": ("run", name, "-l", "sh", "-c", "echo ok"),
                             "run -d": ("run", "-d", name, "-l", "sh", "-c", "sleep 0.02"),
                             "rm": ("rm", name)}[what])
        hit, result = struck(words, names, delay)
        label = f"GLOVEBOX_SEED={SEED} number {index}, {hit} after {delay * 1000:.1f} ms: {result}"
        assert result.returncode in (0, 2, 125, -signal.SIGKILL), label
        assert "command" in hit or result.returncode == 0 or result.err.startswith(b"glovebox: "), label
        if what.startswith("run") and hit == ["command"]:
            assert kept.sh(name, "exit 3").exit_code == 3, label
        kept.call("rm", "--all")
        assert kept.listed() == [], label
        assert_gone([], label)
