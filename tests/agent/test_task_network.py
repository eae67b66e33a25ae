# SPDX-License-Identifier: Apache-2.0
"""The network of a task: granted by --net or by a person, for the run at the end alone; S4's scraper
against a local copy of a page."""
import contextlib
import http.server
import json
import signal
import threading

import pytest
import task
from lib import net
from task import Agent, contract, file, rule

NEWS = """<html><body><h1>News</h1>
<a class="title" href="/1">Boxes are cheap</a>
<a class="other" href="/2">Imprint</a>
<a class="title" href="/3">Nobody reads logs</a>
</body></html>
"""

# It dials on every start, whoever starts it: the server's log says in which boxes that could work.
SCRAPER = '''"""Titles of a page: of the address that is given, or of standard input."""
import sys
import urllib.request
from html.parser import HTMLParser


class Titles(HTMLParser):
    """Collects the texts of links of the class "title"."""

    def __init__(self) -> None:
        super().__init__()
        self.titles: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.inside = tag == "a" and ("class", "title") in attrs

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.titles.append(data)
        self.inside = False


def dial() -> None:
    """Tells the server that the program was started."""
    try:
        urllib.request.urlopen("URL/started", timeout=5).read()
    except OSError:
        pass


def main() -> None:
    """Prints a title a line."""
    dial()
    if len(sys.argv) > 1:
        text = urllib.request.urlopen(sys.argv[1], timeout=5).read().decode()
    else:
        text = sys.stdin.read()
    if "<" not in text:
        sys.exit("no page")
    parser = Titles()
    parser.feed(text)
    print("\\n".join(parser.titles))


main()
'''

CASES = [
    {"name": "one title", "class": "normal", "stdin": '<a class="title">A</a>', "expect": {"stdout": "A"}},
    {"name": "no link", "class": "edge", "stdin": "<p>x</p>", "expect": {"stdout": ""}},
    {"name": "no page", "class": "invalid", "stdin": "x", "expect": {"exit_code": "nonzero"}},
    {"name": "many", "class": "stress", "stdin": '<a class="title">A</a>\n', "stdin_repeat": 1000,
     "expect": {"mode": "pattern", "stdout": "A\nA\nA"}},
]

TASK = "a program that prints the titles of a page of news"
TITLES = "Boxes are cheap\nNobody reads logs"


class Online(Agent):
    """On a machine that knows the names of lib.net: one.test is this machine itself."""

    def start(self, *words, before=(), **how):
        hosts = self.place.base / "hosts"
        hosts.write_text("127.0.0.1 localhost\n" + net.NAMES)
        return super().start(*words, before=[*before, *net.command(hosts, [])], **how)


class Site:
    """A server on loopback: host, rules that lead to it, and what was asked of it."""

    def __init__(self):
        self.seen = []
        self.hold = threading.Event()  # a page is answered when it is set
        self.hold.set()
        self.asked = threading.Event()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                site.seen.append(self.path)
                site.asked.set()
                site.hold.wait(task.PATIENCE)
                body = NEWS.encode()
                with contextlib.suppress(ConnectionError):
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.listener.server_port
        self.host = f"one.test:{self.port}"
        # A name does not make an address public: who means this machine lists it.
        self.rules = f"{self.host},127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self.thread = threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self):
        self.hold.set()
        self.listener.shutdown()
        self.thread.join()
        self.listener.server_close()


@pytest.fixture
def site():
    server = Site()
    yield server
    server.close()


def scraper(site, hosts=None, url=None, **words):
    """Rules of a model that writes the scraper."""
    url = url or site.url
    planned = contract("program", files=["titles.py"], hosts=hosts or [site.host], run=[url + "/news"])
    return [rule(planned, system=task.PLANS, **words),
            rule(json.dumps({"cases": CASES}), system=task.CASES, **words),
            rule(file("titles.py", SCRAPER.replace("URL", url)), system=task.CODES, **words),
            rule("It prints titles.", system=task.EXPLAINS, **words)]


def outputs(done):
    return [event["text"].strip() for event in done.events if event["event"] == "output"]


def notes(done):
    return [event["text"] for event in done.events if event["event"] == "note"]


# ---- who grants --------------------------------------------------------------------------------

def test_the_operator_grants_a_host_and_only_the_last_run_has_it(place, site):
    agent = Online(place, scraper(site))
    done = agent.call("--jsonl", "--net", site.rules, TASK, code=0)
    assert done.document["outcome"] == "passed" and done.document["run_failed"] is None
    assert outputs(done) == [TITLES]
    # Every case and every mutant dialled too: none of their boxes had a network.
    assert site.seen == ["/started", "/news"]
    assert done.document["network"] == {"granted": site.rules.split(","), "refused": []}
    assert [event for event in done.events if event["event"] == "network"][0]["granted"] == site.rules.split(",")
    assert any(f"{site.host} (127.0.0.1) was reached" in note for note in notes(done))
    prompts = task.prompts(agent.folder(), "code", "orchestrator")
    assert all(f"it may reach: {site.rules.replace(',', ', ')}. Nothing else." in prompt for prompt in prompts)


