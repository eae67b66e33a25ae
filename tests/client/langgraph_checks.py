# SPDX-License-Identifier: Apache-2.0
"""Checks of glovebox.langchain and glovebox.graph with the real packages; see checking.py and
test_langgraph.py.  GLOVEBOX_MODEL names the script that answers."""
import asyncio
import contextlib
import json
import os
import shutil
import time
from pathlib import Path

import scripts
from lib import indexes
from checking import run_here
from glovebox import graph
from glovebox.graph import make_graph
from glovebox.langchain import adde_tools, code_tool, describe, task_tool
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

ASKING = [
    scripts.rule(scripts.plan(action="finish", answer="blue"), system="You plan", when="the blue one"),
    scripts.rule(scripts.plan(action="human", question="Which colour?"), system="You plan"),
]


def model(rules):
    Path(os.environ["GLOVEBOX_MODEL"].split("/", 1)[1]).write_text("\n".join(rules))


def children():
    """A thread that started one may be gone by the time it is looked at."""
    found = []
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(OSError):
            found += (task / "children").read_text().split()
    return found


# ---- tools ---------------------------------------------------------------------------------------

def a_tool_tells_the_model_how_a_program_ended_check(here):
    tool = code_tool(timeout=5)
    assert tool.name == "run_code"
    assert set(tool.args) == {"code", "language", "stdin"}
    message = tool.invoke({"type": "tool_call", "id": "1", "name": "run_code",
                           "args": {"code": "print(input())\nraise SystemExit(3)", "stdin": "x"}})
    assert isinstance(message, ToolMessage)
    assert message.content == "verdict: nonzero\nexit code: 3\nstdout:\nx\n", message
    assert message.artifact.exit_code == 3
    assert "hint: " in tool.invoke({"code": "while True: pass"})


def a_model_is_told_what_its_program_has_check(here):
    def told(**options):
        return code_tool(**options).args["code"]["description"]

    assert told() == "The whole program. It has no network and it starts with no files."
    assert "may use the network and" in told(net="full") and "may reach a.test:80 and" in told(net="a.test:80")
    assert "finds the files a, b" in told(files={"b": "1", "a": "2"})
    assert "the caller's files" in told(workspace=here) and "Installed: x==1." in told(packages=["x==1"])


def S2_30_the_tools_of_adde_are_tools_of_a_model_check(here):
    tools = {tool.name: tool for tool in adde_tools()}
    assert len(tools) == 11 and all(name.startswith("adde_") for name in tools)
    assert all(tool.description and "bin_path" not in tool.args for tool in tools.values())
    made = json.loads(tools["adde_create_runtime_env"].invoke({"image": "host"}))
    box = {"container_id": made["container_id"]}
    ran = tools["adde_execute_code_block"].invoke(
        {**box, "filename": "main.sh", "code_content": "echo $((6 * 7))"})
    assert json.loads(ran)["log"]["stdout"] == "42\n", ran
    assert json.loads(tools["adde_get_container_logs"].invoke(box))["log"]["stdout"] == "42\n"
    assert json.loads(tools["adde_cleanup_env"].invoke(box)) == {"ok": True}
    shutil.rmtree(made["workspace"])  # it has a file, so it stays
    assert box["container_id"] in tools["adde_execute_code_block"].invoke(
        {**box, "filename": "main.sh", "code_content": ""})
    assert [tool.name for tool in adde_tools(["pull_image"])] == ["adde_pull_image"]
    try:
        adde_tools(["format_disk"])
    except ValueError as why:
        assert "format_disk" in str(why)
    else:
        raise AssertionError("taken")


def what_a_model_asks_wrongly_is_told_to_it_check(here):
    assert "cobol" in code_tool().invoke({"code": "x", "language": "cobol"})
    assert "say one of sh" in code_tool(languages=["sh"]).invoke({"code": "1"})


def a_long_output_is_cut_for_the_model_check(here):
    message = code_tool().invoke({"type": "tool_call", "id": "1", "name": "run_code",
                                  "args": {"code": "print('a' * 10**6 + 'end')"}})
    assert len(message.content) < 10000 and message.content.endswith("end\n")
    assert "characters left out" in message.content
    assert len(message.artifact.stdout) == 10**6 + 4
    assert describe(message.artifact) == message.content


def cancelling_a_tool_kills_its_run_check(here):
    async def body():
        tool = code_tool()
        call = asyncio.ensure_future(tool.ainvoke({"code": "import time\ntime.sleep(600)"}))
        while not children():
            await asyncio.sleep(0.01)
        call.cancel()
        try:
            await call
        except asyncio.CancelledError:
            assert not children()
            return
        raise AssertionError("not cancelled")
    asyncio.run(body())


