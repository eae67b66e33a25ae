# SPDX-License-Identifier: Apache-2.0
"""Style: dataclasses: fields, asdict, replace, frozen, order."""
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass, replace

import pytest

from records import Point, Task


def test_fields():
    task = Task("write", tags=["a"])
    assert (task.title, task.priority, task.tags) == ("write", 1, ["a"])
    assert not task.is_urgent()
    task.priority = 9
    assert task.is_urgent()


def test_default_factory_is_fresh():
    first, second = Task("a"), Task("b")
    first.tags.append("x")
    assert first.tags == ["x"]
    assert second.tags == []


def test_helpers():
    assert asdict(Task("t", 2)) == {"title": "t", "priority": 2, "tags": []}
    assert is_dataclass(Task)
    assert [field.name for field in fields(Point)] == ["x", "y"]
    assert replace(Point(1, 2), y=5).y == 5


def test_frozen():
    point = Point(1, 2)
    with pytest.raises(FrozenInstanceError):
        point.x = 3
    with pytest.raises(AttributeError):
        point.y = 3
    moved = point.moved(1, 1)
    assert (moved.x, moved.y) == (2, 3)
    assert repr(point) == "Point(x=1, y=2)"


def test_validation():
    with pytest.raises(ValueError, match="empty"):
        Task("")
