# SPDX-License-Identifier: Apache-2.0
"""Style: named tuples and tuples of tuples."""
from tuples import Point, Span, bounds, middle, spans


def test_by_name_and_place():
    point = middle((0, 0), (2, 4))
    assert point.x == 1 and point.y == 2
    assert point == (1, 2)
    assert point[0] == 1
    x, y = point
    assert (x, y) == (1, 2)
    assert isinstance(point, tuple)
    assert isinstance(point, Point)


def test_methods():
    span = Span(3)
    assert span.length() == 7
    assert span._asdict() == {"start": 3, "end": 10}
    assert span._replace(end=4).length() == 1
    assert Span._fields == ("start", "end")


def test_lists_of_them():
    assert spans("1-2,5-9") == [(1, 2), (5, 9)]
    assert [span.length() for span in spans("1-2,5-9")] == [1, 4]
    assert Point(1, 2) == Point(1, 2)
    assert Point(1, 2) != Point(2, 1)
    assert sorted([Point(2, 0), Point(1, 5)])[0].x == 1


def test_plain_tuple():
    low, high = bounds([3, 1, 2])
    assert (low, high) == (1, 3)
    assert bounds((5,)) == (5, 5)
