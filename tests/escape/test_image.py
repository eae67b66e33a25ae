# SPDX-License-Identifier: Apache-2.0
"""C06 for image `host`: trees of the host that are not what they should be, and what a box shows of
the machine's own /etc."""
import os
import shutil
import socket
import stat

import pytest

import sheet as sheets
from lib import box


@pytest.fixture
def tree():
    """A toolchain: DIR/bin/tool, readable by all."""
    folder = sheets.private_folder(below="/srv")
    try:
        (folder / "bin").mkdir()
        tool = folder / "bin" / "tool"
        tool.write_text("#!/bin/sh\necho tool works\n")
        tool.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


def listing(folder):
    """Every name below with its type and owner: nothing may be made or changed."""
    found = []
    for base, names, files in os.walk(folder):
        for name in names + files:
            info = os.lstat(os.path.join(base, name))
            found.append((os.path.join(base, name), info.st_mode, info.st_uid, info.st_size))
    return sorted(found)


def test_a_plain_toolchain_works_and_cannot_be_written(tree, host_user):
    before = listing(tree)
    code = f"tool; touch {tree}/bin/new {tree}/new; rm {tree}/bin/tool; chmod 777 {tree}"
    result = box.run(code, language="sh", toolchains=[tree], as_user=host_user)
    assert result.stdout == "tool works\n", result
    assert listing(tree) == before


def test_links_in_a_toolchain_lead_nowhere_else(tree, canaries):
    for name, target in (("shadow", "/etc/shadow"), ("root", "/root"), ("up", "../../../.."),
                         ("secret", str(canaries.base / "secret")), ("open", str(canaries.base)),
                         ("proc", "/proc/1/root"), ("opt", "/opt"), ("fd", "/proc/self/fd/5")):
        (tree / name).symlink_to(target)
    code = (f"cd {tree}; for name in *; do cat $name; ls $name; cat $name/shadow $name/secret "
            "$name/readable $name/../var/tmp/*/readable; done; ls -l up/root up/home up/var; tool")
    result = box.run(code, language="sh", toolchains=[tree])
    assert result.stdout.endswith("tool works\n"), result
    assert canaries.found_in(result.out, result.err) == []
    assert "root:" not in result.stdout and "canary" not in result.stdout, result


@pytest.mark.parametrize("target", ["/", "/proc", "/sys", "/dev", "/etc", "/tmp", "/workspace",
                                    "/usr", "/usr/bin", "/run", "/proc/self/root", "/proc/self/cwd",
                                    "/dev/shm", "/home", "/root", "/var", "/boot"])
def test_a_toolchain_that_is_a_part_of_the_system_is_refused_or_harmless(target, canaries):
    """An operator's slip must not show the box the host's own /etc, /dev or /proc."""
    result = box.run("cat /etc/shadow /etc/canary-* /root/canary-* /var/tmp/*/secret; ls -l /dev; "
                     "cat /proc/1/environ; id -u; touch /etc/x /usr/x",
                     language="sh", toolchains=[target], timeout=10, host_env=canaries.environment)
    assert not result.hung
    names = [name for name in canaries.found_in(result.out, result.err) if name != "opt"]
    # A home or /var that others may read is what the operator asked for.
    allowed = {"/root": {"root"}, "/var": {"readable"}}
    assert not set(names) - allowed.get(target, set()), (names, result)
    if result.returncode in (2, 125):
        assert result.verdict in (None, "sandbox_error"), result
        return
    assert "vda" not in result.stdout and not os.path.exists("/etc/x"), result


def test_a_toolchain_that_is_no_directory_is_refused(tree, place):
    fifo, plain, sock = tree / "fifo", tree / "plain", tree / "sock"
    os.mkfifo(fifo)
    plain.write_text("x")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(sock))
        for path in (fifo, plain, sock, "/dev/null", tree / "absent", "relative", "",
                     f"{tree}/../{tree.name}", f"{tree}/bin/..", "a\nb", "/" + "x" * 5000):
            result = box.run("echo started", language="sh", toolchains=[path], timeout=10)
            assert result.returncode in (2, 125) and not result.hung, (path, result)
            assert result.verdict in (None, "sandbox_error"), (path, result)
            assert b"started" not in result.out.replace(b"echo started", b""), (path, result)


