# SPDX-License-Identifier: Apache-2.0
"""The package as it is installed: a wheel without dependencies, typed, for Python 3.9 and later."""
import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile

import glovebox
from lib import place as places

CLIENT = places.ROOT / "clients/python"
SOURCES = sorted((CLIENT / "src").glob("*/*.py"))
OLDEST = (3, 9)


def test_a_wheel_builds_and_works_in_a_fresh_environment(langgraph_bin, desk):
    """Built from a copy: setuptools leaves things beside what it builds."""
    tree, wheels, fresh = desk.base / "tree", desk.base / "wheels", desk.base / "fresh"
    shutil.copytree(CLIENT, tree, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pip = [langgraph_bin / "python", "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
                    "--wheel-dir", wheels, tree], check=True, env=env)
    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        head = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert {"adde/py.typed", "glovebox/py.typed"} <= set(names)
    assert {f"{path.parent.name}/{path.name}" for path in SOURCES} <= set(names)
    assert all("extra ==" in line for line in head.splitlines() if line.startswith("Requires-Dist"))

    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", fresh], check=True)
    subprocess.run([*pip, "--python", fresh / "bin/python", "install", "--quiet", "--no-index",
                    "--no-deps", wheel], check=True, env=env)
    done = subprocess.run(
        [fresh / "bin/python", "-c", "import adde, glovebox, glovebox.aio, glovebox.hybrid\n"
         "print(glovebox.__file__)\nprint(glovebox.exec('print(6 * 7)').stdout)"],
        capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert str(fresh) in done.stdout and "\n42\n" in done.stdout


def test_importing_the_package_imports_nothing_else():
    code = ("import sys, sysconfig\nbefore = set(sys.modules)\nimport adde, glovebox, glovebox.aio\n"
            "print(*{name.split('.')[0] for name in set(sys.modules) - before}"
            " - set(sys.stdlib_module_names))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(CLIENT / "src")})
    assert sorted(done.stdout.split()) == ["adde", "glovebox"]


def test_the_oldest_python_can_read_the_sources():
    """And annotations, which newer ones could not always evaluate there, stay texts."""
    for path in SOURCES:
        text = path.read_text()
        ast.parse(text, feature_version=OLDEST)
        if path.name != "__init__.py":
            assert "from __future__ import annotations" in text, path


def test_one_version_everywhere():
    told = re.search(r'^version = "(.*)"', (CLIENT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    project = re.search(r"version: '([\d.]+)'", (places.ROOT / "meson.build").read_text())[1]
    assert told == glovebox.__version__ == project


def test_no_shell_is_ever_started():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword):
                assert node.arg != "shell", path
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("system", "popen", "create_subprocess_shell"), path
