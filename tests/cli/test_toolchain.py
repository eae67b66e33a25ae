# SPDX-License-Identifier: Apache-2.0
"""Interpreters that people keep outside /usr: --toolchain, host.toolchains, and doctor's advice.

A tree of the host is shown read-only at its own path and comes first on PATH; without the word of
the operator nothing outside /usr is visible, least of all a home.
"""
import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from lib import box, place as places

FAKE = "#!/bin/sh\necho {word} $0\n"
SECRETS = ["credentials", "credentials.toml", ".npmrc", ".netrc", ".pypirc", ".git-credentials", ".env",
           ".condarc", "pip.conf", ".pip/pip.conf", ".ssh/id_ed25519", ".aws/credentials",
           ".docker/config.json", ".kube/config", ".gnupg/key", ".config/gh/hosts.yml",
           ".cargo/credentials", ".cargo/credentials.toml"]


@contextlib.contextmanager
def planted(base="/opt"):
    """A tree for everybody to read, with a python3 of its own in bin."""
    folder = Path(tempfile.mkdtemp(prefix="glovebox-test-", dir=base))
    try:
        folder.chmod(0o755)
        (folder / "bin").mkdir()
        (folder / "lib").mkdir()
        (folder / "lib" / "data").write_text("data of the tree\n")
        program(folder / "bin" / "python3", "fake")
        yield folder
    finally:
        shutil.rmtree(folder)


def program(path, word):
    path.parent.mkdir(exist_ok=True)
    path.write_text(FAKE.format(word=word))
    path.chmod(0o755)
    return path


@pytest.fixture
def tree():
    with planted() as folder:
        yield folder


# ---- what is shown ------------------------------------------------------------------------------

def test_a_tree_is_shown_at_its_own_path_and_first_on_path(tree, host_user):
    result = box.run("print('the real one')", language="python", toolchains=[tree], as_user=host_user)
    assert result.stdout == f"fake {tree}/bin/python3\n", result
    plain = box.run("print('the real one')", language="python", as_user=host_user)
    assert plain.stdout == "the real one\n", plain
    result = box.run(f"cat {tree}/lib/data; echo $PATH", language="sh", toolchains=[tree],
                     as_user=host_user)
    assert result.stdout.startswith(f"data of the tree\n{tree}/bin:"), result


def test_it_is_read_only(tree, host_user):
    code = f"cd {tree} && for f in new bin/new lib/data bin/python3; do echo x >>$f && echo WROTE $f; done; " \
           f"rm -f lib/data && echo REMOVED; chmod 777 bin && echo CHANGED; mkdir d && echo MADE; true"
    result = box.run(code, language="sh", toolchains=[tree], as_user=host_user)
    assert (result.verdict, result.stdout) == ("ok", ""), result
    assert (tree / "lib" / "data").read_text() == "data of the tree\n"


def test_nothing_beside_it_is_shown(tree):
    with planted() as other:
        result = box.run(f"ls {tree.parent}; ls -d {other} 2>&1; ls -A / /opt", language="sh",
                         toolchains=[tree])
        assert other.name not in result.stdout.replace(f"'{other}'", ""), result
        assert tree.name in result.stdout


def test_without_the_option_it_is_not_there(tree):
    result = box.run(f"ls {tree} || echo absent; ls -A /opt /srv /home /root /mnt 2>/dev/null | sort -u",
                     language="sh")
    lines = [line for line in result.stdout.splitlines() if line and not line.endswith(":")]
    assert set(lines) <= {"absent", "box"} and "absent" in lines, result


def test_the_order_of_several_is_that_of_the_options(tree):
    with planted("/srv") as second:
        for folder in (tree, second):
            program(folder / "bin" / "both", f"both-{folder.parent.name}")
        program(second / "bin" / "only", "only")
        for first, last in ((tree, second), (second, tree)):
            result = box.run("both; only; echo $PATH", language="sh", toolchains=[first, last])
            words = result.stdout.split()
            assert words[:2] == [f"both-{first.parent.name}", f"{first}/bin/both"], result
            assert words[2] == "only"
            assert words[4].split(":")[:2] == [f"{first}/bin", f"{last}/bin"], result
            assert "/usr/bin" in words[4].split(":")


