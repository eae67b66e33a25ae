# SPDX-License-Identifier: Apache-2.0
"""The examples of the Python client, run as they are."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lib import place as places

CLIENT = places.ROOT / "clients/python"
EXAMPLES = CLIENT / "examples"


def run(python, name):
    done = subprocess.run([python, EXAMPLES / name], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(CLIENT / "src"),
                               "LANGSMITH_TRACING": "false"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_S2_30_the_refiner_loop():
    assert run(sys.executable, "refiner.py") == ("attempt 1: nonzero\nattempt 2: ok\n"
                                                 "2432902008176640000\n")


def test_S2_30_the_refiner_loop_of_adde(desk, monkeypatch):
    """Its workspace has the program in it, and stays."""
    monkeypatch.delenv("ADDE_BIN", raising=False)
    assert run(sys.executable, "adde_refiner.py") == ("attempt 1: exit code 1\nattempt 2: exit code 0\n"
                                                      "2432902008176640000\n")
    (workspace,) = desk.tmp.glob("adde-workspace-*")
    assert "n = 20" in (workspace / "main.py").read_text()
    shutil.rmtree(workspace)


def test_S2_30_a_langgraph_agent(langgraph_bin):
    assert run(langgraph_bin / "python", "langgraph_agent.py") == (
        "The squares are [1, 4, 9, 16, 25, 36, 49, 64, 81, 100].\n")


def test_S3_01_an_autogen_agent(autogen_bin):
    assert run(autogen_bin / "python", "autogen_agent.py") == "The sum is 5050.\n"


def test_every_example_is_tested_and_named():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    listed = (EXAMPLES / "README.md").read_text()
    tested = Path(__file__).read_text()
    assert names and all(f"`{name}`" in listed for name in names)
    programs = names - {"scripted_model.py"}  # which is the model of both agents
    assert all(f'"{name}"' in tested for name in programs)
