# SPDX-License-Identifier: Apache-2.0
"""Style: operators: arithmetic, comparison, hashing."""
import pytest

from vectors import Vector, Version


def test_arithmetic():
    total = Vector(1, 2) + Vector(3, 4)
    assert (total.x, total.y) == (4, 6)
    assert tuple(Vector(1, 2) * 3) == (3, 6)
    assert tuple(3 * Vector(1, 2)) == (3, 6)
    assert tuple(-Vector(1, -2)) == (-1, 2)
    assert abs(Vector(3, 4)) == 5
    assert Vector(1, 2) @ Vector(3, 4) == 11
    with pytest.raises(TypeError):
        Vector(1, 2) + 5


def test_order():
    assert Version("1.2") < Version("1.10")
    assert Version("2.0") >= Version("1.9")
    ordered = sorted([Version("1.10"), Version("1.2"), Version("0.9")])
    assert [str(version) for version in ordered] == ["0.9", "1.2", "1.10"]
    assert str(max(Version("1.0"), Version("1.1"))) == "1.1"