def test_a_tree_without_bin_is_itself_on_path(tree):
    shutil.rmtree(tree / "bin")
    program(tree / "tool", "flat")
    result = box.run(argv=["tool"], toolchains=[tree])
    assert result.stdout == f"flat {tree}/tool\n", result


def test_a_tree_below_usr_needs_no_mount_but_comes_first():
    with planted("/usr/local") as tree:
        result = box.run("x", language="python", toolchains=[tree])
        assert result.stdout == f"fake {tree}/bin/python3\n", result


def test_links_that_lead_outside_lead_nowhere(tree):
    os.symlink("/etc/shadow", tree / "lib" / "shadow")
    os.symlink(f"{Path.home()}", tree / "lib" / "home")
    os.symlink("data", tree / "lib" / "inside")
    result = box.run(f"cat {tree}/lib/shadow {tree}/lib/home/.bashrc; cat {tree}/lib/inside",
                     language="sh", toolchains=[tree])
    assert result.stdout == "data of the tree\n", result


def test_setuid_programs_and_devices_in_it_are_powerless(tree):
    tool = shutil.copy("/usr/bin/id", tree / "bin" / "id2")
    os.chmod(tool, 0o4755)
    os.mknod(tree / "lib" / "null", 0o666 | 0o020000, os.makedev(1, 3))
    os.chmod(tree / "lib" / "null", 0o666)
    result = box.run(f"id2 -u; echo x >{tree}/lib/null && echo DEVICE", language="sh", toolchains=[tree])
    assert result.stdout == "1000\n", result


# ---- what is not --------------------------------------------------------------------------------

def test_files_that_only_their_owner_may_read_stay_unreadable(tree, host_user):
    """No id mapping: root's 0600 file is nobody's in the box."""
    secret = tree / "lib" / "secret"
    secret.write_text("secret word\n")
    secret.chmod(0o600)
    if host_user is not None:
        os.chown(secret, host_user.uid, host_user.gid)
    result = box.run(f"cat {secret}", language="sh", toolchains=[tree], as_user=host_user)
    assert (result.verdict, result.stdout) == ("nonzero", ""), result
    assert "Permission denied" in result.stderr


@pytest.mark.parametrize("name", SECRETS)
def test_known_credential_files_are_masked(tree, name):
    """Also when their owner made them readable by everybody."""
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("token = abcdef\n")
    result = box.run(f"cat {path}; grep -r abcdef {tree}; find {tree} -type f | xargs cat", language="sh",
                     toolchains=[tree])
    assert "abcdef" not in result.stdout + result.stderr, result
    assert "data of the tree" in result.stdout, result


def test_an_unreadable_tree_is_an_error_that_names_the_directory(tree):
    (tree / "private").mkdir(mode=0o700)
    for named, mode in ((tree / "private", None), (tree, 0o700)):
        if mode:
            tree.chmod(mode)
        result = box.run("echo started", language="sh", toolchains=[tree], as_json=False)
        assert result.returncode == 2 and result.out == b"", result
        text = result.err.decode()
        assert str(named) in text and f"chmod o+rX '{named}'" in text, result
        assert len(text.splitlines()) <= 2
        told = box.run("echo started", language="sh", toolchains=[tree])
        assert str(named) in told.error["message"] and told.verdict == "sandbox_error", told
        assert told.error["remedy"] == f"chmod o+rX '{named}'", told


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o744])
@pytest.mark.parametrize("where", ["bin", ".", "link"])
def test_a_program_that_only_its_owner_can_start_is_an_error_that_names_it(tree, where, mode):
    """In the box it would be found on PATH and be "permission denied"."""
    if where == ".":
        shutil.rmtree(tree / "bin")
    shut = program(tree / ("lib" if where == "link" else where) / "tool", "tool")
    shut.chmod(mode)
    if where == "link":
        shut = tree / "bin" / "tool"
        shut.symlink_to("../lib/tool")
    result = box.run("echo started", language="sh", toolchains=[tree])
    shown = tree / "tool" if where == "." else shut
    assert (result.returncode, result.verdict) == (2, "sandbox_error"), result
    assert str(shown) in result.error["message"] and result.error["remedy"] == f"chmod o+rX '{shown}'", result
    shown.chmod(shown.stat().st_mode | 0o005)
    assert box.run("tool", language="sh", toolchains=[tree]).stdout.startswith("tool ")


