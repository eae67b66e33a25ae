# SPDX-License-Identifier: Apache-2.0
"""`run --user NAME`: the last run is in that user's box, which keeps workspace and packages; the judge's boxes are
new ones."""
import fcntl
import json
import pathlib
import signal
import threading
import time

import pytest
import task
from lib import host, indexes, net, pace, pattern
from task import Agent, contract, file, rule
from test_task_network import FETCH, Online, Site

# It tells where it is started: only the last run has the file that an earlier one left.
TALLY = """import pathlib
import sys

book = pathlib.Path("starts")
starts = len(book.read_text()) if book.exists() else 0
book.write_text("x" * (starts + 1))
numbers = sys.stdin.read().split()
try:
    print(sum(map(int, numbers)) + starts)
except ValueError:
    sys.exit("not a number")
"""

USES = "import halves\n\nprint(halves.half(84))\n"
SEES = """import pathlib

names = sorted(path.name for path in pathlib.Path().iterdir() if path.is_file())
try:
    import halves
    names.append("package halves")
except ImportError:
    pass
print(*names, sep=", ")
"""


class Users(Agent):
    """Whose boxes go with the test."""

    def box(self, *words, command, code=0):
        return self.call(*words, command=f"box {command}", code=code)

    def boxes(self):
        return json.loads(self.box("--json", command="list").out or b'{"boxes": []}')["boxes"]

    def directory(self, box):
        return self.state / "boxes" / box["id"]

    def rewrite(self, box, **keys):
        """Other words in the record of a box."""
        record = self.directory(box) / "box.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), **keys}))

    def read(self, user, path):
        return self.box("--user", user, "--", "cat", path, command="run").out.decode()


class UsersOnline(Online, Users):
    pass


@pytest.fixture
def users(place):
    made = []

    def make(rules=None, online=False, **how):
        made.append((UsersOnline if online else Users)(place, rules, **how))
        return made[-1]

    yield make
    if made:
        made[0].call("--all", command="box rm")


@pytest.fixture
def index(place):
    with indexes.PythonIndex() as server:
        server.add("halves", text="def half(number):\n    return number // 2\n")
        server.add("thirds", text="def third(number):\n    return number // 3\n")
        yield server


def answer(code, **keys):
    return [rule(contract("answer", files=["main.py"], **keys), system=task.PLANS),
            rule(file("main.py", code), system=task.SHORT)]


def outputs(done):
    return [event["text"].strip() for event in done.events if event["event"] == "output"]


# ---- the last run ------------------------------------------------------------------------------

def test_the_last_run_of_a_program_is_in_the_users_box_and_no_test_is(users):
    """S0-07: one box for a user, and nobody else's."""
    agent = users(task.program_rules(TALLY))
    first = agent.call("--jsonl", "--user", "ada", task.TASK, code=0)
    assert first.document["outcome"] == "passed" and first.document["user"] == "ada", first
    assert outputs(first) == ["3"] and agent.read("ada", "starts") == "x"
    (box,) = agent.boxes()
    assert box["user"] == "ada"
    # The judge's boxes are new ones: with the file of the first task every case would fail.
    second = agent.call("--jsonl", "--user", "ada", task.TASK, code=0)
    assert second.document["outcome"] == "passed" and outputs(second) == ["4"]
    assert agent.read("ada", "starts") == "xx" and [box["id"] for box in agent.boxes()] == [box["id"]]


def test_another_task_of_the_user_sees_what_earlier_ones_left_and_is_told(users):
    agent = users(answer("open('notes.txt', 'w').write('milk')\nprint('noted')\n"))
    assert agent.run("--user", "ada", "note milk").document["answer"] == "noted"
    agent.write(answer(SEES))
    done = agent.run("--user", "ada", "what is there?")
    assert done.document["answer"] == "main.py, notes.txt"
    (prompt,) = task.prompts(agent.folder(), "code")
    assert "# Files in the user's workspace" in prompt and "notes.txt (4 bytes)" in prompt
    # Nobody else's task has it, nor one that is nobody's.
    assert agent.run("--user", "bob", "what is there?").document["answer"] == "main.py"
    other = agent.run("what is there?").document
    assert other["answer"] == "main.py" and other["user"] is None
    assert sorted(box["user"] for box in agent.boxes()) == ["ada", "bob"]


