# SPDX-License-Identifier: Apache-2.0
"""A test that no list names never runs: every C test and fuzz target is registered."""
import re
from pathlib import Path

import pytest
from tree import ROOT


def unregistered(folder, pattern):
    """Files of a folder that its meson.build does not name, and names without a file."""
    text = (folder / "meson.build").read_text()
    listed = set(re.findall(r"'((?:test|fuzz)_\w+)'", text)) - {"test_glove_", "test_spawner_"}
    present = {path.stem for path in folder.glob(pattern)}
    return sorted(listed ^ present)


def without_seeds(folder):
    return sorted(
        path.stem
        for path in folder.glob("fuzz_*.c")
        if not any((folder / "corpus" / path.stem).glob("*"))
    )


@pytest.mark.parametrize(
    "folder, pattern", [("unit", "test_*.c"), ("fuzz", "fuzz_*.c"), ("conform", "test_*.c")]
)
def test_every_file_is_registered(folder, pattern):
    if (ROOT / "tests" / folder).is_dir():
        assert unregistered(ROOT / "tests" / folder, pattern) == []


def test_every_fuzz_target_has_seeds():
    assert without_seeds(ROOT / "tests" / "fuzz") == []


def test_an_unregistered_file_is_found(tmp_path: Path):
    (tmp_path / "meson.build").write_text("unit_tests = [\n  'test_a',\n  'test_gone',\n]\n")
    (tmp_path / "test_a.c").touch()
    (tmp_path / "test_b.c").touch()
    assert unregistered(tmp_path, "test_*.c") == ["test_b", "test_gone"]


def test_a_target_without_seeds_is_found(tmp_path: Path):
    (tmp_path / "fuzz_a.c").touch()
    (tmp_path / "corpus" / "fuzz_a").mkdir(parents=True)
    assert without_seeds(tmp_path) == ["fuzz_a"]
