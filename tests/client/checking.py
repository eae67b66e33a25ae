# SPDX-License-Identifier: Apache-2.0
"""Checks that run where other packages are installed, all of a file in one process.

A file of checks has functions whose names end in `_check`, each with a directory of its own as its
argument, and ends with run_here(globals()).  run_there() starts it and tells how each check ended:
starting such a process takes far longer than a check.
"""
import asyncio
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

PATIENCE = 400


def names(file):
    return re.findall(r"^(?:async )?def (\w+_check)\(", Path(file).read_text(), re.MULTILINE)


def run_here(namespace):
    """`python FILE DIR`: a line of JSON for each check."""
    for name in names(namespace["__file__"]):
        here = Path(sys.argv[1], name)
        here.mkdir()
        error = None
        try:
            done = namespace[name](here)
            if done is not None:
                asyncio.run(done)
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"name": name, "error": error}), flush=True)


def run_there(python, file, **variables):
    """{name: error or None}; of a check that was not reached, the end of what the process said."""
    from lib import ledger as books
    from lib import place as places
    with places.fresh() as here, books.watch():
        env = {**os.environ, **variables, "GLOVEBOX_BIN": str(places.binary()),
               "GLOVEBOX_STATE_DIR": str(here.base / "state"),
               "GLOVEBOX_RUNS_DIR": str(here.base / "runs"),
               "GLOVEBOX_MODEL": f"scripted/{here.base}/model.script",
               "LANGSMITH_TRACING": "false",
               "PYTHONPATH": os.pathsep.join(str(places.ROOT / folder) for folder in (
                   "clients/python/src", "tests/client", "tests/cli", "tests"))}
        done = subprocess.run([python, file, here.cwd], capture_output=True, text=True, cwd=here.cwd,
                              timeout=PATIENCE, env=env)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    told = {line["name"]: line["error"] for line in said}
    lost = f"not reached: {done.stderr[-3000:]}"
    return {name: told.get(name, lost) for name in names(file)}
