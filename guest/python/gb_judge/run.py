# SPDX-License-Identifier: Apache-2.0
"""Runs one test and says how it ended."""
from __future__ import annotations

import io
import os
import signal
import sys
import time
from functools import partial
from types import FrameType

from . import minipytest
from .asserts import short_repr
from .collect import Item
from .doubles import Guard
from .echo import Sink, text_stream
from .fixtures import Setup, argument_names
from .proxies import NeedsTogether
from .wire import Interruption, Lost, TooLarge, Violation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Result = dict[str, Any]

MESSAGE_MAX = 4000
OUTPUT_MAX = 2000
AGAIN_SECONDS = 0.2
TELL_SECONDS = 2.0  # to put into words what went wrong: that asks the tested code
GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x200


# Flags that keep a passed test from counting.
SUSPECT = frozenset({"handle_equality", "handle_order", "refused", "swallowed", "together",
                     "unnamed_type", "violation", "xpassed"})


class TimeLimit(Interruption):
    """The test took too long."""


# Exceptions that are not simply a failure -> (outcome, flag).  The first that fits counts.
OUTCOMES: list[tuple[type[BaseException], str, str]] = [
    (TimeLimit, "timeout", ""),
    (NeedsTogether, "needs_together", ""),
    (Lost, "server_lost", ""),
    (Violation, "failed", "violation"),
    (TooLarge, "error", "too_large"),
    (minipytest.Skipped, "skipped", ""),
    (minipytest.XFailed, "skipped", "xfailed"),
]


class Alarm:
    """The test's own limit; rings again when the test swallows it."""

    def __init__(self) -> None:
        self._on = False
        self.rang = False
        signal.signal(signal.SIGALRM, self._ring)

    def start(self, seconds: float) -> None:
        self._on, self.rang = True, False
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)

    def stop(self) -> None:
        self._on = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, _: int, __: FrameType | None) -> None:
        if self._on:
            self.rang = True
            raise TimeLimit("the test took longer than its limit")


class Surroundings:
    """What a test finds around itself: captured output, directories, the guard."""

    def __init__(self, root: str, peer: Any) -> None:
        self.out, self.err = Sink(), Sink()
        self.peer = peer
        self.guard = Guard(peer)
        self._root = root
        self._directories = 0
        self._streams = (io.StringIO(""), text_stream(self.out, "strict"),
                         text_stream(self.err, "backslashreplace"))

    def __enter__(self) -> Surroundings:
        self._before = sys.stdin, sys.stdout, sys.stderr
        sys.stdin, sys.stdout, sys.stderr = self._streams
        return self

    def __exit__(self, *_: Any) -> None:
        sys.stdin, sys.stdout, sys.stderr = self._before

    def new_directory(self) -> Any:
        """Its name says nothing: the tested code sees it."""
        from pathlib import Path
        while os.path.exists(f"{self._root}/d{self._directories}"):
            self._directories += 1
        path = Path(self._root) / f"d{self._directories}"
        path.mkdir(parents=True)
        return path

    @staticmethod
    def settle(value: Any) -> Any:
        """What a function gave; a coroutine is run to its end."""
        if type(value).__name__ == "coroutine":
            import asyncio
            return asyncio.run(value)
        return value


