#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mutants of Python files: python3 -I judge_mutate.py [--max N] [--root DIR] FILE...

Prints one JSON line for each mutant: {"id", "file", "line", "function", "kind", "what", "source"}.
Kinds `empty` (a function does nothing, or returns its first argument) and `branch` (a condition is
always true or always false) make the mutation score; `compare` and `constant` are hints, for many
of them are equivalent.  The order is fixed: scored kinds first, and in turn one of each function,
so that the first N are spread over the file.  A mutant has as many lines as the original, and the
text outside the changed place is untouched.
"""
from __future__ import annotations

import ast
import json
import os
import sys
from typing import Iterator, NamedTuple, Union

FILE_MAX = 1 << 20
BOM = b"\xef\xbb\xbf"
SKIPPED_FUNCTIONS = frozenset(
    {"__repr__", "__str__", "__format__", "__sizeof__", "__dir__", "__del__"})
SWAPS: dict[type, ast.cmpop] = {
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(), ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
SCORED = ("empty", "branch")

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


class Place(NamedTuple):
    """A stretch of the file, in bytes."""

    start: int
    end: int


class Mutant(NamedTuple):
    kind: str
    function: str
    line: int
    place: Place
    text: str
    what: str


class Source:
    """A file, and where its nodes lie in it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.tree = ast.parse(data)
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def place(self, first: ast.AST, last: ast.AST) -> Place:
        return Place(self._starts[first.lineno - 1] + first.col_offset,
                     self._starts[last.end_lineno - 1] + last.end_col_offset)

    def changed(self, place: Place, text: str) -> str:
        """The file with that stretch replaced, as many lines as before."""
        old = self.data[place.start:place.end]
        missing = old.count(b"\n") - text.count("\n")
        new = text.encode() + b"\n" * missing
        return (self.data[:place.start] + new + self.data[place.end:]).decode("utf-8", "replace")

    def padded(self, place: Place, text: str) -> str:
        """An expression in brackets that takes as many lines as what it replaces."""
        return "(" + text + "\n" * self.data[place.start:place.end].count(b"\n") + ")"


def is_docstring(node: ast.stmt) -> bool:
    return (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str))


def is_skipped_block(node: ast.AST) -> bool:
    """`if TYPE_CHECKING` and `if __name__ == "__main__"`."""
    if not isinstance(node, ast.If):
        return False
    names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    names |= {part.attr for part in ast.walk(node.test) if isinstance(part, ast.Attribute)}
    return bool(names & {"TYPE_CHECKING", "__name__"})


def walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """(name of the function around it, node), in the order of the text."""
    for child in ast.iter_child_nodes(node):
        if is_skipped_block(child) or isinstance(child, ast.stmt) and is_docstring(child):
            continue
        name = function
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if child.name in SKIPPED_FUNCTIONS:
                continue
            name = f"{function}.{child.name}" if function else child.name
        yield name, child
        yield from walk(child, name)


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Nodes of a function without those of functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def does_nothing(body: list[ast.stmt]) -> bool:
    """Emptying it would change nothing, or it is not meant to be called."""
    if len(body) != 1:
        return not body
    only = body[0]
    if isinstance(only, ast.Return):
        value = only.value
        return value is None or isinstance(value, ast.Constant) and value.value is None
    if isinstance(only, ast.Raise) and only.exc is not None:
        name = only.exc.func if isinstance(only.exc, ast.Call) else only.exc
        return getattr(name, "id", "") == "NotImplementedError"
    return isinstance(only, ast.Pass) or isinstance(only, ast.Expr) and isinstance(
        only.value, ast.Constant)


def first_argument(function: Function, is_method: bool) -> str | None:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if is_method and names else names
    return names[0] if names else None


def returns(body: list[ast.stmt], name: str) -> bool:
    return (len(body) == 1 and isinstance(body[0], ast.Return)
            and isinstance(body[0].value, ast.Name) and body[0].value.id == name)


def emptied(source: Source, name: str, function: Function, is_method: bool) -> Iterator[Mutant]:
    body = function.body[1:] if is_docstring(function.body[0]) else function.body
    if does_nothing(body):
        return
    place = source.place(body[0], body[-1])
    nodes = list(own_nodes(function))
    is_generator = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes)
    text = "return; yield" if is_generator else "return None"
    yield Mutant("empty", name, function.lineno, place, text, "does nothing")
    argument = first_argument(function, is_method)
    gives = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
    if argument and gives and not is_generator and not returns(body, argument):
        yield Mutant("empty", name, function.lineno, place, f"return {argument}",
                     "returns its first argument")


def forced(source: Source, name: str, node: ast.AST) -> Iterator[Mutant]:
    """A condition that is always true or false.  No loop is made endless."""
    tests: list[tuple[ast.expr, tuple[bool, ...]]] = []
    if isinstance(node, (ast.If, ast.IfExp)):
        tests = [(node.test, (True, False))]
    elif isinstance(node, ast.While):
        tests = [(node.test, (False,))]
    elif isinstance(node, ast.comprehension):
        tests = [(test, (True, False)) for test in node.ifs]
    for test, values in tests:
        for value in values:
            if isinstance(test, ast.Constant) and bool(test.value) is value:
                continue
            place = source.place(test, test)
            yield Mutant("branch", name, test.lineno, place, source.padded(place, str(value)),
                         f"the condition is always {str(value).lower()}")


