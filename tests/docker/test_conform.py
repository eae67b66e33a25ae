# SPDX-License-Identifier: Apache-2.0
"""The conformance suite over containers of a private engine.

The same programs as for native boxes (tests/conform), told by their environment where the engine
is.  They speak TAP.  What a container cannot have is skipped by the test itself, and only what
NOT_FOR_CONTAINERS names may be; everything else must hold.
"""
import os
import subprocess
from pathlib import Path

import pytest

from lib import box, host, place as places, tap

# The longest first: two workers share them.
PROGRAMS = ["conform_life", "conform_run", "conform_files", "conform_limits", "conform_death", "conform_tty"]

# This machine's trees, run directory, spawner and groups.
NOT_FOR_CONTAINERS = {
    "conform_life": {
        "docker: a_toolchain_is_shown_without_its_secrets",
        "docker: a_seed_is_there_when_the_box_stands",
        "docker: what_cannot_be_built_is_refused_by_name",
        "docker: a_closed_tree_is_refused_with_its_remedy",
        "docker: a_run_directory_of_others_is_refused",
        "docker: a_wall_that_breaks_later_is_told_by_name",
    },
    "conform_run": {"docker: counters_are_of_the_run_alone"},
    "conform_limits": {
        "docker: all_writable_places_are_one_disk",  # every_disk_has_the_same_end instead
        "docker: each_run_has_its_own_limits",
    },
    "conform_death": {
        "docker: the_spawner_dies_in_the_middle_of_a_run",
        "docker: glove_and_spawner_die_in_the_middle_of_a_run",
        "docker: host_and_spawner_die_together",
    },
}


@pytest.fixture
def run_program(docker, place):
    """Runs a program of the suite on the engine.  The first box brings the glove and the groups."""
    build = Path(os.environ.get("GLOVEBOX_BUILD", places.binary().parent))
    first = docker.run("true")
    assert first.exit_code == 0, first
    assert host.until(docker.is_clean, within=30), docker.containers()

    def run(name):
        environment = {
            **box.environment(),
            "CMOCKA_MESSAGE_OUTPUT": "tap",
            "CONFORM_BACKEND": "docker",
            "CONFORM_ENGINE": docker.engine.host,
            "CONFORM_IMAGE": docker.image,
            "CONFORM_GROUP": docker.group,
            "CONFORM_TAG": docker.tag,
            "CONFORM_LACKS": docker.lacks,
        }
        return subprocess.run(
            [build / "tests" / "conform" / name], env=environment, cwd=place.cwd,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=300, check=False)

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_promise_holds_in_a_container(run_program, docker, name):
    done = run_program(name)
    passed, failed, skipped = tap.read(done.stdout)
    assert not failed and done.returncode == 0, done.stdout
    assert skipped == NOT_FOR_CONTAINERS.get(name, set()), done.stdout
    # A host that was killed leaves them to the next one of its run directory, which is gone here.
    assert name == "conform_death" or not docker.places(), docker.places()
    docker.drop_places()
    assert passed and all(test.startswith("docker: ") for test in passed), done.stdout
