# SPDX-License-Identifier: Apache-2.0
"""Style: a mapping-like class: LRU cache."""
from collections import OrderedDict
from collections.abc import Mapping

import pytest

from cache import Folded, LRUCache


def test_eviction():
    cache = LRUCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert "b" not in cache
    assert cache.get("b") is None
    assert cache.get("b", "gone") == "gone"
    assert len(cache) == 2
    assert list(cache.keys()) == ["a", "c"]
    assert cache.snapshot() == OrderedDict(a=1, c=3)


@pytest.mark.parametrize("capacity", [0, -3])
def test_capacity(capacity):
    with pytest.raises(ValueError):
        LRUCache(capacity)


def test_mapping():
    folded = Folded(One=1)
    folded["TWO"] = 2
    assert folded["one"] == 1 and folded["two"] == 2
    assert sorted(folded) == ["one", "two"]
    assert dict(folded) == {"one": 1, "two": 2}
    assert folded.get("three", 3) == 3
    assert isinstance(folded, Mapping)
    del folded["One"]
    with pytest.raises(KeyError):
        folded["one"]
    assert folded.pop("two") == 2
    assert len(folded) == 0


@pytest.mark.stress
def test_many():
    cache = LRUCache(100)
    for number in range(2000):
        cache.put(number, number)
    assert len(cache) == 100
    assert 1999 in cache and 0 not in cache
