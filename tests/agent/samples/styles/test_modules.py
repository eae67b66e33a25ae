# SPDX-License-Identifier: Apache-2.0
"""Style: a module whose import does work, module state, reloaded names."""
import random

import pytest

import modules


def test_fresh_state():
    assert modules.next_number() == 1
    assert modules.next_number() == 2
    assert modules.HISTORY == [1, 2]


def test_settings(monkeypatch):
    monkeypatch.setitem(modules.SETTINGS, "limit", 1)
    assert modules.limited([1, 2, 3]) == [1]


def test_global():
    assert modules.increment() == 1
    assert modules.counter == 1
    modules.increment()
    assert modules.counter == 2


def test_seeded():
    random.seed(5)
    first = modules.shuffled(range(20))
    random.seed(5)
    assert modules.shuffled(range(20)) == first
    assert sorted(first) == list(range(20))
    with pytest.raises(TypeError):
        modules.shuffled(5)
