# SPDX-License-Identifier: Apache-2.0
"""Values that cross: the same on the other side, for data drawn at random too."""
import collections
import datetime
import decimal
import fractions
import math
import os
import pathlib
import random
import re
import sys
import uuid

import guest_pair
import pytest

sys.path.insert(0, str(guest_pair.GUEST))
from gb_judge.values import TWINS_MAX, Codec  # noqa: E402
from gb_judge.wire import Channel, Violation, to_json  # noqa: E402

SEED = int(os.environ.get("GLOVEBOX_SEED", random.randrange(1 << 32)))


class Pair:
    """Two codecs and what is between them: text."""

    def __init__(self):
        self.here, self.there = Codec(1, 1), Codec(-1, -1)

    def send(self, value, back=False):
        import json
        one, other = (self.there, self.here) if back else (self.here, self.there)
        values, heap = one.pack([value])
        text = to_json({"v": values, "heap": heap})
        message = json.loads(text)
        return other.unpack(message["v"], message["heap"])[0]


@pytest.fixture
def pair():
    return Pair()


PLAIN = [
    None, True, False, 0, -1, 1 << 62, -(1 << 5000), 10 ** 4000, 1.5, -0.0, 1e308, math.inf,
    -math.inf, 1 + 2j, complex(math.inf, -0.0), "", "é€😀\ud800\0\n", b"", bytes(range(256)), bytearray(b"ab"),
    [], [1, [2, [3]]], (), (1, (2, ("x",))), {1, "a", None}, frozenset({1, frozenset({2})}),
    {}, {"a": 1, 2: [3], (1, 2): {"x": None}, None: (), 1.5: b"x"}, range(1, 10, 2),
    slice(1, None, -1), Ellipsis, NotImplemented, int, ValueError, datetime.date,
    decimal.Decimal("1.10"), decimal.Decimal("NaN").copy_abs(), fractions.Fraction(3, 7),
    uuid.UUID(int=5), pathlib.Path("/a/b"), pathlib.PurePosixPath("x"),
    datetime.date(2024, 2, 29), datetime.time(1, 2, 3, 4, fold=1), datetime.timedelta(-1, 5, 6),
    datetime.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
    datetime.timezone(datetime.timedelta(hours=2), "X"), re.compile("a+", re.I),
    collections.OrderedDict([("b", 1), ("a", 2)]), collections.Counter("abca"),
    collections.defaultdict(list, {"a": [1]}), collections.deque([1, 2], maxlen=2),
]


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, complex, decimal.Decimal)):
        return repr(a) == repr(b)
    if isinstance(a, (list, tuple, collections.deque)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    return a == b


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_plain_value(pair, value):
    assert same(pair.send(value), value)
    assert same(pair.send([value, (value,)], back=True), [value, (value,)])


def test_nan(pair):
    assert math.isnan(pair.send(math.nan))


def test_views_of_dicts(pair):
    data = {"a": 1, "b": 2}
    assert pair.send(data.keys()) == data.keys()
    assert list(pair.send(data.values())) == [1, 2]
    assert pair.send(data.items()) == data.items()


def test_aliases_and_cycles(pair):
    inner = [1]
    got = pair.send([inner, inner, {"x": inner}])
    assert got[0] is got[1] is got[2]["x"]
    ring = []
    ring.append((ring,))
    got = pair.send(ring)
    assert got[0][0] is got


def test_depth_costs_nothing(pair):
    value = []
    for _ in range(100_000):
        value = [value]
    got, depth = pair.send(value), 0
    while got:
        got, depth = got[0], depth + 1
    assert depth == 100_000


def test_twins_follow_each_other(pair):
    mine = {"list": [1], "set": {1}}
    theirs = pair.send(mine)
    theirs["list"].append(2)
    theirs["set"].clear()
    pair.send(None, back=True)
    assert mine == {"list": [1, 2], "set": set()}
    mine["new"] = mine["list"]
    pair.send(None)
    assert theirs["new"] is theirs["list"]
    assert pair.send(theirs, back=True) is mine


def test_unchanged_twins_cross_as_a_number(pair):
    mine = list(range(500))
    pair.send(mine)
    assert pair.here.pack([mine]) == ([[0]], [["=", 1]])


def test_twins_are_few(pair):
    kept = [[n] for n in range(2 * TWINS_MAX)]
    pair.send(kept)
    assert len(pair.here.twins._objects) == len(pair.there.twins._objects) == TWINS_MAX


def test_a_twin_that_nobody_holds_is_idle_once_its_change_is_told(pair):
    pair.send([1, 2])
    assert pair.here.twins.idle() == [1]
    theirs = pair.there.twins.get(1)
    pair.here.twins.get(1).append(3)
    assert pair.here.twins.idle() == []
    pair.send(None)
    assert theirs == [1, 2, 3] and pair.here.twins.idle() == [1]


def test_classes_with_the_name_of_another_do_not_cross(pair):
    fake = type("Decimal", (), {"__module__": "decimal"})
    for value in (fake, fake(), object(), len):
        with pytest.raises(NotImplementedError):
            pair.send(value)


def draw(rng, depth=0):
    """Plain data at random."""
    kind = rng.randrange(12 if depth < 4 else 6)
    if kind < 6:
        return [None, rng.random() < 0.5, rng.randrange(-1 << 70, 1 << 70), rng.gauss(0, 1e10),
                "".join(chr(rng.randrange(0x3000)) for _ in range(rng.randrange(8))),
                rng.randbytes(rng.randrange(9))][kind]
    items = [draw(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind < 8:
        return items
    if kind < 10:
        return tuple(items)
    return {repr(draw(rng, 9)): item for item in items}


def test_random_data():
    print("GLOVEBOX_SEED", SEED)
    rng = random.Random(SEED)
    pair = Pair()
    for _ in range(400):
        value = draw(rng)
        assert same(pair.send(value), value)
        assert same(pair.send(value, back=True), value)
        for codec in (pair.here, pair.there):
            for number in list(codec.twins._objects):
                codec.twins.forget(number)


def test_random_damage_is_a_violation_or_a_value():
    """Whatever is wrong with a heap, nothing else comes out of unpack()."""
    import json
    print("GLOVEBOX_SEED", SEED)
    rng = random.Random(SEED)
    for _ in range(2000):
        values, heap = Codec(1, 1).pack([draw(rng)])
        text = bytearray(json.dumps([values, heap]).encode())
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(len(text))] = rng.choice(b'[]{}",:0123456789-.eltdszabiv=x ')
        try:
            damaged = json.loads(text)
            values, heap = damaged[0], damaged[1]
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
        try:
            Codec(-1, -1).unpack(values, heap)
        except (Violation, NotImplementedError):
            pass


def test_lines_are_bounded():
    read, write = os.pipe()
    reader = Channel(read, write)
    try:
        os.write(write, b'{"t":0}\n')
        assert reader.receive() == {"t": 0}
        os.write(write, b"[" * 2000 + b"\n")
        with pytest.raises(Violation):
            reader.receive()
    finally:
        reader._reader.close()
        os.close(write)
