# SPDX-License-Identifier: Apache-2.0
"""The machine as /proc and /sys show it.

Everything here tolerates that a process ends while it is looked at.
"""
import ctypes
import os
import subprocess
import threading
import time
import weakref
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")

_libc = ctypes.CDLL(None, use_errno=True)

# Every Popen there is: how its process ended is its own to learn.
_started = weakref.WeakSet()
_started_lock = threading.Lock()


def adopt_orphans():
    """From now on whatever a test starts stays below this process, however often it forks."""
    if _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    begin = subprocess.Popen.__init__

    def noted(self, *args, **kwargs):
        with _started_lock:
            _started.add(self)
        begin(self, *args, **kwargs)

    subprocess.Popen.__init__ = noted


def read(path, default=""):
    try:
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return default


def readlink(path, default=""):
    try:
        return os.readlink(path)
    except OSError:
        return default


def until(condition, within, step=0.01):
    """Polls until condition() is true; its last value."""
    end = time.monotonic() + within
    while True:
        value = condition()
        if value or time.monotonic() >= end:
            return value
        time.sleep(step)


class Process:
    """One line of the process table."""

    def __init__(self, pid):
        self.pid = pid
        stat = read(f"/proc/{pid}/stat")
        if not stat:
            raise ProcessLookupError(pid)
        self.comm = stat[stat.index("(") + 1 : stat.rindex(")")]
        fields = stat[stat.rindex(")") + 2 :].split()
        self.state, self.ppid, self.start = fields[0], int(fields[1]), int(fields[19])

    # The same one whatever it does meanwhile: sleeps, wakes, executes another program.
    def __eq__(self, other):
        return isinstance(other, Process) and (self.pid, self.start) == (other.pid, other.start)

    def __hash__(self):
        return hash((self.pid, self.start))

    @property
    def exe(self):
        return readlink(f"/proc/{self.pid}/exe")

    @property
    def status(self):
        """Fields of /proc/PID/status."""
        lines = read(f"/proc/{self.pid}/status").splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    @property
    def inner_pid(self):
        """The pid in the innermost pid namespace."""
        return int(self.status.get("NSpid", f"{self.pid}").split()[-1])

    @property
    def depth(self):
        """How many pid namespaces it is in; 1 on the host."""
        return len(self.status.get("NSpid", "1").split())

    @property
    def cmdline(self):
        return read(f"/proc/{self.pid}/cmdline").replace("\0", " ").strip()

    @property
    def groups(self):
        """hierarchy (controllers, or "" for v2) -> path"""
        lines = read(f"/proc/{self.pid}/cgroup").splitlines()
        return {line.split(":", 2)[1]: line.split(":", 2)[2] for line in lines}

    def namespace(self, name):
        return readlink(f"/proc/{self.pid}/ns/{name}")

    def is_alive(self):
        try:
            now = Process(self.pid)
        except ProcessLookupError:
            return False
        return now.start == self.start and now.state not in "ZX"

    def __str__(self):
        return f"{self.pid} {self.state} {self.comm} [{self.exe}] {self.cmdline[:80]}"

    __repr__ = __str__


def processes():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found.append(Process(int(name)))
            except ProcessLookupError:
                pass
    return found


def descendants(pid):
    """Living processes below pid, nearest first."""
    below = {}
    for process in processes():
        below.setdefault(process.ppid, []).append(process)
    found, queue = [], [pid]
    while queue:
        children = below.get(queue.pop(0), [])
        found += [child for child in children if child.state not in "ZX"]
        queue += [child.pid for child in children]
    return found


def reap_orphans():
    """Waits for adopted processes that have ended, as init would.  What a subprocess.Popen has started
    is left to it, in whatever thread it is waited for: whoever comes second learns no exit code."""
    own = os.getpid()
    dead = [process for process in processes() if process.ppid == own and process.state == "Z"]
    with _started_lock:
        watched = {getattr(started, "pid", None) for started in _started
                   if getattr(started, "returncode", None) is None}
    for process in dead:
        if process.pid not in watched:
            try:
                os.waitpid(process.pid, os.WNOHANG)
            except ChildProcessError:
                pass


def remove_directory(folder):
    """An empty directory, such as a group; False while it is busy, as a group is for a moment after
    the last process in it."""
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def hierarchies():
    """mount point -> "v1" or "v2" of each group hierarchy."""
    found = {}
    for line in read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        kind = right.split()[0]
        if kind in ("cgroup", "cgroup2"):
            found[left.split()[4]] = "v2" if kind == "cgroup2" else "v1"
    return found


def group_directories(matches):
    """Directories of every hierarchy whose name matches."""
    found = []
    for mount in hierarchies():
        for folder, names, _ in os.walk(mount):
            found += [os.path.join(folder, name) for name in names if matches(name)]
    return found


def locked_inodes():
    """Inode numbers on which somebody holds a lock."""
    inodes = set()
    for line in read("/proc/locks").splitlines():
        fields = line.split()
        if "->" not in fields and len(fields) >= 6:
            inodes.add(int(fields[5].split(":")[2]))
    return inodes
