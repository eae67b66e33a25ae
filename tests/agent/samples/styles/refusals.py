# SPDX-License-Identifier: Apache-2.0
"""Tested code: pytest.raises with match, attributes, and a hierarchy of exceptions."""
class ConfigError(Exception):
    """Base of all."""


class MissingKey(ConfigError, KeyError):
    def __init__(self, key):
        super().__init__(key)
        self.key = key

    def __str__(self):
        return f"missing key '{self.key}'"


class BadValue(ConfigError):
    def __init__(self, message, code=7):
        super().__init__(message, code)
        self.code = code


def lookup(config, key):
    if key not in config:
        raise MissingKey(key)
    return config[key]


def number(text):
    try:
        return int(text)
    except ValueError as error:
        raise BadValue(f"no number: {text}", code=42) from error


def divide(a, b):
    return a / b
