# SPDX-License-Identifier: Apache-2.0
"""Tested code: skips, expected failures, parametrised marks."""
def double(value):
    return value * 2
