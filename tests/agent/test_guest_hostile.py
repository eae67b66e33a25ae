# SPDX-License-Identifier: Apache-2.0
"""Bytes from the box of the tested code are hostile: whatever comes, the test does not pass, and
the runner says so in order."""
import guest_pair
import pytest

TESTS = {"test_it.py": """
import target

def test_value():
    assert target.value == 5
    assert target.value == 5
"""}

# An honest import, then what the case says to the first question for `value`.
BEGIN = """
answer(read(), v=[[0]], heap=[["l", 0, [1, False, [1]]], ["l", 0, []]])
ABOUT = {"name": "C", "module": "m", "kind": "", "hash": "identity", "bases": [], "operators": [],
         "abcs": []}
question = read()
"""
HEAPS = {
    "reference to nowhere": "[[7]], []",
    "negative reference": "[[-1]], [['l', 0, []]]",
    "strange reference": "[[0, 0]], [['l', 0, []]]",
    "reference by text": "[['0']], [['l', 0, []]]",
    "object as value": "[{}], []",
    "no values": "[], []",
    "values that are no list": "5, []",
    "heap that is no list": "[[0]], {}",
    "unknown tag": "[[0]], [['zz', 1]]",
    "empty node": "[[0]], [[]]",
    "node that is no list": "[[0]], ['l']",
    "tag that is no text": "[[0]], [[1, 2]]",
    "tuple in itself": "[[0]], [['t', [[0]]]]",
    "unhashable key": "[[0]], [['d', 0, [[[1]], [1]]], ['l', 0, []]]",
    "keys without values": "[[0]], [['d', 0, [[1], []]]]",
    "set of lists": "[[0]], [['s', 0, [[1]]], ['l', 0, []]]",
    "twin nobody knows": "[[0]], [['=', 9]]",
    "twin without number": "[[0]], [['l', 'x', []]]",
    "bad base64": "[[0]], [['b', 'é']]",
    "bad integer": "[[0]], [['i', 'zz']]",
    "float in words": "[[0]], [['f', '5.0']]",
    "unknown constant": "[[0]], [['const', 'exit']]",
    "class that is none": "[[0]], [['ty', 'builtins.eval']]",
    "class of a strange module": "[[0]], [['ty', 'antigravity.geohash']]",
    "class that may not be named": "[[0]], [['ty', 'subprocess.Popen']]",
    "rebuilt from nothing": "[[0]], [['v', 'os.system', ['true']]]",
    "rebuilt wrongly": "[[0]], [['v', 'datetime.date', [1, 2]]]",
    "date that is none": "[[0]], [['v', 'datetime.date', [99999, 1, 1]]]",
    "unknown class": "[[0]], [['C', 99]]",
    "class without description": "[[0]], [['C', 9, 5]]",
    "class with half a description": "[[0]], [['C', 9, {'name': 'C'}]]",
    "class with an unknown operator": "[[0]], [['C', 9, {**ABOUT, 'operators': ['__class__']}]]",
    "class with a strange base": "[[0]], [['C', 9, {**ABOUT, 'bases': [5]}]]",
    "class that is its own base": "[[0]], [['C', 9, {**ABOUT, 'bases': [[0]]}]]",
    "class with no name": "[[0]], [['C', 9, {**ABOUT, 'name': ''}]]",
    "object without class": "[[0]], [['h', 5]]",
    "object of a plain class": "[[0]], [['h', 5, [1], None], ['ty', 'builtins.int']]",
    "exception that is none": "[[0]], [['x', 5, [1], [], '', '', None, []], "
                              "['ty', 'builtins.int']]",
    "value of another type": "[[0]], [['w', 5, [1], 'text'], ['C', 9, {**ABOUT, 'bases': [[2]]}], "
                             "['ty', 'builtins.int']]",
    "member of no enumeration": "[[0]], [['e', 5, [1], 'A', 1], ['C', 9, ABOUT]]",
    "never lent": "[[0]], [['k', 12345]]",
}

