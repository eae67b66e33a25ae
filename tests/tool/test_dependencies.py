# SPDX-License-Identifier: Apache-2.0
"""Packages of environments: `dependencies` of create_runtime_env, installed by real pip and npm."""
import os

import pytest

from lib import indexes

USE = "import alpha; print(alpha.NAME, alpha.VERSION)"


@pytest.fixture
def index(tools):
    with indexes.PythonIndex() as server:
        tools.environment.update(server.env(), GLOVEBOX_CACHE_DIR=str(tools.base / "cache"))
        yield server


@pytest.fixture
def registry(tools):
    with indexes.NodeRegistry() as server:
        tools.environment.update(server.env(), GLOVEBOX_CACHE_DIR=str(tools.base / "cache"))
        yield server


def check_nothing(tools):
    assert tools.leftovers() == [] and tools.boxes() == []


def test_dependencies_are_installed_and_used_without_a_network(tools, index):
    """S2-10"""
    index.add("alpha", needs=["beta"])
    index.add("beta")
    with tools.made(dependencies=["alpha>=1"]) as made:
        assert made.install["cached"] is False and made.install["failure"] is None
        assert {package["name"]: package["version"] for package in made.packages} == {"alpha": "1.0", "beta": "1.0"}
        index.close()
        for _ in range(2):
            assert tools.run(made, "a.py", USE)["stdout"] == "alpha 1.0\n"
    with tools.made(dependencies=["alpha>=1"]) as made:
        assert made.install["cached"] is True
        assert tools.run(made, "a.py", USE)["stdout"] == "alpha 1.0\n"


def test_packages_of_npm_are_named_as_such(tools, registry):
    registry.add("alpha")
    registry.add("@scope/beta")
    registry.add("gamma", "2.5.0")
    with tools.made(dependencies=["npm:alpha", "@scope/beta", "gamma@^2"]) as made:
        code = "console.log(require('alpha'), require('@scope/beta'), require('gamma'))"
        assert tools.run(made, "a.js", code)["stdout"] == "alpha @scope/beta gamma\n"


def test_a_failed_installation_is_an_error_with_the_installers_words(tools, index):
    """S2-10: never a success."""
    index.add("alpha")
    code, answer = tools.call("create_runtime_env", dependencies=["alpha", "nosuch"])
    assert code == 1 and "container_id" not in answer, answer
    assert "no such package" in answer["error"] and answer["remedy"], answer
    assert answer["install"]["failure"] == "no_such_package", answer
    assert "No matching distribution found for nosuch" in answer["install"]["log"], answer
    check_nothing(tools)


def test_an_index_that_is_gone_is_told(tools, index):
    index.close()
    code, answer = tools.call("create_runtime_env", dependencies=["alpha"])
    assert code == 1 and answer["install"]["failure"] == "unreachable", answer
    check_nothing(tools)


def test_a_layer_that_an_environment_uses_is_kept(tools, index):
    index.add("alpha")
    with tools.made(dependencies=["alpha"]):
        key, = os.listdir(tools.base / "cache" / "layers")
        refused = tools.words("cache", "rm", key, binary=tools.link.resolve())
        assert refused.code == 2 and "in use by a box" in refused.err, refused
    assert tools.words("cache", "rm", key, binary=tools.link.resolve()).code == 0
