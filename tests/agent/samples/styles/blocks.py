# SPDX-License-Identifier: Apache-2.0
"""Tested code: context managers, as class and as function."""
from contextlib import contextmanager


class Session:
    def __init__(self):
        self.is_open = False
        self.log = []

    def __enter__(self):
        self.is_open = True
        return self

    def __exit__(self, kind, value, trace):
        self.is_open = False
        self.log.append(kind.__name__ if kind else "fine")
        return kind is KeyError

    def query(self, text):
        if not self.is_open:
            raise RuntimeError("closed")
        return text.upper()


@contextmanager
def counting(counts, name):
    counts[name] = counts.get(name, 0) + 1
    try:
        yield counts[name]
    finally:
        counts[name] -= 1
