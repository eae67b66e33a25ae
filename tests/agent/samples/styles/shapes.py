# SPDX-License-Identifier: Apache-2.0
"""Tested code: inheritance, abstract classes, isinstance, singletons."""
import math
from abc import ABC, abstractmethod


class Shape(ABC):
    @abstractmethod
    def area(self):
        """The area."""

    def describe(self):
        return f"{type(self).__name__} of {self.area():.2f}"


class Circle(Shape):
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius ** 2


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side ** 2


class Registry:
    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.names = []
        return cls._instance


def make(kind, size):
    return {"circle": Circle, "square": Square}[kind](size)


def largest(shapes):
    return max(shapes, key=lambda shape: shape.area())
