# SPDX-License-Identifier: Apache-2.0
"""What cannot be refused, only noticed: special-cased inputs, equality that the code decides."""
import json
import subprocess

import guest_pair
import pytest

SUSPECTS = guest_pair.SAMPLES / "suspects"
# sample -> what is noticed
NOTICED = {
    "chain": "special_cases",
    "pairs": "special_cases",
    "nested_chain": "special_cases",
    "equal_objects": "handle_equality",
    "table": "special_cases",
}


def hints(folder):
    words = [guest_pair.PYTHON, "-I", guest_pair.GUEST / "judge_check.py", folder / "code"]
    done = subprocess.run(words, capture_output=True, check=True, timeout=guest_pair.PATIENCE)
    return {hint["kind"] for hint in json.loads(done.stdout)["hints"]}


@pytest.mark.parametrize("name", NOTICED)
def test_they_are_noticed(name, place):
    folder = place.base / "judged"
    tests = "test_equal_objects.py" if name == "equal_objects" else "test_suspect.py"
    verdict = guest_pair.judge(folder, {"suspect.py": (SUSPECTS / f"{name}.py").read_text()},
                               {"test_it.py": (SUSPECTS / tests).read_text()})
    assert verdict.only()["outcome"] == "passed", verdict
    noticed = hints(folder) | verdict.flags
    assert noticed == {NOTICED[name]}