def test_names_of_files_that_are_long_and_strange_keep_nobody_out(users):
    agent = users(answer("print(1)\n"))
    agent.box("--user", "ada", "--", "python3", "-c",
              "for n in range(200): open(chr(1) * 252 + f'{n:03}', 'w')", command="run")
    assert agent.run("--user", "ada", "one").document["answer"] == "1"
    (prompt,) = task.prompts(agent.folder(), "code")
    assert "# Files in the user's workspace" in prompt and "more\n" in prompt and "\x01" not in prompt


def test_the_limits_of_the_users_box_hold_for_the_task(users):
    agent = users(answer("import time\ntime.sleep(25)\nprint(1)\n"))
    agent.box("--user", "ada", "--timeout", "1s", command="create")
    done = agent.run("--user", "ada", "--max-attempts", "1", "--max-steps", "1", "one", code=1)
    assert done.document["answer"] is None, done.document


def test_limits_of_box_and_task_that_are_not_the_same_are_told_once(users):
    agent = users(answer("import time\ntime.sleep(25)\nprint(1)\n") * 2)
    agent.box("--user", "ada", "--timeout", "2s", "--memory", "900m", command="create")
    done = agent.call("--jsonl", "--user", "ada", "--max-attempts", "2", "one", code=1)
    (note,) = (event["text"] for event in done.events
               if event["event"] == "note" and event["text"].startswith("limits in the box of ada: "))
    assert "--timeout 2 s, as the box has (the task: 30 s)" in note, note
    assert "--memory 512 MiB, as the task has (the box: 900 MiB)" in note and "--disk" not in note
    (told,) = {text for event in done.events if event["event"] == "attempt" and (text := event["text"])}
    assert "2 s" in told and "30 s" not in told, "the failure names the limit that held"
    # A box that the task has made has the task's own.
    agent.write(answer("print(1)\n"))
    done = agent.call("--jsonl", "--user", "bob", "one", code=0)
    assert not [event for event in done.events if event["event"] == "note" and "limits" in event["text"]]


def test_it_is_not_said_to_have_run_where_its_files_could_not_lie(users):
    agent = users(task.program_rules(TALLY))
    agent.box("--user", "ada", "--", "mkdir", "-p", "count.py/x", command="run")
    done = agent.call("--jsonl", "--user", "ada", task.TASK, code=0)
    notes = [event["text"] for event in done.events if event["event"] == "note"]
    assert any("does not lie in the box of ada" in note for note in notes), notes
    assert not any("it ran" in note for note in notes), notes


def test_a_library_lies_in_the_users_box_though_nothing_of_it_is_run(users):
    names = [{"name": "double", "signature": "(number: int) -> int", "raises": ["TypeError"]}]
    code = 'def double(number: int) -> int:\n    """Twice."""\n    if not isinstance(number, int):\n' \
           '        raise TypeError("no number")\n    return 2 * number\n'
    tests = 'import pytest\n\nfrom double import double\n\n' + "".join(
        f"@pytest.mark.{kind}\ndef test_{kind}():\n    assert double({n}) == {2 * n}\n\n"
        for kind, n in (("normal", 2), ("edge", 0), ("stress", 10**30))) + \
        '@pytest.mark.invalid\ndef test_invalid():\n    with pytest.raises(TypeError):\n        double("x")\n'
    agent = users([
        rule(contract("library", files=["double.py"], module="double.py", names=names), system=task.PLANS),
        rule(file("test_double.py", tests), system=task.TESTS), rule(file("double.py", code), system=task.CODES),
        rule("It doubles.", system=task.EXPLAINS)])
    done = agent.run("--user", "ada", "doubles")
    assert done.document["outcome"] == "passed", done
    assert agent.read("ada", "double.py") == code


