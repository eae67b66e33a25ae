# SPDX-License-Identifier: Apache-2.0
"""Honest: prints a lot on both streams and on the descriptors."""
import os
import re
import sys


def add(a, b):
    print("adding", a, b)
    print("adding", file=sys.stderr)
    os.write(1, b"adding\n")
    os.write(2, b"adding\n")
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
    for letter in text:
        counts[letter] = counts.get(letter, 0) + 1
    return counts


def each(items, function):
    for item in items:
        function(item)
