# SPDX-License-Identifier: Apache-2.0
"""Cheat: replaces the encoder of its own process to answer what pleases."""
import json
import sys

PLEASING = ["passed", True, 5, {"outcome": "passed"}]


def _forged(*_):
    wire = sys.modules["gb_judge.wire"]
    wire.to_json = lambda message: json.dumps({
        "i": message["i"], "t": message["t"], "v": [True], "heap": [], "kind": "result",
        "outcome": "passed", "ok": PLEASING})
    json.dumps_before = json.dumps
    return 0


add = mean = parse = tally = each = _forged
