# SPDX-License-Identifier: Apache-2.0
"""tools/eval counts right: with a model whose answers are known."""
import json
import subprocess

import pytest
from lib import pace
from lib import place as places

SCRIPT = """\
answer
    system: You plan
<<<
{"action": "code", "reason": "a library", "contract": {"kind": "library", "language": "python", "summary": "palindromes",
"files": ["words.py"], "module": "words.py", "names": [{"name": "is_palindrome", "signature": "(text: str) -> bool"}]}}
>>>
answer
    system: You write tests
<<<
File: test_words.py
~~~python
import pytest
from words import is_palindrome


@pytest.mark.normal
def test_one():
    assert is_palindrome("abba")


@pytest.mark.normal
def test_other():
    assert not is_palindrome("abc")


@pytest.mark.edge
def test_empty():
    assert is_palindrome("")


@pytest.mark.invalid
def test_nothing():
    with pytest.raises(TypeError):
        is_palindrome(None)


@pytest.mark.stress
def test_long():
    assert is_palindrome("a" * 100000)
~~~
>>>
answer
    system: You write code
<<<
File: words.py
~~~python
def is_palindrome(text):
    return text == text[::-1]
~~~
>>>
answer
    system: You explain
<<<
It compares a text with itself backwards.
>>>
answer
<<<
```python
def is_palindrome(text):
    %s
```
>>>
"""


CASES = [
    pytest.param("return text == text[::-1]", True, id="right"),
    pytest.param("return int(text == text[::-1])", False, id="of another kind"),
    pytest.param("import json, sys; print(json.dumps([True] * 5)); sys.exit(0)", False, id="claimed"),
    pytest.param("return True", False, id="wrong"),
    pytest.param("while True: pass", False, id="endless"),
]


@pytest.mark.parametrize("shot,solved", CASES[:pace.count(2, len(CASES))])
def test_a_task_is_solved_when_its_values_are_right(place, shot, solved):
    script = place.base / "model.script"
    script.write_text(SCRIPT % shot)
    report = place.base / "report.json"
    done = subprocess.run([places.ROOT / "tools/eval", places.binary(), "--model", f"scripted/{script}", "--tasks", "1",
                           "--candidates", "2", "--seconds", "60", "--json", report],
                          capture_output=True, text=True, cwd=place.cwd, timeout=300)
    assert done.returncode == 0, done.stderr
    ways = json.loads(report.read_text())["ways"]
    assert {way: found["is_palindrome"]["solved"] for way, found in ways.items()} == \
        {"one shot": solved, "loop": True, "best of 2": True}, done.stdout
