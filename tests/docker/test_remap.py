# SPDX-License-Identifier: Apache-2.0
"""An engine whose containers have user ids of their own (userns-remap)."""
import pytest

from lib import engines, host, kept

pytestmark = [pytest.mark.docker_only, pytest.mark.xdist_group("remap")]

FIRST = 3_000_000


@pytest.fixture(scope="module")
def remapped(make_docker):
    with engines.docker(remap=FIRST) as engine:
        yield make_docker(engine)


def test_a_run_is_none_of_the_machines_users(remapped):
    """And has all that it has elsewhere: its places, its names, its processors."""
    process = remapped.begin("id -u; cat /etc/hosts /sys/devices/system/cpu/online; echo x >f; cat f; echo up; sleep 1000")
    try:
        lines = [process.stdout.readline().decode().strip() for _ in range(6)]
        assert lines == ["1000", "127.0.0.1 localhost box", "::1 localhost", "0", "x", "up"]
        owners = {host.read(f"/proc/{item.pid}/status").split("Uid:")[1].split()[0] for item in remapped.processes()}
        assert owners == {str(FIRST), str(FIRST + 1000)}
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert host.until(remapped.is_clean, within=30)


def test_boxes_that_live_on_are_made_there_too(remapped):
    with kept.made("--backend", "docker", "--image", remapped.image, host_env=remapped.environment) as name:
        assert kept.sh(name, "echo 1 >n").verdict == "ok"
        assert kept.sh(name, "cat n").stdout == "1\n"
    assert host.until(remapped.is_clean, within=30)
