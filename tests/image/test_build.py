# SPDX-License-Identifier: Apache-2.0
"""`glovebox image build` on real engines."""
import io
import random
import signal
import subprocess
import time

import pytest
from conftest import IMAGE, ran, somebody_builds

from lib import host, pace, registry

LABEL = "io.glovebox.image"
KILLS = pace.count(check=3, proof=100)


def test_a_directory_becomes_an_image_of_ours(each):
    folder = each.context(Dockerfile=f"FROM {IMAGE}\nCOPY . /app/\nRUN cat /app/word\n", word="hello\n")
    made = each.json("build", folder, "-t", "web")
    assert (made.status, made.tag, made.failed_layer, made.template) == ("success", "agent-env:web", None, None)
    looked = each.engine.get("/images/agent-env:web/json")
    assert looked["Id"].endswith(made.id.removeprefix("sha256:")) and looked["Config"]["Labels"][LABEL] == "1"
    assert made.bytes > 100000 and made.context_files == 2
    assert "hello\n" in each.logs()[0].read_text()
    assert str(each.logs()[0]) == made.log
    assert made.build_log_summary and "\n" not in made.build_log_summary
    assert each.engine.containers() == []


def test_a_build_without_a_tag_is_named_by_the_time(image):
    made = image("build", image.context(Dockerfile=f"FROM {IMAGE}\n"))
    assert made.code == 0 and made.out.startswith("agent-env:build-1"), made


def test_without_a_terminal_each_step_is_a_line(image):
    made = image("build", image.context(Dockerfile=f"FROM {IMAGE}\nRUN echo noise\n"), "-t", "x")
    assert made.code == 0
    assert "RUN echo noise\n" in made.err and "\nnoise\n" not in made.err


def test_a_dockerfile_from_stdin_has_no_directory(each):
    text = f"FROM {IMAGE}\nARG WHO=nobody\nENV WHO=$WHO\nWORKDIR /empty\nCOPY Dockerfile ./\n"
    made = each.json("build", "-", "-t", "alone", "--build-arg", "WHO=me", data=text.encode())
    assert made.context_files == 1
    if each.engine.kind == "docker":
        assert ran(each, "agent-env:alone", "/bin/sh", "-c", "echo $WHO; ls") == "me\nDockerfile\n"


def test_variables_in_from_take_the_builds_arguments(image):
    text = "ARG BASE=localhost/none:1\nFROM $BASE\n"
    assert image.json("build", "-", "--build-arg", f"BASE={IMAGE}", data=text.encode()).status == "success"


def test_what_dockerignore_names_stays_at_home(image):
    folder = image.tree({"Dockerfile": f"FROM {IMAGE}\nCOPY . /app/\n", ".dockerignore": "secret\n*.log\n!keep.log\n",
                         "secret": "x", "a.log": "x", "keep.log": "x", "sub/secret": "x", "sub/b.log": "x"})
    made = image.json("build", folder, "-t", "web")
    assert made.context_ignored == 2
    assert sorted(ran(image, made.tag, "/bin/find", "/app", "-type", "f").split()) == [
        "/app/.dockerignore", "/app/Dockerfile", "/app/keep.log", "/app/sub/b.log", "/app/sub/secret"]


def test_a_dockerfile_of_another_name_and_place(image):
    folder = image.tree({"docker/web.Dockerfile": f"FROM {IMAGE}\nCOPY word /word\n", "word": "w", "Dockerfile": "FROM none\n"})
    assert image.json("build", folder, "-t", "x", "-f", "docker/web.Dockerfile").status == "success"
    for name in ("../Dockerfile", "/etc/passwd", "none", ""):
        assert image("build", folder, "-f", name).code == 2, name


@pytest.mark.parametrize("files, program, command", [
    ({"requirements.txt": "six==1\n", "main.py": "print(1)\n"}, "pip", ["python", "main.py"]),
    ({"package.json": "{}\n", "package-lock.json": "{}\n"}, "npm", ["npm", "start"]),
    ({"pyproject.toml": "[project]\n", "app.py": "\n"}, "uv", ["python", "app.py"]),
])
def test_a_directory_without_a_dockerfile_gets_one(image, files, program, command):
    """The bases are stand-ins of the same name, whose installers tell how they were called."""
    base = {"pip": "python:3-alpine", "npm": "node:20-alpine", "uv": "python:3.12-slim"}[program]
    script = "printf '#!/bin/sh\\necho $0 \"$@\" >>/called\\n' >/bin/$p; chmod +x /bin/$p"
    somebody_builds(image, base, f"FROM {IMAGE}\nRUN for p in pip npm uv; do {script}; done\n")
    made = image.json("build", image.tree({**files, ".git/config": "x", "README.md": "x"}), "-t", "up")
    assert made.template == {"pip": "python", "npm": "node", "uv": "uv"}[program]
    assert image.engine.get("/images/agent-env:up/json")["Config"]["Cmd"] == command
    assert f"/bin/{program} " in ran(image, "agent-env:up", "/bin/cat", "/called")
    assert ".git" not in ran(image, "agent-env:up", "/bin/ls", "-a", "/app")


