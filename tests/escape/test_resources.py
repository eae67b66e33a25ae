# SPDX-License-Identifier: Apache-2.0
"""A box that takes all it can get of a resource gets its own share and no more (R01-R08, R11, R12).

What it does is load/load.c.  While it goes on the host must be able to work, and afterwards everything
must be back.
"""
import concurrent.futures
import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

import sheet as sheets
from lib import box, host, kept, ledger as books, pace

LOAD = Path(__file__).parent / "load" / "load.c"
MIB = 1 << 20
# A run may take that much longer than its limit.
SLACK = pace.within(2)


@pytest.fixture(scope="module")
def load():
    """A static program that takes what it can get."""
    folder = sheets.private_folder()
    target = folder / "load"
    try:
        subprocess.run([*sheets.COMPILER, "-o", target, LOAD], check=True)
        yield target
    finally:
        shutil.rmtree(folder)


def act(load, name, **request):
    request.setdefault("timeout", 1.5)
    return box.run(argv=["./load", name], files=[(load, "load")], **request)


def refused_at(result):
    """The number behind the word `refused`."""
    words = result.stdout.split()
    assert "refused" in words, result
    return int(words[words.index("refused") + 1])


class Watch:
    """Asks again and again while something goes on; keeps the answers."""

    def __init__(self, ask, every=0.05):
        self.ask, self.every = ask, every
        self.answers = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._go)

    def _go(self):
        while not self.stop.is_set():
            self.answers.append(self.ask())
            self.stop.wait(self.every)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.answers.append(self.ask())


def fork_seconds():
    """How long the host takes to start and reap a program."""
    start = time.monotonic()
    subprocess.run(["/bin/true"], check=True)
    return time.monotonic() - start


