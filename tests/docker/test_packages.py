# SPDX-License-Identifier: Apache-2.0
"""Packages in containers: installed by the image's own pip, in a container that reaches the index only."""
import concurrent.futures
import contextlib
import re
import select
import socket
import socketserver
import threading

import pytest

from lib import box, debian, host, indexes, kept, pace

IMAGE = "python:packages"


@pytest.fixture(scope="module")
def image(shared_engine):
    debian.import_python(shared_engine.engine, IMAGE)
    return IMAGE


@pytest.fixture
def index(place):
    with indexes.PythonIndex() as server:
        yield server


@pytest.fixture
def run(docker, image, index, place):
    """A Python program with packages, in a container of the image."""
    def run(code, *packages, more=(), env=None, **request):
        words = box.command(code, language="python", backend="docker", image=request.pop("image", image), **request)
        words[2:2] = [word for name in packages for word in ("--package", name)] + list(more)
        env = {**docker.environment, **index.env(), "GLOVEBOX_CACHE_DIR": str(place.base / "cache"), **(env or {})}
        return box.run_words(words, host_env=env, outer=120)
    return run


@pytest.fixture(autouse=True)
def layers(docker):
    """The volumes of layers that came with this test; they go with it."""
    def found():
        return {name for name in docker.volumes() if name.startswith("glovebox-layer-")}
    before = found()
    yield lambda: found() - before
    assert host.until(docker.is_clean, within=5)
    for name in found() - before:
        docker.engine.ask("DELETE", f"/volumes/{name}")
    assert found() == before


SHOW = "import alpha, beta_two\nprint(alpha.VERSION, beta_two.NAME)\n"


def test_packages_are_installed_once_and_used_offline(run, index, layers):
    index.add("alpha", "1.5", needs=["beta-two"])
    index.add("beta-two")
    done = run(SHOW, "alpha>=1.2")
    assert (done.returncode, done.stdout) == (0, "1.5 beta-two\n"), done
    assert done.document["install"]["cached"] is False
    assert {(item["name"], item["version"]) for item in done.document["packages"]} == {("alpha", "1.5"), ("beta-two", "1.0")}
    volumes = layers()
    index.close()
    again = run(SHOW, "alpha>=1.2")
    assert (again.stdout, again.document["install"]["cached"]) == ("1.5 beta-two\n", True), again
    assert volumes and layers() == volumes


def test_the_program_has_neither_network_nor_a_way_to_change_them(run, index):
    index.add("alpha")
    code = ("import os, socket, subprocess, sys\nimport alpha\nfolder = os.path.dirname(alpha.__file__)\n"
            "try:\n    open(folder + '/x', 'w')\nexcept OSError as error:\n    print(error.strerror)\n"
            "print([line.split(':')[0].strip() for line in open('/proc/net/dev').readlines()[2:]])\n"
            "print([line.split()[3] for line in open('/proc/self/mountinfo') if '/opt/packages' in line][0]"
            ".count('cache'))\n")
    done = run(code, "alpha")
    assert done.stdout == "Read-only file system\n['lo']\n0\n", done


@pytest.mark.parametrize("name, code, words", [
    ("alpha", 0, "already satisfied"), ("nothing-such", 1, "No matching distribution")])
def test_pip_in_the_program_answers_at_once(run, index, name, code, words):
    index.add("alpha")
    # Put together at run time: what stands in the text is installed beforehand.
    program = (f"import subprocess, sys, time\nname = {name!r}\nbegin = time.monotonic()\n"
               "done = subprocess.run([sys.executable, '-m', 'pip', 'install', name], capture_output=True, text=True)\n"
               "print(done.returncode, time.monotonic() - begin)\nprint(done.stdout + done.stderr)\n")
    done = run(program, "alpha")
    status, seconds = done.stdout.split("\n")[0].split()
    assert int(status) == code and words in done.stdout, done
    assert float(seconds) < pace.within(2)


def test_a_failure_is_an_error_with_its_name(run, docker, layers):
    done = run("print('never')", "nothing-such")
    assert done.returncode == 125 and done.document["install"]["failure"] == "no_such_package", done
    assert not layers() and host.until(docker.is_clean, within=5)


def test_an_image_without_pip_is_told(run, index, docker):
    index.add("alpha")
    done = run("print('never')", "alpha", image=docker.image)
    assert done.returncode == 125 and done.document["install"]["failure"] == "no_installer", done


def test_another_name_of_the_image_has_the_same_packages(run, index, docker, image):
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0
    other = "python:same"
    docker.engine.ask("POST", f"/images/{image}/tag?repo=python&tag=same")
    done = run("import alpha", "alpha", image=other)
    assert done.document["install"]["cached"] is True, done


def test_a_volume_that_was_removed_is_filled_again(run, index, docker, layers):
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0
    volume = max(layers(), key=len)
    assert host.until(docker.is_clean, within=5)
    docker.engine.ask("DELETE", f"/volumes/{volume}")
    done = run("import alpha\nprint(alpha.NAME)", "alpha")
    assert (done.stdout, done.document["install"]["cached"]) == ("alpha\n", True), done


