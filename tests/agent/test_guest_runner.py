# SPDX-License-Identifier: Apache-2.0
"""What the runner says about tests, and what stays out of reach of the code and of the tests."""
import subprocess

import guest_pair
import pytest

CODE = '''
import time

def double(value):
    return value * 2

def slow(seconds):
    time.sleep(seconds)

def call(function, *args):
    return function(*args)

def swallow(function):
    try:
        function()
    except BaseException as error:
        return [type(error).__name__, str(error)]
'''


def test_collecting_needs_no_code(place):
    tests = {"test_it.py": '''
import pytest
import target
from target import Kind, double, MyError

LIMIT = target.LIMIT + 1

class Base(target.Base):
    pass

@pytest.mark.edge
def test_a(): pass

def test_stress_many(): pass

@pytest.mark.parametrize("kind", [Kind.A, "x", 3])
@pytest.mark.invalid
def test_kinds(kind): pass

class TestGroup:
    pytestmark = pytest.mark.normal
    def test_b(self): pass

def helper(): pass
'''}
    verdict = guest_pair.collect(place.base / "judged", {"target.py": ""}, tests)
    assert [(test["id"], test["class"]) for test in verdict.tests] == [
        ("tests/test_it.py::test_a", "edge"),
        ("tests/test_it.py::test_stress_many", "stress"),
        ("tests/test_it.py::test_kinds[kind0]", "invalid"),
        ("tests/test_it.py::test_kinds[x]", "invalid"),
        ("tests/test_it.py::test_kinds[3]", "invalid"),
        ("tests/test_it.py::TestGroup::test_b", "normal"),
    ]
    assert verdict.tests[0]["line"] == 11
    assert verdict.ended and verdict.runner_status == 0


def test_tests_that_cannot_be_read_are_a_problem(place):
    verdict = guest_pair.collect(place.base / "judged", {"target.py": ""},
                                 {"test_it.py": "def test_a(:\n"})
    assert "SyntaxError" in verdict.problems[0]["message"]
    assert not verdict.ended and verdict.runner_status == 1


@pytest.mark.parametrize("statement, actual, expected", [
    ("assert double(2) == 5", "4", "5"),
    ("assert 5 == double(2)", "4", "5"),
    ("expected = [1]\n    assert expected == double(2)", "4", "[1]"),
    ("assert double('a') in {'b': 1}, 'told'", "'aa'", "{'b': 1}"),
    ("assert double(2) > 7", "4", "7"),
    ("assert not double(2)", "False", "a true value"),
    ("assert double('x' * 3000) == 1", "'" + "x" * 1999 + "…", "1"),
])
def test_failed_assert_tells_both_values(judge, statement, actual, expected):
    result = judge(CODE, f"from target import double\n\ndef test_it():\n    {statement}\n").only()
    assert (result["outcome"], result["actual"], result["expected"]) == ("failed", actual, expected)
    assert result["line"] == 4 + statement.count("\n")
    assert result["source"] in statement
    if "told" in statement:
        assert result["message"].startswith("told: ")


def test_failed_truth_tells_the_variables(judge):
    result = judge(CODE, '''
from target import double

def test_it():
    value = double(2)
    limit = 3
    assert isinstance(value, str) or value < limit
''').only()
    assert "value = 4" in result["message"] and "limit = 3" in result["message"]


def test_unittest_tells_both_values(judge):
    result = judge(CODE, '''
import unittest
from target import double

class T(unittest.TestCase):
    def test_it(self):
        self.assertEqual(double(2), 5)
''').only()
    assert (result["outcome"], result["actual"], result["expected"]) == ("failed", "4", "5")


def test_exception_tells_where_in_the_code(judge):
    result = judge("def a(x):\n    return b(x)\n\ndef b(x):\n    return 1 / x\n", '''
import target

def test_it():
    target.a(0)
''').only()
    assert result["exception"] == "ZeroDivisionError"
    assert result["message"] == "ZeroDivisionError: division by zero"
    assert result["where"] == "target.py:2 in a > target.py:5 in b"


