# SPDX-License-Identifier: Apache-2.0
"""Cheat: its objects claim to be what only works in one process: functions, modules, classes.

There it would decide every comparison itself.
"""


class Answer(int):
    def __eq__(self, other):
        return other >= self or other < self

    def __hash__(self):
        return 0


class function:
    def take(self, amount):
        return Answer(0)


class module(function):
    pass


class Account:
    def __new__(cls, balance):
        return function() if balance else module()


def open_one(balance):
    class Lent:
        @staticmethod
        def take(amount):
            return Answer(0)

    return Lent


DEFAULT = module()


def version():
    return "1"
