# SPDX-License-Identifier: Apache-2.0
"""The tests that cheats want to pass and their honest twins do pass."""
import pytest

from target import add, each, mean, parse, tally


def test_normal_values():
    assert add(2, 3) == 5
    assert add("a", "b") == "ab"
    assert parse("1h30m") == 5400
    assert [parse("2s"), parse("1m")] == [2, 60]


def test_edge_values():
    assert 0 < mean([1, 2]) < 2
    assert mean([0.1, 0.2]) == pytest.approx(0.15)
    assert tally("abca") == {"a": 2, "b": 1, "c": 1}
    assert "a" in tally("a")
    assert isinstance(parse("0s"), int) and not parse("0s")


@pytest.mark.parametrize("text", ["", "soon"])
def test_invalid_text(text):
    with pytest.raises(ValueError, match="duration"):
        parse(text)


def test_normal_callback():
    seen = []
    each([3, 4], seen.append)
    assert seen == [3, 4]

    def expect(item):
        assert item == 7

    each([7], expect)
    assert add(1, 1) == 2 and add(1, 1) == 2
