# SPDX-License-Identifier: Apache-2.0
"""Style: inheritance, abstract classes, isinstance, singletons."""
import pytest

import shapes
from shapes import Circle, Registry, Shape, Square, largest, make


def test_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Shape()


def test_hierarchy():
    circle = make("circle", 1)
    assert isinstance(circle, Circle)
    assert isinstance(circle, Shape)
    assert not isinstance(circle, Square)
    assert type(circle) is Circle
    assert type(circle).__name__ == "Circle"
    assert circle.__class__.__name__ == "Circle"
    assert issubclass(Square, shapes.Shape)
    assert circle.describe() == "Circle of 3.14"


def test_identity():
    assert Registry() is Registry()
    Registry().names.append("a")
    assert Registry().names == ["a"]
    one, two = Square(1), Square(2)
    assert largest([one, two]) is two
    assert one is not two
    assert largest([one, two]) in [one, two]


def test_unknown():
    with pytest.raises(KeyError):
        make("hexagon", 1)
