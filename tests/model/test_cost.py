# SPDX-License-Identifier: Apache-2.0
"""Money: what a task's calls cost by the list prices, and a task that goes on with more of it.

A server that answers as OpenAI does says how many tokens each call took."""
import json
import subprocess

import scripted_server as servers
from lib import place as places

MODEL = "openai/gpt-6-luna"  # a tenth of a dollar for a million tokens of input
CALL_TOKENS = 20_000  # 2,000 microdollars

CONTRACT = json.dumps({"reason": "a number", "action": "code", "contract": {
    "kind": "answer", "language": "python", "summary": "a product", "files": ["main.py"]}})
PROGRAM = "File: main.py\n```python\nprint(6 * 7)\n```"


def say(text):
    usage = {"prompt_tokens": CALL_TOKENS, "completion_tokens": 0, "total_tokens": CALL_TOKENS}
    return servers.answer(servers.text(text), servers.stop(), servers.event({"choices": [], "usage": usage}),
                          servers.DONE)


def run(place, server, *words, code):
    environment = {**place.environment(), "PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "k-test",
                   "OPENAI_BASE_URL": server.url,
                   "GLOVEBOX_RUNS_DIR": str(place.base / "runs")}
    command = [str(places.binary()), "run", "--json", *words]
    done = subprocess.run(command, capture_output=True, cwd=place.cwd, env=environment,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == code, done
    document = json.loads(done.stdout)
    return json.dumps(document["error"]) if "error" in document else document


def test_money_that_is_used_up_ends_a_task_and_more_of_it_goes_on(place):
    with servers.serving(say(CONTRACT), say(PROGRAM)) as server:
        first = run(place, server, "--model", MODEL, "--max-cost", "0.002", "6 times 7", code=1)
        assert (first["used_up"], first["spent"]["calls"], len(server.visits)) == ("money", 1, 1)
        assert "--max-cost" in run(place, server, "--resume", first["id"], code=2)
        assert "never less" in run(place, server, "--resume", first["id"], "--max-cost", "0.001", code=2)
        again = run(place, server, "--resume", first["id"], "--max-cost", "0.01", code=0)
    assert again["outcome"] == "passed" and len(server.visits) == 2
    assert (first["spent"]["dollars"], again["spent"]["dollars"]) == (0.002, 0.004)
