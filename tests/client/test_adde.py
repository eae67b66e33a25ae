# SPDX-License-Identifier: Apache-2.0
"""Module adde: the functions, signatures and exceptions that agents written for it expect (S2-29)."""
import inspect
import json
import os
import shutil
import subprocess
from pathlib import Path

import adde
import pytest
from adde import client
from conftest import IMAGE
from lib import host, pace
from lib import ledger as books

SIGNATURES = {
    "pull_image": "image, bin_path=None",
    "create_runtime_env": "image, dependencies=None, env_vars=None, network=False, port_bindings=None,"
                          " use_image_cmd=False, bin_path=None",
    "execute_code_block": "container_id, filename, code_content, timeout_sec=30, bin_path=None",
    "get_container_logs": "container_id, tail_lines=0, bin_path=None",
    "cleanup_env": "container_id, bin_path=None",
    "prepare_build_context": "files, context_id=None, bin_path=None",
    "build_image_from_context": "context_id, tag, build_args=None, bin_path=None",
    "build_image_from_path": "path, tag, build_args=None, bin_path=None",
    "list_agent_images": "filter_tag=None, bin_path=None",
    "prune_build_cache": "older_than_hrs=0, bin_path=None",
    "delete_image": "image, force=False, bin_path=None",
}


@pytest.fixture
def link(desk, monkeypatch):
    """adde, as it is installed."""
    path = desk.base / "bin/adde"
    path.parent.mkdir()
    path.symlink_to(os.environ["GLOVEBOX_BIN"])
    monkeypatch.setenv("ADDE_BIN", str(path))
    return path


def program(desk, body, name="fake"):
    path = desk.cwd / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def image_of(backend):
    return IMAGE if backend.name == "docker" else "host"


# ---- the contract --------------------------------------------------------------------------------

@pytest.mark.parametrize("name", SIGNATURES)
def test_S2_29_signatures(name):
    parameters = [str(parameter.replace(annotation=inspect.Parameter.empty))
                  for parameter in inspect.signature(getattr(adde, name)).parameters.values()]
    assert ", ".join(parameters) == SIGNATURES[name]
    assert name in adde.__all__ and len(adde.__all__) == len(SIGNATURES)
    assert getattr(client, name) is getattr(adde, name)


@pytest.mark.parametrize("body, said", [
    ("echo ' on stderr '; echo ' words ' >&2; exit 1", "words"),
    ("echo '{\"error\": \"told\"}'; exit 1", '{"error": "told"}'),
    ("exit 1", "adde pull_image failed"),
    ("exit 2", "adde pull_image failed"),
])
def test_S2_29_a_failed_call_is_a_runtime_error(desk, body, said):
    with pytest.raises(RuntimeError) as caught:
        adde.pull_image("x", bin_path=program(desk, body))
    assert str(caught.value) == said


def test_other_ends(desk):
    with pytest.raises(json.JSONDecodeError):
        adde.pull_image("x", bin_path=program(desk, "echo junk"))
    with pytest.raises(FileNotFoundError):
        adde.pull_image("x", bin_path="/nonexistent/adde")


@pytest.mark.parametrize("image", ["busybox", "", "python:3-alpine", "xagent-env:1", "agent-env"])
def test_S2_29_only_images_of_agents_are_deleted(image):
    with pytest.raises(ValueError, match="agent-env:"):
        adde.delete_image(image, bin_path="/nonexistent")


def test_S2_29_where_the_command_is(desk, link, monkeypatch):
    tell = "echo \"{\\\"who\\\": \\\"$0 $1\\\"}\""
    named = program(desk, tell, "named")
    variable = program(desk, tell, "variable")
    on_path = program(desk, tell, "adde")
    monkeypatch.setenv("ADDE_BIN", variable)
    assert adde.list_agent_images(bin_path=named)["who"] == f"{named} list_agent_images"
    assert adde.list_agent_images()["who"] == f"{variable} list_agent_images"
    monkeypatch.delenv("ADDE_BIN")
    monkeypatch.setenv("PATH", f"{desk.cwd}:/usr/bin:/bin")
    assert adde.list_agent_images()["who"] == f"{on_path} list_agent_images"
    tree = desk.base / "tree"
    shutil.copytree(Path(client.__file__).parent, tree / "src/adde")
    (tree / "go").mkdir()
    shutil.copy(on_path, tree / "go/adde")
    code = "import adde; print(adde.list_agent_images()['who'], adde.__file__)"
    done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": f"{tree}/src:{Path(client.__file__).parents[1]}"})
    assert done.stdout.split() == [f"{tree}/go/adde", "list_agent_images", f"{tree}/src/adde/__init__.py"]


