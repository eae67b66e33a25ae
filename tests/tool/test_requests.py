# SPDX-License-Identifier: Apache-2.0
"""What comes in is a model's: whatever it is, there is one JSON object, the right code, and nothing
was started."""
import json
import os

import pytest

from lib import place as places

ALL = ["pull_image", "create_runtime_env", "execute_code_block", "get_container_logs", "cleanup_env",
       "prepare_build_context", "build_image_from_context", "build_image_from_path",
       "list_agent_images", "prune_build_cache", "delete_image"]
UNKNOWN = "b_" + "0" * 26


def check_nothing(tools):
    assert tools.boxes() == [] and tools.leftovers() == []


def check_refused(tools, done):
    """Both spellings, the same on stderr, 1."""
    answer = json.loads(done.out)
    assert done.code == 1 and answer["error"] == answer["Error"]
    assert done.err == f"adde: {answer['error']}\n"
    check_nothing(tools)


def test_no_words_are_a_usage_error(tools):
    """S2-01"""
    done = tools.words()
    assert (done.code, done.out) == (2, b"")
    assert len(done.err.splitlines()) == 3 and all(name in done.err for name in ALL)


def test_an_unknown_tool(tools):
    """S2-02"""
    for name in ("x", "CREATE_RUNTIME_ENV", "", "create_runtime_env "):
        done = tools.words(name, "{}")
        assert (done.code, done.out) == (1, b"")
        assert done.err.startswith(f'adde: unknown tool "{name}"\n')


NO_OBJECTS = [
    "", "[]", "null", "1", '"x"', "{", "{}{}", "{'a':1}", '{"a":1,"a":2}', "\ufeff{}", "nope",
    '{"container_id": "\\u0000"}', '{"x": "\\ud800"}', "[" * 5000, '{"a":' * 5000,
]


@pytest.mark.parametrize("tool", ALL)
def test_what_is_no_object_is_refused(tools, tool):
    """S2-03"""
    for text in NO_OBJECTS:
        check_refused(tools, tools.words(tool, text))


def test_bytes_that_are_no_text_are_refused(tools):
    for tool in ALL:
        check_refused(tools, tools.words(tool, stdin=b'{"image": "\xff\xfe"}'))
        check_refused(tools, tools.words(tool, stdin=b'{"image": "a\0b"}'))


WRONG = [
    ("create_runtime_env", "image", [1, True, [], {}]),
    ("create_runtime_env", "dependencies", ["x", {}, [1], [None]]),
    ("create_runtime_env", "env_vars", ["x", [], {"A": 1}, {"A": None}]),
    ("create_runtime_env", "network", [0, 1, "true", "yes"]),
    ("create_runtime_env", "port_bindings", ["80", [80], {"80": 80}]),
    ("create_runtime_env", "use_image_cmd", ["no", 1]),
    ("create_runtime_env", "memory", [1024]),
    ("create_runtime_env", "cpus", ["1", -1, 1e9]),
    ("create_runtime_env", "pids", [0, -1, 1.5, 10**6]),
    ("create_runtime_env", "ttl_sec", [0, -1, 10**9, "1h"]),
    ("execute_code_block", "container_id", [1, [], {}]),
    ("execute_code_block", "filename", [1, ["a.py"]]),
    ("execute_code_block", "code_content", [1, ["x"]]),
    ("execute_code_block", "timeout_sec", ["1", 1.5, 10**30]),
    ("get_container_logs", "tail_lines", ["1", 0.5]),
    ("cleanup_env", "container_id", [7]),
    ("prepare_build_context", "files", ["x", [], {"a": 1}, {"a": {}}]),
    ("prepare_build_context", "context_id", [1]),
    ("pull_image", "image", [1, ["x"]]),
    ("build_image_from_context", "build_args", [[], {"A": 1}]),
    ("build_image_from_path", "path", [1]),
    ("build_image_from_path", "tag", [1]),
    ("list_agent_images", "filter_tag", [1]),
    ("prune_build_cache", "older_than_hrs", [-1, "1", 1.5, 10**12]),
    ("delete_image", "force", ["yes", 1]),
]


@pytest.mark.parametrize("tool", ALL)
def test_values_of_another_type_are_refused(tools, tool):
    for key, values in [(key, values) for name, key, values in WRONG if name == tool]:
        for value in values:
            check_refused(tools, tools.words(tool, json.dumps({key: value})))