def test_what_lies_deeper_and_is_closed_is_shown_closed(tree, host_user):
    """Not looked for: a tree has thousands of directories.  The rest of it works, and nothing opens."""
    deep = tree / "lib" / "private"
    deep.mkdir(mode=0o700)
    (deep / "secret").write_text("abcdef")
    (tree / "lib" / "notes").write_text("abcdef")
    (tree / "lib" / "notes").chmod(0o600)
    result = box.run(f"python3; cat {tree}/lib/data {tree}/lib/notes {deep}/secret", language="sh", toolchains=[tree],
                     as_user=host_user)
    assert "data of the tree" in result.stdout and "abcdef" not in result.stdout, result
    assert result.stderr.count("Permission denied") == 2, result


@pytest.mark.parametrize("path, part", [
    ("/opt/glovebox-test-missing", "missing"), ("relative/tree", "relative/tree"), ("/opt/../etc", "/opt/../etc"),
    ("/", "'/'"), ("/etc", "/etc"), ("/proc", "/proc"), ("/proc/1", "/proc"), ("/dev/shm", "/dev"),
    ("/sys", "/sys"), ("/tmp", "/tmp"), ("/run", "/run"), ("/var", "/var"), ("/workspace", "/workspace"),
    ("/home/box", "/home/box"), ("/etc/passwd", "/etc"), ("", ""),
])
def test_trees_that_cannot_be_shown_are_refused(path, part):
    result = box.run("echo started", language="sh", toolchains=[path], as_json=False)
    assert result.returncode == 2 and result.out == b"", result
    assert result.err.startswith(b"glovebox: ") and part in result.err.decode(), result


@pytest.mark.parametrize("path", ["/opt/glovebox-test-missing", "/usr/bin/env/below-a-file"])
@pytest.mark.parametrize("where", ["option", "environment", "file"])
def test_a_tree_that_is_not_there_is_a_mistake_of_who_named_it(place, where, path):
    """Wherever it was written; so is one that is a file, or closed."""
    request = {"toolchains": [path] if where == "option" else [],
               "host_env": {"GLOVEBOX_TOOLCHAINS": path} if where == "environment" else None}
    if where == "file":
        conf = place.home / ".config" / "glovebox"
        conf.mkdir(parents=True)
        (conf / "config.yaml").write_text(f"host:\n  toolchains:\n    - {path}\n")
    plain = box.run("echo started", language="sh", as_json=False, **request)
    assert (plain.returncode, plain.out) == (2, b""), plain
    text = plain.err.decode()
    assert text.startswith("glovebox: toolchain ") and f"'{path}'" in text and len(text.splitlines()) == 1
    told = box.run("echo started", language="sh", **request)
    assert (told.returncode, told.verdict, told.receipt) == (2, "sandbox_error", None), told
    assert path in told.error["message"] and told.error["wall"] is None, told


def test_a_file_is_no_tree(tree):
    result = box.run("echo started", language="sh", toolchains=[tree / "lib" / "data"], as_json=False)
    assert result.returncode == 2 and b"not a directory" in result.err, result
    told = box.run("echo started", language="sh", toolchains=[tree / "lib" / "data"])
    assert (told.returncode, told.verdict) == (2, "sandbox_error") and told.error["message"], told