def test_a_task_that_fails_leaves_nothing_there(users):
    agent = users(task.program_rules(task.WRONG_COUNT))
    done = agent.run("--user", "ada", "--max-attempts", "1", "--max-steps", "1", task.TASK, code=1)
    assert done.document["outcome"] == "failed" and agent.boxes() == []


# ---- packages ----------------------------------------------------------------------------------

def test_packages_and_files_stay_though_the_box_is_made_anew_for_more(users, index):
    agent = users(answer("open('notes.txt', 'w').write('milk')\n" + USES)).installing(index)
    assert agent.run("--user", "ada", "half of 84").document["answer"] == "42"
    agent.write(answer("import thirds\nprint(thirds.third(126), open('notes.txt').read())\n"))
    assert agent.run("--user", "ada", "a third of 126").document["answer"] == "42 milk"
    agent.write(answer(SEES))
    agent.env["GLOVEBOX_INSTALL"] = "no"
    # The box of the user has halves; boxes of the judge have not, and its check is not asked of names in try.
    assert agent.run("--user", "ada", "what is there?").document["answer"] == \
        "main.py, notes.txt, package halves"
    assert len(agent.boxes()) == 1


LEAVES = """import os

os.makedirs("empty/below")
os.makedirs("shut")
open("shut/file", "w").write("kept")
os.chmod("shut", 0o555)
os.symlink("/etc/passwd", "outside")
os.symlink("shut/file", "inside")
os.symlink("nobody", "broken")
os.mkfifo("pipe")
for i in range(MANY):
    os.makedirs(f"many/{i % 100}", exist_ok=True)
    open(f"many/{i % 100}/{i}", "w").write(str(i))
print("left")
"""
FINDS = """import os
import thirds

print(os.listdir("empty/below"), oct(os.stat("shut").st_mode & 0o777), open("inside").read(),
      *(os.readlink(name) for name in ("outside", "inside", "broken")), os.path.lexists("pipe"),
      sum(len(files) for _, _, files in os.walk("many")))
"""


def test_links_and_directories_stay_though_the_box_is_made_anew(users, index):
    """More files than one upload may have, too: a tree of packages in a workspace has tens of thousands."""
    many = pace.count(check=12_000, proof=60_000)
    agent = users(answer(LEAVES.replace("MANY", str(many)))).installing(index)
    agent.box("--user", "ada", "--disk", "400m", "--memory", "600m", command="create")
    assert agent.run("--user", "ada", "leave").document["answer"] == "left"
    agent.write(answer(FINDS))
    done = agent.call("--jsonl", "--user", "ada", "find", code=0)
    assert done.document["answer"] == f"[] 0o555 kept /etc/passwd shut/file nobody False {many}"
    (note,) = (event["text"] for event in done.events if event["event"] == "note" and "made anew" in event["text"])
    assert "1 of the names" in note and "pipes" in note


def test_packages_of_earlier_tasks_that_exclude_those_of_this_one_are_left_out(users, index):
    index.add("base", "1.0")
    index.add("base", "2.0")
    index.add("old", needs=["base<2"])
    index.add("new", needs=["base>=2"])
    agent = users(answer("import old\nprint('old')\n")).installing(index)
    agent.run("--user", "ada", "old")
    agent.write(answer("import new\nprint('new')\n"))
    done = agent.call("--jsonl", "--user", "ada", "new", code=0)
    assert done.document["answer"] == "new"
    assert any("are left out" in event["text"] for event in done.events if event["event"] == "note")


