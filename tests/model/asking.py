# SPDX-License-Identifier: Apache-2.0
"""The driver (driver.c) as functions: ask() to the end, asking() to meet it while it asks."""
import contextlib
import json
import os
import subprocess
import tempfile
from pathlib import Path

from lib import place as places

HUNG_S = 120


def driver(name="model_driver", is_plain=False):
    """Of the sanitized build where there is one: what servers send is hostile."""
    build = Path(os.environ.get("GLOVEBOX_BUILD") or places.binary().parent)
    sanitized = build.with_name(build.name + "-asan") / "tests/model" / name
    return build / "tests/model" / name if is_plain or not sanitized.exists() else sanitized


def question(text="Say hello.", system=None, **more):
    messages = [{"role": "system", "text": system}] if system else []
    return {"messages": messages + [{"role": "user", "text": text}], "temperature": 0, "seed": 1, **more}


class Talk:
    """What the driver told, event by event."""

    def __init__(self, events):
        self.events = events

    def of(self, *kinds):
        return [event for event in self.events if event["event"] in kinds]

    @property
    def ends(self):
        """How each request ended."""
        return self.of("answer", "error")

    @property
    def end(self):
        one, = self.ends
        return one

    @property
    def answer(self):
        assert self.end["event"] == "answer", self.end
        return self.end

    @property
    def error(self):
        assert self.end["event"] == "error", self.end
        return self.end

    def heard(self, kind="text"):
        """What a consumer that forgets at "again" has got."""
        text = ""
        for event in self.of(kind, "again"):
            text = "" if event["event"] == "again" else text + event["bytes"]
        return text

    @property
    def peak_kib(self):
        return self.of("end")[0]["peak_kib"]

    @property
    def cpu_us(self):
        return self.of("end")[0]["cpu_us"]


@contextlib.contextmanager
def _started(requests, spec, is_plain):
    plan = {"spec": {"provider": "llamacpp", **spec}, "requests": list(requests)}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        process = subprocess.Popen([driver(is_plain=is_plain), file.name], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with process:
            try:
                yield process
            finally:
                process.kill()


def ask(url, *requests, is_plain=False, **spec):
    """spec: base_url, key, name, provider … of the plan."""
    with _started(requests or [question()], {"base_url": url, **spec}, is_plain) as process:
        # Its stdin stays open: the end of it would cancel.
        out = process.stdout.read()
        errors = process.stderr.read()
        assert process.wait(HUNG_S) == 0, errors.decode(errors="replace")
    talk = Talk([json.loads(line) for line in out.splitlines()])
    assert talk.events[-1]["event"] == "end"
    return talk


class Asking:
    def __init__(self, process):
        self.process = process
        self.events = []

    def expect(self, kind):
        """Reads until an event of that kind."""
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == kind:
                return self.events[-1]
        raise AssertionError(f"no {kind!r} came: {self.events[-3:]} {self.process.stderr.read()}")

    def cancel(self):
        self.process.stdin.close()

    def finish(self):
        self.expect("end")
        assert self.process.wait(HUNG_S) == 0
        return Talk(self.events)


@contextlib.contextmanager
def asking(url, *requests, **spec):
    with _started(requests, {"base_url": url, **spec}, False) as process:
        yield Asking(process)
