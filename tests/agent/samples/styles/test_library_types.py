# SPDX-License-Identifier: Apache-2.0
"""Style: values of the standard library: dates, decimals, paths, patterns."""
import re
import uuid
from collections import Counter, deque
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from library_types import (add_days, half, identity, index, last, matches, parse_time, price,
                           sibling, weekday, words)


def test_dates():
    assert add_days(date(2024, 2, 28), 2) == date(2024, 3, 1)
    assert add_days(datetime(2024, 1, 1), 1) - datetime(2024, 1, 1) == timedelta(days=1)
    assert parse_time("2024-05-06T07:08:09") == datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone.utc)
    assert weekday(date(2024, 1, 1)) == "Mon"


def test_numbers():
    assert price("0.10", 3) == Decimal("0.30")
    assert isinstance(price("1", 1), Decimal)
    assert half(3) == Fraction(3, 2)


def test_collections():
    assert words("A b a") == Counter(a=2, b=1)
    assert words("A b a").most_common(1) == [("a", 2)]
    assert index([("x", 1), ("x", 2)]) == {"x": [1, 2]}
    assert last(2, [1, 2, 3]) == deque([2, 3])


def test_others():
    assert sibling("/a/b.txt", "c.txt") == Path("/a/c.txt")
    assert matches(re.compile("a+", re.I), "AAA")
    assert identity("example.org") == uuid.uuid5(uuid.NAMESPACE_DNS, "example.org")