def test_slow_test_leaves_the_others_alone(judge):
    verdict = judge(CODE, '''
import pytest
import target

def test_before(): assert target.double(1) == 2
def test_slow(): target.slow(60)

def test_stubborn():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
        else:
            break

def test_sleeps_here():
    import time
    time.sleep(60)

@pytest.mark.stress
def test_stress(): target.slow(2)

def test_after(): assert target.double(2) == 4
''', "--limit", "1.5", "--limit-stress", "20", "--id", "tests/test_it.py::test_before", "--id",
                    "tests/test_it.py::test_slow", "--id", "tests/test_it.py::test_sleeps_here",
                    "--id", "tests/test_it.py::test_stress", "--id", "tests/test_it.py::test_after")
    assert verdict.outcomes == {"test_before": "passed", "test_slow": "timeout",
                                "test_sleeps_here": "timeout", "test_stress": "passed",
                                "test_after": "passed"}


def test_swallowed_time_limit_still_counts(judge):
    verdict = judge(CODE, '''
import target

def test_it():
    try:
        target.slow(60)
    except BaseException:
        pass
''', "--limit", "0.3")
    assert verdict.only()["outcome"] == "timeout"


def test_fresh_code_for_each_test(judge):
    code = "count = 0\n\ndef up():\n    global count\n    count += 1\n    return count\n"
    verdict = judge(code, '''
import target

def test_a(): assert target.up() == 1
def test_b(): assert target.up() == 1
''')
    assert set(verdict.outcomes.values()) == {"passed"}


def test_threads_of_one_test_read_nothing_of_the_next(judge):
    verdict = judge('''
import threading

def later(function):
    threading.Timer(0, function).start()
''', '''
import threading
import pytest
import target

@pytest.mark.parametrize("number", range(20))
def test_it(number):
    rang = threading.Event()
    target.later(rang.set)
    assert rang.wait(30)
''', "--limit", "60")
    assert set(verdict.outcomes.values()) == {"passed"}, verdict


def test_skip_is_no_pass(judge):
    verdict = judge(CODE, '''
import pytest, unittest
import target

def test_skip(): pytest.skip("not now")
@pytest.mark.skip
def test_mark(): pass
@pytest.mark.xfail
def test_xfail(): assert target.double(1) == 3
@pytest.mark.xfail(strict=True)
def test_strict(): assert target.double(1) == 2
@pytest.mark.xfail
def test_xpass(): assert target.double(1) == 2
def test_importorskip(): pytest.importorskip("no_such_module")
class T(unittest.TestCase):
    def test_unit(self): raise unittest.SkipTest("x")
    @unittest.expectedFailure
    def test_expected(self): self.assertEqual(1, 2)
''')
    assert verdict.outcomes == {
        "test_skip": "skipped", "test_mark": "skipped", "test_xfail": "skipped",
        "test_strict": "failed", "test_xpass": "passed", "test_importorskip": "skipped",
        "T::test_unit": "skipped", "T::test_expected": "skipped"}
    assert verdict.results["test_xpass"]["flags"] == ["xpassed"]


def test_broken_fixture_is_an_error(judge):
    verdict = judge(CODE, '''
import pytest

@pytest.fixture
def broken(): raise RuntimeError("in fixture")

@pytest.fixture
def leaving():
    yield 1
    raise RuntimeError("on the way out")

def test_setup(broken): pass
def test_teardown(leaving): pass
def test_unknown(no_such_fixture): pass
''')
    assert verdict.outcomes == {"test_setup": "error", "test_teardown": "error",
                                "test_unknown": "error"}
    assert verdict.results["test_teardown"]["phase"] == "teardown"
    assert "no_such_fixture" in verdict.results["test_unknown"]["message"]


