# SPDX-License-Identifier: Apache-2.0
"""`glovebox run` and `runs`, told something wrong: one clear line, the remedy, and nothing lost."""
import json
import os

import pytest
import scripts
from calls import call, environment, refused
from scripts import Desk
from test_models import nobody, serving


@pytest.fixture
def desk(place):
    return Desk(place, scripts.answer_rules("print(1)\n"))


@pytest.mark.parametrize("words, part", [
    ([], "what is to be done?"),
    ([""], "the task is empty"),
    ([" \n "], "the task is empty"),
    (["one", "two"], "one TASK only"),
    (["one", "--objective", "two"], "TASK and --objective exclude each other"),
    (["one", "--objective_file", "two"], "TASK and --objective_file exclude each other"),
    (["--objective_file", "missing.txt"], "missing.txt: No such file"),
    ([b"\xff\xfe"], "not UTF-8"),
    (["--json", "--jsonl", "x"], "exclude each other"),
    (["--resume", "t_x", "--replay", "f"], "exclude each other"),
    (["--replay", "f", "--record", "g"], "exclude each other"),
    (["--resume", "t_x", "more"], "takes no other"),
    (["--resume", "t_x", "--file", "f"], "goes with neither"),
    (["--resume", "t_nothing"], "there is no task"),
    (["--continue", "t_nothing", "x"], "there is no task"),
    (["--resume_from", "nowhere"], "nowhere"),
    (["--replay", "nowhere"], "nowhere"),
    (["-l", "pyton", "x"], "did you mean 'python'?"),
    (["--file", "nowhere", "x"], "--file: nowhere"),
    (["--file", "/etc", "x"], "is no regular file"),
    (["--file", "/etc/hostname:../x", "x"], "is no path below"),
    (["--file", "/etc/hostname", "--file", "/etc/hostname", "x"], "two files"),
    (["--candidates", "33", "x"], "at most 32"),
    (["--max-steps", "0", "x"], "--max-steps"),
    (["--ask", "sometimes", "x"], "--ask"),
    (["--out", "", "x"], "--out"),
    (["--model", "scripted/nowhere", "x"], "nowhere"),
    (["--model", "scripted//dev/zero", "x"], "is no regular file"),
    (["--model", "nobody/gpt-x", "x"], "no provider is named 'nobody'"),
    (["--model", "openaii/gpt-x", "x"], "did you mean 'openai'?"),
])
def test_a_wrong_command_line_is_one_clear_line(desk, words, part):
    model = [] if b"--model" in [os.fsencode(w) for w in words] else ["--model", f"scripted/{desk.script}"]
    answer = call(desk.place, "run", *model, *words)
    if answer.returncode == 2 and answer.stdout:
        document = json.loads(answer.stdout)
        assert part in document["error"]["message"]
    else:
        refused(answer, part)
    assert desk.runs() == []
    assert not (desk.place.cwd / "runs").exists()


def test_a_backend_that_is_disabled_begins_no_task(desk):
    refused(call(desk.place, "run", "--model", f"scripted/{desk.script}", "--backend", "disabled", "x"),
            "disabled", code=125)
    assert desk.runs() == []


def test_a_task_comes_from_stdin_from_a_file_and_as_an_option(desk):
    """S4-15: `--objective` wins over `--objective_file`"""
    assert desk.run("-", stdin=b"one\n").stdout == b"1\n"
    (desk.place.cwd / "task.txt").write_text("from a file\n")
    desk.run("--objective_file", "task.txt")
    desk.run("--objective", "as an option", "--objective-file", "task.txt")
    desk.run("--", "-begins with a dash")
    assert [run["objective"] for run in desk.runs()] == [
        "-begins with a dash", "as an option", "from a file\n", "one\n"]


def test_ten_megabytes_are_no_task(desk):
    refused(call(desk.place, "run", "--model", f"scripted/{desk.script}", "-", stdin=b"x" * 10_000_000),
            "1 MiB")
    refused(call(desk.place, "run", "--model", f"scripted/{desk.script}", "-",
                 stdin=b"x" * ((1 << 20) + 1)), "1 MiB", "--file")


def test_a_provider_without_a_key_is_told_with_the_remedy(place):
    refused(call(place, "run", "--model", "anthropic/claude-x", "hello"), "ANTHROPIC_API_KEY")


def test_a_key_with_a_blank_is_refused(place):
    refused(call(place, "run", "hello", env=environment(place, OPENAI_API_KEY="two words")),
            "OPENAI_API_KEY")


def test_an_env_file_that_cannot_be_read_is_named(place):
    (place.cwd / ".env").mkdir()
    refused(call(place, "run", "hello"), ".env")


def test_a_server_that_cannot_be_reached_loses_nothing(place):
    with nobody() as url:
        answer = call(place, "run", "--model", "openai-compatible/m", "--base-url", url, "hello")
    text = answer.stderr.decode()
    assert answer.returncode == 125 and answer.stdout == b""
    assert url.split("/")[2] in text
    lines = [line for line in text.splitlines() if line.startswith("glovebox: ")]
    assert len(lines) == 2 and "glovebox run --resume t_" in lines[1], text
    listed = json.loads(call(place, "runs", "list", "--json").stdout)["runs"]
    assert [run["state"] for run in listed] == ["interrupted"]
    assert url.split("/")[2] in listed[0]["reason"]


def test_a_wrong_name_of_a_model_is_told(place):
    with serving(status=404, body=b'{"error": {"message": "no such model"}}') as (url, _):
        answer = call(place, "run", "--model", "openai-compatible/m", "--base-url", url, "hello")
    assert answer.returncode == 125 and answer.stdout == b""
    assert b"--model MODEL" in answer.stderr
    assert b"Traceback" not in answer.stderr and b"glovebox: " in answer.stderr


