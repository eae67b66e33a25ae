# SPDX-License-Identifier: Apache-2.0
"""Tested code: nested, deep, cyclic and large data."""
def flatten(items):
    result, stack = [], [iter(items)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, (list, tuple)):
                stack.append(iter(item))
                break
            result.append(item)
        else:
            stack.pop()
    return result


def wrap(value, depth):
    for _ in range(depth):
        value = [value]
    return value


def ring():
    items = [1, 2]
    items.append(items)
    return items


def summary(document):
    return {kind.__name__: [value for value in document if type(value) is kind]
            for kind in (int, str, float, bool, type(None), bytes, tuple, frozenset)}


def big(power):
    return 7 ** power


def invert(mapping):
    return {value: key for key, value in mapping.items()}