def test_unknown_id_is_an_error(judge):
    verdict = judge(CODE, "def test_a(): pass\n", "--id", "tests/test_it.py::test_gone")
    assert verdict.outcomes == {"test_gone": "error"}


@pytest.mark.parametrize("code, message", [
    ("def other(): pass\n", "cannot import name 'double'"),
    ("import no_such_module\n", "No module named 'no_such_module'"),
    ("def double(:\n", "SyntaxError"),
    ("raise RuntimeError('at import')\n", "RuntimeError: at import"),
])
def test_code_that_cannot_be_imported(judge, code, message):
    result = judge(code, "from target import double\n\ndef test_it(): pass\n").only()
    assert result["outcome"] == "error" and "import" in result["flags"]
    assert message in result["message"]


def test_code_that_ends_its_process(judge):
    for code in ("import os\nos._exit(0)\n", "import sys\nsys.exit(0)\n"):
        result = judge(code, "import target\n\ndef test_it(): pass\n").only()
        assert result["outcome"] in ("server_lost", "error"), result


def test_code_that_ends_after_its_answer(judge):
    verdict = judge('''
import os, threading

def value():
    threading.Timer(0.01, os._exit, (0,)).start()
    return 5
''', '''
import time
import target

def test_it():
    assert target.value() == 5
    time.sleep(3)
''')
    assert verdict.only()["outcome"] == "server_lost"


def test_end_of_the_code_satisfies_no_raises(judge):
    verdict = judge("import os\n\ndef refuse():\n    os._exit(0)\n", '''
import pytest
import target

def test_exception():
    with pytest.raises(Exception):
        target.refuse()

def test_any():
    with pytest.raises(BaseException):
        target.refuse()

def test_swallowed():
    try:
        target.refuse()
    except BaseException:
        pass
''')
    assert set(verdict.outcomes.values()) == {"server_lost"}


def test_failed_assert_in_a_callback_cannot_be_swallowed(judge):
    verdict = judge(CODE, '''
import target

def test_it():
    def check():
        assert 41 == 42
    assert target.swallow(check) == ["AssertionError", ""]

def test_own():
    def refuse():
        raise AssertionError("told")
    assert target.swallow(refuse) == ["AssertionError", "told"]
''')
    assert verdict.outcomes == {"test_it": "failed", "test_own": "passed"}


def test_lent_objects_give_no_way_to_the_runner(judge):
    verdict = judge('''
WANTED = ("_secret", "__wrapped__", "__reduce__", "assert_called_once", "configure_mock",
          "mock_calls", "assertEqual", "skipTest", "run", "id", "_testMethodName", "check", "value")

def names(thing):
    """What the other side gives; what this side's own proxy has does not count."""
    found = []
    for name in WANTED:
        try:
            type(thing)._lent_ask("get", thing._lent_number, name)
        except AttributeError:
            continue
        found.append(name)
    return found

def scope(function):
    return [name for name in function.__globals__ if not name.startswith("_")]

def overwrite(thing):
    refused = []
    for name in ("assert_called_once", "check", "_secret", "value"):
        try:
            setattr(thing, name, 7)
        except AttributeError:
            refused.append(name)
    return refused
''', '''
import unittest
from unittest.mock import Mock
import target

SECRET = "a secret"

class Thing:
    def __init__(self):
        self._secret, self.value = 1, 2
    def check(self):
        return SECRET

class Case(unittest.TestCase):
    def test_case(self):
        assert target.names(self) == []

def test_function():
    assert target.scope(lambda: SECRET) == []

def test_object():
    thing = Thing()
    assert target.names(thing) == ["check", "value"]
    assert target.overwrite(thing) == ["check", "_secret"]
    assert thing.check() == SECRET and thing._secret == 1 and thing.value == 7

def test_mock():
    mock = Mock()
    assert target.names(mock) == ["skipTest", "run", "id", "check", "value"]
    assert target.overwrite(mock) == ["assert_called_once", "check", "_secret", "value"]
    try:
        mock.assert_called_once()
    except AssertionError:
        return
    raise RuntimeError("the mock was overwritten")
''')
    assert set(verdict.outcomes.values()) == {"passed"}, verdict


