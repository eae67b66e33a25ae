# SPDX-License-Identifier: Apache-2.0
"""Style: Mock and hand-written fakes given to the code as arguments."""
import queue
from unittest.mock import MagicMock, Mock, call

import pytest

from stand_ins import Orders, drain, total


class FakeClock:
    def __init__(self):
        self.time = 0

    def now(self):
        self.time += 1
        return self.time


class FakeRepository:
    def __init__(self):
        self.saved = {}

    def save(self, order):
        self.saved[len(self.saved) + 1] = order
        return len(self.saved)

    def get(self, number):
        return self.saved[number]


class Item:
    def __init__(self, price, count):
        self.price, self.count = price, count


def test_fakes():
    repository = FakeRepository()
    orders = Orders(repository, FakeClock())
    assert orders.place("tea", 2) == 1
    assert orders.place("ink", 1) == 2
    assert repository.saved[2] == {"name": "ink", "count": 1, "at": 2}
    assert orders.find(1)["name"] == "tea"
    assert orders.find(9) is None
    assert orders.repository is repository


def test_mocks():
    repository, mailer = Mock(), MagicMock()
    repository.save.return_value = 77
    orders = Orders(repository, FakeClock(), mailer)
    assert orders.place("tea", 1) == 77
    repository.save.assert_called_once_with({"name": "tea", "count": 1, "at": 1})
    assert mailer.send.call_args == call(to="shop", subject="order 77")


def test_side_effects():
    repository = Mock()
    repository.get.side_effect = KeyError("gone")
    orders = Orders(repository, FakeClock())
    assert orders.find(1) is None
    with pytest.raises(ValueError):
        orders.place("x", 0)
    repository.save.assert_not_called()


def test_plain_objects():
    assert total([Item(2, 3), Item(1, 1)]) == 7
    waiting = queue.Queue()
    waiting.put(1)
    waiting.put("b")
    assert drain(waiting) == [1, "b"]
