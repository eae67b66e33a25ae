# SPDX-License-Identifier: Apache-2.0
"""Tested code: plain functions and asserts."""
def add(a, b):
    return a + b


def is_even(number):
    return number % 2 == 0


def initials(name):
    return "".join(word[0].upper() for word in name.split())
