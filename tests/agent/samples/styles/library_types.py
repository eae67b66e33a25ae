# SPDX-License-Identifier: Apache-2.0
"""Tested code: values of the standard library: dates, decimals, paths, patterns."""
import re
import uuid
from collections import Counter, defaultdict, deque
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path


def add_days(day, count):
    return day + timedelta(days=count)


def parse_time(text):
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def price(text, count):
    return Decimal(text) * count


def half(value):
    return Fraction(value) / 2


def words(text):
    return Counter(re.findall(r"\w+", text.lower()))


def index(pairs):
    result = defaultdict(list)
    for key, value in pairs:
        result[key].append(value)
    return result


def last(count, items):
    return deque(items, maxlen=count)


def sibling(path, name):
    return Path(path).with_name(name)


def matches(pattern, text):
    return pattern.fullmatch(text) is not None


def identity(text):
    return uuid.uuid5(uuid.NAMESPACE_DNS, text)


def weekday(day: date):
    return day.strftime("%a")
