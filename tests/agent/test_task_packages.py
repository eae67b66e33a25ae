# SPDX-License-Identifier: Apache-2.0
"""Packages of a task: what contract, code and operator want is installed before anything runs, from a
local index; what cannot be had is told to the model (S0-09)."""
import json
import signal
import threading
import urllib.parse

import pytest
import task
from lib import indexes
from task import Agent, contract, file, rule

HALVES = "def half(number):\n    return number // 2\n"
USES = "import halves\n\nprint(halves.half(84))\n"
ALONE = "print(84 // 2)\n"

LIBRARY = '''"""Quarters."""
import halves


def quarter(number: int) -> int:
    """Half of a half."""
    if number % 4:
        raise ValueError("no multiple of four")
    return halves.half(halves.half(number))
'''

TESTS = '''"""Tests of quarters."""
import halves
import pytest

from quarter import quarter


@pytest.mark.normal
def test_eight():
    assert quarter(8) == 2 == halves.half(4)


@pytest.mark.edge
def test_zero():
    assert quarter(0) == 0


@pytest.mark.invalid
def test_six():
    with pytest.raises(ValueError):
        quarter(6)


@pytest.mark.stress
def test_large():
    assert quarter(4 * 10**40) == 10**40
'''


@pytest.fixture
def index(place):
    with indexes.PythonIndex() as server:
        server.add("halves", text=HALVES)
        yield server


def answers(first, mended=None, when="could not be installed", **keys):
    rules = [rule(contract("answer", files=["main.py"], **keys), system=task.PLANS)]
    if mended:
        rules.append(rule(file("main.py", mended), system=task.SHORT, when=when))
    return [*rules, rule(file("main.py", first), system=task.SHORT)]


def events(done, kind):
    return [event for event in done.events if event["event"] == kind]


def test_what_code_imports_is_installed_before_it_runs(place, index):
    agent = Agent(place, answers(USES)).installing(index)
    done = agent.call("--jsonl", "half of 84", code=0)
    assert done.document["answer"] == "42" and done.document["attempts"] == 1
    (told,) = events(done, "packages")
    assert [(entry["name"], entry["version"]) for entry in told["packages"]] == [("halves", "1.0")]
    assert told["install"]["cached"] is False and told["failed"] is None and told["text"] == "halves 1.0"
    assert done.document["dependencies"]["packages"] == told["packages"]
    assert events(done, "installing")[0]["text"] == "halves" and events(done, "waiting") == []
    assert any("Successfully installed halves" in event["text"] for event in events(done, "installer"))
    assert "installed before anything runs" in task.prompts(agent.folder(), "code")[0]
    index.close()
    again = agent.call("--jsonl", "half of 84", code=0)
    assert events(again, "packages")[0]["install"]["cached"] is True and again.document["answer"] == "42"


def test_what_the_contract_names_is_in_the_boxes_of_a_librarys_tests(place, index):
    names = [{"name": "quarter", "signature": "(number: int) -> int", "raises": ["ValueError"]}]
    agent = Agent(place, [
        rule(contract("library", files=["quarter.py"], module="quarter.py", names=names, packages=["halves>=1"]),
             system=task.PLANS),
        rule(file("test_quarter.py", TESTS), system=task.TESTS),
        rule(file("quarter.py", LIBRARY), system=task.CODES),
        rule("It quarters.", system=task.EXPLAINS)]).installing(index)
    done = agent.call("--jsonl", "--max-attempts", "1", "quarters", code=0)
    assert done.document["outcome"] == "passed", done
    assert len(events(done, "packages")) == 1 and index.fetched("halves") == 1


def test_modules_of_the_program_itself_are_not_packages(place, index):
    main = "import halves\nfrom parts import third\n\nprint(halves.half(third.third(252)))\n"
    parts = "def third(number):\n    return number // 3\n"
    agent = Agent(place, [
        rule(contract("answer", files=["main.py", "halves.py", "parts/third.py", "parts/__init__.py"]),
             system=task.PLANS),
        rule(file("main.py", main) + file("halves.py", HALVES) + file("parts/third.py", parts)
             + file("parts/__init__.py", ""), system=task.SHORT)]).installing(index)
    done = agent.call("--jsonl", "a sixth of 252", code=0)
    assert done.document["answer"] == "42" and done.document["dependencies"] is None
    assert index.asked == [] and events(done, "packages") == []


@pytest.mark.parametrize("imports, name, words", [
    ("import frobnicate_all\n", "no_such_package", "the index has no such package"),
    ("import left, right\n", "conflict", "exclude each other"),
], ids=["no such package", "conflict"])
def test_what_cannot_be_installed_is_a_diagnosis_that_the_model_mends(place, index, imports, name, words):
    index.add("base", "1.0")
    index.add("base", "2.0")
    index.add("left", needs=["base<2"])
    index.add("right", needs=["base>=2"])
    agent = Agent(place, answers(imports + USES, mended=USES)).installing(index)
    done = agent.call("--jsonl", "half of 84", code=0)
    assert done.document["answer"] == "42" and done.document["attempts"] == 2
    first, second = events(done, "packages")
    assert first["failed"]["name"] == name and words in first["failed"]["message"]
    assert second["failed"] is None and [entry["name"] for entry in second["packages"]] == ["halves"]
    feedback = task.inputs(agent.folder())[2]["execution_feedback"]
    assert words in feedback and "They are not installed in this box; available: " in feedback


