# SPDX-License-Identifier: Apache-2.0
"""Tested code: arguments that are changed, and arguments that must not be."""
def bubble_sort(items):
    for end in range(len(items), 1, -1):
        for place in range(end - 1):
            if items[place] > items[place + 1]:
                items[place], items[place + 1] = items[place + 1], items[place]


def sorted_copy(items):
    return sorted(items)


def merge(target, source):
    for key, value in source.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = value
    return target


def discard_odd(numbers):
    numbers -= {number for number in numbers if number % 2}


def xor(data, key):
    for place in range(len(data)):
        data[place] ^= key


class Store:
    def __init__(self, items):
        self._items = list(items)
        self.shared = items

    def count(self):
        return len(self._items)

    def shared_count(self):
        return len(self.shared)

    def push(self, item):
        self.shared.append(item)

    def items(self):
        return self._items
