# SPDX-License-Identifier: Apache-2.0
"""`box put`, `box get`, `box ls`, `box stat` and `box rmfile`: files of a box that lives on."""
import os
import stat
import time

import pytest

from lib import kept

NAMES = ["plain.txt", "with space", "ünïcödé-名前-🍌", "-leading-dash", "quote'\"$(x)", ".hidden", "n" * 255]


@pytest.fixture
def living(place):
    with kept.living() as one:
        yield one


def write(path, content=b"content"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def names(entries):
    return [entry["name"] for entry in entries["entries"]]


# ---- in -----------------------------------------------------------------------------------------

def test_files_go_in_under_their_own_name_or_another(living, place):
    source = write(place.cwd / "a.txt", b"one\n")
    os.chmod(source, 0o755)
    done = living.call("put", source, f"{source}:deep/er/b", f"{source}:/tmp/c", f"{source}:into/", f"{source}:.")
    assert done.returncode == 0 and done.out == b"" and done.err == b"", done
    assert living.sh("cat a.txt deep/er/b /tmp/c into/a.txt; stat -c '%a %u' a.txt") == 4 * "one\n" + "755 1000\n"


def test_a_directory_goes_in_with_what_lies_below(living, place):
    for name in ("d/x", "d/s/y", "d/s/t/z"):
        write(place.cwd / name, name.encode())
    os.symlink("/etc/passwd", place.cwd / "d/link")
    assert living.call("put", "d", "d:other/place", "d:.", cwd=place.cwd).returncode == 0
    found = living.sh("find . -type f -o -type l | sort")
    places = ["d", "other/place", "."]
    expected = sorted(os.path.normpath(f"{base}/{name}") for base in places for name in ("x", "s/y", "s/t/z"))
    assert sorted(os.path.normpath(line) for line in found.split()) == expected


@pytest.mark.parametrize("name", NAMES)
def test_any_name_travels_both_ways(living, place, name):
    write(place.cwd / "in" / name, b"\0bytes\xff")
    assert living.call("put", "in", cwd=place.cwd).returncode == 0
    assert names(living.json("ls", "in")) == [name]
    assert living.call("get", "in:out", cwd=place.cwd).returncode == 0
    assert (place.cwd / "out" / name).read_bytes() == b"\0bytes\xff"


@pytest.mark.parametrize("words, told", [
    (["none"], b"none: No such file"), (["f:../x"], b"is no path in the box"), (["f:a/../../x"], b"no path"),
    (["f:/etc/x"], b"nothing can be put at '/etc/x'"), ([".:"], b"a path is missing"), ([":x"], b"a path is missing"),
    (["."], b"no name that it could have"), (["/dev/null"], b"no regular file or directory"), ([], b"which files?"),
])
def test_bad_words_of_put_are_refused(living, place, words, told):
    write(place.cwd / "f")
    done = living.call("put", *words, cwd=place.cwd)
    assert done.returncode == 2 and told in done.err, done
    assert living.json("ls")["entries"] == []


def test_what_does_not_fit_is_refused_and_the_box_goes_on(place):
    with open(place.cwd / "big", "wb") as stream:
        stream.truncate(64 << 20)
    with kept.living("--disk", "16m") as living:
        done = living.call("put", place.cwd / "big")
        assert done.returncode != 0 and b"--disk" in done.err, done
        assert living.sh("echo alive") == "alive\n"


# ---- out ----------------------------------------------------------------------------------------

def test_files_and_directories_come_out(living, place):
    living.sh("mkdir -p d/s; echo 1 >d/a; echo 2 >d/s/b; chmod +x d/a; ln -s a d/l; mkfifo d/p")
    done = living.call("get", "d", "d/a", "d/a:named", "d:tree", "d/s/b:tree/", "/workspace/d/a:whole", cwd=place.cwd)
    assert done.returncode == 0, done
    for path, content in [("d/a", "1\n"), ("d/s/b", "2\n"), ("a", "1\n"), ("named", "1\n"), ("tree/a", "1\n"),
                          ("tree/s/b", "2\n"), ("tree/b", "2\n"), ("whole", "1\n")]:
        assert (place.cwd / path).read_text() == content, path
    assert (place.cwd / "d/a").stat().st_mode & stat.S_IXUSR
    assert sorted(os.listdir(place.cwd / "d")) == ["a", "s"]
    assert living.call("get", "d:tree", cwd=place.cwd).returncode == 0  # again, into the same place


def test_no_link_leads_out_of_the_place_that_files_come_to(living, place):
    """The box laid the names, the host has the links: nothing is written through them."""
    living.sh("mkdir -p d/sub; echo evil >d/sub/f; echo evil >d/g")
    outside = place.base / "outside"
    outside.mkdir()
    target = write(outside / "g", b"mine")
    (place.cwd / "d").mkdir()
    os.symlink(outside, place.cwd / "d/sub")
    os.symlink(target, place.cwd / "d/g")
    done = living.call("get", "d", cwd=place.cwd)
    assert done.returncode != 0 and b"1 of 2 files were not copied back" in done.err, done
    assert os.listdir(outside) == ["g"] and target.read_bytes() == b"mine"
    assert not (place.cwd / "d/g").is_symlink() and (place.cwd / "d/g").read_text() == "evil\n"


def test_nothing_comes_out_that_git_would_obey(living, place):
    """Nor what would be that on a file system without case, which may leave out characters that nobody sees."""
    living.sh("mkdir -p d/.git/hooks d/x/.GIT d/y/.gi\u200ct; echo evil >d/.git/hooks/pre-commit; "
              "echo evil | tee d/x/.GIT/config >d/y/.gi\u200ct/config; echo 1 >d/a")
    done = living.call("get", "d", cwd=place.cwd)
    assert done.returncode == 0 and b"git would obey" in done.err, done
    assert sorted(os.listdir(place.cwd / "d")) == ["a"]
    refused = living.call("get", "d/.git", cwd=place.cwd)
    assert refused.returncode != 0 and not (place.cwd / ".git").exists(), refused
    assert living.call("get", "d/.git:d2/.git", cwd=place.cwd).returncode != 0


@pytest.mark.parametrize("words, told", [
    (["none"], b"'none' is not there in the box"), (["l"], b"'l' is a link"), (["p"], b"'p' is a pipe"),
    (["l/f"], b"is a link in the box or lies behind one"), (["../x"], b"no path in the box"), (["."], b"say where"),
    (["/"], b"say where"), (["d:none/x"], b"No such file"), ([], b"which files?"),
])
def test_bad_words_of_get_are_refused(living, place, words, told):
    living.sh("mkdir d; echo 1 >d/f; ln -s d l; mkfifo p")
    done = living.call("get", *words, cwd=place.cwd)
    assert done.returncode not in (0, 1) and told in done.err, done
    assert os.listdir(place.cwd) == []


# ---- looking ------------------------------------------------------------------------------------

def test_everything_in_a_directory_is_listed(living):
    before = time.time()
    living.sh("printf 12345 >f; chmod 640 f; mkdir d; ln -s /nowhere l; mkfifo p; touch -d @77 old")
    listed = living.json("ls")
    assert listed["schema"] == 1
    entries = {entry["name"]: entry for entry in listed["entries"]}
    assert list(entries) == sorted(entries)
    assert {name: entry["kind"] for name, entry in entries.items()} == {
        "f": "file", "d": "directory", "l": "link", "p": "pipe", "old": "file"}
    assert entries["f"]["size"] == 5 and entries["f"]["mode"] == "0640"
    assert entries["old"]["changed_ms"] == 77000
    assert before - 60 < entries["f"]["changed_ms"] / 1000 < time.time() + 60
    text = living.call("ls").out.decode()
    assert "-rw-r-----" in text and "drwxr-xr-x" in text and " d/\n" in text
    assert names(living.json("ls", "f")) == ["f"]
    assert "null" in names(living.json("ls", "/dev"))
    assert living.json("ls", "d")["entries"] == [] and living.call("ls", "d").out == b""


def test_a_path_is_told_itself(living):
    living.sh("printf 12345 >f; ln -s f l")
    told = living.json("stat", "f")
    assert (told["name"], told["kind"], told["size"]) == ("f", "file", 5)
    assert living.json("stat", "l")["kind"] == "link"
    assert living.json("stat", "/workspace/f")["name"] == "f"
    assert living.json("stat", ".")["kind"] == "directory"
    assert living.json("stat", "/")["name"] == "/"
    missing = living.call("stat", "none")
    assert missing.returncode == 2 and missing.err == b"glovebox: 'none' is not there in the box\n", missing


def test_hostile_names_do_not_reach_the_terminal(living):
    living.sh("""touch "$(printf 'a\\033]0;evil\\007b')" "$(printf 'new\\nline')" "$(printf '\\377')" """)
    out = living.call("ls").out
    assert b"\x1b" not in out and b"\x07" not in out and b"\xff" not in out and out.count(b"\n") == 3
    assert len(living.json("ls")["entries"]) == 3


def test_a_directory_with_many_entries_is_listed(living):
    living.sh("seq 5000 | xargs touch")
    assert len(living.json("ls")["entries"]) == 5000


# ---- removing -----------------------------------------------------------------------------------

def test_files_are_removed(living):
    living.sh("touch a b; mkdir -p empty d/s; touch d/s/x; ln -s d l")
    assert living.call("rmfile", "a", "empty", "l").returncode == 0
    assert names(living.json("ls")) == ["b", "d"]
    refused = living.call("rmfile", "d")
    assert refused.returncode == 2 and b"remedy: -r" in refused.err, refused
    assert living.call("rmfile", "/workspace/d", options=["-r"]).returncode == 0
    assert names(living.json("ls")) == ["b"]


@pytest.mark.parametrize("path", ["none", "/usr/bin/env", "/workspace", ".", "/", "..", "../workspace/b", "l/f"])
def test_what_cannot_be_removed_stays(living, path):
    living.sh("touch b; mkdir d; touch d/f; ln -s d l")
    done = living.call("rmfile", path, options=["-r"])
    assert done.returncode == 2 and done.err.startswith(b"glovebox: '"), done
    assert names(living.json("ls")) == ["b", "d", "l"] and names(living.json("ls", "d")) == ["f"]


# ---- whose box ----------------------------------------------------------------------------------

def test_a_users_box_is_meant_by_its_user(place):
    write(place.cwd / "f", b"mine")
    user = kept.Kept("--user=ann")
    try:
        assert user.call("put", "f", cwd=place.cwd).returncode == 0
        assert names(user.json("ls")) == ["f"]
        assert user.call("get", "f:back", cwd=place.cwd).returncode == 0
        assert (place.cwd / "back").read_bytes() == b"mine"
    finally:
        assert user.call("rm").returncode == 0


@pytest.mark.parametrize("command", [("get", "x"), ("ls",), ("stat", "x"), ("rmfile", "x"), ("runs",), ("logs", "r_x"), ("stats",),
                                     ("net",), ("ports",), ("wait", "r_x"), ("kill", "r_x")], ids=lambda c: c[0])
def test_who_only_looks_makes_no_box(command):
    """A name that was mistyped is told, and has no box afterwards."""
    done = kept.Kept("--user=nobody").call(*command)
    assert done.returncode == 2 and b"'nobody' has no box" in done.err and b"remedy: " in done.err, done
    assert kept.listed() == []


@pytest.mark.parametrize("command", ["put", "get", "ls", "stat", "rmfile"])
def test_a_box_that_is_not_there_is_told(place, command):
    done = kept.Kept("b_nosuchbox").call(command, "x")
    assert done.returncode == 2 and done.err.startswith(b"glovebox: "), done


# ---- what a run needs for itself ----------------------------------------------------------------

@pytest.mark.parametrize("language, code", [
    ("python", "open('made', 'w'); raise SystemExit(3)"), ("c", "#include <stdio.h>\nint main(void) { fopen(\"made\", \"w\"); return 3; }"),
])
def test_source_and_build_of_a_run_go_with_it(living, language, code):
    done = living.call("run", "-c", code, options=["-l", language])
    assert done.returncode == 3, done
    assert names(living.json("ls")) == ["made"]
    assert [name for name in names(living.json("ls", "/tmp")) if "glovebox" in name] == []


def test_a_source_with_a_name_of_its_own_stays(living, place):
    write(place.cwd / "mine.py", b"print(1)")
    assert living.call("run", "mine.py", cwd=place.cwd).returncode == 0
    assert names(living.json("ls")) == ["mine.py"]