def test_an_index_that_cannot_be_reached_is_a_diagnosis_too(place, index):
    agent = Agent(place, answers(USES, mended=ALONE)).installing(index)
    agent.env["PIP_RETRIES"] = "0"
    index.close()
    done = agent.call("--jsonl", "half of 84", code=0)
    assert done.document["answer"] == "42" and done.document["attempts"] == 2
    assert done.document["dependencies"] is None or done.document["dependencies"]["packages"] is None
    assert events(done, "packages")[0]["failed"]["name"] == "unreachable"


def test_a_package_that_only_the_contract_wants_does_not_keep_code_from_passing(place, index):
    agent = Agent(place, answers(USES, packages=["frobnicate-all"])).installing(index)
    done = agent.call("--jsonl", "half of 84", code=0)
    assert done.document["answer"] == "42" and done.document["attempts"] == 1
    assert events(done, "packages")[-1]["failed"]["wanted"].startswith("frobnicate")


def test_the_operator_turns_it_off_and_lists_what_there_is(place, index):
    """--install no: what code wants is not there; what --package lists is."""
    agent = Agent(place, answers(USES, mended=ALONE, when="not installed in this box")).installing(index)
    done = agent.call("--jsonl", "--install", "no", "half of 84", code=0)
    assert done.document["attempts"] == 2 and index.asked == [] and events(done, "packages") == []
    done = agent.call("--jsonl", "--install", "no", "--package", "halves==1.0", "half of 84", code=0)
    assert done.document["attempts"] == 1 and index.fetched("halves") == 1


def test_a_package_of_the_operators_that_cannot_be_had_is_the_operators_error(place, index):
    agent = Agent(place, answers(USES)).installing(index)
    done = agent.call("--package", "frobnicate-all", "half of 84")
    assert done.code in (2, 125) and "the index has no such package" in done.said, done
    done = agent.call("--package", "; rm -rf /", "half of 84", code=2)
    task.one_line(done, "--package")


def test_packages_of_npm(place):
    with indexes.NodeRegistry() as registry:
        registry.add("halves", files={"index.js": "exports.half = n => n / 2\n"})
        code = "const { half } = require('halves')\nconsole.log(half(84))\n"
        agent = Agent(place, [rule(contract("answer", files=["main.js"], language="javascript"), system=task.PLANS),
                              rule(file("main.js", code), system=task.SHORT)]).installing(registry)
        done = agent.call("--jsonl", "--memory", "1g", "half of 84", code=0)
        assert done.document["answer"] == "42", done
        assert events(done, "packages")[0]["packages"][0]["kind"] == "node"


# ---- lives -------------------------------------------------------------------------------------

def test_a_task_that_is_killed_while_it_installs_ends_as_it_would_have(place, index):
    index.gate = threading.Event()
    agent = Agent(place, answers(USES)).installing(index)
    process = agent.start("--jsonl", "half of 84")
    lines = [json.loads(process.stdout.readline())]
    while lines[-1]["event"] != "installing":
        lines.append(json.loads(process.stdout.readline()))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    index.gate.set()
    done = agent.run("--resume", lines[0]["name"])
    assert done.document["answer"] == "42" and done.document["attempts"] == 1


def test_what_was_installed_is_remembered_recorded_and_replayed(place, index):
    """Killed behind the installation, its cache gone: it is had again, and nobody is asked twice."""
    agent = Agent(place, answers(USES)).installing(index)
    first = agent.run("--record", "all.rec", "half of 84")
    process = agent.start("--jsonl", "half of 84")
    lines = [json.loads(process.stdout.readline())]
    while lines[-1]["event"] != "packages":
        lines.append(json.loads(process.stdout.readline()))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = agent.run("--resume", lines[0]["name"])
    assert done.document["answer"] == "42"
    index.close()
    agent.env["GLOVEBOX_BACKEND"] = "disabled"
    again = agent.run("--replay", "all.rec", before=["unshare", "-n"])
    assert task.timeless(again.document) == task.timeless(first.document)


def test_a_search_names_the_library_and_the_version_that_the_boxes_have(place, index):
    """Of the contract's wish and of what only the code imports; the index has more than one version."""
    index.add("halves", "1.4.2", text=HALVES)
    index.add("thirds", "0.3", text="class ThirdError(ValueError):\n    pass\n")
    fails = "import halves\nimport thirds\n\n# %d\nraise thirds.ThirdError('no third')\n"
    rules = task.program_rules(planned=task.program(packages=["halves>=1.1"]))
    rules[:0] = [rule(file("count.py", fails % n), system=task.CODES, seed=n) for n in (1, 2, 3)]
    with task.web([]) as (url, seen):
        agent = Agent(place, rules).installing(index)
        agent.env["SEARXNG_URL"] = url
        agent.run("--max-attempts", "3", "--max-steps", "1", task.TASK, code=1)
    query = urllib.parse.unquote_plus(seen[0])
    assert "q=python halves 1.4.2 thirds 0.3 thirds.ThirdError" in query, seen
