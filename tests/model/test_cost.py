# SPDX-License-Identifier: Apache-2.0
"""Money: what a task's calls cost by the list prices, and a task that goes on with more of it.

A server that answers as OpenAI does says how many tokens each call took."""
import json
import subprocess

import scripted_server as servers
from lib import place as places

MODEL = "openai/gpt-6-luna"
# A tenth of a dollar for a million tokens of input; the list says so only of OpenAI's own address.
PRICES = "openai/gpt-6-luna 0.10 0.01 0.50\n"
CALL_TOKENS = 20_000  # 2,000 microdollars

CONTRACT = json.dumps({"reason": "a number", "action": "code", "contract": {
    "kind": "answer", "language": "python", "summary": "a product", "files": ["main.py"]}})
PROGRAM = "File: main.py\n```python\nprint(6 * 7)\n```"


def say(text, end="stop", cached=0):
    usage = {"prompt_tokens": CALL_TOKENS, "completion_tokens": 0, "total_tokens": CALL_TOKENS,
             "prompt_tokens_details": {"cached_tokens": cached}}
    return servers.answer(servers.text(text), servers.stop(end), servers.event({"choices": [], "usage": usage}),
                          servers.DONE)


def begin_and_hang(visit):
    """Words, and then nothing: no usage, no end."""
    visit.send(servers.head(200, "Transfer-Encoding: chunked"))
    visit.send(servers.chunk(servers.text("x" * 30_000)))
    visit.wait_for_hangup()


