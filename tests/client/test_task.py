# SPDX-License-Identifier: Apache-2.0
"""glovebox.run() and its kin: the real agent in real boxes, with a scripted model."""
import asyncio
import os
import threading
from pathlib import Path

import glovebox
import pytest
import scripts
from glovebox import aio, events, hybrid
from lib import host, indexes, pace
from lib import ledger as books

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def model(desk, monkeypatch):
    """model(rules) writes the script that answers, and is the setting of it."""
    path = desk.base / "model.script"
    monkeypatch.setenv("GLOVEBOX_MODEL", f"scripted/{path}")

    def write(rules):
        path.write_text("\n".join(rules), encoding="utf-8")
    return write


def gone():
    return host.until(lambda: not books.own_processes(), pace.within(2))


def is_run_begun(event):
    """The last event before the code of an answer runs: waits until a box has it."""
    if event.event != "answered" or event.name != "writing code":
        return False
    return host.until(lambda: any(process.depth > 1 and process.inner_pid not in (None, 1)
                                  for process in host.descendants(os.getpid())), 30)


def test_an_answer(model):
    model(scripts.answer_rules("import math\nprint(math.factorial(20))\n"))
    result = glovebox.run("factorial of 20")
    assert (result.ok, result.state, result.answer) == (True, "done", "2432902008176640000")
    assert result.contract.kind == "answer"
    for key in result.document:
        assert hasattr(result, key), key


def test_a_program_is_built_mended_and_handed_over(model, desk):
    model(scripts.mended_rules())
    stream = glovebox.run_stream("add numbers", out=desk.cwd / "built", timeout=20)
    told = list(stream)
    kinds = [event.event for event in told]
    result = stream.result
    assert (result.outcome, result.tested, result.attempts) == ("passed", True, 2)
    assert (desk.cwd / "built/count.py").read_text() == scripts.COUNT
    assert kinds[0] == "begin" and kinds[-1] == "result" and kinds.count("code") == 2
    assert stream.id == result.id == told[0].name
    first = next(event for event in told if isinstance(event, events.Report))
    assert (first.report["outcome"], first.report["diagnosis"]) == ("failed", "wrong output")
    assert {test.klass for test in result.tests} == {"normal", "edge", "invalid", "stress"}


def test_every_event_that_is_described_has_a_class():
    rows = (ROOT / "docs/events.md").read_text().split("## Events")[1].split("\n## ")[0].splitlines()
    named = [name.strip("` ") for row in rows if row.startswith("| `")
             for name in row.split("|")[1].split(",")]
    assert sorted(named) == sorted(events.KINDS)


def test_an_unknown_event_is_a_plain_event():
    event = events.from_line(b'{"event": "new thing", "x": 1}')
    assert (type(event), event.event, event.raw["x"]) == (events.Event, "new thing", 1)


def test_a_task_that_fails_is_a_result(model):
    model(scripts.program_rules(code=scripts.WRONG_COUNT))
    result = glovebox.run("add numbers", max_attempts=1)
    assert (result.ok, result.outcome) == (False, "failed")
    assert result.reason


def test_a_question_waits_and_is_answered(model):
    model([scripts.rule(scripts.plan(action="finish", explanation="Blue it is.", answer="blue"),
                        system="You plan", when="the blue one"),
           scripts.rule(scripts.plan(action="human", question="Which colour?"), system="You plan")])
    result = glovebox.run("paint it")
    assert (result.is_waiting, result.question, result.outcome) == (True, "Which colour?", None)
    done = glovebox.answer(result.id, "the blue one")
    assert (done.state, done.answer) == ("done", "blue")
    with pytest.raises(glovebox.UsageError):
        glovebox.answer(result.id, "again")


def test_an_answer_that_looks_like_an_option_is_an_answer(model):
    model([scripts.rule(scripts.plan(action="finish", answer="seen"), system="You plan", when="--json"),
           scripts.rule(scripts.plan(action="human", question="Which?"), system="You plan")])
    assert glovebox.answer(glovebox.run("ask me").id, "--json").answer == "seen"


@pytest.fixture
def index(desk, monkeypatch):
    """An index that has the package `halves`, and a cache of its own."""
    with indexes.PythonIndex() as server:
        server.add("halves", text="def half(number):\n    return number // 2\n")
        for name, value in {**server.env(), "GLOVEBOX_CACHE_DIR": str(desk.base / "cache")}.items():
            monkeypatch.setenv(name, value)
        yield server


def test_packages_are_installed_and_told(model, index):
    model(scripts.answer_rules("import halves\nprint(halves.half(84))\n"))
    stream = glovebox.run_stream("half of 84", install=False, packages=["halves"])
    told = [event for event in stream if isinstance(event, events.Packages)]
    assert stream.result.answer == "42" and told[0].failed is None
    assert [package["name"] for package in told[0].packages] == ["halves"]
    assert stream.result.dependencies["packages"] == told[0].packages
    index.close()
    assert glovebox.run("half of 84").dependencies["install"]["cached"] is True


