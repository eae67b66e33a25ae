# SPDX-License-Identifier: Apache-2.0
"""The posture of a living process: everything the kernel says about its rights, as one document.

The document holds no number that differs from box to box: what must be the box's own (user ids,
namespaces, groups) is written as a word ("own") after it was checked.  Compared exactly with the
expected one, so that a new mount option, capability bit, descriptor or limit is a difference and
not a thing that nobody asked about.
"""
import os
import re

from lib import host

CAPABILITIES = (
    "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable "
    "net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio "
    "sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time "
    "sys_tty_config mknod lease audit_write audit_control setfcap mac_override mac_admin syslog "
    "wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore").split()

STATUS_FIELDS = ("NoNewPrivs", "Seccomp", "Seccomp_filters", "Groups", "SigBlk", "SigIgn")
CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def capabilities(mask):
    """Names of the bits; one without a name is an error."""
    bits = int(mask, 16)
    unknown = bits >> len(CAPABILITIES)
    assert not unknown, f"unknown capability bits {unknown << len(CAPABILITIES):#x}"
    return [name for number, name in enumerate(CAPABILITIES) if bits >> number & 1]


def inner_ids(field, pid, kind):
    """Ids of a status field (host's numbers) as the box knows them."""
    ranges = [tuple(map(int, line.split()))
              for line in host.read(f"/proc/{pid}/{kind}_map").splitlines()]
    found = []
    for outer in map(int, field.split()):
        inside = [first + outer - base for first, base, size in ranges
                  if base <= outer < base + size]
        found.append(inside[0] if inside else f"unmapped {outer}")
    return found


def thread(pid, tid):
    lines = host.read(f"/proc/{pid}/task/{tid}/status").splitlines()
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    known = {name: status.get(name) for name in STATUS_FIELDS}
    known["Groups"] = inner_ids(status.get("Groups", ""), pid, "gid")
    for name in CAPABILITY_SETS:
        known[name] = capabilities(status.get(name, "0"))
    known["Uid"] = inner_ids(status["Uid"], pid, "uid")
    known["Gid"] = inner_ids(status["Gid"], pid, "gid")
    return known


def threads(pid):
    """The one posture that all threads share; a list of several where they differ."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        one = thread(pid, tid)
        if one not in found:
            found.append(one)
    return found[0] if len(found) == 1 else found


def namespaces(pid):
    return {name: "host's" if host.readlink(f"/proc/{pid}/ns/{name}") ==
            host.readlink(f"/proc/self/ns/{name}") else "own" for name in host.NAMESPACES}


# File systems that a box makes itself; of others only the flags of the mount are its own.
OWN_TYPES = ("tmpfs", "proc", "devpts", "mqueue", "cgroup", "cgroup2")
ACCESS_TIMES = ("relatime", "noatime", "nodiratime", "lazytime")


def mount_entry(line):
    """(mount point, "type flags options") without numbers of this boot and habits of this host."""
    left, _, right = line.partition(" - ")
    fields, (kind, _, options) = left.split(), right.split()
    flags = ",".join(flag for flag in fields[5].split(",") if flag not in ACCESS_TIMES)
    shared = [word.split(":")[0] for word in fields[6:]]
    if kind not in OWN_TYPES:
        return fields[4], " ".join(["host's", flags, *shared])
    # Read-only is what either the mount or its file system says.
    words = [word for word in options.split(",") if not re.match(r"(uid|gid)=|inode64", word)]
    if words[0] == "ro":
        flags = "ro" + flags[2:]
    root = fields[3]
    if kind in ("cgroup", "cgroup2"):
        root = "box" if box_group(root) else "not the box's"
    return fields[4], " ".join([kind, root, flags, ",".join(words[1:]), *shared])


def mounts(pid):
    """Mount point -> what is there, uppermost last.  Names below /etc and covers below /proc depend
    on what the host has; they are told as kinds."""
    found = {}
    for line in host.read(f"/proc/{pid}/mountinfo").splitlines():
        point, entry = mount_entry(line)
        if point.startswith("/etc/"):
            point = "/etc/*"
        elif point.startswith("/proc/") and entry.startswith("tmpfs"):
            point = "/proc/* (covered)"
        if entry not in found.setdefault(point, []):
            found[point].append(entry)
    return {point: sorted(entries) for point, entries in found.items()}


def descriptors(pid):
    """number -> kind"""
    found = {}
    for number in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        target = host.readlink(f"/proc/{pid}/fd/{number}")
        found[number] = re.sub(r":\[\d+\]|/memfd:|\d{3,}", "", target) or "gone"
    return found


def limits(pid):
    found = {}
    for line in host.read(f"/proc/{pid}/limits").splitlines()[1:]:
        match = re.match(r"(Max .*?)\s{2,}(\S+)\s+(\S+)", line)
        found[match[1]] = f"{match[2]} {match[3]}"
    return found


# Hierarchies that carry a limit, and v2's, which kills, freezes and counts CPU time.
LIMITED = ("memory", "pids", "cpu", "")


def box_group(path):
    """The box's part of a group's path, None outside of any."""
    match = re.search(r"/(glovebox-[0-9a-f]+-\d+)(/|$)", path)
    return match[1] if match else None


def groups(pid):
    """Controller -> the group below the box's own name, or that it is outside."""
    found = {}
    for line in host.read(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in LIMITED:
            continue
        match = re.search(r"/glovebox-[0-9a-f]+-\d+(/.*)?$", path)
        found[controllers or "unified"] = "box" + (match[1] or "") if match else "outside"
    return found


def of(pid):
    return {
        "threads": threads(pid),
        "namespaces": namespaces(pid),
        "mounts": mounts(pid),
        "descriptors": descriptors(pid),
        "limits": limits(pid),
        "groups": groups(pid),
        "oom_score_adj": host.read(f"/proc/{pid}/oom_score_adj").strip(),
        "environment": sorted(
            word.partition("=")[0] for word in
            host.read(f"/proc/{pid}/environ").split("\0") if word),
    }


def compare(found, expected, where=""):
    """Lines that tell each difference."""
    if isinstance(found, dict) and isinstance(expected, dict):
        lines = []
        for name in sorted(set(found) | set(expected)):
            lines += compare(found.get(name, "(absent)"), expected.get(name, "(absent)"),
                             f"{where}/{name}")
        return lines
    return [] if found == expected else [f"{where[1:]}: is {found!r}, expected {expected!r}"]