def test_a_person_grants_a_host_by_its_name(place, site):
    agent = Online(place, scraper(site))
    done = agent.run(TASK, code=3)
    assert done.document["state"] == "waiting" and site.host in done.document["question"]
    assert site.seen == []
    ended = agent.call("--jsonl", done.document["id"], site.rules, command="runs answer", code=0)
    assert ended.document["network"] == {"granted": site.rules.split(","), "refused": []}
    assert site.seen == ["/started", "/news"] and outputs(ended) == [TITLES]


def test_what_nobody_grants_is_refused_with_a_reason(place, site):
    agent = Online(place, scraper(site))
    done = agent.call("--jsonl", "--ask", "never", "--net", "example.org", TASK, code=0)
    assert site.seen == []
    refusal = {"host": site.host, "reason": "--net does not grant it, and nobody is asked"}
    assert done.document["network"] == {"granted": ["example.org"], "refused": [refusal]}
    told = [event for event in done.events if event["event"] == "network"]
    assert told[0]["refused"] == [refusal] and site.host in told[0]["text"]
    coder = task.prompts(agent.folder(), "code")[0]
    assert f"These hosts cannot be reached: {site.host} (" in coder and "Do without them." in coder


# ---- answers -----------------------------------------------------------------------------------

FETCH = "import urllib.request\nprint(urllib.request.urlopen('URL/news', timeout=5).read().decode().count('title'))\n"


def fetching(site, *hosts, **words):
    """Rules of a model that fetches, and does without when that failed."""
    planned = contract("answer", files=["main.py"], hosts=hosts or [site.host])
    return [rule(planned, system=task.PLANS, **words),
            rule(file("main.py", "print('none')\n"), system=task.SHORT, when="The program failed: it ended"),
            rule(file("main.py", FETCH.replace("URL", site.url)), system=task.SHORT, **words)]


def test_the_program_of_an_answer_fetches_what_it_was_granted(place, site):
    agent = Online(place, fetching(site))
    done = agent.run("--net", site.rules, "how many titles has the page?")
    assert done.document["answer"] == "2" and site.seen == ["/news"]


def test_a_script_that_was_read_in_a_box_without_a_network_has_one(place, site):
    code = "curl -s URL/news | grep -c title\n".replace("URL", site.url)
    agent = Online(place, [rule(contract("answer", language="sh", files=["main.sh"], hosts=[site.host]), system=task.PLANS),
                           rule(file("main.sh", code), system=task.SHORT)])
    done = agent.run("--net", site.rules, "how many titles has the page?")
    assert done.document["answer"] == "2" and site.seen == ["/news"]


def test_a_name_that_was_granted_leads_to_no_private_address(place, site):
    """Names and addresses are decided apart, as `exec --net` does."""
    agent = Online(place, fetching(site))
    done = agent.run("--net", site.host, "how many?")
    assert done.document["answer"] == "none" and site.seen == []
    feedback = task.inputs(agent.folder())[2]["execution_feedback"]
    assert f"{site.host} (127.0.0.1) was refused: not a public address" in feedback


def test_that_a_host_was_refused_is_a_diagnosis(place, site):
    agent = Online(place, fetching(site))
    done = agent.run("--net", "none", "how many titles has the page?")
    assert done.document["answer"] == "none" and done.document["attempts"] == 2
    feedback = task.inputs(agent.folder())[2]["execution_feedback"]
    assert f"These hosts cannot be reached: {site.host} (--net does not grant it" in feedback


def test_what_a_contract_does_not_name_cannot_be_reached_beside_what_was_granted(place, site):
    other = Site()
    try:
        code = FETCH.replace("URL", other.url)
        agent = Online(place, [rule(contract("answer", files=["main.py"], hosts=[site.host]), system=task.PLANS),
                               rule(file("main.py", "print('mended')\n"), system=task.SHORT,
                                    when=f"{other.host} was refused: not listed"),
                               rule(file("main.py", code), system=task.SHORT)])
        done = agent.run("--net", site.rules, "how many?")
        assert done.document["answer"] == "mended" and other.seen == [] and done.document["attempts"] == 2
    finally:
        other.close()