def test_a_directory_that_tells_nothing_is_refused(image):
    made = image("build", image.context(word="x"))
    assert made.code == 2 and "there is no Dockerfile" in made.err and "remedy: " in made.err
    assert image("build", str(image.place.cwd / "none")).code == 2
    assert image("build").code == 2


def test_a_step_that_fails_is_told_with_its_last_words(each):
    text = f"FROM {IMAGE}\nRUN echo fine\nRUN echo unauthorized: no such image; seq 1 30; exit 7\nRUN echo never\n"
    made = each.json("build", each.context(Dockerfile=text), "-t", "bad", code=1)
    assert made.status == "error" and "RUN echo unauthorized" in made.failed_layer
    assert made.failed_layer.upper().startswith("STEP 4/5")
    assert "30" in made.build_log_summary.split("\n") and "never" not in made.build_log_summary
    log = each.logs()[0].read_text()
    assert all(f"\n{n}\n" in log for n in range(1, 31))
    assert each.engine.containers() == [] and not any("bad" in tag for tag in each.tags())


def test_a_step_that_prints_without_end_fills_no_disk(image):
    text = f"FROM {IMAGE}\nRUN yes 0123456789abcdef | head -c 70000000\nRUN echo last words\n"
    made = image.json("build", image.context(Dockerfile=text), "-t", "loud")
    assert made.is_log_cut and made.status == "success"
    assert image.logs()[0].stat().st_size == 64 << 20


def test_people_see_the_failed_step_and_where_the_log_is(image):
    made = image("build", image.context(Dockerfile=f"FROM {IMAGE}\nRUN printf 'a\\033[2Jb\\n'; exit 3\n"))
    assert made.code == 1 and made.out == ""
    assert "Step 3/3 : RUN" in made.err and f"The whole log: {image.logs()[0]}" in made.err
    assert "\x1b" not in made.err


@pytest.mark.parametrize("line, rule", [
    ("RUN --mount=type=bind,source=/,target=/x true", "new_form"),
    ("RUN curl --unix-socket /var/run/docker.sock x", "engine_socket"),
    ("ADD http://example.com/x /x", "remote_add"),
])
def test_what_the_check_finds_is_neversomebody_builds(image, line, rule):
    before = image.engine.get("/images/json?all=1")
    made = image.json("build", "-", data=f"FROM {IMAGE}\nRUN true\n{line}\n".encode(), code=2)
    assert made.status == "error" and made.findings and made.log is None
    assert all(found["line"] == 3 and found["remedy"] for found in made.findings)
    assert any(rule in found["rule"] for found in made.findings), made.findings
    assert image.engine.get("/images/json?all=1") == before


@pytest.mark.parametrize("text", [b"", b"FROM\n", b"RUN true\n", b"FROM x\0y\n", b"\x1f\x8b\x08tar", b"NONSENSE x\n",
                                  b"FROM scratch\n" * 1001])
def test_what_is_no_dockerfile_is_refused(image, text):
    made = image("build", "-", data=text)
    assert made.code == 2 and made.err.startswith("glovebox: "), made


@pytest.mark.parametrize("words", [["-t", "a/b:c:d"], ["-t", "x y"], ["--build-arg", "NOVALUE"], ["--build-arg", "1=2"],
                                   ["--build-arg", "=x"], ["-f", "Dockerfile"]])
def test_bad_words_are_refused(image, words):
    made = image("build", "-", *words, data=f"FROM {IMAGE}\n".encode())
    assert made.code == 2 and image.tags() == [IMAGE], made


def test_triggers_of_a_base_image_are_checked_too(image):
    somebody_builds(image, "localhost/trap:1", f"FROM {IMAGE}\nONBUILD ADD http://example.com/x /x\n")
    made = image.json("build", "-", data=b"FROM localhost/trap:1\n", code=2)
    assert "trigger" in made.error and made.findings[0]["line"] == 1
    somebody_builds(image, "localhost/fine:1", f"FROM {IMAGE}\nONBUILD RUN echo triggered\n")
    assert image.json("build", "-", data=b"FROM localhost/fine:1\n").status == "success"
    assert "triggered" in image.logs()[-1].read_text()


