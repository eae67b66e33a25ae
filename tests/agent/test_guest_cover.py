# SPDX-License-Identifier: Apache-2.0
"""Statement coverage of the tested code, told on the server's own stream."""
import json

import guest_pair
import pytest

CODE = '''"""Words."""
import os


def sign(number):
    """More words."""
    if number < 0:
        return -1
    elif number == 0:
        return 0
    return (1
            + 0)


def never():
    try:
        return 1
    except ValueError:
        return 2
'''

TESTS = "import target\n\n\ndef test_it():\n    assert target.sign({}) == {}\n"


def report(verdict):
    lines = [line for line in verdict.server_err.splitlines() if line.startswith("COVER ")]
    assert len(lines) == 1, verdict
    return json.loads(lines[0][len("COVER "):])["cover"]["target.py"]


@pytest.mark.parametrize("fresh", [True, False], ids=["forked", "alone"])
@pytest.mark.parametrize("number, value, ran", [(-3, -1, [2, 5, 7, 8, 15]),
                                                (4, 1, [2, 5, 7, 9, 11, 15])])
def test_statements_that_ran(judge, number, value, ran, fresh):
    verdict = judge(CODE, TESTS.format(number, value), server=("--fork", "--cover", "COVER"),
                    fresh=fresh)
    assert verdict.only()["outcome"] == "passed", verdict
    found = report(verdict)
    assert found["statements"] == [2, 5, 7, 8, 9, 10, 11, 15, 16, 17, 18, 19]
    assert found["ran"] == ran


def test_code_in_threads_counts(judge):
    verdict = judge("import threading\n\n\ndef work():\n    x = 1\n\n\ndef go():\n"
                    "    t = threading.Thread(target=work)\n    t.start()\n    t.join()\n",
                    "import target\n\n\ndef test_it():\n    target.go()\n",
                    server=("--fork", "--cover", "COVER"))
    assert 5 in report(verdict)["ran"]


def test_without_the_option_nothing_is_said(judge):
    verdict = judge(CODE, TESTS.format(1, 1))
    assert verdict.server_err == ""


def test_a_file_that_is_no_python_hurts_nobody(judge):
    verdict = judge({"target.py": "value = 1\n", "broken.py": "def (\n"},
                    "import target\n\n\ndef test_it():\n    assert target.value == 1\n",
                    server=("--fork", "--cover", "COVER"))
    assert report(verdict) == {"statements": [1], "ran": [1]}
    assert guest_pair.SAMPLES.exists()
