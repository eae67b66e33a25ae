# SPDX-License-Identifier: Apache-2.0
"""Runs the probe in a box and reads what it printed (probe/probe.h says how it prints)."""
import collections
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from lib import box, canary, host, pace

SOURCES = Path(__file__).parent / "probe"
GOLDEN = Path(__file__).parent / "golden"
COMPILER = ["gcc", "-static", "-pthread", "-O1", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra",
            "-Werror", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]

# An address that cannot be reached is refused at once, not waited for.
SLOW_MS = round(pace.within(0.1) * 1000)

Answers = collections.namedtuple("Answers", "result sheet changed_settings changed_files")
Line = collections.namedtuple("Line", "variant word detail")


def build_probe(folder):
    target = Path(folder) / "probe"
    subprocess.run([*COMPILER, "-o", str(target), *map(str, sorted(SOURCES.glob("*.c")))],
                   check=True)
    return target


class Sheet:
    """Answers by row."""

    def __init__(self, text):
        self.rows = collections.defaultdict(list)
        self.counts = {}
        for raw in text.splitlines():
            row, variant, word, detail = (raw + "   ").split(" ", 3)
            if word == "DONE":
                self.counts[row] = int(detail)
            elif word in ("BLOCKED", "LEAK", "OK", "BROKEN", "INFO"):
                self.rows[row].append(Line(variant, word, detail.strip()))

    def of(self, row, word):
        return [line for line in self.rows[row] if line.word == word]

    def facts(self, row):
        """variant -> detail of the INFO lines."""
        return {line.variant: line.detail for line in self.of(row, "INFO")}

    def unfinished(self, row):
        return self.counts.get(row) != len(self.rows[row])

    def faults(self, row):
        bad = self.of(row, "LEAK") + self.of(row, "BROKEN")
        return [f"{line.word} {line.variant}: {line.detail}" for line in bad]


def rows(canaries, shared_files, groups="C09"):
    """Every row that needs no box of its own, with its arguments.  C22 ends with kill(-1)."""
    addresses = ["127.0.0.1", "::1", *canary.own_addresses()]
    ports = (canaries.tcp_port, canaries.loop_port, canaries.loop6_port, canaries.tcp6_port,
             canaries.udp_port)
    targets = [f"{address}/{port}" for address in addresses for port in ports]
    targets += [f"{gateway}/{port}" for gateway in canary.gateways() for port in (53, 80)]
    return [
        "C04", "C01", "C02", "C05", "C07", groups, "C10",
        f"C11={os.getpid()},{os.getppid()},{canaries.bystander.pid}",
        "C13", "C14", "C15", "C16", "C17", f"C18={canaries.abstract},{canaries.socket_path}", "C19",
        "C20", "C21", "C26=" + ",".join(shared_files), f"I01={canaries.reversed_prefix}", "I02",
        f"N01={SLOW_MS}," + ",".join(targets), "C22",
    ]


def ask(probe, *rows, **request):
    """One box in which the probe answers these rows; (result, Sheet)."""
    request.setdefault("timeout", 60)
    result = box.run(argv=["./probe", *rows], files=[(probe, "probe"), *request.pop("files", ())],
                     **request)
    return result, Sheet(result.stdout or "")


def require(result, answers, *rows):
    """Fails unless the run went well, every row ended and none has a leak."""
    assert result.verdict == "ok", result
    for row in rows:
        assert not answers.unfinished(row), f"{row} did not run to its end: {result}"
        assert answers.of(row, "BLOCKED"), f"{row} tried nothing"
        assert not answers.faults(row), "\n".join(answers.faults(row))


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# Change by themselves, or belong to each reader.
VOLATILE = ("random/", "ns_last_pid", "-nr", "-state", "pty/nr", "nr_open", "loadavg", "netns",
            "hung_task_detect_count", "sched_domain", "stat_refresh", "inode", "file-nr", "tainted",
            "quota/")


# Of the network's settings: not those of interfaces, which come and go with others' boxes.
NET_SETTINGS = ("/proc/sys/net/core", "/proc/sys/net/ipv4", "/proc/sys/net/ipv6", "/proc/sys/net/unix")


def settings_of_the_host():
    """What /proc/sys and a few other files say, without what moves by itself."""
    found = {}
    for folder, _, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(folder, name)
            is_ours = "/net/" not in path or folder in NET_SETTINGS
            if is_ours and not any(word in path for word in VOLATILE):
                found[path] = host.read(path)
    for path in ("/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled"):
        found[path] = host.read(path)
    return found


def golden(name):
    """Lines of a golden file, without comments."""
    lines = (GOLDEN / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def write_golden(name, head, lines):
    """Only when somebody asks for new golden files with GLOVEBOX_GOLDEN=write."""
    text = "\n".join(["# SPDX-License-Identifier: Apache-2.0", f"# {head}", *lines])
    (GOLDEN / name).write_text(text + "\n")


def is_writing_golden():
    return os.environ.get("GLOVEBOX_GOLDEN") == "write"


def private_folder(below="/var/tmp"):
    """A directory that every user may enter; the caller removes it.  Boxes have a /var/tmp of their
    own: what they are to see lies elsewhere."""
    folder = tempfile.mkdtemp(prefix="gbtest-", dir=below)
    os.chmod(folder, 0o755)
    return Path(folder)
