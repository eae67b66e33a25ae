# SPDX-License-Identifier: Apache-2.0
"""The judge's host side as a function: starts build/tests/agent/judge_drive.

Answers are plain dictionaries as the judge writes them; one that is refused has "code" and "error".
"""
import json
import os
import subprocess

from lib import box, place

PATIENCE = 120


def program():
    return place.binary().parent / "tests" / "agent" / "judge_drive"


def drive(contract, solutions, *deeds, **more):
    """What came of each deed: "collect", "run", "mutate", "try"."""
    solutions = solutions if isinstance(solutions, list) else [solutions]
    asked = {"contract": contract, "solutions": solutions, "do": deeds or ("collect", "run"),
             **more}
    done = subprocess.run([program()], input=json.dumps(asked).encode(), capture_output=True,
                          env=box.environment({"GLOVEBOX_UID_BASE": str(place.uid_base()),
                                               "GLOVEBOX_RUN_DIR": os.environ["GLOVEBOX_RUN_DIR"]}),
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def program_contract(language="python", files=("main.py",), **more):
    return {"kind": "program", "language": language, "files": list(files), "summary": "a program",
            **more}


def case(name, expect, kind="normal", **more):
    return {"name": name, "class": kind, "expect": expect, **more}


def judge_program(code, cases, language="python", file="main.py", contract=None, **more):
    """The one report of a program of one file."""
    code = code if isinstance(code, dict) else {file: code}
    answer = drive(contract or program_contract(language, [file]), code, cases={"cases": cases},
                   **more)
    assert isinstance(answer["run"], list), answer
    return answer["run"][0]


def results(report):
    return {row["id"]: row["result"] for row in report["tests"]}


def library_contract(*names, module="target.py"):
    return {"kind": "library", "language": "python", "files": [module], "module": module,
            "names": [{"name": name, "signature": signature} for name, signature in names],
            "summary": "a library"}


def judge_library(code, tests, *names, **more):
    """The one report of a module `target`, or the error of its tests."""
    solutions = code if isinstance(code, list) else [code]
    files = tests if isinstance(tests, dict) else {"test_it.py": tests}
    answer = drive(library_contract(*names or [("double", "(value)")]),
                   [{"target.py": one} if isinstance(one, str) else one for one in solutions],
                   tests=files, **more)
    assert "tests" in answer["collect"], answer
    assert isinstance(answer["run"], list), answer
    return answer["run"] if isinstance(code, list) else answer["run"][0]
