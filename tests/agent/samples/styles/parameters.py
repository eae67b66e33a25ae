# SPDX-License-Identifier: Apache-2.0
"""Tested code: parametrize, with ids, marks and several decorators."""
def roman(number):
    if not 0 < number < 4000:
        raise ValueError(f"out of range: {number}")
    text = ""
    for value, letters in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"),
                           (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"),
                           (4, "IV"), (1, "I")):
        while number >= value:
            text, number = text + letters, number - value
    return text


def scale(value, factor):
    return value * factor
