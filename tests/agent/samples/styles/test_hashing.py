# SPDX-License-Identifier: Apache-2.0
"""Style: objects as members of sets and keys of dicts."""
from hashing import Tag, count, unique


def test_set():
    assert len({Tag("A"), Tag("a"), Tag("b")}) == 2
    assert unique([Tag("A"), Tag("a"), Tag("b")]) == ["a", "b"]


def test_keys():
    counts = count([Tag("x"), Tag("X"), Tag("y")])
    assert sorted(counts.values()) == [1, 2]
    assert counts[Tag("x")] == 2
    assert hash(Tag("q")) == hash(Tag("Q"))
