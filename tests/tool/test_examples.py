# SPDX-License-Identifier: Apache-2.0
"""The examples of the tools, run as they are, with base images that come from a real registry."""
import json
import os
import subprocess

import pytest

from lib import debian, engines, host, place as places, registry

EXAMPLES = places.ROOT / "examples"
REGISTRY_PORT = 5000


@pytest.fixture(scope="module")
def engine():
    """Official images are pulled from a registry of our own, which stands in for the public one."""
    with engines.docker("--registry-mirror", f"http://127.0.0.1:{REGISTRY_PORT}") as running, \
            registry.running(running, REGISTRY_PORT) as shop:
        for name, made in (("python:3-alpine", debian.import_python),
                           ("node:20-alpine", debian.import_node)):
            shop.push(made(running, "localhost/made:test"), f"library/{name}")
            running.ask("DELETE", "/images/localhost/made:test?force=1")
        yield running


@pytest.fixture
def example(tools, engine):
    """Runs one in the network of the engine's machine."""
    def run(name, *words):
        return subprocess.run(
            ["nsenter", f"--net=/proc/{engine.init.pid}/ns/net", "/usr/bin/python3", EXAMPLES / name, *words],
            capture_output=True, text=True, timeout=300,
            env={**os.environ, **tools.environment, "DOCKER_HOST": engine.host,
                 "GLOVEBOX_BACKEND": "docker", "GLOVEBOX": str(places.binary())})

    yield run
    assert host.until(lambda: engine.containers() == [], within=30)
    assert tools.boxes() == [] and tools.leftovers() == []
    assert not any(tag.startswith("agent-env") for image in engine.get("/images/json")
                   for tag in image["RepoTags"] or [])


def test_S2_30_python_hello_world_through_the_image_factory(example):
    done = example("hello_image.py")
    assert (done.returncode, done.stdout, done.stderr) == \
        (0, "Hello from an image of my own\n", "")


def test_S2_30_a_node_server_built_from_a_path_is_reached_on_a_port(example):
    done = example("node_server.py", "18090")
    assert (done.returncode, done.stdout, done.stderr) == \
        (0, "Hello from a server in a box\nGET /\n", "")


def test_S2_21_the_dockerfile_for_node_builds_and_starts(tools, engine, forget):
    """The one for Python is what hello_image.py is built with."""
    tools.environment |= {"DOCKER_HOST": engine.host, "GLOVEBOX_BACKEND": "docker"}
    package = {"name": "x", "version": "1.0.0", "scripts": {"start": "node main.js"}}
    context = tools.do("prepare_build_context", files={
        "package.json": json.dumps(package), "main.js": "console.log(6 * 7)\n"})
    forget(context["context_id"])
    image = tools.do("build_image_from_context", tag="node", **context)["tag"]
    with tools.made(image=image, use_image_cmd=True) as made:
        log = lambda: tools.do("get_container_logs", container_id=made.container_id)["log"]
        assert host.until(lambda: not log()["running"], within=60)
        assert log()["exit_code"] == 0 and log()["stdout"].endswith("\n42\n"), log()
    tools.do("delete_image", image=image)


def test_every_example_is_named_and_tested():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {"hello_image.py", "node_server.py", "json_tool.py"}  # which both use
    assert all(f"`{name}`" in (EXAMPLES / "README.md").read_text() for name in names)
