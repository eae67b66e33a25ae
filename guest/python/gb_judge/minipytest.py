# SPDX-License-Identifier: Apache-2.0
"""The small `pytest` that tests import in the judge's box.

The names of the real one that tests of a library use, with the same meaning; the delivered tests
pass under the real one too.  Fixtures and collection are in collect.py and fixtures.py.
"""
from __future__ import annotations

import sys
from math import isinf, isnan
from types import TracebackType

from .wire import Interruption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

__version__ = "0 (glovebox)"


class Outcome(BaseException):
    """How a test ends by its own word."""

    def __init__(self, msg: str = "", **_: Any) -> None:
        super().__init__(msg)
        self.msg = msg


class Skipped(Outcome):
    pass


class Failed(Outcome):
    _judge_assert_: dict[str, str] = {}  # as every failure of a test has


class XFailed(Outcome):
    pass


def skip(reason: str = "", *, allow_module_level: bool = False, msg: str = "") -> None:
    raise Skipped(reason or msg)


def fail(reason: str = "", pytrace: bool = True, msg: str = "") -> None:
    raise Failed(reason or msg)


def xfail(reason: str = "") -> None:
    raise XFailed(reason)


def exit(reason: str = "", returncode: int | None = None) -> None:
    raise Failed(f"the test wants to end the whole run: {reason}")


skip.Exception, fail.Exception, xfail.Exception = Skipped, Failed, XFailed


def importorskip(name: str, minversion: str | None = None, reason: str | None = None) -> Any:
    try:
        __import__(name)
    except ImportError:
        raise Skipped(reason or f"no module named '{name}'") from None
    return sys.modules[name]


# Exceptions and warnings.
class ExceptionInfo:
    """What `with pytest.raises(…) as info` gives."""

    def __init__(self, value: BaseException | None = None) -> None:
        self._value = value

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    @property
    def value(self) -> BaseException:
        assert self._value is not None, "the block has not ended yet"
        return self._value

    @property
    def type(self) -> Any:
        return type(self.value)

    @property
    def typename(self) -> str:
        return self.type.__name__

    @property
    def tb(self) -> TracebackType | None:
        return self.value.__traceback__

    def match(self, pattern: Any) -> bool:
        _match(pattern, str(self.value), "the exception's text")
        return True

    def errisinstance(self, kinds: Any) -> bool:
        return isinstance(self.value, kinds)

    def exconly(self, tryshort: bool = False) -> str:
        return f"{self.typename}: {self.value}"

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"<ExceptionInfo {self._value!r}>"


def _search(pattern: Any, text: str) -> Any:
    import re
    return re.search(pattern, text)


def _match(pattern: Any, text: str, what: str) -> None:
    if not _search(pattern, text):
        error = AssertionError(f"{what} does not match {pattern!r}: {text[:1000]!r}")
        error._judge_assert_ = {"actual": repr(text[:2000]), "expected": f"match for {pattern!r}"}
        raise error


class _Raises:
    def __init__(self, expected: Any, match: Any) -> None:
        kinds = expected if isinstance(expected, tuple) else (expected,)
        for kind in kinds:
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise TypeError(f"expected an exception type, not {kind!r}")
        self._expected, self._pattern = kinds, match
        self._info = ExceptionInfo()

    def __enter__(self) -> ExceptionInfo:
        return self._info

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        names = " or ".join(cls.__name__ for cls in self._expected)
        if kind is None:
            error = Failed(f"DID NOT RAISE {names}")
            error._judge_assert_ = {"actual": "no exception", "expected": names}
            raise error
        if issubclass(kind, Interruption) or not issubclass(kind, self._expected):
            return False
        self._info._value = value
        if self._pattern is not None:
            self._info.match(self._pattern)
        return True


def raises(expected_exception: Any, *args: Any, match: Any = None, **kwargs: Any) -> Any:
    if not args:
        return _Raises(expected_exception, match)
    with _Raises(expected_exception, match) as info:
        args[0](*args[1:], **kwargs)
    return info


class WarningsRecorder:
    """What was warned of while it was open."""

    def __init__(self) -> None:
        import warnings
        self._catch = warnings.catch_warnings(record=True)
        self.list: list[Any] = []

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    def __enter__(self) -> WarningsRecorder:
        import warnings
        self.list = self._catch.__enter__()
        warnings.simplefilter("always")
        return self

    def __exit__(self, *error: Any) -> None:
        self._catch.__exit__(*error)

    def __len__(self) -> int:
        return len(self.list)

    def __iter__(self) -> Any:
        return iter(self.list)

    def __getitem__(self, place: int) -> Any:
        return self.list[place]

    def pop(self, cls: type = Warning) -> Any:
        for place, record in enumerate(self.list):
            if issubclass(record.category, cls):
                return self.list.pop(place)
        raise AssertionError(f"no {cls.__name__} among the warnings")

    def clear(self) -> None:
        self.list.clear()


class _Warns(WarningsRecorder):
    def __init__(self, expected: Any, match: Any) -> None:
        super().__init__()
        self._expected, self._pattern = expected, match

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if error[0] is not None:
            return
        texts = [str(record.message) for record in self.list
                 if issubclass(record.category, self._expected)]
        if not any(_search(self._pattern or "", text) for text in texts):
            raise Failed(f"DID NOT WARN {self._expected} matching {self._pattern!r}: {texts}")


def warns(expected_warning: Any = Warning, *args: Any, match: Any = None, **kwargs: Any) -> Any:
    if not args:
        return _Warns(expected_warning, match)
    with _Warns(expected_warning, match):
        return args[0](*args[1:], **kwargs)


def deprecated_call(*args: Any, **kwargs: Any) -> Any:
    return warns((DeprecationWarning, PendingDeprecationWarning), *args, **kwargs)


