# SPDX-License-Identifier: Apache-2.0
"""Cheat: ignores every signal and never answers."""
import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def _forever(*_):
    while True:
        pass


add = mean = parse = tally = each = _forever
