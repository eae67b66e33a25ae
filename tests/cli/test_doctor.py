# SPDX-License-Identifier: Apache-2.0
"""`glovebox doctor`: which walls stand, what mends the others; and that its advice is true.

Root here can build every wall.  Ordinary users are made for the tests: one with all that doctor asks
for, one without subordinate ids, one without groups.
"""
import contextlib
import json
import os
import pwd
import shutil
import subprocess
import tempfile

import pytest

from lib import box, host, lacking, place as places

WALLS = ("user_ns uid_range mount pid net ipc uts cgroup_ns seccomp landlock caps memory cpu pids disk "
         "kill").split()
LIMITS = ("memory", "cpu", "pids")


def doctor(*words, **request):
    return box.run_words([str(places.binary()), "doctor", *words], **request)


def told(*words, **request):
    """(exit code, document)"""
    done = doctor("--json", *words, **request)
    return done.returncode, json.loads(done.out)


@contextlib.contextmanager
def user_made(suffix, subids=True):
    """A fresh user without groups of its own."""
    name = f"gbt{suffix}{os.getpid()}"
    first = 0x50000000 + (os.getpid() % 4096) * 0x10000
    home = tempfile.mkdtemp(prefix="gbtest-home-", dir="/var/tmp")
    os.chmod(home, 0o755)
    subprocess.run(["useradd", "--no-create-home", "--home-dir", home, "--no-user-group", "--gid", "nogroup",
                    "--shell", "/bin/sh", name], check=True)
    try:
        for kind in ("uids", "gids"):
            action = "--add-sub" if subids else "--del-sub"
            subprocess.run(["usermod", f"{action}{kind}", f"{first}-{first + 0xffff}", name],
                           check=subids, stderr=subprocess.DEVNULL)
        if not subids:
            forget_subids(name)
        entry = pwd.getpwnam(name)
        os.chown(home, entry.pw_uid, entry.pw_gid)
        yield box.User(name, entry.pw_uid, entry.pw_gid, home, box.copy_for(home))
    finally:
        assert host.until(lambda: is_deleted(name), 30), f"user {name} has processes left"
        shutil.rmtree(home)


def is_deleted(name):
    """userdel refuses while the user's last box is being removed, which no command waits for."""
    return subprocess.run(["userdel", name], check=False, stderr=subprocess.DEVNULL).returncode == 0


def forget_subids(name):
    """useradd may have given some by itself."""
    for path, option in (("/etc/subuid", "--del-subuids"), ("/etc/subgid", "--del-subgids")):
        for line in host.read(path).splitlines():
            who, first, count = line.split(":")
            if who == name:
                subprocess.run(["usermod", option, f"{first}-{int(first) + int(count) - 1}", name],
                               check=True)


@contextlib.contextmanager
def delegated(user):
    """Groups that root makes for the user; removed afterwards."""
    done = doctor("--delegate", user.name)
    made = host.group_directories(lambda name: name == f"glovebox-user-{user.uid}")
    try:
        yield done, made
    finally:
        assert_removed(made)


def assert_removed(made):
    """Busy while the user's last box is being removed, which no command waits for."""
    for folder in made:
        assert host.until(lambda folder=folder: host.remove_directory(folder), 30), f"{folder} has groups left"


# ---- a machine that is fit ----------------------------------------------------------------------

def test_root_can_build_every_wall():
    code, document = told()
    assert code == 0 and document["ok"] is True and document["schema"] == 1, document
    assert list(document["walls"]) == WALLS
    for name, wall in document["walls"].items():
        assert wall["ok"] is True and wall["keeps"], name
        assert "reason" not in wall and "remedy" not in wall
    assert document["backend"] == "native" and document["user"] == "root"
    assert isinstance(document["docker"]["reachable"], bool) and document["docker"]["detail"]


def test_the_man_page_describes_every_key():
    _, document = told()
    _, troubled = told(host_env={"GLOVEBOX_RUN_DIR": "/proc/nowhere/run"})
    page = (places.ROOT / "man" / "glovebox-doctor.1.scd").read_text().replace("\\_", "_")
    keys = {*document, *troubled, *troubled["error"], *document["docker"], *document["programs"][0], "reason",
            "keeps"}
    assert not [key for key in keys if f"_{key}_" not in page]


