# SPDX-License-Identifier: Apache-2.0
"""Files of a box that lives on, while a program in it rewrites them (C29), and carriers that stop.

Unlike an export after a run, where everything of the run is dead, the swappers here are at work
while the host lists, takes, puts and removes.
"""
import contextlib
import itertools
import os
import signal
import subprocess
import time

import pytest

from lib import box, host, kept, pace
from test_files import only_plain, remove

ROUNDS = pace.count(check=3, proof=100)
ROUNDS_MOST = 200
BIG = 150 << 20
# Of a CPU: a carrier needs seconds for all that, and is met in the middle of it.
SLOWLY = "0.05"
STALL_SECONDS = 30  # STALL_MS of box/files.c and box/take.c
# What a command may say of a file that was something else a moment ago.
ANSWERS = (0, 1, 2, 125)

SWAP = """
import os, shutil
def plain(n): open(n, "w").write("plain")
def grown(n):
    with open(n, "w") as f:
        for _ in range(64): f.write("plain" * 4096)
def folder(n): os.makedirs(n + "/a/b"); plain(n + "/a/x"); plain(n + "/a/b/y")
def trap(n): os.mkdir(n); os.symlink("{secret}", n + "/a"); os.symlink("/", n + "/x")
makers = (plain, lambda n: os.symlink("{secret}", n), folder, lambda n: os.symlink("/proc/1/root{secret}", n),
          lambda n: os.mkfifo(n), grown, lambda n: os.symlink("/proc/self/environ", n), trap,
          lambda n: os.symlink("..", n), lambda n: os.truncate(os.open(n, os.O_CREAT | os.O_WRONLY), 1 << 24))
def remove(n):
    try: os.unlink(n)
    except IsADirectoryError: shutil.rmtree(n, ignore_errors=True)
    except OSError: pass
for n in range(4):
    if os.fork() == 0: break
else:
    print("ready", flush=True)
    os.wait()
k = n
while True:
    k += 1
    try:
        makers[k % len(makers)](f"t{n}")
        remove(f"f{n}")
        os.rename(f"t{n}", f"f{n}")
    except OSError: remove(f"t{n}"); remove(f"f{n}")
"""


def commands(n, target, source):
    """One round: everything that reads, writes or removes files of a box."""
    return [
        ("get", f"f{n}:{target}/one"), ("get", f".:{target}/all"), ("get", f"f{n}/a:{target}/below"),
        ("ls", "."), ("ls", f"f{n}"), ("ls", f"f{n}/a"), ("stat", f"f{n}"), ("stat", f"f{n}/a"),
        ("put", f"{source}:f{n}/a/put"), ("put", f"{source}:f{n}"), ("rmfile", f"f{n}/a"), ("rmfile", f"f{n}"),
        ("run", "--out", f"f{n}:{target}/out", "--", "true"),
    ]


def call(name, words, user):
    """`run` has its options behind the box's name; all others have none."""
    return kept.call(words[0], name, *words[1:], as_user=user, outer=STALL_SECONDS + 30)


def test_C29_files_that_change_while_they_are_taken_put_and_removed(place, canaries, host_user):
    source, target = place.cwd / "source", place.cwd / "taken"
    source.write_text("plain")
    code = SWAP.replace("{secret}", str(canaries.base / "readable"))
    seen, took = set(), 0
    with kept.made("--timeout", "300", as_user=host_user) as name:
        started = kept.call("run", name, "-d", "-l", "python", "-c", code, as_user=host_user)
        assert started.returncode == 0, started
        assert host.until(lambda: call(name, ("stat", "f3"), host_user).returncode == 0, 30)
        for round_of in itertools.count():
            # What was another thing at each of the looks so far is looked at again.
            if round_of >= ROUNDS and (took > 0 and ("get", 0) in seen or round_of >= ROUNDS_MOST):
                break
            for words in commands(round_of % 4, target, source):
                target.mkdir()
                if host_user is not None:
                    os.chown(target, host_user.uid, host_user.gid)
                done = call(name, words, host_user)
                assert not done.hung and done.returncode in ANSWERS, (words, done)
                assert done.returncode == 0 or done.err.startswith(b"glovebox: "), (words, done)
                only_plain(target)
                contents = [path.read_bytes() for path in target.rglob("*") if path.is_file()]
                assert canaries.found_in(done.out, done.err, *contents) == [], words
                took += len(contents)
                seen.add((words[0], done.returncode))
                remove(target)
        keeper, = kept.keepers()
        swappers = [p for p in kept.inside(keeper) if p.comm.startswith("python")]
        assert len(swappers) == 5, "they were not at work all the time"
    assert source.read_text() == "plain" and os.listdir(place.cwd) == ["source"]
    assert took > 0 and {word for word, _ in seen} == {"get", "ls", "stat", "put", "rmfile", "run"}
    assert ("get", 0) in seen and ("ls", 0) in seen, seen


# ---- carriers that stop ----------------------------------------------------------------------------

@contextlib.contextmanager
def stopped_in_the_middle(place, word):
    """(name of the box, the command, its carrier): stopped after its first bytes.  Nothing in a box
    can do that (C11), so the host does."""
    big = place.cwd / "big"
    big.write_bytes(bytes(BIG))
    with kept.made("--memory", "1g", "--disk", "400m", "--cpus", SLOWLY, "--timeout", "120") as name:
        if word == "get":
            assert kept.sh(name, f"head -c {BIG} /dev/zero > big", outer=150).verdict == "ok"
        keeper, = kept.keepers()
        known = {p.pid for p in kept.inside(keeper)}
        files = f"big:{place.cwd}/taken" if word == "get" else f"{big}:big"
        with subprocess.Popen(kept.words(word, name, files), stdout=subprocess.PIPE, cwd=place.cwd,
                              stderr=subprocess.PIPE, env=box.environment(kept.environment())) as command:
            carrier, = host.until(lambda: [p for p in kept.inside(keeper) if p.pid not in known], 30,
                                  step=0.001)
            os.kill(carrier.pid, signal.SIGSTOP)
            assert kept.sh(name, "exit 3").exit_code == 3
            assert kept.call("stat", name, ".").returncode == 0
            assert command.poll() is None, "the files had passed by already"
            yield name, command, carrier


@pytest.mark.parametrize("word", ["get", "put"])
def test_C29_a_carrier_that_stops_for_a_while_holds_up_nobody_else(place, word):
    with stopped_in_the_middle(place, word) as (name, command, carrier):
        os.kill(carrier.pid, signal.SIGCONT)
        assert command.wait(STALL_SECONDS) == 0, command.stderr.read()
        assert kept.call("stat", "--json", name, "big").document["size"] == BIG
    assert word == "put" or (place.cwd / "taken").stat().st_size == BIG


if pace.IS_PROOF:  # waits for the deadline
    @pytest.mark.parametrize("word", ["get", "put"])
    def test_C29_a_carrier_that_stops_for_good_costs_its_command_a_deadline(place, word):
        start = time.monotonic()
        with stopped_in_the_middle(place, word) as (name, command, carrier):
            _, said = command.communicate(timeout=STALL_SECONDS + 30)
            seconds = time.monotonic() - start
            assert command.returncode == 125 and b"no more files" in said, said
            assert STALL_SECONDS <= seconds < STALL_SECONDS + pace.within(5)
            assert not (place.cwd / "taken").exists()
            assert kept.sh(name, "exit 4").exit_code == 4
        assert not carrier.is_alive(), "it goes with its box"
