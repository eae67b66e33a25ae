# SPDX-License-Identifier: Apache-2.0
"""Nothing may be left behind: counts before and after, and the difference.

Two kinds of entries.  *Own* ones can be told from what others do at the same time: processes,
because pytest adopts every orphan below it; groups, the run directory and temporary files, because
each test has its own (lib/place.py); descriptors of this process.  They are compared around every
test.  *Shared* ones are counters of the whole machine (terminals, keys, System V objects, mounts, network
namespaces, loop devices, every glovebox process): they are compared around every test that runs
alone, and around the whole session where two run at once.  GLOVEBOX_LEDGER=own leaves them out, for
a machine on which somebody else uses glovebox at the same time.

Leaving takes a moment (a killed process must be reaped, a group emptied), so the comparison waits
for the difference to go away, for at most `patience` seconds, and then fails with it.
"""
import collections
import contextlib
import gc
import glob
import os
import re
import stat

from lib import host, pace

PATIENCE = pace.within(2)


class Leftover(AssertionError):
    pass


def own_processes():
    host.reap_orphans()
    return host.descendants(os.getpid())


def own_namespaces():
    here = host.readlink("/proc/self/ns/net")
    found = {process.namespace("net") for process in host.descendants(os.getpid())}
    return [f"net namespace {name}" for name in found - {here, ""}]


def group_prefix(run_dir):
    """How the names of the groups begin that glovebox makes for a run directory (native.c)."""
    value = 2166136261
    for byte in os.fsencode(str(run_dir)):
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return f"glovebox-{value:08x}-"


def own_groups():
    prefix = group_prefix(os.environ.get("GLOVEBOX_RUN_DIR", ""))
    return host.group_directories(lambda name: name.startswith(prefix))


def all_groups():
    return host.group_directories(lambda name: name.startswith("glovebox"))


def all_mounts():
    lines = host.read("/proc/self/mountinfo").splitlines()
    return [" ".join(line.split(" - ")[0].split()[2:5]) for line in lines]


def mounts():
    """Without those in the places of tests that run at the same time."""
    here = os.path.dirname(os.environ.get("TMPDIR", ""))
    return [line for line in all_mounts() if "/gbtest-" not in line or here in line]


def run_directory():
    """What lies in the run directory.  Slot files stay, but a lock that nobody holds owns nothing
    and has an empty record: its first line is empty.  So do the profiles for Podman, two at most."""
    base = os.environ.get("GLOVEBOX_RUN_DIR")
    if not base:
        return []
    locked = host.locked_inodes()
    found = []
    for folder, names, files in os.walk(base):
        found += [os.path.join(folder, name) for name in names if name != "slots"]
        for name in files:
            path = os.path.join(folder, name)
            try:
                info = os.lstat(path)
            except FileNotFoundError:
                continue
            is_slot = stat.S_ISREG(info.st_mode) and folder == os.path.join(base, "slots")
            if not is_slot and not re.fullmatch(r"seccomp-[0-9a-f]{32}\.json", name):
                found.append(path)
            elif is_slot and info.st_ino in locked:
                found.append(path + " (locked)")
            elif is_slot and host.read(path).split("\n")[0]:
                found.append(path + " (has a record)")
    return found


def temporary_files():
    here = os.environ.get("TMPDIR", "")
    return [os.path.join(here, name) for name in os.listdir(here)] if "gbtest-" in here else []


def all_temporary_files():
    found = []
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
        found += glob.glob(f"{folder}/glovebox*")
    return found


def descriptors():
    found = []
    for name in os.listdir("/proc/self/fd"):
        target = host.readlink(f"/proc/self/fd/{name}")
        if target and not target.startswith(f"/proc/{os.getpid()}/fd"):
            found.append(f"fd {name} -> {target}")
    return found


def all_glovebox_processes():
    found = []
    for process in host.processes():
        if "glovebox-" in process.exe and process.state not in "ZX":
            found.append(process)
    return found


def all_namespaces():
    names = {process.namespace("net") for process in host.processes()}
    return [f"net namespace {name}" for name in names if name]


def terminals():
    return ["pty"] * int(host.read("/proc/sys/kernel/pty/nr", "0"))


def keys():
    """Keys by description; keyrings of the kernel itself come and go by themselves."""
    found = []
    for line in host.read("/proc/keys").splitlines():
        fields = line.split(maxsplit=8)
        if len(fields) == 9 and not fields[8].startswith((".", "_uid", "_ses", "_tid", "_pid")):
            found.append(f"key {fields[5]} {fields[7]} {fields[8]}")
    return found


def sysv_objects():
    found = []
    for kind in ("shm", "sem", "msg"):
        lines = host.read(f"/proc/sysvipc/{kind}").splitlines()[1:]
        found += [f"{kind} {' '.join(line.split()[:2])}" for line in lines]
    return found


def loop_devices():
    return glob.glob("/sys/block/loop*/loop/backing_file")


def network_devices():
    return os.listdir("/sys/class/net")


OWN = {
    "processes": own_processes,
    "namespaces": own_namespaces,
    "groups": own_groups,
    "mounts": mounts,
    "run directory": run_directory,
    "temporary files": temporary_files,
    "descriptors": descriptors,
}

SHARED = {
    "glovebox processes of the machine": all_glovebox_processes,
    "network namespaces of the machine": all_namespaces,
    "groups of the machine": all_groups,
    "temporary files of the machine": all_temporary_files,
    "mounts of the machine": all_mounts,
    "terminals": terminals,
    "keys": keys,
    "System V objects": sysv_objects,
    "loop devices": loop_devices,
    "network devices": network_devices,
}

# Of these also a disappearance is a fault: glovebox touched what was not its own.
MUST_STAY = ("groups", "groups of the machine", "mounts", "mounts of the machine",
             "loop devices", "network devices")


def is_alone():
    return "PYTEST_XDIST_WORKER" not in os.environ and os.environ.get("GLOVEBOX_LEDGER") != "own"


def count(tables):
    return {name: collections.Counter(entries()) for name, entries in tables.items()}


def difference(before, after):
    lines = []
    for name in before:
        lines += [f"{name}: + {entry}" for entry in (after[name] - before[name]).elements()]
        if name in MUST_STAY:
            lines += [f"{name}: - {entry}" for entry in (before[name] - after[name]).elements()]
    return sorted(lines)


class Ledger:
    """Counted once; settle() compares."""

    def __init__(self, shared=None, own=True):
        shared = is_alone() if shared is None else shared
        self.tables = {**(OWN if own else {}), **(SHARED if shared else {})}
        self.before = count(self.tables)

    def settle(self, patience=PATIENCE):
        gc.collect()
        found = []

        def settled():
            nonlocal found
            found = difference(self.before, count(self.tables))
            return not found

        if not host.until(settled, patience, step=0.02):
            raise Leftover("left behind:\n" + "\n".join(found))


@contextlib.contextmanager
def watch(shared=None, patience=PATIENCE):
    """Nothing that happens in the block may leave anything."""
    book = Ledger(shared)
    yield book
    book.settle(patience)
