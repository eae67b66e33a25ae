# SPDX-License-Identifier: Apache-2.0
"""Tested code: a module whose import does work, module state, reloaded names."""
import itertools
import random

_numbers = itertools.count(1)
HISTORY = []
SETTINGS = {"limit": 3}


def next_number():
    number = next(_numbers)
    HISTORY.append(number)
    return number


def limited(items):
    return items[:SETTINGS["limit"]]


def shuffled(items):
    items = list(items)
    random.shuffle(items)
    return items


counter = 0


def increment():
    global counter
    counter += 1
    return counter
