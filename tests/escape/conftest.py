# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the escape suite: the probe, and one long sheet of its answers per kind of user."""
import shutil

import pytest

import loads
import sheet as sheets
from lib import ledger as books, place as places

SHARED_FILES = ("/usr/bin/env", "/usr/bin/dash", "/usr/bin/python3.11",
                "/usr/lib/x86_64-linux-gnu/libc.so.6")


@pytest.fixture(scope="session")
def probe():
    """The static program that asks."""
    folder = sheets.private_folder()
    try:
        yield sheets.build_probe(folder)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def load():
    """The static program that takes all it can get of a resource."""
    folder = sheets.private_folder()
    try:
        yield loads.build(folder)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def answers(host_user, probe, canaries):
    """What a box answers to every row, asked once as root and once as an ordinary user."""
    files = [*SHARED_FILES, places.binary()]
    with places.fresh(), books.watch(shared=False):
        settings = sheets.settings_of_the_host()
        digests = {path: sheets.digest(path) for path in files}
        result, sheet = sheets.ask(probe, *sheets.rows(canaries, SHARED_FILES), as_user=host_user,
                                   host_env=canaries.environment)
        after = sheets.settings_of_the_host()
        changed = [path for path in settings if settings[path] != after.get(path)]
        touched = [path for path in files if sheets.digest(path) != digests[path]]
        yield sheets.Answers(result, sheet, changed, touched)
