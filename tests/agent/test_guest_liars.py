# SPDX-License-Identifier: Apache-2.0
"""Objects of the tested code that answer for themselves: what they say fails the test, or keeps it
from counting; the same test of honest code counts."""
import guest_pair
import pytest

LIARS = '''
import time

class Number(float):
    __sub__ = __rsub__ = __mod__ = lambda self, other: 0.0

class Thing:
    __sub__ = __rsub__ = __mod__ = lambda self, other: 0.0

    def __getattr__(self, name):
        return lambda *_: True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return True

class Slow:
    told = False

    def __str__(self):
        if self.told:
            time.sleep(60)
        self.told = True
        return "slow"

def mean(values):
    return Number(7)

def thing():
    return Thing()

def text():
    return Thing()

def refuse():
    raise ValueError(Slow())

def swallow(function):
    for guess in (1, 7):
        try:
            return function(guess)
        except BaseException:
            pass

picked = None

def pick():
    global picked
    picked = Thing()
    return picked

def __getattr__(name):
    if name == "FIRST":
        return picked
    raise AttributeError(name)
'''

HONEST = '''
class Block:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

def mean(values):
    return sum(values) / len(values)

def thing():
    return Block()

def text():
    return "abc"

def swallow(function):
    return function(7)

FIRST = Block()

def pick():
    return FIRST
'''

# What tests look like -> does it count for honest code?  The rest is only noticed there too.
TESTS = {
    "assert target.mean([1, 2]) == pytest.approx(1.5)": True,
    "assert pytest.approx(1.5) == target.mean([1, 2])": True,
    "assert 1.5 == pytest.approx(target.mean([1, 2]))": True,
    "assert abs(target.mean([1, 2]) - 1.5) < 1e-9": True,
    "assert abs(1.5 - target.mean([1, 2])) < 1e-9": True,
    "assert target.mean([2, 4]) % 3 == 0": True,
    "unittest.TestCase().assertAlmostEqual(target.mean([1, 2]), 1.5)": True,
    "assert target.text().startswith('ab')": True,
    "assert target.text().isalpha()": True,
    "with target.thing():\n        assert 1 == len(target.text())": None,
    "target.swallow(check_by_fail)": True,
    "target.swallow(check_by_unittest)": True,
    "target.swallow(check_by_context)": True,
    "assert target.pick() is target.FIRST": False,
}

HEAD = '''
import unittest
import pytest
import target

def check_by_fail(value):
    if value != 7:
        pytest.fail("want 7")

def check_by_unittest(value):
    unittest.TestCase().assertTrue(value == 7)

def check_by_context(value):
    with unittest.TestCase().assertRaises(ValueError):
        if value == 7:
            raise ValueError

'''


def counts(verdict):
    result = verdict.only()
    return result["outcome"] == "passed" and result["counts"] is True


@pytest.mark.parametrize("text", TESTS)
def test_liars_make_no_test_count(judge, text):
    verdict = judge(LIARS, f"{HEAD}def test_it():\n    {text}\n")
    assert not counts(verdict), verdict


@pytest.mark.parametrize("text", [text for text in TESTS if TESTS[text] is not None])
def test_honest_code_passes(judge, text):
    verdict = judge(HONEST, f"{HEAD}def test_it():\n    {text}\n")
    assert verdict.only()["outcome"] == "passed", verdict
    assert counts(verdict) == TESTS[text], verdict


def test_block_swallows_no_failed_assert(judge):
    verdict = judge(LIARS, '''
import target

def test_with():
    with target.thing():
        assert 1 == 2

async def test_async_with():
    async with target.thing():
        assert 1 == 2

def test_own():
    with target.thing():
        raise AssertionError("told")
''')
    assert verdict.outcomes == {"test_with": "failed", "test_async_with": "failed",
                                "test_own": "passed"}, verdict


def test_failed_assert_of_a_helper_cannot_be_swallowed(judge):
    verdict = judge(LIARS, {"test_it.py": '''
from unittest.mock import Mock
import helper
import target

def test_helper():
    target.swallow(helper.check)

def test_library():
    target.swallow(lambda _: Mock().assert_called_once())

def test_own():
    def refuse(_):
        raise AssertionError("told")
    target.swallow(refuse)
''', "helper.py": "def check(value):\n    assert value == 7, 'want 7'\n"})
    assert verdict.outcomes == {"test_helper": "failed", "test_library": "failed",
                                "test_own": "passed"}, verdict


def test_text_of_an_exception_takes_no_longer_than_it_may(judge):
    result = judge(LIARS, "import target\n\ndef test_it():\n    target.refuse()\n").only()
    assert (result["outcome"], result["exception"]) == ("failed", "ValueError"), result


@pytest.mark.parametrize("text", [
    "def test_it():\n    yield\n    assert 0\n",
    "async def test_it():\n    yield\n    assert 0\n",
    "import unittest\nclass TestIt(unittest.TestCase):\n"
    "    async def test_it(self):\n        assert 0\n",
])
def test_body_that_never_runs_is_an_error(judge, text):
    assert judge("", text).only()["outcome"] == "error"


@pytest.mark.parametrize("value", ["object()", "map(str, [1])", "zip('a', 'b')", "enumerate('a')",
                                   "memoryview(b'a')", "collections.ChainMap({1: 2})"])
def test_objects_of_the_library_are_objects(judge, value):
    verdict = judge(f"import collections\nVALUE = {value}\n\ndef get():\n    return VALUE\n", '''
from target import VALUE, get

def test_it():
    assert get() is VALUE
''')
    assert verdict.only()["outcome"] == "passed" and not verdict.flags, verdict


def test_code_does_not_learn_which_test_calls(judge):
    verdict = judge('''
def names(function):
    told = [function.__qualname__, repr(function), function.__module__]
    return [text for text in told if "telling" in text]

def bound(method):
    told = [repr(method), method.__qualname__, method.__name__]
    return [text for text in told if "telling" in text]
''', '''
import target

def test_telling():
    def inner():
        pass

    class Thing:
        def method(self):
            pass

    assert target.names(inner) == []
    assert target.bound(Thing().method) == []
''')
    assert verdict.only()["outcome"] == "passed", verdict


def test_runner_is_not_lent_when_it_lies_below_the_tests(place):
    """Tests at the top of the workspace: the runner's own directory is below theirs."""
    folder = place.base / "judged"
    guest_pair.lay_out(folder, {"target.py": "def peek(thing):\n    return thing.expected\n"}, {})
    (folder / "test_it.py").write_text('''
import pytest
import target

def test_it():
    target.peek(pytest.approx(5))
''')
    verdict = guest_pair.judge_beside(folder, "target", "test_it.py")
    assert verdict.only()["outcome"] == "needs_together", verdict
