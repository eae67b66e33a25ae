# SPDX-License-Identifier: Apache-2.0
"""glovebox.autogen with the real AutoGen (S3)."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lib import place as places

CLIENT = places.ROOT / "clients/python"
CHECKS = Path(__file__).with_name("autogen_checks.py")
NAMES = re.findall(r"^async def (S\d\w+)", CHECKS.read_text(), re.MULTILINE)
PATIENCE = 120


@pytest.mark.parametrize("name", NAMES)
def test_contract(name, autogen_bin, desk):
    done = subprocess.run([autogen_bin / "python", CHECKS, name, desk.cwd], capture_output=True,
                          text=True, timeout=PATIENCE,
                          env={**os.environ, "PYTHONPATH": str(CLIENT / "src")})
    assert done.returncode == 0, done.stderr


def test_without_autogen_the_module_says_what_is_missing():
    done = subprocess.run([sys.executable, "-c", "import glovebox.autogen"], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(CLIENT / "src")})
    assert "needs the package autogen-core" in done.stderr
