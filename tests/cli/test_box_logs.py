# SPDX-License-Identifier: Apache-2.0
"""`box logs` and `box runs`: what ran in a box that lives on, readable during the run and after it."""
import fcntl
import json
import os
import re
import signal
import subprocess

import pytest

from lib import box, host, kept, place as places

PATIENCE = 30


@pytest.fixture
def living(place):
    with kept.living() as one:
        yield one


def start(living, *words, **popen):
    command = [str(places.binary()), "box", "run", living.name, *words]
    popen.setdefault("stdin", subprocess.DEVNULL)
    popen.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen(command, env=box.environment(kept.environment()), stderr=subprocess.DEVNULL, **popen)


def runs(living):
    return living.json("runs")["runs"]


def place_of_runs(living):
    """Where the host keeps them."""
    return kept.state_dir() / "boxes" / living.name / "runs"


def text(page):
    return [(chunk["stream"], chunk["data"]) for chunk in page["chunks"]]


def test_output_is_read_by_cursor_afterwards(living):
    with kept.started(living.name, "echo one; read x; echo two >&2; read x; printf three") as run:
        run.expect(b"one\n")
        run.send(b"\n")
        assert run.process.stderr.readline() == b"two\n"
        run.send(b"\n")
        assert run.end()[0] == 0
    page = living.json("logs")
    assert text(page) == [("stdout", "one\n"), ("stderr", "two\n"), ("stdout", "three")]
    assert (page["schema"], page["next"], page["eof"], page["dropped"]) == (1, 13, True, 0)
    assert text(living.call("logs", options=["--json", "--cursor", "5"]).document) == [("stderr", "wo\n"), ("stdout", "three")]
    end = living.call("logs", options=["--json", "--cursor", "13"]).document
    assert end["chunks"] == [] and end["next"] == 13 and end["eof"] is True
    shown = living.call("logs")
    assert (shown.out, shown.err) == (b"one\nthree", b"two\n")


def test_a_run_with_json_is_logged_too(living):
    living.call("run", "--", "echo", "x", options=["--json"])
    assert text(living.json("logs")) == [("stdout", "x\n")]


def test_output_is_read_while_the_run_goes_on(living):
    with start(living, "--stdin", "--", "sh", "-c", "echo first; read line; echo $line", stdin=subprocess.PIPE) as run:
        try:
            assert run.stdout.readline() == b"first\n"
            page = living.json("logs")
            assert text(page) == [("stdout", "first\n")] and page["eof"] is False
            assert [one["state"] for one in runs(living)] == ["running"]
            run.stdin.write(b"second\n")
            run.stdin.close()
            assert run.wait(PATIENCE) == 0
        finally:
            run.kill()
    page = living.call("logs", options=["--json", "--cursor", str(page["next"])]).document
    assert text(page) == [("stdout", "second\n")] and page["eof"] is True