OTHERS = {
    "string": [1, 1.5, True, [], ["x"], {}], "integer": ["1", 1.5, True, [], {}, 10**30],
    "number": ["1", True, [], {}], "boolean": [0, 1, "true", [], {}],
    "array": ["x", 1, True, {}, [1], [None], [["x"]]],
    "object": ["x", 1, True, [], {"a": 1}, {"a": None}, {"a": ["x"]}, {"a": {}}],
}


@pytest.mark.parametrize("tool", ALL)
def test_every_key_refuses_every_other_type(tools, tool):
    """As the tool's own schema has them, so that no key of a tool to come is forgotten."""
    listed = json.loads(tools.words("--list").out)["tools"]
    keys = next(one["input_schema"]["properties"] for one in listed if one["name"] == tool)
    assert keys
    for key, schema in keys.items():
        for value in OTHERS[schema["type"]]:
            check_refused(tools, tools.words(tool, json.dumps({key: value})))


@pytest.mark.parametrize("tool", ALL)
def test_fifty_megabytes_are_refused_by_every_tool(tools, tool):
    request = {"container_id": UNKNOWN, "filename": "a.py", "code_content": "#" * (50 << 20)}
    done = tools.words(tool, stdin=json.dumps(request).encode())
    assert "at most 16 MiB" in json.loads(done.out)["error"]
    check_refused(tools, done)


@pytest.mark.parametrize("name", ["..", "../..", "../containers/json", "x/../../y", "/etc/passwd",
                                  "x?force=1", "x#y", "a b", "x\ny", "-f", "x;id", "$(id)", "%2e%2e",
                                  "x" * 5000])
def test_names_of_images_that_lead_elsewhere_ask_nobody(tools, name):
    """There is no engine at that address: whoever asked one would say so."""
    tools.environment["DOCKER_HOST"] = f"unix://{tools.base}/none.sock"
    for tool in ("pull_image", "delete_image"):
        code, answer = tools.call(tool, image=name)
        assert (code, answer["ok"]) == (1, False)
        assert "no engine is running" not in answer["error"], (tool, answer)
    code, answer = tools.call("build_image_from_path", path=str(tools.cwd), tag=name)
    assert (code, answer["status"]) == (1, "error")
    assert "no engine is running" not in answer["error"], answer
    check_nothing(tools)


@pytest.mark.parametrize("path", ["..", "relative/../..", "/etc/../nowhere", "", " ", "\t", "x" * 5000,
                                  "/dev/null", "/proc/self/mem"])
def test_directories_that_are_none_ask_nobody(tools, path):
    tools.environment["DOCKER_HOST"] = f"unix://{tools.base}/none.sock"
    for tool, key in (("build_image_from_context", "context_id"), ("build_image_from_path", "path")):
        code, answer = tools.call(tool, **{key: path})
        assert (code, answer["status"]) == (1, "error")
        assert "no engine is running" not in answer["error"], answer
    check_nothing(tools)


MISSING = [
    ("execute_code_block", {}, "container_id is required"),
    ("execute_code_block", {"container_id": " "}, "container_id is required"),
    ("execute_code_block", {"container_id": UNKNOWN}, "filename is required"),
    ("execute_code_block", {"container_id": UNKNOWN, "filename": "a"}, "code_content is required"),
    ("get_container_logs", {}, "container_id is required"),
    ("cleanup_env", {"container_id": None}, "container_id is required"),
    ("prepare_build_context", {}, "files map is required and must not be empty"),
    ("prepare_build_context", {"files": {}}, "files map is required and must not be empty"),
    ("create_runtime_env", {"image": "  "}, "image name is required"),
]


def test_missing_keys_are_named(tools):
    """S2-06, S2-19, S2-23"""
    for tool, request, error in MISSING:
        assert tools.fails(tool, **request) == error
    check_nothing(tools)


def test_unknown_environments(tools):
    for name in (UNKNOWN, "b", "b_", "../../etc", "/etc", "b_" + "0" * 25 + "/", "$(id)", "x" * 5000):
        for tool in ("execute_code_block", "get_container_logs", "cleanup_env"):
            code, answer = tools.call(tool, container_id=name, filename="a.py", code_content="")
            assert code == 1 and "there is no environment" in answer["error"]
            assert "create_runtime_env" in answer["remedy"], answer
            assert answer.get("ok", False) is False
        assert "ok" in answer
    check_nothing(tools)


