# SPDX-License-Identifier: Apache-2.0
"""Style: parametrize, with ids, marks and several decorators."""
import pytest

from parameters import roman, scale


@pytest.mark.normal
@pytest.mark.parametrize("number, text", [(1, "I"), (4, "IV"), (1994, "MCMXCIV"),
                                          pytest.param(3999, "MMMCMXCIX", id="largest")])
def test_roman(number, text):
    assert roman(number) == text


@pytest.mark.invalid
@pytest.mark.parametrize("number", [0, -1, 4000], ids=["zero", "negative", "large"])
def test_refused(number):
    with pytest.raises(ValueError, match="out of range"):
        roman(number)


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("value", [1, 1.5, "a"])
def test_scale(value, factor):
    assert scale(value, factor) == value * factor


class TestGrouped:
    pytestmark = pytest.mark.edge

    @pytest.mark.parametrize(("value", "result"), [(0, 0), (-2, -4)])
    def test_twice(self, value, result):
        assert scale(value, 2) == result
