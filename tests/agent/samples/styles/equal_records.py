# SPDX-License-Identifier: Apache-2.0
"""Tested code: equality between two objects of the tested code."""
from dataclasses import dataclass


@dataclass
class Money:
    amount: int
    currency: str = "EUR"


def add(a, b):
    if a.currency != b.currency:
        raise ValueError("currencies differ")
    return Money(a.amount + b.amount, a.currency)
