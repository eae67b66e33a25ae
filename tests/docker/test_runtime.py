# SPDX-License-Identifier: Apache-2.0
"""The engine's runtimes, by name."""
from lib import box


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
