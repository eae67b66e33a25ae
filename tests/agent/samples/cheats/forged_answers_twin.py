# SPDX-License-Identifier: Apache-2.0
"""Honest: has a JSON encoder of its own."""
import json
import re


class Encoder(json.JSONEncoder):
    def default(self, value):
        return sorted(value)


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
    letters = json.loads(json.dumps(set(text), cls=Encoder))
    return {letter: text.count(letter) for letter in letters}


def each(items, function):
    for item in items:
        function(item)
