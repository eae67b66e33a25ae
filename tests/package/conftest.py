# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the packages' suite: a cache and indexes of one test alone."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from lib import indexes


@pytest.fixture(autouse=True)
def cache(place):
    """The cache of this test; afterwards nothing half is in it."""
    folder = place.base / "cache"
    os.environ["GLOVEBOX_CACHE_DIR"] = str(folder)
    yield folder
    del os.environ["GLOVEBOX_CACHE_DIR"]


@pytest.fixture
def real_index():
    """Settings of pip and npm with which the real indexes are reached from this machine."""
    names = ("PIP_CERT", "PIP_INDEX_URL", "NODE_EXTRA_CA_CERTS", "npm_config_registry")
    return {name: os.environ[name] for name in names if name in os.environ}


@pytest.fixture
def index(place):
    """An empty Python index that ends with the test."""
    with indexes.PythonIndex() as server:
        yield server


@pytest.fixture
def registry(place):
    """An empty registry of npm's that ends with the test."""
    with indexes.NodeRegistry() as server:
        yield server


@pytest.fixture
def other_python():
    """A tree with a Python of its own, which has the machine's pip and one module that is no package."""
    folder = Path(tempfile.mkdtemp(prefix="glovebox-test-", dir="/opt"))
    try:
        folder.chmod(0o755)
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--copies", "--without-pip", "--system-site-packages",
                        folder], check=True)
        (next(folder.glob("lib/python3*/site-packages")) / "homemade.py").write_text("NAME = 'homemade'\n")
        yield folder
    finally:
        shutil.rmtree(folder)
