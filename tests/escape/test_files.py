# SPDX-License-Identifier: Apache-2.0
"""Files that go in and come out: --file, --out, --workspace (C28, C29, C30, and C10's nodes).

Whatever the box did to its files, the host reads and writes only what the caller named.
"""
import os
import shutil
import socket
import stat
import subprocess

import pytest

from lib import box

SECONDS = 30


def tree(folder):
    """name -> type of everything below a directory of the host."""
    found = {}
    for base, names, files in os.walk(folder):
        for name in names + files:
            path = os.path.join(base, name)
            found[os.path.relpath(path, folder)] = stat.S_IFMT(os.lstat(path).st_mode)
    return found


def only_plain(folder):
    """Nothing but files and directories, none of them setuid, none with a second name."""
    for base, names, files in os.walk(folder):
        for name in names + files:
            path = os.path.join(base, name)
            info = os.lstat(path)
            assert stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode), path
            assert not info.st_mode & 0o7000, (path, oct(info.st_mode))
            assert stat.S_ISDIR(info.st_mode) or info.st_nlink == 1, path


def hand_over(place, user):
    """Everything of the test is the user's who starts glovebox, so that only glovebox keeps it safe."""
    if user is not None:
        place.give_to(user)


def remove(folder):
    """The standard library's rmtree needs a descriptor and a frame for every level."""
    subprocess.run(["rm", "-rf", str(folder)], check=True)


# ---- C28: one file in, one file out ----------------------------------------------------------------

@pytest.mark.parametrize("target", [
    "../x", "/../x", "a/../../x", "/proc/1/root/tmp/x", "/proc/self/root/x", "/proc/self/fd/1",
    "/dev/null", "/dev/x", "/etc/passwd", "/etc/x", "/usr/bin/x", "/x", "/proc/sys/kernel/hostname",
    "/sys/x", "/proc/1/environ", "", ".", "..", "a/", "//", "a//b", "/root/x", "/run/../etc/x",
])
def test_C28_a_file_goes_where_the_run_user_may_write_or_nowhere(place, target, host_user):
    """Refused, or written with the rights of the run user, never with those of PID 1."""
    source = place.cwd / "source"
    source.write_text("PLANTED")
    result = box.run("cat /etc/passwd /proc/sys/kernel/hostname; ls -l /etc/x /usr/bin/x /x /dev/x",
                     language="sh", files=[(source, target)], timeout=SECONDS, as_user=host_user)
    assert not result.hung
    assert result.returncode in (2, 125) or result.verdict in ("ok", "nonzero"), result
    assert "PLANTED" not in (result.stdout or ""), result
    assert "-rw" not in (result.stdout or "").replace("ls:", ""), result


@pytest.mark.parametrize("name", ["a b", "-rf", "a'b\"c", "$(id)", "a;b", "*", "a\\b", "ü", "\u2028"])
def test_C28_odd_names_are_just_names(place, name, host_user):
    source = place.cwd / "source"
    source.write_text("content of it")
    result = box.run("cd d; for f in *; do cat -- \"$f\"; done", language="sh",
                     files=[(source, f"d/{name}")], timeout=SECONDS, as_user=host_user)
    assert result.stdout == "content of it", result


MAKE_OUT = {
    "link to the boxs own passwd": "ln -s /etc/passwd out",
    "link to what the host has": "ln -s /etc/shadow out",
    "link to a canary": "ln -s {secret} out",
    "link through PID 1": "ln -s /proc/1/root{secret} out",
    "link to PID 1s environment": "ln -s /proc/1/environ out",
    "link to memory": "ln -s /proc/self/mem out",
    "chain of links": "ln -s /etc a; ln -s a/hostname b; ln -s b out",
    "loop of links": "ln -s out out",
    "directory": "mkdir out; echo x > out/file",
    "fifo": "mkfifo out",
    "fifo with a writer": "mkfifo out; (setsid sh -c 'while :; do echo x > out; done' &)",
    "socket": "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"out\")'",
    "device link": "ln -s /dev/zero out",
    "terminal link": "ln -s /dev/ptmx out",
    "nothing": "true",
    "unreadable": "echo x > out; chmod 0 out",
}


