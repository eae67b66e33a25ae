# SPDX-License-Identifier: Apache-2.0
"""A box that fills its disk, has all descriptors or writes without an end (R05-R08).

What it does is in load/.
"""
import os
import re
import signal
import subprocess
import time

import pytest

from lib import box, host, ledger as books, pace
from loads import MIB, SLACK, Watch, act, refused_at

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

def test_R07_descriptors_of_a_program_are_limited(load, host_user):
    result = act(load, "descriptors", as_user=host_user)
    assert result.verdict == "ok" and 4000 <= refused_at(result) <= 4096, result
    assert "Too many open files" in result.stdout


def test_R07_many_processes_full_of_descriptors_leave_the_host_enough(load, host_user):
    code = "for i in $(seq 60); do perl -e 'open(my $f, q(<), q(/dev/null)) && push @x, $f for 1 .. 1000; " \
           "sleep 1000' & done; echo ready; cat"
    with box.start(code, language="sh", pids=128, memory="1g", as_user=host_user) as hog:
        hog.expect(b"ready")
        assert host.until(lambda: len(hog.runs) >= 60, 30)
        used, _, limit = map(int, host.read("/proc/sys/fs/file-nr").split())
        assert used < limit / 2
        result = act(load, "descriptors", as_user=host_user)
        assert refused_at(result) >= 4000, result
        hog.process.send_signal(signal.SIGINT)
        hog.gone(within=SLACK)


@pytest.mark.parametrize("limit", [3, 5, 8, 12, 16, 24, 32, 64, 128])
def test_R07_glovebox_with_few_descriptors_answers(limit, host_user):
    words = box.command("echo hello", language="sh", binary=host_user and host_user.binary)
    result = box.run_words(["prlimit", f"--nofile={limit}:{limit}", *words], as_user=host_user)
    assert not result.hung, result
    if result.returncode == 0:
        assert result.stdout == "hello\n", result
    else:
        assert result.returncode in (125, 127), result
        assert result.out or result.err, "silence"
    assert limit < 128 or result.returncode == 0, result


# ---- R08: output --------------------------------------------------------------------------------

# What is written, and how much of it to each stream, as parts of the size.
FLOODS = {
    "zeros": ("head -c {n} /dev/zero", (1, 0)),
    "lines": ("yes | head -c {n}", (1, 0)),
    "stderr": ("head -c {n} /dev/zero >&2", (0, 1)),
    "both": ("head -c {n} /dev/zero & head -c {n} /dev/zero >&2; wait", (1, 1)),
    "no valid text": ("head -c {n} /dev/zero | tr '\\0' '\\377'", (1, 0)),
    "escapes": ("yes \"$(printf '\\033[31m\\033]0;x\\007')\" | head -c {n}", (1, 0)),
}
DROPPED = re.compile(r"\n?\[\.\.\. \d+ bytes dropped \.\.\.\]\n")
FLOOD = pace.count(check=512 * MIB, proof=2 << 30)
KEPT = 8 * MIB
# CPU time of ours for a GiB that is counted and thrown away.
CPU_OF_A_GIB = 2


def resident(pid):
    words = host.read(f"/proc/{pid}/statm").split()
    return int(words[1]) * 4096 if words else 0


def cpu_seconds(pid):
    """Of that process alone."""
    words = host.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") if words else 0


def flooded(code, place, **limits):
    """The result, how large the command was, and the CPU time that it took."""
    words = box.command(code, language="sh", timeout=120, cpus=2, **limits)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=box.environment(),
                               cwd=place.cwd)
    with Watch(lambda: (resident(process.pid), cpu_seconds(process.pid))) as looks:
        out, err = process.communicate(timeout=150)
    sizes, times = zip(*looks.answers)
    return box.Result(words, process.returncode, out, err, 0, False), max(sizes), max(times)


def kept_text(result):
    return DROPPED.sub("", result.stdout) + DROPPED.sub("", result.stderr)


@pytest.mark.serial
@pytest.mark.parametrize("name", FLOODS)
def test_R08_a_flood_is_counted_and_not_kept(name, place):
    code, (out, err) = FLOODS[name]
    result, size, seconds = flooded(code.format(n=FLOOD), place, output_max="8g")
    assert (result.verdict, result.truncated, result.survivors) == ("ok", True, 0), result.verdict
    assert (result.stdout_bytes, result.stderr_bytes) == (FLOOD * out, FLOOD * err)
    assert len(kept_text(result)) == KEPT, len(kept_text(result))
    # The kept 8 MiB, what JSON makes of them (six bytes for one), and 16 MiB besides.
    assert size <= (8 + 6 * 8 * 2 + 16) * MIB, size
    assert seconds <= CPU_OF_A_GIB * (out + err) * FLOOD / (1 << 30) + 2, seconds


@pytest.mark.serial
@pytest.mark.parametrize("name", FLOODS)
def test_R08_a_flood_without_an_end_is_killed_at_the_limit(name, place):
    """At the byte, both streams together, and what was written until then is told."""
    most = 2 * MIB + 1
    code, (out, err) = FLOODS[name]
    result, _, _ = flooded(code.format(n=1 << 40), place, output_max=most)
    assert (result.verdict, result.signal, result.survivors) == ("output", 9, 0), result.verdict
    assert result.stdout_bytes + result.stderr_bytes == most, (result.stdout_bytes, result.stderr_bytes)
    # Of two that write at once, one may have written all there was.
    assert (out or result.stdout_bytes == 0) and (err or result.stderr_bytes == 0), result.verdict
    assert not result.truncated and len(result.stdout) + len(result.stderr) == most


def test_R08_what_is_kept_is_the_beginning_and_the_end(host_user):
    """Numbered lines: none is changed, none is out of order, and the middle is what was dropped."""
    last = 3_000_000
    result = box.run(f"seq {last}", language="sh", as_user=host_user)
    whole = sum(len(str(n)) + 1 for n in range(1, 10)) + sum(
        9 * 10 ** (digits - 1) * (digits + 1) for digits in range(2, 7)) + (last - 999_999) * 8
    assert (result.verdict, result.truncated, result.stdout_bytes) == ("ok", True, whole), result.stdout_bytes
    head, tail = DROPPED.split(result.stdout)
    dropped = int(re.search(r"\[\.\.\. (\d+) bytes dropped", result.stdout)[1])
    assert len(head) + len(tail) == KEPT and len(head) + len(tail) + dropped == whole
    everything = "".join(f"{n}\n" for n in range(1, last + 1))
    assert everything.startswith(head) and everything.endswith(tail) and len(tail) >= KEPT // 4


def test_R08_streams_byte_by_byte_in_turn(host_user):
    code = "import os\nfor i in range(100000):\n    os.write(1 + i % 2, b'ox'[i % 2:i % 2 + 1])"
    result = box.run(code, language="python", as_user=host_user)
    assert (result.verdict, result.stdout, result.stderr) == ("ok", "o" * 50000, "x" * 50000), result.verdict
    assert (result.stdout_bytes, result.stderr_bytes, result.truncated) == (50000, 50000, False)


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
