# SPDX-License-Identifier: Apache-2.0
"""kill -9 of any of our processes at any moment (L01, L04).

The command, its spawner, the spawner's guard, the glove, and pairs of them, at moments spread over
the life of a run.  Within 2 s nothing of that box is left: no process, mount, group, namespace or
directory, and nobody had to start another box for it.  Only when spawner and guard die together,
nobody is there to remove the empty groups: the next box does.  A run whose box was killed is never
told as ok.

Moments are drawn at random; GLOVEBOX_SEED repeats them.  A proof has many more.
"""
import json
import os
import random
import signal
import subprocess
import time

import pytest

from lib import box, host, ledger as books, pace

GONE_WITHIN = pace.within(2)
MOMENTS = pace.count(check=15, proof=400)
SEED = int(os.environ.get("GLOVEBOX_SEED", time.time_ns() % 1_000_000))

# Takes the whole range of a short life: files in, compile-free start, output, children, files out.
PROGRAM = "echo ready; (setsid sleep 1000 &); cat >/dev/null; echo end"
# Has not ended when its end is waited for.
ENDLESS = "echo ready; (setsid sleep 1000 &); sleep 1000"


def processes_of(command_pid):
    """name -> pid of what lives now: command, spawner, guard, glove, minder (of an ordinary user's
    runs), run."""
    found = {"command": command_pid}
    for process in host.descendants(command_pid):
        if process.depth > 1 and process.inner_pid == 1:
            found.setdefault("glove", process.pid)
        elif process.comm == "minder" and process.ppid == found.get("glove"):
            found.setdefault("minder", process.pid)
        elif process.depth > 1:
            found.setdefault("run", process.pid)
        elif process.ppid == command_pid:
            found.setdefault("spawner", process.pid)
        elif process.comm == "glovebox-guard":
            found.setdefault("guard", process.pid)
    return found


class Victim:
    """A command that is going to lose one of its processes."""

    def __init__(self, place, code=PROGRAM, as_user=None, language="sh", **request):
        words = box.command(code, language=language, stdin=b"", binary=as_user and as_user.binary, **request)
        self.words = words
        # The suite's own helpers, such as the canaries of other tests, stay.
        self.bystanders = {process.pid for process in host.descendants(os.getpid())}
        with box.working_directory(as_user):
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=box.environment(), cwd=place.cwd, **box.credentials(as_user))
        self.seen = {}
        self.has_minder = as_user is not None

    def stands(self):
        """Waits until its program runs, and until all who minded it so far have their names."""
        wanted = {"command", "spawner", "guard", "glove", "run"} | ({"minder"} if self.has_minder else set())

        def is_whole():
            found = processes_of(self.process.pid)
            return found.keys() >= wanted and "glovebox" not in host.readlink(f"/proc/{found['run']}/exe", "glovebox")

        assert host.until(is_whole, 30), processes_of(self.process.pid)
        self.look()

    def look(self):
        """The processes that ever were, so that their end can be waited for."""
        for process in host.descendants(self.process.pid):
            self.seen.setdefault(process.pid, process)

    def kill(self, *names):
        """SIGKILL to those of the names that live, the command last looked up but first hit."""
        self.look()
        pids = processes_of(self.process.pid)
        targets = [pids[name] for name in names if name in pids]
        for pid in targets:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return [name for name in names if name in pids]

    def end(self, limit=0):
        """Closes its input; its result, which comes soon, or soon after the limit of the run."""
        try:
            out, err = self.process.communicate(timeout=limit + GONE_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"hangs, or somebody keeps its output open: {self.words}") from None
        return box.Result(self.words, self.process.returncode, out, err, 0, False)

    def assert_gone(self, what="", groups_may_stay=False):
        """Nothing of the box is left; what the ledger would find at the end is found here at once."""
        def left():
            host.reap_orphans()
            found = [str(p) for p in self.seen.values() if p.is_alive()]
            found += [str(p) for p in host.descendants(os.getpid()) if p.pid not in self.bystanders]
            found += books.own_namespaces()
            if not groups_may_stay:
                found += books.own_groups() + books.run_directory()
            return found

        assert host.until(lambda: not left(), GONE_WITHIN), (what, left())