def compared(source: Source, name: str, node: ast.AST) -> Iterator[Mutant]:
    if not isinstance(node, ast.Compare):
        return
    place = source.place(node, node)
    for number, operator in enumerate(node.ops):
        operators = [*node.ops]
        operators[number] = SWAPS[type(operator)]
        text = ast.unparse(ast.Compare(node.left, operators, node.comparators))
        yield Mutant("compare", name, node.lineno, place, source.padded(place, text), f"now {text}")


def other_constant(value: object) -> str | None:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, (int, float)):
        return repr(value + 1)
    return repr("") if isinstance(value, str) and value else None


def constants(source: Source, name: str, node: ast.AST) -> Iterator[Mutant]:
    text = other_constant(node.value) if isinstance(node, ast.Constant) else None
    if text is not None:
        place = source.place(node, node)
        old = source.data[place.start:place.end]
        if not old.startswith((b"f", b"F")):  # a part of an f-string has no place of its own
            yield Mutant("constant", name, node.lineno, place, source.padded(place, text),
                         f"{old.decode('utf-8', 'replace')[:60]} is now {text}")


def untouchable(tree: ast.AST) -> set[int]:
    """Nodes inside f-strings, annotations, patterns: what stands there cannot be replaced so."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.JoinedStr) or type(node).__name__.startswith("Match"):
            parts = [node]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts = [node.returns]
        elif isinstance(node, (ast.arg, ast.AnnAssign)):
            parts = [node.annotation]
        for part in parts:
            found |= {id(inner) for inner in ast.walk(part)} if part is not None else set()
    return found


def mutants_of(source: Source) -> list[Mutant]:
    found: list[Mutant] = []
    skipped = untouchable(source.tree)
    methods = {id(child) for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)
               for child in node.body}
    for name, node in walk(source.tree, ""):
        if id(node) in skipped:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            static = any(getattr(part, "id", "") == "staticmethod" for part in node.decorator_list)
            found += emptied(source, name, node, id(node) in methods and not static)
        found += forced(source, name, node)
        found += compared(source, name, node)
        found += constants(source, name, node)
    return found


def spread(mutants: list[Mutant]) -> list[Mutant]:
    """Scored kinds first; in each group one of every function, then the next of every function."""
    ordered: list[Mutant] = []
    for scored in (True, False):
        queues: dict[str, list[Mutant]] = {}
        for mutant in mutants:
            if (mutant.kind in SCORED) is scored:
                queues.setdefault(mutant.function, []).append(mutant)
        while queues:
            for name in list(queues):
                ordered.append(queues[name].pop(0))
                if not queues[name]:
                    del queues[name]
    return ordered


def is_valid(text: str) -> bool:
    try:
        compile(text, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def mutate(name: str, data: bytes) -> Iterator[dict[str, object]]:
    source = Source(data)
    seen = {source.data.decode("utf-8", "replace")}
    for mutant in spread(mutants_of(source)):
        text = source.changed(mutant.place, mutant.text)
        if text not in seen and is_valid(text):
            seen.add(text)
            yield {"file": name, "line": mutant.line, "function": mutant.function or "<module>",
                   "kind": mutant.kind, "what": mutant.what, "source": text}


def take_turns(lists: list[list[dict[str, object]]]) -> Iterator[dict[str, object]]:
    """One of each file in turn, scored ones first."""
    for scored in (True, False):
        groups = [[m for m in mutants if (m["kind"] in SCORED) is scored] for mutants in lists]
        for number in range(max(map(len, groups), default=0)):
            yield from (group[number] for group in groups if number < len(group))


def read(path: str, root: str) -> tuple[str, bytes]:
    if os.path.getsize(path) > FILE_MAX:
        sys.exit(f"judge_mutate: '{path}' is larger than {FILE_MAX} bytes")
    with open(path, "rb") as file:
        data = file.read()
    return os.path.relpath(path, root) if root else path, data[3:] if data[:3] == BOM else data


def main(argv: list[str]) -> None:
    most, root, paths = 40, "", []
    words = iter(argv)
    for word in words:
        if word == "--max":
            most = int(next(words, "40"))
        elif word == "--root":
            root = next(words, "")
        else:
            paths.append(word)
    files = []
    for path in paths:
        name, data = read(path, root)
        try:
            data.decode("utf-8")
            files.append(list(mutate(name, data)))
        except (SyntaxError, ValueError, RecursionError) as error:
            sys.exit(f"judge_mutate: '{path}': {error}")
    for number, mutant in enumerate(take_turns(files)):
        if number >= most:
            break
        print(json.dumps({"id": f"m{number + 1}", **mutant}))


if __name__ == "__main__":
    main(sys.argv[1:])
