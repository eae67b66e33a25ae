# SPDX-License-Identifier: Apache-2.0
"""What a task tells: the events and the document of docs/events.md, as dataclasses.

Every event is an Event: `event` is its name and `raw` the object it came as.  An event that this
release does not know is a plain Event.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Type, Union

from . import _decode as d
from .errors import ProtocolError

SCHEMA = 1


# ---- the document --------------------------------------------------------------------------------

@dataclass(frozen=True)
class Spent:
    """So far; `dollars` is None where a price is not known."""

    calls: int = d.key(d.integer)
    tokens: int = d.key(d.integer)
    dollars: Optional[float] = d.key(d.optional(d.number))
    wall_ms: float = d.key(d.number)


@dataclass(frozen=True)
class TextFile:
    path: str = d.key(d.text)
    text: str = d.key(d.text)


@dataclass(frozen=True)
class Contract:
    """What was agreed with the model that plans."""

    kind: str = d.key(d.text)
    language: Optional[str] = d.key(d.optional(d.text), None)
    summary: str = d.key(d.text, "")
    files: List[str] = d.key(d.many(d.text), [])
    module: Optional[str] = d.key(d.optional(d.text), None)
    names: List[Any] = d.key(d.many(d.anything), [])
    command: List[str] = d.key(d.many(d.text), [])
    examples: List[Any] = d.key(d.many(d.anything), [])
    packages: List[Any] = d.key(d.many(d.anything), [])
    hosts: List[Any] = d.key(d.many(d.anything), [])
    run: List[str] = d.key(d.many(d.text), [])
    assumptions: List[str] = d.key(d.many(d.text), [])


@dataclass(frozen=True)
class Test:
    """`klass` is normal, edge, invalid or stress; `result` is None when it was not run."""

    __test__ = False  # pytest would collect it by its name

    id: str = d.key(d.text)
    klass: str = d.key(d.text, name="class")
    origin: str = d.key(d.text)
    withdrawn: bool = d.key(d.boolean, False)
    together: bool = d.key(d.boolean, False)
    result: Optional[str] = d.key(d.optional(d.text), None)
    message: Optional[str] = d.key(d.optional(d.text), None)
    ms: Optional[float] = d.key(d.optional(d.number), None)


@dataclass(frozen=True)
class TaskResult:
    """Where a task stands: `state` is done, or waiting with a `question`.  See docs/events.md."""

    schema: int = d.key(d.integer)
    id: str = d.key(d.text)
    objective: str = d.key(d.text)
    state: str = d.key(d.text)
    question: Optional[str] = d.key(d.optional(d.text))
    outcome: Optional[str] = d.key(d.optional(d.text))
    tested: bool = d.key(d.boolean)
    reason: Optional[str] = d.key(d.optional(d.text))
    answer: Optional[str] = d.key(d.optional(d.text))
    explanation: Optional[str] = d.key(d.optional(d.text))
    contract: Optional[Contract] = d.key(d.optional(d.record(Contract)))
    files: List[TextFile] = d.key(d.many(d.record(TextFile)))
    tests: List[Test] = d.key(d.many(d.record(Test)))
    test_files: List[TextFile] = d.key(d.many(d.record(TextFile)))
    test_cases: Union[Dict[str, Any], List[Any], None] = d.key(d.anything)
    coverage: Optional[float] = d.key(d.optional(d.number))
    mutation_score: Optional[float] = d.key(d.optional(d.number))
    unnoticed: List[str] = d.key(d.many(d.text))
    lint: Optional[str] = d.key(d.optional(d.text))
    memory_peak_bytes: int = d.key(d.integer)
    matrix: Optional[Dict[str, Any]] = d.key(d.optional(d.mapping))
    attempts: int = d.key(d.integer)
    spent: Spent = d.key(d.record(Spent))
    run_failed: Optional[str] = d.key(d.optional(d.text), None)
    used_up: Optional[str] = d.key(d.optional(d.text), None)
    network: Optional[Dict[str, Any]] = d.key(d.optional(d.mapping), None)
    dependencies: Optional[Dict[str, Any]] = d.key(d.optional(d.mapping), None)
    user: Optional[str] = d.key(d.optional(d.text), None)
    runners: List[Dict[str, Any]] = d.key(d.many(d.mapping), [])
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """The task is done, and passed."""
        return self.outcome == "passed"

    @property
    def is_waiting(self) -> bool:
        return self.state == "waiting"


def from_document(document: Dict[str, Any]) -> TaskResult:
    if document.get("schema") != SCHEMA:
        raise ProtocolError(f"the document has schema {document.get('schema')!r}, not {SCHEMA}",
                            "use a client and a command of one release")
    result = d.build(TaskResult, document)
    object.__setattr__(result, "document", document)
    return result


# ---- events --------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Event:
    event: str = d.key(d.text)
    remembered: bool = d.key(d.boolean, False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Told(Event):
    """begin, step, attempt, ask, text, reasoning, again, matrix, search, question, output, note,
    end: a name and a text, as far as the event has them."""

    name: str = d.key(d.text, "")
    text: str = d.key(d.text, "")
    number: Optional[int] = d.key(d.optional(d.integer), None)
    spent: Optional[Spent] = d.key(d.optional(d.record(Spent)), None)


@dataclass(frozen=True)
class Agreed(Event):
    """contract"""

    contract: Optional[Contract] = d.key(d.optional(d.record(Contract)), None)


@dataclass(frozen=True)
class Network(Event):
    """network: what the run at the end may reach, and which hosts were refused"""

    text: str = d.key(d.text, "")
    granted: List[str] = d.key(d.many(d.text), [])
    refused: List[Dict[str, Any]] = d.key(d.many(d.mapping), [])


@dataclass(frozen=True)
class Packages(Event):
    """packages: what boxes have from now on; `failed` says what could not be installed, and why"""

    text: str = d.key(d.text, "")
    packages: Optional[List[Any]] = d.key(d.optional(d.many(d.anything)), None)
    install: Optional[Dict[str, Any]] = d.key(d.optional(d.mapping), None)
    failed: Optional[Dict[str, Any]] = d.key(d.optional(d.mapping), None)


@dataclass(frozen=True)
class TestList(Event):
    """tests"""

    __test__ = False

    tests: List[Test] = d.key(d.many(d.record(Test)), [])


@dataclass(frozen=True)
class Code(Event):
    """code"""

    files: List[TextFile] = d.key(d.many(d.record(TextFile)), [])


@dataclass(frozen=True)
class TestEnd(Event):
    """test"""

    __test__ = False

    id: str = d.key(d.text, "")
    result: str = d.key(d.text, "")
    message: Optional[str] = d.key(d.optional(d.text), None)
    ms: Optional[float] = d.key(d.optional(d.number), None)


@dataclass(frozen=True)
class Report(Event):
    """report"""

    report: Dict[str, Any] = d.key(d.mapping, {})


@dataclass(frozen=True)
class Mutation(Event):
    """mutation"""

    mutation: Dict[str, Any] = d.key(d.mapping, {})


@dataclass(frozen=True)
class Ended(Event):
    """result: the last event"""

    document: Dict[str, Any] = d.key(d.mapping, {})


@dataclass(frozen=True)
class Failed(Event):
    """error: the last event of a command that failed"""

    error: Dict[str, Any] = d.key(d.mapping, {})


KINDS: Dict[str, Type[Event]] = {
    **dict.fromkeys(("begin", "step", "attempt", "ask", "text", "reasoning", "again", "answered",
                     "matrix", "search", "question", "output", "note", "end", "waiting",
                     "installing", "installer"), Told),
    "contract": Agreed,
    "network": Network,
    "packages": Packages,
    "tests": TestList,
    "code": Code,
    "test": TestEnd,
    "report": Report,
    "mutation": Mutation,
    "result": Ended,
    "error": Failed,
}


def from_line(line: bytes) -> Event:
    raw = d.parse(line)
    event = d.build(KINDS.get(str(raw.get("event")), Event), raw)
    object.__setattr__(event, "raw", raw)
    return event
