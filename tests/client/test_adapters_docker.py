# SPDX-License-Identifier: Apache-2.0
"""The adapters of frameworks, once each, on a real private Docker with an image that has Python."""
from pathlib import Path

import checking
import pytest
from lib import debian, engines, host

CHECKS = Path(__file__).with_name("docker_checks.py")
ADAPTERS = ("autogen", "langchain")


@pytest.fixture(scope="module")
def python_engine():
    with engines.docker() as started:
        debian.import_python(started, "python:3-slim")
        yield started


@pytest.fixture(scope="module")
def checked(python_engine, langgraph_bin, autogen_bin):
    programs = {"autogen": autogen_bin, "langchain": langgraph_bin}
    return {adapter: checking.run_there(programs[adapter] / "python", CHECKS, DOCKER_HOST=python_engine.host)
            for adapter in ADAPTERS}


@pytest.mark.parametrize("name", checking.names(CHECKS))
def test_check(name, checked, python_engine):
    told = checked[name.split("_")[0]]
    assert told[name] is None, told[name]
    assert host.until(lambda: not python_engine.containers(), 30)
