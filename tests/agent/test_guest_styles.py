# SPDX-License-Identifier: Apache-2.0
"""Usual styles of tests: which of them run unchanged with the tested code in another process."""
import json
import subprocess
import tempfile
from pathlib import Path

import guest_pair
import pytest

STYLES = guest_pair.SAMPLES / "styles"
NAMES = sorted(path.stem for path in STYLES.glob("*.py") if not path.stem.startswith("test_"))

# Styles that can only work in one process with the code, and say so.
TOGETHER = {"derived", "patched"}
# What else a style's results carry.  Everything not named here passes without any flag.
FLAGS = {
    "equal_records": {"handle_equality"},  # two objects of the code, compared by the code
    "hashing": {"handle_equality"},
    "shapes": {"handle_equality"},
    "marked": {"xfailed"},
}


def sample(name):
    return ({f"{name}.py": (STYLES / f"{name}.py").read_text()},
            {f"test_{name}.py": (STYLES / f"test_{name}.py").read_text()})


@pytest.fixture(scope="module")
def under_pytest():
    """{file: {test: outcome}} of all samples under the real pytest, code and tests side by side."""
    with tempfile.TemporaryDirectory(prefix="gbtest-styles-") as folder:
        return run_pytest(Path(folder))


def run_pytest(folder):
    for path in STYLES.glob("*.py"):
        (folder / path.name).write_text(path.read_text())
    script = guest_pair.GUEST / "pytest_compat.py"
    ini = subprocess.run([guest_pair.PYTHON, "-I", script, "--ini"], capture_output=True,
                         check=True)
    (folder / "pytest.ini").write_bytes(ini.stdout)
    done = subprocess.run([guest_pair.PYTHON, "-I", script, folder], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=guest_pair.PATIENCE, check=True)
    found = {}
    for identity, outcome in json.loads(done.stdout)["results"].items():
        file, _, name = identity.partition("::")
        found.setdefault(file, {})[name] = outcome
    return found


def test_there_are_forty_styles():
    assert len(NAMES) >= 40


@pytest.mark.parametrize("name", NAMES)
def test_style(name, place, under_pytest):
    """The same tests are found, and they end as they do under pytest; or they say why not."""
    verdict = guest_pair.judge(place.base / "judged", *sample(name))
    real = under_pytest[f"test_{name}.py"]
    assert not verdict.strange and verdict.ended, verdict
    wanted = {test: "needs_together" for test in real} if name in TOGETHER else real
    assert verdict.outcomes == wanted, verdict
    assert verdict.flags == FLAGS.get(name, set()), verdict


@pytest.mark.parametrize("name", sorted(TOGETHER | {"asynchronous", "cases", "files", "marked",
                                                    "modules", "output", "prepared", "threads"}))
def test_style_with_the_code_in_the_same_process(name, place, under_pytest):
    """What the host falls back to."""
    code, tests = sample(name)
    verdict = guest_pair.judge(place.base / "judged", code, tests, "--together", "--code", "code",
                               fresh=False)
    assert verdict.outcomes == under_pytest[f"test_{name}.py"], verdict
    assert verdict.flags - {"xfailed"} == {"together"}, verdict


@pytest.mark.parametrize("name", sorted(set(NAMES) - TOGETHER))
def test_style_notices_emptied_functions(name, place):
    """A runner that calls everything passed would be found here."""
    code, tests = sample(name)
    file = f"{name}.py"
    guest_pair.lay_out(place.base / "whole", code, {})
    words = [guest_pair.PYTHON, "-I", guest_pair.GUEST / "judge_mutate.py", "--max", "1",
             place.base / "whole" / "code" / file]
    done = subprocess.run(words, capture_output=True, check=True, timeout=guest_pair.PATIENCE)
    mutant = json.loads(done.stdout.splitlines()[0])
    assert mutant["kind"] == "empty"
    broken = {file: mutant["source"]}
    verdict = guest_pair.judge(place.base / "judged", broken, tests, "--exitfirst")
    assert set(verdict.outcomes.values()) - {"passed", "skipped"}, (mutant["function"], verdict)