def test_follow_ends_with_the_run(living):
    with start(living, "--stdin", "--", "sh", "-c", "echo first; read line; echo $line; exit 3", stdin=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"first\n"
        words = [str(places.binary()), "box", "logs", "--follow", "--json", living.name]
        with subprocess.Popen(words, env=box.environment(kept.environment()), stdout=subprocess.PIPE) as follower:
            try:
                first = json.loads(follower.stdout.readline())
                assert text(first) == [("stdout", "first\n")]
                run.stdin.write(b"second\n")
                run.stdin.close()
                rest = [json.loads(line) for line in follower.stdout]
                assert follower.wait(PATIENCE) == 0 and run.wait(PATIENCE) == 3
            finally:
                follower.kill()
                run.kill()
    assert [piece for page in rest for piece in text(page)] == [("stdout", "second\n")]
    assert [page["eof"] for page in rest][-1] is True


def test_runs_are_listed_with_their_verdicts(living):
    living.call("run", "--", "true")
    living.call("run", "--", "sh", "-c", "echo 12345; exit 3")
    living.call("run", "-c", "while True: pass", options=["-l", "python", "--timeout", "0.5"])
    listed = runs(living)
    assert [(one["verdict"], one["exit_code"], one["output_bytes"]) for one in listed] == [
        ("ok", 0, 0), ("nonzero", 3, 6), ("timeout", 124, 0)]
    assert [one["command"] for one in listed] == ["true", "sh -c echo 12345; exit 3", "python: while True: pass"]
    assert all(one["state"] == "ended" and one["ended_ms"] >= one["started_ms"] for one in listed)
    shown = living.call("runs").out.decode().splitlines()
    assert len(shown) == 3 and "nonzero" in shown[1] and shown[1].startswith(listed[1]["id"][:10])
    assert text(living.json("logs", listed[1]["id"][:12])) == [("stdout", "12345\n")]


def test_the_beginning_and_the_end_of_a_flood_are_kept(living, place):
    with start(living, "--", "sh", "-c", "echo begin; yes 0123456789 | head -c 30000000; echo end") as run:
        total = sum(len(piece) for piece in iter(lambda: run.stdout.read(65536), b""))
        assert run.wait(PATIENCE) == 0
    cursor, kept_bytes, dropped, first, last = 0, 0, 0, None, None
    while True:
        page = living.call("logs", options=["--json", "--cursor", str(cursor)]).document
        data = "".join(chunk["data"] for chunk in page["chunks"])
        assert len(data) <= 2 << 20
        first, last = first or data, data or last
        kept_bytes, dropped, cursor = kept_bytes + len(data), dropped + page["dropped"], page["next"]
        if page["eof"]:
            break
    assert kept_bytes + dropped == total == cursor and dropped > 0
    assert first.startswith("begin\n0123") and last.endswith("0123456789\n01234567end\n")
    folder = place_of_runs(living)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 9 << 20


def test_a_run_whose_command_was_killed_is_lost(living):
    with start(living, "--", "sh", "-c", "echo before; sleep 1000") as run:
        assert run.stdout.readline() == b"before\n"
        run.send_signal(signal.SIGKILL)
        run.wait(PATIENCE)
    assert host.until(lambda: runs(living)[0]["state"] == "lost", PATIENCE)
    page = living.json("logs")
    assert text(page) == [("stdout", "before\n")] and page["eof"] is True
    assert living.call("logs", options=["-f"]).out == b"before\n"


def test_a_program_in_the_box_does_not_reach_the_logs(living):
    living.sh("echo x")
    folder = place_of_runs(living)
    name = runs(living)[0]["id"]
    assert living.sh(f"find / -name '{name}*' 2>/dev/null; ls {folder} 2>/dev/null; true") == ""
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())


def test_many_runs_leave_a_bounded_number_of_logs(living):
    """The newest 64; they are looked through when there are 16 more."""
    for _ in range(64 + 16 + 1):
        assert living.call("run", "--", "echo").returncode == 0
    assert len(runs(living)) == 64
    assert len(list(place_of_runs(living).iterdir())) == 128


def test_a_run_that_writes_nothing_has_a_record_and_no_log(living):
    assert living.call("run", "--", "true").returncode == 0
    told, = runs(living)
    assert told["state"] == "ended" and [path.name for path in place_of_runs(living).iterdir()] == [f"{told['id']}.json"]
    assert living.json("logs")["eof"] and living.call("logs").out == b""


def test_hostile_output_does_not_reach_the_terminal_or_break_the_json(living):
    living.call("run", "--", "printf", "\\033]0;evil\\007\\377\\n")
    page = living.json("logs")
    assert text(page) == [("stdout", "\x1b]0;evil\x07\ufffd\n")]
    assert b"\x1b" not in living.call("logs", options=["--json"]).out
    assert b"\x1b" not in living.call("runs").out


@pytest.mark.parametrize("words, options, told", [
    (["r_none"], [], b"there is no run 'r_none'"), ([], ["--cursor", "-1"], b"--cursor: '-1' is no position"),
    ([], ["--cursor", "x"], b"no position"), (["a", "b"], [], b"one RUN only"), (["../x"], [], b"there is no run '../x'"),
])
def test_bad_words_are_refused(living, words, options, told):
    done = living.call("logs", *words, options=options)
    assert done.returncode == 2 and told in done.err, done


