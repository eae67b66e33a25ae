# SPDX-License-Identifier: Apache-2.0
"""The ledger itself: each kind of leftover, planted, must be found."""
import contextlib
import ctypes
import fcntl
import os
import pty
import subprocess

import pytest

from lib import host, ledger as books, place as places

BRIEF = 0.1

# What is planted here others would find.
pytestmark = pytest.mark.serial


@contextlib.contextmanager
def must_find(text, shared=False):
    """The block leaves something behind; the ledger must say `text`."""
    book = books.Ledger(shared=shared)
    yield
    with pytest.raises(books.Leftover, match=text):
        book.settle(BRIEF)


def test_nothing_done_is_nothing_left():
    with books.watch(patience=BRIEF):
        subprocess.run(["true"], check=True)


def test_a_process_that_was_there_is_no_other_for_what_it_does():
    with subprocess.Popen(["sh", "-c", "read line; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with books.watch(patience=BRIEF):
            process.stdin.write(b"go\nhere")
            process.stdin.flush()
            assert process.stdout.read(4) == b"here"
        process.stdin.close()


def test_a_daemon_that_forked_twice_is_found():
    script = "import os\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  os.read(9, 1)\n"
    reader, writer = os.pipe()
    try:
        with must_find("processes: .*python3"):
            subprocess.run(["/usr/bin/python3", "-c", script.replace("9", str(reader))],
                           pass_fds=[reader, writer], check=True)
            assert host.until(lambda: books.own_processes(), 5)
        left = host.descendants(os.getpid())
    finally:
        for process in host.descendants(os.getpid()):
            if process.cmdline.startswith("/usr/bin/python3 -c import os"):
                os.kill(process.pid, 9)
        os.close(reader)
        os.close(writer)
    assert left


def test_a_group_in_any_hierarchy_is_found(place):
    for mount in host.hierarchies():
        folder = os.path.join(mount, books.group_prefix(place.run) + "0")
        with must_find("groups: . .*glovebox-"):
            os.mkdir(folder)
        os.rmdir(folder)


def test_a_group_of_somebody_else_is_found_when_alone():
    mount = next(iter(host.hierarchies()))
    folder = os.path.join(mount, f"glovebox-{os.getpid()}")
    with must_find("groups of the machine: . .*glovebox-", shared=True):
        os.mkdir(folder)
    with must_find("groups of the machine: - .*glovebox-", shared=True):
        os.rmdir(folder)


def test_files_in_the_run_directory_are_found(place):
    with must_find("run directory: .*box.sock"):
        (place.run / "box.sock").touch()
    (place.run / "box.sock").unlink()
    with must_find("run directory: .*staging"):
        (place.run / "staging").mkdir()
    (place.run / "staging").rmdir()


def test_a_free_slot_is_no_leftover_but_a_held_or_filled_one_is(place):
    (place.run / "slots").mkdir()
    slot = place.run / "slots" / "0"
    with books.watch(patience=BRIEF):
        slot.touch()
    with must_find("run directory: .*/0 .has a record."):
        slot.write_text("box b_x")
    slot.write_text("")
    with open(slot) as held:
        with must_find("run directory: .*/0 .locked."):
            fcntl.flock(held, fcntl.LOCK_EX)


def test_temporary_files_are_found(place):
    with must_find("temporary files: .*leftover"):
        (place.tmp / "leftover").touch()
    (place.tmp / "leftover").unlink()
    name = f"/dev/shm/glovebox-{os.getpid()}"
    with must_find(f"temporary files of the machine: . {name}", shared=True):
        open(name, "w").close()
    os.unlink(name)


def test_a_descriptor_is_found():
    with must_find("descriptors: .*/dev/null"):
        fd = os.open("/dev/null", os.O_RDONLY)
    os.close(fd)


@contextlib.contextmanager
def mounted(folder):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    yield
    subprocess.run(["umount", folder], check=True)


def test_a_mount_is_found(place):
    with contextlib.ExitStack() as until_later:
        with must_find("mounts: .*/own"):
            until_later.enter_context(mounted(place.base / "own"))


def test_a_mount_of_a_neighbour_is_the_machines(place):
    with places.fresh():  # the neighbour's environment
        own = books.Ledger(shared=False)
        with contextlib.ExitStack() as until_later:
            with must_find("mounts of the machine: .*/other", shared=True):
                until_later.enter_context(mounted(place.base / "other"))
            own.settle(BRIEF)


def test_a_network_namespace_is_found():
    with must_find("namespaces: . net namespace"):
        process = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        here = host.readlink("/proc/self/ns/net")
        other = host.until(lambda: host.readlink(f"/proc/{process.pid}/ns/net") != here, 5)
    process.stdin.close()
    assert other and process.wait() == 0


def test_counters_of_the_machine_are_watched():
    with must_find("terminals: . pty", shared=True):
        ends = pty.openpty()
    for end in ends:
        os.close(end)
    libc = ctypes.CDLL(None)
    with must_find("System V objects: . shm", shared=True):
        shm = libc.shmget(0, 4096, 0o600)
    libc.shmctl(shm, 0, None)
    with must_find("keys: . key", shared=True):
        key = libc.syscall(248, b"user", b"ledger-test", b"x", 1, -4)
    libc.syscall(250, 9, key, -4)
