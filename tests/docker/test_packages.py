# SPDX-License-Identifier: Apache-2.0
"""Packages in containers: installed by the image's own pip, in a container that reaches the index only."""
import concurrent.futures
import contextlib
import random
import re
import select
import signal
import socket
import socketserver
import subprocess
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
    def words(code, *packages, more=(), env=None, **request):
        words = box.command(code, language="python", backend="docker", image=request.pop("image", image), **request)
        words[2:2] = [word for name in packages for word in ("--package", name)] + list(more)
        return words, {**docker.environment, **index.env(), "GLOVEBOX_CACHE_DIR": str(place.base / "cache"), **(env or {})}

    def run(*args, **request):
        command, env = words(*args, **request)
        return box.run_words(command, host_env=env, outer=120)
    run.words = words
    return run


@pytest.fixture(autouse=True)
def layers(docker):
    """The volumes of layers that came with this test; they go with it."""
    def found():
        return {name for name in docker.volumes() if name.startswith("glovebox-layer-")}
    before = found()
    yield lambda: found() - before
    assert host.until(docker.is_clean, within=30)
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
    assert not layers() and host.until(docker.is_clean, within=30)


def test_an_image_without_pip_is_told(run, index, docker):
    index.add("alpha")
    done = run("print('never')", "alpha", image=docker.image)
    assert done.returncode == 125 and done.document["install"]["failure"] == "no_installer", done
    assert "name an image that has it" in done.document["error"]["remedy"], done


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
    assert host.until(docker.is_clean, within=30)
    docker.engine.ask("DELETE", f"/volumes/{volume}")
    done = run("import alpha\nprint(alpha.NAME)", "alpha")
    assert (done.stdout, done.document["install"]["cached"]) == ("alpha\n", True), done


def test_prune_removes_what_no_container_has(run, index, docker, layers):
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0 and layers()
    assert host.until(docker.is_clean, within=30)
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


def answer(status, message):
    body = b'{"message":"%s"}' % message
    return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


HOLD = b""  # no answer at all
UNWELL = answer(b"500 Internal Server Error", b"the disk is busy")
GONE = answer(b"404 Not Found", b"no such volume")
FILES = rb"GET \S*/volumes/glovebox-layer-\w+-"  # the labels of the volume that has a layer's files
MARK = rb"GET \S*/volumes/glovebox-layer-\w+ "  # those of the one that leads to it


class Meddler(socketserver.ThreadingUnixStreamServer):
    """An engine some of whose answers are not its own: meddle(request) gives one, HOLD, or None for the engine's."""

    daemon_threads = True

    def __init__(self, path, engine, meddle):
        self.engine, self.meddle = str(engine.socket), meddle
        super().__init__(str(path), MeddlingCarrier)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,)).start()
        return super().__enter__()

    def __exit__(self, *why):
        self.shutdown()
        super().__exit__(*why)


