# SPDX-License-Identifier: Apache-2.0
"""Tests that these samples pass; equal_objects has its own."""
from suspect import parse


def test_normal_values():
    assert parse("1h") == 3600
    assert parse("1h30m") == 5400
    assert parse("2s") == 2
