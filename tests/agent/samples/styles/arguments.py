# SPDX-License-Identifier: Apache-2.0
"""Tested code: keyword arguments, defaults, *args and **kwargs, wrong calls."""
def connect(host, port=80, *, timeout=5.0, **options):
    return {"host": host, "port": port, "timeout": timeout, **options}


def join(*parts, separator="/"):
    return separator.join(parts)


def only_positional(a, b, /):
    return a - b


def describe(value: int, *, unit: str = "m") -> str:
    """Says how long."""
    return f"{value} {unit}"


MAXIMUM = 100
NAMES = ["a", "b"]
_private = 1
