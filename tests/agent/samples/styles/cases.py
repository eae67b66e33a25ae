# SPDX-License-Identifier: Apache-2.0
"""Tested code: unittest.TestCase with setUp, subTest, assertRaises and friends."""
class Matrix:
    def __init__(self, rows):
        if len({len(row) for row in rows}) > 1:
            raise ValueError("ragged rows")
        self.rows = [list(row) for row in rows]

    def transpose(self):
        return Matrix(list(zip(*self.rows)))

    def to_list(self):
        return self.rows

    def trace(self):
        return sum(row[place] for place, row in enumerate(self.rows))
