# SPDX-License-Identifier: Apache-2.0
"""`glovebox config`: what holds, who said so, and whom the user trusts."""
import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from calls import call, environment, refused
from lib import place as places

KEYS_DEF = Path(__file__).resolve().parents[2] / "src/conf/keys.def"
CONFIG_MD = Path(__file__).resolve().parents[2] / "docs/config.md"


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def settings(place, *words, **more):
    answer = call(place, "config", "show", "--json", *words, env=environment(place, **more))
    assert answer.returncode == 0, answer
    document = json.loads(answer.stdout)
    assert document["schema"] == 1
    return document["settings"]


def rows():
    """(id, name, flag, variable) of each row of the table."""
    text = re.sub(r"/\*.*?\*/", "", KEYS_DEF.read_text(), flags=re.DOTALL)
    for row in re.findall(r"KEY\((.*?)\)\n", text + "\n", flags=re.DOTALL):
        fields = [field.strip().strip('"') for field in re.split(r",(?=\s)", row)]
        yield fields[0], fields[1], fields[4], fields[5]


def test_every_key_of_the_table_is_shown(place):
    assert list(settings(place)) == [name for _, name, _, _ in rows()]


def test_the_document_lists_every_key_with_its_option_and_variable():
    text = CONFIG_MD.read_text()
    for _, name, flag, variable in rows():
        option = f" `--{flag}` " if flag != "NULL" else " "
        assert f"| `{name}` |{option}| `{variable}` |" in text


def test_each_layer_overrides_the_one_below(place):
    put(place.base / "system/config.yaml", "limits: {pids: 100}\n")
    assert settings(place)["limits.pids"]["value"] == "100"
    put(place.home / ".config/glovebox/config.yaml", "\nlimits:\n  pids: 90\n")
    shown = settings(place)["limits.pids"]
    assert shown == {"value": "90", "origin": f"{place.home}/.config/glovebox/config.yaml:3"}
    put(place.cwd / "glovebox.yaml", "limits: {pids: 80}\n")
    assert settings(place)["limits.pids"] == {"value": "80", "origin": "glovebox.yaml:1"}
    put(place.cwd / ".env", "# mine\nexport GLOVEBOX_PIDS='70'\n")
    assert settings(place)["limits.pids"] == {"value": "70", "origin": ".env:2"}
    shown = settings(place, GLOVEBOX_PIDS="600")["limits.pids"]
    assert shown == {"value": "600", "origin": "GLOVEBOX_PIDS"}


def test_a_project_may_only_tighten(place):
    put(place.cwd / "glovebox.yaml", "limits: {memory: 1t, timeout: 1}\nbackend: disabled\n")
    shown = settings(place)
    assert shown["limits.memory"] == {"value": "512m", "origin": "default", "capped": "glovebox.yaml:1"}
    assert shown["limits.timeout"]["value"] == "1s"
    assert shown["backend"]["value"] == "disabled"
    text = call(place, "config", "show", "--origin").stdout.decode()
    assert "# default; glovebox.yaml:1 asks for more, but may only tighten" in text


@pytest.mark.parametrize("name,text", [
    ("glovebox.yaml", "allow_missing: all\n"),
    ("glovebox.yaml", "host: {toolchains: [/root]}\n"),
    ("glovebox.yaml", "docker: {bases: [busybox]}\n"),
    (".env", "GLOVEBOX_ALLOW_MISSING=all\n"),
    (".env", "A=1\nGLOVEBOX_STATE_DIR=/tmp/elsewhere\n"),
])
def test_operator_keys_are_refused_in_a_project(place, name, text):
    put(place.cwd / name, text)
    env = environment(place, GLOVEBOX_STATE_DIR=None, STATE_DIRECTORY=str(place.base / "state"))
    refused(call(place, "config", "show", env=env), f"{name}:", "glovebox config trust .")
    put(place.cwd / "a.py", "print(1)\n")
    refused(call(place, "exec", "a.py", env=env), "may not set this")


