# SPDX-License-Identifier: Apache-2.0
"""Many boxes (L17): two hundred at once, a thousand one after another, two users side by side.

Every verdict is right and the ledger is as before.  In a check there are 300 one after another, in a
proof the whole thousand.
"""
import concurrent.futures
import os
import subprocess
import time

import pytest

from lib import box, host, ledger as books, pace, place as places

pytestmark = pytest.mark.serial

AT_ONCE = 200
IN_A_ROW = pace.count(check=300, proof=1000)

# What the boxes do by turns: (code, limits, verdict, exit code of the command, output)
KINDS = [
    ("echo one", {}, "ok", 0, "one\n"),
    ("echo two; exit 3", {}, "nonzero", 3, "two\n"),
    ("echo three; kill -9 $$", {}, "signal", 137, "three\n"),
    ("echo four; sleep 1000", {"timeout": 3}, "timeout", 124, "four\n"),
    ("head -c 5000 /dev/zero; exec yes", {"output_max": 5000}, "output", 153, "\0" * 5000),
    ("cat /dev/zero >f", {"disk": "1m"}, "disk", 153, ""),
    ("(setsid sleep 1000 &); echo seven", {}, "ok", 0, "seven\n"),
    ("echo eight; while :; do sleep 100 & done", {"pids": 8}, "pids", 2, "eight\n"),
]


def complaint(index, result):
    """What is wrong about it, or None."""
    _, _, verdict, code, output = KINDS[index % len(KINDS)]
    found = (result.verdict, result.returncode, result.stdout, result.survivors)
    return None if found == (verdict, code, output, 0) else f"number {index}: {found} {result}"


def words_of(index, **request):
    code, limits, *_ = KINDS[index % len(KINDS)]
    return box.command(code, language="sh", **{"timeout": 120, **limits}, **request)


def test_L17_two_hundred_at_once(place):
    """All commands are started before the first is waited for."""
    commands = [subprocess.Popen(words_of(index), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=box.environment(), cwd=place.cwd)
                for index in range(AT_ONCE)]

    def finish(pair):
        index, process = pair
        out, err = process.communicate(timeout=300)
        return complaint(index, box.Result(process.args, process.returncode, out, err, 0, False))

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        wrong = [text for text in pool.map(finish, enumerate(commands)) if text]
    assert not wrong, f"{len(wrong)} of {AT_ONCE}\n" + "\n".join(wrong[:5])


def test_L17_two_hundred_that_live_at_the_same_time(place):
    """They wait for each other: all two hundred boxes stand at one moment, each with ids of its own."""
    words = box.command("echo ready; cat", language="sh", stdin=b"", as_json=False, timeout=120)
    commands = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=box.environment(), cwd=place.cwd)
                for _ in range(AT_ONCE)]
    try:
        for process in commands:
            assert process.stdout.readline() == b"ready\n", process.communicate()
        gloves = [p for p in host.descendants(os.getpid()) if p.depth == 2 and p.inner_pid == 1]
        assert len(gloves) == AT_ONCE
        assert len({p.status["Uid"] for p in gloves}) == AT_ONCE, "boxes share user ids"
        for name in ("user", "pid", "mnt", "net", "ipc"):
            assert len({p.namespace(name) for p in gloves}) == AT_ONCE, name
    finally:
        for process in commands:
            process.stdin.write(b"end\n")
            process.stdin.close()
    for process in commands:
        assert process.stdout.read() == b"end\n" and process.wait(120) == 0
        process.stdout.close()
        process.stderr.close()


def test_L17_many_one_after_another(place):
    """No growth: of groups, descriptors, files, and of what the machine counts."""
    count = books.count(books.OWN)
    start = time.monotonic()
    for index in range(IN_A_ROW):
        kind = index % len(KINDS)
        # The slow ones only now and then.
        if KINDS[kind][2] == "timeout":
            kind = 0
        result = box.run_words(words_of(kind))
        text = complaint(kind, result)
        assert text is None, f"number {index}: {text}"
    assert host.until(lambda: not books.difference(count, books.count(books.OWN)), 5)
    slots = os.listdir(place.run / "slots")
    # One box at a time: the one before may still be on its way out.
    assert len(slots) <= 3, slots
    assert time.monotonic() - start < 0.5 * IN_A_ROW


