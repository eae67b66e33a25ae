# SPDX-License-Identifier: Apache-2.0
"""Builds whose steps really install something: pip, uv and npm themselves, from an index beside the engine.

The wheels are those of the public index, the packages of npm's are made here; the base images are Debian's Python and
this machine's Node under the templates' names.
"""
import base64
import contextlib
import hashlib
import ipaddress
import json
import os
import subprocess
import sys
import urllib.parse

import pytest
from conftest import ran, somebody_builds

from lib import debian, host, indexes, testbed

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
            yield f"http://{next(ipaddress.ip_network(network).hosts())}:{PORT}"
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
    with served(image.engine, tmp_path) as server:
        address = f"{server}/simple"
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


# ---- npm ---------------------------------------------------------------------------------------

SERVER = """
const tiny = require("tiny-node");
console.log(tiny.word, require("tiny-node/package.json").version);
"""


class Registry:
    """Documents and tarballs in a folder that is served: as much of a registry as npm asks for."""

    def __init__(self, folder, address):
        self.folder, self.address = folder, address
        self.locked = {}  # name -> what a lock file says of it

    def add(self, name, version="1.2.0", needs=None):
        meta = {"name": name, "version": version, "dependencies": needs or {}}
        packed = indexes.tarball({"package/package.json": json.dumps(meta),
                                  "package/index.js": f"exports.word = {json.dumps('word of ' + name)}\n"})
        file = f"{name}-{version}.tgz"
        (self.folder / file).write_bytes(packed)
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
        dist = {"tarball": f"{self.address}/{file}", "integrity": integrity}
        (self.folder / name).write_text(json.dumps(
            {"name": name, "dist-tags": {"latest": version}, "versions": {version: {**meta, "dist": dist}}}))
        self.locked[f"node_modules/{name}"] = {"version": version, "resolved": dist["tarball"], "integrity": integrity,
                                               "dependencies": needs or {}}


@pytest.fixture
def registry(image, tmp_path):
    """With two packages; the template's base image asks there."""
    with served(image.engine, tmp_path) as address:
        made = Registry(tmp_path, address)
        made.add("tiny-node", needs={"tinier": "^1.0.0"})
        made.add("tinier", "1.0.3")
        debian.import_node(image.engine, "node:20-alpine")
        somebody_builds(image, "node:20-alpine",
                        f"FROM node:20-alpine\nENV npm_config_registry={address}/ npm_config_fetch_retries=0\n")
        yield made


def project(**dependencies):
    """A package.json, and the beginning of its lock."""
    package = {"name": "x", "version": "1.0.0", "scripts": {"start": "node server.js"}, "dependencies": dependencies}
    return package, {"name": "x", "version": "1.0.0", "lockfileVersion": 3, "requires": True,
                     "packages": {"": {key: package[key] for key in ("name", "version", "dependencies")}}}


def test_packages_of_a_package_json_are_installed_by_npm(image, registry):
    package, _ = project(**{"tiny-node": "^1.0.0"})
    made = image.json("build", image.tree({"package.json": json.dumps(package), "server.js": SERVER}), "-t", "npm")
    assert made.template == "node"
    assert ran(image, made.tag, "npm", "start").endswith("word of tiny-node 1.2.0\n")
    assert ran(image, made.tag, "ls", "/app/node_modules").split() == ["tinier", "tiny-node"]
    package, _ = project(**{"none-such": "*"})
    missing = image.json("build", image.tree({"package.json": json.dumps(package)}), "-t", "no", code=1)
    assert "none-such" in missing.build_log_summary and "RUN npm install" in missing.failed_layer


def test_a_lock_is_kept_to_and_what_it_does_not_fit_fails(image, registry):
    """Also where the index has something newer."""
    package, lock = project(**{"tiny-node": "^1.0.0"})
    lock["packages"] |= registry.locked
    registry.add("tiny-node", "1.9.0")
    files = {"package.json": json.dumps(package), "package-lock.json": json.dumps(lock), "server.js": SERVER}
    made = image.json("build", image.tree(files), "-t", "locked")
    assert ran(image, made.tag, "npm", "start").endswith("word of tiny-node 1.2.0\n")
    lock["packages"]["node_modules/tinier"]["integrity"] = "sha512-" + base64.b64encode(bytes(64)).decode()
    changed = image.json("build", image.tree({**files, "package-lock.json": json.dumps(lock)}), "-t", "no", code=1)
    assert "EINTEGRITY" in changed.build_log_summary and "RUN npm ci" in changed.failed_layer
