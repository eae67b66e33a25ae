# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the suite `client`: the Python package of clients/python against the real command.

The packages that its adapters plug into are installed by tools/testbed on first use.  Where that
fails, for want of a network, their tests are skipped; where CI is set, they fail.
"""
import os
import sys
from typing import Callable, NamedTuple

import pytest
from lib import engines, host
from lib import ledger as books
from lib import place as places
from lib import testbed

IMAGE = "busybox:test"
CLIENT = places.ROOT / "clients/python"
sys.path.insert(0, str(CLIENT / "src"))
sys.path.append(str(places.ROOT / "tests/cli"))  # scripts.py: rules of scripted models

# Of the test run, and no business of glovebox's.
FOREIGN = ("GLOVEBOX", "GLOVEBOX_BUILD", "GLOVEBOX_LEDGER", "GLOVEBOX_PROOF", "GLOVEBOX_SEED",
           "GLOVEBOX_GOLDEN", "PYTHONPATH")


@pytest.fixture(autouse=True)
def desk(place, ledger, monkeypatch):
    """The command and its folders are this test's; returns the place."""
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GLOVEBOX_BIN", str(places.binary()))
    monkeypatch.setenv("GLOVEBOX_STATE_DIR", str(place.base / "state"))
    monkeypatch.setenv("CONFIGURATION_DIRECTORY", str(place.base / "system"))
    monkeypatch.setenv("GLOVEBOX_RUNS_DIR", str(place.base / "runs"))
    monkeypatch.chdir(place.cwd)
    return place


def _testbed(name):
    try:
        return testbed.directory(name) / "bin"
    except testbed.Missing as why:
        if os.environ.get("CI"):
            pytest.fail(str(why))
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def langgraph_bin():
    """Programs of a virtual environment with LangChain and LangGraph."""
    return _testbed("langgraph")


@pytest.fixture(scope="session")
def autogen_bin():
    """Programs of a virtual environment with AutoGen."""
    return _testbed("autogen")


class Backend(NamedTuple):
    name: str
    is_clean: Callable[[], bool]


@pytest.fixture(scope="module", params=["native", "docker"])
def engine(request):
    """None, or a private Docker with an image that has a shell; there before the ledger looks, and no
    longer than its module: other tests count the processes that they leave."""
    if request.param == "native":
        yield None
        return
    with engines.docker() as started:
        started.import_busybox(IMAGE)
        yield started


@pytest.fixture
def backend(engine, desk, monkeypatch):
    """Boxes of each kind, by the settings; a test leaves none behind."""
    if engine is None:
        yield Backend("native", lambda: not books.own_processes())
        return
    monkeypatch.setenv("GLOVEBOX_BACKEND", "docker")
    monkeypatch.setenv("GLOVEBOX_IMAGE", IMAGE)
    monkeypatch.setenv("DOCKER_HOST", engine.host)
    yield Backend("docker", lambda: not engine.containers())
    assert host.until(lambda: not engine.containers(), 30), engine.containers()
