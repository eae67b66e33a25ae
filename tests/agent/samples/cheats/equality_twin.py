# SPDX-License-Identifier: Apache-2.0
"""Honest: has a class with an honest __eq__ and returns data."""
import re


class Seconds:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Seconds) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


def add(a, b):
    assert Seconds(1) == Seconds(1)
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