@pytest.mark.parametrize("how", MAKE_OUT)
def test_C28_what_is_no_plain_file_does_not_come_out(place, canaries, how, host_user):
    target = place.cwd / "result"
    code = MAKE_OUT[how].format(secret=canaries.base / "readable")
    result = box.run(code, language="sh", out=[("out", target)], timeout=SECONDS,
                     host_env=canaries.environment, as_user=host_user)
    assert not result.hung, result
    assert canaries.found_in(result.out, result.err) == []
    if target.exists():
        assert how == "unreadable" and target.read_text() == "x\n", (how, target.read_bytes()[:200])
    else:
        # Said, not silently left out.
        assert result.error and "out" in result.error["message"], result


@pytest.mark.parametrize("path", [
    "/proc/1/environ", "/proc/self/environ", "/proc/1/root/etc/shadow", "/dev/zero", "/dev/full",
    "/proc/kmsg", "/proc/kcore", "/dev/ptmx", "/dev/tty", "/proc/self/mem", "/proc/1/mem",
    "/etc/shadow", "/proc/self/fd/1", "/proc/1/fd/3", "../../etc/passwd", "/proc/self/exe",
    "/proc/1/exe", "/dev/fd/0", "/proc/self/pagemap",
])
def test_C28_out_reads_with_the_run_users_rights(place, canaries, path, host_user):
    target = place.cwd / "result"
    result = box.run("true", language="sh", out=[(path, target)], timeout=SECONDS,
                     host_env=canaries.environment, as_user=host_user)
    assert not result.hung, result
    taken = target.read_bytes() if target.exists() else b""
    assert canaries.found_in(result.out, result.err, taken) == []
    assert b"glovebox" not in taken and len(taken) < 1 << 20, taken[:200]


def test_C28_a_huge_sparse_file_is_capped(place, host_user):
    """A terabyte of nothing: refused for its size, or for the disk's; the host's disk stays."""
    target = place.cwd / "result"
    result = box.run("truncate -s 1T out; truncate -s 200M small; ls -l", language="sh",
                     out=[("out", target)], disk="64m", timeout=SECONDS, as_user=host_user)
    assert not result.hung, result
    assert not target.exists() or target.stat().st_size <= 64 << 20
    # Of this test alone: others fill the same disk at the same time.
    taken = subprocess.run(["du", "-s", "--block-size=1", place.base], check=True, capture_output=True, text=True)
    assert int(taken.stdout.split()[0]) < 256 << 20, taken


def test_C28_names_with_control_bytes_are_safe_to_report(place, host_user):
    folder = place.cwd / "ws"
    folder.mkdir()
    code = "printf x > \"$(printf 'a\\033[31mb\\nc')\"; printf y > \"$(printf 'bad\\377name')\"; echo z > ok"
    hand_over(place, host_user)
    result = box.run(code, language="sh", workspace=folder, timeout=SECONDS, as_user=host_user)
    assert result.verdict == "ok" and result.document is not None, result
    assert b"\x1b" not in result.out and b"\xff" not in result.out
    assert (folder / "ok").read_text() == "z\n"
    only_plain(folder)


# ---- C10, C30: what the host's directory carries in ------------------------------------------------

def test_C30_links_in_the_workspace_are_not_followed_on_the_way_in(place, canaries, host_user):
    """A cloned repository may hold a link to the caller's own secrets."""
    folder = place.cwd / "ws"
    folder.mkdir()
    (folder / "plain").write_text("plain")
    (folder / "secret").symlink_to(canaries.base / "secret")
    (folder / "readable").symlink_to(canaries.base / "readable")
    (folder / "dir").symlink_to(canaries.base)
    (folder / "etc").symlink_to("/etc")
    (folder / "up").symlink_to("../../../../..")
    (folder / "dangling").symlink_to("/nonexistent")
    code = "cat plain; cat secret readable dir/* etc/shadow up/etc/shadow dir/readable; ls -lR"
    hand_over(place, host_user)
    result = box.run(code, language="sh", workspace=folder, timeout=SECONDS, as_user=host_user)
    assert (result.stdout or "").startswith("plain") or result.returncode == 125, result
    assert canaries.found_in(result.out, result.err) == []
    assert "root:" not in (result.stdout or "")


