# SPDX-License-Identifier: Apache-2.0
"""Tests that set what they were given: that alone moves none of them into the code's process."""
import pytest

import target
from target import Account


@pytest.mark.normal
def test_normal_take():
    account = Account(10)
    account.limit = 5
    assert account.take(3) == 7


@pytest.mark.edge
def test_edge_limit():
    account = Account(10)
    account.limit = 0
    assert account.take(0) == 10


@pytest.mark.invalid
def test_invalid_amount():
    account = target.DEFAULT
    account.limit = 2
    assert account.take(1) == 4
    with pytest.raises(ValueError):
        account.take(3)


@pytest.mark.stress
def test_stress_many():
    account = target.open_one(1000)
    account.limit = 1
    assert [account.take(1) for _ in range(3)] == [999, 998, 997]
