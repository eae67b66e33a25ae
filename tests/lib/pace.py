# SPDX-License-Identifier: Apache-2.0
"""How long things may take, and how many of them there are.

`make check` shares its machine with others: what is promised in seconds is allowed ten times there,
and counts are small.  `make proof` (GLOVEBOX_PROOF set) has a quiet machine: promises are asked for
as they are given, counts are full.

A time that is no promise, such as how long the harness waits before it calls something hung, is a
plain number where it is used.
"""
import os

IS_PROOF = bool(os.environ.get("GLOVEBOX_PROOF"))


def within(seconds):
    """The promised time, as it is asserted here and now."""
    return seconds if IS_PROOF else 10 * seconds


def count(check, proof):
    """How many: in a check, in a proof."""
    return proof if IS_PROOF else check