def test_the_text_has_a_line_for_every_wall():
    done = doctor()
    assert (done.returncode, done.err) == (0, b""), done
    lines = done.out.decode().splitlines()
    for name in WALLS:
        assert [line for line in lines if line.split()[:2] == ["ok", name]], name
    assert b"\x1b" not in done.out and not any("missing" in line for line in lines)
    assert "every wall" in lines[-1]


def test_colours_only_when_asked_for():
    assert b"\x1b[" in doctor("--color", "always").out
    assert b"\x1b" not in doctor("--color", "never").out
    assert b"\x1b" not in doctor(host_env={"NO_COLOR": "1"}).out


def test_every_language_is_in_the_list():
    _, document = told()
    languages = {program["language"] for program in document["programs"]}
    assert languages == set("python javascript typescript bash sh c cpp go rust java ruby perl php lua r"
                            .split())
    for program in document["programs"]:
        if not program["in_box"]:
            assert "apt install" in program["remedy"] or "--toolchain" in program["remedy"], program


def test_a_disabled_backend_is_not_fit():
    done = doctor("--backend", "disabled")
    assert done.returncode == 1 and b"disabled" in done.out.splitlines()[-1], done
    code, document = told("--backend", "disabled")
    assert code == 1 and document["ok"] is False


def test_the_plan_is_printed_and_nothing_is_built():
    done = doctor("--plan", host_env={"GLOVEBOX_MEMORY": "100m", "GLOVEBOX_PIDS": "17"})
    lines = done.out.decode().splitlines()
    assert done.returncode == 0 and len(lines) > 40, done
    words = [line.split()[0] for line in lines]
    for word in ("PLAN", "GROUP", "ID", "TMPFS", "BIND", "FILE"):
        assert word in words, word
    assert any("/usr" in line for line in lines) and not any("/root" in line for line in lines)
    assert any(f"memory.limit_in_bytes={(100 << 20) + (16 << 20)}" in line for line in lines) or \
        any(f"memory.max={(100 << 20) + (16 << 20)}" in line for line in lines), lines[:8]


def test_the_plan_shows_toolchains():
    done = doctor("--plan", "--toolchain", "/var/lib/dpkg")
    assert any(line.startswith("BIND") and "source=/var/lib/dpkg" in line
               for line in done.out.decode().splitlines()), done


@pytest.mark.parametrize("words, part", [
    (["--plan", "--delegate", "x"], "exclude"), (["--delegate", ""], "no user's name"),
    (["--delegate", "../x"], "no user's name"), (["--delegate", "-x"], "-x"),
    (["--delegate", "no-such-user"], "no-such-user"),
    (["--undelegate", "no-such-user"], "no-such-user"), (["--undelegate", "/x"], "no user's name"),
    (["--undelegate", "x", "--delegate", "x"], "exclude"),
    (["--delegate", "root"], "root"), (["extra"], "extra"), (["--delegate"], "--delegate"),
])
def test_wrong_words(words, part):
    done = doctor(*words)
    assert done.returncode == 2 and done.out == b"", done
    assert done.err.startswith(b"glovebox: ") and part.encode() in done.err, done


# ---- ordinary users -----------------------------------------------------------------------------

def test_a_user_with_ids_and_groups_is_fit(ordinary_user):
    code, document = told(as_user=ordinary_user)
    assert code == 0 and document["ok"] and document["user"] == "ordinary", document
    assert all(wall["ok"] for wall in document["walls"].values())


def test_such_a_user_gets_every_wall_and_every_limit(ordinary_user):
    result = box.run("id -u; echo hello", language="sh", as_user=ordinary_user)
    assert (result.verdict, result.stdout) == ("ok", "1000\nhello\n"), result
    assert list(result.receipt["walls"]) == WALLS
    assert all(result.receipt["walls"].values()), result
    for code, limits, verdict in (
            ("sleep 1000", {"timeout": 0.5}, "timeout"),
            ("while :; do :; done", {"cpu_time": 0.3}, "cpu"),
            ("exec perl -e '$x = q(x) x (1 << 30)'", {"memory": "64m"}, "memory"),
            ("while :; do sleep 100 & done", {"pids": 8}, "pids"),
            ("cat /dev/zero >f", {"disk": "2m"}, "disk"),
            ("yes", {"output_max": "10k"}, "output")):
        result = box.run(code, language="sh", as_user=ordinary_user, **limits)
        assert (result.verdict, result.survivors) == (verdict, 0), result


