# SPDX-License-Identifier: Apache-2.0
"""Tested code: classes derived from list, dict, str and int."""
class Stack(list):
    def push(self, item):
        self.append(item)

    def peek(self):
        return self[-1]


class Config(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Slug(str):
    def __new__(cls, text):
        return super().__new__(cls, text.lower().replace(" ", "-"))

    def title_text(self):
        return self.replace("-", " ").title()


class Celsius(float):
    def to_fahrenheit(self):
        return self * 9 / 5 + 32


class Even(int):
    def __new__(cls, value):
        if value % 2:
            raise ValueError("odd")
        return super().__new__(cls, value)
