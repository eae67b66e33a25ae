# SPDX-License-Identifier: Apache-2.0
"""Style: context managers, as class and as function."""
import pytest

from blocks import Session, counting


def test_opens_and_closes():
    session = Session()
    with session as inside:
        assert inside is session
        assert session.is_open
        assert session.query("a") == "A"
    assert not session.is_open
    assert session.log == ["fine"]
    with pytest.raises(RuntimeError):
        session.query("b")


def test_exception_passes():
    session = Session()
    with pytest.raises(ValueError):
        with session:
            raise ValueError("x")
    assert session.log == ["ValueError"]


def test_exception_is_swallowed():
    with Session() as session:
        raise KeyError("gone")
    assert session.log == ["KeyError"]


def test_function():
    counts = {}
    with counting(counts, "a") as number:
        assert number == 1
        assert counts == {"a": 1}
    assert counts == {"a": 0}
