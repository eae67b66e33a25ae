# SPDX-License-Identifier: Apache-2.0
"""`glovebox models` and real servers."""
import json
import subprocess

from lib import place as places


def models(place, *words, **more):
    environment = {**place.apart(), "PATH": "/usr/bin:/bin", **more}
    done = subprocess.run([places.binary(), "models", "--json", *words], capture_output=True, cwd=place.cwd,
                          env=environment, timeout=120)
    document = json.loads(done.stdout)
    return document, {row["name"]: row for row in document["providers"]}


def test_the_small_model_is_found_and_would_be_asked(place, small):
    document, rows = models(place, LLAMACPP_BASE_URL=small.url)
    assert rows["llamacpp"]["state"] == "ready" and rows["llamacpp"]["models"] == ["SmolLM2-135M-Instruct"]
    assert document["roles"]["coder"]["base_url"] == small.url


def test_a_key_is_told_by_its_origin_and_never_shown(place, chance):
    _, rows = models(place, LLAMACPP_BASE_URL=chance.url, LLAMA_API_KEY=chance.key)
    assert (rows["llamacpp"]["state"], rows["llamacpp"]["key_from"]) == ("ready", "LLAMA_API_KEY")
    assert rows["llamacpp"]["models"] == ["random"]
    assert chance.key not in json.dumps(rows)


def test_one_server_speaks_both_wires(place, chance):
    _, rows = models(place, "anthropic", ANTHROPIC_BASE_URL=chance.base, ANTHROPIC_API_KEY=chance.key)
    assert (rows["anthropic"]["state"], rows["anthropic"]["models"]) == ("ready", ["random"])
