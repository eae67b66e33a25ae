# SPDX-License-Identifier: Apache-2.0
"""`make demo`: five scenes whose facts the demo itself checks, within its time."""
import re
import subprocess
import time
from pathlib import Path

import pytest
from calls import environment
from lib import pace
from lib import place as places

DEMO = Path(__file__).resolve().parents[2] / "tools" / "demo"
PROMISED_S = 25
FACTS = 12


@pytest.mark.serial
def test_the_demo_keeps_what_it_promises(place):
    began = time.monotonic()
    done = subprocess.run([DEMO, places.binary(), place.cwd / "demo"], capture_output=True, text=True,
                          env=environment(place, LANG="C.UTF-8"), cwd=place.cwd, stdin=subprocess.DEVNULL,
                          timeout=10 * PROMISED_S, check=False)
    took = time.monotonic() - began
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not so" not in done.stdout, done.stdout
    assert re.findall(r"^(\d)\. ", done.stdout, re.MULTILINE) == list("12345"), done.stdout
    assert done.stdout.count("=> ") == FACTS, done.stdout
    for part in ("15 tests passed: 12", "● tampered", "survivors: 0", "every run, test and verdict was real", "python3 -m pytest"):
        assert part in done.stdout, done.stdout
    assert took <= pace.within(PROMISED_S), took
