# SPDX-License-Identifier: Apache-2.0
"""model.h against a real llama-server whose model has random weights: it says all that a protocol
allows, quickly, and nothing that makes sense."""
import json

import pytest
from asking import ask, asking, question
from lib import pace

TOOL = {"name": "run", "description": "runs code", "schema": {
    "type": "object", "properties": {"code": {"type": "string", "maxLength": 8}}, "required": ["code"],
    "additionalProperties": False}}
CODE = {"type": "object", "properties": {"code": {"enum": ["print(1)", "1 / 0", "while True: pass"]}},
        "required": ["code"], "additionalProperties": False}
PROVIDERS = ("llamacpp", "openai-compatible", "openai", "groq")


def draw(count=20, **more):
    return [question(seed=seed, temperature=1.0, **more) for seed in range(1, count + 1)]


def ask_it(chance, *requests, provider="llamacpp", **more):
    """The wire's own base: Anthropic's has no version in it."""
    base = chance.base if provider == "anthropic" else chance.url
    return ask(base, *requests, **{"key": chance.key, "name": "random", "provider": provider, **more})


def check_call(call):
    """A call is whole: the server's grammar made it so, and nothing was lost on the way."""
    assert call["name"] == "run" and list(json.loads(call["arguments"])) == ["code"]


@pytest.mark.parametrize("provider", ["llamacpp", "anthropic"])
def test_answers_are_whole_whatever_they_hold(chance, provider):
    talk = ask_it(chance, *draw(max_tokens=3000), provider=provider)
    answers = talk.of("answer")
    assert len(answers) == len(talk.ends)
    assert len({answer["text"] for answer in answers}) > len(answers) / 2
    for answer in answers:
        assert answer["finish"] == "stop" and answer["model"] == "random"
        assert answer["usage"]["output"] >= len(answer["text"]) / 20
    assert "".join(event["bytes"] for event in talk.of("text")) == "".join(a["text"] for a in answers)


@pytest.mark.parametrize("provider", ["llamacpp", "anthropic"])
def test_tool_calls_are_put_together(chance, provider):
    """Where its model leaves the form of a call the server fails in mid-stream."""
    asked = draw(pace.count(5, 60), tools=[TOOL], max_tokens=4000, cannot_forget=True)
    talk = ask_it(chance, *asked, provider=provider)
    made = [end for end in talk.ends if end.get("calls")]
    assert len(made) > len(talk.ends) / 4
    for end in made:
        assert end["finish"] == "tools" and len({call["id"] for call in end["calls"]}) == len(end["calls"])
        for call in end["calls"]:
            check_call(call)
    for error in talk.of("error"):
        assert error["code"] == "EMSGSIZE" or "The model produced output that does not match" in error["message"], error


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_schema_is_kept_by_the_server(chance, provider):
    talk = ask_it(chance, *draw(10, schema=CODE, schema_name="code", max_tokens=2000), provider=provider)
    codes = [json.loads(answer["text"])["code"] for answer in talk.of("answer")]
    assert len(codes) == 10 and len(set(codes)) > 1
    assert set(codes) <= set(CODE["properties"]["code"]["enum"])


def test_a_schema_that_the_server_cannot_hold_is_asked_for_in_words(chance):
    """And is not tried a second time."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 100000}}, "required": ["a"]}
    talk = ask_it(chance, *draw(2, schema=schema, max_tokens=4000, cannot_forget=True))
    assert talk.ends[0]["requests"] == talk.ends[1]["requests"] + 1


@pytest.mark.parametrize("provider", ["llamacpp", "openai-compatible", "anthropic"])
def test_a_cut_answer_goes_on(chance, provider):
    talk = ask_it(chance, *draw(30, max_tokens=30), provider=provider)
    whole = [end for end in talk.of("answer") if end["requests"] > 1]
    assert whole
    assert {end["code"] for end in talk.of("error")} <= {"EMSGSIZE"}
    for end in whole:
        assert end["usage"]["output"] > 30


@pytest.mark.parametrize("provider", ["llamacpp", "anthropic", "openai"])
def test_a_wrong_key_is_told_and_not_shown(chance, provider):
    talk = ask_it(chance, question(), key="sk-wrong-0123456789", provider=provider)
    assert talk.error["code"] == "EKEYREJECTED" and talk.error["requests"] == 1
    assert "_API_KEY" in talk.error["message"] and "sk-wrong" not in talk.error["message"]


@pytest.mark.parametrize("provider", ["llamacpp", "anthropic"])
def test_a_prompt_beyond_the_context_has_its_own_code(chance, provider):
    talk = ask_it(chance, question("x" * 20000), provider=provider)
    assert talk.error["code"] == "E2BIG" and talk.error["requests"] == 1


def test_another_path_is_told_as_a_wrong_address(chance):
    talk = ask(chance.base + "/v2", key=chance.key, name="random")
    assert talk.error["code"] == "ENOENT" and chance.base + "/v2" in talk.error["message"]


def test_requests_share_a_connection_also_after_a_failure(chance):
    """One request after another; that the client goes on is what can be seen from here."""
    one, another = draw(2, max_tokens=3000)
    talk = ask_it(chance, one, question("x" * 20000), another)
    assert [end["event"] for end in talk.ends] == ["answer", "error", "answer"]


def test_many_cancelled_answers_leave_the_server_free(chance):
    for _ in range(pace.count(5, 50)):
        with asking(chance.url, question(max_tokens=8000, temperature=0, may_cancel=True),
                    key=chance.key, name="random", provider="llamacpp") as running:
            running.expect("text")
            running.cancel()
            assert running.finish().ends[0]["event"] in ("error", "answer")
    assert ask_it(chance, *draw(4, max_tokens=3000)).of("answer")
