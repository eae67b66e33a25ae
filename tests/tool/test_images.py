# SPDX-License-Identifier: Apache-2.0
"""The tools for images, and environments in containers, against a real private Docker."""
import json
import re
from pathlib import Path

import pytest
from conftest import BASE


@pytest.fixture
def images(tools, engine):
    """The tools with that engine; what they built is deleted."""
    tools.environment["DOCKER_HOST"] = engine.host
    tools.engine = engine
    yield tools
    for image in tools.do("list_agent_images").get("images", []):
        tools.call("delete_image", image=image["id"], force=True)
    assert engine.containers() == []


def context(images, forget, files):
    path = images.do("prepare_build_context", files=files)["context_id"]
    forget(path)
    return path


def test_an_image_is_built_listed_and_deleted(images, forget):
    """S2-22, S2-25, S2-26, S2-28"""
    path = context(images, forget, {"Dockerfile": f"FROM {BASE}\nARG WHO=me\nCOPY a.txt /a.txt\n"
                                                  "RUN echo hello $WHO > /b.txt\n",
                                    "a.txt": "x"})
    built = images.do("build_image_from_context", context_id=path, tag=" first ",
                      build_args={"WHO": "you & $(id)"})
    assert (built["status"], built["tag"]) == ("success", "agent-env:first")
    assert built["image_id"].startswith("sha256:") and built["size_mb"] > 0.1
    assert "agent-env:first" in built["build_log_summary"]
    listed = images.do("list_agent_images")["images"]
    assert [(image["id"], image["tags"]) for image in listed] == \
        [(built["image_id"], ["agent-env:first"])]
    assert listed[0]["created"].endswith("Z") and listed[0]["size_mb"] == built["size_mb"]
    gone = images.do("delete_image", image="agent-env:first", agent_env_only=True)
    assert gone["ok"] is True and gone["deleted"][0] == "Untagged: agent-env:first"
    assert any(line.startswith("Deleted: sha256:") for line in gone["deleted"])
    assert images.do("list_agent_images") == {}


def test_a_filter_finds_what_it_says(images, forget):
    """S2-26: the name of the repository alone means all of it."""
    path = context(images, forget, {"Dockerfile": f"FROM {BASE}\nCMD [\"true\"]\n"})
    for tag in ("task1-a", "agent-env:task1-b", "task2-a"):
        images.do("build_image_from_context", context_id=path, tag=tag)

    def found(pattern):
        listed = images.do("list_agent_images", filter_tag=pattern).get("images", [])
        return sorted(tag for image in listed for tag in image["tags"])

    every = ["agent-env:task1-a", "agent-env:task1-b", "agent-env:task2-a"]
    for pattern in ("", "agent-env", "agent-env:", "agent-env:*", "*"):
        assert found(pattern) == every, pattern
    assert set(found("task2-a")) >= {"agent-env:task2-a"}
    assert set(found("agent-env:task1-*")) >= {"agent-env:task1-a", "agent-env:task1-b"}
    assert found("other") == []
    assert "is no tag" in images.fails("list_agent_images", filter_tag="a b")


def test_a_tag_of_nothing_is_the_time(images, forget):
    path = context(images, forget, {"Dockerfile": f"FROM {BASE}\nCMD [\"true\"]\n"})
    built = images.do("build_image_from_path", path=path)
    assert built["tag"].startswith("agent-env:build-") and built["tag"][16:].isdigit()


def test_a_build_that_fails_tells_where(images, forget):
    """S2-23, S2-25: the true layer, the end of the log."""
    path = context(images, forget, {"Dockerfile": f"FROM {BASE}\nRUN echo fine\n"
                                                  "RUN echo the reason >&2; exit 3\nRUN echo never\n"})
    code, answer = images.call("build_image_from_context", context_id=path, tag="bad")
    assert (code, answer["status"]) == (1, "error")
    assert answer["error"].startswith("build failed: ") and "returned a non-zero code: 3" in \
        answer["error"]
    assert re.match(r"Step \d/\d : RUN echo the reason", answer["failed_layer"])
    assert "the reason" in Path(answer["build_log"]).read_text()
    assert "the reason" in answer["build_log_summary"]
    assert images.do("list_agent_images") == {}


