# SPDX-License-Identifier: Apache-2.0
"""model.h against a server that does what real ones rarely do, over real connections.

What one event or one status means is tests/unit's; here it is what a client does about it."""
import gzip
import json
import random
import time

import pytest
from asking import ask, asking, question
from lib import pace
from scripted_server import (DONE, answer, chunk, claude, delta, event, head, refuse, serving, stop,
                             text)

KEY = "sk-mine-0123456789abcdef"
HELLO = (text("hel"), text("lo"), stop(), DONE)
USAGE = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
CLAUDE = {"provider": "anthropic", "key": KEY, "name": "claude"}


def hello_of_claude():
    return (claude("message_start", message={"model": "claude", "usage": {"input_tokens": 7}}),
            claude("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            claude("ping"),
            claude("content_block_delta", index=0, delta={"type": "text_delta", "text": "hello"}),
            claude("content_block_stop", index=0),
            claude("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2}),
            claude("message_stop"))


def torn(data, dice):
    """In pieces of any length, across chunks and packets."""
    def say(visit):
        visit.send(head(200, "Transfer-Encoding: chunked"))
        at = 0
        while at < len(data):
            size = dice.randint(1, 9)
            piece = chunk(data[at:at + size])
            visit.send(piece[:2])
            visit.send(piece[2:])
            at += size
        visit.send(b"0\r\n\r\n")
    return say


# ---- streams -------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(3))
def test_a_torn_stream_with_interleaved_calls_gives_its_answer(seed):
    def call(index, **function):
        more = {"id": f"call_{index}"} if "name" in function else {}
        return delta(tool_calls=[{"index": index, "type": "function", "function": function, **more}])

    stream = b"".join([b": a comment\r\n\r\n", delta(role="assistant"), text("snow ☃ "),
                       call(0, name="run", arguments=""), call(1, name="look", arguments="{"),
                       call(0, arguments='{"code": '), call(1, arguments="}"), call(0, arguments='"1☃"}'),
                       stop("tool_calls"), USAGE, DONE])
    with serving(torn(stream, random.Random(seed))) as server:
        end = ask(server.url, name="any").answer
    assert end["text"] == "snow ☃ " and end["finish"] == "tools"
    assert [(call["id"], call["name"], json.loads(call["arguments"])) for call in end["calls"]] == \
        [("call_0", "run", {"code": "1☃"}), ("call_1", "look", {})]
    assert end["usage"] == {"input": 7, "output": 2, "cached": 0}


@pytest.mark.parametrize("seed", range(3))
def test_a_torn_stream_of_anthropic_s_gives_its_answer(seed):
    def block(index, **content):
        return claude("content_block_start", index=index, content_block=content)

    def piece(index, **content):
        return claude("content_block_delta", index=index, delta=content)

    stream = b"".join([
        claude("message_start", message={"model": "claude", "usage": {"input_tokens": 7}}), claude("ping"),
        block(0, type="thinking", thinking=""), piece(0, type="thinking_delta", thinking="hm"),
        piece(0, type="signature_delta", signature="c2lnbg=="),
        block(1, type="text", text=""), block(2, type="tool_use", id="toolu_1", name="run", input={}),
        piece(1, type="text_delta", text="Let me"), claude("ping"),
        piece(2, type="input_json_delta", partial_json='{"code"'), piece(1, type="text_delta", text=" see."),
        piece(2, type="input_json_delta", partial_json=': "1"}'), claude("something_new", index=3),
        claude("content_block_stop", index=2),
        claude("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 9}),
        claude("message_stop")])
    with serving(torn(stream, random.Random(seed))) as server:
        talk = ask(server.base, **CLAUDE)
        sent = server.visits[0]
    end = talk.answer
    assert (end["text"], end["reasoning"], end["finish"]) == ("Let me see.", "hm", "tools")
    assert talk.heard("reasoning") == "hm" and talk.heard() == "Let me see."
    assert [(call["id"], json.loads(call["arguments"])) for call in end["calls"]] == [("toolu_1", {"code": "1"})]
    assert sent.path == "/v1/messages" and sent.headers["x-api-key"] == KEY


CALLS = [{"id": "call_1", "name": "add", "arguments": '{"a": 1, "b": 2}'},
         {"id": "call_2", "name": "look", "arguments": "no JSON"}]


def call_of_openai():
    return b"".join(delta(tool_calls=[{"index": index, "id": call["id"], "type": "function", "function": {
        "name": call["name"], "arguments": call["arguments"]}}]) for index, call in enumerate(CALLS)) + \
        stop("tool_calls") + DONE


def call_of_claude():
    return b"".join(
        claude("content_block_start", index=index, content_block={
            "type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}) +
        claude("content_block_delta", index=index, delta={
            "type": "input_json_delta", "partial_json": call["arguments"]})
        for index, call in enumerate(CALLS)) + \
        claude("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 9}) + claude("message_stop")


def call_of_ollama():
    calls = [{"id": call["id"], "function": {"name": call["name"], "arguments": {}}} for call in CALLS]
    calls[0]["function"]["arguments"] = json.loads(CALLS[0]["arguments"])
    return json.dumps({"message": {"content": "", "tool_calls": calls}, "done": True, "done_reason": "stop"}).encode()


def hello_of_ollama():
    return json.dumps({"message": {"content": "3"}, "done": True, "done_reason": "stop"}).encode()


OPENAI_BACK = [
    {"role": "user", "content": "add"},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in CALLS]},
    {"role": "tool", "content": "3", "tool_call_id": "call_1"},
    {"role": "tool", "content": "it is dark", "tool_call_id": "call_2"}]
CLAUDE_BACK = [
    {"role": "user", "content": "add"},
    {"role": "assistant", "content": [
        {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 1, "b": 2}},
        {"type": "tool_use", "id": "call_2", "name": "look", "input": {}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "3"},
        {"type": "tool_result", "tool_use_id": "call_2", "content": "it is dark", "is_error": True}]}]
OLLAMA_BACK = [
    {"role": "user", "content": "add"},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_1", "function": {"name": "add", "arguments": {"a": 1, "b": 2}}},
        {"id": "call_2", "function": {"name": "look", "arguments": {}}}]},
    {"role": "tool", "content": "3", "tool_name": "add", "tool_call_id": "call_1"},
    {"role": "tool", "content": "it is dark", "tool_name": "look", "tool_call_id": "call_2"}]


@pytest.mark.parametrize("provider, called, said, back", [
    ("openai", call_of_openai, lambda: b"".join(HELLO), OPENAI_BACK),
    ("anthropic", call_of_claude, lambda: b"".join(hello_of_claude()), CLAUDE_BACK),
    ("ollama", call_of_ollama, hello_of_ollama, OLLAMA_BACK)])
def test_calls_are_answered_and_the_model_goes_on(provider, called, said, back):
    """What comes as calls goes back with their results, in the words of each wire."""
    spec = {"provider": provider, "name": "any", "key": KEY}
    tools = [{"name": name, "description": "does it", "schema": {"type": "object"}} for name in ("add", "look")]
    with serving(answer(called()), answer(said())) as server:
        base = server.url if provider == "openai" else server.base
        first = ask(base, question("add", tools=tools), **spec).answer
        assert first["finish"] == "tools" and [call["id"] for call in first["calls"]] == ["call_1", "call_2"]
        second = question("add", tools=tools)
        second["messages"] += [{"role": "assistant", "text": first["text"], "calls": first["calls"]},
                               {"role": "tool", "text": "3", "calls": first["calls"][:1]},
                               {"role": "tool", "text": "it is dark", "calls": first["calls"][1:], "is_error": True}]
        assert ask(base, second, **spec).answer["finish"] == "stop"
        sent = server.visits[1].document
    assert sent["messages"] == back
    assert len(sent["tools"]) == 2


def test_requests_are_made_over_one_connection():
    with serving(answer(*HELLO)) as server:
        talk = ask(server.url, question(), question(), question(), name="any")
        assert [end["text"] for end in talk.ends] == ["hello"] * 3
        assert (len(server.visits), server.connections) == (3, 1)


def test_a_kept_connection_that_was_closed_meanwhile_is_made_anew():
    def quietly(visit):
        answer(*HELLO)(visit)
        visit.leave()

    with serving(quietly, answer(*HELLO)) as server:
        talk = ask(server.url, question(), question(), name="any")
        assert [end["text"] for end in talk.ends] == ["hello"] * 2
        assert server.connections == 2


def test_what_is_no_answer_of_the_schema_is_handed_to_the_caller():
    """Whether it is valid is the caller's to judge; that it was asked for can be seen."""
    with serving(answer(text('{"other": 1}'), stop(), DONE)) as server:
        end = ask(server.url, question(schema={"type": "object", "required": ["a"]}), name="any").answer
        assert end["text"] == '{"other": 1}'
        assert server.visits[0].document["response_format"]["type"] == "json_schema"


# ---- failures that pass --------------------------------------------------------------------------

@pytest.mark.parametrize("status,document,why", [
    (429, {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}, "429 too many requests, waiting 1 s"),
    (529, {"type": "error", "error": {"type": "overloaded_error"}}, "529 server failed, waiting 1 s"),
    (503, b"<html>", "503 server failed, waiting 1 s"),
])
def test_a_server_that_asks_for_patience_gets_it(status, document, why):
    with serving(refuse(status, document, "Retry-After: 1"), answer(*HELLO)) as server:
        start = time.monotonic()
        talk = ask(server.url, name="any")
        assert time.monotonic() - start >= 1
    assert talk.answer["text"] == "hello" and talk.answer["requests"] == 2
    assert [(again["why"], again["wait_ms"]) for again in talk.of("again")] == [(why, 1000)]


@pytest.mark.parametrize("provider, prefix, reset", [
    ("llamacpp", "x-ratelimit-{0}-requests", "1s"), ("anthropic", "anthropic-ratelimit-tokens-{0}", None)])
def test_a_limit_that_is_used_up_is_waited_for(provider, prefix, reset):
    """Without Retry-After: until it is full again; one that has something left says nothing."""
    def refused(visit):
        then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
        refuse(429, {"error": {"message": "slow down"}}, f"{prefix.format('remaining')}: 0",
               f"{prefix.format('reset')}: {reset or then}", "x-ratelimit-remaining-tokens: 9",
               "x-ratelimit-reset-tokens: 50s")(visit)
    good = answer(*HELLO) if provider == "llamacpp" else answer(
        claude("message_start", message={"id": "m", "model": "c", "usage": {"input_tokens": 1}}),
        claude("content_block_start", index=0, content_block={"type": "text", "text": "hello"}),
        claude("content_block_stop", index=0),
        claude("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}),
        claude("message_stop"))
    with serving(refused, good) as server:
        url = server.url if provider == "llamacpp" else server.base
        talk = ask(url, name="any", provider=provider, key="k-0123456789")
    assert talk.answer["text"] == "hello" and talk.answer["requests"] == 2
    (again,) = talk.of("again")
    # Such a date has whole seconds, and is read a little later than it was written.
    assert 1000 <= again["wait_ms"] <= 3000, again


@pytest.mark.parametrize("break_off", [
    lambda visit: visit.send(chunk(event({"error": {"code": 502, "message": "gone"}})) + b"0\r\n\r\n"),
    lambda visit: visit.reset(),
    lambda visit: visit.send(b"zz\r\n"),
], ids=["error event", "reset", "no chunk"])
def test_what_breaks_in_mid_stream_is_void_and_begun_anew(break_off):
    def broken(visit):
        visit.send(head(200, "Transfer-Encoding: chunked", "Retry-After: 0") + chunk(text("wrong half")))
        break_off(visit)

    with serving(broken, answer(*HELLO)) as server:
        talk = ask(server.url, name="any")
        assert talk.answer["text"] == talk.heard() == "hello" and talk.answer["requests"] == 2
    # The reset may throw away what was sent before it.
    assert len(talk.of("again")) == 1


def test_a_consumer_that_cannot_forget_gets_no_second_try():
    def broken(visit):
        visit.send(head(200, "Transfer-Encoding: chunked") + chunk(text("wrong half")))
        visit.send(chunk(event({"error": {"code": 502, "message": "gone"}})) + b"0\r\n\r\n")

    with serving(broken, answer(*HELLO)) as server:
        talk = ask(server.url, question(cannot_forget=True), name="any")
    assert talk.error["requests"] == 1 and "gone" in talk.error["message"]


def test_an_overloaded_claude_in_mid_stream_is_asked_again():
    error = claude("error", error={"type": "overloaded_error", "message": "Overloaded"})
    with serving(answer(hello_of_claude()[0], error), answer(*hello_of_claude())) as server:
        talk = ask(server.base, **CLAUDE)
    assert talk.answer["text"] == "hello" and talk.of("again")[0]["why"] == "529 server failed"
    # Both attempts were paid for.
    assert talk.answer["usage"]["input"] == 14


# ---- failures that stay --------------------------------------------------------------------------

@pytest.mark.parametrize("say,code", [
    (answer(b"data: {\"choices\": [\n\n"), "EPROTO"),
    (answer(event({"choices": [{"delta": {"content": "x"}, "finish_reason": "whatever"}]})), "EREMOTEIO"),
    (refuse(200, b"<html>welcome</html>"), "ENOENT"),
    (refuse(404, {"error": {"code": "model_not_found", "message": "no model 'any'"}}), "ENOENT"),
    (refuse(402, {"error": {"message": "insufficient credits"}}), "EDQUOT"),
    (refuse(400, {"error": {"code": "context_length_exceeded", "message": "long"}}), "E2BIG"),
    (lambda visit: visit.send(b"SSH-2.0-nobody\r\n\r\n" * 3), "EHOSTUNREACH"),
], ids=["wrong JSON", "wrong end", "a page", "no model", "no money", "too long", "no HTTP"])
def test_what_will_not_pass_is_told(say, code):
    with serving(say) as server:
        assert ask(server.url, question(timeout_ms=30000), name="any").error["code"] == code


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_no_key_goes_elsewhere(status):
    with serving(answer(*HELLO)) as other:
        away = refuse(status, b"", f"Location: {other.url}/chat/completions")
        with serving(away) as server:
            talk = ask(server.url, question(), name="any", key=KEY)
        assert {end["event"] for end in talk.ends} == {"error"} and other.connections == 0
    assert talk.ends[0]["code"] == "ENOENT"
    assert KEY not in json.dumps(talk.events)


def test_a_key_that_the_server_repeats_is_not_shown():
    with serving(refuse(401, {"error": {"message": f"Incorrect API key provided: {KEY}."}})) as server:
        talk = ask(server.url, name="any", key=KEY)
    assert talk.error["code"] == "EKEYREJECTED" and KEY not in json.dumps(talk.events)


# ---- too much, too slow --------------------------------------------------------------------------

def endless(piece):
    def say(visit):
        visit.send(head(200))
        for _ in range(100 * 1024 * 1024 // len(piece)):
            visit.send(piece)
    return say


@pytest.mark.parametrize("say", [
    endless(text("x" * 50000)),
    endless(delta(reasoning_content="x" * 50000)),
    endless(delta(tool_calls=[{"index": 0, "function": {"arguments": "x" * 50000}}])),
    endless(b"data: " + b"x" * 60000),
    endless(b": " + b"x" * 60000 + b"\n\n"),
    endless((b"data: {" + b" " * 200 + b"}\n\n") * 300),
], ids=["text", "reasoning", "arguments", "one line", "comments", "empty events"])
def test_answers_of_100_mb_are_refused_in_little_memory(say):
    with serving(say) as server:
        talk = ask(server.url, name="any", is_plain=True)
        assert server.hung_up.wait(30)
    assert talk.error["code"] == "EMSGSIZE" and talk.error["requests"] == 1
    assert talk.peak_kib < 96 * 1024


def test_compression_is_not_asked_for_and_a_bomb_stays_packed():
    bomb = gzip.compress(bytes(50 << 20))

    def say(visit):
        visit.send(head(200, "Content-Encoding: gzip", f"Content-Length: {len(bomb)}") + bomb)

    with serving(say) as server:
        talk = ask(server.url, name="any", is_plain=True)
        assert "accept-encoding" not in server.visits[0].headers
    assert talk.error["code"] in ("EPROTO", "ENOENT") and talk.peak_kib < 48 * 1024


def test_a_server_that_drips_for_ever_is_left_at_the_deadline_or_when_told():
    def drip(visit):
        visit.send(head(200))
        while True:
            visit.send(b":")
            time.sleep(0.02)

    with serving(drip) as server:
        assert ask(server.url, question(timeout_ms=500), name="any").error["code"] == "ETIMEDOUT"
        assert server.hung_up.wait(30)
        server.hung_up.clear()
        with asking(server.url, question(may_cancel=True), name="any", provider="llamacpp") as running:
            running.expect("open")
            start = time.monotonic()
            running.cancel()
            assert running.finish().error["code"] == "ECANCELED"
            assert time.monotonic() - start < pace.within(1)


def test_a_cancelled_answer_hangs_up():
    def hold(visit):
        visit.send(head(200, "Transfer-Encoding: chunked") + chunk(text("hel")))
        visit.wait_for_hangup()
        raise ConnectionError

    with serving(hold) as server:
        with asking(server.url, question(may_cancel=True), name="any", provider="llamacpp") as running:
            running.expect("text")
            running.cancel()
            assert running.finish().error["code"] == "ECANCELED"
        assert server.hung_up.wait(30)


def test_waiting_for_another_try_is_cancelled_too():
    with serving(refuse(429, {"error": {"message": "later"}}, "Retry-After: 50")) as server:
        with asking(server.url, question(may_cancel=True), name="any", provider="llamacpp") as running:
            assert running.expect("again")["wait_ms"] == 50000
            running.cancel()
            assert running.finish().error["code"] == "ECANCELED"


def test_a_wait_beyond_the_deadline_is_not_begun():
    with serving(refuse(429, {"error": {"message": "later"}}, "Retry-After: 50")) as server:
        talk = ask(server.url, question(timeout_ms=5000), name="any")
    assert talk.error["code"] == "ETIMEDOUT" and talk.of("again") == []
