# SPDX-License-Identifier: Apache-2.0
"""Style: nested, deep, cyclic and large data."""
import pytest

from nested import big, flatten, invert, ring, summary, wrap


def test_flatten():
    assert flatten([1, [2, (3, [4])], []]) == [1, 2, 3, 4]


@pytest.mark.stress
def test_deep():
    nested = 1
    for _ in range(5000):
        nested = [nested]
    assert flatten(nested) == [1]
    value = wrap("x", 3000)
    for _ in range(3000):
        value = value[0]
    assert value == "x"


def test_cycle():
    items = ring()
    assert items[2] is items
    assert items[:2] == [1, 2]


def test_kinds_stay():
    document = [1, "a", 1.5, True, None, b"\x00", (1, (2,)), frozenset({1})]
    assert summary(document) == {"int": [1], "str": ["a"], "float": [1.5], "bool": [True],
                                 "NoneType": [None], "bytes": [b"\x00"], "tuple": [(1, (2,))],
                                 "frozenset": [frozenset({1})]}
    assert invert({"a": (1, 2), 3: None}) == {(1, 2): "a", None: 3}


def test_large():
    assert big(5000) == 7 ** 5000
    assert flatten([list(range(1000))] * 100) == list(range(1000)) * 100
    assert flatten(["é\u20ac\U0001f600", float("inf"), -0.0])[1:] == [float("inf"), 0.0]