def test_trust_lasts_until_the_file_changes(place):
    project = put(place.cwd / "glovebox.yaml", "allow_missing: landlock\nlimits: {timeout: 1h}\n")
    answer = call(place, "config", "trust", ".")
    assert (answer.returncode, answer.stderr) == (0, b"")
    shown = settings(place)
    assert shown["allow_missing"] == {"value": "landlock", "origin": "glovebox.yaml:1"}
    assert shown["limits.timeout"]["value"] == "1h"
    listing = place.base / "state/trusted"
    assert stat.S_IMODE(listing.stat().st_mode) == 0o600
    assert listing.read_text().endswith(f" {project}\n{project.read_text()}\n")

    project.write_text("allow_missing: all\n")
    refused(call(place, "config", "show"), "glovebox.yaml:1: allow_missing")
    assert call(place, "config", "trust", str(place.cwd)).returncode == 0
    assert settings(place)["allow_missing"]["value"] == "all"
    assert call(place, "config", "trust", "--revoke", ".").returncode == 0
    assert listing.read_text() == ""
    refused(call(place, "config", "show"), "glovebox.yaml:1: allow_missing")


def test_trust_of_one_directory_is_not_trust_of_another(place):
    put(place.cwd / "one/glovebox.yaml", "allow_missing: all\n")
    put(place.cwd / "two/glovebox.yaml", "allow_missing: all\n")
    assert call(place, "config", "trust", "one").returncode == 0
    assert call(place, "config", "show", cwd=place.cwd / "one").returncode == 0
    refused(call(place, "config", "show", cwd=place.cwd / "two"), "may not set this")
    os.symlink(place.cwd / "one", place.cwd / "link")
    assert call(place, "config", "show", cwd=place.cwd / "link").returncode == 0


def test_trust_needs_one_directory_with_files(place):
    refused(call(place, "config", "trust"), "name one directory")
    refused(call(place, "config", "trust", "a", "b"), "name one directory")
    refused(call(place, "config", "trust", "nowhere"), "nowhere: No such file")
    refused(call(place, "config", "trust", "."), "there is no glovebox.yaml")
    assert not (place.base / "state/trusted").exists()


def test_only_what_was_trusted_can_be_revoked(place):
    put(place.cwd / "glovebox.yaml", "limits: {timeout: 1h}\n")
    for folder in (".", "/nonexist"):
        refused(call(place, "config", "trust", "--revoke", folder), f"{folder}: was not trusted")
    assert call(place, "config", "trust", ".").returncode == 0
    assert call(place, "config", "trust", "--revoke", ".").returncode == 0
    refused(call(place, "config", "trust", "--revoke", "."), "was not trusted")


def test_config_yaml_of_another_program_is_read(place):  # S1-03
    put(place.cwd / "config/config.yaml",
        "agent:\n  list: [{a: 1}, 2]\ntools:\n  code_execution:\n    enabled: true\n"
        "    sandbox: restricted\n    timeout: 20\n    memory_limit: \"256m\"\n")
    shown = settings(place)
    assert shown["backend"] == {"value": "native", "origin": "config/config.yaml:6"}
    assert shown["limits.timeout"]["value"] == "20s"
    assert shown["limits.memory"]["value"] == "256m"


@pytest.mark.parametrize("section,message", [
    ("enabled: false", "config/config.yaml:3: running code is disabled"),
    ("sandbox: disabled", "config/config.yaml:3: running code is disabled"),
])
def test_disabled_refuses_with_the_place_that_said_so(place, section, message):
    put(place.cwd / "config/config.yaml", f"tools:\n  code_execution:\n    {section}\n")
    put(place.cwd / "a.py", "print(1)\n")
    refused(call(place, "exec", "a.py"), message, "--backend native", code=125)