LINES = {
    "no JSON": "say(b'hello\\n')",
    "empty line": "say(b'\\n')",
    "a number": "say(b'5\\n')",
    "an array": "say(b'[]\\n')",
    "two objects": "say(b'{}{}\\n')",
    "not a number": "say(b'{\"t\":0,\"i\":2,\"v\":[NaN]}\\n')",
    "no thread": "say({'i': question['i'], 'v': [5]})",
    "unknown thread": "say({'i': question['i'], 't': 77, 'v': [5]})",
    "another number": "say({'i': 999, 't': 0, 'v': [5]})",
    "two answers": "answer(question, v=[4]); answer(question, v=[5])",
    "zero bytes": "say(b'\\0' * 100 + b'\\n')",
    "latin letters": "say('{\"é\":1}\\n'.encode('latin-1'))",
    "deeply nested": "say(b'[' * 500000 + b'\\n')",
    "too many parts": "say(b'{\"t\":0,\"i\":2,\"v\":[' + b'[],' * 1100000 + b'0]}\\n')",
    "a huge number": "say(b'{\"t\":0,\"i\":2,\"v\":[' + b'9' * 100000 + b']}\\n')",
    "question of no kind": "say({'do': 'exec', 'n': 0, 'name': '', 'i': 1, 't': 0, 'v': []})",
    "question about nothing": "say({'do': 'call', 'n': 7, 'name': '', 'i': 1, 't': 0, 'v': []})",
    "question without number": "say({'do': 'call', 'name': '', 'i': 1, 't': 0, 'v': []})",
    "wish for a strange input": "say({'do': 'stdin', 'n': 0, 'name': 'close', 'i': 1, 't': 0, "
                                "'v': [1]})",
    "gives back what was not lent": "answer(question, v=[5], drop=[[1, 1]])",
    "strange drop": "answer(question, v=[5], drop=[1])",
    "output that is no text": "answer(question, v=[5], out=5)",
    "warnings without category": "answer(question, v=[5], warnings=['x'])",
    "warning that is none": "answer(question, v=[5, [0]], warnings=['x'], "
                            "heap=[['ty', 'builtins.ValueError']])",
    "records that are none": "answer(question, v=[5], logs=[[1, 2, 3]])",
    "error that is none": "answer(question, v=[5], error=1)",
    "file that leaves": "answer(question, v=[5], files=[['f', '../../evil', 420, '']])",
    "absolute file": "answer(question, v=[5], files=[['f', '/etc/evil', 420, '']])",
    "file of no kind": "answer(question, v=[5], files=[['s', 'link', 420, '/etc/passwd']])",
    "files that are none": "answer(question, v=[5], files=5)",
    "the end": "sys.exit()",
    "half a line and the end": "say(b'{\"t\":0'); sys.exit()",
}


def check(verdict, *outcomes):
    assert verdict.ended and verdict.runner_status == 0 and not verdict.strange, verdict
    result = verdict.only()
    assert result["outcome"] in outcomes, verdict
    return result


@pytest.mark.parametrize("case", HEAPS)
def test_value_that_cannot_be(case, place):
    script = f"{BEGIN}\nvalues, heap = {HEAPS[case]}\nanswer(question, v=values, heap=heap)\nread()"
    verdict = guest_pair.judge_against(place.base / "judged", script, TESTS)
    assert "violation" in check(verdict, "failed")["flags"], verdict


@pytest.mark.parametrize("case", LINES)
def test_line_that_cannot_be(case, place):
    verdict = guest_pair.judge_against(place.base / "judged", f"{BEGIN}\n{LINES[case]}\nread()",
                                       TESTS)
    check(verdict, "failed", "server_lost")


def test_the_honest_form_of_these_cases_passes(place):
    """Else the cases above would prove nothing."""
    script = f"{BEGIN}\nanswer(question, v=[5])\nanswer(read(), v=[5])\nanswer(read())"
    verdict = guest_pair.judge_against(place.base / "judged", script, TESTS)
    check(verdict, "passed")


@pytest.mark.parametrize("script", ["while True: say(b'x' * 65536)", "import time; time.sleep(60)",
                                    "while True: say({'t': 0, 'i': 1, 'v': [5], 'heap': []})"],
                         ids=["flood without lines", "silence", "flood of answers"])
def test_endless(script, place):
    verdict = guest_pair.judge_against(place.base / "judged", BEGIN + script, TESTS, "--limit", "1")
    check(verdict, "failed", "timeout")


def test_files_are_written_below_the_root_only(place):
    """A link that the test made leads nowhere for the other side."""
    outside = place.base / "outside"
    outside.mkdir()
    tests = {"test_it.py": f"""
import os
import target

def test_value():
    os.symlink({str(outside)!r}, "link")
    assert target.value == 5
"""}
    script = f"{BEGIN}\nanswer(question, v=[5], files=[['f', 'link/evil', 420, 'eA==']])\nread()"
    verdict = guest_pair.judge_against(place.base / "judged", script, tests)
    check(verdict, "failed")
    assert list(outside.iterdir()) == []