def test_paths_that_lead_out_are_refused(tools):
    paths = ["../x", "/etc/passwd", "a/../../x", "..", ".", "a//b", "a/", "./a", "x" * 300,
             "a/" * 3000 + "b"]
    for path in paths:
        assert "relative path" in tools.fails("prepare_build_context", files={"ok": "1", path: "x"})
    check_nothing(tools)
    with tools.made() as made:
        for path in paths:
            error = tools.fails("execute_code_block", container_id=made.container_id, filename=path,
                                code_content="echo never")
            assert "relative path" in error
        assert os.listdir(made.workspace) == []


def test_a_link_in_the_workspace_leads_nowhere(tools):
    victim = tools.cwd / "victim"
    victim.write_text("safe")
    with tools.made() as made:
        os.symlink(tools.cwd, f"{made.workspace}/out")
        os.symlink(victim, f"{made.workspace}/file.sh")
        tools.fails("execute_code_block", container_id=made.container_id, filename="out/victim",
                    code_content="overwritten")
        tools.call("execute_code_block", container_id=made.container_id, filename="file.sh",
                   code_content="echo x")
    assert victim.read_text() == "safe"


def test_fifty_megabytes_of_code_are_refused(tools):
    with tools.made() as made:
        request = {"container_id": made.container_id, "filename": "a.py",
                   "code_content": "#" * (50 << 20)}
        done = tools.words("execute_code_block", stdin=json.dumps(request).encode())
        answer = json.loads(done.out)
        assert done.code == 1 and "at most 16 MiB" in answer["error"]
        assert done.err == f"adde: {answer['error']}\n" and answer["error"].startswith("read stdin: ")
        assert os.listdir(made.workspace) == []


def test_code_that_does_not_fit_is_refused_before_it_lies_in_the_workspace(tools):
    with tools.made(disk="1m") as made:
        error = tools.fails("execute_code_block", container_id=made.container_id, filename="a.py",
                            code_content="#" * (3 << 20))
        assert error and os.listdir(made.workspace) == []
        assert tools.run(made, "a.py", "print(1)")["stdout"] == "1\n"


def test_four_megabytes_of_code_run(tools):
    with tools.made() as made:
        assert tools.run(made, "a.sh", "#" * (4 << 20) + "\necho 1")["stdout"] == "1\n"


def test_dependencies_that_are_no_names_are_refused(tools):
    """S2-10"""
    for name in ("; rm -rf /", "$(touch x)", "`id`", "a b", "-r/etc/passwd", "--index-url=http://x",
                 "", "a\nb", "a|b", "a&b", "x" * 300):
        for network in (False, True):
            error = tools.fails("create_runtime_env", dependencies=["requests", name],
                                network=network)
            assert "dependencies" in error and "names no package" in error
    check_nothing(tools)


def test_what_native_environments_lack_is_an_error(tools):
    for request in ({"use_image_cmd": True}, {"image": "python:3.11-slim"}):
        assert "backend 'native'" in tools.fails("create_runtime_env", **request)
    assert "UDP" in tools.fails("create_runtime_env", port_bindings={"53/udp": "8053"})
    check_nothing(tools)


def test_an_engines_own_network_is_refused_where_the_operator_denies_hosts(tools):
    """It asks nobody before it dials."""
    nowhere = {"GLOVEBOX_BACKEND": "docker", "DOCKER_HOST": f"unix://{tools.base}/none.sock"}
    code, answer = tools.call("create_runtime_env", {**nowhere, "GLOVEBOX_NET_DENY": "example.org"}, network=True)
    assert code == 1 and "net.deny" in answer["error"], answer
    code, answer = tools.call("create_runtime_env", {**nowhere, "GLOVEBOX_NET_DENY": "none"}, network=True)
    assert code == 1 and "net.deny" not in answer["error"], answer
    check_nothing(tools)