def test_a_box_in_which_nothing_ran_has_no_logs(living):
    empty = living.call("runs")
    assert (empty.returncode, empty.out, empty.err) == (0, b"", b"Nothing has run in this box yet.\n"), empty
    assert runs(living) == [] and living.call("runs").out == b""
    done = living.call("logs")
    assert done.returncode == 2 and b"nothing has run in that box yet" in done.err, done


def test_a_record_whose_command_was_killed_before_it_had_a_name_is_swept(living):
    """By the next run, and not in the moment in which somebody makes one."""
    for _ in range(3):
        assert living.call("run", "--", "true").returncode == 0
    old, held, fresh = (place_of_runs(living) / f".{one['id']}.json" for one in runs(living))
    for path in (old, held, fresh):
        path.write_text("{")
    for path in (old, held):
        os.utime(path, (0, 0))
    with held.open("w") as file:
        os.utime(held, (0, 0))
        fcntl.flock(file, fcntl.LOCK_EX)
        assert living.call("run", "--", "true").returncode == 0
        assert not old.exists() and held.exists() and fresh.exists()
    assert living.call("run", "--", "true").returncode == 0
    assert not held.exists() and len(runs(living)) == 5


# ---- runs that nobody waits for -----------------------------------------------------------------

def detach(living, *words):
    done = living.call("run", *words, options=["-d"])
    assert done.returncode == 0 and done.err == b"", done
    return done.out.decode().strip()


def test_a_detached_run_goes_on_and_can_be_waited_for(living):
    run = detach(living, "--", "sh", "-c", "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over; exit 4")
    assert run.startswith("r_") and len(run) == 28
    assert [(one["id"], one["state"]) for one in runs(living)] == [(run, "running")]
    living.sh("touch go")
    followed = living.call("logs", run, options=["-f"])
    assert followed.out == b"begun\nover\n", followed
    assert living.call("wait", run).returncode == 4
    assert [(one["verdict"], one["exit_code"]) for one in runs(living) if one["id"] == run] == [("nonzero", 4)]


def test_a_detached_run_is_ended_with_what_it_started(living):
    run = detach(living, "--", "sh", "-c", "sleep 1000 & setsid sleep 1000 & echo up; wait")
    assert host.until(lambda: text(living.json("logs", run)) == [("stdout", "up\n")], PATIENCE)
    assert living.call("kill", run).returncode == 0
    assert runs(living)[0]["verdict"] == "cancelled"
    assert living.call("wait", run).returncode == 130
    assert "sleep" not in living.sh("cat /proc/[0-9]*/comm")
    again = living.call("kill", run)
    assert again.returncode == 2 and again.err == f"glovebox: run {run} is over\n".encode(), again


def test_kill_ends_a_run_that_somebody_watches(living):
    with start(living, "--", "sh", "-c", "echo up; sleep 1000") as run:
        assert run.stdout.readline() == b"up\n"
        assert living.call("kill", runs(living)[0]["id"]).returncode == 0
        assert run.wait(PATIENCE) == 130


def test_detached_runs_keep_their_limits_and_end_with_their_box(place):
    with kept.living() as living:
        limited = living.call("run", "--", "sleep", "1000", options=["-d", "--timeout", "0.3"]).out.decode().strip()
        assert living.call("wait", limited).returncode == 124
        detach(living, "--", "sleep", "1000")
    # the box is gone; the ledger fails this test if the process that did the run is not


def test_why_a_detached_run_could_not_be_done_is_told(living):
    run = detach(living, "--", "nothere")
    assert living.call("wait", run).returncode == 127
    assert "nothere" in living.json("logs", run)["chunks"][0]["data"]
    refused = living.call("run", "--", "true", options=["-d", "--stdin"])
    assert refused.returncode == 2 and b"-d excludes" in refused.err, refused
    nowhere = kept.Kept("b_none").call("run", "--", "true", options=["-d"])
    assert nowhere.returncode == 2 and nowhere.out == b"" and b"there is no box" in nowhere.err, nowhere