def test_nothing_of_a_home_is_visible(ordinary_user, host_user):
    home = Path(ordinary_user.home)
    secret = home / "secret.txt"
    secret.write_text("secret of the home")
    secret.chmod(0o644)
    try:
        code = f"cat {secret} /root/.bashrc /home/*/.bashrc; ls -A /root /home {home}; " \
               f"find / -xdev -name secret.txt 2>/dev/null"
        result = box.run(code, language="sh", as_user=host_user, host_env={"HOME": str(home)})
        assert "secret" not in result.stdout, result
        assert [line for line in result.stdout.split() if line != "/home:"] == ["box"], result
    finally:
        secret.unlink()


# ---- by configuration ---------------------------------------------------------------------------

def test_by_environment_and_by_the_users_file(tree, place):
    wanted = f"fake {tree}/bin/python3\n"
    result = box.run("x", language="python", host_env={"GLOVEBOX_TOOLCHAINS": str(tree)})
    assert result.stdout == wanted, result
    conf = place.home / ".config" / "glovebox"
    conf.mkdir(parents=True)
    (conf / "config.yaml").write_text(f"host:\n  toolchains:\n    - {tree}\n")
    result = box.run("x", language="python")
    assert result.stdout == wanted, result


def test_the_option_adds_to_the_configuration_and_comes_first(tree):
    with planted("/srv") as second:
        result = box.run("echo $PATH", language="sh", toolchains=[second],
                         host_env={"GLOVEBOX_TOOLCHAINS": str(tree)})
        assert result.stdout.split(":")[:2] == [f"{second}/bin", f"{tree}/bin"], result


def test_a_project_file_cannot_show_anything(tree, place):
    (place.cwd / "glovebox.yaml").write_text(f"host:\n  toolchains: [{tree}]\n")
    result = box.run("echo started", language="sh", as_json=False)
    assert result.returncode == 2 and result.out == b"", result
    assert b"host.toolchains" in result.err and b"glovebox.yaml" in result.err, result


@pytest.mark.parametrize("mode", [0o700, 0o750])
def test_a_tree_in_a_home_that_is_closed_to_others(ordinary_user, mode):
    """The tree is for everybody to read, the way to it is not: whoever may walk it can show the tree."""
    with planted("/srv") as home:
        tree = home / "tools"
        tree.mkdir()
        (home / "bin").rename(tree / "bin")
        (home / "secret").write_text("secret\n")
        for path in (home, home / "secret", tree, tree / "bin", tree / "bin" / "python3"):
            os.chown(path, ordinary_user.uid, ordinary_user.gid)
        home.chmod(mode)
        result = box.run("x", language="python", toolchains=[tree], as_user=ordinary_user)
        assert result.stdout == f"fake {tree}/bin/python3\n", result
        result = box.run(f"ls -A {home}; cat {home}/secret", language="sh", toolchains=[tree],
                         as_user=ordinary_user)
        assert result.stdout == "tools\n", result
        tree.chmod(0o700)
        refused = box.run("x", language="python", toolchains=[tree], as_user=ordinary_user)
        assert refused.returncode == 2 and str(tree) in refused.error["message"], refused


# ---- doctor -------------------------------------------------------------------------------------

def doctor(*words, path=None, **request):
    env = {"PATH": path} if path else None
    return box.run_words([str(places.binary()), "doctor", *words], host_env=env, **request)


def test_doctor_tells_of_another_interpreter_on_path(tree):
    path = f"{tree}/bin:/usr/bin:/bin"
    text = doctor(path=path).out.decode()
    assert f"your PATH has another one: {tree}/bin/python3" in text
    assert f"--toolchain {tree}\n" in text
    found = {p["name"]: p for p in json.loads(doctor("--json", path=path).out)["programs"]}
    assert found["python3"]["in_box"] == "/usr/bin/python3"
    assert found["python3"]["on_path"] == f"{tree}/bin/python3"
    assert f"--toolchain {tree}" in found["python3"]["remedy"]


