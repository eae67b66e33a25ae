# SPDX-License-Identifier: Apache-2.0
"""How much a model takes in: a task's prompts keep to it, and Ollama is told to make that much room.

The servers are scripted: they answer every question with the same plan, and tell of their models what
the real ones tell."""
import json
import subprocess

import pytest
import scripted_server as servers
from lib import place as places

PLAN = json.dumps({"reason": "known", "action": "finish", "answer": "Paris."})
BYTES_TOKEN = 3  # as docs/internals/agent.md has it
FIXED = 4300  # bytes of the orchestrator's prompt without a task, rounded up


def say(text):
    return servers.answer(servers.text(text), servers.stop(), servers.DONE)


def say_lines(text):
    """As Ollama does: a line of JSON an event."""
    def line(done, content, **more):
        return json.dumps({"model": "tiny", "message": {"role": "assistant", "content": content},
                           "done": done, **more}).encode() + b"\n"
    return servers.answer(line(False, text), line(True, "", done_reason="stop", prompt_eval_count=5, eval_count=2))


def call(place, *words, **variables):
    environment = {**place.apart(), "PATH": "/usr/bin:/bin",
                   "GLOVEBOX_RUNS_DIR": str(place.base / "runs"), **variables}
    return subprocess.run([str(places.binary()), *words], capture_output=True, cwd=place.cwd, env=environment,
                          stdin=subprocess.DEVNULL, timeout=120, check=False)


def glovebox(place, *words, **variables):
    done = call(place, *words, **variables)
    assert done.returncode == 0, done
    return done.stdout.decode()


def most(context):
    """Bytes of a prompt: 60 % of the context."""
    return context * 6 // 10 * BYTES_TOKEN


def task(size):
    return ("The capital of France, please. " + "Mind this line of a long story. " * 4000)[:size]


def prompt_of(visit):
    return "".join(message["content"] for message in visit.document["messages"])


def check_room(place, context, server, *words, **variables):
    """A task that just fits is asked; one that does not is told, and nobody is asked with a part of it."""
    glovebox(place, "run", *words, task(most(context) - FIXED), **variables)
    visit, = server.visits
    assert most(context) - 1000 < len(prompt_of(visit).encode()) <= most(context)
    refused = call(place, "run", *words, task(most(context)), **variables)
    assert refused.returncode == 125 and b"a larger context" in refused.stderr, refused
    assert len(server.visits) == 1
    return visit


OLLAMA = [  # what it says of the model, what the user says, what is asked for
    ({"model_info": {"qwen3.context_length": 40960}}, [], 8192),
    ({"model_info": {"qwen3.context_length": 40960}}, ["--context", "20000"], 20000),
    ({"model_info": {"qwen3.context_length": 40960}}, ["--context", "90000"], 40960),
    ({"model_info": {"phi.context_length": 4096}}, [], 4096),
    ({"model_info": {"qwen3.context_length": 40960}, "parameters": "stop x\nnum_ctx   12000"}, [], 12000),
]


@pytest.mark.parametrize("shown, words, context", OLLAMA)
def test_ollama_makes_the_room_that_prompts_need(place, shown, words, context):
    with servers.serving(say_lines(PLAN)) as server:
        server.facts["/api/show"] = shown
        visit = check_room(place, context, server, "--model", "ollama/tiny", *words, OLLAMA_HOST=server.base)
    assert visit.path == "/api/chat" and visit.document["options"]["num_ctx"] == context


LISTED = [  # a server's own list, what the user says, what counts
    ({"id": "tiny", "max_model_len": 6000}, [], 6000),
    ({"id": "tiny", "max_model_len": 6000}, ["--context", "5000"], 5000),
    ({"id": "tiny", "max_model_len": 6000}, ["--context", "50000"], 6000),
    ({"id": "tiny"}, ["--context", "5000"], 5000),
    ({"id": "other", "meta": {"n_ctx": 7000}}, [], 7000),  # llama-server answers to any name
]


@pytest.mark.parametrize("row, words, context", LISTED)
def test_prompts_keep_to_what_a_server_tells_and_a_user_says(place, row, words, context):
    with servers.serving(say(PLAN)) as server:
        server.facts["/v1/models"] = {"data": [row]}
        check_room(place, context, server, "--model", "vllm/tiny", *words, VLLM_BASE_URL=server.url)


def test_a_schema_that_is_told_in_words_is_a_part_of_the_prompt(place):
    """The server refuses the schema and makes nothing of its words: the next question has less room."""
    refusal = servers.refuse(400, {"error": {"message": "response_format is not supported"}})
    words = ["--model", "vllm/tiny", task(most(8000) - FIXED)]
    with servers.serving(refusal, refusal, say("I will not"), say(PLAN)) as server:
        server.facts["/v1/models"] = {"data": [{"id": "tiny", "max_model_len": 8000}]}
        refused = call(place, "run", *words, VLLM_BASE_URL=server.url)
        assert "valid under this JSON schema" in prompt_of(server.visits[2])
        assert len(server.visits) == 3
    assert refused.returncode == 125 and b"a larger context" in refused.stderr, refused