def test_without_subordinate_ids_the_wall_is_named_with_its_remedy():
    with user_made("noids", subids=False) as user, delegated(user):
        code, document = told(as_user=user)
        wall = document["walls"]["uid_range"]
        assert (code, document["ok"], wall["ok"]) == (1, False, False), document
        assert wall["reason"] and "usermod --add-subuids" in wall["remedy"]
        assert wall["remedy"].endswith(f" {user.name}"), wall
        text = doctor(as_user=user).out.decode()
        assert "missing uid_range" in " ".join(text.split()) and "usermod --add-subuids" in text
        refused = box.run("echo started", language="sh", as_user=user)
        assert (refused.returncode, refused.verdict, refused.stdout) == (125, "sandbox_error", ""), refused
        assert refused.error["wall"] == "uid_range" and "usermod" in refused.error["remedy"], refused
        plain = box.run("echo started", language="sh", as_user=user, as_json=False)
        assert plain.returncode == 125 and plain.out == b"" and b"uid_range" in plain.err, plain


def test_without_groups_runs_are_refused_unless_the_operator_allows_it():
    with user_made("nogroups") as user:
        code, document = told(as_user=user)
        assert code == 1 and not document["ok"], document
        for name in WALLS:
            assert document["walls"][name]["ok"] == (name not in LIMITS), name
        for name in LIMITS:
            remedy = document["walls"][name]["remedy"]
            assert f"doctor --delegate {user.name}'" in remedy and "systemd-run" in remedy
            own = "/sys/fs/cgroup" if document["groups"] == "v2" else f"/sys/fs/cgroup/{name}"
            assert document["walls"][name]["reason"].startswith(f"{own}"), document["walls"][name]
        refused = box.run("echo started", language="sh", as_user=user)
        assert (refused.returncode, refused.verdict, refused.stdout) == (125, "sandbox_error", ""), refused
        assert refused.error["wall"] in LIMITS and "--delegate" in refused.error["remedy"], refused
        assert refused.receipt is None, refused
        some = box.run("echo started", language="sh", as_user=user, allow_missing="memory,cpu")
        assert some.error["wall"] == "pids" and some.stdout == "", some


def test_allowed_to_miss_walls_the_receipt_says_so():
    with user_made("allowed") as user:
        result = box.run("echo hello", language="sh", as_user=user, allow_missing="memory,cpu,pids")
        assert (result.verdict, result.stdout, result.survivors) == ("ok", "hello\n", 0), result
        for name in WALLS:
            assert bool(result.receipt["walls"][name]) == (name not in LIMITS), result
        assert result.receipt["accounting"] == "box", result
        assert doctor(as_user=user, host_env={"GLOVEBOX_ALLOW_MISSING": "memory,cpu,pids"}).returncode == 0
        # What needs no groups still holds.
        late = box.run("(setsid sleep 1000 &); sleep 1000", language="sh", as_user=user, timeout=0.7,
                       allow_missing="memory,cpu,pids")
        assert (late.verdict, late.survivors) == ("timeout", 0), late
        gone = box.run("(setsid sleep 1000 &); exit 3", language="sh", as_user=user,
                       allow_missing="memory,cpu,pids")
        assert (gone.verdict, gone.exit_code, gone.survivors) == ("nonzero", 3, 0), gone


def test_require_wins_over_allow_missing():
    with user_made("require") as user:
        result = box.run("echo started", language="sh", as_user=user, allow_missing="memory,cpu,pids",
                         require="memory")
        assert (result.returncode, result.stdout) == (125, "") and result.error["wall"] == "memory", result
        by_environment = box.run("echo started", language="sh", as_user=user,
                                 allow_missing="memory,cpu,pids", host_env={"GLOVEBOX_REQUIRE": "pids"})
        assert by_environment.returncode == 125 and by_environment.error["wall"] == "pids"


