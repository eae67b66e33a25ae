# SPDX-License-Identifier: Apache-2.0
"""Whole tasks at the level of the command line: scripts and servers that play the model's part,
places of their own for state and folders, and what a task leaves.  The boxes are real.
"""
import collections
import contextlib
import http.server
import json
import os
import subprocess
import threading
from pathlib import Path

from lib import place as places

PATIENCE = 120
# Of a task that does not run far ahead of whoever reads its events: what is told behind most of them is longer
# than what a small pipe takes, and nothing is read before it is asked for.
PACED = {"pipesize": 4096, "bufsize": 0}

# How prompts begin: the roles.
PLANS = "You plan"
CASES = "You write test cases"
TESTS = "You write tests for a Python library"
CODES = "You write code"
FIRST = "You write code. Task and contract"
MENDS = "It was tested and is not right yet"
ELSEWISE = "solve the task in another way"
DRAFTS = "one complete file in one code block"
SHORT = "You write a short program"
RULES = "You decide who is wrong"
EXPLAINS = "You explain finished work"

COUNT = """import sys

total = 0
for line in sys.stdin:
    try:
        total += int(line)
    except ValueError:
        sys.exit("not a number")
print(total)
"""

WRONG_COUNT = COUNT.replace("total += int(line)", "total += abs(int(line))")

COUNT_CASES = [
    {"name": "adds all lines", "class": "normal", "stdin": "1\n2\n", "expect": {"stdout": "3"}},
    {"name": "negative numbers count", "class": "normal", "stdin": "5\n-2\n", "expect": {"stdout": "3"}},
    {"name": "nothing is nothing", "class": "edge", "stdin": "", "expect": {"stdout": "0"}},
    {"name": "a word is refused", "class": "invalid", "stdin": "x\n", "expect": {"exit_code": "nonzero"}},
    {"name": "many lines", "class": "stress", "stdin": "1\n", "stdin_repeat": 1000,
     "expect": {"stdout": "1000"}},
]

TASK = "a program that adds the numbers of its lines"


# ---- what a model says ---------------------------------------------------------------------------

def rule(text, **words):
    """One rule of a script (docs/internals/model-script.md); a list repeats its word."""
    lines = ["answer"]
    for word, value in words.items():
        for item in value if isinstance(value, list) else [value]:
            lines.append(f"    {word}: {item}")
    return "\n".join([*lines, "<<<END-OF-ANSWER", text, "END-OF-ANSWER", ""])


def plan(action, **decision):
    return json.dumps({"action": action, "reason": "so it is", **decision})


def contract(kind, **keys):
    keys = {"kind": kind, "language": "python", "summary": "what is wanted", **keys}
    return plan("code", contract=keys)


def program(**keys):
    return contract("program", files=["count.py"], **keys)


def cases(*items):
    return json.dumps({"cases": list(items) or COUNT_CASES})


def ruling(fault):
    return json.dumps({"reason": "worked out from the task", "fault": fault})


def file(path, text, fence="```"):
    return f"File: {path}\n{fence}python\n{text}{fence}\n"


def answer_rules(code, **words):
    """What a short program prints: two calls."""
    return [rule(contract("answer", files=["main.py"]), system=PLANS),
            rule(file("main.py", code), system=SHORT, **words)]


def program_rules(first=COUNT, mended=None, tests=None, planned=None, **words):
    """A program; mended: what the coder says when the first was wrong."""
    rules = [rule(planned or program(), system=PLANS, **words),
             rule(tests or cases(), system=CASES, **words),
             rule(ruling("code"), system=RULES, **words),
             rule("It adds numbers.", system=EXPLAINS, **words)]
    if mended:
        rules.append(rule(file("count.py", mended), system=MENDS, **words))
    rules.append(rule(file("count.py", first), system=CODES, **words))
    return rules


# ---- a model behind HTTP -------------------------------------------------------------------------

Request = collections.namedtuple("Request", "system user headers body")