# Numbers that are nearly equal.
class approx:
    def __init__(self, expected: Any, rel: Any = None, abs: Any = None,
                 nan_ok: bool = False) -> None:
        self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, actual: Any) -> bool:
        return self._near(actual, self.expected)

    def __ne__(self, actual: Any) -> bool:
        return not self == actual

    __hash__ = None

    def __repr__(self) -> str:
        return f"approx({self.expected!r} ± {self._tolerance(self.expected)})"

    def _near(self, actual: Any, expected: Any) -> bool:
        if isinstance(expected, dict):
            return (isinstance(actual, dict) and actual.keys() == expected.keys()
                    and all(self._near(actual[key], expected[key]) for key in expected))
        if isinstance(expected, (list, tuple)):
            return (isinstance(actual, (list, tuple)) and len(actual) == len(expected)
                    and all(map(self._near, actual, expected)))
        return self._near_number(actual, expected)

    def _near_number(self, actual: Any, expected: Any) -> bool:
        actual, expected = _plain_number(actual), _plain_number(expected)
        if not _is_number(expected) or not _is_number(actual):
            return _is_plain(actual) and actual == expected
        if isinstance(expected, complex) or isinstance(actual, complex):
            return abs(actual - expected) <= self._tolerance(expected)
        if isnan(expected) or isnan(actual):
            return self.nan_ok and isnan(expected) and isnan(actual)
        if isinf(expected) or isinf(actual):
            return actual == expected
        tolerance = self._tolerance(expected)
        if "Decimal" in (type(expected).__name__, type(actual).__name__):
            from decimal import Decimal
            return abs(Decimal(actual) - Decimal(expected)) <= Decimal(tolerance)
        return actual == expected or abs(actual - expected) <= tolerance

    def _tolerance(self, expected: Any) -> Any:
        absolute = 1e-12 if self.abs is None else self.abs
        if self.rel is None and self.abs is not None or not _is_number(expected):
            return absolute
        relative = (1e-6 if self.rel is None else self.rel) * abs(
            expected if isinstance(expected, complex) else float(expected))
        return max(relative, absolute)


def _is_plain(value: Any) -> bool:
    return not hasattr(type(value), "_judge_number_")


def _plain_number(value: Any) -> Any:
    """Of a number of the tested code's own class the plain one: its operators are not asked."""
    if not _is_plain(value):
        for kind, plain in ((int, int.__index__), (float, float.__float__),
                            (complex, complex.__pos__)):
            if isinstance(value, kind):
                return plain(value)
    return value


def _is_number(value: Any) -> bool:
    if isinstance(value, (int, float, complex)):
        return True
    return type(value).__name__ in ("Decimal", "Fraction") and _is_plain(value)


# Marks and fixtures.
class Mark:
    def __init__(self, name: str, args: tuple = (), kwargs: dict | None = None) -> None:
        self.name, self.args, self.kwargs = name, args, kwargs or {}


class MarkDecorator:
    def __init__(self, mark: Mark) -> None:
        self.mark = mark

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and (isinstance(args[0], type) or _is_function(args[0])):
            target = args[0]
            own = target.__dict__.get("pytestmark", []) if isinstance(target, type) \
                else getattr(target, "pytestmark", [])
            target.pytestmark = [*own, self.mark]
            return target
        return MarkDecorator(Mark(self.mark.name, self.mark.args + args,
                                  {**self.mark.kwargs, **kwargs}))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mark, name)


def _is_function(value: Any) -> bool:
    return type(value).__name__ == "function" and value.__name__ != "<lambda>"


class _Marks:
    def __getattr__(self, name: str) -> MarkDecorator:
        if name.startswith("_"):
            raise AttributeError(name)
        return MarkDecorator(Mark(name))


mark = _Marks()


class ParameterSet:
    def __init__(self, values: tuple, id: Any, marks: Any) -> None:
        marks = marks if isinstance(marks, (list, tuple)) else [marks]
        self.values, self.id = values, id
        self.marks = [getattr(one, "mark", one) for one in marks]


def param(*values: Any, id: Any = None, marks: Any = ()) -> ParameterSet:
    return ParameterSet(values, id, marks)


class FixtureDefinition:
    def __init__(self, function: Callable, params: Any, autouse: bool, ids: Any, name: Any) -> None:
        self.function, self.autouse, self.ids = function, autouse, ids
        self.params = list(params) if params is not None else None
        self.name = name or function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise Failed(f"fixture '{self.name}' called directly; take it as an argument")

    def __get__(self, instance: Any, owner: Any = None) -> FixtureDefinition:
        return self


def fixture(function: Any = None, *, scope: Any = "function", params: Any = None,
            autouse: bool = False, ids: Any = None, name: str | None = None) -> Any:
    """The scope is taken and not used: every test has fresh fixtures, as it has fresh code."""
    def define(inner: Callable) -> FixtureDefinition:
        return FixtureDefinition(inner, params, autouse, ids, name)

    return define(function) if function is not None else define


yield_fixture = fixture


class _Annotation:
    """Names of the real one that stand in annotations."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


Config = Function = Item = Module = Parser = Session = TempPathFactory = _Annotation
CaptureFixture = FixtureRequest = LogCaptureFixture = TempdirFactory = Testdir = _Annotation
MonkeyPatch: Any = _Annotation  # fixtures.py puts its own here
PytestWarning = type("PytestWarning", (UserWarning,), {})
PytestUnknownMarkWarning = type("PytestUnknownMarkWarning", (PytestWarning,), {})
UsageError = type("UsageError", (Exception,), {})


def main(*_: Any, **__: Any) -> int:
    raise Failed("a test starts pytest")
