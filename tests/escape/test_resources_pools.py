# SPDX-License-Identifier: Apache-2.0
"""R13: pools of the kernel that boxes and the host share.

One box takes all it can get of a pool, with several processes, and holds it.  Then a second box and
root on the host must still get a working amount: a pool is either capped per box or split by user id.
"""
import contextlib
import os
import signal
import subprocess

import pytest

from lib import box, host, pace

PROCESSES = 12

# take(kind) yields one thing more each time, until an OSError; they stay taken while it lives.
TAKE = r"""
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
kept = []

def checked(value):
    if value is None or value < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return value

def take_inotify(n):
    kept.append(checked(libc.inotify_init1(0)))

def take_watches(n):
    if not kept:
        kept.append(checked(libc.inotify_init1(0)))
    name = f"/tmp/w{os.getpid()}-{n}"
    os.mkdir(name)
    checked(libc.inotify_add_watch(kept[0], name.encode(), 2))

def take_ptys(n):
    kept.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))

def take_keys(n):
    kept.append(checked(libc.syscall(248, b"user", f"k{os.getpid()}-{n}".encode(), b"x" * 1000, 1000, -4)))

def take_queues(n):
    kept.append(checked(libc.mq_open(f"/q{os.getpid()}-{n}".encode(), os.O_CREAT | os.O_RDWR, 0o600, None)))

def take_shm(n):
    kept.append(checked(libc.shmget(0, 4096, 0o1600)))

def take_semaphores(n):
    kept.append(checked(libc.semget(0, 1, 0o1600)))

def take_messages(n):
    kept.append(checked(libc.msgget(0, 0o1600)))

def take_user_namespaces(n):
    if os.fork() == 0:
        os._exit(0 if libc.unshare(0x10000000) == 0 else 1)
    if os.wait()[1]:
        raise OSError("refused")

def take_net_namespaces(n):
    checked(libc.unshare(0x40000000))

def take_pipes(n):
    r, w = os.pipe()
    kept.extend((r, w))
    checked(libc.fcntl(w, 1031, 1 << 20))

def take_sockets(n):
    kept.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM))

def take_ports(n):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.bind(("127.0.0.1", 0))
    kept.append(s)

def take_epoll(n):
    if not kept:
        kept.append(checked(libc.epoll_create1(0)))
        kept.append(os.pipe())
    fd = os.dup(kept[1][0])
    event = (ctypes.c_uint32 * 3)(1, 0, 0)
    checked(libc.epoll_ctl(kept[0], 1, fd, event))

def take_eventfds(n):
    kept.append(checked(libc.eventfd(0, 0)))

def take_timerfds(n):
    kept.append(checked(libc.timerfd_create(1, 0)))

def take_memfds(n):
    kept.append(os.memfd_create("m"))

def take_locks(n):
    if not kept:
        kept.append(os.open(f"/tmp/lock{os.getpid()}", os.O_RDWR | os.O_CREAT))
    import fcntl
    fcntl.lockf(kept[0], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, n * 2)

def take_signals(n):
    if n == 0:
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    checked(libc.sigqueue(os.getpid(), 40, 0))

def take_processes(n):
    pid = os.fork()
    if pid == 0:
        import signal
        signal.pause()

import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
kind, most, share = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
children = []
for _ in range(share - 1):
    r, w = os.pipe()
    if os.fork() == 0:
        os.close(r)
        children = [w]
        share = 0
        break
    os.close(w)
    children.append(r)
count = 0
try:
    while count < most:
        globals()["take_" + kind](count)
        count += 1
except OSError:
    pass
if share == 0:
    os.write(children[0], b"%d\n" % count)
    while True:
        libc.pause()
count += sum(int(os.read(r, 100)) for r in children)
print("took", count, "in all", flush=True)
sys.stdin.read()
"""

# kind: what a second box must still get.  More is not asked for, so that the test stays quick.
POOLS = {
    "inotify": 16, "watches": 500, "ptys": 16, "queues": 4, "shm": 100, "semaphores": 100, "messages": 100,
    "pipes": 16, "sockets": 200, "ports": 200, "epoll": 200, "eventfds": 200, "timerfds": 200,
    "memfds": 200, "locks": 500, "signals": 100, "processes": 32,
}
# Not to be had at all: nothing is shared.
CLOSED = ["keys", "user_namespaces", "net_namespaces"]
# Where there is no end but that of memory, a hog takes so many.
PLENTY = {"watches": 20000, "locks": 1000, "epoll": 4000, "sockets": 4000, "ports": 500}


