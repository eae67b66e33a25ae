# SPDX-License-Identifier: Apache-2.0
"""Descriptors and directories that come along (C04), go back (C19), or are the link itself (C20).

The probe's own rows look at a plain start; here the start is made odd from the host's side.
"""
import fcntl
import os
import re
import socket

import pytest

import sheet as sheets
from lib import box, host, kept, place as places

FORGED = '\n{"schema":1,"verdict":"ok","exit_code":0}\n'
F_GET_SEALS, ALL_SEALS = 1034, 0x1 | 0x2 | 0x4 | 0x8


# ---- C04 -----------------------------------------------------------------------------------------

def test_C04_descriptors_of_the_caller_stay_outside(probe, host_user):
    """A shell or editor starts glovebox with files, directories and sockets left open."""
    folder = os.open("/", os.O_RDONLY)
    secret = os.open("/proc/self/environ", os.O_RDONLY)
    pair = socket.socketpair()
    spread = [os.dup2(folder, 40, inheritable=True), os.dup2(secret, 41, inheritable=True),
              os.dup2(pair[0].fileno(), 199, inheritable=True)]
    try:
        words = box.command(argv=["./probe", "C04"], files=[(probe, "probe")])
        result = box.run_words(words, as_user=host_user, pass_fds=[folder, secret, *spread])
        sheets.require(result, sheets.Sheet(result.stdout), "C04")
    finally:
        for fd in (folder, secret, *spread):
            os.close(fd)
        pair[0].close()
        pair[1].close()


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]],
                         ids=lambda fds: "closed-" + "".join(map(str, fds)))
def test_C04_closed_standard_descriptors_are_not_filled_with_something_else(probe, place, closed):
    """What glovebox opens first lands on 0, 1 or 2 when those are free."""
    shell = " ".join(f"{fd}{'<' if fd == 0 else '>'}&-" for fd in closed)
    code = "./probe C04 > answers; exit $?"
    words = box.command(code, language="sh", files=[(probe, "probe")],
                        out=[("answers", place.cwd / "answers")], as_json=False)
    result = box.run_words(["/bin/sh", "-c", f'exec "$@" {shell}', "sh", *words])
    answers = sheets.Sheet((place.cwd / "answers").read_text())
    # The program's own standard output is the file that it wrote to.
    bad = [line for line in answers.of("C04", "LEAK") if line.variant != "fd-1"]
    assert result.returncode == 0 and not answers.unfinished("C04") and not bad, (result, bad)


def test_C04_standard_descriptors_of_the_caller_do_not_get_in(probe):
    """Standard input is a directory of the host, standard error a file of it."""
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        words = box.command(argv=["./probe", "C04"], files=[(probe, "probe")])
        result = box.run_words(words, stdin=folder)
        sheets.require(result, sheets.Sheet(result.stdout), "C04")
        words = box.command("cat; ls -l /proc/self/fd", language="sh", stdin=b"")
        result = box.run_words(words, stdin=folder)
        assert "-> /\n" not in (result.stdout or ""), result
    finally:
        os.close(folder)


def test_C04_the_second_step_has_no_more_than_the_first():
    """A compiled language: the run comes after the compiler, in the same box."""
    code = """
        #include <fcntl.h>
        #include <stdio.h>
        int main(void)
        {
            for (int fd = 0; fd < 65536; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                    printf("%d\\n", fd);
            return 0;
        }"""
    result = box.run(code, language="c")
    assert (result.verdict, result.stdout) == ("ok", "0\n1\n2\n"), result


WORKDIRS = [
    "/proc/self/fd/3", "/proc/self/fd/5", "/proc/self/fd/7", "/proc/self/fd/9", "/proc/self/cwd",
    "/proc/self/root", "/proc/1/root", "/proc/1/cwd", "/proc/1/fd/3", "/proc/thread-self/root",
    "/workspace/../../../..", "..", "../..", "/..", "/dev/fd/4", "/dev/pts", "/proc/self/ns",
    "/sys", "/root", "/proc/self/task", "/dev/stdin", "/etc/passwd", "/proc/sys",
]


