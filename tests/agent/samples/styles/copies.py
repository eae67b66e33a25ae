# SPDX-License-Identifier: Apache-2.0
"""Tested code: copy and deepcopy of objects, their dicts, cleaning up."""
class Board:
    def __init__(self, size=2):
        self.cells = [[0] * size for _ in range(size)]

    def set(self, x, y, value):
        self.cells[y][x] = value

    def copy(self):
        other = Board(0)
        other.cells = [row[:] for row in self.cells]
        return other


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value