def test_C10_nodes_and_pipes_in_the_workspace_do_not_get_in(place, host_user):
    folder = place.cwd / "ws"
    folder.mkdir()
    os.mknod(folder / "mem", stat.S_IFCHR | 0o666, os.makedev(1, 1))
    os.mknod(folder / "disk", stat.S_IFBLK | 0o666, os.makedev(254, 0))
    os.mkfifo(folder / "fifo")
    (folder / "plain").write_text("plain")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "sock"))
        hand_over(place, host_user)
        result = box.run("cat plain; find . -type c -o -type b -o -type p -o -type s",
                         language="sh", workspace=folder, timeout=SECONDS, as_user=host_user)
    assert not result.hung
    assert result.returncode in (2, 125) or result.stdout == "plain", result
    left = tree(folder)
    assert left["mem"] == stat.S_IFCHR and left["fifo"] == stat.S_IFIFO


def test_C30_a_deep_workspace_and_one_with_many_files_end_in_time(place, host_user):
    folder = place.cwd / "ws"
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(600):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    hand_over(place, host_user)
    result = box.run("echo started", language="sh", workspace=folder, timeout=SECONDS, as_user=host_user)
    assert not result.hung and result.returncode in (0, 2, 125), result
    remove(folder)


# ---- C29: the box fights the way out ---------------------------------------------------------------

def outside(place, canaries):
    """Where a planted link would lead the host's writes."""
    elsewhere = place.base / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("precious")
    return elsewhere


PLANT = {
    "file becomes link": "rm f; ln -s {elsewhere}/precious f",
    "directory becomes link": "rm -r d; ln -s {elsewhere} d; echo EVIL > d/precious",
    "new link": "ln -s {elsewhere}/precious new; ln -s {elsewhere} newdir",
    "relative link": "ln -s ../../elsewhere/precious new",
    "directory for file": "rm f; mkdir f; echo EVIL > f/x",
    "file for directory": "rm -r d; echo EVIL > d",
    "hard links": "echo EVIL > new; ln new new2; ln new new3",
    "fifo for file": "rm f; mkfifo f",
    "setuid": "echo EVIL > new; chmod 6777 new; chmod 7777 d",
    "sockets": "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'",
    "unreadable": "mkdir shut; echo x > shut/x; chmod 0 shut; echo y > y; chmod 0 y",
    "dots": "mkdir ...; echo x > .../x; echo y > '..x'; mkdir -p '. ./x'",
    "git": "mkdir .git; echo EVIL > .git/config",
    "sparse": "truncate -s 100M big",
}


@pytest.mark.parametrize("how", PLANT)
def test_C29_what_the_box_plants_in_the_workspace_leads_nowhere(place, canaries, how, host_user):
    folder, elsewhere = place.cwd / "ws", outside(place, canaries)
    (folder / "d").mkdir(parents=True)
    (folder / "f").write_text("f")
    (folder / "d" / "precious").write_text("inner")
    hand_over(place, host_user)
    code = PLANT[how].format(elsewhere=elsewhere)
    result = box.run(code, language="sh", workspace=folder, timeout=SECONDS, as_user=host_user)
    assert not result.hung, result
    assert (elsewhere / "precious").read_text() == "precious"
    assert os.listdir(elsewhere) == ["precious"]
    only_plain(folder)


def test_C29_links_of_the_host_in_its_own_workspace_are_not_written_through(place, canaries, host_user):
    """The caller's directory has a link to somewhere else; the box writes below that name."""
    folder, elsewhere = place.cwd / "ws", outside(place, canaries)
    folder.mkdir()
    (folder / "linked").symlink_to(elsewhere)
    (folder / "file").symlink_to(elsewhere / "precious")
    code = "rm -rf linked file; mkdir linked; echo EVIL > linked/precious; echo EVIL > linked/new; " \
           "echo EVIL > file"
    hand_over(place, host_user)
    result = box.run(code, language="sh", workspace=folder, timeout=SECONDS, as_user=host_user)
    assert not result.hung, result
    assert (elsewhere / "precious").read_text() == "precious"
    assert os.listdir(elsewhere) == ["precious"]


SWAP = """
import os, sys
for n in range(8):
    if os.fork() == 0:
        os.setsid()
        k = 0
        while True:
            k += 1
            for make in (lambda: os.symlink("/etc/passwd", f"t{n}"),
                         lambda: open(f"t{n}", "w").write("plain"),
                         lambda: os.mkdir(f"t{n}"),
                         lambda: os.symlink("{secret}", f"t{n}"),
                         lambda: os.mkfifo(f"t{n}")):
                try:
                    make()
                    os.rename(f"t{n}", f"f{n}")
                except OSError:
                    for remove in (os.unlink, os.rmdir):
                        for name in (f"t{n}", f"f{n}"):
                            try:
                                remove(name)
                            except OSError:
                                pass
print("ready")
"""