@pytest.mark.parametrize("option", ["require", "allow_missing"])
def test_walls_are_known_by_their_names(option):
    for value in ("no_such_wall", "memory,", "memory;cpu", "Memory!"):
        result = box.run("echo started", language="sh", as_json=False, **{option: value})
        assert result.returncode == 2 and result.out == b"", result
    for value in ("all", "none", "memory,cpu", *WALLS):
        result = box.run("echo started", language="sh", **{option: value})
        assert (result.returncode, result.stdout) == (0, "started\n"), result
        assert all(result.receipt["walls"].values()), "allowed to miss, but it could be built"


def test_root_delegates_and_the_user_is_fit_then():
    with user_made("deleg") as user:
        assert doctor(as_user=user).returncode == 1
        with delegated(user) as (done, made):
            assert done.returncode == 0 and user.name.encode() in done.out, done
            assert len(made) >= 1 and all(os.stat(folder).st_uid == user.uid for folder in made), made
            assert doctor(as_user=user).returncode == 0
            result = box.run("echo hello", language="sh", as_user=user)
            assert result.verdict == "ok" and all(result.receipt["walls"].values()), result
            again = doctor("--delegate", user.name)
            assert again.returncode == 0, again
        assert doctor(as_user=user).returncode == 1


def test_what_root_delegated_can_be_taken_back():
    with user_made("undeleg") as user, delegated(user) as (done, made):
        assert f"doctor --undelegate {user.name}" in done.out.decode(), done
        with box.start("echo up; sleep 1000", language="sh", as_user=user) as living:
            living.expect(b"up")
            busy = doctor("--undelegate", user.name)
            assert busy.returncode == 125 and b"boxes of this user are running" in busy.err, busy
            living.process.terminate()
            living.process.wait(30)
        assert host.until(lambda: not any(os.path.isdir(f"{folder}/{name}") for folder in made
                                          for name in os.listdir(folder)), 30)
        os.mkdir(f"{made[0]}/left")
        gone = doctor("--undelegate", user.name)
        assert (gone.returncode, gone.err) == (0, b""), gone
        assert not any(os.path.exists(folder) for folder in made)
        assert doctor(as_user=user).returncode == 1
        again = doctor("--undelegate", user.name)
        assert again.returncode == 0 and b"had no groups" in again.out, again
        refused = doctor("--undelegate", user.name, as_user=user)
        assert refused.returncode == 2 and b"only root" in refused.err, refused


def test_only_root_delegates(ordinary_user):
    done = doctor("--delegate", ordinary_user.name, as_user=ordinary_user)
    assert done.returncode in (2, 125) and done.out == b"", done
    assert b"root" in done.err and b"sudo glovebox doctor --delegate " in done.err, done


def test_the_user_cannot_widen_what_root_delegated(ordinary_user):
    """The groups are inside root's, which the user cannot write; a neighbour's are out of reach."""
    with user_made("other") as other:
        result = box.run("echo hello", language="sh", as_user=other)
        assert result.returncode == 125, "used the groups of another user"


# ---- a kernel that refuses ----------------------------------------------------------------------

def limited(setting, value, *words):
    return box.run_words(lacking.without_namespaces(setting, value, places.binary(), *words))


NAMESPACES = {"user": "user_ns", "mnt": "mount", "pid": "pid", "net": "net", "ipc": "ipc", "uts": "uts",
              "cgroup": "cgroup_ns"}


def test_a_nested_root_can_build_every_wall():
    """Otherwise the tests below would find what is missing for another reason."""
    done = limited("max_user_namespaces", 1000, "doctor", "--json")
    assert done.returncode == 0 and json.loads(done.out)["ok"], done


@pytest.mark.parametrize("kind", NAMESPACES)
def test_a_kernel_without_a_kind_of_namespace_is_refused(kind):
    result = limited(f"max_{kind}_namespaces", 0, "exec", "--json", "-l", "sh", "-c", "echo started")
    assert (result.returncode, result.verdict, result.stdout) == (125, "sandbox_error", ""), result
    assert result.error["wall"] == NAMESPACES[kind] and result.error["remedy"], result
    assert result.error["message"] and result.receipt is None, result