def test_a_toolchain_through_a_link_shows_only_what_it_leads_to(tree, place, canaries):
    """The tree itself may be a link (nvm, rustup): what is shown lies where it was named, or it is
    refused; a link to a secret place shows nothing secret."""
    link = place.base / "link"
    link.symlink_to(tree)
    result = box.run("tool", language="sh", toolchains=[link])
    assert result.stdout == "tool works\n" or result.returncode in (2, 125), result
    link.unlink()
    link.symlink_to(canaries.base)
    result = box.run(f"cat {link}/secret {canaries.base}/secret", language="sh", toolchains=[link])
    assert "file" not in canaries.found_in(result.out, result.err)


def test_a_closed_tree_is_an_error_that_names_it(tree):
    (tree / "private").mkdir(mode=0o700)
    (tree / "private" / "bin").mkdir()
    result = box.run("true", language="sh", toolchains=[tree / "private"])
    assert result.returncode in (2, 125) and b"private" in result.err + result.out, result


def test_files_of_a_toolchain_keep_their_walls(tree, canaries):
    """0600 files of the operator stay shut: no id of the operator's is mapped."""
    secret = tree / "token"
    secret.write_text(canaries.token("toolchain"))
    secret.chmod(0o600)
    nobody = tree / "nobody"
    nobody.write_text(canaries.token("toolchain-nobody"))
    os.chown(nobody, 65534, 65534)
    nobody.chmod(0o600)
    theirs = tree / "theirs"
    theirs.write_text(canaries.token("toolchain-1000"))
    os.chown(theirs, 1000, 1000)
    theirs.chmod(0o600)
    result = box.run(f"cat {tree}/token {tree}/nobody {tree}/theirs; ls -ln {tree}", language="sh",
                     toolchains=[tree])
    assert " theirs\n" in result.stdout, result
    assert canaries.found_in(result.out, result.err) == [], result


@pytest.mark.parametrize("name", [".netrc", ".npmrc", ".pypirc", ".git-credentials",
                                  ".cargo/credentials.toml", ".docker/config.json", ".aws/credentials",
                                  ".ssh/id_ed25519", "pip.conf"])
def test_known_credential_files_are_covered(tree, canaries, name):
    path = tree / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(canaries.token("credential"))
    path.chmod(0o644)
    result = box.run(f"cat {path}; tool", language="sh", toolchains=[tree])
    assert result.stdout == "tool works\n", result
    assert canaries.found_in(result.out, result.err) == [], result


def test_C21_privileged_programs_of_a_toolchain_give_nothing(tree, probe):
    """setuid, setgid and file capabilities, as a host may have them lying about."""
    programs = []
    for name, mode in (("suid", 0o4755), ("sgid", 0o2755), ("both", 0o6755), ("caps", 0o755)):
        path = tree / "bin" / name
        shutil.copy(probe, path)
        path.chmod(mode)
        programs.append(str(path))
    os.setxattr(tree / "bin" / "caps", "security.capability",
                bytes([1, 0, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 1, 0, 0, 0, 0, 0, 0]))
    assert os.lstat(tree / "bin" / "suid").st_mode & stat.S_ISUID
    result, answers = sheets.ask(probe, "C21=" + ",".join(programs), toolchains=[tree])
    sheets.require(result, answers, "C21")
    given = [line for line in answers.of("C21", "BLOCKED") if line.variant.startswith("given-")]
    assert [line.detail for line in given] == ["exit-0"] * 4, given


def test_only_named_files_of_etc_are_shown(host_user):
    """Everything in /etc of a box is on the list of the design, or made for pip."""
    allowed = ("alternatives java maven ssl ca-certificates python3 perl php R lua fonts groff "
               "terminfo ld.so localtime locale.alias mime.types protocols services passwd group "
               "hosts hostname resolv.conf nsswitch.conf machine-id mtab pip.conf").split()
    result = box.run("ls -A /etc /etc/ssl; cat /etc/hostname /etc/machine-id /etc/passwd",
                     language="sh", as_user=host_user)
    assert result.verdict == "ok", result
    names = result.stdout.split("/etc:\n")[1].split("\n\n")[0].split()
    odd = [name for name in names if not any(name.startswith(word) for word in allowed)]
    assert odd == []
    assert sorted(result.stdout.split("/etc/ssl:\n")[1].split("\n")[:2]) == ["certs", "openssl.cnf"]
    with open("/etc/machine-id", encoding="ascii") as own:
        assert own.read().strip() not in result.stdout
    assert socket.gethostname() not in result.stdout