def run_item(item: Item, around: Surroundings, alarm: Alarm, seconds: float) -> Result:
    """{id, class, line, outcome, message, flags, duration_ms, …}."""
    result: Result = {"id": item.id, "class": item.kind, "line": item.line, "outcome": "passed",
                      "message": "", "flags": []}
    flags: set[str] = set()
    start = time.monotonic()
    with around:
        alarm.start(seconds)
        try:
            problem = _run(item, around)
        except TimeLimit as late:
            problem = ("call", late)
        try:
            alarm.stop()
        except TimeLimit as late:
            problem = ("call", late)
    result["duration_ms"] = round((time.monotonic() - start) * 1000, 3)
    if alarm.rang and not (problem and isinstance(problem[1], TimeLimit)):
        problem = ("call", TimeLimit("the test took longer than its limit"))
    if problem:
        describe_in_time(alarm, result, flags, item.module.__file__ or "", *problem)
        result["output"] = (around.out.take() + around.err.take())[-OUTPUT_MAX:]
    _judge_expectation(result, flags, item, problem)
    if around.peer is not None:
        flags |= around.peer.flags
        flags |= {"refused"} if around.peer.lending.refused else set()
    result["flags"] = sorted(flags)
    result["counts"] = result["outcome"] == "passed" and not flags & SUSPECT
    return result


def _run(item: Item, around: Surroundings) -> tuple[str, BaseException] | None:
    """(phase, exception) of what went wrong, or None."""
    reason = _skip_reason(item)
    if reason is not None:
        return "setup", minipytest.Skipped(reason)
    if _never_runs(item):
        return "setup", TypeError("the test is a generator or coroutine that nobody runs")
    if item.is_unittest:
        problem = _run_unittest(item, around)
    else:
        problem = _run_function(item, around)
    return problem or _afterthought(around)


def _afterthought(around: Surroundings) -> tuple[str, BaseException] | None:
    """A test that has passed: was anything swallowed, and is the tested code still alive?"""
    peer = around.peer
    if peer is None:
        return None
    if peer.lending.failed_assert is not None:
        return "call", peer.lending.failed_assert
    try:
        if peer.link.dead:
            raise peer.link.dead
        peer.ask("bye")
    except BaseException as error:
        return "call", error
    return None


def _run_function(item: Item, around: Surroundings) -> tuple[str, BaseException] | None:
    phase, problem = "setup", None
    instance = None
    setup = None
    try:
        instance = _instance(item)
        setup = Setup(item, instance, around)
        _hooks(item, instance, setup)
        for definition in list(item.fixtures.values()):
            if definition.autouse:
                setup.get(definition.name)
        for mark in item.marks:
            for name in mark.args if mark.name == "usefixtures" else ():
                setup.get(name)
        names = argument_names(item.function, item.owner is not None)
        arguments = {name: setup.get(name) for name in names}
        phase = "call"
        around.settle(getattr(instance, item.name.partition("[")[0])(**arguments)
                      if instance is not None else item.function(**arguments))
    except BaseException as error:
        problem = (phase, error)
    try:
        if setup:
            setup.close()
    except BaseException as error:
        problem = problem or ("teardown", error)
    return problem


def _never_runs(item: Item) -> bool:
    """Calling it would only make a generator, and pass."""
    flags = getattr(item.function, "__code__").co_flags
    asynchronous = getattr(sys.modules.get("unittest"), "IsolatedAsyncioTestCase", ())
    if item.is_unittest and flags & COROUTINE and not issubclass(item.owner, asynchronous):
        return True
    return bool(flags & (GENERATOR | ASYNC_GENERATOR))


def _instance(item: Item) -> Any:
    return item.owner() if item.owner is not None else None


def _hooks(item: Item, instance: Any, setup: Setup) -> None:
    """setup_module, setup_class, setup_method and their counterparts."""
    places: list[tuple[Any, str, Any]] = [(item.module, "module", item.module)]
    if instance is None:
        places.append((item.module, "function", item.function))
    else:
        places += [(item.owner, "class", None), (instance, "method", item.function)]
    for owner, kind, argument in places:
        before = getattr(owner, f"setup_{kind}", None)
        after = getattr(owner, f"teardown_{kind}", None)
        if before is not None:
            _call_hook(before, argument)
        if after is not None:
            setup.finalizers.append(partial(_call_hook, after, argument))


def _call_hook(hook: Callable, argument: Any) -> None:
    inner = getattr(hook, "__func__", hook)
    takes = inner.__code__.co_argcount - (1 if inner is not hook else 0)
    hook(argument) if takes and argument is not None else hook()