def test_L17_groups_of_the_kernel_come_back(place):
    """Dead groups that still hold memory would be seen here long before anywhere else."""
    def groups():
        lines = host.read("/proc/cgroups").splitlines()[1:]
        return {line.split()[0]: int(line.split()[2]) for line in lines}

    box.run("exit 0", language="sh")
    before = groups()
    for _ in range(100):
        assert box.run("head -c 300k /dev/zero >f; exit 0", language="sh").verdict == "ok"

    def grown():
        now = groups()
        return {name: now[name] - before[name] for name in now if now[name] - before[name] > 30}

    assert host.until(lambda: not grown(), 20), grown()


def test_L17_two_users_at_once(place, ordinary_user):
    """Root's and an ordinary user's boxes take turns on the same machine and never each other's."""
    def drive(user):
        base = place.base / ("mine" if user is None else "theirs")
        base.mkdir()
        base.chmod(0o755)
        for name in ("run", "tmp", "cwd", "home"):
            (base / name).mkdir()
            if user is not None:
                os.chown(base / name, user.uid, user.gid)
        env = {**box.environment(), "GLOVEBOX_RUN_DIR": str(base / "run"), "TMPDIR": str(base / "tmp"),
               "HOME": str(base / "home")}
        binary = places.binary() if user is None else user.binary
        wrong = []
        for index in range(2 * len(KINDS)):
            words = words_of(index, binary=binary)
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, env=env,
                                  cwd=base / "cwd", timeout=120, check=False, **box.credentials(user))
            result = box.Result(words, done.returncode, done.stdout, done.stderr, 0, False)
            text = complaint(index, result)
            if text:
                wrong.append(text)
        return wrong

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(drive, user) for user in (None, ordinary_user)]
        wrong = [text for job in jobs for text in job.result()]
    assert not wrong, "\n".join(wrong)
    for name in ("mine", "theirs"):
        prefix = books.group_prefix(place.base / name / "run")
        assert host.until(lambda p=prefix: not host.group_directories(lambda n: n.startswith(p)), 10), name


def test_L17_more_boxes_than_slots_wait_or_are_told(place, ordinary_user):
    """An ordinary user's ids are enough for many boxes; one too many gets an answer, not a hang."""
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        place.give_to(ordinary_user)
        results = list(pool.map(
            lambda _: box.run("sleep 0.5; exit 7", language="sh", as_user=ordinary_user), range(60)))
    codes = {result.returncode for result in results}
    assert codes == {7}, [result for result in results if result.returncode != 7][:3]


def test_L17_a_box_for_which_no_ids_are_left_is_told(place, poor_user):
    """Six ids are two boxes: a third gets an answer that says so, and works when one has ended."""
    place.give_to(poor_user)
    code = "echo ready; cat; exit 7"
    with box.start(code, language="sh", as_user=poor_user) as one, \
            box.start(code, language="sh", as_user=poor_user) as two:
        one.expect(b"ready")
        two.expect(b"ready")
        third = box.run("exit 7", language="sh", as_user=poor_user)
        assert (third.returncode, third.verdict) == (125, "sandbox_error") and not third.hung, third
        assert third.error["message"].startswith("all 2 slots for boxes are in use"), third
        assert one.end()[0] == 7
        assert host.until(lambda: box.run("exit 7", language="sh", as_user=poor_user).returncode == 7, 10)
        assert two.end()[0] == 7
    # The user goes with the test, and cannot while a box is being removed.
    assert host.until(lambda: not books.own_groups() and not books.own_processes(), 10)