@pytest.mark.parametrize("answer", ["", "no, take the file news.html instead", "example.org", "not SITE"])
def test_an_answer_that_does_not_name_a_host_does_not_grant_it(place, site, answer):
    agent = Online(place, fetching(site))
    answer = answer.replace("SITE", site.host)
    waiting = agent.run("how many?", code=3)
    done = agent.call("--json", waiting.document["id"], answer, command="runs answer", code=0)
    assert done.document["answer"] == "none" and site.seen == []
    assert f"not{site.host}" not in str(done.document["network"])
    refusal = {"host": site.host, "reason": "it was asked for, and not granted"}
    assert done.document["network"]["refused"] == [refusal]
    assert f"Answer: {answer}".strip() in task.prompts(agent.folder(), "code")[0]


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.0/8", "0.0.0.0/0"])
def test_yes_grants_names_and_nothing_that_is_no_public_address(place, site, host):
    agent = Online(place, fetching(site, "example.org", host))
    waiting = agent.run("how many?", code=3)
    assert f"{host}   (no public address)" in waiting.document["question"]
    done = agent.call("--json", waiting.document["id"], "Yes", command="runs answer", code=0)
    assert done.document["network"]["granted"] == ["example.org"]
    (refused,) = done.document["network"]["refused"]
    assert refused["host"] == host and "no public address" in refused["reason"]


@pytest.mark.parametrize("answer", ["yes", "RULES"])
def test_nobody_grants_what_the_operator_denies(place, site, answer):
    """It is not asked for; and who names it all the same gets it refused where it is dialled."""
    agent = Online(place, fetching(site, site.host, "example.org"))
    agent.env["GLOVEBOX_NET_DENY"] = "one.test"
    waiting = agent.run("how many?", code=3)
    assert "example.org" in waiting.document["question"] and "one.test" not in waiting.document["question"]
    answer = answer.replace("RULES", f"example.org,{site.rules}")
    done = agent.call("--json", waiting.document["id"], answer, command="runs answer", code=0)
    assert done.document["answer"] == "none" and site.seen == []
    assert {"host": site.host, "reason": "the operator denies it (net.deny)"} in done.document["network"]["refused"]


def test_net_of_the_operator_himself_does_not_beat_what_he_denies(place, site):
    agent = Online(place, fetching(site))
    agent.env["GLOVEBOX_NET_DENY"] = "127.0.0.1"
    done = agent.run("--net", site.rules, "--ask", "never", "how many?")
    assert done.document["answer"] == "none" and site.seen == []


# ---- lives -------------------------------------------------------------------------------------

def test_a_grant_is_recorded_and_replayed_without_a_network(place, site):
    agent = Online(place, fetching(site))
    first = agent.run("--net", site.rules, "--record", "all.rec", "how many?")
    site.seen.clear()
    agent.env["GLOVEBOX_BACKEND"] = "disabled"
    again = agent.run("--replay", "all.rec", before=["unshare", "-n"])
    assert task.timeless(again.document) == task.timeless(first.document)
    assert again.document["network"]["granted"] == site.rules.split(",") and site.seen == []


def test_a_task_that_is_killed_in_its_last_run_has_the_same_network_when_it_is_resumed(place, site):
    agent = Online(place, fetching(site))
    site.hold.clear()
    process = agent.start("--jsonl", "--net", site.rules, "how many?")
    task_id = json.loads(process.stdout.readline())["name"]
    assert site.asked.wait(task.PATIENCE)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    site.hold.set()
    done = agent.run("--resume", task_id)
    assert done.document["answer"] == "2" and done.document["attempts"] == 1
    assert done.document["network"]["granted"] == site.rules.split(",")
    assert site.seen == ["/news", "/news"]


def test_an_answer_is_remembered_and_asked_for_once(place, site):
    """Killed after the answer: nobody is asked again."""
    agent = Online(place, fetching(site, delay="20ms"))
    waiting = agent.run("how many?", code=3)
    process = agent.start("--jsonl", waiting.document["id"], site.rules, command="runs answer")
    while json.loads(process.stdout.readline())["event"] != "network":
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = agent.run("--resume", waiting.document["id"])
    assert done.document["network"]["granted"] == site.rules.split(",") and site.seen == ["/news"]


# ---- what is wrong -----------------------------------------------------------------------------

def test_bad_rules_are_one_clear_line_before_anything_is_begun(place):
    agent = Agent(place, task.answer_rules("print(1)\n"))
    for rules in ("", "exa mple.org", "*", "example.org:0", "example.org:70000", "nowhere", "a.org,,b.org",
                  "http://example.org/"):
        done = agent.call("--net", rules, "one", code=2)
        task.one_line(done, "--net")
    assert agent.tasks() == []


@pytest.mark.parametrize("way", ["--resume", "--replay"])
def test_a_task_that_was_begun_keeps_its_network(place, way):
    agent = Agent(place, task.answer_rules("print(1)\n"))
    done = agent.call(way, "t_0", "--net", "full", code=2)
    task.one_line(done, "--net", "what it began with")


@pytest.mark.parametrize("host", ["*", "https://example.org/x"])
def test_a_host_that_is_none_goes_back_to_the_planner(place, host):
    right = contract("answer", files=["main.py"])
    agent = Agent(place, [rule(right, system=task.PLANS, when="is no host: say a name"),
                          rule(contract("answer", files=["main.py"], hosts=[host]), system=task.PLANS),
                          rule(file("main.py", "print(1)\n"), system=task.SHORT)])
    done = agent.run("one")
    assert done.document["answer"] == "1" and done.document["network"] is None
