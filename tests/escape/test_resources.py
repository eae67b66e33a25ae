# SPDX-License-Identifier: Apache-2.0
"""A box that takes all it can get of processes and memory gets its own share and no more (R01-R04).

What it does is in load/.  While it goes on the host must be able to work, and afterwards everything
must be back.
"""
import concurrent.futures
import contextlib
import os
import re

import pytest

from lib import box, host, kept, pace
from loads import MIB, SLACK, Watch, act, fork_seconds, meminfo, memory_of_the_kernel, refused_at

# ---- R01: processes -----------------------------------------------------------------------------

@pytest.mark.serial
@pytest.mark.parametrize("name", ["fork", "bomb", "vfork", "threads", "zombies", "orphans"])
def test_R01_processes_end_at_the_cap_and_the_host_can_fork(load, name, host_user):
    with Watch(fork_seconds, every=0.02) as forks:
        result = act(load, name, pids=64, memory="256m", as_user=host_user)
    assert result.verdict == "timeout" and result.survivors == 0, result
    assert result.seconds < 1.5 + SLACK
    if name not in ("bomb", "orphans"):
        assert 32 <= refused_at(result) < 64, result
        assert "pids_max" in result.events or name == "orphans", result
    slow = sorted(forks.answers)
    assert len(slow) > 10 and slow[int(len(slow) * 0.99) - 1] < pace.within(0.05), slow[-5:]


def test_R01_many_short_processes_are_reaped(host_user):
    """A parent that never waits and then dies: its zombies go to PID 1, or to the run's minder, who
    reaps them."""
    code = "for i in 1 2 3 4 5 6 7 8 9 10; do (for j in $(seq 30); do : & done; exit 0) & done; wait; " \
           "for k in $(seq 500); do n=$(grep -l 'State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l); " \
           "[ $n = 0 ] && break; sleep 0.01; done; echo $n; echo end"
    result = box.run(code, language="bash", pids=512, as_user=host_user)
    assert (result.verdict, result.stdout, result.survivors) == ("ok", "0\nend\n", 0), result


# ---- R02: memory --------------------------------------------------------------------------------

MEMORY = 64 * MIB


@pytest.mark.parametrize("name", ["anon", "shared", "populate", "brk", "huge", "mlock", "crowd", "stack",
                                  "stacks"])
def test_R02_memory_ends_at_the_limit(load, name, host_user):
    result = act(load, name, memory=MEMORY, timeout=60, as_user=host_user)
    assert (result.verdict, result.returncode, result.survivors) == ("memory", 137, 0), result
    assert "--memory" in result.hint, result
    # A run that has no group of its own is counted with its glove.
    besides = 0 if result.receipt["accounting"] == "run" else 16 * MIB
    assert result.memory_peak_bytes <= MEMORY + besides, result


