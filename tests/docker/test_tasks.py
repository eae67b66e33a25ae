# SPDX-License-Identifier: Apache-2.0
"""`glovebox run --backend docker`: tasks whose boxes are containers of a real engine."""
import json
import subprocess
import sys

import pytest

from lib import debian, host, indexes
from lib import place as places

sys.path.append(str(places.ROOT / "tests/cli"))  # scripts.py: rules of scripted models
import scripts

IMAGE = "python:test"


@pytest.fixture(scope="module")
def image(shared_engine):
    debian.import_python(shared_engine.engine, IMAGE)
    return IMAGE


@pytest.fixture
def run(docker, image, place):
    """A task to its end: its document."""
    def run(rules, *words, code=0, env=None):
        desk = scripts.Desk(place, rules)
        command = desk.words("run", "--json", "--backend", "docker", "--image", image, *words)
        done = subprocess.run(command, capture_output=True, cwd=place.cwd, stdin=subprocess.DEVNULL,
                              env={**desk.env, **docker.environment, **(env or {})}, timeout=240, check=False)
        assert done.returncode == code, done
        return json.loads(done.stdout)
    return run


def test_a_program_is_mended_in_containers(run):
    document = run(scripts.mended_rules(), "adds the numbers of its lines")
    assert (document["outcome"], document["attempts"], document["coverage"]) == ("passed", 2, 1), document
    assert {test["result"] for test in document["tests"]} == {"passed"} and len(document["tests"]) == 5


def test_a_library_meets_its_tests_in_pairs_of_containers(run):
    document = run(scripts.library_rules(), "a library for durations")
    assert document["outcome"] == "passed", document
    assert (document["coverage"], document["mutation_score"], len(document["tests"])) == (1, 1, 6)


def test_a_cheat_is_tampered_there_too(run):
    cheat = "import os\n\n\ndef parse(text: str) -> int:\n    os._exit(0)\n"
    rules = [rule.replace(scripts.LIBRARY, cheat) for rule in scripts.library_rules()]
    document = run(rules, "--max-attempts", "1", "--max-steps", "1", "a library for durations", code=1)
    assert document["outcome"] == "tampered" and "ended" in document["reason"], document


def test_the_last_run_is_in_the_users_container_and_tests_are_not(run, docker, place):
    """What an answer's program leaves the next task of the same user finds, and nobody else's."""
    notes = scripts.answer_rules("print(open('notes').read())\nopen('notes', 'a').write('x')\n")
    first = [rule.replace("print(open('notes').read())", "print('first')") for rule in notes]
    try:
        assert run(first, "--user", "ada", "note it")["answer"] == "first"
        document = run(notes, "--user", "ada", "what was noted?")
        assert (document["answer"], document["user"]) == ("x", "ada")
        assert host.until(lambda: len(docker.containers()) == 1, within=30), docker.containers()
        run(notes, "--user", "bob", "--max-attempts", "1", "--max-steps", "1", "what was noted?", code=1)
    finally:
        desk = scripts.Desk(place, notes)
        for user in ("ada", "bob"):
            subprocess.run([str(places.binary()), "box", "rm", "--user", user], env={**desk.env, **docker.environment},
                           check=False, timeout=60)


@pytest.fixture
def layers(docker):
    """Volumes of layers go with their test."""
    def found():
        return {name for name in docker.volumes() if name.startswith("glovebox-layer-")}
    before = found()
    yield
    assert host.until(docker.is_clean, within=30)
    for name in found() - before:
        docker.engine.ask("DELETE", f"/volumes/{name}")


def test_what_code_imports_is_installed_in_a_container_before_it_runs(run, place, layers):
    """The second task finds it in the cache, without an index."""
    rules = scripts.answer_rules("import halves\nprint(halves.half(84))\n")
    with indexes.PythonIndex() as index:
        index.add("halves", text="def half(n):\n    return n // 2\n")
        env = {**index.env(), "GLOVEBOX_INSTALL": "yes", "GLOVEBOX_CACHE_DIR": str(place.base / "cache")}
        document = run(rules, "half of 84", env=env)
        assert (document["answer"], document["attempts"]) == ("42", 1), document
        (package,) = document["dependencies"]["packages"]
        assert (package["name"], package["version"], index.fetched("halves")) == ("halves", "1.0", 1)
    assert run(rules, "half of 84", env=env)["answer"] == "42"