def test_without_an_adde_glovebox_does(desk, monkeypatch):
    monkeypatch.delenv("ADDE_BIN", raising=False)
    monkeypatch.setenv("PATH", str(desk.cwd))
    monkeypatch.delenv("GLOVEBOX_BIN")
    with pytest.raises(FileNotFoundError):
        adde.list_agent_images()
    program(desk, "echo \"{\\\"words\\\": \\\"$*\\\"}\"", "glovebox")
    assert adde.list_agent_images() == {"words": "tool list_agent_images"}


def test_S2_29_the_time_of_a_call_follows_from_that_of_its_run(desk, monkeypatch):
    waited = []
    real = client._complete
    monkeypatch.setattr(client, "_complete",
                        lambda words, request, timeout: waited.append(timeout) or real(words, request, timeout))
    fake = program(desk, "echo '{}'")
    for seconds in (30, 0, -5, 115, 400):
        adde.execute_code_block("c", "a.py", "", seconds, fake)
    assert waited[:3] == [client.CALL_S] * 3 and waited[3] > 115 + 60 and waited[4] > 400 + 60
    adde.build_image_from_path(".", "t", bin_path=fake)
    assert waited[-1] > 600


def test_a_call_that_hangs_is_ended_first(desk, monkeypatch):
    monkeypatch.setattr(client, "LONG_CALL_S", 0.3)
    with pytest.raises(subprocess.TimeoutExpired):
        adde.pull_image("x", bin_path=program(desk, "exec sleep 600"))
    assert host.until(lambda: not books.own_processes(), pace.within(2))


def test_a_request_may_be_longer_than_a_command_line(desk):
    fake = program(desk, "printf '{\"bytes\": %d}' $(wc -c)")
    assert adde.execute_code_block("c", "a.py", "x" * 3_000_000, bin_path=fake)["bytes"] > 3_000_000


# ---- the tools -----------------------------------------------------------------------------------

def test_S2_30_create_execute_log_fix_execute(backend, link, desk):
    made = adde.create_runtime_env(image_of(backend), env_vars={"WHO": "agent"})
    id, workspace = made["container_id"], Path(made["workspace"])
    try:
        (workspace / "in.txt").write_text("from the host")
        log = adde.execute_code_block(id, "main.sh", "echo $WHO; cat missing")["log"]
        assert log["exit_code"] != 0 and log["stdout"] == "agent\n" and "missing" in log["stderr"]
        assert adde.get_container_logs(id, 1)["log"]["exit_code"] == log["exit_code"]
        log = adde.execute_code_block(id, "main.sh", "cat in.txt; echo made > out.txt")["log"]
        assert (log["exit_code"], log["stdout"]) == (0, "from the host")
        assert (workspace / "out.txt").read_text() == "made\n"
        log = adde.execute_code_block(id, "slow.sh", "echo so far; sleep 600", timeout_sec=1)["log"]
        assert (log["exit_code"], log["timed_out"], log["stdout"]) == (124, True, "so far\n")
    finally:
        assert adde.cleanup_env(id) == {"ok": True}
    with pytest.raises(RuntimeError, match="error"):
        adde.execute_code_block(id, "a.sh", "true")
    shutil.rmtree(workspace)


def test_S2_10_dependencies_that_are_no_names_are_an_error(backend, link):
    with pytest.raises(RuntimeError, match="error"):
        adde.create_runtime_env(image_of(backend), dependencies=["requests; reboot"])


@pytest.mark.parametrize("engine", ["docker"], indirect=True)
def test_images_from_files_to_deletion(backend, link):
    context = adde.prepare_build_context({"Dockerfile": f"FROM {IMAGE}\nARG WORD\nCOPY a /a\n", "a": "1"})
    try:
        built = adde.build_image_from_context(context["context_id"], "task-1", {"WORD": "x"})
        assert (built["status"], built["tag"]) == ("success", "agent-env:task-1"), built
        again = adde.build_image_from_path(context["context_id"], "agent-env:task-2")
        assert again["status"] == "success"
    finally:
        shutil.rmtree(context["context_id"])
    tags = {tag for image in adde.list_agent_images("agent-env")["images"] for tag in image["tags"]}
    assert tags == {"agent-env:task-1", "agent-env:task-2"}
    assert "error" not in adde.prune_build_cache()
    for tag in sorted(tags):
        assert adde.delete_image(tag, force=True)["ok"] is True
    assert "images" not in adde.list_agent_images()
    with pytest.raises(RuntimeError, match="error"):
        adde.delete_image("agent-env:task-1")
    with pytest.raises(RuntimeError, match="image name is required"):
        adde.pull_image("")
    with pytest.raises(RuntimeError, match="error"):
        adde.pull_image("127.0.0.1:1/nothing:here")
