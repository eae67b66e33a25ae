# SPDX-License-Identifier: Apache-2.0
"""Honest: has a self test that imports unittest."""
import re


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
    for letter in text:
        counts[letter] = counts.get(letter, 0) + 1
    return counts


def each(items, function):
    for item in items:
        function(item)


def self_test():
    import unittest

    case = unittest.TestCase()
    case.assertEqual(add(1, 2), 3)
