# SPDX-License-Identifier: Apache-2.0
"""Style: a state machine and a parser, as programs' cores are tested."""
import pytest

from machine import Door, TransitionError, evaluate, tokenize


class TestDoor:
    def test_path(self):
        door = Door()
        for event, state in [("open", "open"), ("close", "closed"), ("lock", "locked")]:
            assert door.fire(event) == state
        assert door.state == "locked"
        assert door.history == ["open", "close", "lock"]

    def test_invalid(self):
        door = Door()
        door.fire("lock")
        with pytest.raises(TransitionError) as caught:
            door.fire("open")
        assert caught.value.state == "locked"
        assert caught.value.event == "open"
        assert door.history == ["lock"]

    def test_table(self):
        assert Door.TRANSITIONS["open", "close"] == "closed"
        assert ("open", "lock") not in Door.TRANSITIONS


@pytest.mark.parametrize("text, value", [("1+2*3", 7), ("(1+2)*3", 9), ("8/4/2", 1.0),
                                         ("10 - 3", 7)])
def test_normal_values(text, value):
    assert evaluate(text) == value


@pytest.mark.parametrize("text", ["", "1+", "(1", "1 2", "a"])
def test_invalid_text(text):
    with pytest.raises(SyntaxError):
        evaluate(text)


def test_tokens():
    assert list(tokenize("12+3")) == [("number", 12), ("operator", "+"), ("number", 3)]
    with pytest.raises(ZeroDivisionError):
        evaluate("1/0")