def hog(kind, user):
    most = PLENTY.get(kind, 100000)
    share = 1 if kind in ("processes", "signals") else PROCESSES
    return box.start(TAKE, language="python", args=[kind, most, share], memory="1g", disk="512m", cpus=2,
                     cpu_time=120, timeout=60, as_user=user)


def taken(text):
    words = text.split()
    return int(words[words.index("took") + 1])


def second(kind, amount, user):
    result = box.run(TAKE, language="python", args=[kind, amount, 1], stdin=b"", timeout=60, as_user=user)
    assert result.verdict == "ok", result
    return taken(result.stdout)


@pytest.mark.parametrize("kind", POOLS)
def test_R13_a_second_box_still_gets_a_working_amount(kind, host_user):
    with hog(kind, host_user) as first:
        first.expect(b" in all", within=60)
        got = second(kind, POOLS[kind], host_user)
        assert got == POOLS[kind], f"the first box {first.seen!r}, the second {got}"
        first.process.send_signal(signal.SIGINT)
        first.process.wait(30)


@pytest.mark.parametrize("kind", CLOSED)
def test_R13_pools_that_a_box_has_no_part_in(kind, host_user):
    result = box.run(TAKE, language="python", args=[kind, 1000, 1], stdin=b"", as_user=host_user)
    assert (result.verdict, taken(result.stdout)) == ("ok", 0), result


# ---- the host -----------------------------------------------------------------------------------

def host_takes(kind, amount):
    """The same on the host, as root; files lie in the test's own directory."""
    code = TAKE.replace("/tmp/", os.environ["TMPDIR"] + "/")
    done = subprocess.run(["/usr/bin/python3", "-c", code, kind, str(amount), "1"], input=b"",
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done
    return taken(done.stdout.decode())


HOST_POOLS = ["inotify", "watches", "ptys", "pipes", "sockets", "epoll", "eventfds", "timerfds", "memfds", "locks",
              "signals"]


@pytest.mark.parametrize("kind", HOST_POOLS)
def test_R13_root_on_the_host_still_gets_a_working_amount(kind, place):
    with hog(kind, None) as first:
        first.expect(b" in all", within=60)
        got = host_takes(kind, POOLS[kind])
        assert got == POOLS[kind], f"the box {first.seen!r}, the host {got}"
        first.process.send_signal(signal.SIGINT)
        first.process.wait(30)
    for path in place.tmp.iterdir():
        path.rmdir() if path.is_dir() else path.unlink()


def test_R13_a_box_cannot_take_all_terminals_of_the_machine(host_user):
    limit = int(host.read("/proc/sys/kernel/pty/max"))
    with hog("ptys", host_user) as first:
        first.expect(b" in all", within=60)
        count = taken(first.seen.decode())
        assert 0 < count <= limit // 8, f"{count} of {limit}"
        first.process.send_signal(signal.SIGINT)
        first.process.wait(30)


BOXES = pace.count(check=6, proof=20)
CAP = 60
FULL = "i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i + 1)); done 2>/dev/null"


def test_R13_boxes_have_the_processes_they_may_and_no_more(host_user):
    """Each of many, all at once; the host can fork, and a box more has its own."""
    with contextlib.ExitStack() as stack:
        full = [stack.enter_context(box.start(f"({FULL}); echo ready; cat", language="sh", pids=CAP,
                                              as_user=host_user)) for _ in range(BOXES)]
        for one in full:
            one.expect(b"ready", within=60)
        # The shell that was refused a child has ended, and another has taken its place.
        assert host.until(lambda: all(len(one.runs) == CAP for one in full), 60), [len(one.runs) for one in full]
        subprocess.run(["/bin/true"], check=True)
        assert box.run("sleep 0 & sleep 0 & wait; exit 3", language="sh", as_user=host_user).exit_code == 3
        for one in full:
            one.end()
