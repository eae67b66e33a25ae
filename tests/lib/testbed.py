# SPDX-License-Identifier: Apache-2.0
"""What tools/testbed installs apart from the system, on first use."""
import functools
import os
import subprocess
from pathlib import Path

from lib import place

# Before any test has a home of its own.
ENVIRONMENT = dict(os.environ)


class Missing(Exception):
    """It is not installed and cannot be."""


@functools.cache
def directory(name):
    """Where the thing of that name is."""
    done = subprocess.run([place.ROOT / "tools/testbed", name], capture_output=True, text=True, check=False,
                          env=ENVIRONMENT)
    if done.returncode != 0:
        raise Missing(f"{name}: {' '.join(done.stderr.split()[-40:])}")
    return Path(done.stdout.strip())
