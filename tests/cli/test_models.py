# SPDX-License-Identifier: Apache-2.0
"""`glovebox models`: who is set up, who answers, whom a task would ask; and whose key goes where."""
import contextlib
import http.server
import json
import os
import socket
import subprocess
import threading

import pytest
from calls import call, environment, refused
from lib import place as places

MINE = "sk-mine-0123456789"


@contextlib.contextmanager
def serving(body=b'{"data": [{"id": "one"}, {"id": "org/two"}]}', status=200, key=None):
    """A server of models on this machine: yields its address and the requests that it saw."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, dict(self.headers)))
            refuses = key and self.headers.get("Authorization") != f"Bearer {key}"
            self.send_response(401 if refuses else status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", seen
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def nobody():
    """An address of this machine where nobody answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def report(place, *words, code=0, **more):
    answer = call(place, "models", "--json", *words, env=environment(place, **more))
    assert answer.returncode == code, answer
    assert MINE.encode() not in answer.stdout + answer.stderr
    document = json.loads(answer.stdout)
    assert document["schema"] == 1
    document["providers"] = {row["name"]: row for row in document["providers"]}
    return document


def alone(place, *words, **more):
    """The same call where no server of this machine can be reached."""
    way = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    return subprocess.run([*way, places.binary(), "models", *words], capture_output=True, timeout=60,
                          cwd=place.cwd, env=environment(place, **more))


def test_a_server_that_answers_is_listed_with_its_models(place):
    with serving(key=MINE) as (url, seen):
        more = {"OPENAI_API_KEY": MINE, "OPENAI_BASE_URL": url}
        document = report(place, **more)
        row = document["providers"]["openai"]
        assert row == {"name": "openai", "state": "ready", "base_url": url,
                       "base_url_from": "OPENAI_BASE_URL", "key_from": "OPENAI_API_KEY",
                       "error": None, "models": ["one", "org/two"], "contexts": {}}
        assert seen[0][0] == "/v1/models"
        role = document["roles"]["coder"]
        assert role["provider"] == "openai" and role["base_url"] == url
        assert role["why"] == "OPENAI_API_KEY is set"
        assert document["error"] is None

        text = call(place, "models", env=environment(place, **more)).stdout.decode()
        assert "2 models: one, org/two" in text
        assert f"{url} from OPENAI_BASE_URL, key from OPENAI_API_KEY" in text
        assert f"A task would ask openai/{role['model']} at {url} (OPENAI_API_KEY is set)" in text
        assert MINE not in text

        names = call(place, "models", "openai", env=environment(place, **more))
        assert (names.returncode, names.stdout) == (0, b"openai/one\nopenai/org/two\n")


def test_a_key_may_stand_in_a_file(place):
    path = place.base / "key"
    path.write_text(MINE + "\n")
    with serving(key=MINE) as (url, _):
        row = report(place, OPENAI_API_KEY_FILE=str(path), OPENAI_BASE_URL=url)["providers"]["openai"]
        assert (row["state"], row["key_from"]) == ("ready", "OPENAI_API_KEY_FILE")
    path.unlink()
    refused(call(place, "models", env=environment(place, OPENAI_API_KEY_FILE=str(path))),
            f"OPENAI_API_KEY_FILE: {path}: there is no such file")


@pytest.mark.parametrize("server,state,part", [
    ({"key": "another"}, "refused", "the key is refused (401)"),
    ({"status": 403}, "refused", "(403)"),
    ({"status": 500}, "garbled", "(500)"),
    ({"body": b"<html>\x1b[31m"}, "garbled", "not a list of models"),
    ({"body": b'{"data": "\xff"}'}, "garbled", "not a list of models"),
    ({"body": b"[" * 100000}, "garbled", "not a list of models"),
    ({"body": b""}, "garbled", "not a list of models"),
])
def test_what_is_wrong_with_a_server_is_told(place, server, state, part):
    with serving(**server) as (url, _):
        more = {"GROQ_API_KEY": MINE, "GROQ_BASE_URL": url}
        row = report(place, **more)["providers"]["groq"]
        assert (row["state"], row["models"]) == (state, [])
        assert part in row["error"]
        text = call(place, "models", env=environment(place, **more)).stdout
        assert part.encode() in text and b"\x1b" not in text and MINE.encode() not in text
        assert call(place, "models", "groq", env=environment(place, **more)).returncode in (2, 125)


