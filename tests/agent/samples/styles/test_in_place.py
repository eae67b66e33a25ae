# SPDX-License-Identifier: Apache-2.0
"""Style: arguments that are changed, and arguments that must not be."""
import copy

from in_place import Store, bubble_sort, discard_odd, merge, sorted_copy, xor


def test_changed():
    items = [3, 1, 2]
    assert bubble_sort(items) is None
    assert items == [1, 2, 3]


def test_unchanged():
    items = [3, 1, 2]
    before = copy.copy(items)
    result = sorted_copy(items)
    assert result == [1, 2, 3]
    assert items == before
    assert result is not items


def test_nested():
    inner = {"x": 1}
    target = {"a": inner, "b": 2}
    result = merge(target, {"a": {"y": 2}, "c": [1]})
    assert result is target
    assert target == {"a": {"x": 1, "y": 2}, "b": 2, "c": [1]}
    assert inner == {"x": 1, "y": 2}


def test_set_and_bytes():
    numbers = {1, 2, 3, 4}
    discard_odd(numbers)
    assert numbers == {2, 4}
    data = bytearray(b"ab")
    xor(data, 1)
    assert data == bytearray(b"`c")


def test_own_copy():
    items = [1, 2]
    store = Store(items)
    items.append(3)
    assert store.count() == 2
    assert store.shared_count() == 3


def test_shared():
    items = []
    store = Store(items)
    store.push("x")
    assert items == ["x"]
    assert store.shared is items
    store.items().append("y")
    assert store.count() == 1
