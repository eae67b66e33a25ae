# SPDX-License-Identifier: Apache-2.0
"""Libraries and their tests: the user's files where they work, tests that do not load, tests that skip."""
import pytest

import task
from task import Agent, contract, file, rule

NAMES = [{"name": "total", "signature": "(path: str) -> int", "raises": ["OSError", "ValueError"]}]
CODE = '''"""Sums of files."""


def total(path: str) -> int:
    """The sum of the numbers in a file, one a line."""
    with open(path, encoding="utf-8") as lines:
        return sum(int(line) for line in lines)
'''
HEAD = '''"""Tests of sums."""
import pytest

from sums import total
'''
TESTS = HEAD + '''
WANTED = sum(int(line) for line in open("in/rates.txt"))


@pytest.mark.normal
def test_the_code_finds_the_file():
    assert total("in/rates.txt") == WANTED == 42


@pytest.mark.normal
def test_the_test_finds_it_too():
    with open("in/rates.txt") as lines:
        assert [int(line) for line in lines] == [20, 22]


@pytest.mark.edge
def test_a_file_of_the_tests_own(tmp_path):
    (tmp_path / "empty").write_text("")
    assert total(str(tmp_path / "empty")) == 0


@pytest.mark.edge
def test_a_file_in_its_place(monkeypatch):
    import os
    os.remove("in/rates.txt")
    with open("in/rates.txt", "w") as out:
        out.write("7\\n")
    assert total("in/rates.txt") == 7


@pytest.mark.invalid
def test_the_users_file_is_not_written_to():
    with pytest.raises(OSError):
        open("in/rates.txt", "w")
    assert total("in/rates.txt") == 42


@pytest.mark.stress
def test_often():
    for _ in range(100):
        assert total("in/rates.txt") == 42


@pytest.mark.edge
def test_together_with_the_code(monkeypatch):
    import sums
    monkeypatch.setattr(sums, "int", lambda line: 1, raising=False)
    assert total("in/rates.txt") == 2
'''
PLAIN = HEAD + '''

def written(tmp_path, text):
    (tmp_path / "f").write_text(text)
    return str(tmp_path / "f")


@pytest.mark.normal
def test_numbers(tmp_path):
    assert total(written(tmp_path, "1\\n2\\n")) == 3


@pytest.mark.edge
def test_nothing(tmp_path):
    assert total(written(tmp_path, "")) == 0


@pytest.mark.invalid
def test_a_word(tmp_path):
    with pytest.raises(ValueError):
        total(written(tmp_path, "x\\n"))


@pytest.mark.stress
def test_many(tmp_path):
    assert total(written(tmp_path, "1\\n" * 5000)) == 5000
'''


def rules(tests, mended=None, **words):
    """Mended: what the tester says when asked again; words: how that is told apart."""
    again = [rule(file("test_sums.py", mended), system=task.TESTS, **words)] if mended else []
    return [rule(contract("library", files=["sums.py"], module="sums.py", names=NAMES), system=task.PLANS), *again,
            rule(file("test_sums.py", tests), system=task.TESTS), rule(task.ruling("code"), system=task.RULES),
            rule(file("sums.py", CODE), system=task.CODES), rule("It adds.", system=task.EXPLAINS)]


def results(done):
    return {test["id"].partition("::")[2]: test["result"] for test in done.document["tests"]}


def test_an_input_is_where_tests_and_code_work(place):
    (place.cwd / "rates").write_text("20\n22\n")
    done = Agent(place, rules(TESTS)).run("--file", "rates:in/rates.txt", "sums of files")
    assert done.document["outcome"] == "passed", done
    assert set(results(done).values()) == {"passed"} and len(results(done)) == 7
    assert [test["id"] for test in done.document["tests"] if test["together"]] == [
        "test_sums.py::test_together_with_the_code"]
    assert done.document["coverage"] == 1 and done.document["mutation_score"] == 1


BROKEN = {
    "syntax": (PLAIN + "def test_(:\n", "invalid syntax"),
    "an import": (PLAIN.replace("import pytest\n", "import pytest\nimport no_such_thing\n"), "no_such_thing"),
    "an error": (PLAIN + "\nraise RuntimeError('not today')\n", "not today"),
    "an end": (PLAIN + "\nimport os\nos._exit(0)\n", "they end the process that loads them"),
    "no class": (PLAIN + "\n\ndef test_more():\n    pass\n", "has none of the marks"),
    "no test": (HEAD, "there is no test"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_tests_that_do_not_load_go_back_to_the_tester(place, what):
    broken, words = BROKEN[what]
    agent = Agent(place, rules(broken, PLAIN, when=words))
    done = agent.run("sums of files")
    assert done.document["outcome"] == "passed", done
    asked = task.prompts(agent.folder(), "tests")
    assert len(asked) == 2 and words not in asked[0] and words in asked[1], asked
    assert done.document["test_files"][0]["text"] == PLAIN


def test_tests_that_never_load_make_no_pass(place):
    agent = Agent(place, rules(BROKEN["an error"][0]))
    done = agent.run("--max-steps", "2", "sums of files", code=1)
    assert done.document["outcome"] != "passed" and not done.document["tested"], done
    assert done.document["reason"], done


SKIPS = {
    "by a mark": '@pytest.mark.skip(reason="not today")\n@pytest.mark.normal\ndef test_more():\n    assert total("x") == 1\n',
    "by a condition": '@pytest.mark.skipif(True, reason="so")\n@pytest.mark.normal\ndef test_more():\n    assert True\n',
    "by a call": '@pytest.mark.normal\ndef test_more():\n    pytest.skip("not today")\n',
    "by an expected failure": '@pytest.mark.xfail\n@pytest.mark.normal\ndef test_more():\n    assert total("no file") == 1\n',
}


@pytest.mark.parametrize("how", SKIPS)
def test_a_skip_is_no_pass(place, how):
    done = Agent(place, rules(f"{PLAIN}\n\n{SKIPS[how]}")).run("--max-attempts", "1", "--max-steps", "1", "sums of files", code=1)
    assert done.document["outcome"] == "failed", done
    assert results(done).pop("test_more") == "skipped"
    assert [name for name, result in results(done).items() if result != "passed"] == ["test_more"]


def test_a_whole_file_that_skips_has_no_test(place):
    skips = PLAIN.replace("import pytest\n", "import pytest\npytest.skip('not here', allow_module_level=True)\n")
    agent = Agent(place, rules(skips, PLAIN, when="do not load: not here"))
    assert agent.run("sums of files").document["outcome"] == "passed"
    assert len(task.prompts(agent.folder(), "tests")) == 2


def test_the_best_of_several_is_measured(place):
    done = Agent(place, rules(PLAIN)).run("--candidates", "2", "sums of files")
    assert done.document["matrix"]["chosen"] == 1 and done.document["coverage"] == 1, done
