#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Do delivered tests pass under the real pytest?  python3 -I pytest_compat.py [--ini] DIR

DIR is laid out as it is delivered: the code, and beside it the tests or a directory of them.
Prints {"pytest": version, "exit": status, "results": {id: outcome}}; {"pytest": null} where pytest
is not installed.  The code runs in one process with the tests here: this says that the delivered
files work for people, and is no verdict.

--ini prints the pytest.ini to deliver: it lets tests in a directory of their own import the code,
and names the marks of the four classes.
"""
from __future__ import annotations

import json
import os
import sys
from typing import Any

INI = """[pytest]
pythonpath = .
markers =
    normal: the usual cases
    edge: cases at the limits
    invalid: input that must be refused
    stress: large or long cases
"""


class Collector:
    """A plugin that keeps the outcome of each test."""

    def __init__(self) -> None:
        self.results: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        worse = report.when != "call" and report.outcome != "passed"
        if report.when == "call" or worse:
            outcome = "error" if worse and report.outcome == "failed" else report.outcome
            self.results[report.nodeid] = outcome


def run(folder: str) -> dict[str, Any]:
    try:
        import pytest
    except ImportError:
        return {"pytest": None}
    os.chdir(folder)
    # The report is ours: what pytest and the code print goes elsewhere.
    report_fd = os.dup(1)
    os.dup2(2, 1)
    collector = Collector()
    status = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", folder, "."],
                         plugins=[collector])
    os.dup2(report_fd, 1)
    return {"pytest": pytest.__version__, "exit": int(status), "results": collector.results}


def main(argv: list[str]) -> None:
    if argv[:1] == ["--ini"]:
        sys.stdout.write(INI)
        return
    if len(argv) != 1 or not os.path.isdir(argv[0]):
        sys.exit("pytest_compat: name the delivered directory")
    sys.dont_write_bytecode = True
    report = run(os.path.abspath(argv[0]))
    os.write(1, (json.dumps(report) + "\n").encode())
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