@pytest.mark.parametrize("kind", NAMESPACES)
def test_doctor_names_the_kind_of_namespace_that_is_missing(kind):
    done = limited(f"max_{kind}_namespaces", 0, "doctor", "--json")
    document = json.loads(done.out)
    assert done.returncode == 1 and document["ok"] is False, done
    missing = [name for name in WALLS if not document["walls"][name]["ok"]]
    assert missing == [NAMESPACES[kind]], document
    wall = document["walls"][NAMESPACES[kind]]
    assert wall["remedy"] and wall["reason"] and "remedy" not in wall["reason"], wall


@pytest.mark.parametrize("kind", ["net", "ipc", "uts", "cgroup"])
def test_a_wall_that_may_be_missing_is_left_out_and_told(kind):
    result = limited(f"max_{kind}_namespaces", 0, "exec", "--json", "--allow-missing", NAMESPACES[kind],
                     "-l", "sh", "-c", "echo started")
    assert (result.verdict, result.stdout) == ("ok", "started\n"), result
    walls = result.receipt["walls"]
    assert [name for name in WALLS if not walls[name]] == [NAMESPACES[kind]], result


@pytest.mark.parametrize("kind", ["user", "mnt", "pid"])
def test_walls_without_which_there_is_no_box_cannot_be_left_out(kind):
    result = limited(f"max_{kind}_namespaces", 0, "exec", "--json", "--allow-missing", "all", "-l", "sh", "-c",
                     "echo started")
    assert result.returncode == 125 and result.stdout == "", result
    assert result.error["wall"] == NAMESPACES[kind], result


# ---- a kernel that refuses system calls ---------------------------------------------------------

START = ("exec", "--json", "-l", "sh", "-c", "echo started")
REFUSED_CALLS = [
    ("seccomp", "EINVAL", "seccomp"), ("seccomp", "ENOSYS", "seccomp"),
    ("landlock_create_ruleset", "ENOSYS", "landlock"), ("landlock_create_ruleset", "EOPNOTSUPP", "landlock"),
    ("landlock_restrict_self", "EPERM", "landlock"),
    ("capset", "EPERM", "caps"), ("prctl(PR_SET_NO_NEW_PRIVS)", "EINVAL", "caps"),
    ("mount", "EPERM", "mount"),
]


def assert_refused(result, wall):
    assert (result.returncode, result.verdict, result.stdout) == (125, "sandbox_error", ""), result
    assert result.error["wall"] == wall and result.error["remedy"], result
    assert f"the wall '{wall}' cannot be built" in result.error["message"], result


def assert_told(done, wall):
    document = json.loads(done.out)
    assert (done.returncode, document["ok"]) == (1, False), done
    assert [name for name in WALLS if not document["walls"][name]["ok"]] == [wall], document
    assert document["walls"][wall]["reason"] and document["walls"][wall]["remedy"], document


@pytest.mark.parametrize("call, error, wall", REFUSED_CALLS)
def test_a_wall_whose_call_the_kernel_refuses_is_named(call, error, wall):
    for _ in range(5):  # it is a race who tells first: the glove why, or its end
        assert_refused(box.run_words(lacking.refusing(call, error, places.binary(), *START)), wall)
    assert_told(box.run_words(lacking.refusing(call, error, places.binary(), "doctor", "--json")), wall)


def test_landlock_may_be_missing_where_it_is_allowed():
    words = lacking.refusing("landlock_create_ruleset", "ENOSYS", places.binary(), *START[:1],
                             "--allow-missing", "landlock", *START[1:])
    result = box.run_words(words)
    assert (result.verdict, result.stdout) == ("ok", "started\n"), result
    assert not result.receipt["walls"]["landlock"] and result.receipt["walls"]["seccomp"], result


def test_walls_without_which_there_is_no_box_cannot_be_allowed_to_miss():
    words = [places.binary(), "exec", "--allow-missing", "all", *START[1:]]
    assert_refused(box.run_words(lacking.refusing("seccomp", "ENOSYS", *words)), "seccomp")
    assert_refused(box.run_words(lacking.refusing("capset", "EPERM", *words)), "caps")
    assert_refused(box.run_words(lacking.read_only("/sys/fs/cgroup/unified", *words)), "kill")