def test_a_task_that_goes_on_asks_for_the_same_room(place):
    question = json.dumps({"reason": "unclear", "action": "human", "question": "Which France?"})
    with servers.serving(say_lines(question), say_lines(PLAN)) as server:
        server.facts["/api/show"] = {"model_info": {"phi.context_length": 5000}}
        done = call(place, "run", "--json", "--model", "ollama/tiny", "the capital of France", OLLAMA_HOST=server.base)
        document = json.loads(done.stdout)
        assert document["state"] == "waiting", document
        glovebox(place, "runs", "answer", document["id"], "the republic", OLLAMA_HOST=server.base)
        assert [visit.document["options"]["num_ctx"] for visit in server.visits] == [5000, 5000]
        assert server.asked == ["/api/show"]


@pytest.mark.parametrize("words, made_for, asked, room", [
    (["--context", "3000"], 9000, 1, 3000), (["--context", "8000"], 9000, 1, 5000),
    (["--model", "ollama/other"], 4000, 2, 4000), (["--model", "ollama/other", "--context", "3000"], 4000, 2, 3000)])
def test_a_task_goes_on_with_what_is_said_then(place, words, made_for, asked, room):
    """Less than before counts, and another model has a context of its own."""
    question = json.dumps({"reason": "unclear", "action": "human", "question": "Which France?"})
    with servers.serving(say_lines(question), say_lines(PLAN)) as server:
        server.facts["/api/show"] = {"model_info": {"phi.context_length": 5000}}
        done = call(place, "run", "--json", "--model", "ollama/tiny", "the capital of France", OLLAMA_HOST=server.base)
        server.facts["/api/show"] = {"model_info": {"phi.context_length": made_for}}
        glovebox(place, "runs", "answer", *words, json.loads(done.stdout)["id"], "the republic", OLLAMA_HOST=server.base)
        assert [visit.document["options"]["num_ctx"] for visit in server.visits] == [5000, room]
        assert len(server.asked) == asked


def test_a_prompt_that_has_no_room_any_more_is_not_sent(place):
    question = json.dumps({"reason": "unclear", "action": "human", "question": "Which France?"})
    with servers.serving(say(question), say(PLAN)) as server:
        server.facts["/v1/models"] = {"data": [{"id": "tiny", "max_model_len": 8000}]}
        words = ["--json", "--model", "vllm/tiny", task(most(8000) - FIXED - 1000)]
        document = json.loads(call(place, "run", *words, VLLM_BASE_URL=server.url).stdout)
        told = call(place, "runs", "answer", "--context", "4000", document["id"], "it", VLLM_BASE_URL=server.url)
        assert told.returncode == 125 and b"a larger context" in told.stderr, told
        assert len(server.visits) == 1


def test_a_context_that_is_too_small_for_anything_is_told(place):
    for value in ("1023", "many", "100000001"):
        done = call(place, "run", "--context", value, "x")
        assert done.returncode == 2 and b"--context" in done.stderr and b"1024" in done.stderr, done


def test_models_tells_what_is_known_of_their_contexts(place):
    with servers.serving(say(PLAN)) as server:
        server.facts["/v1/models"] = {"data": [{"id": "tiny", "max_model_len": 6000}, {"id": "other"}]}
        document = json.loads(glovebox(place, "models", "--json", VLLM_BASE_URL=server.url))
        row, = [row for row in document["providers"] if row["name"] == "vllm"]
        assert row["contexts"] == {"tiny": 6000}
        assert document["roles"]["coder"]["context"] == 6000
        said = glovebox(place, "models", "--model", "vllm/other", "--context", "9000", VLLM_BASE_URL=server.url)
        assert "vllm/other" in said and "context of 9000 tokens" in said
        assert glovebox(place, "models", "vllm", VLLM_BASE_URL=server.url) == "vllm/tiny\t6000 tokens\nvllm/other\n"


def test_the_account_of_openai_goes_out_with_the_key(place):
    """And to nobody else."""
    account = {"OPENAI_API_KEY": "sk-mine", "OPENAI_ORG_ID": "org-7", "OPENAI_PROJECT_ID": "proj-7"}
    with servers.serving(say(PLAN)) as server:
        server.facts["/v1/models"] = {"data": []}
        glovebox(place, "run", "--model", "openai/gpt-6-luna", "the capital of France", OPENAI_BASE_URL=server.url,
                 **account)
        glovebox(place, "run", "--model", "groq/x", "the capital of France", GROQ_BASE_URL=server.url,
                 GROQ_API_KEY="gsk", **account)
        openai, groq = server.visits
    assert (openai.headers["openai-organization"], openai.headers["openai-project"]) == ("org-7", "proj-7")
    assert not [name for name in groq.headers if name.startswith("openai-")]
