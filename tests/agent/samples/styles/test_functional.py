# SPDX-License-Identifier: Apache-2.0
"""Style: lambdas and functions of the test as arguments."""
import functools
import operator

import pytest

from functional import Emitter, apply_twice, first, group_by, guarded, map_values, pipeline


def test_lambda():
    assert map_values({"a": 1, "b": 2}, lambda value: value * 10) == {"a": 10, "b": 20}
    assert map_values({"a": "x"}, str.upper) == {"a": "X"}
    assert map_values({"a": [1, 2]}, len) == {"a": 2}


def test_pipeline():
    def add_one(value):
        return value + 1

    run = pipeline(add_one, add_one, str)
    assert run(3) == "5"
    assert callable(run)


def test_keys():
    assert group_by(["ab", "c", "de"], key=len) == {2: ["ab", "de"], 1: ["c"]}
    assert group_by([(1, "a"), (1, "b")], operator.itemgetter(0)) == {1: [(1, "a"), (1, "b")]}
    assert first([0, 3, 5], lambda number: number > 3) == 5
    assert first([0, ""], default="none") == "none"


def test_partial_and_keywords():
    assert apply_twice(functools.partial(operator.mul, 3), 2, extra=1) == 19


def test_exceptions_cross_both_ways():
    def refuse():
        raise ValueError("no")

    class Own(Exception):
        pass

    def break_down():
        raise Own("mine")

    assert guarded(refuse, "fallback") == "fallback: no"
    with pytest.raises(Own, match="mine"):
        guarded(break_down, "")


def test_events():
    seen = []
    emitter = Emitter()
    remove = emitter.on("save", seen.append)
    emitter.on("save", lambda value, **more: more)
    assert emitter.emit("save", 7) == [None, {}]
    remove()
    emitter.emit("save", 8)
    assert seen == [7]
    assert emitter.emit("nothing") == []
