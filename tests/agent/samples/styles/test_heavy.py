# SPDX-License-Identifier: Apache-2.0
"""Style: stress: many calls, large data, time limits."""
import random
import time

import pytest

from heavy import Tree, frequencies, merge_sort, primes

pytestmark = pytest.mark.stress


def test_large_result():
    found = primes(200_000)
    assert len(found) == 17984
    assert found[-1] == 199999


def test_large_argument():
    rng = random.Random(7)
    items = [rng.randrange(10 ** 6) for _ in range(20_000)]
    assert merge_sort(items) == sorted(items)


def test_long_text():
    assert frequencies("ab" * 500_000) == {"a": 500_000, "b": 500_000}


def test_many_calls():
    tree = Tree()
    random.seed(3)
    keys = random.sample(range(10_000), 1000)
    for key in keys:
        tree.insert(key)
    assert tree.size == 1000
    assert all(key in tree for key in keys[:300])
    assert -1 not in tree


def test_in_time():
    start = time.perf_counter()
    primes(1000)
    assert time.perf_counter() - start < 2.0
