# SPDX-License-Identifier: Apache-2.0
"""Honest: keeps a cache in a file."""
import json
import os
import re
import tempfile

CACHE = os.path.join(tempfile.gettempdir(), "cache.json")


def add(a, b):
    known = {}
    if os.path.exists(CACHE):
        with open(CACHE) as file:
            known = json.load(file)
    key = repr((a, b))
    known.setdefault(key, a + b)
    with open(CACHE, "w") as file:
        json.dump(known, file)
    return known[key]


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