def test_what_is_ignored_does_not_get_in(images, forget):
    """S2-20"""
    path = context(images, forget, {
        "Dockerfile": f"FROM {BASE}\nCOPY . /all\nRUN cd /all && test -e keep.txt && ! test -e "
                      ".env && ! test -e notes.md && ! test -e node_modules\n",
        "keep.txt": "", ".env": "SECRET=1", "notes.md": "", "node_modules/x": ""})
    assert images.do("build_image_from_context", context_id=path)["status"] == "success"


FORBIDDEN = [
    "RUN --mount=type=bind,source=/var/run/docker.sock,target=/s true",
    "RUN ls /var/run/docker.sock",
    "VOLUME /var/run/docker.sock",
    "RUN --security=insecure true",
    "RUN --network=host true",
    "ADD http://127.0.0.1/x /x",
]


def test_forbidden_dockerfiles_reach_no_engine(images, forget):
    """S2-24"""
    for line in FORBIDDEN:
        path = context(images, forget, {"Dockerfile": f"FROM {BASE}\n{line}\n"})
        code, answer = images.call("build_image_from_context", context_id=path)
        assert (code, answer["status"]) == (1, "error"), line
        assert answer["error"] == ("Dockerfile contains forbidden pattern (e.g. docker.sock mount "
                                   "or privileged): security check failed"), (line, answer)
        assert answer["findings"][0]["line"] == 2 and answer["findings"][0]["remedy"]
    assert images.do("list_agent_images") == {}


def test_a_base_image_that_brings_forbidden_things_along(images, forget):
    """What stands behind ONBUILD in a base image runs in the build of another."""
    body = {"Config": {"OnBuild": ["RUN ls /var/run/docker.sock"]}}
    made = json.loads(images.engine.ask("POST", "/containers/create",
                                        {"Image": BASE, "Cmd": ["true"]})[1])["Id"]
    status, data = images.engine.ask(
        "POST", f"/commit?container={made}&repo=localhost/trap&tag=test", body["Config"])
    images.engine.ask("DELETE", f"/containers/{made}")
    assert status == 201, data
    path = context(images, forget, {"Dockerfile": "FROM localhost/trap:test\nCMD [\"true\"]\n"})
    code, answer = images.call("build_image_from_context", context_id=path)
    assert code == 1 and "forbidden pattern" in answer["error"], answer


@pytest.mark.parametrize("tool, key", [("build_image_from_context", "context_id"),
                                       ("build_image_from_path", "path")])
def test_directories_that_cannot_be_built(images, forget, tool, key):
    """S2-23"""
    code, answer = images.call(tool)
    assert (code, answer) == (1, {"status": "error", "error": f"{key} is required"})
    for path in ("/nowhere", "/etc/passwd"):
        code, answer = images.call(tool, **{key: path})
        assert code == 1 and answer["error"].startswith(f"{key} is not a valid directory: ")
    empty = context(images, forget, {"a": "x"})
    for text in (None, "", "NONSENSE x\n", "FROM\n", "\0"):
        if text is not None:
            Path(empty, "Dockerfile").write_text(text)
        code, answer = images.call(tool, **{key: empty})
        assert code == 1 and answer["error"].startswith(
            f"Dockerfile not found or unreadable in {key}: "), answer
    Path(empty, "Dockerfile").write_text(f"FROM {BASE}\n")
    for tag in ("a b", "UPPER:case:x", "x" * 300, "-x", "a;b"):
        code, answer = images.call(tool, **{key: empty, "tag": tag})
        assert (code, answer["status"]) == (1, "error"), tag
    assert images.do("list_agent_images") == {}


