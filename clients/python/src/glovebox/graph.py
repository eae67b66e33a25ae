# SPDX-License-Identifier: Apache-2.0
"""The agent of glovebox as a LangGraph graph: `code_agent`, or make_graph() with options.

    START -> analyse -> generate -> dependencies -> execute -> deliver -> END
               |  ^         ^                          |
               v  |         +-------- debug <----------+
              human

`glovebox run --jsonl` does the work and tells events; a node follows them until the one that opens
another node's part.  Where an event leads is a row of OPENS.  Between two nodes the stream waits in
`_waiting`, for at most IDLE_S seconds: then, and after a crash, the next node resumes the task by its
id, and the task does nothing twice.  A question for a person is an interrupt; what the graph is
resumed with is the answer.

State in: `task`, or `messages` whose last is a person's.  All events go to the stream mode "custom".
"""
from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, TypedDict, Union

try:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
    from langchain_core.runnables import RunnableLambda
    from langgraph.config import get_stream_writer
    from langgraph.graph import END, START, StateGraph
    from langgraph.graph.message import add_messages
    from langgraph.types import interrupt
    from typing_extensions import Annotated
except ImportError as missing:
    raise ImportError("glovebox.graph needs the package langgraph") from missing

from . import _request, _task
from ._task import RunOptions, TaskStream
from ._thread import in_thread
from .events import Event

IDLE_S = 60.0
# A task has 25 steps and 5 attempts in each unless told otherwise; an attempt takes four nodes.
RECURSION_LIMIT = 25 * 5 * 4 + 100


class State(TypedDict, total=False):
    """What a run of the graph knows.  `document` is that of docs/events.md."""

    messages: Annotated[List[BaseMessage], add_messages]
    task: str
    running: Optional[Dict[str, str]]
    contract: Optional[Dict[str, Any]]
    packages: List[Any]
    files: List[Dict[str, str]]
    report: Optional[Dict[str, Any]]
    diagnosis: Optional[str]
    attempts: List[str]
    question: Optional[str]
    outcome: Optional[str]
    answer: Optional[str]
    explanation: Optional[str]
    document: Optional[Dict[str, Any]]
    next: str


def _opened_by_attempt(raw: Any) -> str:
    return "generate" if (raw.get("number") or 1) == 1 else "debug"


def _opened_by_result(raw: Any) -> str:
    return "human" if raw["document"]["state"] == "waiting" else "deliver"


# event -> the node that it opens
OPENS: Dict[str, Callable[[Any], str]] = {
    "step": lambda raw: "analyse",
    "contract": lambda raw: "generate",
    "attempt": _opened_by_attempt,
    "code": lambda raw: "dependencies",
    "result": _opened_by_result,
}


FOLLOWING = ("analyse", "generate", "dependencies", "execute")
OPENED = ["analyse", "generate", "dependencies", "execute", "debug", "deliver", "human"]
# What is told while packages are installed; whatever comes next is of the run.
INSTALLING = ("code", "installing", "note")


# ---- streams between two nodes -------------------------------------------------------------------

class _Parked(NamedTuple):
    stream: TaskStream
    timer: threading.Timer