def median_life(rounds, code, **request):
    """How long such a run takes here, in seconds."""
    return sorted(box.run(code, **request).seconds for _ in range(rounds))[rounds // 2]


@pytest.fixture(scope="module")
def life():
    from lib import place as places
    with places.fresh():
        return median_life(7, "exit 0", language="sh")


def test_the_spawner_holds_nothing_of_the_callers(place):
    """Else a reader of the command's output would wait for the spawner too."""
    victim = Victim(place)
    victim.stands()
    spawner = processes_of(victim.process.pid)["spawner"]
    held = [host.readlink(f"/proc/{spawner}/fd/{number}") for number in range(3)]
    assert victim.end().returncode == 0
    assert held == ["/dev/null"] * 3


# ---- when it stands -----------------------------------------------------------------------------

STANDING = [("command",), ("spawner",), ("glove",), ("run",), ("command", "glove"), ("spawner", "glove"),
            ("command", "run"), ("spawner", "run"), ("glove", "run")]


@pytest.mark.parametrize("names", STANDING, ids="+".join)
def test_L01_killed_while_a_program_runs(place, names, host_user):
    victim = Victim(place, ENDLESS, as_json="command" not in names, as_user=host_user)
    victim.stands()
    started = time.monotonic()
    assert victim.kill(*names) == list(names)
    if "command" in names:
        victim.process.stdin.close()
        victim.process.wait(GONE_WITHIN)
        victim.process.stdout.close()
        victim.process.stderr.close()
    else:
        result = victim.end()
        # With the program killed too, its end and the loss of the box are both true: the first one
        # noticed is told.
        expected = {("signal", 137)} if "run" in names else set()
        expected |= {("sandbox_error", 125)} if names != ("run",) else set()
        assert (result.verdict, result.returncode) in expected, result
        assert result.survivors == 0, result
    victim.assert_gone()
    assert time.monotonic() - started < GONE_WITHIN


MINDERS = [("minder",), ("minder", "run"), ("minder", "glove"), ("minder", "spawner"), ("command", "minder")]


@pytest.mark.parametrize("names", MINDERS, ids="+".join)
def test_L01_the_minder_is_killed_while_a_program_runs(place, names, ordinary_user):
    """Who ends what a run without groups has started.  Without one nothing lives on either: its
    processes go to the glove, which ends them."""
    victim = Victim(place, ENDLESS, as_json="command" not in names, as_user=ordinary_user)
    victim.stands()
    started = time.monotonic()
    assert victim.kill(*names) == list(names)
    if "command" in names:
        end_of_killed(victim)
    else:
        result = victim.end()
        assert result.verdict in ("signal", "sandbox_error") and result.survivors == 0, result
    victim.assert_gone()
    assert time.monotonic() - started < GONE_WITHIN


def stop_and_kill(victim, names):
    """Stopped first, so that none can clean up after another."""
    pids = processes_of(victim.process.pid)
    for signo in (signal.SIGSTOP, signal.SIGKILL):
        for name in names:
            os.kill(pids[name], signo)


def end_of_killed(victim):
    victim.process.stdin.close()
    victim.process.wait(GONE_WITHIN)
    victim.process.stdout.close()
    victim.process.stderr.close()


def test_L01_command_and_spawner_at_once(place, host_user):
    """The guard is left."""
    victim = Victim(place, as_user=host_user)
    victim.stands()
    stop_and_kill(victim, ("command", "spawner"))
    end_of_killed(victim)
    victim.assert_gone()


def test_L01_a_spawner_that_dies_after_its_command(place, host_user):
    """It is held up until the command has ended, and then killed before it could do anything."""
    victim = Victim(place, as_user=host_user)
    victim.stands()
    spawner = processes_of(victim.process.pid)["spawner"]
    os.kill(spawner, signal.SIGSTOP)
    try:
        result = victim.end()
    finally:
        os.kill(spawner, signal.SIGKILL)
    assert (result.verdict, result.returncode, result.survivors) == ("ok", 0, 0), result
    victim.assert_gone()


def test_L01_without_a_guard_all_goes_on(place):
    victim = Victim(place)
    victim.stands()
    assert victim.kill("guard") == ["guard"]
    result = victim.end()
    assert (result.verdict, result.returncode, result.survivors) == ("ok", 0, 0), result
    victim.assert_gone()


def test_L01_leftovers_of_many_are_swept_by_as_many(place):
    """Five boxes lose all who could remove them; afterwards five boxes at once find clean slots."""
    victims = [Victim(place) for _ in range(5)]
    for victim in victims:
        victim.stands()
    for victim in victims:
        stop_and_kill(victim, ("command", "spawner", "guard"))
    for victim in victims:
        end_of_killed(victim)
    for victim in victims:
        victim.assert_gone(groups_may_stay=True)
    living = [Victim(place, "cat; exit 7") for _ in range(5)]
    for one in living:
        one.stands()
    for one in living:
        assert one.end().returncode == 7
    assert host.until(lambda: not books.own_groups() and not books.run_directory(), GONE_WITHIN), books.own_groups()


def test_L04_a_stopped_glove_is_noticed(place):
    """It answers no more: the limit of the run still holds."""
    victim = Victim(place, timeout=2)
    victim.stands()
    os.kill(processes_of(victim.process.pid)["glove"], signal.SIGSTOP)
    result = victim.end(limit=2)
    assert result.verdict in ("timeout", "sandbox_error") and result.survivors == 0, result
    victim.assert_gone()


def test_L04_a_stopped_spawner_does_not_keep_a_run_alive(place):
    victim = Victim(place, timeout=1.5)
    victim.stands()
    spawner = processes_of(victim.process.pid)["spawner"]
    os.kill(spawner, signal.SIGSTOP)
    run = [p for p in victim.seen.values() if p.depth > 1 and p.inner_pid != 1]
    try:
        assert host.until(lambda: not any(p.is_alive() for p in run), 1.5 + GONE_WITHIN)
    finally:
        os.kill(spawner, signal.SIGCONT)
    result = victim.end()
    assert (result.verdict, result.survivors) == ("timeout", 0), result
    victim.assert_gone()


# ---- at any moment ------------------------------------------------------------------------------

ANY = [("command",), ("spawner",), ("guard",), ("glove",), ("command", "spawner"), ("command", "glove"),
       ("spawner", "glove"), ("guard", "glove")]


def pause_until(moment):
    """Spins: a sleep would be far too coarse for the moments meant here."""
    while time.monotonic() < moment:
        pass


def children_of(pid):
    return [int(word) for word in host.read(f"/proc/{pid}/task/{pid}/children").split()] if pid else []


def found_now(command):
    """As processes_of(), by position and so quickly: the spawner's first child is its guard."""
    spawner = next(iter(children_of(command)), None)
    guard, glove, *_ = [*children_of(spawner), None, None]
    return {"command": command, "spawner": spawner, "guard": guard, "glove": glove}


def strike(victim, names):
    """Kills those that are there at this moment.  Without a look() before, which takes as long as the
    start of a box: who is left comes to this process, and is found there."""
    found = found_now(victim.process.pid)
    hit = [name for name in names if found[name]]
    for name in hit:
        try:
            os.kill(found[name], signal.SIGKILL)
        except ProcessLookupError:
            pass
    return hit


def kill_one(place, rng, names, life, what, code="echo ready; exit 0", **request):
    """One victim at one moment of its life; nothing of it is left, and its answer is true."""
    start = time.monotonic()
    victim = Victim(place, code, **request)
    delay = rng.uniform(0, life * 1.3)
    pause_until(start + delay)
    hit = strike(victim, names)
    what = f"GLOVEBOX_SEED={SEED} number {what}, {hit} after {delay * 1000:.2f} of {life * 1000:.1f} ms"
    result = victim.end()
    check_answer(result, hit, what)
    victim.assert_gone(f"{what}: {result}")


@pytest.mark.parametrize("names", ANY, ids="+".join)
def test_L01_killed_at_random_moments(place, life, names):
    rng = random.Random(f"{SEED}{names}")
    for index in range(MOMENTS):
        kill_one(place, rng, names, life, index)
    assert box.run("exit 0", language="sh").verdict == "ok"


def test_L01_spawner_and_guard_at_random_moments(place, life, host_user):
    """Nobody is left to remove the groups: no process lives on, and the next box finds them clean."""
    rng = random.Random(f"{SEED}both{host_user}")
    for index in range(MOMENTS):
        start = time.monotonic()
        victim = Victim(place, "echo ready; exit 0", as_user=host_user)
        delay = rng.uniform(0, life * 1.3)
        pause_until(start + delay)
        hit = strike(victim, ("guard", "spawner"))
        what = f"GLOVEBOX_SEED={SEED} number {index}, {hit} after {delay * 1000:.2f} ms"
        check_answer(victim.end(), hit, what)
        victim.assert_gone(what, groups_may_stay=True)
        assert box.run("exit 3", language="sh", as_user=host_user).exit_code == 3, what
        victim.assert_gone(what)


def test_L01_killed_at_random_moments_as_an_ordinary_user(place, ordinary_user):
    """Whose groups are others, and whose ids are mapped by a program of its own."""
    rng = random.Random(f"{SEED}ordinary")
    life = median_life(5, "exit 0", language="sh", as_user=ordinary_user)
    for index in range(2 * MOMENTS):
        kill_one(place, rng, rng.choice(ANY), life, index, as_user=ordinary_user)
    assert box.run("exit 0", language="sh", as_user=ordinary_user).verdict == "ok"


COMPILED = '#include <stdio.h>\nint main(void) { puts("ready"); return 0; }\n'


def test_L01_killed_at_random_moments_of_a_compiled_program(place, host_user):
    """Two steps, each with groups and a program of its own, and the moment between them."""
    rng = random.Random(f"{SEED}compiled")
    life = median_life(3, COMPILED, language="c", as_user=host_user)
    for index in range(MOMENTS):
        kill_one(place, rng, rng.choice(ANY), life, index, COMPILED, language="c", as_user=host_user)
    assert box.run(COMPILED, language="c", as_user=host_user).stdout == "ready\n"


def check_answer(result, hit, what):
    """Killed itself it says nothing or all; otherwise ok only with the whole output, or an error."""
    if "command" in hit and result.returncode == -signal.SIGKILL:
        assert result.out == b"" or json.loads(result.out)["verdict"] == "ok", (what, result)
        return
    if result.returncode == 0:
        assert (result.verdict, result.stdout) == ("ok", "ready\n"), (what, result)
        return
    assert (result.returncode, result.verdict) == (125, "sandbox_error"), (what, result)
    assert result.error["message"] and result.survivors == 0, (what, result)


def test_L01_killed_at_random_moments_of_a_longer_life(place, life):
    """With files in and out and a workspace: half-written files stay out of sight."""
    folder = place.cwd / "project"
    folder.mkdir()
    for index in range(30):
        (folder / f"f{index}").write_bytes(b"x" * 100000)
    rng = random.Random(f"{SEED}longer")
    code = "for f in f*; do printf y >>$f; done; echo ready; exit 0"
    for index in range(MOMENTS):
        names = rng.choice(ANY)
        start = time.monotonic()
        victim = Victim(place, code, workspace=folder)
        delay = rng.uniform(0, life * 3)
        pause_until(start + delay)
        hit = strike(victim, names)
        what = f"GLOVEBOX_SEED={SEED} number {index}, {hit} after {delay * 1000:.2f} ms"
        result = victim.end()
        check_answer(result, hit, what)
        victim.assert_gone(f"{what}: {result}")
        for path in folder.iterdir():
            size = path.stat().st_size
            if path.name.startswith(".glovebox"):
                assert "command" in hit, (what, path)
                path.unlink()
            else:
                assert size >= 100000, (what, path, size)
    assert box.run("exit 0", language="sh").verdict == "ok"
