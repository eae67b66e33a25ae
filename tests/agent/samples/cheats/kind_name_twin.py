# SPDX-License-Identifier: Apache-2.0
"""Honest: objects with attributes that may be set, of whatever name."""


class function:
    def __init__(self, balance):
        self.balance = balance
        self.limit = balance

    def take(self, amount):
        if amount > self.limit:
            raise ValueError(f"more than {self.limit}")
        self.balance -= amount
        return self.balance


Account = function
DEFAULT = Account(5)


def open_one(balance):
    return Account(balance)


def version():
    return "1"
