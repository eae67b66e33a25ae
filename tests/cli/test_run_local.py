# SPDX-License-Identifier: Apache-2.0
"""A model server of this machine is found by itself, where it usually listens.

The usual port may be somebody's here, so a network namespace of its own has the server and the task.
"""
import json
import subprocess
import sys

import pytest
import scripts
from calls import environment
from lib import place as places

PLACES = {"ollama": "11434", "llamacpp": "8080/v1", "vllm": "8000/v1"}

# Serves what the second argument says on the port of the first, and runs the rest as a command.
SERVE_AND_RUN = '''
import http.server, json, subprocess, sys, threading

said = {"choices": [{"index": 0, "delta": {"content": sys.argv[2]}, "finish_reason": "stop"}]}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(json.dumps({"data": [{"id": "small:1b"}]}).encode(), "application/json")

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/chat":
            line = {"message": {"content": sys.argv[2]}, "done": True, "done_reason": "stop"}
            return self.answer(json.dumps(line).encode(), "application/x-ndjson")
        self.answer(b"data: " + json.dumps(said).encode() + b"\\n\\ndata: [DONE]\\n\\n", "text/event-stream")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.exit(subprocess.run(sys.argv[3:], stdin=subprocess.DEVNULL).returncode)
'''


@pytest.mark.parametrize("provider", PLACES)
def test_a_local_server_is_found_where_it_usually_listens(place, provider):
    said = scripts.plan(action="finish", answer="Paris, of course.")
    command = [places.binary(), "run", "the capital of France"]
    done = subprocess.run(["unshare", "--net", sys.executable, "-c", SERVE_AND_RUN,
                           PLACES[provider].partition("/")[0], said, *command], capture_output=True, text=True,
                          cwd=place.cwd, timeout=scripts.PATIENCE, check=False,
                          env=environment(place, LANG="C.UTF-8"))
    assert (done.returncode, done.stdout) == (0, "Paris, of course.\n"), done
    assert f"{provider}/small:1b at http://127.0.0.1:{PLACES[provider]}" in done.stderr, done


def test_without_any_server_the_task_is_not_begun(place):
    done = subprocess.run(["unshare", "--net", places.binary(), "run", "--json", "the capital of France"],
                          capture_output=True, cwd=place.cwd, timeout=scripts.PATIENCE, check=False,
                          env=environment(place), stdin=subprocess.DEVNULL)
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 2 and "_API_KEY" in error["remedy"], done
    assert not (place.cwd / "runs").exists()
