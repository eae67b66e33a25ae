# SPDX-License-Identifier: Apache-2.0
"""Style: Enum, IntEnum, Flag."""
import pytest

from choices import Color, Level, Right, level_of, other, parse, rights


def test_members():
    assert other(Color.RED) == Color.GREEN
    assert other(Color.RED) is Color.GREEN
    assert other(Color.GREEN) != Color.GREEN
    assert parse("red") in (Color.RED, Color.GREEN)
    assert Color.RED.value == "red" and Color.RED.name == "RED"
    assert Color.RED.upper == "RED"
    assert Color("green") is Color.GREEN


def test_whole_class():
    assert [color.name for color in Color] == ["RED", "GREEN"]
    assert len(Color) == 2
    assert {Color.RED: 1}[parse("RED")] == 1
    with pytest.raises(ValueError):
        Color("blue")
    with pytest.raises(ValueError, match="unknown colour"):
        parse("blue")


def test_numbers():
    assert level_of(11) == Level.HIGH
    assert level_of(11) == 3
    assert level_of(1) < Level.HIGH
    assert int(level_of(1)) == 1


def test_flags():
    assert rights(True) == Right.READ | Right.WRITE
    assert Right.WRITE not in rights(False)
