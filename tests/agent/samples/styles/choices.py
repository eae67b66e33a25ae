# SPDX-License-Identifier: Apache-2.0
"""Tested code: Enum, IntEnum, Flag."""
from enum import Enum, Flag, IntEnum, auto


class Color(Enum):
    RED = "red"
    GREEN = "green"

    @property
    def upper(self):
        return self.value.upper()


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Right(Flag):
    READ = auto()
    WRITE = auto()


def other(color):
    return Color.GREEN if color is Color.RED else Color.RED


def parse(text):
    try:
        return Color[text.upper()]
    except KeyError:
        raise ValueError(f"unknown colour {text}") from None


def level_of(number):
    return Level.HIGH if number > 10 else Level.LOW


def rights(writer):
    return Right.READ | Right.WRITE if writer else Right.READ