def test_a_server_that_is_not_there_is_told(place):
    with nobody() as url:
        row = report(place, VLLM_BASE_URL=url)["providers"]["vllm"]
    assert row["state"] == "silent" and "127.0.0.1" in row["error"]


def test_names_that_are_no_names_are_left_out(place):
    body = json.dumps({"data": [{"id": "a\x1b[31m"}, {"id": "x" * 5000}, {"id": 7}, {}, 8,
                                {"id": "good"}]}).encode()
    with serving(body) as (url, _):
        row = report(place, VLLM_BASE_URL=url)["providers"]["vllm"]
    assert row["models"] == ["good"]


def test_a_local_server_without_a_name_is_asked_for_its_first(place):
    with serving() as (url, _):
        document = report(place, LLAMACPP_BASE_URL=url)
        assert document["roles"]["tester"]["provider"] == "llamacpp"
        assert document["roles"]["tester"]["model"] == "one"
        text = call(place, "models", env=environment(place, LLAMACPP_BASE_URL=url)).stdout.decode()
        assert f"A task would ask llamacpp/one at {url}" in text
    with nobody() as url:
        text = call(place, "models", env=environment(place, LLAMACPP_BASE_URL=url)).stdout.decode()
        assert f"A task would ask llamacpp/its first model at {url}" in text


def test_nothing_set_up_tells_what_to_do(place):
    answer = alone(place)
    text = answer.stdout.decode()
    assert (answer.returncode, answer.stderr) == (1, b"")
    assert "groq               not set up   set GROQ_API_KEY" in text
    assert "A task would ask nobody: no model is set up" in text
    assert "remedy: set one of OPENAI_API_KEY, GROQ_API_KEY" in text
    document = json.loads(alone(place, "--json").stdout)
    assert document["roles"] == {} and "no model is set up" in document["error"]
    assert {row["state"] for row in document["providers"]} == {"unset"}
    refused(alone(place, "groq"), "groq is not set up", "remedy: set GROQ_API_KEY")


def test_the_command_line_beats_the_environment_and_files(place):
    (place.cwd / "glovebox.yaml").write_text("model: groq/of-file\n")
    keys = {"GROQ_API_KEY": "gsk-12345678", "OPENAI_API_KEY": MINE}
    with nobody() as url:
        more = {**keys, "GROQ_BASE_URL": url, "OPENAI_BASE_URL": url}
        role = report(place, **more)["roles"]["coder"]
        assert (role["model"], role["why"]) == ("of-file", "glovebox.yaml:1")
        role = report(place, **more, GLOVEBOX_MODEL="openai/of-env")["roles"]["coder"]
        assert (role["model"], role["why"]) == ("of-env", "GLOVEBOX_MODEL")
        role = report(place, "--model=openai/of-flag", **more,
                      GLOVEBOX_MODEL="openai/of-env")["roles"]["coder"]
        assert (role["model"], role["why"]) == ("of-flag", "--model")


def test_roles_with_models_of_their_own_are_told_apart(place):
    path = place.home / ".config/glovebox/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("model: openai/a\nmodels: {coder: groq/b}\n")
    with nobody() as url:
        env = environment(place, GROQ_API_KEY="gsk-12345678", OPENAI_API_KEY=MINE,
                          GROQ_BASE_URL=url, OPENAI_BASE_URL=url)
        text = call(place, "models", env=env).stdout.decode()
    assert "A task would ask\n  as orchestrator" in text
    assert f"as coder         groq/b at {url} ({path}:2)" in text


@pytest.mark.parametrize("name,text", [
    (".env", "OPENAI_BASE_URL={url}\n"),
    (".env", "GLOVEBOX_BASE_URL={url}\nGLOVEBOX_MODEL=openai/x\n"),
    ("glovebox.yaml", "base_url: {url}\nmodel: openai/x\n"),
])
def test_a_projects_address_never_gets_the_users_key(place, name, text):
    with serving() as (url, seen):
        (place.cwd / name).write_text(text.format(url=url))
        document = report(place, OPENAI_API_KEY=MINE)
        row = document["providers"]["openai"]
        assert (row["state"], row["key_from"]) == ("ready", None)
        assert seen and all(MINE not in str(request) for request in seen)

        (place.cwd / name).write_text(text.format(url="https://evil.invalid/v1"))
        document = report(place, code=1, OPENAI_API_KEY=MINE)
        assert document["providers"]["openai"]["state"] == "barred"
        assert "evil.invalid only with a key of the same file" in document["error"].replace("/v1", "")
        answer = call(place, "models", env=environment(place, OPENAI_API_KEY=MINE))
        assert b"remedy: read it, and if you trust it: glovebox config trust ." in answer.stdout


