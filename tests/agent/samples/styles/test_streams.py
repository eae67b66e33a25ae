# SPDX-License-Identifier: Apache-2.0
"""Style: generators: next, list, send, close, laziness."""
import inspect
import itertools
import types

import pytest

from streams import chunks, closing, countdown, naturals, running_mean, take


def test_list_and_next():
    assert list(countdown(3)) == [3, 2, 1]
    stream = countdown(1)
    assert next(stream) == 1
    with pytest.raises(StopIteration):
        next(stream)
    assert next(countdown(0), None) is None


def test_is_lazy():
    assert list(itertools.islice(naturals(), 5)) == [0, 1, 2, 3, 4]
    assert isinstance(naturals(), types.GeneratorType)
    assert inspect.isgenerator(naturals())


def test_send():
    mean = running_mean()
    next(mean)
    assert mean.send(10) == 10
    assert mean.send(20) == 15


def test_chunks():
    assert list(chunks([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    with pytest.raises(ValueError):
        list(chunks([1], 0))


def test_close():
    log = []
    stream = closing(log)
    next(stream)
    stream.close()
    assert list(stream) == []


def test_takes_our_iterators():
    assert take(3, (number * number for number in itertools.count())) == [0, 1, 4]
    assert take(2, iter("abc")) == ["a", "b"]
    assert take(2, naturals()) == [0, 1]
    assert take(9, map(str, [1, 2])) == ["1", "2"]
