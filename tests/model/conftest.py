# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the suite `model`: real model servers, one of each kind for the whole session.

What is not installed is installed.  Where that fails, for want of a network, their tests are skipped;
where CI is set, they fail.
"""
import os

import pytest
import servers


def _running(start):
    try:
        with start() as server:
            yield server
    except servers.Missing as why:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no model server: {why}")


@pytest.fixture(scope="session")
def small():
    """SmolLM2-135M-Instruct."""
    yield from _running(servers.small)


@pytest.fixture(scope="session")
def chance():
    """llama-server with random weights, behind a key."""
    yield from _running(servers.chance)
