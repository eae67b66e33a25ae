# SPDX-License-Identifier: Apache-2.0
"""Tested code: generators: next, list, send, close, laziness."""
def countdown(start):
    while start > 0:
        yield start
        start -= 1


def naturals():
    number = 0
    while True:
        yield number
        number += 1


def running_mean():
    total, count, mean = 0.0, 0, None
    while True:
        value = yield mean
        total, count = total + value, count + 1
        mean = total / count


def chunks(items, size):
    if size < 1:
        raise ValueError("size must be positive")
    for start in range(0, len(items), size):
        yield items[start:start + size]


def closing(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")


def take(count, iterable):
    result = []
    for item in iterable:
        if len(result) >= count:
            break
        result.append(item)
    return result
