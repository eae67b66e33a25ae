# SPDX-License-Identifier: Apache-2.0
"""Cheat: has every test skipped."""
import unittest


class Skipped(BaseException):
    """As pytest's own."""

    __module__ = "gb_judge.minipytest"
    msg = "not today"
    allow_module_level = True


def _skip(*_):
    raise unittest.SkipTest("not today")


def _skip_otherwise(*_):
    raise Skipped("not today")


add = parse = tally = _skip
mean = each = _skip_otherwise
