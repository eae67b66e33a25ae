# SPDX-License-Identifier: Apache-2.0
"""Style: pytest.raises with match, attributes, and a hierarchy of exceptions."""
import pytest

import refusals
from refusals import BadValue, ConfigError, MissingKey, divide, lookup, number


def test_own_exception():
    with pytest.raises(MissingKey) as info:
        lookup({}, "port")
    assert info.value.key == "port"
    assert str(info.value) == "missing key 'port'"
    assert info.type is MissingKey


def test_base_class_catches():
    with pytest.raises(ConfigError):
        lookup({"a": 1}, "b")
    with pytest.raises(KeyError):
        lookup({"a": 1}, "b")
    assert issubclass(BadValue, ConfigError)
    assert not issubclass(BadValue, KeyError)


def test_arguments_and_cause():
    with pytest.raises(BadValue, match=r"no number: .*") as info:
        number("x1")
    assert info.value.args == ("no number: x1", 42)
    assert info.value.code == 42
    assert isinstance(info.value.__cause__, ValueError)


def test_try_except():
    try:
        number("abc")
    except refusals.ConfigError as error:
        assert "abc" in str(error)
    else:
        pytest.fail("nothing was raised")


def test_built_in():
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    with pytest.raises((TypeError, ValueError)):
        divide("a", 1)
    info = pytest.raises(ZeroDivisionError, divide, 3, 0)
    assert "division" in str(info.value)