class Server:
    """An OpenAI-compatible server: say(request) is what it answers, a text or pieces of one; None
    answers nothing more.  A pair (status, bytes) is an answer as it is."""

    def __init__(self, say):
        self.say = say
        self.seen = []
        self.lock = threading.Lock()
        self.url = None

    def asked(self, body, headers):
        texts = {"system": "", "user": ""}
        for message in body.get("messages", []):
            texts[message["role"]] = texts.get(message["role"], "") + str(message["content"])
        request = Request(texts["system"], texts["user"], headers, body)
        with self.lock:
            self.seen.append(request)
        return request

    def prompts(self):
        return [request.system + request.user for request in self.seen]


class ClaudeServer(Server):
    """The same on Anthropic's wire."""

    def asked(self, body, headers):
        blocks = [{"role": "system", "content": block["text"]} for block in body.get("system", [])]
        messages = [*blocks, *body["messages"]]
        request = super().asked({"messages": messages}, headers)._replace(body=body)
        self.seen[-1] = request
        return request


def _handler(server):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.whole(200, b'{"data": [{"id": "m"}]}')

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            said = server.say(server.asked(body, dict(self.headers)))
            with contextlib.suppress(ConnectionError):
                if isinstance(said, tuple):
                    self.whole(*said)
                else:
                    self.stream([said] if isinstance(said, str) else said)

        def whole(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def stream(self, pieces):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            if isinstance(server, ClaudeServer):
                self.speak(pieces)
                return
            for piece in pieces:
                delta = piece if isinstance(piece, dict) else {"content": piece}
                self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 10, "completion_tokens": 10}})
            self.wfile.write(b"data: [DONE]\n\n")

        def speak(self, pieces):
            usage = {"input_tokens": 10, "cache_read_input_tokens": 4}
            self.event({"type": "message_start", "message": {"id": "m", "model": "c", "usage": usage}})
            self.event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
            for piece in pieces:
                delta = {"type": "text_delta", "text": piece}
                self.event({"type": "content_block_delta", "index": 0, "delta": delta})
            self.event({"type": "content_block_stop", "index": 0})
            self.event({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                        "usage": {"output_tokens": 6}})
            self.event({"type": "message_stop"})

        def event(self, value):
            self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")

        def log_message(self, *_):
            pass

    return Handler


@contextlib.contextmanager
def _serving(handler):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.server_port}"
        finally:
            listener.shutdown()
            thread.join()


@contextlib.contextmanager
def model(say):
    """A Server that answers for as long as the block lasts."""
    server = Server(say)
    with _serving(_handler(server)) as url:
        server.url = url + "/v1"
        yield server


@contextlib.contextmanager
def claude(say):
    """The same, as Anthropic answers."""
    server = ClaudeServer(say)
    with _serving(_handler(server)) as url:
        server.url = url
        yield server


@contextlib.contextmanager
def web(results, fails=0):
    """A search server (SearXNG's JSON): yields its address and the queries that it saw, of which it fails the first
    few."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            body = json.dumps({"results": results}).encode()
            self.send_response(200 if len(seen) > fails else 500)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with _serving(Handler) as url:
        yield url, seen


def by_role(**texts):
    """say() of a Server: what each role says, by the name of its prompt's constant here."""
    def say(request):
        for name in ("PLANS", "CASES", "TESTS", "RULES", "EXPLAINS", "MENDS", "ELSEWISE", "DRAFTS", "CODES", "SHORT"):
            if globals()[name] in request.system and name in texts:
                said = texts[name]
                return said(request) if callable(said) else said
        return (500, b'{"error": {"message": "nobody plays this part"}}')

    return say


# ---- running -------------------------------------------------------------------------------------

KEPT = ("HOME", "TMPDIR", "GLOVEBOX_RUN_DIR", "GLOVEBOX_UID_BASE", "ASAN_OPTIONS", "UBSAN_OPTIONS")


class Done:
    """A command that has ended; document: of --json, or the last of --jsonl; None without."""

    def __init__(self, process, out, err):
        self.code = process.returncode
        self.out, self.err = out, err
        self.said = err.decode(errors="replace")
        self.document = self._document()

    def _document(self):
        for text in (self.out, self.out.strip().rpartition(b"\n")[2]):
            with contextlib.suppress(ValueError):
                last = json.loads(text)
                return last.get("document", last) if isinstance(last, dict) else None
        return None

    @property
    def events(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self):
        return f"<exit {self.code}: {self.out[-3000:]!r} stderr {self.said[-3000:]}>"