def run(place, server, *words, code, prices=PRICES, **variables):
    table = place.base / "prices"
    table.write_text(prices or "")
    environment = {**place.apart(), "PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "k-test",
                   "OPENAI_BASE_URL": server.url,
                   "GLOVEBOX_RUNS_DIR": str(place.base / "runs"), **variables}
    if prices is not None:
        environment["GLOVEBOX_PRICES"] = str(table)
    command = [str(places.binary()), "run", *([] if "--jsonl" in words else ["--json"]), *words]
    done = subprocess.run(command, capture_output=True, cwd=place.cwd, env=environment,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == code, done
    if "--jsonl" in words:
        return [json.loads(line) for line in done.stdout.splitlines()]
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


def test_an_answer_that_has_no_end_is_paid_for(place):
    """It is cut at its length, and so are its rests: nothing of it can be used."""
    with servers.serving(say("on and on ", end="length")) as server:
        done = run(place, server, "--model", MODEL, "--max-cost", "0.005", "6 times 7", code=1)
        n = len(server.visits)
    assert (done["used_up"], done["spent"]["calls"]) == ("money", 1)
    assert n > 2 and done["spent"]["dollars"] == 0.002 * n
    assert done["spent"]["tokens"] == CALL_TOKENS * n


def test_an_answer_that_did_not_come_in_time_is_paid_for_by_its_length(place):
    with servers.serving(say(CONTRACT), begin_and_hang) as server:
        done = run(place, server, "--model", MODEL, "--max-time", "4s", "6 times 7", code=1)
    assert (done["used_up"], done["spent"]["calls"]) == ("time", 2)
    assert done["spent"]["tokens"] > CALL_TOKENS + 10_000
    assert done["spent"]["dollars"] > 0.002 + 10_000 * 0.5e-6


def test_cached_tokens_are_told_and_cost_less(place):
    with servers.serving(say(CONTRACT), say(PROGRAM, cached=CALL_TOKENS)) as server:
        done = run(place, server, "--model", MODEL, "6 times 7", code=0)
    assert (done["spent"]["tokens"], done["spent"]["cached"]) == (2 * CALL_TOKENS, CALL_TOKENS)
    assert done["spent"]["dollars"] == 0.0022


def test_a_limit_of_money_that_cannot_hold_is_told_once(place):
    with servers.serving(say(CONTRACT), say(PROGRAM)) as server:
        command = ["--model", "openai/a-model-without-a-price", "--max-cost", "0.000001", "6 times 7"]
        done = run(place, server, "--jsonl", *command, code=0)
    notes = [event["text"] for event in done if event["event"] == "note"]
    assert len([note for note in notes if "is not known" in note and "--max-cost" in note]) == 1, notes
    assert done[-1]["document"]["spent"]["dollars"] is None


def test_a_paid_server_elsewhere_is_not_taken_for_a_free_one(place):
    """Only a server of this machine costs nothing: of any other the price is not known until a table says it.  The
    name that stands for the server here is resolved nowhere but in this test's proxy."""
    with servers.serving(*[say(CONTRACT), say(PROGRAM)] * 3) as server:
        words = ["--base-url", "http://paid.example/v1", "--model", "openai-compatible/some", "6 times 7"]
        server.facts = {"http://paid.example/v1/models": {"data": []}, "/v1/models": {"data": []}}
        proxy = {"http_proxy": server.url.removesuffix("/v1")}
        unknown = run(place, server, *words, code=0, prices=None, **proxy)
        priced = run(place, server, *words, code=0, prices="openai-compatible/* 1 1 1\n", **proxy)
        here = run(place, server, "--base-url", server.url, *words[2:], code=0, prices=None)
    assert (unknown["spent"]["dollars"], priced["spent"]["dollars"], here["spent"]["dollars"]) == (None, 0.04, 0)


def test_a_price_table_holds_the_limit_and_a_broken_one_is_refused(place):
    with servers.serving(say(CONTRACT), say(PROGRAM)) as server:
        words = ["--base-url", server.url, "--model", "openai-compatible/some", "--max-cost", "0.02", "6 times 7"]
        done = run(place, server, *words, code=1, prices="openai-compatible/some 1 1 1\n")
        wrong = run(place, server, *words, code=2, prices="# mine\nopenai-compatible/some 1 1\n")
    assert (done["used_up"], done["spent"]["dollars"]) == ("money", 0.02)
    assert "prices: line 2" in wrong.replace(str(place.base) + "/", ""), wrong


def fail_in_the_middle(visit):
    """Words, and then an error that no retry mends."""
    servers.answer(servers.text("x" * 30_000),
                   servers.event({"error": {"message": "no", "type": "invalid_request_error", "code": 400}}))(visit)


def test_a_call_that_failed_is_paid_for_when_the_task_goes_on(place):
    with servers.serving(fail_in_the_middle, fail_in_the_middle, say(CONTRACT), say(PROGRAM)) as server:
        run(place, server, "--model", MODEL, "6 times 7", code=125)
        listed = subprocess.run([places.binary(), "runs", "list", "--json"], capture_output=True, cwd=place.cwd,
                                env={**place.apart(), "PATH": "/usr/bin:/bin"}, check=True)
        task = json.loads(listed.stdout)["runs"][0]["id"]
        run(place, server, "--resume", task, code=125)
        done = run(place, server, "--resume", task, "--record", "all.rec", code=0)
        again = run(place, server, "--replay", "all.rec", code=0)
        assert len(server.visits) == 4
    assert done["outcome"] == "passed" and done["spent"]["calls"] == 4
    assert done["spent"]["tokens"] > 2 * CALL_TOKENS + 2 * 10_000
    assert done["spent"]["dollars"] > 2 * 0.002 + 2 * 10_000 * 0.5e-6
    assert again == done


def test_money_that_failed_calls_took_ends_a_task_that_is_resumed(place):
    with servers.serving(fail_in_the_middle, say(CONTRACT), say(PROGRAM)) as server:
        run(place, server, "--model", MODEL, "--max-cost", "0.005", "6 times 7", code=125)
        listed = subprocess.run([places.binary(), "runs", "list", "--json"], capture_output=True, cwd=place.cwd,
                                env={**place.apart(), "PATH": "/usr/bin:/bin"}, check=True)
        done = run(place, server, "--resume", json.loads(listed.stdout)["runs"][0]["id"], code=1)
        assert len(server.visits) == 1
    assert (done["used_up"], done["spent"]["calls"]) == ("money", 1)