def test_variables_with_which_no_run_could_begin_are_refused(tools):
    for variables in ({"A": "x" * 30_000}, {f"A{i}": "x" * 100 for i in range(400)}, {f"A{i}": "" for i in range(600)}):
        assert "env_vars: too long" in tools.fails("create_runtime_env", env_vars=variables)
    check_nothing(tools)
    with tools.made(env_vars={"A": "x" * 20_000}) as made:
        assert tools.run(made, "a.sh", "echo ${#A}")["stdout"] == "20000\n"


def test_ports_that_are_none_are_not_skipped(tools):
    """S2-09"""
    for ports in ({"x": "1"}, {"1": ""}, {"1": "x"}, {"0": "1"}, {"70000": "1"}, {"1/icmp": "1"},
                  {"1": "-1"}):
        assert "are no two ports" in tools.fails("create_runtime_env", port_bindings=ports)
    check_nothing(tools)


def test_names_of_variables(tools):
    for name in ("", "A=B", "1A", "A B", "Ä", "A\nB"):
        assert "no name of a variable" in tools.fails("create_runtime_env", env_vars={name: "x"})
    check_nothing(tools)


def test_sizes_that_are_none(tools):
    for request in ({"memory": "lots"}, {"disk": "-1"}, {"memory": "1"}):
        tools.fails("create_runtime_env", **request)
    check_nothing(tools)


def test_unknown_keys_and_more_words_are_ignored(tools):
    with tools.made(colour="blue") as made:
        done = tools.words("get_container_logs", json.dumps({"container_id": made.container_id}),
                           "more", "--words")
        assert done.code == 1 and "no previous execution log" in json.loads(done.out)["error"]


def test_an_argument_beats_stdin(tools):
    done = tools.words("cleanup_env", "{}", stdin=b"not json")
    assert json.loads(done.out) == {"ok": False, "error": "container_id is required"}


def test_a_box_that_is_no_environment_is_left_alone(tools):
    made = tools.words("box", "create", binary=places.binary()).out.decode().strip()
    try:
        for tool in ("execute_code_block", "get_container_logs", "cleanup_env"):
            code, answer = tools.call(tool, container_id=made, filename="a.py", code_content="")
            assert code == 1 and "not made by create_runtime_env" in answer["error"]
        assert tools.boxes() == [made]
    finally:
        tools.words("box", "rm", made, binary=places.binary())


def test_disabled_means_disabled(tools):
    """S1-04"""
    code, answer = tools.call("create_runtime_env", {"GLOVEBOX_BACKEND": "disabled"})
    assert code == 1 and "disabled" in answer["error"]
    check_nothing(tools)


def test_settings_that_are_wrong_are_told(tools):
    done = tools.words("create_runtime_env", "{}", GLOVEBOX_MEMORY="lots")
    assert done.code == 1 and "GLOVEBOX_MEMORY" in json.loads(done.out)["error"]
    check_nothing(tools)


def test_a_box_that_cannot_be_made_leaves_no_workspace(tools):
    """S2-11"""
    code, answer = tools.call("create_runtime_env", {"GLOVEBOX_STATE_DIR": "/proc/nowhere"})
    assert code == 1 and answer["error"]
    check_nothing(tools)


def test_glovebox_tool_is_the_same(tools):
    binary = places.binary()
    done = tools.words("tool", binary=binary)
    assert done.code == 2 and done.err.startswith("usage: glovebox tool ")
    done = tools.words("tool", "x", binary=binary)
    assert done.code == 1 and done.err.startswith('glovebox: unknown tool "x"\n')
    done = tools.words("tool", "cleanup_env", "{}", binary=binary)
    assert (done.code, done.err) == (1, "")
    assert json.loads(done.out) == {"ok": False, "error": "container_id is required"}


def test_the_list_has_a_schema_for_every_tool(tools):
    done = tools.words("--list")
    listed = {tool["name"]: tool for tool in json.loads(done.out)["tools"]}
    assert done.code == 0 and list(listed) == ALL
    schema = listed["execute_code_block"]["input_schema"]
    assert schema["type"] == "object"
    assert schema["required"] == ["container_id", "filename", "code_content"]
    assert schema["properties"]["timeout_sec"]["type"] == "integer"
    assert all(key["description"] for tool in listed.values()
               for key in tool["input_schema"]["properties"].values())
    assert tools.words("tool", "--help", binary=places.binary()).code == 0