def meminfo(*names):
    found = {}
    for line in host.read("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        found[name] = int(value.split()[0]) * 1024
    return sum(found[name] for name in names)


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
    """new() gives the lines of the kernel's log since then, or fails where some were overwritten."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)

    def new():
        lines = []
        with contextlib.suppress(BlockingIOError):
            while True:
                lines.append(os.read(log, 8192).decode("utf-8", "replace"))
        numbers = [int(line.split(",")[1]) for line in lines]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
        return lines
    try:
        yield new
    finally:
        os.close(log)


@pytest.mark.serial
def test_R02_twenty_boxes_out_of_memory_harm_nobody_else(load):
    with kernel_messages() as new, \
            box.start("echo ready; cat; echo still here", language="sh", memory="32m") as bystander:
        bystander.expect(b"ready")
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            results = list(pool.map(lambda _: act(load, "anon", memory=MEMORY, timeout=60), range(20)))
        assert [r.verdict for r in results] == ["memory"] * 20, results
        code, seen = bystander.end()
        assert (code, seen) == (0, b"ready\nstill here\n")
        told = new()
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
    # Less than 10 % of what three boxes had.
    assert host.until(lambda: meminfo("Shmem") - before < 30 * MIB, 10), meminfo("Shmem") - before


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
            assert re.search(r"files take 8[0-9.]+ MiB of the box's 128 MiB", message), refused
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


def test_R03_files_of_half_the_memory_are_no_reason():
    with kept.made("--memory", "128m", "--disk", "100m") as half:
        for _ in range(5):
            done = kept.sh(half, "head -c 60m /dev/zero >f; cat f | wc -c")
            assert (done.verdict, done.stdout) == ("ok", f"{60 << 20}\n"), done


# ---- R04: the kernel's own memory ---------------------------------------------------------------

@pytest.mark.serial
@pytest.mark.parametrize("name", ["dentries", "negative", "sockets", "pipes", "maps", "tables", "epolls",
                                  "timers", "signals", "queues", "locks"])
def test_R04_kernel_memory_is_charged_or_limited(load, name):
    cap = 64 * MIB
    before = meminfo("SUnreclaim", "PageTables", "KernelStack")
    with Watch(lambda: meminfo("SUnreclaim", "PageTables", "KernelStack")) as used:
        result = act(load, name, memory=cap, disk="16m")
    assert result.verdict in ("timeout", "memory", "cpu") and result.survivors == 0, result
    growth = max(used.answers) - before
    assert growth < cap * 1.1 + 32 * MIB, growth
    assert result.memory_peak_bytes <= cap, result


# ---- R05: disk ----------------------------------------------------------------------------------

DISK = 8 * MIB


def free_bytes():
    """Of the host's file systems."""
    found = {}
    for path in ("/", "/tmp", "/var/tmp", "/dev/shm", "/run"):
        info = os.statvfs(path)
        found[path] = info.f_bfree * info.f_frsize
    return found


@pytest.mark.parametrize("name", ["fill", "fallocate", "sparse", "unlinked", "logs", "places"])
def test_R05_the_disk_ends_at_its_limit(load, name, host_user):
    result = act(load, name, disk=DISK, timeout=20, as_user=host_user)
    # Room that an open file has taken is back when its program has ended.
    expected = ("nonzero", 3) if name == "unlinked" else ("disk", 153)
    assert (result.verdict, result.returncode) == expected, result
    assert refused_at(result) * 1024 <= DISK and "TERABYTE" not in result.stdout, result
    assert refused_at(result) * 1024 >= DISK * 0.5, "far less than was promised"


@pytest.mark.serial
def test_R05_what_a_box_writes_is_on_no_file_system_of_the_host():
    """700 MiB in the box, while others on this machine may write a little."""
    code = "for f in /workspace/a /tmp/b; do head -c 350m /dev/zero >$f; done; echo ready; cat"
    before = free_bytes()
    with box.start(code, language="sh", memory="1g", disk="1g") as living:
        living.expect(b"ready", within=60)
        now = free_bytes()
        lost = {path: before[path] - now[path] for path in before}
        assert all(value < 300 * MIB for value in lost.values()), lost
        assert living.end()[0] == 0


def test_R05_no_core_file_anywhere(load, place):
    result = act(load, "core", timeout=20)
    assert (result.verdict, result.signal, result.files) == ("signal", 6, []), result
    assert os.listdir(place.cwd) == [] and os.listdir(place.run) in ([], ["slots"])
    assert not [name for name in os.listdir("/") if name.startswith("core")]


def test_R05_limits_of_files_cannot_be_raised():
    result = box.run("ulimit -c unlimited; ulimit -f unlimited; ulimit -Hc; ulimit -Hf", language="bash",
                     disk=DISK)
    core, size = result.stdout.split()
    assert core == "0" and int(size) * 1024 == DISK, result


# ---- R06: number of files -----------------------------------------------------------------------

@pytest.mark.parametrize("name", ["files", "folders", "links", "hardlinks"])
def test_R06_the_number_of_files_is_limited_and_they_go_quickly(load, name, host_user):
    result = act(load, name, timeout=60, memory="512m", as_user=host_user)
    ended = time.monotonic()
    assert result.returncode != 0 and result.verdict in ("disk", "nonzero", "memory"), result
    if name in ("files", "folders"):
        assert (result.verdict, 60000 < refused_at(result) <= 65536) == ("disk", True), result
    # Removing them is the kernel's work at the end of the box, for which the command does not wait.
    assert host.until(lambda: not books.own_groups() and not books.run_directory(), 60)
    end = result.seconds - result.wall_ms / 1000 + time.monotonic() - ended
    assert end < pace.within(5), (end, result)


def test_R06_the_limit_is_a_setting(load):
    result = act(load, "files", host_env={"GLOVEBOX_INODES": "1000"}, timeout=20)
    assert result.verdict == "disk" and 900 < refused_at(result) <= 1000, result


# ---- R07: descriptors ---------------------------------------------------------------------------

def test_R07_descriptors_of_a_program_are_limited(load):
    result = act(load, "descriptors")
    assert result.verdict == "ok" and refused_at(result) <= 4096, result
    assert "Too many open files" in result.stdout


def test_R07_many_processes_full_of_descriptors_leave_the_host_enough(load):
    code = "for i in $(seq 60); do perl -e 'open(my $f, q(<), q(/dev/null)) && push @x, $f for 1 .. 1000; " \
           "sleep 1000' & done; echo ready; cat"
    with box.start(code, language="sh", pids=128, memory="1g") as hog:
        hog.expect(b"ready")
        assert host.until(lambda: len(hog.runs) >= 60, 30)
        used, _, limit = map(int, host.read("/proc/sys/fs/file-nr").split())
        assert used < limit / 2
        result = act(load, "descriptors")
        assert refused_at(result) >= 1000, result
        hog.process.send_signal(signal.SIGINT)
        hog.gone(within=SLACK)


@pytest.mark.parametrize("limit", [3, 5, 8, 12, 16, 24, 32, 64, 128])
def test_R07_glovebox_with_few_descriptors_answers(limit):
    words = ["prlimit", f"--nofile={limit}:{limit}", *box.command("echo hello", language="sh")]
    result = box.run_words(words)
    assert not result.hung, result
    if result.returncode == 0:
        assert result.stdout == "hello\n", result
    else:
        assert result.returncode in (125, 127), result
        assert result.out or result.err, "silence"
    assert limit < 128 or result.returncode == 0, result


# ---- R08: output --------------------------------------------------------------------------------

FLOODS = {
    "zeros": ("head -c {n} /dev/zero", 1),
    "lines": ("yes | head -c {n}", 1),
    "stderr": ("head -c {n} /dev/zero >&2", 1),
    "both": ("head -c {n} /dev/zero & head -c {n} /dev/zero >&2; wait", 2),
    "no valid text": ("head -c {n} /dev/zero | tr '\\0' '\\377'", 1),
    "escapes": ("yes \"$(printf '\\033[31m\\033]0;x\\007')\" | head -c {n}", 1),
}
DROPPED = re.compile(r"\n?\[\.\.\. \d+ bytes dropped \.\.\.\]\n")
FLOOD = pace.count(check=512 * MIB, proof=2 << 30)


def resident(pid):
    words = host.read(f"/proc/{pid}/statm").split()
    return int(words[1]) * 4096 if words else 0


@pytest.mark.serial
@pytest.mark.parametrize("name", FLOODS)
def test_R08_a_flood_is_counted_and_not_kept(name, place):
    code, streams = FLOODS[name]
    words = box.command(code.format(n=FLOOD), language="sh", output_max="8g", timeout=120, cpus=2)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=box.environment(),
                               cwd=place.cwd)
    with Watch(lambda: resident(process.pid)) as sizes:
        out, err = process.communicate(timeout=150)
    result = box.Result(words, process.returncode, out, err, 0, False)
    assert (result.verdict, result.truncated, result.survivors) == ("ok", True, 0), result.verdict
    assert result.stdout_bytes + result.stderr_bytes == FLOOD * streams, result.stdout_bytes
    kept_text = DROPPED.sub("", result.stdout) + DROPPED.sub("", result.stderr)
    assert len(kept_text) == 8 * MIB, len(kept_text)
    # The kept 8 MiB, what JSON makes of them (six bytes for one), and 16 MiB besides.
    assert max(sizes.answers) <= (8 + 6 * 8 * 2 + 16) * MIB, max(sizes.answers)


