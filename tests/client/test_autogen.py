# SPDX-License-Identifier: Apache-2.0
"""glovebox.autogen with the real AutoGen (S3)."""
import os
import subprocess
import sys
from pathlib import Path

import checking
import pytest
from lib import place as places

CLIENT = places.ROOT / "clients/python"
CHECKS = Path(__file__).with_name("autogen_checks.py")


@pytest.fixture(scope="module")
def checked(autogen_bin):
    return checking.run_there(autogen_bin / "python", CHECKS)


@pytest.mark.parametrize("name", checking.names(CHECKS))
def test_contract(name, checked):
    assert checked[name] is None, checked[name]


def test_without_autogen_the_module_says_what_is_missing():
    done = subprocess.run([sys.executable, "-c", "import glovebox.autogen"], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(CLIENT / "src")})
    assert "needs the package autogen-core" in done.stderr
