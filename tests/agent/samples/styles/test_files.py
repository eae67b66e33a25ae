# SPDX-License-Identifier: Apache-2.0
"""Style: files in tmp_path, read and written by both sides."""
import json
import os
import tempfile

import pytest

from files import load, rename_all, save, size_of, word_count


def test_read(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one two  three\n")
    assert word_count(path) == 3
    assert word_count(str(path)) == 3


def test_write(tmp_path):
    target = save(tmp_path / "deep" / "er" / "data.json", {"a": [1, 2]})
    assert target.exists()
    assert json.loads(target.read_text()) == {"a": [1, 2]}
    assert load(target) == {"a": [1, 2]}


def test_missing(tmp_path):
    with pytest.raises(FileNotFoundError) as info:
        load(tmp_path / "none.json")
    assert info.value.filename == str(tmp_path / "none.json")


def test_rename(tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_bytes(b"\x00\xff")
    assert rename_all(tmp_path, ".bin") == ["a.bin", "b.bin"]
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "b.bin"]
    assert size_of(tmp_path) == 4


def test_temporary_file():
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("a b")
    try:
        assert word_count(file.name) == 2
    finally:
        os.unlink(file.name)


def test_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save("here.json", 5)
    assert load("here.json") == 5
    assert (tmp_path / "here.json").read_text() == "5"
