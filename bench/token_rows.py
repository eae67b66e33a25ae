# SPDX-License-Identifier: Apache-2.0
"""The row about streams: what the client does for each token, with a server that says them at once."""
import os
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/model"), str(ROOT / "tests")]
import asking  # noqa: E402
import scripted_server  # noqa: E402

TOKENS = 100_000
BATCH = 100  # tokens in one piece of the stream, as a fast server's come together
LIMIT_US = 5


def token(number):
    return scripted_server.event({
        "id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1794818181, "model": "any",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": {"content": f" t{number % 1000}"}, "logprobs": None,
                     "finish_reason": None}]})


def stream(count):
    tokens = [token(number) for number in range(count)]
    pieces = [b"".join(tokens[at:at + BATCH]) for at in range(0, count, BATCH)]
    return scripted_server.answer(*pieces, scripted_server.stop(), scripted_server.DONE)


def cpu_us(count):
    with scripted_server.serving(stream(count)) as server:
        talk = asking.ask(server.url, asking.question(is_quiet=True), name="any", is_plain=True)
    assert talk.answer["text"].count(" t") == count
    return talk.cpu_us


def tokens(bench, tell):
    """CPU time of the client, which a busy machine hardly changes; its start is taken away."""
    os.environ["GLOVEBOX_BIN"] = bench.glovebox
    found = [(cpu_us(TOKENS) - cpu_us(BATCH)) / (TOKENS - BATCH) for _ in range(5)]
    yield tell("token", f"client's CPU time a token, {TOKENS} streamed", f"{statistics.median(found):.2f} us", "-",
               statistics.median(found), LIMIT_US, " us", samples={"us": found})


GROUPS = {"token": tokens}