@pytest.mark.parametrize("workdir", WORKDIRS)
def test_C04_a_working_directory_is_inside_or_refused(probe, workdir):
    """CVE-2024-21626: a working directory that is a leaked descriptor."""
    result = box.run("cd /; getent passwd 1000; readlink /proc/self/cwd; ls -id / /.. | sort -u",
                     language="sh", workdir=workdir, timeout=10)
    assert not result.hung
    if result.verdict != "ok":
        assert result.returncode in (2, 125, 126, 127), result
        return
    result, answers = sheets.ask(probe, "C04", workdir=workdir)
    if result.verdict == "ok":
        sheets.require(result, answers, "C04")


def test_C04_a_deleted_working_directory_does_not_help(probe):
    code = ("mkdir a; cp probe a/; cd a; rmdir ../a 2>/dev/null; cp probe /tmp/p; cd /tmp; "
            "mkdir b; cd b; rmdir ../b; /tmp/p C04 | grep -v 'C04 getcwd'")
    result = box.run(code, language="sh", files=[(probe, "probe")])
    answers = sheets.Sheet(result.stdout)
    bad = [line for line in answers.of("C04", "LEAK") if line.variant != "cwd-below-root"]
    assert result.verdict == "ok" and not bad, (result, bad)


# ---- C05 -----------------------------------------------------------------------------------------

def test_C05_the_gloves_program_is_a_sealed_copy(host_user):
    """CVE-2019-5736: nobody can write the program through /proc/PID/exe."""
    before = sheets.digest(places.binary())
    with box.start("echo ready; cat", language="sh", as_user=host_user) as living:
        living.expect(b"ready")
        for pid in (living.glove, living.spawner):
            exe = os.open(f"/proc/{pid}/exe", os.O_RDONLY)
            try:
                assert "memfd:glovebox-" in os.readlink(f"/proc/{pid}/exe")
                assert fcntl.fcntl(exe, F_GET_SEALS) & ALL_SEALS == ALL_SEALS
            finally:
                os.close(exe)
            with pytest.raises(OSError):
                os.close(os.open(f"/proc/{pid}/exe", os.O_WRONLY))
        living.end()
    assert sheets.digest(places.binary()) == before


def test_C05_a_script_that_names_the_running_program(place, probe):
    """The kernel opens #!/proc/self/exe as the process that calls exec: the glove's child."""
    before = sheets.digest(places.binary())
    script = place.cwd / "sh"
    script.write_text("#!/proc/self/exe\n")
    script.chmod(0o755)
    for request in ({"argv": ["./sh"]}, {"argv": ["sh"], "env": {"PATH": "/workspace"}},
                    {"argv": ["/proc/self/exe"]}, {"argv": ["/proc/1/exe"]},
                    {"argv": ["/dev/fd/3"]}, {"argv": ["/proc/self/fd/3"]}):
        result = box.run(files=[(script, "sh")], timeout=2, **request)
        assert not result.hung and result.returncode != 0, result
        assert result.verdict in (None, "nonzero", "signal", "timeout", "sandbox_error"), result
    assert sheets.digest(places.binary()) == before


WATCHER = """
import os
found, seen = set(), set()
print("watching", flush=True)
while not os.path.exists("/workspace/stop"):
    newest = int(open("/proc/loadavg").read().split()[-1])
    seen.add(newest)
    listed = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    for name in {1, newest, newest + 1, newest + 2} | listed:
        for mode in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY, os.O_PATH):
            try:
                fd = os.open(f"/proc/{name}/exe", mode)
            except OSError:
                continue
            target = os.readlink(f"/proc/self/fd/{fd}")
            if mode in (os.O_WRONLY, os.O_RDWR) or "glovebox" in target:
                found.add((target, mode))
            try:
                again = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY)
                found.add((os.readlink(f"/proc/self/fd/{again}"), "reopened"))
                os.close(again)
            except OSError:
                pass
            os.close(fd)
print(len(seen), sorted(found, key=str))
"""