def test_a_base_image_is_pulled_with_the_credentials_of_its_registry(image, club):
    name = club.push(IMAGE, "lib/base:1")
    made = image.json("build", "-", data=f"FROM {name}\n".encode(), code=2)
    assert "pulling" in made.error and made.remedy == f"docker login {club.address}"
    image.configure(auths={club.address: registry.credentials()})
    assert image.json("build", "-", data=f"FROM {name}\nRUN true\n".encode()).status == "success"


def test_what_is_copied_from_an_image_is_pulled_with_the_credentials_of_its_registry(image, club):
    """A stage of that name, and a stage's number, are no images."""
    name = club.push(IMAGE, "lib/parts:1")
    text = f"FROM {IMAGE} AS first\nFROM {IMAGE}\nCOPY --from=FIRST /bin/sh /1\nCOPY --from=0 /bin/sh /2\n"
    assert image.json("build", "-", data=text.encode()).status == "success"
    text += f"COPY --from={name} /bin/busybox /3\n"
    made = image.json("build", "-", data=text.encode(), code=2)
    assert "pulling" in made.error and made.remedy == f"docker login {club.address}"
    image.configure(auths={club.address: registry.credentials()})
    assert image.json("build", "-", data=text.encode(), code=0).status == "success"


def test_a_signal_ends_the_build_and_leaves_nothing(image, running_call):
    folder = image.context(Dockerfile=f"FROM {IMAGE}\nRUN echo begun; sleep 1000\n")
    process = running_call(image, "build", folder, "-t", "slow", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert host.until(lambda: any(c["State"] == "running" for c in image.engine.containers()), 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"") and b"cancelled" in err
    assert host.until(lambda: image.engine.containers() == [], 60)
    assert image.tags() == [IMAGE]
    assert "begun" in image.logs()[0].read_text()


def test_L05_a_build_whose_caller_is_killed_leaves_no_image(image, running_call):
    """At any moment: nothing of it has a name, no step goes on, and the next build goes well."""
    folder = image.context(Dockerfile=f"FROM {IMAGE}\nRUN sleep 0.2\nRUN echo 2 >/two\nRUN sleep 1000\n")
    for i in range(KILLS):
        process = running_call(image, "build", folder, "-t", "killed", stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        time.sleep(random.Random(i).random() * 2)
        process.kill()
        process.wait()
        assert host.until(lambda: image.engine.containers() == [], 60), image.engine.containers()
        assert image.tags() == [IMAGE]
    whole = image.context(Dockerfile=f"FROM {IMAGE}\nRUN echo whole >/whole\n")
    assert image.json("build", whole, "-t", "whole").status == "success"


def test_steps_without_network_have_none(image):
    made = image.json("build", "-", "--no-network", data=f"FROM {IMAGE}\nRUN ls /sys/class/net\n".encode())
    assert made.status == "success"
    lines = image.logs()[0].read_text().split("\n")
    assert "lo" in lines and "eth0" not in lines


def test_a_log_that_cannot_be_kept_is_no_build(image):
    image.state.write_text("no directory")
    made = image("build", "-", data=f"FROM {IMAGE}\n".encode())
    assert made.code == 125 and "log" in made.err and image.tags() == [IMAGE]


def test_a_build_ends_at_the_time_that_it_may_take(image):
    """Podman goes on with the step that it is at, whoever hangs up."""
    folder = image.context(Dockerfile=f"FROM {IMAGE}\nRUN sleep 1000\n")
    for words, more in ((["--timeout", "3s"], {}), ([], {"GLOVEBOX_DOCKER_TIMEOUT": "3s"})):
        done = image("build", folder, "-t", "slow", *words, **more)
        assert done.code == 125 and "in time" in done.err and "time limit" in done.err, done
        assert host.until(lambda: image.engine.get("/containers/json") == [], 60)


def test_a_build_begins_with_images_that_the_operator_allows(image):
    """T09: also where a stage only copies from one."""
    allowed = {"GLOVEBOX_DOCKER_BASES": f"{IMAGE.rpartition(':')[0]},reg.local/team/*"}
    assert image("build", "-", "-t", "fine", data=f"FROM {IMAGE}\n".encode(), **allowed).code == 0
    for text in ("FROM python:3\n", f"FROM {IMAGE}\nCOPY --from=reg.local/other/x /a /a\n"):
        done = image("build", "-", data=text.encode(), **allowed)
        assert done.code == 2 and "not among those that are allowed" in done.err, done