def test_an_index_that_is_away_takes_no_package_from_the_box(users, index):
    agent = users(answer(USES)).installing(index)
    assert agent.run("--user", "ada", "half of 84").document["answer"] == "42"
    (box,) = agent.boxes()
    agent.write(answer("import thirds\nprint(thirds.third(126))\n"))
    assert agent.run("a third of 126").document["answer"] == "42"  # nobody's: thirds alone is in the cache
    index.close()
    done = agent.call("--user", "ada", "a third of 126", code=125)
    assert "the box of ada" in done.said and "left out" not in done.said
    # What the box has already is asked of no index.
    agent.write(answer(USES))
    assert agent.run("--user", "ada", "half of 84").document["answer"] == "42"
    assert [one["id"] for one in agent.boxes()] == [box["id"]]


def test_a_box_that_is_removed_while_its_packages_are_installed_is_made_once_more(users, index):
    agent = users(answer(USES)).installing(index)
    assert agent.run("--user", "ada", "half of 84").document["answer"] == "42"
    agent.write(answer("import thirds\nprint(thirds.third(126))\n"))
    reached, gate = threading.Event(), threading.Event()
    at_once = index.answer

    def slow(path):
        """halves is asked for when the set of the box, and not of the task alone, is installed."""
        if path.startswith("/files/halves"):
            reached.set()
            gate.wait(task.PATIENCE)
        return at_once(path)

    index.answer = slow
    process = agent.start("--json", "--user", "ada", "a third of 126")
    try:
        assert reached.wait(task.PATIENCE)
        agent.box("--user", "ada", command="rm")
    finally:
        gate.set()
    out, err = process.communicate(timeout=task.PATIENCE)
    assert process.returncode == 0 and json.loads(out)["answer"] == "42", (out, err)
    assert [box["user"] for box in agent.boxes()] == ["ada"]


def test_a_box_with_a_run_under_way_is_not_made_anew(users, index):
    agent = users(answer("print(1)\n")).installing(index)
    agent.run("--user", "ada", "one")
    agent.box("--user", "ada", "-d", "--", "sleep", "600", command="run")
    agent.write(answer(USES))
    done = agent.call("--user", "ada", "half of 84", code=125)
    assert "1 runs under way" in done.said and "resume it with" in done.said
    agent.box("--user", "ada", "--all", command="rm", code=None)


# ---- the network -------------------------------------------------------------------------------

def test_the_users_box_has_the_network_of_the_task_and_only_while_it_runs(users, place):
    site = Site()
    try:
        agent = users(answer(FETCH.replace("URL", site.url), hosts=[site.host]), online=True)
        done = agent.run("--user", "ada", "--net", site.rules, "how many titles has the page?")
        assert done.document["answer"] == "2" and site.seen == ["/news"]
        again = agent.run("--user", "ada", "--net", site.rules, "how many titles has the page?")
        assert again.document["answer"] == "2" and len(agent.boxes()) == 1
        site.seen.clear()
        agent.box("--user", "ada", "--", "python3", "main.py", command="run", code=1)
        assert site.seen == []
    finally:
        site.close()


# It sends more than is held on the way, and waits for no answer.
SENDS = pathlib.Path(pattern.__file__).read_text() + """
s = connect("one.test", PORT, False)
send(s, TOTAL)
print("sent")
"""
SENT = 24 << 20


@pytest.mark.parametrize("where", [["--user", "ada"], []], ids=["user's box", "new box"])
def test_what_the_last_run_sent_before_it_ended_arrives(users, where):
    found = []
    with net.serving() as serve:
        server = serve(lambda s: found.append(pattern.exchange(s, 0, True)))
        pattern.narrow(server.socket)
        rules = f"one.test:{server.port},127.0.0.1:{server.port}"
        code = SENDS.replace("PORT", str(server.port)).replace("TOTAL", str(SENT))
        agent = users(answer(code, hosts=[f"one.test:{server.port}"]), online=True)
        done = agent.run(*where, "--net", rules, "send much")
        assert done.document["answer"] == "sent", done
        assert host.until(lambda: found, 60) and found == [f"{SENT} right"]


# ---- lives -------------------------------------------------------------------------------------

@pytest.fixture
def gate(place):
    """A page that the last run waits for."""
    site = Site()
    yield site
    site.close()


