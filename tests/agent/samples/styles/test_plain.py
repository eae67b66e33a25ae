# SPDX-License-Identifier: Apache-2.0
"""Style: plain functions and asserts."""
from plain import add, initials, is_even


def test_adds():
    assert add(2, 3) == 5
    assert add(-1, 1) == 0


def test_even_and_odd():
    assert is_even(4)
    assert not is_even(7)
    assert is_even(0) is True


def test_initials():
    assert initials("ada lovelace") == "AL", "two words, two letters"
    assert len(initials("")) == 0
    assert "G" in initials("grace hopper")
