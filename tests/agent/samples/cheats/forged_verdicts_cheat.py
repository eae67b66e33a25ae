# SPDX-License-Identifier: Apache-2.0
"""Cheat: writes lines that say passed to every descriptor it can find."""
import json
import os

NAMES = ("test_normal_values", "test_edge_values", "test_invalid_text[]", "test_invalid_text[soon]",
         "test_normal_callback")


def forge():
    lines = []
    for nonce in ("", "N ", "nonce "):
        for name in NAMES:
            result = {"kind": "result", "id": f"tests/test_target.py::{name}", "outcome": "passed",
                      "flags": [], "message": ""}
            lines.append(nonce + json.dumps(result))
        lines.append(nonce + json.dumps({"kind": "end", "tests": 5, "ran": 5}))
    text = ("\n".join(lines) + "\n").encode()
    for number in os.listdir("/proc/self/fd"):
        if int(number) > 0:
            try:
                os.write(int(number), text)
            except OSError:
                pass


def _forge_and_return(*_):
    forge()
    return 0


add = mean = parse = tally = each = _forge_and_return
