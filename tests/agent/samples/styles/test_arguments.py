# SPDX-License-Identifier: Apache-2.0
"""Style: keyword arguments, defaults, *args and **kwargs, wrong calls."""
import inspect

import pytest

import arguments
from arguments import *  # noqa: F403
from arguments import connect, describe, join, only_positional


def test_keywords():
    assert connect("h") == {"host": "h", "port": 80, "timeout": 5.0}
    assert connect("h", 1, timeout=2, tls=True) == {"host": "h", "port": 1, "timeout": 2,
                                                    "tls": True}
    assert connect(**{"host": "x", "port": 2})["port"] == 2


def test_many():
    assert join("a", "b", "c") == "a/b/c"
    assert join(*["x", "y"], separator="-") == "x-y"
    assert join() == ""


def test_wrong_calls():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        connect()
    with pytest.raises(TypeError):
        connect("h", 1, 2)
    with pytest.raises(TypeError):
        only_positional(a=1, b=2)


def test_constants():
    assert arguments.MAXIMUM == 100
    assert MAXIMUM == 100  # noqa: F405
    assert arguments.NAMES == ["a", "b"]
    assert not hasattr(arguments, "missing")
    with pytest.raises(AttributeError):
        arguments.missing


def test_documentation():
    assert describe.__doc__ == "Says how long."
    assert describe.__name__ == "describe"
    assert describe.__annotations__ == {"value": int, "unit": str, "return": str}
    assert list(inspect.signature(describe).parameters) == ["value", "unit"]
    assert callable(arguments.describe)
