# SPDX-License-Identifier: Apache-2.0
"""glovebox.langchain and glovebox.graph with the real packages, and the real `langgraph dev`."""
import contextlib
import http.client
import json
import os
import signal
import subprocess
from pathlib import Path

import checking
import pytest
import scripts
from lib import host
from lib import place as places
from lib.net import own_port

CLIENT = places.ROOT / "clients/python"
CHECKS = Path(__file__).with_name("langgraph_checks.py")
PATIENCE = 120


def environment(desk, rules=()):
    script = desk.base / "model.script"
    script.write_text("\n".join(rules))
    return {**os.environ, "GLOVEBOX_MODEL": f"scripted/{script}", "LANGSMITH_TRACING": "false",
            "PYTHONPATH": os.pathsep.join(map(str, (CLIENT / "src", places.ROOT / "tests/cli",
                                                    places.ROOT / "tests")))}


@pytest.fixture(scope="module")
def checked(langgraph_bin):
    return checking.run_there(langgraph_bin / "python", CHECKS)


@pytest.mark.parametrize("name", checking.names(CHECKS))
def test_check(name, checked):
    assert checked[name] is None, checked[name]


# ---- langgraph dev -------------------------------------------------------------------------------

class Served:
    def __init__(self, port):
        self.port = port

    def post(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def is_up(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            with contextlib.closing(connection):
                connection.request("GET", "/ok")
                return connection.getresponse().status == 200
        return False


@contextlib.contextmanager
def serving(langgraph_bin, desk, rules):
    """`langgraph dev` in a copy of what a user has: langgraph.json and the package."""
    folder = desk.cwd / "served"
    folder.mkdir()
    (folder / "langgraph.json").write_text((CLIENT / "langgraph.json").read_text())
    (folder / "pyproject.toml").write_text((CLIENT / "pyproject.toml").read_text())
    (folder / "src").symlink_to(CLIENT / "src")
    port = own_port()
    log = desk.base / "server.log"
    with open(log, "wb") as said:
        server = subprocess.Popen(
            [langgraph_bin / "langgraph", "dev", "--no-browser", "--no-reload", "--port", str(port)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env={**environment(desk, rules), "PATH": f"{langgraph_bin}:{os.environ['PATH']}"})
    served = Served(port)
    try:
        up = host.until(lambda: served.is_up() or server.poll() is not None, PATIENCE, step=0.1)
        assert up and server.poll() is None, log.read_text()[-4000:]
        yield served
    except AssertionError as why:
        raise AssertionError(f"{why}\n{log.read_text()[-4000:]}") from why
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def test_S0_12_langgraph_dev_serves_the_graph(langgraph_bin, desk):
    rules = [
        scripts.rule(scripts.plan(action="finish", answer="blue"), system="You plan", when="the blue one"),
        scripts.rule(scripts.plan(action="human", question="Which colour?"), system="You plan",
                     when="paint"),
        *scripts.mended_rules()]
    with serving(langgraph_bin, desk, rules) as server:
        request = {"assistant_id": "code_agent", "input": {"task": "add numbers"}}
        status, text = server.post("/runs/wait", request)
        done = json.loads(text)
        assert (status, done["outcome"]) == (200, "passed"), text
        assert done["files"][0]["path"] == "count.py"

        status, text = server.post("/runs/stream", {**request, "stream_mode": ["updates", "custom"]})
        told = [json.loads(line[len("data: "):]) for line in text.splitlines()
                if line.startswith("data: {")]
        nodes = [name for piece in told for name in piece if name in ("analyse", "debug", "deliver")]
        assert status == 200 and nodes == ["analyse", "debug", "deliver"], text
        assert any(piece.get("event") == "report" for piece in told)

        thread = json.loads(server.post("/threads", {})[1])["thread_id"]
        status, text = server.post(f"/threads/{thread}/runs/wait",
                                   {"assistant_id": "code_agent", "input": {"task": "paint it"}})
        assert json.loads(text)["__interrupt__"][0]["value"]["question"] == "Which colour?", text
        status, text = server.post(f"/threads/{thread}/runs/wait",
                                   {"assistant_id": "code_agent", "command": {"resume": "the blue one"}})
        assert json.loads(text)["answer"] == "blue", text
