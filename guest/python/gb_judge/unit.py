# SPDX-License-Identifier: Apache-2.0
"""Tests written for unittest, run by unittest itself."""
from __future__ import annotations

import unittest

from .asserts import short_repr
from .minipytest import Skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Problem = tuple  # (phase, exception)


class _Result(unittest.TestResult):
    """Keeps the first problem as the exception it was."""

    def __init__(self) -> None:
        super().__init__()
        self.problem: Problem | None = None

    def _note(self, phase: str, error: BaseException) -> None:
        self.problem = self.problem or (phase, error)

    def addError(self, test: Any, err: Any) -> None:
        self._note("call" if isinstance(test, unittest.TestCase) else "setup", err[1])

    def addFailure(self, test: Any, err: Any) -> None:
        self._note("call", err[1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._note("call", err[1])

    def addSkip(self, test: Any, reason: str) -> None:
        self._note("setup", Skipped(reason))

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._note("call", Skipped("fails as expected"))

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._note("call", AssertionError("the test is marked expectedFailure and passes"))


class _Failure(AssertionError):
    """What every assertion of unittest raises."""

    _judge_assert_: dict[str, str] = {}


_Failure.__name__ = "AssertionError"
unittest.TestCase.failureException = _Failure


def _telling(name: str) -> None:
    """Lets an assertion of unittest carry both of its values."""
    plain = getattr(unittest.TestCase, name)

    def tell(self: Any, first: Any, second: Any, *args: Any, **kwargs: Any) -> None:
        try:
            plain(self, first, second, *args, **kwargs)
        except self.failureException as error:
            if not error._judge_assert_:
                error._judge_assert_ = {"actual": short_repr(first), "expected": short_repr(second)}
            raise

    setattr(unittest.TestCase, name, tell)


for _name in ("assertEqual", "assertAlmostEqual", "assertIs", "assertIn", "assertCountEqual",
              "assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual"):
    _telling(_name)


def run_case(case: unittest.TestCase) -> Problem | None:
    """One method with setUpModule, setUpClass and setUp around it."""
    result = _Result()
    unittest.TestSuite([case]).run(result)
    return result.problem
