# SPDX-License-Identifier: Apache-2.0
"""Tested code: objects as members of sets and keys of dicts."""
class Tag:
    def __init__(self, name):
        self.name = name.lower()

    def __eq__(self, other):
        return isinstance(other, Tag) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


def unique(tags):
    return sorted({tag.name for tag in tags})


def count(tags):
    counts = {}
    for tag in tags:
        counts[tag] = counts.get(tag, 0) + 1
    return counts