def test_a_task_that_is_killed_in_its_last_run_ends_as_it_would_have(users, gate):
    code = "open('count', 'a').write('x')\n" + FETCH.replace("URL", gate.url)
    agent = users(answer(code, hosts=[gate.host]), online=True)
    words = ("--net", gate.rules, "--user", "ada", "how many?")
    whole = agent.run(*words).document
    agent.call("--all", command="box rm", code=0)
    gate.hold.clear()
    gate.asked.clear()
    process = agent.start("--jsonl", *words)
    task_id = json.loads(process.stdout.readline())["name"]
    assert gate.asked.wait(task.PATIENCE)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    gate.hold.set()
    done = agent.run("--resume", task_id)
    assert task.timeless(done.document) == task.timeless(whole)
    assert len(agent.boxes()) == 1
    # The run that was cut short is made again; what was done is not: the task has ended.
    agent.call("--resume", task_id, code=2)
    assert agent.read("ada", "count") == "xx"


def test_a_run_that_was_remembered_is_not_made_again(users):
    """Killed behind the last run, before the end: the review is asked again, the box is not."""
    asked = threading.Event()
    hold = threading.Event()

    def explain(_):
        asked.set()
        hold.wait(task.PATIENCE)
        return "It adds numbers."

    say = task.by_role(PLANS=task.program(), CASES=task.cases(), RULES=task.ruling("code"), EXPLAINS=explain,
                       CODES=file("count.py", TALLY))
    with task.model(say) as server:
        agent = users(server=server)
        process = agent.start("--jsonl", "--user", "ada", task.TASK)
        task_id = json.loads(process.stdout.readline())["name"]
        assert asked.wait(task.PATIENCE)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        hold.set()
        done = agent.call("--jsonl", "--resume", task_id, code=0)
        assert done.document["outcome"] == "passed" and agent.read("ada", "starts") == "x"
        assert done.document["user"] == "ada"


def test_it_is_recorded_and_replayed_without_a_box(users):
    agent = users(answer("open('starts', 'a').write('x')\nprint(1)\n"))
    first = agent.run("--user", "ada", "--record", "all.rec", "one")
    agent.env["GLOVEBOX_BACKEND"] = "disabled"
    again = agent.run("--replay", "all.rec", before=["unshare", "-n"])
    del agent.env["GLOVEBOX_BACKEND"]
    assert task.timeless(again.document) == task.timeless(first.document)
    assert again.document["user"] == "ada" and agent.read("ada", "starts") == "x"


def test_a_kill_while_the_box_is_made_anew_loses_no_file(users, index):
    agent = users(answer("open('notes.txt', 'w').write('milk')\nprint('noted')\n")).installing(index)
    agent.run("--user", "ada", "note milk")
    for n in range(pace.count(check=2, proof=40)):
        # Another set each time, from the cache after the first round: the box has to be made anew.
        code = USES if n % 2 else "import thirds\nprint(thirds.third(126))\n"
        agent.write(answer(code))
        process = agent.start("--jsonl", "--user", "ada", "42")
        kinds = [""]
        while kinds[-1] not in ("packages", "result"):
            kinds.append(json.loads(process.stdout.readline())["event"])
        process.stdout.read(1) if n % 3 == 2 else time.sleep(0.01 * n)  # any moment will do
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert agent.read("ada", "notes.txt") == "milk"
    assert agent.run("--user", "ada", "42").document["answer"] == "42"
    assert len(agent.boxes()) == 1 and agent.read("ada", "notes.txt") == "milk"


def test_a_box_that_was_not_filled_is_nobodys_whatever_the_clock_says(users):
    agent = users(answer("open('notes.txt', 'w').write('milk')\nprint('noted')\n"))
    agent.run("--user", "ada", "note milk")
    (whole,) = agent.boxes()
    agent.box("--user", "bob", command="create")
    (half,) = (box for box in agent.boxes() if box["user"] == "bob")
    # As a task leaves it that was killed while it filled a new box, with a clock that was set back before.
    agent.rewrite(half, user="ada", created_ms=1)
    (agent.directory(half) / "filling").touch()
    assert agent.read("ada", "notes.txt") == "milk"
    agent.write(answer(SEES))
    assert agent.run("--user", "ada", "what is there?").document["answer"] == "main.py, notes.txt"
    assert [box["id"] for box in agent.boxes()] == [whole["id"]]


