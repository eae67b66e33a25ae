# SPDX-License-Identifier: Apache-2.0
"""Honest: lets a child process end with success."""
import os
import re


def add(a, b):
    return a + b


def mean(values):
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
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