def test_a_projects_own_key_goes_to_its_own_address(place):
    with serving(key="theirs-12345") as (url, seen):
        (place.cwd / ".env").write_text(f"OPENAI_BASE_URL={url}\nOPENAI_API_KEY=theirs-12345\n")
        row = report(place, OPENAI_API_KEY=MINE)["providers"]["openai"]
        assert (row["state"], row["key_from"]) == ("ready", ".env:2")
        assert seen and all(MINE not in str(request) for request in seen)


def test_trust_sends_the_users_key(place):
    with serving(key=MINE) as (url, _):
        (place.cwd / ".env").write_text(f"OPENAI_BASE_URL={url}\n")
        assert call(place, "config", "trust", ".").returncode == 0
        row = report(place, OPENAI_API_KEY=MINE)["providers"]["openai"]
        assert (row["state"], row["key_from"]) == ("ready", "OPENAI_API_KEY")


def test_a_hostile_dotenv_cannot_copy_the_environment_into_a_request(place):
    with serving() as (url, seen):
        (place.cwd / ".env").write_text(
            f"OPENAI_COMPATIBLE_BASE_URL={url}/${{OPENAI_API_KEY}}\n"
            "OPENAI_COMPATIBLE_API_KEY=k${OPENAI_API_KEY}k\nA=${OPENAI_API_KEY}\n"
            "VLLM_API_KEY=${A}\n" f"VLLM_BASE_URL={url}\n"
            "LLAMA_API_KEY_FILE=/etc/passwd\n" f"LLAMACPP_BASE_URL={url}\n")
        report(place, OPENAI_API_KEY=MINE, OPENAI_BASE_URL=url, GLOVEBOX_MODEL="vllm/x")
        theirs = [request for request in seen if request[1].get("Authorization") != f"Bearer {MINE}"]
        assert len(theirs) == 4  # each once, and the model that a task would ask
        assert all(MINE not in str(request) and "root:" not in str(request) for request in theirs)


def test_a_proxy_comes_from_the_environment_alone(place):
    with serving() as (proxy, seen):
        (place.cwd / ".env").write_text(f"http_proxy={proxy}\nHTTPS_PROXY={proxy}\n")
        with nobody() as closed:
            report(place, OPENAI_API_KEY=MINE, OPENAI_BASE_URL="http://models.invalid/v1",
                   http_proxy=closed)
        assert seen == []
        row = report(place, OPENAI_API_KEY=MINE, OPENAI_BASE_URL="http://models.invalid/v1",
                     http_proxy=proxy)["providers"]["openai"]
        assert row["state"] == "ready"
        assert seen[0][0] == "http://models.invalid/v1/models"


@pytest.mark.parametrize("words,part", [
    (["opena"], "did you mean 'openai'?"),
    (["openai", "groq"], "name one provider, or none"),
    (["--base-url", "x"], "--base-url: 'x' cannot be used: allowed is http:// or https://"),
    (["--model", "a\nb"], "allowed is PROVIDER/MODEL"),
    (["--api-key", "x"], "unknown option '--api-key'"),
])
def test_mistakes_on_the_command_line(place, words, part):
    refused(call(place, "models", *words), part)


def test_keys_of_tasks_do_not_show_up_elsewhere(place):
    shown = call(place, "exec", "--help").stdout.decode()
    for flag in ("--model", "--base-url", "--effort", "--max-steps", "--candidates", "--ask"):
        assert flag not in shown


def test_search_is_told(place):
    with nobody() as url:
        more = {"OPENAI_API_KEY": MINE, "OPENAI_BASE_URL": url}
        assert report(place, **more)["search"] is None
        assert report(place, **more, TAVILY_API_KEY="tvly-12345678")["search"] == "tavily"
        assert report(place, **more, GLOVEBOX_SEARCH_URL=url)["search"] == "searxng"
        refused(call(place, "models", env=environment(place, **more, GLOVEBOX_SEARCH="tavily")),
                "remedy: set TAVILY_API_KEY")
