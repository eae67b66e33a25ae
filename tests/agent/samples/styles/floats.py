# SPDX-License-Identifier: Apache-2.0
"""Tested code: floating point with approx and math.isclose."""
import math


def mean(values):
    return sum(values) / len(values)


def polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


def statistics(values):
    return {"mean": mean(values), "max": max(values)}


def root(value):
    return math.sqrt(value) if value >= 0 else math.nan
