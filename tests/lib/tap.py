# SPDX-License-Identifier: Apache-2.0
"""What cmocka's programs say of their tests."""
import re

# cmocka writes a skipped test as "not ok 3 # SKIP name".
POINT = re.compile(r"(?P<ok>ok|not ok) \d+ (?P<how>-|# SKIP) (?P<name>.+)")


def read(text):
    """Names of the tests that passed, failed and were skipped; all that were planned must be there."""
    points = [POINT.fullmatch(line) for line in text.splitlines()]
    points = [point for point in points if point]
    skipped = {point["name"] for point in points if point["how"] == "# SKIP"}
    passed = {point["name"] for point in points if point["ok"] == "ok"} - skipped
    failed = {point["name"] for point in points} - passed - skipped
    planned = re.search(r"^1\.\.(\d+)$", text, re.MULTILINE)
    assert planned and int(planned[1]) == len(points) > 0, text
    return passed, failed, skipped