def test_docker_has_an_image_though_nobody_names_one(place):  # S1-03
    put(place.cwd / "config/config.yaml", "tools: {code_execution: {sandbox: docker}}\n")
    put(place.cwd / "a.py", "print(1)\n")
    assert settings(place)["image"] == {"value": "python:3.11-slim", "origin": "default"}
    assert settings(place, GLOVEBOX_IMAGE="busybox")["image"]["value"] == "busybox"
    nowhere = environment(place, DOCKER_HOST="unix:///nowhere/engine.sock")
    refused(call(place, "exec", "a.py", env=nowhere), "no engine is running", code=125)
    refused(call(place, "exec", "--image", "host", "a.py"),
            "image 'host': the docker backend has images of its engine only", "--image")


def test_images_that_a_build_may_begin_with_are_names_or_all_below_one(place):
    put(place.home / ".config/glovebox/config.yaml", "docker: {bases: ['python', 'reg.local:5000/team/*']}\n")
    assert settings(place)["docker.bases"]["value"] == ["python", "reg.local:5000/team/*"]
    for bad in ("*", "pyth*n", "a b", "/*", "python,,node"):
        refused(call(place, "config", "show", env=environment(place, GLOVEBOX_DOCKER_BASES=bad)),
                "names of images")


def test_rules_are_a_text_with_commas_or_a_list(place):
    file = place.home / ".config/glovebox/config.yaml"
    for key in ("net.deny", "packages.hosts"):
        section, name = key.split(".")
        for said in ("a.org,*.b.org:443", "[a.org, '*.b.org:443']", "\n  - a.org\n  - '*.b.org:443'"):
            put(file, f"{section}:\n  {name}: {said}\n")
            assert settings(place)[key]["value"] == "a.org,*.b.org:443", said
        put(file, f"{section}:\n  {name}: [a.org]\n")
        assert settings(place)[key]["origin"].endswith("config.yaml:2")
        put(file, f"{section}:\n  {name}: []\n")
        assert settings(place)[key]["value"] is None


@pytest.mark.parametrize("text,part", [
    ("net:\n  deny: [a.org, 'not a name']\n", ":2: net.deny: 'not a name' cannot be used: allowed is names and addresses"),
    ("net:\n  deny: [a.org, '']\n", ":2: net.deny: '' cannot be used"),
    ("net:\n  deny:\n    - a.org\n    -\n", "net.deny: a list with an item that is empty"),
    ("net:\n  deny: [a.org, 7]\n", ":2: net.deny: '7' cannot be used"),
    ("net:\n  deny:\n    - a.org: 443\n", ":3: net.deny: a list may hold only plain values"),
    ("net:\n  deny: [[a.org]]\n", ":2: net.deny: a list may hold only plain values"),
    ("net:\n  deny: {a.org: 443}\n", "unknown key 'net.deny.a.org'"),
    ("net:\n  deny: [" + "a.b, " * 300 + "]\n", ":2: net.deny: more than 256 rules"),
    ("packages:\n  hosts: [a..b]\n", ":2: packages.hosts: 'a..b' cannot be used"),
    ("docker:\n  bases: [null]\n", ":2: docker.bases: a list with an item that is empty"),
    ("host:\n  toolchains: [/opt/go, '']\n", ":2: host.toolchains: '' cannot be used"),
    ("require: ['']\n", ":1: require: no wall is named ''"),
    ("image: [python]\n", ":1: image: takes no list"),
])
def test_what_is_wrong_with_a_list_is_told_with_key_and_line(place, text, part):
    put(place.home / ".config/glovebox/config.yaml", text)
    refused(call(place, "config", "show"), part)


def test_a_runtime_is_the_engines(place):
    put(place.cwd / "a.py", "print(1)\n")
    refused(call(place, "exec", "--runtime", "runsc", "a.py"),
            "runtime 'runsc': only the docker backend has runtimes", "--backend docker")
    put(place.home / ".config/glovebox/config.yaml", "docker: {runtime: runsc}\n")
    assert call(place, "exec", "a.py").stdout == b"1\n"