def test_a_damaged_database_is_told_and_left_alone(desk):
    state = desk.place.base / "state"
    state.mkdir(mode=0o700)
    (state / "tasks.db").write_bytes(b"this is no database" * 1000)
    before = (state / "tasks.db").read_bytes()
    refused(call(desk.place, "run", "--model", f"scripted/{desk.script}", "hello"), "tasks.db", code=125)
    refused(call(desk.place, "runs", "list"), "tasks.db", code=125)
    refused(call(desk.place, "runs", "replay", "t_1"), "tasks.db", code=125)
    assert (state / "tasks.db").read_bytes() == before


def test_a_finished_task_says_where_its_result_lies(place):
    desk = Desk(place, scripts.answer_rules("print(1)\n"))
    desk.run("one")
    task = desk.runs()[0]
    refused(call(place, "run", "--resume", task["id"]), "has ended (passed)", task["delivered"],
            "--continue")


def test_what_a_task_began_with_cannot_be_changed(place):
    desk = Desk(place, scripts.answer_rules("print(1)\n"))
    desk.run("one")
    refused(call(place, "run", "--resume", "t_", "--candidates", "3"), "--candidates cannot be changed")


def test_a_runs_directory_that_cannot_be_is_told_with_its_remedy(place):
    desk = Desk(place, scripts.answer_rules("print(1)\n"))
    (place.cwd / "runs").write_text("a file")
    model = ["--model", f"scripted/{desk.script}"]
    refused(call(place, "run", *model, "one"), "runs", "remedy: --runs-dir DIR names another place", code=125)
    assert desk.runs() == []
    assert desk.run("--runs-dir", "elsewhere", "one").stdout == b"1\n"
    assert desk.runs()[0]["folder"].startswith(str(place.cwd / "elsewhere" / "run_"))


def test_a_recording_takes_no_file_away(place):
    desk = Desk(place, scripts.answer_rules("print(1)\n"))
    path = place.cwd / "mine.rec"
    path.write_text("mine")
    model = ["--model", f"scripted/{desk.script}"]
    refused(call(place, "run", *model, "--record", "mine.rec", "one"), "mine.rec", "--force")
    refused(call(place, "run", *model, "--record", "nowhere/x.rec", "one"), "nowhere/x.rec")
    assert path.read_text() == "mine" and desk.runs() == []
    desk.run("--record", "mine.rec", "--force", "one")
    assert "command/objective" in path.read_text()


@pytest.mark.parametrize("out", ["dang", "/proc/x", "dang/below", "task.txt"])
def test_a_directory_that_cannot_be_made_is_told_first(place, out):
    (place.cwd / "dang").symlink_to("nowhere/at/all")
    (place.cwd / "task.txt").write_text("")
    desk = Desk(place, scripts.answer_rules("print(1)\n"))
    refused(call(place, "run", "--model", f"scripted/{desk.script}", "--out", out, "one"), out, "name another")
    assert desk.runs() == []


def test_a_directory_is_not_made_before_there_is_something_in_it(place):
    desk = Desk(place, scripts.answer_rules("print(1)\n"))
    refused(call(place, "run", "--model", f"scripted/{desk.script}", "--out", "a/b", "--file", "none", "one"), "none")
    assert not (place.cwd / "a").exists()
    desk.run("--out", "a/b", "one")
    assert (place.cwd / "a/b/main.py").exists()


def test_an_id_that_nobody_has_is_told_with_the_list(place):
    for command in (["run", "--continue", "t_nope", "x"], ["run", "--resume", "t_nope"], ["runs", "show", "nope"]):
        refused(call(place, *command), "there is no task", "glovebox runs list")
    answer = call(place, "runs", "show", "--json", "nope")
    assert json.loads(answer.stdout)["error"]["remedy"] == "glovebox runs list"


def test_a_damaged_recording_is_named(place):
    (place.cwd / "x.rec").write_text("{}\n")
    refused(call(place, "run", "--replay", "x.rec"), "x.rec")


def test_an_error_in_json_is_a_document(place):
    answer = call(place, "run", "--json", "--model", "anthropic/x", "hello")
    document = json.loads(answer.stdout)
    assert answer.returncode == 2 and document["schema"] == 1
    assert "ANTHROPIC_API_KEY" in json.dumps(document["error"])


@pytest.mark.parametrize("words", [["run", "x"], ["runs", "answer", "t_x", "y"], ["runs", "replay", "t_x"]])
@pytest.mark.parametrize("style", [["--json"], ["--jsonl"], ["--json", "--jsonl"]])
def test_a_command_line_that_makes_no_sense_is_refused_in_json_too(place, words, style):
    wrong = [] if len(style) == 2 else ["--nonsense"]
    answer = call(place, *words, *wrong, *style)
    line, = answer.stdout.splitlines()
    document = json.loads(line)
    said = "unknown option '--nonsense'" if wrong else "--json and --jsonl exclude each other"
    assert answer.returncode == 2 and said in document["error"]["message"], answer
    assert document.get("event") == ("error" if "--jsonl" in style else None), answer
    assert answer.stderr.decode().startswith("glovebox: ") and said in answer.stderr.decode(), answer


def test_the_key_never_shows(place):
    key = "sk-secret-0123456789abcdef"
    with serving(status=401, body=f'{{"error": {{"message": "bad key {key}"}}}}'.encode()) as (url, _):
        env = environment(place, OPENAI_API_KEY=key, OPENAI_BASE_URL=url)
        answer = call(place, "run", "--jsonl", "hello", env=env)
    assert answer.returncode == 125
    assert b"key" in call(place, "runs", "list").stdout
    assert key.encode() not in answer.stdout + answer.stderr
