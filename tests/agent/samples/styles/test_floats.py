# SPDX-License-Identifier: Apache-2.0
"""Style: floating point with approx and math.isclose."""
import math

import pytest

from floats import mean, polar, root, statistics


def test_mean():
    assert mean([0.1, 0.2, 0.3]) == pytest.approx(0.2)
    assert mean([1, 2]) != pytest.approx(1.6)


def test_sequences_and_dicts():
    assert polar(1, 1) == pytest.approx((1.41421356, math.pi / 4), rel=1e-6)
    assert statistics([1.0, 2.0]) == pytest.approx({"mean": 1.5, "max": 2.0})


def test_special_values():
    assert math.isnan(root(-1))
    assert root(-1) == pytest.approx(math.nan, nan_ok=True)
    assert math.isclose(root(2) ** 2, 2)
    assert abs(root(9) - 3.0) < 1e-9
    assert round(root(2), 3) == 1.414
