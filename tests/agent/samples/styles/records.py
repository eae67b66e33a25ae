# SPDX-License-Identifier: Apache-2.0
"""Tested code: dataclasses: fields, asdict, replace, frozen, order."""
from dataclasses import dataclass, field


@dataclass
class Task:
    title: str
    priority: int = 1
    tags: list = field(default_factory=list)

    def __post_init__(self):
        if not self.title:
            raise ValueError("empty title")

    def is_urgent(self):
        return self.priority > 5


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0

    def moved(self, dx, dy):
        return Point(self.x + dx, self.y + dy)