def test_what_show_prints_is_a_settings_file(place):
    put(place.home / ".config/glovebox/config.yaml",
        "limits: {timeout: 90, cpus: 0.25, memory: 2000001}\nrequire: [memory, cpu]\n"
        "host: {toolchains: ['/opt/a b', '/opt/c#d']}\n")
    before = {name: row["value"] for name, row in settings(place).items()}
    for words in ([], ["--origin"]):
        printed = call(place, "config", "show", *words).stdout
        other = place.base / "other"
        put(other / "glovebox/config.yaml", printed.decode())
        again = settings(place, XDG_CONFIG_HOME=str(other))
        assert {name: row["value"] for name, row in again.items()} == before
        assert again["limits.cpus"]["origin"].startswith(str(other))


def test_what_show_prints_settles_nothing_that_nobody_set(place):
    env = environment(place, GLOVEBOX_RUN_DIR=None, GLOVEBOX_STATE_DIR=None, GLOVEBOX_UID_BASE=None)
    text = call(place, "config", "show", env=env).stdout.decode()
    assert "  # cpu_time: 30s  # worked out\n" in text and "\n  # timeout: 30s\n" in text
    assert "  # worked out" in text.split("# run_dir: ")[1].splitlines()[0]
    assert all(line.endswith(":") or line.lstrip().startswith("#") for line in text.splitlines()), text
    put(place.cwd / "glovebox.yaml", "limits:\n  pids: 70\n")
    assert "\n  pids: 70\n" in call(place, "config", "show").stdout.decode()
    (place.cwd / "glovebox.yaml").unlink()
    put(place.home / ".config/glovebox/config.yaml", text)
    shown = settings(place, GLOVEBOX_TIMEOUT="90", GLOVEBOX_CPUS="2")
    assert (shown["limits.timeout"]["value"], shown["limits.cpu_time"]["value"]) == ("90s", "3m")
    assert shown["limits.memory"]["origin"] == "default"


def test_colours_only_when_asked_for(place):
    assert b"\x1b" not in call(place, "config", "show").stdout
    assert b"\x1b[1m" in call(place, "config", "show", "--color=always").stdout
    forced = environment(place, CLICOLOR_FORCE="1")
    assert b"\x1b[1m" in call(place, "config", "show", env=forced).stdout
    for more in ({"NO_COLOR": "1"}, {"GLOVEBOX_COLOR": "never"}):
        assert b"\x1b" not in call(place, "config", "show", env={**forced, **more}).stdout


@pytest.mark.parametrize("text,part", [
    ("limits:\n  tiemout: 3\n", "glovebox.yaml:2: limits.tiemout: unknown key"),
    ("limits:\n  tiemout: 3\n", "did you mean 'limits.timeout'?"),
    ("limits: {timeout: nan}\n", "glovebox.yaml:1: limits.timeout: 'nan' cannot be used"),
    ("limits: {memory: \"\\x1b[31m\"}\n", "'^[[31m' cannot be used"),
    ("limits: {memory: \"1\\0m\"}\n", "glovebox.yaml:1: a value with a NUL byte"),
    ("\"limits\\0\": {}\n", "a key that is empty or has a NUL byte"),
    ("limits: [\n", "glovebox.yaml:2: "),
    ("a: *b\n", "aliases are not read here"),
    ("x" * (1 << 20), "larger than 1 MiB"),
])
def test_mistakes_name_file_and_line(place, text, part):
    put(place.cwd / "glovebox.yaml", text)
    refused(call(place, "config", "show"), part)


