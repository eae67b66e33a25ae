# SPDX-License-Identifier: Apache-2.0
"""Tested code: decorators of the tested code on functions of the test."""
import functools
import time


def retry(times, exceptions=(Exception,)):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            for attempt in range(times):
                try:
                    return function(*args, **kwargs)
                except exceptions:
                    if attempt == times - 1:
                        raise
        return wrapper
    return decorate


def memoize(function):
    cache = {}

    @functools.wraps(function)
    def wrapper(*args):
        if args not in cache:
            cache[args] = function(*args)
        return cache[args]

    wrapper.cache = cache
    return wrapper


def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        result = function(*args, **kwargs)
        wrapper.elapsed = time.perf_counter() - start
        return result
    return wrapper


def checked(function):
    hints = function.__annotations__

    @functools.wraps(function)
    def wrapper(*args):
        for value, (name, hint) in zip(args, hints.items()):
            if not isinstance(value, hint):
                raise TypeError(f"{name} must be {hint.__name__}")
        return function(*args)
    return wrapper
