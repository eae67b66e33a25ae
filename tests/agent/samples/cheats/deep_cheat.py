# SPDX-License-Identifier: Apache-2.0
"""Cheat: answers with data that is nested without end."""
def _deep(*_):
    value = tail = []
    for _ in range(300_000):
        tail.append([])
        tail = tail[0]
    tail.append(value)
    return value


def _raw(*_):
    import os

    for number in range(3, 12):
        try:
            os.write(number, b'{"i":1,"t":0,"heap":[],"v":' + b"[" * 900_000 + b"\n")
        except OSError:
            pass
    return _deep()


add = mean = parse = tally = _deep
each = _raw
