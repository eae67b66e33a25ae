# SPDX-License-Identifier: Apache-2.0
"""Honest: skips what it does not want by an exception of its own."""
import re


class Skip(Exception):
    pass


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


def _letter(letter):
    if letter.isspace():
        raise Skip
    return letter


def tally(text):
    counts = {}
    for letter in text:
        try:
            found = _letter(letter)
        except Skip:
            continue
        counts[found] = counts.get(found, 0) + 1
    return counts


def each(items, function):
    for item in items:
        function(item)
