# SPDX-License-Identifier: Apache-2.0
"""Honest: computes in threads."""
import re
from concurrent.futures import ThreadPoolExecutor


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
    letters = sorted(set(text))
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(letters, pool.map(text.count, letters)))


def each(items, function):
    for item in items:
        function(item)