@contextlib.contextmanager
def kernel_messages():
    """A list of the lines that the kernel's log gets, none of them lost.  It is read all the time: twenty
    reports of one moment are more than it holds."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)
    lines = []

    def read():
        with contextlib.suppress(BlockingIOError):
            while True:
                lines.append(os.read(log, 8192).decode("utf-8", "replace"))

    try:
        with Watch(read):
            yield lines
        numbers = [int(line.split(",")[1]) for line in lines]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
    finally:
        os.close(log)


@pytest.mark.serial
def test_R02_twenty_boxes_out_of_memory_harm_nobody_else(load):
    with kernel_messages() as told, \
            box.start("echo ready; cat; echo still here", language="sh", memory="32m") as bystander:
        bystander.expect(b"ready")
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            results = list(pool.map(lambda _: act(load, "anon", memory=MEMORY, timeout=60), range(20)))
        assert [r.verdict for r in results] == ["memory"] * 20, results
        code, seen = bystander.end()
        assert (code, seen) == (0, b"ready\nstill here\n")
    assert len([line for line in told if "Memory cgroup out of memory: Killed" in line]) >= 1, told
    assert not [line for line in told if ";Out of memory: Killed" in line], "the machine itself ran out"


def test_R02_the_run_is_what_the_kernel_would_choose_first():
    """Whatever runs out: the program dies before its glove, and that before us."""
    with box.start("echo ready; cat", language="sh") as living:
        living.expect(b"ready")
        score = {name: int(host.read(f"/proc/{pid}/oom_score_adj")) for name, pid in (
            ("run", living.runs[0].pid), ("glove", living.glove), ("command", living.process.pid))}
        assert score["run"] == 1000 and score["command"] <= score["glove"] < 1000, score
        living.end()


# ---- R03: memory that outlives its program ------------------------------------------------------

FILLERS = {
    "workspace": "head -c 100m /dev/zero >/workspace/f",
    "tmp": "head -c 100m /dev/zero >/tmp/f",
    "shm": "head -c 100m /dev/zero >/dev/shm/f",
    "System V": "perl -e '$i = shmget(0, 100 << 20, 0600); "
                "shmwrite($i, q(x) x (1 << 20), $_ << 20, 1 << 20) for 0 .. 99'",
    "memfd": "perl -e '$f = syscall(319, q(x), 0); open(F, qq(>&=$f)); "
             "print F q(x) x (1 << 20) for 1 .. 100'",
    "unlinked": "exec 9>/tmp/f; rm /tmp/f; head -c 100m /dev/zero >&9",
}


@pytest.mark.parametrize("name", FILLERS)
def test_R03_files_in_memory_are_counted_and_given_back(name, host_user):
    before = meminfo("Shmem")
    for _ in range(3):
        result = box.run(FILLERS[name], language="sh", memory="256m", disk="200m", as_user=host_user)
        assert result.verdict in ("ok", "nonzero", "disk"), result
        if result.verdict == "ok":
            assert result.memory_peak_bytes >= 95 * MIB, result
    # Less than 10 % of what three boxes had, between boxes of others that have some at this moment.
    assert host.until(lambda: meminfo("Shmem") - before < 30 * MIB, 60), meminfo("Shmem") - before


@pytest.mark.parametrize("name", ["workspace", "tmp", "unlinked"])
def test_R03_files_beyond_the_memory_limit_kill_or_stop_the_writer(name):
    result = box.run(FILLERS[name], language="sh", memory="48m", disk="200m")
    assert result.verdict == "memory" and result.memory_peak_bytes <= 48 * MIB, result
    # What was unlinked is gone when the counters are read.
    assert "file" in result.hint or name == "unlinked", result


def test_R03_shared_memory_files_have_a_cap_of_their_own():
    result = box.run("head -c 1000m /dev/zero >/dev/shm/f", language="sh", memory="2g", disk="100m")
    assert result.verdict in ("nonzero", "disk", "memory"), result
    assert result.memory_peak_bytes <= 600 * MIB, result


# In each of these, half of the box's memory and more is files when the program has ended.
HOLDERS = {
    "workspace": "head -c 80m /dev/zero >f",
    "tmp": "head -c 80m /dev/zero >/tmp/f",
    "both": "head -c 40m /dev/zero >f; head -c 40m /dev/zero >/tmp/f",
    "shared memory": "head -c 60m /dev/zero >/dev/shm/f; head -c 20m /dev/zero >f",
    "System V": "perl -e '$i = shmget(0, 80 << 20, 0600); "
                "shmwrite($i, q(x) x (1 << 20), $_ << 20, 1 << 20) for 0 .. 79'",
}


@pytest.mark.parametrize("name", HOLDERS)
def test_R03_a_live_box_that_is_full_of_files_refuses_runs_until_there_is_room(name):
    """Not one run after another that dies of what the first one left."""
    with kept.made("--memory", "128m", "--disk", "100m") as full:
        assert kept.sh(full, HOLDERS[name]).exit_code == 0
        for _ in range(5):
            refused = kept.sh(full, "echo started")
            assert (refused.returncode, refused.stdout) == (125, ""), refused
            message = refused.error["message"]
            # The kernel gathers this counter from its processors now and then.
            told = re.search(r"files take ([0-9.]+) MiB of the box's 128 MiB", message)
            assert told and 79 < float(told[1]) < 90, refused
            remedy = refused.error["remedy"]
            assert "rmfile" in remedy and "make a box with more --memory" in remedy, refused
        small = kept.sh(full, "echo small", "--memory", "32m")
        assert (small.verdict, small.stdout) == ("ok", "small\n"), small
        # As the remedy has it.
        for path in ("/workspace/f", "/tmp/f", "/dev/shm/f"):
            kept.call("rmfile", full, path)
        words = re.search(r"glovebox box (run BOX .*?)\)", remedy)[1].replace("BOX", full)
        assert kept.call(*words.split()).returncode == 0, words
        for _ in range(5):
            assert kept.sh(full, "echo again").stdout == "again\n"


# Fills queues until it is refused; they stay when it ends.
FILL_QUEUES = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
made = sent = 0
while True:
    queue = libc.mq_open(f"/q{os.getpid()}-{made}".encode(), os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o600, None)
    if queue < 0:
        break
    made += 1
    while libc.mq_send(queue, b"x" * 8192, 8192, 0) == 0:
        sent += 8192
print(made, sent, os.strerror(ctypes.get_errno()))
"""


