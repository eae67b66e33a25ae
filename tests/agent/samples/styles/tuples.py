# SPDX-License-Identifier: Apache-2.0
"""Tested code: named tuples and tuples of tuples."""
from collections import namedtuple
from typing import NamedTuple

Point = namedtuple("Point", "x y")


class Span(NamedTuple):
    start: int
    end: int = 10

    def length(self):
        return self.end - self.start


def middle(a, b):
    return Point((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)


def spans(text):
    return [Span(*map(int, part.split("-"))) for part in text.split(",")]


def bounds(values):
    return min(values), max(values)