def a_task_tool_hands_over_the_answer_check(here):
    model(scripts.answer_rules("print(42)\n"))
    assert "answer: 42" in task_tool().invoke({"task": "the answer"})
    assert "answer: 42" in asyncio.run(task_tool().ainvoke({"task": "the answer"}))
    model(ASKING)
    assert task_tool().invoke({"task": "paint"}) == "question: Which colour?"


def a_tool_node_runs_the_tool_check(here):
    class Model:
        def __call__(self, state):
            if isinstance(state["messages"][-1], ToolMessage):
                return {"messages": [AIMessage("it says " + state["messages"][-1].content)]}
            call = {"name": "run_code", "args": {"code": "print(6 * 7)"}, "id": "1"}
            return {"messages": [AIMessage("", tool_calls=[call])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", Model())
    builder.add_node("tools", ToolNode([code_tool()]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    done = builder.compile().invoke({"messages": [("user", "what is it?")]})
    assert "42" in done["messages"][-1].content


# ---- the graph -----------------------------------------------------------------------------------

def S0_05_nodes_follow_the_task_check(here):
    model(scripts.mended_rules())
    nodes, events = [], []
    for mode, piece in make_graph().stream({"task": "add numbers"}, stream_mode=["updates", "custom"]):
        if mode == "custom":
            events.append(piece["event"])
        else:
            nodes += piece
    assert nodes == ["analyse", "generate", "dependencies", "execute", "debug", "generate",
                     "dependencies", "execute", "deliver"], nodes
    assert events[0] == "begin" and events[-1] == "result", events


def S0_09_the_state_has_the_packages_that_were_installed_check(here):
    with indexes.PythonIndex() as index:
        index.add("halves", text="def half(number):\n    return number // 2\n")
        os.environ.update(index.env(), GLOVEBOX_CACHE_DIR=str(Path(here) / "cache"))
        model(scripts.answer_rules("import halves\nprint(halves.half(84))\n"))
        done = make_graph().invoke({"task": "half of 84"})
        assert done["answer"] == "42", done
        assert [(package["name"], package["version"]) for package in done["packages"]] == [("halves", "1.0")]


def a_task_may_come_as_a_message_and_a_thread_goes_on_check(here):
    async def body():
        compiled = make_graph(checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "1"}}
        model(scripts.answer_rules("print(1)\n"))
        first = await compiled.ainvoke({"messages": [("user", "say one")]}, config)
        model(scripts.answer_rules("print(2)\n"))
        second = await compiled.ainvoke({"messages": [("user", "say two")]}, config)
        assert (first["answer"], second["answer"]) == ("1", "2")
        assert [message.content for message in second["messages"]] == ["say one", "1", "say two", "2"]
        assert second["document"]["objective"] == "say two"
    asyncio.run(body())


def S4_11_a_question_is_an_interrupt_check(here):
    model(ASKING)
    for answer in ("the blue one", {"answer": "the blue one"}):
        compiled = make_graph(checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "1"}}
        asked = compiled.invoke({"task": "paint"}, config)
        assert asked["__interrupt__"][0].value["question"] == "Which colour?"
        done = compiled.invoke(Command(resume=answer), config)
        assert (done["answer"], done["outcome"], done["question"]) == ("blue", "passed", None)


def a_stream_that_nobody_takes_up_is_stopped_and_resumed_check(here):
    """As after a crash between two nodes: the process is gone, the checkpoint is there."""
    graph.IDLE_S = 0.05
    model(scripts.mended_rules())
    compiled = make_graph(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    for _ in compiled.stream({"task": "add numbers"}, config, interrupt_after=["generate"]):
        pass
    while children():
        time.sleep(0.02)
    graph.IDLE_S = 60.0
    assert compiled.invoke(None, config)["outcome"] == "passed"


def cancelling_the_graph_stops_the_task_check(here):
    async def body():
        model(scripts.answer_rules("import time\ntime.sleep(600)\n"))
        running = asyncio.ensure_future(make_graph(timeout=60).ainvoke({"task": "wait"}))
        while not children():
            await asyncio.sleep(0.01)
        running.cancel()
        try:
            await running
        except asyncio.CancelledError:
            assert not children()
            return
        raise AssertionError("not cancelled")
    asyncio.run(body())


def errors_come_through_check(here):
    for wrong, said in (({}, "say what is wanted"), ({"task": "x"}, "nowhere")):
        try:
            make_graph(model="scripted/nowhere").invoke(wrong)
        except ValueError as why:
            assert said in str(why), why
        else:
            raise AssertionError(wrong)
    assert not children()


if __name__ == "__main__":
    run_here(globals())