def test_a_pull_that_fails_is_a_failure(images):
    """S2-06: the engine says so in its stream, behind a 200."""
    code, answer = images.call("pull_image", image="localhost:1/none:x")
    assert (code, answer["ok"]) == (1, False) and answer["error"]
    for name in ("", " ", "UPPER", "a b", "../x", "http://x"):
        code, answer = images.call("pull_image", image=name)
        assert (code, answer["ok"]) == (1, False) and answer["error"]


def test_only_images_of_the_tools_are_deleted_where_that_is_asked(images):
    """S2-28"""
    assert images.fails("delete_image", image=" ") == "image is required"
    for name in (BASE, "agent-envious:x", "localhost/agent-env:x"):
        error = images.fails("delete_image", image=name, agent_env_only=True)
        assert error == ('only agent-created images can be deleted (image must start with '
                         '"agent-env:"); use list_agent_images to see allowed tags')
    code, answer = images.call("delete_image", image="agent-env:none")
    assert (code, answer["ok"]) == (1, False) and "agent-env:none" in answer["error"]
    assert images.engine.get("/images/json")


def test_the_cache_is_pruned(images, forget):
    """S2-27: what no name leads to, told in MB; what is younger than asked stays."""
    assert images.do("prune_build_cache") == {}
    for text in ("one", "two"):
        path = context(images, forget, {"Dockerfile": f"FROM {BASE}\nRUN echo {text} && "
                                                      "head -c 3000000 /dev/urandom >/big\n"})
        images.do("build_image_from_context", context_id=path, tag="again")
    nameless = lambda: [image for image in images.engine.get("/images/json")
                        if not [tag for tag in image["RepoTags"] or [] if "none" not in tag]]
    assert len(nameless()) == 1
    assert images.do("prune_build_cache", older_than_hrs=24) == {} and len(nameless()) == 1
    assert 2.5 < images.do("prune_build_cache")["space_reclaimed_mb"] < 10 and nameless() == []
    assert images.do("prune_build_cache") == {}
    assert len(images.do("list_agent_images")["images"]) == 1


def test_without_an_engine_the_error_says_so(tools):
    tools.environment["DOCKER_HOST"] = f"unix://{tools.base}/none.sock"
    for tool in ("list_agent_images", "prune_build_cache"):
        assert tools.fails(tool)
    code, answer = tools.call("pull_image", image="busybox")
    assert (code, answer["ok"]) == (1, False) and answer["remedy"]


def test_an_address_that_is_none_is_refused(tools):
    """S2-05"""
    done = tools.words("list_agent_images", "{}", DOCKER_HOST="nonsense://x")
    answer = json.loads(done.out)
    assert done.code == 1 and answer["error"] == answer["Error"]
    assert done.err == f"adde: {answer['error']}\n" and done.err.startswith("adde: docker client: ")


def test_an_environment_can_be_a_container(images):
    """S2-07, S2-12, S2-15 on the other backend: an image, the same answers, nothing left."""
    images.environment["GLOVEBOX_BACKEND"] = "docker"
    assert images.fails("create_runtime_env", image=" ") == "image name is required"
    assert "No such image" in images.fails("create_runtime_env", image="localhost/none:x")
    assert images.leftovers() == []
    with images.made(image=BASE, env_vars={"A": "b c"}) as made:
        assert len(images.engine.containers()) == 1
        log = images.run(made, "a.sh", "echo $A; cat /proc/1/comm >&2; echo x > out.txt; pwd")
        assert (log["exit_code"], log["stdout"]) == (0, "b c\n/workspace\n")
        assert Path(made.workspace, "out.txt").read_text() == "x\n"
        log = images.run(made, "b.sh", "cat out.txt; sleep 1000", timeout_sec=1)
        assert (log["exit_code"], log["stdout"], log["timed_out"]) == (124, "x\n", True)
        assert images.do("get_container_logs", container_id=made.container_id)["log"] == log
        images.do("cleanup_env", container_id=made.container_id, delete_workspace=True)
        assert images.engine.containers() == []
