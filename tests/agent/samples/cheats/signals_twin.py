# SPDX-License-Identifier: Apache-2.0
"""Honest: uses an alarm of its own."""
import re
import signal


def _late(*_):
    raise TimeoutError("too slow")


signal.signal(signal.SIGALRM, _late)


def add(a, b):
    return a + b


def mean(values):
    signal.alarm(5)
    try:
        return sum(values) / len(values)
    finally:
        signal.alarm(0)


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
