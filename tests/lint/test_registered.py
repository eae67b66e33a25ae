# SPDX-License-Identifier: Apache-2.0
"""What no list names is forgotten: every C test and fuzz target is registered, every suite of the
tree is one of tools/check, every message is in the table of docs/internals/wire.md and has its seeds."""
import re
import subprocess
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


def stale_seeds(made, corpus):
    """Those that the corpus lacks or has otherwise."""
    found = (path.relative_to(made) for path in made.rglob("*") if path.is_file())
    return sorted(str(name) for name in found
                  if not (corpus / name).exists() or (corpus / name).read_bytes() != (made / name).read_bytes())


def test_the_seeds_are_what_their_generator_writes(tmp_path):
    """make_seeds reads the messages of the wire: whoever changes one makes them anew."""
    subprocess.run([ROOT / "tests" / "fuzz" / "make_seeds", tmp_path], check=True)
    assert stale_seeds(tmp_path, ROOT / "tests" / "fuzz" / "corpus") == []


def test_a_seed_that_is_stale_or_missing_is_found(tmp_path):
    for name, text in (("made/t/a", "1"), ("made/t/b", "1"), ("made/t/c", "1"), ("corpus/t/a", "1"), ("corpus/t/b", "0"),
                       ("corpus/t/found", "1")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert stale_seeds(tmp_path / "made", tmp_path / "corpus") == ["t/b", "t/c"]


@pytest.mark.parametrize(
    "folder, pattern", [("unit", "test_*.c"), ("fuzz", "fuzz_*.c"), ("conform", "test_*.c")]
)
def test_every_file_is_registered(folder, pattern):
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


# Folders of tests/ that are no suite of their own.
NO_SUITES = {"lib", "eval", "__pycache__"}


def unnamed_suites(check, folders):
    named = set(re.search(r"^suites=\(([^)]*)\)", check, re.MULTILINE)[1].split())
    return sorted(set(folders) - named - NO_SUITES)


def test_every_folder_of_tests_is_a_suite():
    folders = [path.name for path in (ROOT / "tests").iterdir() if path.is_dir()]
    assert unnamed_suites((ROOT / "tools" / "check").read_text(), folders) == []


def test_a_folder_that_is_no_suite_is_found():
    assert unnamed_suites("suites=(lint unit\n    cli)\n", ["lint", "cli", "new", "lib"]) == ["new"]


WAYS = {
    "both ways on a link": "GLOVE_IN | GLOVE_OUT", "host \u2192 glove": "GLOVE_IN", "glove \u2192 host": "GLOVE_OUT",
    "host \u2192 spawner": "SPAWN_IN", "spawner \u2192 host": "SPAWN_OUT",
}


def untold_messages(definitions, page):
    """Messages whose way the page does not tell, and names on it that are none."""
    defined = {(name, way.strip()) for name, way in
               re.findall(r"^MSG\((\w+), \w+, \d+, ([^)]*)\)", definitions, re.MULTILINE)}
    told = set()
    for way, text in re.findall(r"^\| ([^|]*) \| ([^|]*) \|$", page, re.MULTILINE):
        if way in WAYS:
            told |= {(name, WAYS[way]) for name in re.findall(r"\b[A-Z][A-Z_]+\b", text)}
    return sorted(defined ^ told)


def test_every_message_is_in_the_table_of_the_wire():
    definitions = (ROOT / "src" / "wire" / "msg.def").read_text()
    assert untold_messages(definitions, (ROOT / "docs" / "internals" / "wire.md").read_text()) == []


def test_a_message_that_is_not_told_is_found():
    page = "| glove \u2192 host | OK (seq), GONE |\n"
    assert untold_messages("MSG(OK, ok, 30, GLOVE_OUT)\nMSG(PING, ping, 17, GLOVE_IN)\n", page) == [
        ("GONE", "GLOVE_OUT"), ("PING", "GLOVE_IN")]