def test_C29_files_that_change_while_they_are_taken(place, canaries):
    """Eight daemons swap files, links, directories and pipes for ever; the program itself ends."""
    for _ in range(3):
        folder = place.cwd / "ws"
        folder.mkdir()
        code = SWAP.replace("{secret}", str(canaries.base / "readable"))
        result = box.run(code, language="python", workspace=folder, timeout=SECONDS,
                         out=[("f0", place.cwd / "f0")], host_env=canaries.environment)
        assert not result.hung and result.survivors in (0, None), result
        only_plain(folder)
        for path in folder.rglob("*"):
            if path.is_file():
                assert path.read_text() in ("plain", ""), path
        assert canaries.found_in(result.out, result.err) == []
        shutil.rmtree(folder)
        (place.cwd / "f0").unlink(missing_ok=True)


def test_C29_too_many_or_too_deep_files_end_with_an_answer(place):
    folder = place.cwd / "ws"
    folder.mkdir()
    code = ("import os\n"
            "for n in range(20000):\n"
            "    try: open(f'file{n}', 'w').close()\n"
            "    except OSError: break\n"
            "for n in range(1000):\n"
            "    try:\n"
            "        os.mkdir('d'); os.chdir('d')\n"
            "    except OSError: break\n")
    result = box.run(code, language="python", workspace=folder, timeout=SECONDS)
    assert not result.hung and result.document is not None or result.returncode == 125, result
    only_plain(folder)
    remove(folder)


# ---- C30: the host's own names ---------------------------------------------------------------------

def test_C30_out_does_not_write_through_a_link(place, canaries, host_user):
    """An earlier run may have left it in a directory that is exported again and again."""
    elsewhere = outside(place, canaries)
    (place.cwd / "result").symlink_to(elsewhere / "precious")
    hand_over(place, host_user)
    result = box.run("echo EVIL > out", language="sh", out=[("out", place.cwd / "result")],
                     timeout=SECONDS, as_user=host_user)
    assert not result.hung
    assert (elsewhere / "precious").read_text() == "precious", result


def test_C30_out_into_a_pipe_or_a_directory_does_not_hang(place, host_user):
    os.mkfifo(place.cwd / "pipe")
    (place.cwd / "folder").mkdir()
    hand_over(place, host_user)
    for name in ("pipe", "folder"):
        result = box.run("echo x > out", language="sh", out=[("out", place.cwd / name)],
                         timeout=SECONDS, outer=40, as_user=host_user)
        assert not result.hung and result.returncode != 0, result
    assert stat.S_ISFIFO(os.lstat(place.cwd / "pipe").st_mode)
    assert os.listdir(place.cwd / "folder") == []


def test_C30_a_step_cannot_be_tricked_by_what_an_earlier_step_left(place):
    """The compile step replaces its own result: a link, a pipe, a directory instead of a program."""
    for name, plant in (("link", 'ln -sf /etc/passwd "$last"'), ("pipe", 'mkfifo "$last"'),
                        ("directory", 'mkdir "$last"'), ("text", 'echo x > "$last"'),
                        ("self", 'ln -sf /proc/self/exe "$last"')):
        wrapper = place.cwd / name
        wrapper.write_text("#!/bin/sh\nfor word; do [ \"$prev\" = -o ] && last=$word; prev=$word; "
                           f"done\nrm -rf \"$last\"; {plant}; exit 0\n")
        wrapper.chmod(0o755)
        result = box.run("int main(void) { return 0; }", language="c", timeout=3,
                         env={"COMPILER_PATH": "/workspace/bin"}, files=[(wrapper, "bin/collect2")])
        assert not result.hung and result.verdict != "ok", (name, result)
        assert "root:" not in (result.stdout or "") + (result.stderr or "")


def test_C30_files_come_out_owned_by_the_caller(place, host_user):
    folder = place.cwd / "ws"
    folder.mkdir()
    hand_over(place, host_user)
    result = box.run("mkdir d; echo x > d/file; echo y > out", language="sh", workspace=folder,
                     as_user=host_user, timeout=SECONDS)
    assert result.verdict == "ok", result
    owner = 0 if host_user is None else host_user.uid
    assert (folder / "d" / "file").stat().st_uid == owner
    assert (folder / "d" / "file").read_text() == "x\n"
