# SPDX-License-Identifier: Apache-2.0
"""Runs the probe in a box and reads what it printed (probe/probe.h says how it prints)."""
import collections
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from lib import box, host

SOURCES = Path(__file__).parent / "probe"
GOLDEN = Path(__file__).parent / "golden"
COMPILER = ["gcc", "-static", "-pthread", "-O1", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra",
            "-Werror", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]

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
            "hung_task_detect_count", "sched_domain", "stat_refresh", "inode", "file-nr", "tainted")


def settings_of_the_host():
    """What /proc/sys and a few other files say, without what moves by itself."""
    found = {}
    for folder, _, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(folder, name)
            if "/net/" not in path and not any(word in path for word in VOLATILE):
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