def test_a_detached_run_has_the_commands_directory_and_nothing_else_of_it(living, tmp_path):
    (tmp_path / "word").write_text("here")
    script = "cat word; echo there >answer; while [ ! -e go ]; do sleep 0.05; done"
    with start(living, "-d", "--file", "word", "--out", "answer", "-l", "sh", "-c", script, cwd=tmp_path) as command:
        told, _ = command.communicate(timeout=PATIENCE)  # its end is seen while the run goes on
    [run] = runs(living)
    assert run["state"] == "running", living.json("logs")
    assert told.decode().strip() == run["id"]
    living.sh("touch go")
    assert living.call("wait", run["id"]).returncode == 0
    assert text(living.json("logs", run["id"])) == [("stdout", "here")]
    assert (tmp_path / "answer").read_text() == "there\n"


def not_begun(living, code, said, **popen):
    """A run that was to be detached, and whose id reaches nobody: it starts nothing."""
    command = kept.words("run", "-d", living.name, "--", "touch", "begun")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE, check=False,
                          env=box.environment(kept.environment()), **popen)
    assert done.returncode in code and said in done.stderr, done
    assert host.until(lambda: not [one for one in runs(living) if one["state"] == "running"], PATIENCE)
    assert "begun" not in living.sh("ls")


def test_a_run_whose_id_cannot_be_printed_is_not_begun(living):
    with open("/dev/full", "wb") as full:
        not_begun(living, [125], b"No space left", stdout=full)
    [told] = [one for one in runs(living) if "touch" in one["command"]]
    assert told["verdict"] == "sandbox_error", told
    assert "its id could not be told" in text(living.json("logs", told["id"]))[0][1]
    reader, writer = os.pipe()
    os.close(reader)
    not_begun(living, [-signal.SIGPIPE], b"", stdout=writer)
    os.close(writer)
    not_begun(living, [2], b"stdout is closed", preexec_fn=lambda: os.close(1))


@pytest.mark.parametrize("command", ["wait", "kill"])
def test_wait_and_kill_want_one_run_that_is_there(living, command):
    for words, told in [([], b"which run?"), (["a", "b"], b"which run?"), (["r_none"], b"there is no run")]:
        done = living.call(command, *words)
        assert done.returncode == 2 and told in done.err, done


# ---- what a box uses ----------------------------------------------------------------------------

def test_what_a_box_uses_is_told_while_a_run_goes_on(living):
    idle = living.json("stats")
    assert idle["runs"] == 0 and idle["processes"] == 1
    run = detach(living, "--", "sh", "-c", "head -c 50000000 /dev/zero >big; sleep 1000 & i=0; "
                 "while [ $i -lt 200000 ]; do i=$((i+1)); done; echo up; wait")
    assert host.until(lambda: living.json("logs", run)["chunks"], PATIENCE)
    # The kernel gathers this counter from its processors now and then.
    assert host.until(lambda: living.json("stats")["files_bytes"] >= 50000000, PATIENCE)
    busy = living.json("stats")
    assert busy["runs"] == 1 and busy["processes"] >= 3
    assert living.call("stats").out.startswith(b"runs       1 running\n")
    assert busy["files_bytes"] <= busy["memory_bytes"] <= busy["memory_peak_bytes"]
    assert busy["memory_peak_bytes"] <= busy["memory_max_bytes"] and busy["cpu_ms"] > idle["cpu_ms"]
    assert living.call("kill", run).returncode == 0
    living.call("rmfile", "big")
    assert host.until(lambda: living.json("stats")["files_bytes"] < 10000000, PATIENCE)
    assert host.until(lambda: living.json("stats")["processes"] == 1, PATIENCE)
    assert living.json("stats")["memory_peak_bytes"] > 10000000
    said = living.call("stats").out.decode()
    assert said.startswith("runs       0 running\n"), said
    assert re.search(r"^memory     [0-9.]+ (KiB|MiB) of 512 MiB, at most [0-9.]+ MiB so far$", said, re.M), said
    assert re.search(r"^files      [0-9.]+ (B|KiB|MiB) of 256 MiB$", said, re.M) and "CPU time" in said, said