def test_a_network_is_granted_or_refused(model):
    planned = scripts.plan(action="code", contract={"kind": "answer", "language": "python", "summary": "one",
                                                    "files": ["main.py"], "hosts": ["example.org"]})
    model([scripts.rule(planned, system="You plan"), *scripts.answer_rules("print(1)\n")])
    granted = glovebox.run("one", net="example.org:443,example.org").network
    assert granted == {"granted": ["example.org:443", "example.org"], "refused": []}
    stream = glovebox.run_stream("one", net="none")
    told = [event for event in stream if isinstance(event, events.Network)]
    assert told[0].refused == stream.result.network["refused"] and told[0].refused[0]["host"] == "example.org"


def test_a_user_keeps_what_tasks_leave(model):
    box = glovebox.Box.of_user("ada")
    try:
        model(scripts.answer_rules("open('notes', 'a').write('x')\nprint(open('notes').read())\n"))
        assert [glovebox.run("note it", user="ada").answer for _ in range(2)] == ["x", "xx"]
        alone = glovebox.run("note it")
        assert (alone.answer, alone.user) == ("x", None)
        with pytest.raises(glovebox.UsageError, match="--user"):
            glovebox.run("note it", user="../x")
    finally:
        box.remove()


def test_files_reach_the_task(model):
    model(scripts.answer_rules("print(open('data.txt').read())\n"))
    assert glovebox.run("read it", files={"data.txt": "seventeen"}).answer == "seventeen"


def test_a_model_that_refuses_is_a_task_error_that_can_be_resumed(model):
    model([scripts.rule("", error="401 no such key")])
    with pytest.raises(glovebox.TaskError, match="401|key") as caught:
        glovebox.run("factorial of 20")
    assert caught.value.id.startswith("t_")
    model(scripts.answer_rules("print(1)\n"))
    assert glovebox.resume(caught.value.id).answer == "1"


def test_no_model_is_a_usage_error(model, desk, monkeypatch):
    monkeypatch.setenv("GLOVEBOX_MODEL", "scripted/nowhere")
    with pytest.raises(glovebox.UsageError, match="nowhere"):
        glovebox.run("factorial of 20")


def test_closing_a_stream_stops_the_task_which_can_be_resumed(model):
    model(scripts.answer_rules("import time\ntime.sleep(600)\n"))
    with glovebox.run_stream("wait long", timeout=60) as stream:
        for event in stream:
            if is_run_begun(event):
                break
    assert gone()
    with glovebox.resume_stream(stream.id) as again:
        assert (next(again).event, again.id) == ("begin", stream.id)


def test_a_task_that_is_stopped_from_another_thread(model):
    model(scripts.answer_rules("import time\ntime.sleep(600)\n"))
    stream = glovebox.run_stream("wait long", timeout=60)
    stoppers = []
    with pytest.raises(glovebox.TaskCancelled) as caught:
        for event in stream:
            if is_run_begun(event):
                stoppers.append(threading.Thread(target=stream.close))
                stoppers[0].start()
    stoppers[0].join()
    assert caught.value.id == stream.id
    assert gone()


def test_asyncio_runs_and_cancels_tasks(model):
    model(scripts.answer_rules("print(42)\n"))

    async def body():
        seen = []
        result = await aio.run("the answer", on_event=seen.append)
        assert result.answer == "42" and seen[-1].event == "result"
        model(scripts.answer_rules("import time\ntime.sleep(600)\n"))
        begun = asyncio.Event()
        task = asyncio.ensure_future(aio.run(
            "wait", timeout=60, on_event=lambda event: is_run_begun(event) and begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    asyncio.run(body())
    assert gone()


# ---- S1-07 ---------------------------------------------------------------------------------------

def test_S1_07_the_hybrid_agent_answers_with_code_and_without(model):
    model([scripts.rule(scripts.plan(action="finish", answer="Hello to you."), system="You plan",
                        user="greet"),
           *scripts.answer_rules("print(sum(range(1, 101)))\n")])

    async def body():
        agent = hybrid.HybridAgent()
        with pytest.raises(RuntimeError, match="initialize"):
            await agent.run("greet me")
        await agent.initialize()
        talk = await agent.run("greet me")
        code = await agent.run("sum of 1 to 100")
        assert (talk.needed_code, agent.get_final_response(talk)) == (False, "Hello to you.")
        assert (code.needed_code, agent.get_final_response(code)) == (True, "5050")
    asyncio.run(body())


def test_S1_07_the_hybrid_agent_says_what_failed_and_what_it_asks(model):
    async def body():
        agent = hybrid.HybridAgent(max_attempts=1)
        await agent.initialize()
        model(scripts.program_rules(code=scripts.WRONG_COUNT))
        failed = agent.get_final_response(await agent.run("add numbers"))
        model(scripts.program_rules())
        built = agent.get_final_response(await agent.run("add numbers"))
        model([scripts.rule(scripts.plan(action="human", question="How?"), system="You plan")])
        asked = agent.get_final_response(await agent.run("do it"))
        return failed, built, asked
    failed, built, asked = asyncio.run(body())
    assert failed.startswith("failed: ") and len(failed) > len("failed: ")
    assert "It adds numbers." in built and "count.py" in built and scripts.COUNT.strip() in built
    assert "How?" in asked


def test_S1_07_initialize_fails_when_no_box_can_be_built(monkeypatch):
    async def body():
        await hybrid.HybridAgent(backend="disabled").initialize()
    with pytest.raises(glovebox.SandboxError):
        asyncio.run(body())