@pytest.mark.serial
def test_R08_a_flood_that_is_streamed_costs_no_memory(place):
    size = max(FLOOD, 1 << 30)
    words = box.command(f"head -c {size} /dev/zero", language="sh", as_json=False, output_max="8g", timeout=120)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=box.environment(), cwd=place.cwd)
    seen = len(process.stdout.read(1))
    first = resident(process.pid)
    with Watch(lambda: resident(process.pid)) as sizes:
        while chunk := process.stdout.read(MIB):
            seen += len(chunk)
    assert process.wait(30) == 0 and seen == size
    process.stdout.close()
    assert max(sizes.answers) - first <= 16 * MIB, (first, max(sizes.answers))


def test_R08_one_byte_at_a_time_without_an_end(host_user):
    """Killed at the limit with the exact count, whatever the size of the writes."""
    result = box.run("import os\nwhile True: os.write(1, b'x')", language="python", output_max=300000,
                     as_user=host_user)
    assert (result.verdict, result.stdout_bytes) == ("output", 300000), result
    result = box.run("import os\nwhile True: os.writev(1, [b'', b'ab', b''])", language="python",
                     output_max=300001, as_user=host_user)
    assert (result.verdict, result.stdout_bytes) == ("output", 300001), result


# ---- R11: CPU -----------------------------------------------------------------------------------

