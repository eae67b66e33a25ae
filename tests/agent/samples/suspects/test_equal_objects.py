# SPDX-License-Identifier: Apache-2.0
"""Compares two objects of the tested code."""
from suspect import Duration, parse


def test_normal_values():
    assert parse("1h") == Duration(3600)
    assert parse("2s") == Duration(2)