def _run_unittest(item: Item, around: Surroundings) -> tuple[str, BaseException] | None:
    from .unit import run_case
    instance = item.owner(item.name)
    setup = Setup(item, instance, around)
    problem = None
    try:
        for definition in list(item.fixtures.values()):
            if definition.autouse:
                setup.get(definition.name)
        problem = run_case(instance)
    except BaseException as error:
        problem = ("setup", error)
    try:
        setup.close()
    except BaseException as error:
        problem = problem or ("teardown", error)
    return problem


def _skip_reason(item: Item) -> str | None:
    for mark in item.marks:
        if mark.name == "skip":
            return str(mark.kwargs.get("reason") or (mark.args[0] if mark.args else "skip"))
        if mark.name == "skipif" and any(map(_condition, mark.args)):
            return str(mark.kwargs.get("reason", "skipif"))
    return None


def _condition(value: Any) -> bool:
    if isinstance(value, str):
        return bool(eval(value, {"os": os, "sys": sys}))  # the test's own text, as in pytest
    return bool(value)


def _judge_expectation(result: Result, flags: set[str], item: Item,
                       problem: tuple[str, BaseException] | None) -> None:
    """A test that is marked to fail is no pass when it does, and only strict when it does not."""
    mark = next((mark for mark in item.marks if mark.name == "xfail"), None)
    if mark is None or mark.kwargs.get("run", True) is False:
        return
    if mark.args and not any(map(_condition, mark.args)):
        return
    if result["outcome"] == "passed":
        flags.add("xpassed")
        if mark.kwargs.get("strict"):
            result.update(outcome="failed", message="the test is marked xfail(strict) and passes")
    elif result["outcome"] == "failed":
        wanted = mark.kwargs.get("raises")
        if wanted is None or problem and isinstance(problem[1], wanted):
            flags.add("xfailed")
            result["outcome"] = "skipped"


def describe_in_time(alarm: Alarm, result: Result, flags: set[str], path: str, phase: str,
                     error: BaseException) -> None:
    try:
        alarm.start(TELL_SECONDS)
        describe(result, flags, path, phase, error)
        alarm.stop()
    except TimeLimit:
        alarm.stop()
        result["message"] = f"{type(error).__name__}, which takes too long to tell"


def describe(result: Result, flags: set[str], path: str, phase: str, error: BaseException) -> None:
    """The outcome of an exception, in words and values.  The path is the test file's."""
    result["outcome"] = "failed" if phase == "call" else "error"
    for kind, outcome, flag in [*OUTCOMES, (_skip_test(), "skipped", "")]:
        if isinstance(error, kind):
            result["outcome"] = outcome
            flags |= {flag} - {""}
            break
    result["phase"] = phase
    result["exception"] = type(error).__name__
    result["message"] = message_of(error)
    about = getattr(error, "_judge_assert_", None)
    if isinstance(about, dict):
        result.update((key, about[key]) for key in ("expected", "actual", "source") if key in about)
    line = _line_in(error, path)
    if line:
        result["line"] = line
    trace = getattr(error, "_judge_trace_", "")
    if isinstance(trace, str) and trace:
        result["where"] = trace[:MESSAGE_MAX]


def message_of(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as worse:
        text = f"<{type(worse).__name__}>"
    if isinstance(error, (AssertionError, minipytest.Outcome, Interruption)):
        return text[:MESSAGE_MAX] or short_repr(error)
    return f"{type(error).__name__}: {text}"[:MESSAGE_MAX]


def _skip_test() -> type[BaseException]:
    case = sys.modules.get("unittest.case")
    return case.SkipTest if case else minipytest.Skipped


def _line_in(error: BaseException, path: str) -> int:
    line = 0
    step = error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename == path:
            line = step.tb_lineno
        step = step.tb_next
    return line