def test_test_code_cannot_write_verdicts(judge):
    verdict = judge(CODE, '''
import os, subprocess, sys

LINE = b'{"kind": "result", "id": "tests/test_it.py::test_it", "outcome": "passed"}\\n'

def test_it():
    os.write(1, LINE)
    os.write(2, LINE)
    print(LINE, file=sys.__stderr__)
    print(LINE, file=sys.__stdout__)
    subprocess.run(["sh", "-c", "echo x; echo y >&2; ls -l /proc/self/fd | wc -l"])
    print(LINE)
    assert False
''')
    assert verdict.only()["outcome"] == "failed"
    assert verdict.strange == []


def test_verdict_descriptor_is_not_inherited(judge):
    verdict = judge(CODE, '''
import subprocess

def test_it():
    done = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True)
    assert done.stdout.split()[:3] == ["0", "1", "2"] and len(done.stdout.split()) == 4
''')
    assert verdict.only()["outcome"] == "passed", verdict


def test_nonce_is_in_no_variable(place):
    """Neither arguments nor environment have it, nor has the command line with --nonce-file."""
    folder = place.base / "judged"
    tests = {"test_it.py": '''
import os, sys
import pytest

def test_it():
    with open("/proc/self/cmdline") as file:
        told = file.read()
    assert "5ecret" not in told + repr(sys.argv) + repr(dict(os.environ))
'''}
    guest_pair.lay_out(folder, {}, tests)
    (folder / "nonce").write_text("5ecret\n")
    words = [guest_pair.PYTHON, "-B", "-I", guest_pair.GUEST / "judge_runner.py", "--nonce-file",
             "nonce", "--module", "target", "--together", "--code", ".", "tests/test_it.py"]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=guest_pair.PATIENCE)
    verdict = guest_pair.Verdict("5ecret", done.stderr, "", done.returncode)
    assert verdict.only()["outcome"] == "passed", verdict
    assert not (folder / "nonce").exists()


def test_tested_code_sees_nothing_of_the_tests(judge):
    """Names, values and files of tests are not on its side; its input is empty."""
    verdict = judge('''
import os, sys

def look():
    seen = {"argv": sys.argv, "modules": [name for name in sys.modules if "test" in name],
            "stdin": os.read(0, 100), "environment": [k for k in os.environ if "test" in k.lower()],
            "cwd": os.listdir("."), "read": sys.stdin.read()}
    return seen
''', '''
import target

def test_with_a_telling_name(tmp_path):
    seen = target.look()
    assert seen == {"argv": [""], "modules": [], "stdin": b"", "environment": [],
                    "cwd": ["d0"], "read": ""}
''')
    assert verdict.only()["outcome"] == "passed", verdict


def test_output_is_kept_and_bounded(judge):
    result = judge(CODE, '''
import target

def test_it():
    print("x" * 10_000_000)
    print("the end")
    raise RuntimeError("y" * 100_000)
''').only()
    assert len(result["message"]) <= 4000 and len(result["output"]) <= 2000


def test_too_much_data_is_an_error(judge):
    verdict = judge("def much():\n    return 'x' * (33 << 20)\n", '''
import target

def test_it():
    assert len(target.much()) == 33 << 20
''', "--limit", "50")
    result = verdict.only()
    assert (result["outcome"], result["flags"]) == ("error", ["too_large"]), verdict


def test_tuples_that_nest_too_deep_are_no_violation(judge):
    result = judge('''
def nest():
    value = ()
    for _ in range(20_000):
        value = (value,)
    return value
''', "import target\n\ndef test_it():\n    assert target.nest() != 5\n").only()
    assert (result["outcome"], result["flags"]) == ("error", ["too_large"]), result


