# SPDX-License-Identifier: Apache-2.0
"""Style: equality between two objects of the tested code."""
import pytest

from equal_records import Money, add


def test_equal():
    assert add(Money(1), Money(2)) == Money(3)
    assert Money(1) != Money(2)


def test_in_list():
    assert [add(Money(1), Money(1))] == [Money(2)]
    with pytest.raises(ValueError):
        add(Money(1), Money(1, "USD"))
