# SPDX-License-Identifier: Apache-2.0
"""`glovebox run` and the web: a search server of this machine, one that fails, and none."""
import json

import pytest
import scripts
from scripts import Desk
from test_models import nobody, serving

FOUND = json.dumps({"results": [{"title": "Numbers", "url": "http://a.example/n",
                                 "content": "The number is forty-two."}]}).encode()


@pytest.fixture
def desk(place):
    """The plan asks the web once, and answers with what it says."""
    return Desk(place, [
        scripts.rule(scripts.plan(action="finish", answer="42"), system="You plan",
                     when="The number is forty-two."),
        scripts.rule(scripts.plan(action="finish", answer="unknown"), system="You plan",
                     when="there is no search; go on without"),
        scripts.rule(scripts.plan(action="finish", answer="unknown"), system="You plan",
                     when="a search failed; go on without"),
        scripts.rule(scripts.plan(action="search", query="which number is it"), system="You plan")])


def test_what_is_found_reaches_the_model_and_is_told(desk):
    """S0-10"""
    with serving(FOUND) as (url, seen):
        answer = desk.run("--record", "task.rec", "which number?", env={**desk.env, "SEARXNG_URL": url})
    assert answer.stdout == b"42\n"
    assert "● search      which number is it" in answer.stderr.decode()
    assert [path for path, _ in seen] == ["/v1/search?format=json&q=which%20number%20is%20it"]
    assert desk.run("--replay", "task.rec").stdout == b"42\n"


def test_without_a_server_it_is_said_once_and_goes_on(desk):
    answer = desk.run("which number?")
    assert answer.stdout == b"unknown\n"
    assert answer.stderr.decode().count("no search: ") == 1
    assert "no search server is set up" in answer.stderr.decode()


def test_a_server_that_fails_does_not_stop_the_task(desk):
    with nobody() as url:
        answer = desk.run("which number?", env={**desk.env, "SEARXNG_URL": url})
    assert answer.stdout == b"unknown\n" and "a search failed: " in answer.stderr.decode()
