# SPDX-License-Identifier: Apache-2.0
"""What the tests of resources share: the program that takes (load/), and looks at the host while
it does."""
import re
import subprocess
import threading
import time
from pathlib import Path

import sheet as sheets
from lib import box, host, pace

SOURCES = Path(__file__).parent / "load"
MIB = 1 << 20
# A run may take that much longer than its limit.
SLACK = pace.within(2)


def build(folder):
    target = folder / "load"
    subprocess.run([*sheets.COMPILER, "-o", target, *sorted(SOURCES.glob("*.c"))], check=True)
    return target


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


def memory_of_the_kernel():
    """What the kernel uses and cannot do without: its objects, page tables, stacks, and TCP's buffers."""
    found = re.search(r"TCP: .* mem (\d+)", host.read("/proc/net/sockstat"))
    return meminfo("SUnreclaim", "PageTables", "KernelStack") + int(found[1]) * 4096


def meminfo(*names):
    found = {}
    for line in host.read("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        found[name] = int(value.split()[0]) * 1024
    return sum(found[name] for name in names)