class _Waiting:
    """Streams by the id of their task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parked: Dict[str, _Parked] = {}

    def park(self, id: str, stream: TaskStream) -> None:
        timer = threading.Timer(IDLE_S, self._expire, [id])
        timer.daemon = True
        with self._lock:
            self._parked[id] = _Parked(stream, timer)
        timer.start()

    def take(self, id: str) -> Optional[TaskStream]:
        with self._lock:
            parked = self._parked.pop(id, None)
        if parked is None:
            return None
        parked.timer.cancel()
        return parked.stream

    def _expire(self, id: str) -> None:
        stream = self.take(id)
        if stream is not None:
            stream.close()


_waiting = _Waiting()


def _text_of(state: State) -> str:
    messages = state.get("messages") or []
    if messages and isinstance(messages[-1], HumanMessage):
        content = messages[-1].content
        return content if isinstance(content, str) else messages[-1].text
    if not state.get("task"):
        raise ValueError("say what is wanted: 'task', or a message of a person's")
    return state["task"]


def _open_stream(state: State, node: str, options: RunOptions) -> TaskStream:
    """The task that runs already, or a new one at the beginning of the graph."""
    running = state.get("running")
    text = _text_of(state)
    if running is not None and (node != "analyse" or running["task"] == text):
        return _waiting.take(running["id"]) or _resume(running["id"], options)
    return TaskStream(_task.begin_call(text, options), _request.folder(options))


def _resume(id: str, options: RunOptions) -> TaskStream:
    """Task, files, budget and language are those that it was begun with."""
    kept = {name: value for name, value in options.items()
            if name in _request.BoxOptions.__annotations__ or name in ("model", "base_url")}
    return TaskStream(_task.resume_call(id, kept), _request.folder(options))  # type: ignore[arg-type]


# ---- one node ------------------------------------------------------------------------------------

class _Part:
    """The part of a task that one node follows."""

    def __init__(self, node: str, state: State):
        self.node = node
        self.state = state
        self.is_over = False
        self.update: Dict[str, Any] = {}

    def take(self, event: Event) -> None:
        raw = event.raw
        if event.event in TAKEN:
            TAKEN[event.event](self.update, raw)
        opened = OPENS[event.event](raw) if event.event in OPENS else self.node
        if opened != self.node:
            self.is_over = True
            self.update["next"] = opened
        elif self.node == "dependencies" and event.event not in INSTALLING:
            self.is_over = True
            self.update["next"] = "execute"
        if event.event == "begin":
            self.update["running"] = {"id": raw["name"], "task": _text_of(self.state)}

    @property
    def id(self) -> Optional[str]:
        running = self.update.get("running") or self.state.get("running")
        return running["id"] if running else None


def _take_document(update: Dict[str, Any], raw: Any) -> None:
    update["document"] = raw["document"]
    update["question"] = raw["document"]["question"]


TAKEN: Dict[str, Callable[[Dict[str, Any], Any], None]] = {
    "contract": lambda update, raw: update.update(contract=raw["contract"]),
    "packages": lambda update, raw: update.update(packages=raw["packages"] or []),
    "code": lambda update, raw: update.update(files=raw["files"]),
    "report": lambda update, raw: update.update(report=raw["report"]),
    "attempt": lambda update, raw: update.update(diagnosis=raw["text"] or None),
    "result": _take_document,
}


def _writer() -> Callable[[Any], None]:
    try:
        return get_stream_writer()
    except RuntimeError:  # not inside a graph, or asyncio before Python 3.11
        return lambda event: None


def _leave(part: _Part, stream: TaskStream) -> Dict[str, Any]:
    """After the last event the stream has nothing more to tell."""
    if part.update.get("document") is not None or part.id is None:
        stream.close()
    else:
        _waiting.park(part.id, stream)
    return part.update


def _follow(node: str, options: RunOptions) -> Any:
    """The node, for both ways of calling a graph."""

    def follow(state: State) -> Dict[str, Any]:
        part, write = _Part(node, state), _writer()
        stream = _open_stream(state, node, options)
        try:
            while not part.is_over:
                event = next(stream)
                write(dict(event.raw))
                part.take(event)
            return _leave(part, stream)
        except BaseException:
            stream.close()
            raise

    async def afollow(state: State) -> Dict[str, Any]:
        part, write = _Part(node, state), _writer()
        opened: List[TaskStream] = []

        def open_stream() -> None:
            opened.append(_open_stream(state, node, options))

        try:
            await in_thread(open_stream, lambda: None)
            while not part.is_over:
                event = await in_thread(lambda: next(opened[0]), opened[0].signal_stop)
                write(dict(event.raw))
                part.take(event)
            return await in_thread(lambda: _leave(part, opened[0]), lambda: None)
        except BaseException:
            if opened:
                await in_thread(opened[0].close, lambda: None)
            raise

    return RunnableLambda(follow, afunc=afollow, name=node)


def _debug(state: State) -> State:
    """Why the code is written once more; the agent of glovebox tells it to the model."""
    return {"attempts": [*(state.get("attempts") or []), state.get("diagnosis") or ""]}


def _human(options: RunOptions) -> Any:
    def answered(state: State, answer: Any) -> State:
        running = state.get("running")
        assert running is not None
        text = answer.get("answer", "") if isinstance(answer, dict) else answer
        kept: Any = {name: value for name, value in options.items()
                     if name in _task.AnswerOptions.__annotations__
                     and name not in ("record", "force")}
        _waiting.park(running["id"], TaskStream(
            _task.answer_call(running["id"], str(text), kept), _request.folder(options)))
        return {"question": None, "document": None}

    def ask(state: State) -> Any:
        running = state.get("running") or {}
        return interrupt({"question": state.get("question"), "id": running.get("id")})

    def human(state: State) -> State:
        return answered(state, ask(state))

    async def ahuman(state: State) -> State:
        answer = ask(state)
        return await in_thread(lambda: answered(state, answer), lambda: None)

    return RunnableLambda(human, afunc=ahuman, name="human")


def _deliver(state: State) -> State:
    document = state.get("document") or {}
    said = document.get("answer") or document.get("explanation") or document.get("reason") or ""
    return {"outcome": document.get("outcome"), "answer": document.get("answer"),
            "explanation": document.get("explanation"), "files": document.get("files") or [],
            "running": None, "messages": [AIMessage(said)]}


def _route(state: State) -> str:
    return state["next"]


def make_graph(*, checkpointer: Any = None, **options: Any) -> Any:
    """The compiled graph; options are those of glovebox.run().  Questions of a task need a
    checkpointer; a server brings its own."""
    _request.check_names(options, RunOptions)
    given: Union[RunOptions, Any] = options
    graph = StateGraph(State)
    for node in FOLLOWING:
        graph.add_node(node, _follow(node, given))
    graph.add_node("debug", _debug)
    graph.add_node("human", _human(given))
    graph.add_node("deliver", _deliver)
    graph.add_edge(START, "analyse")
    for node in FOLLOWING:
        graph.add_conditional_edges(node, _route, OPENED)
    graph.add_edge("debug", "generate")
    graph.add_edge("human", "analyse")
    graph.add_edge("deliver", END)
    compiled = graph.compile(checkpointer=checkpointer, name="code_agent")
    return compiled.with_config(recursion_limit=RECURSION_LIMIT)


code_agent = make_graph()
