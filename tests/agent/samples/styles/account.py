# SPDX-License-Identifier: Apache-2.0
"""Tested code: a class with state, properties, class methods and validation."""
class InsufficientFunds(Exception):
    pass


class Account:
    bank = "Glove"
    opened = 0

    def __init__(self, owner, balance=0):
        self.owner = owner
        self._balance = balance
        type(self).opened += 1

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        if value < 0:
            raise ValueError("negative balance")
        self._balance = value

    @property
    def is_empty(self):
        return self._balance == 0

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self._balance += amount
        return self

    def withdraw(self, amount):
        if amount > self._balance:
            raise InsufficientFunds(f"need {amount}, have {self._balance}")
        self._balance -= amount
        return self._balance

    @classmethod
    def parse(cls, text):
        owner, _, balance = text.partition(":")
        return cls(owner, int(balance))

    @staticmethod
    def is_valid(name):
        return name.isidentifier()
