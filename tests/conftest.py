# SPDX-License-Identifier: Apache-2.0
"""Fixtures of every pytest suite: the ledger around each test, and who drives glovebox."""
import contextlib
import os
import pwd
import subprocess
import tempfile
import shutil

import pytest

from lib import box, canary, host, ledger as books, place as places

# What the machine's shared counters were before the first test (lib/ledger.py).
_session_book = pytest.StashKey()


def pytest_sessionstart(session):
    host.adopt_orphans()
    session.stash[_session_book] = books.Ledger(shared=True, own=False)


def pytest_sessionfinish(session, exitstatus):
    """Where two tests ran at once only the whole can be judged."""
    if not books.is_alone():
        return
    try:
        session.stash[_session_book].settle()
    except books.Leftover as left:
        print(f"\nthe session {left}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def place():
    """Directories and environment of this test alone (lib/place.py)."""
    with places.fresh() as here:
        yield here


@pytest.fixture(autouse=True)
def ledger(place):
    """Fails the test that leaves anything behind."""
    with books.watch() as book:
        yield book


def _user_exists(name):
    with contextlib.suppress(KeyError):
        pwd.getpwnam(name)
        return True
    return False


def _is_deleted(name):
    """userdel refuses while a process of the user's last box is on its way out."""
    return not _user_exists(name) or subprocess.run(
        ["userdel", name], check=False, stderr=subprocess.DEVNULL).returncode == 0


@contextlib.contextmanager
def made_user(name, n_ids, first=0x30000000):
    """A fresh user with so many subordinate ids, for whom root has delegated groups; gone afterwards."""
    first += (os.getpid() % 4096) * 0x10000
    base = tempfile.mkdtemp(prefix="gbtest-home-", dir="/var/tmp")
    os.chmod(base, 0o755)
    subprocess.run(["useradd", "--no-create-home", "--home-dir", base, "--no-user-group",
                    "--gid", "nogroup", "--shell", "/bin/sh", "-K", "SUB_UID_COUNT=0", "-K",
                    "SUB_GID_COUNT=0", name], check=True)
    try:
        for kind in ("uids", "gids"):
            subprocess.run(["usermod", f"--add-sub{kind}", f"{first}-{first + n_ids - 1}", name],
                           check=True)
        entry = pwd.getpwnam(name)
        os.chown(base, entry.pw_uid, entry.pw_gid)
        user = box.User(name, entry.pw_uid, entry.pw_gid, base, box.copy_for(base))
        groups = _delegate(user)
        yield user
        for folder in groups:
            assert host.until(lambda folder=folder: host.remove_directory(folder), 30), f"{folder} has groups left"
    finally:
        is_deleted = host.until(lambda: _is_deleted(name), 30)
        shutil.rmtree(base)
        assert is_deleted, f"user {name} has processes left"


@pytest.fixture(scope="session")
def ordinary_user():
    with made_user(f"gbtest{os.getpid()}", 0x10000) as user:
        yield user


@pytest.fixture
def poor_user(place):
    """With ids for two boxes, which are three each."""
    with made_user(f"gbpoor{os.getpid()}", 6, first=0x20000000) as user:
        yield user


def _delegate(user):
    """Groups for the user; their directories."""
    with places.fresh():
        done = box.run_words([str(places.binary()), "doctor", "--delegate", user.name])
    assert done.returncode == 0, done
    return host.group_directories(lambda name: name == f"glovebox-user-{user.uid}")


@pytest.fixture(scope="session", params=["root", "ordinary"])
def host_user(request):
    """Who starts glovebox: None (root), then an ordinary user."""
    return None if request.param == "root" else request.getfixturevalue("ordinary_user")


@pytest.fixture(scope="session")
def canaries():
    """Secrets and listeners on this machine (lib/canary.py); a box must miss them all."""
    with canary.planted() as birds:
        yield birds
        birds.check()
