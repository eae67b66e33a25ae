# SPDX-License-Identifier: Apache-2.0
"""Packages through libglovebox: a program of C's, real pip and npm, indexes on this machine; plain and with sanitizers."""
import os
import subprocess
from pathlib import Path

import pytest

from lib import box, indexes
from lib import place as places

BUILD = Path(os.environ.get("GLOVEBOX_BUILD", places.ROOT / "build"))
BUILDS = [build for build in (BUILD, BUILD.with_name(BUILD.name + "-asan")) if build.is_dir()]


@pytest.fixture
def index():
    with indexes.PythonIndex() as server:
        server.add("tiny-one")
        server.add("tiny-two")
        yield server


@pytest.fixture(params=BUILDS, ids=lambda build: build.name)
def play(request, place):
    """play(scene, env) gives the lines of tests/lib_api/lib_packages.c."""
    program = request.param / "tests" / "lib_api" / "lib_packages"
    mine = {"GLOVEBOX_CACHE_DIR": str(place.base / "cache"), "GLOVEBOX_STATE_DIR": str(place.base / "state"),
            "HOME": str(place.base)}

    def call(scene, env, file="-"):
        done = subprocess.run([program, scene, file], capture_output=True, text=True, timeout=120, check=False,
                              env=box.environment({**mine, **env}))
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout.splitlines()
    return call


def test_a_program_finds_its_packages_and_the_next_one_waits_for_nothing(play, index):
    assert play("names", index.env()) == ["installing tiny-one", "installed", "ok: 1.0", "tiny-one 1.0",
                                          "ok: 1.0", "tiny-one 1.0"]
    assert index.fetched("tiny-one") == 1


def test_a_requirements_file_names_packages(play, index, place):
    (place.base / "wanted.txt").write_text("tiny-one==1.0  # this one\ntiny-two\n")
    lines = play("files", index.env(), str(place.base / "wanted.txt"))
    assert lines == ["installing tiny-one, tiny-two", "installed", "ok: tiny-two", "tiny-one 1.0", "tiny-two 1.0"]


def test_what_code_imports_is_installed_where_that_is_wanted(play, index):
    index.add("tiny_two")
    assert play("imports", index.env())[-2:] == ["ok: tiny_two", "tiny_two 1.0"]


def test_packages_of_npm(play):
    with indexes.NodeRegistry() as registry:
        registry.add("tiny-node", "1.2.0")
        assert play("node", {**registry.env(), "GLOVEBOX_MEMORY": "1g"}) == [
            "installing tiny-node", "installed", "ok: tiny-node", "tiny-node 1.2.0"]


def test_boxes_that_stay_open_and_boxes_of_users_have_packages(play, index):
    assert play("boxes", index.env()) == ["installing tiny-one", "installed", *["ok: tiny-one"] * 4, "survivors 0"]
    assert index.fetched("tiny-one") == 1


def test_a_package_that_is_not_there_is_an_error_that_the_result_tells_of(play, index):
    lines = play("missing", index.env())
    assert lines[:3] == ["installing not-there", "installed", "1"]
    assert "not-there" in lines[3] and lines[-2:] == ["told", "sandbox_error"], lines


def test_an_installation_can_be_cancelled(play, index):
    assert [line for line in play("cancelled", index.env()) if line in ("0", "1")] == ["1", "1"]
