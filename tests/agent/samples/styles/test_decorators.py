# SPDX-License-Identifier: Apache-2.0
"""Style: decorators of the tested code on functions of the test."""
import pytest

from decorators import checked, memoize, retry, timed


def test_retry():
    calls = []

    @retry(times=3)
    def flaky():
        """Fails twice."""
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError("down")
        return "up"

    assert flaky() == "up"
    assert len(calls) == 3
    assert flaky.__name__ == "flaky"
    assert flaky.__doc__ == "Fails twice."


def test_retry_gives_up():
    @retry(2, exceptions=(ValueError,))
    def broken(kind):
        raise kind("always")

    with pytest.raises(ValueError, match="always"):
        broken(ValueError)
    with pytest.raises(KeyError):
        broken(KeyError)


def test_memoize():
    calls = []

    @memoize
    def square(number):
        calls.append(number)
        return number * number

    assert [square(3), square(3), square(4)] == [9, 9, 16]
    assert calls == [3, 4]
    assert square.cache == {(3,): 9, (4,): 16}


def test_memoized_recursion():
    @memoize
    def fibonacci(number):
        return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

    assert fibonacci(30) == 832040


def test_timed():
    @timed
    def work(a, b=2):
        return a + b

    assert work(1) == 3
    assert work.elapsed >= 0


def test_annotations():
    @checked
    def repeat(text: str, count: int):
        return text * count

    assert repeat("a", 2) == "aa"
    with pytest.raises(TypeError, match="count must be int"):
        repeat("a", "b")