BURNERS = {
    "loops": ["sh", "-c", "for i in 1 2 3 4 5 6; do (while :; do :; done) & done; wait"],
    "hops": ["./load", "hops"],
    "bandwidth": ["./load", "bandwidth"],
}


@pytest.mark.serial
@pytest.mark.parametrize("cpus", [0.3, 1])
@pytest.mark.parametrize("name", BURNERS)
def test_R11_cpu_time_stays_below_the_quota(load, name, cpus):
    seconds = pace.count(3, 10)
    result = box.run(argv=BURNERS[name], files=[(load, "load")], cpus=cpus, cpu_time=60, timeout=seconds)
    assert result.verdict == "timeout" and result.survivors == 0, result
    share = result.cpu_ms / result.wall_ms
    # Over 10 s it is 5 %.  Of a shorter time the two periods of 100 ms that are whole when it begins
    # and ends are a larger part.
    extra = 0 if pace.IS_PROOF else cpus * 0.2 / seconds * 2 + 0.02
    assert cpus * 0.3 < share <= cpus * 1.05 + extra, share


@pytest.mark.serial
def test_R11_two_busy_boxes_leave_a_third_its_turn():
    code = "for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; echo ready; wait"
    with box.start(code, language="sh", cpus=1, cpu_time=600, timeout=60) as one, \
            box.start(code, language="sh", cpus=1, cpu_time=600, timeout=60) as two:
        one.expect(b"ready")
        two.expect(b"ready")
        slow = sorted(box.run("exit 0", language="sh").seconds for _ in range(30))
        assert slow[int(len(slow) * 0.9)] < pace.within(0.1), slow


PRIORITIES = """
import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, call):
    try:
        r = call()
        print(name, "DONE" if r in (None, 0) else "refused")
    except (OSError, PermissionError) as error:
        print(name, "refused")
for name in ("SCHED_FIFO", "SCHED_RR"):
    attempt(name, lambda: os.sched_setscheduler(0, getattr(os, name), os.sched_param(1)))
class Attr(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64),
                ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32), ("runtime", ctypes.c_uint64),
                ("deadline", ctypes.c_uint64), ("period", ctypes.c_uint64)]
attempt("DEADLINE", lambda: libc.syscall(314, 0, ctypes.byref(Attr(48, 6, 0, 0, 0, 10**7, 10**8, 10**8)), 0))
attempt("nice", lambda: os.nice(-20) and None)
attempt("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -1))
attempt("ioprio", lambda: libc.syscall(251, 1, 0, 1 << 13))
"""


def test_R11_no_real_time_no_better_niceness(host_user):
    result = box.run(PRIORITIES, language="python", as_user=host_user)
    assert result.verdict == "ok" and len(result.stdout.splitlines()) == 6, result
    assert "DONE" not in result.stdout, result.stdout


# ---- R12: time ----------------------------------------------------------------------------------