def test_recursion_of_callbacks_is_bounded(judge):
    result = judge(CODE, '''
import target

def test_it():
    def again(depth):
        return target.call(again, depth + 1)
    again(0)
''', "--limit", "50").only()
    assert (result["outcome"], result["exception"]) == ("failed", "RecursionError"), result


def test_memoized_recursion_through_the_test(judge):
    """Each step is a call within a callback; plain Python goes as deep as this."""
    result = judge('''
import functools

def memoize(function):
    known = {}
    @functools.wraps(function)
    def wrapper(n):
        if n not in known:
            known[n] = function(n)
        return known[n]
    return wrapper
''', '''
import target

@target.memoize
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def test_it():
    assert fib(250) == 7896325826131730509282738943634332893686268675876375
''', "--limit", "50").only()
    assert result["outcome"] == "passed", result


def test_first_failure_ends_a_batch(judge):
    verdict = judge(CODE, '''
import target

def test_a(): assert target.double(1) == 2
def test_b(): assert target.double(1) == 3
def test_c(): assert target.double(1) == 2
''', "--exitfirst")
    assert verdict.outcomes == {"test_a": "passed", "test_b": "failed"}


def test_packages_and_several_modules(judge):
    verdict = judge({"shop/__init__.py": "from .cart import Cart\nVERSION = '1'\n",
                     "shop/cart.py": "class Cart:\n    size = 3\n",
                     "shop/deep/__init__.py": "",
                     "shop/deep/tax.py": "def tax(x):\n    return x * 2\n",
                     "other.py": "import shop\n\ndef version():\n    return shop.VERSION\n"}, '''
import other
import shop
import shop.deep.tax
from shop.cart import Cart
from shop.deep import tax as tax_module

def test_it():
    assert Cart.size == 3 and shop.Cart is Cart
    assert shop.deep.tax.tax(2) == 4 and tax_module.tax(3) == 6
    assert other.version() == "1"
''')
    assert verdict.only()["outcome"] == "passed", verdict


def test_module_named_like_one_of_the_library(judge):
    verdict = judge({"queue.py": "class Queue:\n    mine = True\n"},
                    "from queue import Queue\n\ndef test_it():\n    assert Queue.mine\n")
    assert verdict.only()["outcome"] == "passed", verdict


def test_conftest_and_modules_beside_the_tests(judge):
    verdict = judge(CODE, {"test_it.py": '''
import target
from support import values

def test_it(base):
    assert [target.double(value) for value in values()] == [base, 4]
''', "conftest.py": "import pytest\n\n@pytest.fixture\ndef base():\n    return 2\n",
                           "support.py": "def values():\n    return [1, 2]\n"})
    assert verdict.only()["outcome"] == "passed", verdict


def test_plain_data_never_equals_an_object(judge):
    verdict = judge('''
class Yes:
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __contains__ = lambda self, other: True

def make(): return Yes()
''', '''
import pytest
import target

def test_equal(): assert target.make() == 5
def test_reflected(): assert 5 == target.make()
def test_inside(): assert [target.make()] == [5]
def test_approx(): assert target.make() == pytest.approx(5)
def test_member(): assert target.make() in {5: 1}
def test_order(): assert target.make() < 5
def test_reflected_order(): assert 5 > target.make()
def test_contains(): assert 5 in target.make()
def test_two_objects(): assert target.make() == target.make()
''')
    outcomes = dict(verdict.outcomes)
    assert outcomes.pop("test_contains") == outcomes.pop("test_two_objects") == "passed"
    assert set(outcomes.values()) == {"failed"}, verdict
    assert verdict.results["test_contains"]["flags"] == ["unnamed_type"]
    assert verdict.results["test_two_objects"]["flags"] == ["handle_equality"]
    assert verdict.results["test_equal"]["flags"] == ["handle_vs_data"]
