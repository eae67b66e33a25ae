# SPDX-License-Identifier: Apache-2.0
"""Builds whose steps really install something: pip and uv themselves, from an index beside the engine.

The wheels are those of the public index; the base images are Debian's Python under the templates' names.
"""
import contextlib
import ipaddress
import os
import subprocess
import sys
import urllib.parse

import pytest
from conftest import ran, somebody_builds

from lib import debian, host, testbed

PORT = 8765


@pytest.fixture(scope="module")
def wheels():
    try:
        return testbed.directory("wheels")
    except testbed.Missing as why:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(why))  # for want of a network


def simple_index(wheels, folder):
    for path in wheels.glob("*.whl"):
        place = folder / "simple" / path.name.split("-")[0]
        place.mkdir(parents=True)
        (place / path.name).symlink_to(path)
        (place / "index.html").write_text(f'<a href="{path.name}">{path.name}</a>')


@contextlib.contextmanager
def served(engine, folder):
    """The folder on every address of the engine's network; the one that steps of builds see."""
    network = f"--net=/proc/{engine.init.pid}/ns/net"
    words = ["nsenter", network, sys.executable, "-m", "http.server", "--directory", str(folder), str(PORT)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            probe = ["nsenter", network, sys.executable, "-c", f"import socket; socket.create_connection(('127.0.0.1', {PORT}))"]
            assert host.until(lambda: subprocess.run(probe, capture_output=True).returncode == 0, within=30)
            network = engine.get("/networks/bridge")["IPAM"]["Config"][0]["Subnet"]
            yield f"http://{next(ipaddress.ip_network(network).hosts())}:{PORT}/simple"
        finally:
            server.kill()


def base_with(image, name, *settings):
    """A base image whose pip has these settings."""
    debian.import_python(image.engine, name)
    lines = "\\n".join(("[global]", *settings))
    somebody_builds(image, name, f"FROM {name}\nRUN printf '{lines}\\n' >/etc/pip.conf\n")


@pytest.fixture
def index(image, wheels, tmp_path):
    """Its address, and what makes pip use it."""
    simple_index(wheels, tmp_path)
    with served(image.engine, tmp_path) as address:
        yield address, (f"index-url={address}", f"trusted-host={urllib.parse.urlsplit(address).hostname}")


def test_requirements_are_installed_by_pip(image, index):
    base_with(image, "python:3-alpine", *index[1])
    program = "import six\nprint(six.__version__)\n"
    made = image.json("build", image.tree({"requirements.txt": "six==1.17.0\n", "main.py": program}), "-t", "pip")
    assert made.template == "python"
    assert ran(image, made.tag, "python", "/app/main.py") == "1.17.0\n"
    missing = image.json("build", image.tree({"requirements.txt": "none-such\n"}), "-t", "no", code=1)
    assert "No matching distribution" in missing.build_log_summary and "pip install" in missing.failed_layer


def test_S4_06_the_image_with_uv_is_built_when_it_is_asked_for_and_projects_like_it(image, index):
    base_with(image, "python:3.12-slim", *index[1])
    first = image.json("pull", "python-uv-image")
    assert (first.name, first.is_new, first.digest) == ("python-uv-image:latest", True, None)
    config = image.engine.get("/images/python-uv-image/json")["Config"]
    assert {"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=/app"} <= set(config["Env"])
    assert config["WorkingDir"] == "/app"
    assert ran(image, "python-uv-image", "uv", "--version").startswith("uv 0.")
    again = image.json("pull", "python-uv-image:latest")
    assert (again.id, again.is_new) == (first.id, False) and len(image.logs()) == 1
    project = ('[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["six"]\n'
               f'[[tool.uv.index]]\nurl = "{index[0]}"\ndefault = true\n')
    made = image.json("build", image.tree({"pyproject.toml": project, "main.py": "import six\nprint(six.__version__)\n"}))
    assert made.template == "uv"
    assert ran(image, made.tag, "/app/.venv/bin/python", "/app/main.py") == "1.17.0\n"


def test_S4_06_a_build_of_the_image_that_fails_names_its_log(image):
    """Its base has a pip that reaches nothing."""
    base_with(image, "python:3.12-slim", "retries=0", "index-url=http://127.0.0.1:1/")
    failed = image.json("pull", "python-uv-image", code=125)
    assert failed.error.startswith("building 'python-uv-image'"), failed
    assert failed.remedy == f"the whole log: {image.logs()[0]}", failed
    assert "pip install" in image.logs()[0].read_text()
