# SPDX-License-Identifier: Apache-2.0
"""Pulls of the tools: from a registry that wants a log-in, and from one that has not the image."""
import json

import pytest
from conftest import BASE

from lib import registry

PORT = 5000


@pytest.fixture(scope="module")
def club(engine):
    with registry.running(engine, PORT, has_auth=True) as running:
        yield running


@pytest.fixture
def member(tools, engine, club):
    """The tools, with docker settings of their own."""
    folder = tools.base / "docker"
    folder.mkdir()
    tools.environment |= {"DOCKER_HOST": engine.host, "DOCKER_CONFIG": str(folder)}
    tools.log_in = lambda **which: (folder / "config.json").write_text(
        json.dumps({"auths": {club.address: registry.credentials(**which)}}))
    yield tools
    for image in tools.do("list_agent_images").get("images", []):
        tools.call("delete_image", image=image["id"], force=True)


def test_a_pull_logs_in_as_docker_does(member, club):
    """S2-06"""
    name = club.push(BASE, "tools/pulled:1")
    code, answer = member.call("pull_image", image=name)
    assert (code, answer["ok"], answer["remedy"]) == (1, False, f"docker login {club.address}")
    member.log_in(password="wrong")
    code, answer = member.call("pull_image", image=name)
    assert (code, answer["ok"]) == (1, False) and "do not do" in answer["remedy"]
    member.log_in()
    assert member.do("pull_image", image=name) == {"ok": True}
    club.forget(name)
    code, answer = member.call("pull_image", image=f"{club.address}/tools/none:1")
    assert (code, answer["ok"]) == (1, False) and answer["error"]


def test_the_base_of_a_build_is_pulled_with_that_log_in(member, club, forget):
    name = club.push(BASE, "tools/base:1")
    context = member.do("prepare_build_context", files={"Dockerfile": f"FROM {name}\nRUN true\n"})
    forget(context["context_id"])
    code, answer = member.call("build_image_from_context", tag="x", **context)
    assert (code, answer["status"]) == (1, "error") and name in answer["error"]
    assert "docker login" in answer["remedy"]
    member.log_in()
    assert member.do("build_image_from_context", tag="x", **context)["status"] == "success"
    club.forget(name)