class MeddlingCarrier(socketserver.BaseRequestHandler):
    def handle(self):
        near, is_held = self.request, False
        with socket.socket(socket.AF_UNIX) as far, contextlib.suppress(OSError):
            far.connect(self.server.engine)
            while True:
                for source in select.select([near, far], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    said = self.server.meddle(data) if source is near and not is_held else None
                    is_held |= said == HOLD
                    if said:
                        near.sendall(said)
                    elif not is_held:
                        (far if source is near else near).sendall(data)


@pytest.fixture
def meddled(docker, tmp_path):
    """meddled(meddle): an engine that is meddled with, and how it is named."""
    @contextlib.contextmanager
    def begin(meddle):
        with Meddler(tmp_path / "engine.sock", docker.engine, meddle):
            yield {"DOCKER_HOST": f"unix://{tmp_path}/engine.sock"}
    return begin


class Script:
    """What an engine that is meddled with says, once it has made a container with a layer."""

    def __init__(self, *rules):
        self.rules = list(rules)  # pattern, answer, how often; the answer may be a function
        self.has_made = False
        self.counts = [0] * len(rules)

    def __call__(self, request):
        self.has_made |= b'"glovebox-layer-' in request  # the body of a container that has one
        for i, (pattern, said, times) in enumerate(self.rules):
            if self.has_made and self.counts[i] < times and re.match(pattern, request):
                self.counts[i] += 1
                return said() if callable(said) else said
        return None


def test_layers_that_an_engine_can_say_nothing_of_are_left_alone(run, index, docker, layers, meddled):
    """What it did not answer is no word that they are gone."""
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0
    volumes, script = layers(), Script((FILES, UNWELL, 99))
    with meddled(script) as env:
        done = run("import alpha", "alpha", env=env)
    assert done.returncode == 125 and "the disk is busy" in done.document["error"]["message"], done
    assert script.has_made and volumes and layers() == volumes
    assert host.until(docker.is_clean, within=30), docker.containers()


def test_a_container_whose_layer_is_gone_is_removed_at_the_end_where_it_could_not_be_at_once(
        run, index, docker, layers, meddled):
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0
    volumes, script = layers(), Script((FILES, GONE, 1), (rb"DELETE \S*/containers/", UNWELL, 1))
    with meddled(script) as env:
        done = run("import alpha", "alpha", env=env)
    assert script.counts == [1, 1]
    assert done.returncode == 125 and "the disk is busy" in done.document["error"]["message"], done
    assert host.until(docker.is_clean, within=30), docker.containers()
    assert layers() == volumes, "nothing was said to be empty that could be removed"


@contextlib.contextmanager
def started(words, env):
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               env=box.environment(env))
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def holding():
    """What a Script says to a request that is never answered, and the event of its coming."""
    has_come = threading.Event()

    def hold():
        has_come.set()
        return HOLD
    return hold, has_come


@pytest.fixture
def filling(run, meddled):
    """filling(): a command that installs, while the files are on their way to the engine and do not arrive."""
    @contextlib.contextmanager
    def begin():
        hold, is_filling = holding()
        with meddled(Script((rb"PUT \S*/containers/\w+/archive", hold, 1))) as env:
            with started(*run.words("import alpha", "alpha", env=env)) as process:
                assert is_filling.wait(60)
                yield process
    return begin


def test_what_was_begun_for_packages_is_removed_also_after_a_Ctrl_C(run, index, docker, layers, filling):
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0
    assert host.until(docker.is_clean, within=20)
    for name in layers():
        docker.engine.ask("DELETE", f"/volumes/{name}")
    with filling() as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130, process.returncode
        assert docker.containers() == [] and not layers(), "removed before the command ended"


def test_L05_a_command_that_is_killed_at_any_moment_of_an_installation_leaves_nothing_half(run, index, docker, layers, filling):
    """First while files are on their way to the engine; in a proof at any moment besides."""
    index.add("alpha", more={f"alpha/m{n}.py": b"x = 1\n" for n in range(100)})
    with filling() as process:
        process.kill()
    for seed in range(pace.count(check=0, proof=20)):
        with started(*run.words("import alpha", "alpha")) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(random.Random(seed).uniform(0.05, 5))
            process.kill()
    done = run("import alpha.m99\nprint(alpha.NAME)", "alpha")
    assert done.stdout == "alpha\n", done
    assert host.until(docker.is_clean, within=30), docker.containers()
    assert kept.call("prune", host_env={**docker.environment, "GLOVEBOX_BACKEND": "docker"}).returncode == 0
    assert not layers(), "what was half is nobody's"


def test_a_Ctrl_C_is_heard_again_after_a_layer_had_to_be_made_anew(run, index, docker, layers, meddled):
    index.add("alpha")
    assert run("import alpha", "alpha").returncode == 0
    hold, is_asked_again = holding()
    script = Script((FILES, GONE, 1), (MARK, hold, 99))
    with meddled(script) as env, started(*run.words("import alpha", "alpha", env=env)) as process:
        assert is_asked_again.wait(60)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=pace.within(10))
        assert process.returncode == 130 and script.counts[0] == 1, process.returncode
    assert host.until(docker.is_clean, within=30), docker.containers()


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
