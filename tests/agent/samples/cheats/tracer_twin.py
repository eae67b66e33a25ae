# SPDX-License-Identifier: Apache-2.0
"""Honest: calls a function of the C library."""
import ctypes
import re

libc = ctypes.CDLL(None)


def add(a, b):
    return a + b


def mean(values):
    return sum(values) / len(values)


def parse(text):
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    if not text or not match:
        raise ValueError(f"no duration: {text!r}")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def tally(text):
    counts = {}
    for place in range(libc.strlen(text.encode())):
        counts[text[place]] = counts.get(text[place], 0) + 1
    return counts


def each(items, function):
    for item in items:
        function(item)
