# SPDX-License-Identifier: Apache-2.0
"""The probe itself: where there are no walls it must say so, or its silence would prove nothing."""
import subprocess

import pytest

from sheet import Sheet

# An IPC namespace of its own: msgget(-1) with every flag set does make a queue.
NOBODY = ["unshare", "--ipc", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.fixture(scope="module")
def bare(probe):
    """What an ordinary user of this machine answers without any box."""
    rows = ["C01", "C02", "C13", "C14", "C15", "C16", "C17", "C20", "C21", "I01", "N01=1000", "C04"]
    done = subprocess.run([*NOBODY, str(probe), *rows], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    return Sheet(done.stdout)


@pytest.mark.parametrize("row, variant", [
    ("C01", "unshare-NEWUSER"), ("C01", "clone-NEWUSER"), ("C01", "clone3-NEWUSER"),
    ("C01", "clone-vm-NEWUSER"), ("C01", "clone-vfork-NEWUSER"), ("C01", "unshare-all"),
    ("C02", "before-mask:/proc/cmdline"), ("C02", "before-mask:/proc/bus"), ("C02", "after-mask:/proc/irq"),
    ("I01", "door:/var/lib"), ("I01", "door:/proc/1/cmdline"),
    ("C13", "int80-getpid"), ("C13", "cs23-int80"), ("C13", "program-i386"), ("C13", "int80-socket"),
    ("C13", "traced-socket-vsock"),
    ("C15", "add_key"), ("C15", "keyctl-0"), ("C15", "proc-keys"),
    ("C17", "pty-slave-TIOCSETD-0"), ("C20", "proc-net-unix"),
    ("C21", "status-NoNewPrivs"), ("C21", "status-CapBnd"), ("C21", "nosuid:/"),
])
def test_a_missing_wall_is_seen(bare, row, variant):
    leaks = [line.variant for line in bare.of(row, "LEAK")]
    assert variant in leaks, bare.rows[row]


def test_unfiltered_calls_reach_the_kernel(bare):
    facts = bare.facts("C16")
    assert facts["nr-0"] == "EBADF"
    assert facts["nr-425"] not in ("ENOSYS", "SIGSYS")
    assert facts["nr-600"] == "ENOSYS"
    assert facts["nr-34"] == "waits"


def test_unfiltered_sockets_are_seen(bare):
    facts = bare.facts("C14")
    assert facts["socket-40-1"] == "ok"
    assert facts["netlink-4"] == "ok"


def test_an_inherited_descriptor_is_seen(probe):
    with open("/dev/null") as leaked:
        fd = leaked.fileno()
        done = subprocess.run([str(probe), "C04"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, pass_fds=[fd])
    answers = Sheet(done.stdout)
    assert f"fd-{fd}" in [line.variant for line in answers.of("C04", "LEAK")]


def test_a_probe_that_dies_early_is_noticed():
    cut = Sheet("C01 a BLOCKED EPERM\nC01 b BLOCKED EPERM\n")
    assert cut.unfinished("C01") and cut.unfinished("C02")
    short = Sheet("C01 a BLOCKED EPERM\nC01 end DONE 2\n")
    assert short.unfinished("C01")
