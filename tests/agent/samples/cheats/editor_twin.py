# SPDX-License-Identifier: Apache-2.0
"""Honest: keeps what it has read in a file of its own while it works."""
import os
import re
import tempfile


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
    fd, path = tempfile.mkstemp()
    with os.fdopen(fd, "w+") as file:
        file.write(text)
        file.seek(0)
        letters = file.read()
    os.unlink(path)
    return {letter: letters.count(letter) for letter in letters}


def each(items, function):
    for item in items:
        function(item)
