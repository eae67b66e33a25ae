# SPDX-License-Identifier: Apache-2.0
"""The JSON tools as their callers see them: words in, one JSON object out, an exit code."""
import contextlib
import json
import os
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from lib import engines, place as places

OUTER_SECONDS = 90
BASE = "localhost/busybox:test"


class Tools:
    """`adde TOOL JSON`, through a link of that name."""

    def __init__(self, here):
        self.base = here.base
        self.tmp = here.tmp
        self.cwd = here.cwd
        self.link = here.base / "adde"
        self.link.symlink_to(places.binary())
        self.environment = {"GLOVEBOX_STATE_DIR": str(here.base / "state")}

    def words(self, *words, stdin=b"", binary=None, **environment):
        done = subprocess.run([str(binary or self.link), *words], input=stdin, cwd=self.cwd,
                              capture_output=True, timeout=OUTER_SECONDS,
                              env={**os.environ, **self.environment, **environment})
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr.decode())

    def call(self, tool, _environment=None, **request):
        """(exit code, answer); a failed call says nothing on stderr."""
        done = self.words(tool, stdin=json.dumps(request).encode(), **(_environment or {}))
        assert done.err == "", done
        assert done.out.endswith(b"\n") and done.out.count(b"\n") == 1, done
        return done.code, json.loads(done.out)

    def do(self, tool, **request):
        """The answer of a call that must work."""
        code, answer = self.call(tool, **request)
        assert code == 0 and "error" not in answer, json.dumps(answer, indent=1)
        return answer

    def fails(self, tool, **request):
        """The error of a call that must fail."""
        code, answer = self.call(tool, **request)
        assert code == 1 and answer["error"], answer
        return answer["error"]

    @contextlib.contextmanager
    def made(self, **request):
        """An environment; gone afterwards, with its workspace."""
        answer = SimpleNamespace(**self.do("create_runtime_env", **request))
        try:
            yield answer
        finally:
            self.call("cleanup_env", container_id=answer.container_id, delete_workspace=True)

    def run(self, environment, filename, code, **request):
        """The log of a run."""
        return self.do("execute_code_block", container_id=environment.container_id,
                       filename=filename, code_content=code, **request)["log"]

    def boxes(self):
        folder = self.base / "state" / "boxes"
        return sorted(name for name in os.listdir(folder) if name.startswith("b_")) \
            if folder.exists() else []

    def leftovers(self):
        """What lies where workspaces and contexts are made."""
        return sorted(os.listdir(self.tmp))


@pytest.fixture(scope="module")
def engine():
    """A private Docker with an image that has a shell; some modules have another one."""
    with engines.docker() as running:
        running.import_busybox(BASE)
        yield running


@pytest.fixture
def tools(place, ledger):
    return Tools(place)


@pytest.fixture
def forget():
    """Removes directories at the end of a test, before the ledger looks."""
    paths = []
    yield paths.append
    for path in paths:
        shutil.rmtree(path)
