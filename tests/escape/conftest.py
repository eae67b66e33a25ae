# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the escape suite: the probe, and one long sheet of its answers per kind of user."""
import collections
import os
import shutil

import pytest

import sheet as sheets
from lib import canary, ledger as books, pace, place as places

SHARED_FILES = ("/usr/bin/env", "/usr/bin/dash", "/usr/bin/python3.11",
                "/usr/lib/x86_64-linux-gnu/libc.so.6")
# An address that cannot be reached is refused at once, not waited for.
SLOW_MS = round(pace.within(0.1) * 1000)

Answers = collections.namedtuple("Answers", "result sheet changed_settings changed_files")


@pytest.fixture(scope="session")
def probe():
    """The static program that asks."""
    folder = sheets.private_folder()
    try:
        yield sheets.build_probe(folder)
    finally:
        shutil.rmtree(folder)


def rows(canaries):
    """Every row that needs no box of its own, with its arguments.  C22 ends with kill(-1)."""
    addresses = ["127.0.0.1", "::1", *canary.own_addresses()]
    ports = (canaries.tcp_port, canaries.loop_port, canaries.loop6_port, canaries.tcp6_port,
             canaries.udp_port)
    targets = [f"{address}/{port}" for address in addresses for port in ports]
    return [
        "C04", "C01", "C02", "C05", "C07", "C09", "C10",
        f"C11={os.getpid()},{os.getppid()},{canaries.bystander.pid}",
        "C13", "C14", "C15", "C16", "C17", f"C18={canaries.abstract},{canaries.socket_path}", "C19",
        "C20", "C21", "C26=" + ",".join(SHARED_FILES), f"I01={canaries.reversed_prefix}", "I02",
        f"N01={SLOW_MS}," + ",".join(targets), "C22",
    ]


@pytest.fixture(scope="session")
def answers(host_user, probe, canaries):
    """What a box answers to every row, asked once as root and once as an ordinary user."""
    files = [*SHARED_FILES, places.binary()]
    with places.fresh(), books.watch(shared=False):
        settings = sheets.settings_of_the_host()
        digests = {path: sheets.digest(path) for path in files}
        result, sheet = sheets.ask(probe, *rows(canaries), as_user=host_user,
                                   host_env=canaries.environment)
        after = sheets.settings_of_the_host()
        changed = [path for path in settings if settings[path] != after.get(path)]
        touched = [path for path in files if sheets.digest(path) != digests[path]]
        yield Answers(result, sheet, changed, touched)