def test_prune_removes_what_no_container_has(run, index, docker, layers):
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0 and layers()
    assert host.until(docker.is_clean, within=5)
    done = kept.call("prune", host_env={**docker.environment, "GLOVEBOX_BACKEND": "docker"})
    assert done.returncode == 0, done
    assert not layers()
    done = run("import alpha\nprint(alpha.NAME)", "alpha")
    assert (done.stdout, done.document["install"]["cached"]) == ("alpha\n", True), done


def test_packages_that_are_pruned_while_a_container_is_made_are_filled_again(run, index, docker):
    """Whenever it happens: a run that wants them has them."""
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0
    is_over = threading.Event()

    def prune():
        while not is_over.is_set():
            kept.call("prune", host_env={**docker.environment, "GLOVEBOX_BACKEND": "docker"})

    pruner = threading.Thread(target=prune)
    pruner.start()
    try:
        for _ in range(pace.count(check=4, proof=60)):
            done = run("import alpha\nprint(alpha.NAME)", "alpha")
            assert done.stdout == "alpha\n", done
    finally:
        is_over.set()
        pruner.join()


class Unwell(socketserver.ThreadingUnixStreamServer):
    """An engine that can say nothing of the files of layers any more once it has made a container with one."""

    daemon_threads = True
    answer = b'{"message":"the disk is busy"}'

    def __init__(self, path, engine):
        self.engine, self.has_made = str(engine.socket), False
        super().__init__(str(path), UnwellCarrier)

    def is_refused(self, request):
        self.has_made |= b'"glovebox-layer-' in request  # the body of a container that has one
        return self.has_made and re.match(rb"GET \S*/volumes/glovebox-layer-\w+-", request)


class UnwellCarrier(socketserver.BaseRequestHandler):
    def handle(self):
        near = self.request
        with socket.socket(socket.AF_UNIX) as far, contextlib.suppress(OSError):
            far.connect(self.server.engine)
            while True:
                for source in select.select([near, far], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is near and self.server.is_refused(data):
                        near.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: %d\r\n\r\n%s"
                                     % (len(self.server.answer), self.server.answer))
                    else:
                        (far if source is near else near).sendall(data)


def test_layers_that_an_engine_can_say_nothing_of_are_left_alone(run, index, docker, layers, tmp_path):
    """What it did not answer is no word that they are gone."""
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0
    volumes = layers()
    with Unwell(tmp_path / "unwell.sock", docker.engine) as unwell:
        threading.Thread(target=unwell.serve_forever, args=(0.05,)).start()
        try:
            done = run("import alpha", "alpha", env={"DOCKER_HOST": f"unix://{tmp_path}/unwell.sock"})
        finally:
            unwell.shutdown()
    assert done.returncode == 125 and "the disk is busy" in done.document["error"]["message"], done
    assert unwell.has_made and volumes and layers() == volumes
    assert host.until(docker.is_clean, within=5), docker.containers()


def test_a_name_that_moves_to_another_image_meanwhile_changes_nothing(run, index, docker, image):
    """What the packages were looked up for is what they are installed in, and what the program runs in."""
    index.add("alpha")
    index.gate = threading.Event()
    docker.engine.ask("POST", f"/images/{image}/tag?repo=python&tag=moving")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(run, "import alpha\nprint(alpha.NAME)", "alpha", image="python:moving")
        try:
            assert host.until(lambda: index.fetched("alpha"), 60)
            status, said = docker.engine.ask("POST", f"/images/{docker.image}/tag?repo=python&tag=moving")
            assert status == 201, said
        finally:
            index.gate.set()
        assert running.result().stdout == "alpha\n", running.result()
    docker.engine.ask("DELETE", "/images/python:moving")


def test_a_container_that_lives_on_has_them(docker, image, index, place):
    index.add("alpha", scripts=["say"], text="def main():\n    print('said')\n")
    env = {**docker.environment, **index.env(), "GLOVEBOX_CACHE_DIR": str(place.base / "cache")}
    with kept.made("--backend", "docker", "--image", image, "--package", "alpha", host_env=env) as name:
        assert kept.call("run", name, "--", "say", host_env=env).out == b"said\n"
        done = kept.call("run", name, "-l", "python", "-c", "import alpha; alpha.main()", host_env=env)
        assert done.out == b"said\n", done


def test_npm_installs_with_the_images_own(docker, place):
    debian.import_node(docker.engine, "node:packages")
    with indexes.NodeRegistry() as registry:
        registry.add("alpha")
        words = box.command("console.log(require('alpha'))", language="javascript", backend="docker",
                            image="node:packages", options=["--npm", "alpha"])
        env = {**docker.environment, **registry.env(), "GLOVEBOX_CACHE_DIR": str(place.base / "cache")}
        done = box.run_words(words, host_env=env, outer=120)
    assert (done.returncode, done.stdout) == (0, "alpha\n"), done


def test_an_image_is_not_given_the_credentials_of_an_index(docker, image, place):
    with indexes.PythonIndex(login="user:secret-word") as index:
        index.add("alpha")
        words = box.command("import alpha", language="python", backend="docker", image=image,
                            options=["--package", "alpha"])
        env = {**docker.environment, **index.env("user:secret-word"), "GLOVEBOX_CACHE_DIR": str(place.base / "cache")}
        done = box.run_words(words, host_env=env)
    assert done.returncode != 0 and "no image is given" in done.document["error"]["message"], done
    assert index.asked == []
