# SPDX-License-Identifier: Apache-2.0
"""prepare_build_context: needs no engine."""
import os
from pathlib import Path

import pytest


def prepared(tools, forget, **request):
    path = Path(tools.do("prepare_build_context", **request)["context_id"])
    if "context_id" not in request:
        forget(path)
    return path


def names(path):
    return sorted(str(found.relative_to(path)) for found in path.rglob("*") if found.is_file())


def test_files_become_a_directory(tools, forget):
    """S2-19, S2-20"""
    path = prepared(tools, forget, files={"Dockerfile": "FROM x\n", "src/deep/a.txt": "ü\n"})
    assert path.is_absolute() and path.name.startswith("adde-build-")
    assert names(path) == [".dockerignore", "Dockerfile", "src/deep/a.txt"]
    assert (path / "src/deep/a.txt").read_text("utf8") == "ü\n"
    ignored = (path / ".dockerignore").read_text().split()
    assert {".git", "*.md", ".env", "node_modules", "*.pyc", "*.log"} <= set(ignored)
    assert path.stat().st_mode & 0o777 == 0o700


def test_a_dockerignore_of_the_callers_stays(tools, forget):
    path = prepared(tools, forget, files={"Dockerfile": "FROM x\n", ".dockerignore": "mine\n"})
    assert (path / ".dockerignore").read_text() == "mine\n"


@pytest.mark.parametrize("files, base", [
    ({"requirements.txt": ""}, "python:3-alpine"),
    ({"package.json": "{}"}, "node:20-alpine"),
    ({"package.json": "{}", "requirements.txt": ""}, "python:3-alpine"),
    ({"package.json": "{}", "Dockerfile.dev": "FROM x\n"}, None),
    ({"a.txt": ""}, None),
])
def test_a_dockerfile_is_added_where_there_is_none(tools, forget, files, base):
    """S2-21"""
    path = prepared(tools, forget, files=files)
    assert (path / "Dockerfile").exists() == (base is not None)
    assert base is None or f"FROM {base}" in (path / "Dockerfile").read_text()


def test_a_context_that_is_named_is_added_to(tools, forget):
    path = prepared(tools, forget, files={"Dockerfile": "FROM x\n", "a": "1", "b": "1"})
    assert prepared(tools, forget, files={"b": "2", "c/d": "3"}, context_id=str(path)) == path
    assert [(path / name).read_text() for name in ("a", "b", "c/d")] == ["1", "2", "3"]


def test_only_contexts_of_this_tool_are_added_to(tools, forget):
    path = prepared(tools, forget, files={"a": "1"})
    other = tools.cwd / "adde-build-other"
    other.mkdir()
    link = tools.tmp / "adde-build-link"
    link.symlink_to(other)
    for named in (str(other), str(link), "/", "/etc", str(tools.tmp), f"{path}/..", f"{path}/",
                  "adde-build-x", str(tools.tmp / "adde-build-none")):
        assert "context_id" in tools.fails("prepare_build_context", files={"b": "x"},
                                           context_id=named)
    os.unlink(link)
    assert list(other.iterdir()) == []


def test_names_that_cannot_both_be_leave_nothing(tools):
    assert tools.fails("prepare_build_context", files={"a": "1", "a/b": "2"})
    assert tools.leftovers() == []
