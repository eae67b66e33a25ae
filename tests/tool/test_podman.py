# SPDX-License-Identifier: Apache-2.0
"""The tools for images on a real private Podman."""
import pytest
from conftest import BASE

from lib import engines


@pytest.fixture(scope="module")
def engine():
    with engines.podman() as running:
        running.import_busybox(BASE)
        yield running


def test_images_from_their_files_to_their_end(tools, engine, forget):
    """S2-19 … S2-28"""
    tools.environment["DOCKER_HOST"] = engine.host
    files = {"Dockerfile": f"FROM {BASE}\nARG WHO\nCOPY greeting /greeting\n"
                           "RUN grep hello /greeting && echo $WHO\n", "greeting": "hello\n"}
    context = tools.do("prepare_build_context", files=files)
    forget(context["context_id"])
    built = tools.do("build_image_from_context", tag="flow", build_args={"WHO": "me"}, **context)
    assert built["tag"] == "agent-env:flow" and built["image_id"].startswith("sha256:")
    assert built["size_mb"] > 0.1
    listed = tools.do("list_agent_images", filter_tag="fl*")["images"]
    assert [(image["id"], len(image["tags"])) for image in listed] == [(built["image_id"], 1)]
    assert listed[0]["tags"][0].endswith("agent-env:flow")
    code, answer = tools.call("build_image_from_context", tag="bad", **tools.do(
        "prepare_build_context", files={"greeting": "bye\n"}, **context))
    assert (code, answer["status"]) == (1, "error") and "grep hello" in answer["failed_layer"]
    code, answer = tools.call("build_image_from_path", path=str(tools.cwd), tag="none")
    assert answer["error"].startswith("Dockerfile not found or unreadable in path: ")
    assert tools.do("prune_build_cache").keys() <= {"space_reclaimed_mb"}
    assert tools.do("delete_image", image=built["tag"], force=True)["ok"] is True
    assert tools.do("list_agent_images") == {}
    code, answer = tools.call("pull_image", image="127.0.0.1:1/none:x")
    assert (code, answer["ok"]) == (1, False) and answer["error"]