@pytest.mark.parametrize("name", ["glovebox.yaml", "config/config.yaml", ".env"])
def test_a_projects_file_is_never_a_link(place, name):
    """It comes with a cloned repository, and an error would print what only the user may read."""
    secret = put(place.base / "secret", "hunter2hunter2: root:$6$abc\nGLOVEBOX_MEMORY=hunter2\n")
    (place.cwd / name).parent.mkdir(exist_ok=True)
    os.symlink(secret, place.cwd / name)
    for words in (["config", "show"], ["config", "trust", "."], ["doctor", "--plan"],
                  ["exec", "-l", "sh", "-c", "true"]):
        text = refused(call(place, *words), f"{name}: is a link")
        assert "hunter2" not in text and "root" not in text
    assert not (place.base / "state/trusted").exists()
    (place.cwd / name).unlink()
    os.link(secret, place.cwd / name)  # one's own name for it is as good as any
    assert "is a link" not in call(place, "config", "show").stderr.decode()


def test_a_projects_directory_of_settings_is_no_link_either(place):
    put(place.base / "elsewhere/config.yaml", "tools: {code_execution: {hunter2: 1}}\n")
    os.symlink(place.base / "elsewhere", place.cwd / "config")
    text = refused(call(place, "config", "show"), "config/config.yaml: is a link, or lies behind one")
    assert "hunter2" not in text


def test_an_error_echoes_little_of_a_file(place):
    put(place.cwd / "glovebox.yaml", f"{'k' * 300}: {'v' * 300}\n")
    text = refused(call(place, "config", "show"), "unknown key 'kkk")
    assert "k" * 41 not in text and "v" * 10 not in text
    put(place.cwd / "glovebox.yaml", f"limits: {{memory: {'v' * 300}}}\n")
    text = refused(call(place, "config", "show"), "limits.memory: 'vvv")
    assert "v" * 41 not in text


@pytest.mark.parametrize("text", [
    b"if true; then\n  export A=1\nfi\n", b"A='never closed\nB=1\n", b"\xff\xfeA\0=\0b\0\n\0",
    b"A=$(cat x)\nB: 1\n\xe4\xf6=\xfc\n", b"# c\n" + b"A" * 300 + b"=1\n", b"LONG=" + b"x" * (3 << 20),
    b"A=1\n" * 10000,
])
def test_a_dotenv_of_other_programs_stops_nothing(place, text):
    (place.cwd / ".env").write_bytes(text + b"\nGLOVEBOX_PIDS=70\n")
    assert settings(place)["limits.pids"]["value"] == "70"
    (place.cwd / ".env").write_bytes(b"GLOVEBOX_PIDS='70\n" + text.replace(b"'", b""))
    refused(call(place, "config", "show"), ".env:1: ' is never closed")


def test_a_settings_file_that_others_can_write_is_refused(place):
    path = put(place.home / ".config/glovebox/config.yaml", "limits: {timeout: 3}\n")
    path.chmod(0o666)
    refused(call(place, "config", "show"), "others may write to it", f"chmod go-w '{path}'")
    path.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        refused(call(place, "config", "show"), "belongs to user 12345")


def test_without_home_settings_can_be_shown_but_nothing_trusted(place, ordinary_user):
    env = environment(place, HOME=None, GLOVEBOX_STATE_DIR=None, GLOVEBOX_RUN_DIR=None)
    (place.cwd / "a.py").write_text("print(1)\n")

    def ask(*words):
        return subprocess.run(
            ["setpriv", f"--reuid={ordinary_user.uid}", f"--regid={ordinary_user.gid}",
             "--clear-groups", ordinary_user.binary, *words],
            capture_output=True, cwd=place.cwd, env=env, timeout=60)

    assert b"# run_dir: no place, HOME is not set" in ask("config", "show").stdout
    refused(ask("config", "trust", "."), "remedy: set HOME", code=125)
    refused(ask("exec", "a.py"), "remedy: set HOME or GLOVEBOX_RUN_DIR", code=125)


def test_output_that_cannot_be_written_is_an_error(place):
    with open("/dev/full", "wb") as full:
        failed = subprocess.run([places.binary(), "config", "show"], stdout=full,
                                stderr=subprocess.PIPE, cwd=place.cwd, env=environment(place))
    assert failed.returncode == 125
    assert failed.stderr == b"glovebox: writing to stdout: No space left on device\n"