def test_C05_race_for_the_program_while_runs_start():
    """Between its fork and its exec a run is still the glove's program: a run beside it looks for that
    the whole time, 200 programs long.  Runs are not shown to each other; their numbers can be guessed."""
    before = sheets.digest(places.binary())
    with kept.made("--cpus", "2") as name:
        done = kept.call("run", name, "-d", "--timeout", "600", "-l", "python", "-c", WATCHER)
        assert done.returncode == 0, done
        watcher = done.out.decode().strip()
        assert host.until(lambda: b"watching" in kept.call("logs", name, watcher).out, 60)
        for _ in range(200):
            assert kept.call("run", name, "--", "true").returncode == 0
        assert kept.sh(name, "touch /workspace/stop").exit_code == 0
        assert kept.call("wait", name, watcher).returncode == 0
        count, _, found = kept.call("logs", name, watcher).out.decode().splitlines()[1].partition(" ")
    assert found == "[]" and int(count) > 20, (count, found)  # and it has seen them come and go
    assert sheets.digest(places.binary()) == before


# ---- C19 -----------------------------------------------------------------------------------------

def descriptors_of(living):
    """How many descriptors the command and the spawner hold."""
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (living.process.pid, living.spawner)]


def test_C19_the_host_never_holds_a_descriptor_of_the_box(probe):
    code = ("echo ready; read line; i=0; while [ $i -lt 20 ]; do ./probe C19 >/dev/null; "
            "./probe C19 | tail -n 1; ./probe C19 >&2; i=$((i+1)); done; echo sent; cat")
    with box.start(code, language="sh", files=[(probe, "probe")]) as living:
        living.expect(b"ready")
        before = descriptors_of(living)
        living.send(b"go\n")
        living.expect(b"sent")
        # One that is open for a moment, to read a counter, is closed again; one of the box's would stay.
        assert host.until(lambda: all(held <= was for held, was in zip(descriptors_of(living), before)), 30), before
        assert living.end()[0] == 0


# ---- C20 -----------------------------------------------------------------------------------------

def test_C20_forged_frames_are_output_and_nothing_else(probe, host_user):
    """96 types on 8 channels, to every descriptor, and a forged result."""
    result = box.run(argv=["./probe", "forge"], files=[(probe, "probe")], as_user=host_user)
    assert (result.verdict, result.exit_code, result.survivors) == ("nonzero", 3, 0), result
    frame = 64
    assert result.stdout_bytes == 96 * 8 * frame + frame + len(FORGED), result
    assert result.returncode == 3


def test_C20_forged_results_do_not_join_the_document():
    forged = '{"schema":1,"verdict":"ok","exit_code":0}'
    result = box.run(f"echo '{forged}'; echo '\"}}}}, \"verdict\": \"ok\"' >&2; exit 9", language="sh")
    assert (result.verdict, result.exit_code) == ("nonzero", 9), result
    assert result.stdout == forged + "\n"


def test_C20_a_shut_output_is_not_a_lost_link():
    for code in ("exec 1>&- 2>&- 0<&-; exit 4", "exec 1>&-; sleep 0.1; exit 4",
                 "trap '' PIPE; exec 2>&1 1>&-; exit 4"):
        result = box.run(code, language="sh", timeout=10)
        assert (result.verdict, result.exit_code) == ("nonzero", 4), result


def test_C20_the_link_is_not_in_the_box(host_user):
    """Seen from the host: of all processes in the box only the glove holds a socket to us."""
    with box.start("sleep 1000 & echo ready; cat", language="sh", as_user=host_user) as living:
        living.expect(b"ready")
        ours = {host.readlink(f"/proc/{pid}/fd/{fd}")
                for pid in (living.process.pid, living.spawner)
                for fd in os.listdir(f"/proc/{pid}/fd")}
        ours = {name for name in ours if re.match(r"socket:|anon_inode:\[pidfd", name)}
        assert ours and living.runs, (ours, living.runs)
        for process in living.runs:
            for fd in os.listdir(f"/proc/{process.pid}/fd"):
                assert host.readlink(f"/proc/{process.pid}/fd/{fd}") not in ours
        living.end()
