# SPDX-License-Identifier: Apache-2.0
"""S02: code that fakes success is never accepted, its honest twin always is.

Every cheat runs in real boxes, a fresh pair for each test, because it means what it does.
"""
import tempfile
from pathlib import Path

import guest_pair
import pytest

CHEATS = guest_pair.SAMPLES / "cheats"
NAMES = sorted(path.stem[:-len("_cheat")] for path in CHEATS.glob("*_cheat.py"))


def met_by(name):
    """Most cheat at the same tests."""
    own = CHEATS / f"test_{name}.py"
    return {"test_target.py": (own if own.exists() else CHEATS / "test_target.py").read_text()}


@pytest.fixture
def expected(name):
    with tempfile.TemporaryDirectory() as folder:
        return guest_pair.expected_ids(Path(folder), {"target.py": ""}, met_by(name))


def judged(folder, name, kind, expected, *more):
    code = {"target.py": (CHEATS / f"{name}_{kind}.py").read_text()}
    return guest_pair.judge_in_boxes(folder, code, met_by(name), expected, *more)


def test_there_are_twenty_kinds():
    assert len(NAMES) >= 20
    assert all((CHEATS / f"{name}_twin.py").exists() for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_cheat_passes_no_test(name, place, expected):
    verdicts = judged(place.base / "judged", name, "cheat", expected, "--limit", "0.5")
    for identity, verdict in zip(expected, verdicts):
        assert not guest_pair.is_accepted([identity], [verdict]), (identity, verdict)
        assert verdict.ended and verdict.runner_status == 0, verdict
    assert not guest_pair.is_accepted(expected, verdicts)


@pytest.mark.parametrize("name", NAMES)
def test_honest_twin_passes_all(name, place, expected):
    verdicts = judged(place.base / "judged", name, "twin", expected)
    assert guest_pair.is_accepted(expected, verdicts), verdicts
    assert not set().union(*(verdict.flags for verdict in verdicts))