def test_a_tree_of_groups_that_nobody_can_write_is_the_wall_kill():
    """The v2 tree of a hybrid machine is what kills; its controllers are elsewhere."""
    unified = "/sys/fs/cgroup/unified"
    assert host.hierarchies().get(unified) == "v2"
    assert_refused(box.run_words(lacking.read_only(unified, places.binary(), *START)), "kill")
    assert_told(box.run_words(lacking.read_only(unified, places.binary(), "doctor", "--json")), "kill")


def mounts_of_disk(place, *words):
    """Which of the mounts that build a box are limited file systems of the run's, counted from 1."""
    trace = place.base / "trace"
    done = box.run_words(["strace", "-f", "-o", str(trace), "-e", "trace=mount", *map(str, words)])
    assert done.returncode == 0, done
    lines = [line for line in trace.read_text().splitlines() if " mount(" in line]
    trace.unlink()
    return [number for number, line in enumerate(lines, 1) if "nr_inodes=7777" in line]


def test_a_file_system_that_cannot_be_limited_is_the_wall_disk(place):
    limits = {"GLOVEBOX_INODES": "7777"}
    os.environ.update(limits)
    try:
        [number] = mounts_of_disk(place, places.binary(), *START)
        inject = ["strace", "-f", "-o", "/dev/null", "-e", "trace=mount", "-e",
                  f"inject=mount:error=EPERM:when={number}", str(places.binary())]
        assert_refused(box.run_words([*inject, *START]), "disk")
        assert_told(box.run_words([*inject, "doctor", "--json"]), "disk")
    finally:
        del os.environ["GLOVEBOX_INODES"]


@pytest.mark.parametrize("call, number, wall", [
    ("unshare", 1, "net"), ("unshare", 2, "cgroup_ns"),
    ("mkdir", 1, "kill"), ("mkdir", 2, "memory"), ("mkdir", 3, "pids"), ("mkdir", 4, "cpu")])
def test_what_is_made_while_the_box_has_its_first_process_names_its_wall(call, number, wall):
    """The network and the groups of v1 are made at once, by two processes: one that fails ends both."""
    inject = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e",
              f"inject={call}:error=ENOSPC:when={number}", str(places.binary())]
    assert_refused(box.run_words([*inject, *START]), wall)


# ---- what an ordinary user finds ----------------------------------------------------------------

def test_without_newuidmap_the_remedy_is_its_package(ordinary_user, place):
    """Covered in a mount namespace of the command alone."""
    empty = place.base / "empty"
    empty.write_text("")
    empty.chmod(0o644)
    as_user = ["setpriv", f"--reuid={ordinary_user.uid}", f"--regid={ordinary_user.gid}", "--clear-groups",
               str(ordinary_user.binary)]
    with box.working_directory(ordinary_user):
        for tool in ("/usr/bin/newuidmap", "/usr/bin/newgidmap"):
            done = box.run_words(lacking.covered(empty, tool, *as_user, "doctor", "--json"))
            wall = json.loads(done.out)["walls"]["uid_range"]
            assert done.returncode == 1 and not wall["ok"], done
            assert "newuidmap" in wall["reason"] and "apt install uidmap" in wall["remedy"], wall
            result = box.run_words(lacking.covered(empty, tool, *as_user, *START))
            assert_refused(result, "uid_range")
            assert "apt install uidmap" in result.error["remedy"], result


@contextlib.contextmanager
def groups_of(user):
    """A group of the user's own in each v1 tree that carries a limit; nothing was delegated."""
    name = f"gbtest-present-{os.getpid()}"
    made = []
    try:
        for tree in ("memory", "pids", "cpu", "cpuacct"):
            folder = f"/sys/fs/cgroup/{tree}/{name}"
            if os.path.realpath(folder) in map(os.path.realpath, made):
                continue
            os.mkdir(folder)
            made.append(folder)
            for path in (folder, f"{folder}/tasks", f"{folder}/cgroup.procs"):
                os.chown(path, user.uid, user.gid)
        yield made
    finally:
        assert_removed(made)


def within_groups(made, *words):
    """The words, started as members of the groups."""
    joins = " ".join(f"{folder}/tasks" for folder in made)
    return ["sh", "-c", f'for tasks in {joins}; do echo 0 >$tasks || exit 99; done; exec "$@"', "sh", *words]


