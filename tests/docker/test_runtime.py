# SPDX-License-Identifier: Apache-2.0
"""The engine's runtimes, by name."""
import os

import pytest

from lib import box, engines, host, testbed

pytestmark = pytest.mark.docker_only  # test_podman.py has the other


def run(docker, runtime):
    return box.run_words([*docker.words("echo up", as_json=False)[:2], "--runtime", runtime,
                          *docker.words("echo up", as_json=False)[2:]], host_env=docker.environment)


def test_a_runtime_that_the_engine_has_is_used(docker):
    done = run(docker, "runc")
    assert done.returncode == 0 and done.out == b"up\n", done


def test_a_runtime_that_the_engine_lacks_is_refused_with_those_it_has(docker):
    done = run(docker, "none-such")
    assert done.returncode == 125 and b"the engine has no runtime 'none-such'" in done.err, done
    assert b"runc" in done.err.partition(b"it has")[2] and b"--runtime" in done.err, done


def test_the_platform_of_the_environment_is_that_of_the_box(docker):
    words = docker.words("echo up", as_json=False)
    done = box.run_words(words, host_env={**docker.environment, "DOCKER_DEFAULT_PLATFORM": "linux/s390x"})
    assert done.returncode == 2 and b"s390x" in done.err, done
    done = box.run_words(words, host_env={**docker.environment, "DOCKER_DEFAULT_PLATFORM": ""})
    assert (done.returncode, done.out) == (0, b"up\n"), done


@pytest.fixture
def gvisor(make_docker, tmp_path):
    """An engine that has runsc among its runtimes."""
    try:
        program = testbed.directory("runsc") / "runsc"
    except testbed.Missing as why:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(why))  # for want of a network
    wrapper = tmp_path / "runsc"
    wrapper.write_text(f'#!/bin/sh\nexec {program} --platform=systrap --network=none --ignore-cgroups "$@"\n')
    wrapper.chmod(0o755)
    with engines.docker("--add-runtime", f"runsc={wrapper}") as engine:
        yield make_docker(engine)


def test_a_box_that_gvisor_cannot_have_is_refused_by_its_wall(gvisor):
    """The glove starts there; a kernel without Landlock is told, and nothing is left of the container."""
    done = run(gvisor, "runsc")
    assert done.returncode == 125 and b"the wall 'landlock' cannot be built" in done.err, done
    assert host.until(gvisor.is_clean, within=30), gvisor.containers()
