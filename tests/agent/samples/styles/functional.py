# SPDX-License-Identifier: Apache-2.0
"""Tested code: lambdas and functions of the test as arguments."""
import functools


def map_values(mapping, function):
    return {key: function(value) for key, value in mapping.items()}


def pipeline(*functions):
    return lambda value: functools.reduce(lambda result, step: step(result), functions, value)


def group_by(items, key):
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def first(items, predicate=bool, default=None):
    return next((item for item in items if predicate(item)), default)


def apply_twice(function, value, *, extra=0):
    return function(function(value)) + extra


def guarded(function, fallback):
    try:
        return function()
    except ValueError as error:
        return f"{fallback}: {error}"


class Emitter:
    def __init__(self):
        self._handlers = {}

    def on(self, event, handler):
        self._handlers.setdefault(event, []).append(handler)
        return lambda: self._handlers[event].remove(handler)

    def emit(self, event, *args, **kwargs):
        return [handler(*args, **kwargs) for handler in self._handlers.get(event, [])]