def test_R03_message_queues_stay_small_and_go_with_their_box(host_user):
    """What one run leaves in them is all there is for the next, which runs all the same; they are counted
    as memory of the box, and another box has its own."""
    with kept.made("--memory", "64m", as_user=host_user) as full, kept.made(as_user=host_user) as other:
        seen = []
        for _ in range(5):
            done = kept.call("run", full, "--json", "-l", "python", "-c", FILL_QUEUES, as_user=host_user)
            assert done.verdict == "ok", done
            seen.append(done.stdout.split()[:2])
        assert seen == [["4", str(4 * 10 * 8192)]] + [["0", "0"]] * 4, seen
        listed = kept.sh(full, "ls /dev/mqueue | wc -l; rm /dev/mqueue/*", as_user=host_user)
        assert listed.stdout == "4\n", listed
        again = kept.call("run", full, "--json", "-l", "python", "-c", FILL_QUEUES, as_user=host_user)
        assert again.stdout.split()[:2] == seen[0], again
        beside = kept.call("run", other, "--json", "-l", "python", "-c", FILL_QUEUES, as_user=host_user)
        assert beside.stdout.split()[:2] == seen[0], beside


def test_R03_files_of_half_the_memory_are_no_reason():
    with kept.made("--memory", "128m", "--disk", "100m") as half:
        for _ in range(5):
            done = kept.sh(half, "head -c 60m /dev/zero >f; cat f | wc -c")
            assert (done.verdict, done.stdout) == ("ok", f"{60 << 20}\n"), done


# ---- R04: the kernel's own memory ---------------------------------------------------------------

R04_CAP = 64 * MIB
# What is charged until the limit is met and kills.
CHARGED = ["sockets", "pipes", "tables"]
# What has a limit of its own: how it ends, and how many there are, which a program may really have.
LIMITED = {
    "dentries": ("disk", 60000, 65536),
    "maps": ("nonzero", 60000, int(host.read("/proc/sys/vm/max_map_count"))),
    "epolls": ("nonzero", 4000, 4096),
    "timers": ("nonzero", 4000, 4096),
    "signals": ("nonzero", 4000, 4096),
    "queues": ("nonzero", 4, 4),
    # KiB of data; what TCP keeps for them besides is charged, too.
    "tcp": ("nonzero", R04_CAP // 2048, R04_CAP * 3 // 2048),
}


@contextlib.contextmanager
def little_growth_of_the_kernel():
    """What it uses stays below what the box may, and a little that others on this machine do."""
    before = memory_of_the_kernel()
    with Watch(memory_of_the_kernel) as used:
        yield
    growth = max(used.answers) - before
    assert growth < R04_CAP * 1.1 + 32 * MIB, growth


def most_memory(result):
    """A run that has no group of its own is counted with its glove."""
    return R04_CAP + (0 if result.receipt["accounting"] == "run" else 16 * MIB)


@pytest.mark.serial
@pytest.mark.parametrize("name", CHARGED)
def test_R04_kernel_memory_is_charged(load, name, host_user):
    with little_growth_of_the_kernel():
        result = act(load, name, memory=R04_CAP, timeout=60, as_user=host_user)
    assert (result.verdict, result.returncode, result.survivors) == ("memory", 137, 0), result
    assert R04_CAP * 0.9 <= result.memory_peak_bytes <= most_memory(result), result


@pytest.mark.serial
@pytest.mark.parametrize("name", LIMITED)
def test_R04_kernel_objects_end_at_a_limit_and_not_before(load, name, host_user):
    verdict, least, most = LIMITED[name]
    with little_growth_of_the_kernel():
        result = act(load, name, memory=R04_CAP, disk="16m", timeout=60, as_user=host_user)
    assert (result.verdict, result.exit_code, result.survivors) == (verdict, 3, 0), result
    assert least <= refused_at(result) <= most, result
    assert result.memory_peak_bytes <= most_memory(result), result


@pytest.mark.serial
def test_R04_notes_about_files_that_do_not_exist_are_charged_and_given_up(load, host_user):
    """Of a disk's file system; two hundred thousand are more than the limit holds, and nobody dies of it."""
    with little_growth_of_the_kernel():
        result = act(load, "negative", memory=R04_CAP, timeout=60, as_user=host_user)
    assert (result.verdict, refused_at(result)) == ("ok", 200000), result
    assert R04_CAP * 0.9 <= result.memory_peak_bytes <= most_memory(result), result
