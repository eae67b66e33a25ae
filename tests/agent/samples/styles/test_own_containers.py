# SPDX-License-Identifier: Apache-2.0
"""Style: classes derived from list, dict, str and int."""
import pytest

from own_containers import Celsius, Config, Even, Slug, Stack


def test_list():
    stack = Stack([1])
    stack.push(2)
    assert stack == [1, 2]
    assert stack.pop() == 2
    assert stack.peek() == 1
    assert len(stack) == 1 and stack[0] == 1
    assert isinstance(stack, Stack)


def test_dict():
    config = Config(a=1)
    config["b"] = 2
    assert config == {"a": 1, "b": 2}
    assert config.b == 2
    assert set(config.keys()) == {"a", "b"}
    with pytest.raises(AttributeError):
        config.c


def test_text_and_numbers():
    slug = Slug("Hello World")
    assert slug == "hello-world"
    assert slug.title_text() == "Hello World"
    assert slug.startswith("hello") and isinstance(slug, str)
    assert Celsius(100).to_fahrenheit() == 212
    assert Celsius(20) == 20.0
    assert Even(4) + 1 == 5
    with pytest.raises(ValueError):
        Even(3)
