# SPDX-License-Identifier: Apache-2.0
"""Tested code: stress: many calls, large data, time limits."""
import heapq


def primes(limit):
    sieve = bytearray([1]) * (limit + 1)
    sieve[:2] = b"\x00\x00"
    for number in range(2, int(limit ** 0.5) + 1):
        if sieve[number]:
            sieve[number * number::number] = bytes(len(sieve[number * number::number]))
    return [number for number in range(limit + 1) if sieve[number]]


def merge_sort(items):
    if len(items) < 2:
        return items
    middle = len(items) // 2
    return list(heapq.merge(merge_sort(items[:middle]), merge_sort(items[middle:])))


def frequencies(text):
    counts = {}
    for letter in text:
        counts[letter] = counts.get(letter, 0) + 1
    return counts


class Tree:
    def __init__(self):
        self.root, self.size = None, 0

    def insert(self, key):
        self.size += 1
        if self.root is None:
            self.root = [key, None, None]
            return
        node = self.root
        while True:
            side = 1 if key < node[0] else 2
            if node[side] is None:
                node[side] = [key, None, None]
                return
            node = node[side]

    def __contains__(self, key):
        node = self.root
        while node:
            if node[0] == key:
                return True
            node = node[1] if key < node[0] else node[2]
        return False
