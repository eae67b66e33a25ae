# SPDX-License-Identifier: Apache-2.0
"""model.h against a real small model.  Nothing here depends on what it knows."""
import json
import time

from asking import ask, asking, question
from lib import pace

# It cannot end before, whatever it would like to say.
LONG = question("Tell a story.", schema={"type": "string", "minLength": 1500})


def test_an_answer_is_streamed_and_counted(small):
    talk = ask(small.url, learns=True)
    assert talk.answer["finish"] == "stop" and talk.answer["text"].strip()
    assert len(talk.of("text")) > 3 and talk.heard() == talk.answer["text"]
    assert talk.answer["usage"]["input"] > 10 and talk.answer["usage"]["output"] >= len(talk.of("text")) / 2
    assert talk.answer["requests"] == 1 and talk.answer["calls"] == []
    opened = talk.of("open")[0]
    assert opened["label"].startswith("llamacpp/SmolLM2")
    assert opened["context"] == 4096 and opened["endpoint"] == small.url


def test_the_same_seed_gives_the_same_answer_and_another_may_not(small):
    schema = {"type": "string", "minLength": 10, "maxLength": 30}
    asked = [question("Make up a name.", schema=schema, temperature=1.5, seed=seed) for seed in (7, 7, 8, 9)]
    first, again, *others = [end["text"] for end in ask(small.url, *asked).ends]
    assert first == again and any(other != first for other in others)


def test_what_is_known_of_the_prompt_is_told_as_cached(small):
    talk = ask(small.url, question("Name a colour."), question("Name a colour."))
    assert talk.ends[1]["usage"]["cached"] > 0


def test_an_answer_of_a_schema_is_json(small):
    schema = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}, "n": {"type": "integer"}},
              "required": ["colour", "n"], "additionalProperties": False}
    talk = ask(small.url, question("Choose a colour and a number below 10.", schema=schema, max_tokens=60))
    document = json.loads(talk.answer["text"])
    assert document["colour"] in ("red", "blue") and isinstance(document["n"], int)
    assert talk.answer["requests"] == 1


def test_a_cut_answer_is_whole_or_an_error(small):
    """Each request gets a few tokens only: which of both depends on how much it wants to say."""
    talk = ask(small.url, question("Say hello.", max_tokens=4), question("Who are you?", max_tokens=4))
    for end in talk.ends:
        assert end["requests"] > 1
        if end["event"] == "error":
            assert end["code"] == "EMSGSIZE" and "cut at the limit of tokens" in end["message"]
            assert end["usage"]["output"] <= 4 * end["requests"]


def test_a_cancelled_answer_ends_at_once_and_the_server_stops(small):
    """It does one thing at a time: were it still talking, the next question would have to wait."""
    with asking(small.url, LONG | {"may_cancel": True}) as running:
        running.expect("text")
        start = time.monotonic()
        running.cancel()
        talk = running.finish()
        assert time.monotonic() - start < pace.within(1)
    assert talk.error["code"] == "ECANCELED" and talk.error["requests"] == 1
    assert ask(small.url, question("Say hello.", max_tokens=100)).ends
    assert b"cancel task" in small.said()


def test_an_answer_that_takes_too_long_is_left_at_its_deadline(small):
    talk = ask(small.url, LONG | {"timeout_ms": 700})
    assert talk.error["code"] == "ETIMEDOUT" and talk.error["requests"] == 1


def test_a_prompt_beyond_the_context_has_its_own_code(small):
    talk = ask(small.url, question("word " * 6000))
    assert talk.error["code"] == "E2BIG" and talk.error["requests"] == 1


def test_another_path_is_told_as_a_wrong_address(small):
    talk = ask(small.base + "/nothing/v1", name="any")
    assert talk.error["code"] == "ENOENT" and "is " in talk.error["message"]