def test_a_box_that_is_made_anew_keeps_its_limits_and_is_whole(users, index):
    agent = users(answer(USES)).installing(index)
    agent.box("--user", "ada", "--memory", "300m", "--pids", "77", command="create")
    (old,) = agent.boxes()
    before = json.loads((agent.directory(old) / "box.json").read_text())
    assert agent.run("--user", "ada", "half of 84").document["answer"] == "42"
    (new,) = agent.boxes()
    after = json.loads((agent.directory(new) / "box.json").read_text())
    assert new["id"] != old["id"] and not (agent.directory(new) / "filling").exists()
    changed = {key for key in before if before[key] != after.get(key)}
    assert not changed & {"memory_bytes", "pids", "disk_bytes", "wall_ms", "workdir"}, changed
    assert (after["memory_bytes"], after["pids"]) == (300 << 20, 77)


def awaited(path):
    """Until somebody waits for the lock of the file."""
    inode = f":{path.stat().st_ino} "
    end = time.monotonic() + task.PATIENCE
    while not any("->" in line and inode in line for line in pathlib.Path("/proc/locks").read_text().splitlines()):
        assert time.monotonic() < end, "nobody waits"
        time.sleep(0.02)


def test_a_box_that_somebody_else_makes_meanwhile_is_the_one(users):
    agent = users(answer("print(len(open('main.py').read()))\n"))
    agent.box("--user", "bob", command="create")
    (box,) = agent.boxes()
    path = agent.state / "boxes" / ".lock"
    with path.open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = agent.start("--json", "--user", "ada", "how long?")
        awaited(path)
        agent.rewrite(box, user="ada")
    out, err = process.communicate(timeout=task.PATIENCE)
    assert process.returncode == 0, (out, err)
    assert [one["id"] for one in agent.boxes()] == [box["id"]]


def test_two_tasks_of_a_user_at_once_take_turns(users):
    agent = users(answer("import time\nopen('log', 'a').write('<')\ntime.sleep(0.3)\nopen('log', 'a').write('>')\n"
                         "print('done')\n"))
    both = [agent.start("--json", "--user", "ada", f"task {n}") for n in range(3)]
    for process in both:
        out, err = process.communicate(timeout=task.PATIENCE)
        assert process.returncode == 0, (out, err)
    assert agent.read("ada", "log") == "<><><>" and len(agent.boxes()) == 1


# ---- what is wrong -----------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["", "-x", ".", "../etc", "a b", "a/b", "x" * 64, "a\nb"])
def test_a_bad_name_is_one_clear_line_before_anything_is_begun(users, name):
    agent = users(answer("print(1)\n"))
    done = agent.call(f"--user={name}", "one", code=2)
    task.one_line(done, "--user")
    assert agent.tasks() == [] and agent.boxes() == []


@pytest.mark.parametrize("options, words", [
    (["--net", "example.org"], "rules or ports of its own"),
    (["--port", "0:3000"], "rules or ports of its own"),
])
def test_a_box_that_cannot_be_a_tasks_is_refused_before_anything_is_begun(users, options, words):
    agent = users(answer("print(1)\n"))
    agent.box("--user", "ada", *options, command="create")
    done = agent.call("--user", "ada", "one", code=2)
    task.one_line(done, words, "box rm --user ada")
    assert agent.tasks() == []


def test_a_task_that_was_begun_keeps_its_user(users):
    agent = users(answer("print(1)\n"))
    done = agent.call("--resume", "t_x", "--user", "ada", code=2)
    task.one_line(done, "--user")