def test_limits_hold_in_the_present_group_where_it_is_the_users():
    with user_made("present") as user, groups_of(user) as made:
        as_user = ["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", str(user.binary)]
        with box.working_directory(user):
            assert json.loads(box.run_words([*as_user, "doctor", "--json"]).out)["ok"] is False
            fit = box.run_words(within_groups(made, *as_user, "doctor", "--json"))
            assert fit.returncode == 0 and json.loads(fit.out)["ok"], fit
            result = box.run_words(within_groups(made, *as_user, *START))
            assert (result.verdict, result.stdout) == ("ok", "started\n"), result
            assert all(result.receipt["walls"].values()), result
            for code, option, value, verdict in (
                    ("exec perl -e '$x = q(x) x (1 << 30)'", "--memory", "64m", "memory"),
                    ("while :; do sleep 100 & done", "--pids", "8", "pids"),
                    ("while :; do :; done", "--cpu-time", "0.3", "cpu")):
                words = [*as_user, "exec", "--json", option, value, "-l", "sh", "-c", code]
                result = box.run_words(within_groups(made, *words))
                assert (result.verdict, result.survivors) == (verdict, 0), result


# ---- what is no wall's fault --------------------------------------------------------------------

def bad_run_dir(place, kind):
    """A run directory that cannot be one, and a part of what is told of it."""
    folder = place.base / "bad"
    if kind == "file":
        folder.write_text("")
        return folder, "Not a directory"
    if kind == "missing":
        return "/proc/nowhere/run", "No such file"
    folder.mkdir()
    if kind == "open":
        folder.chmod(0o777)
        return folder, "can be written by others"
    os.chown(folder, 12345, 12345)
    return folder, "belongs to user 12345"


@pytest.mark.parametrize("kind", ["file", "missing", "open", "anothers"])
def test_a_run_directory_that_cannot_be_used_is_told_as_such(place, kind):
    folder, part = bad_run_dir(place, kind)
    env = {"GLOVEBOX_RUN_DIR": str(folder)}
    code, document = told(host_env=env)
    assert (code, document["ok"]) == (1, False), document
    assert all(wall["ok"] for wall in document["walls"].values()), document
    assert str(folder) in document["error"]["message"] and part in document["error"]["message"]
    assert "GLOVEBOX_RUN_DIR" in document["error"]["remedy"]
    text = doctor(host_env=env).out.decode()
    assert part in text and "GLOVEBOX_RUN_DIR" in text and "missing" not in text
    result = box.run("echo started", language="sh", host_env=env)
    assert (result.returncode, result.verdict, result.stdout) == (125, "sandbox_error", ""), result
    assert result.error["wall"] is None and part in result.error["message"], result
    assert "GLOVEBOX_RUN_DIR" in result.error["remedy"], result


@pytest.mark.parametrize("most", range(5, 22))
def test_without_open_files_left_the_remedy_is_that_limit(most):
    words = ["prlimit", f"--nofile={most}", str(places.binary()), "exec", "--json", "-l", "sh", "-c", "echo hi"]
    result = box.run_words(words)
    if result.returncode == 0:
        return
    assert result.returncode == 125 and result.error["wall"] is None, result
    assert "Too many open files" in result.error["message"], result
    assert "ulimit -n" in result.error["remedy"], result
    assert result.err == b"" or b"ulimit -n" in result.err, result


@pytest.mark.parametrize("most", [0, 512, 100_000])
def test_where_no_file_may_grow_the_remedy_is_that_limit(most):
    words = ["prlimit", f"--fsize={most}", str(places.binary()), "exec", "--json", "-l", "sh", "-c", "echo hi"]
    result = box.run_words(words)
    assert result.returncode == 125 and result.error["wall"] is None, result
    assert "File too large" in result.error["message"] and "ulimit -f" in result.error["remedy"], result


def test_without_processes_left_the_remedy_is_that_limit(ordinary_user):
    words = ["prlimit", "--nproc=1", str(ordinary_user.binary), "exec", "--json", "-l", "sh", "-c", "echo hi"]
    result = box.run_words(words, as_user=ordinary_user)
    assert result.returncode == 125 and result.error["wall"] is None, result
    assert "ulimit -u" in result.error["remedy"], result