def test_doctors_advice_works(tree):
    path = f"{tree}/bin:/usr/bin:/bin"
    found = {p["name"]: p for p in json.loads(doctor("--json", path=path).out)["programs"]}
    words = found["python3"]["remedy"].split()
    folder = words[words.index("--toolchain") + 1]
    assert box.run("x", language="python", toolchains=[folder]).stdout.startswith("fake ")
    mended = json.loads(doctor("--json", "--toolchain", folder, path=path).out)["programs"]
    found = {p["name"]: p for p in mended}
    assert found["python3"]["in_box"] == f"{tree}/bin/python3" and not found["python3"]["remedy"]


def test_doctor_follows_links_into_the_tree(tree):
    """~/.local/bin/python3 → ~/.pyenv/versions/3.12/bin/python3: the tree is where it really lies."""
    with planted("/srv") as links:
        (links / "bin" / "python3").unlink()
        os.symlink(tree / "bin" / "python3", links / "bin" / "python3")
        text = doctor(path=f"{links}/bin:/usr/bin:/bin").out.decode()
        assert f"your PATH has another one: {links}/bin/python3" in text
        assert f"--toolchain {tree}\n" in text


STAND_INS = [
    (".pyenv/shims", ".pyenv/versions/3.{}.1/bin", "python3"),
    (".rbenv/shims", ".rbenv/versions/3.{}.1/bin", "ruby"),
    (".nodenv/shims", ".nodenv/versions/2{}.1.0/bin", "node"),
    (".asdf/shims", ".asdf/installs/nodejs/2{}.1.0/bin", "node"),
    (".local/share/mise/shims", ".local/share/mise/installs/python/3.{}/bin", "python3"),
    (".cargo/bin", ".rustup/toolchains/1.{}-x86_64-unknown-linux-gnu/bin", "rustc"),
]


@pytest.mark.parametrize("shims, real, name", STAND_INS, ids=[row[0] for row in STAND_INS])
def test_doctor_looks_behind_stand_ins(tree, shims, real, name):
    """The newest version is meant, as numbers go: 12 is more than 9."""
    (tree / shims).mkdir(parents=True)
    program(tree / shims / name, "stand-in")
    for version in (9, 12, 2):
        (tree / real.format(version)).mkdir(parents=True)
        program(tree / real.format(version) / name, f"version-{version}")
    newest = (tree / real.format(12)).parent
    path = f"{tree}/{shims}:/usr/bin:/bin"
    found = {p["name"]: p for p in json.loads(doctor("--json", path=path).out)["programs"]}[name]
    assert found["on_path"] == f"{tree}/{shims}/{name}", found
    assert found["remedy"] == f"to use it: --toolchain {newest}", found
    assert box.run(argv=[name], toolchains=[newest]).stdout.startswith("version-12 "), newest


def test_doctor_knows_nothing_behind_a_stand_in_without_versions(tree):
    (tree / ".pyenv" / "shims").mkdir(parents=True)
    program(tree / ".pyenv" / "shims" / "python3", "stand-in")
    found = json.loads(doctor("--json", path=f"{tree}/.pyenv/shims:/usr/bin").out)["programs"][0]
    assert found["name"] == "python3" and found["in_box"] == "/usr/bin/python3", found


def test_doctor_tells_of_a_program_that_only_path_has(tree):
    program(tree / "bin" / "Rscript", "r")
    found = {p["name"]: p for p in
             json.loads(doctor("--json", path=f"{tree}/bin:/usr/bin").out)["programs"]}
    assert found["Rscript"]["on_path"] == f"{tree}/bin/Rscript"
    assert str(tree) in found["Rscript"]["remedy"] or found["Rscript"]["in_box"]


def test_doctor_has_nothing_to_say_of_what_is_the_same():
    found = json.loads(doctor("--json", path="/usr/bin:/bin").out)["programs"]
    for one in found:
        if one["in_box"] and one["in_box"].startswith("/usr/bin"):
            assert not one["remedy"], one