@pytest.mark.parametrize("limit", [0.1, 0.5, 2])
def test_R12_killed_at_the_limit_and_soon_after(limit, host_user):
    result = box.run("trap '' 1 2 3 15; echo ready; kill -STOP $$; sleep 1000", language="sh", timeout=limit,
                     as_user=host_user)
    assert (result.verdict, result.survivors) == ("timeout", 0), result
    assert limit * 1000 <= result.wall_ms < (limit + pace.within(0.3)) * 1000, result
    assert result.seconds < limit + SLACK


def test_R12_nobody_in_a_box_sets_a_clock(host_user):
    code = "import ctypes, time\nlibc = ctypes.CDLL(None)\n" \
           "ts = (ctypes.c_long * 2)(1, 0)\nprint(libc.clock_settime(0, ts), libc.settimeofday(ts, None))\n"
    before = time.time() - time.monotonic()
    result = box.run(code, language="python", as_user=host_user)
    assert result.stdout == "-1 -1\n", result
    assert abs(time.time() - time.monotonic() - before) < 5


# Stands between glovebox and its libc: the wall clock jumps an hour, again and again, to and fro.
JUMPING = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long jump(void)
{
    static unsigned n;
    return n++ / 2 % 2 ? -3600 : 3600;
}
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    long r = syscall(SYS_clock_gettime, clock, ret);
    if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret->tv_sec += jump();
    return (int)r;
}
int gettimeofday(struct timeval *ret, void *zone)
{
    struct timespec now;
    int r = clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
    return r;
}
time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ret ? *ret = now.tv_sec : now.tv_sec;
}
"""


def without_leak_check():
    """A library in front is none that the sanitizers would have there."""
    return {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}


@pytest.fixture
def jumping(place):
    source, target = place.tmp / "jumping.c", place.tmp / "jumping.so"
    source.write_text(JUMPING)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", target, source], check=True)
    yield {"LD_PRELOAD": str(target), **without_leak_check()}
    source.unlink()
    target.unlink()


def test_R12_the_wall_clock_may_jump(jumping):
    """A shim cannot move the monotonic clock, and the true one is what limits are told by."""
    seen = subprocess.run(["/usr/bin/python3", "-c", "import time\nprint(abs(time.time() - time.time()) > 3000,"
                           " abs(time.time() - time.time()) > 3000, time.monotonic())"],
                          env={**os.environ, "LD_PRELOAD": jumping["LD_PRELOAD"]}, capture_output=True, text=True)
    assert "True" in seen.stdout, seen
    late = box.run("sleep 1000", language="sh", timeout=1, host_env=jumping)
    assert (late.verdict, late.survivors) == ("timeout", 0), late
    assert 1000 <= late.wall_ms < (1 + pace.within(0.3)) * 1000 and late.seconds < 1 + SLACK, late
    well = box.run("sleep 0.3; echo done", language="sh", timeout=60, host_env=jumping)
    assert (well.verdict, well.stdout) == ("ok", "done\n"), well
    assert 300 <= well.wall_ms < 300 + pace.within(1) * 1000, well
    with kept.made("--ttl", "600s", host_env=jumping) as name:
        done = kept.sh(name, "sleep 0.2; echo done", host_env=jumping)
        assert (done.verdict, done.stdout) == ("ok", "done\n") and 200 <= done.wall_ms < 10000, done


NO_LIMITS = ["0", "-1", "nan", "inf", "1e999", "9223372036854775808", "18446744073709551616", "", " ", "0x10",
             "1 2", "\u0663", "none", "unlimited"]


@pytest.mark.parametrize("option", ["timeout", "cpu_time", "memory", "cpus", "pids", "disk", "output_max"])
def test_R12_every_run_has_finite_limits(option):
    for value in NO_LIMITS:
        result = box.run("echo started", language="sh", as_json=False, **{option: value})
        assert result.returncode == 2 and result.out == b"", (value, result)
        assert result.err.startswith(b"glovebox: ") and len(result.err.splitlines()) <= 2, result
