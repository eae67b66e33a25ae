# SPDX-License-Identifier: Apache-2.0
"""Many runs in one box that lives on, of both backends: no wrong result, no process left."""
import pytest

from lib import host, kept, pace

RUNS = pace.count(20, 1000)


@pytest.mark.parametrize("backend", ["docker", "native"])
def test_many_runs_in_one_box_leave_no_process(docker, backend):
    options = {"docker": ("--backend", "docker", "--image", docker.image), "native": ()}[backend]
    with kept.made(*options, host_env=docker.environment) as name:
        before = kept.call("stats", name, "--json").document["processes"]
        for i in range(RUNS):
            done = kept.call("run", name, "-l", "sh", "-c", f"sleep 1000 & echo {i}; exit {i % 100}")
            assert (done.out, done.returncode) == (f"{i}\n".encode(), i % 100), done
        assert host.until(lambda: kept.call("stats", name, "--json").document["processes"] <= before,
                          within=10)
