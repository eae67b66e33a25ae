# SPDX-License-Identifier: Apache-2.0
"""Tested code: fixtures: yield, autouse, with parameters, of a class, of each other."""
class Cart:
    def __init__(self):
        self.items = {}

    def add(self, name, price, count=1):
        if price < 0:
            raise ValueError("negative price")
        self.items[name] = (price, count)

    def total(self):
        return sum(price * count for price, count in self.items.values())

    def clear(self):
        self.items.clear()