class Agent:
    """Where tasks are run: a working directory, a state directory, one model."""

    def __init__(self, place, rules=None, server=None, state="state", key=None):
        self.place = place
        self.state = place.base / state
        self.script = place.base / f"{state}.script"
        self.model = ["--model", f"scripted/{self.script}"]
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.env.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", LANG="C.UTF-8",
                        GLOVEBOX_STATE_DIR=str(self.state),
                        # What installs asks an index of its own (installing()), never the machine's.
                        GLOVEBOX_INSTALL="no", GLOVEBOX_CACHE_DIR=str(place.base / "cache"),
                        CONFIGURATION_DIRECTORY=str(place.base / "system"))
        if rules is not None:
            self.write(rules)
        if server is not None:
            provider = "anthropic" if isinstance(server, ClaudeServer) else "openai-compatible"
            self.model = ["--model", f"{provider}/m", "--base-url", server.url]
            self.env[f"{provider.upper().replace('-', '_')}_API_KEY"] = key or "not-a-real-key-0123456789"

    def installing(self, *servers):
        """From these indexes (lib.indexes) it installs what contract and code want."""
        self.env["GLOVEBOX_INSTALL"] = "yes"
        for server in servers:
            self.env.update(server.env())
        return self

    def write(self, rules):
        self.script.write_text("\n".join(rules), encoding="utf-8")

    def words(self, *words, command="run"):
        words = [str(word) for word in words]
        is_new = command == "run" and not {"--resume", "--replay", "--resume_from"} & set(words)
        return [str(places.binary()), *command.split(), *(self.model if is_new else []), *words]

    def start(self, *words, command="run", before=(), **popen):
        popen.setdefault("env", self.env)
        popen.setdefault("cwd", self.place.cwd)
        popen.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([*before, *self.words(*words, command=command)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)

    def call(self, *words, code=None, **how):
        process = self.start(*words, **how)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        done = Done(process, out, err)
        assert code is None or done.code == code, done
        return done

    def run(self, *words, code=0, **how):
        """A task to its end, as a document."""
        return self.call("--json", *words, code=code, **how)

    def tasks(self):
        done = self.call("--json", command="runs list", code=0)
        return json.loads(done.out)["runs"]

    def folder(self, task=None):
        """Of the last task, or of one."""
        found = [run["folder"] for run in self.tasks() if task in (None, run["id"])]
        return Path(found[0])


# ---- what a task leaves --------------------------------------------------------------------------

def inputs(folder):
    """All agent_input.json of a task, in order."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("iteration_*/agent_input.json"))]


def prompts(folder, *agents):
    """Texts that models were asked, of these agents only (folders' names) or of all."""
    found = []
    for path in sorted(folder.glob("iteration_*/agent_input.json")):
        agent = path.parent.name.split("_", 2)[2]
        if not agents or agent in agents:
            asked = json.loads(path.read_text())
            found.append(asked["system"] + asked["prompt"])
    return found


def tree(folder):
    """Every file below, links as they are."""
    return sorted(str(Path(top, name).relative_to(folder))
                  for top, dirs, names in os.walk(folder)
                  for name in [*names, *(d for d in dirs if Path(top, d).is_symlink())])


def timeless(document):
    """Without what differs from one run of the same task to the next."""
    copy = json.loads(json.dumps(document))
    del copy["id"], copy["spent"]["wall_ms"], copy["memory_peak_bytes"]
    for test in copy["tests"]:
        del test["ms"]
    return copy


def one_line(done, *parts):
    """Refused in one clear line, perhaps with a remedy."""
    lines = [line for line in done.said.splitlines() if not line.startswith(("glovebox: resume it",))]
    assert 1 <= len(lines) <= 2 and len(lines[0]) < 1000, done
    assert lines[0].startswith("glovebox: "), done
    assert len(lines) == 1 or lines[1].startswith("  remedy: "), done
    for part in parts:
        assert part in done.said, done
