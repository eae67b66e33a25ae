# SPDX-License-Identifier: Apache-2.0
"""Inputs that a function answers one by one with constants, told from its text.

A special case and a line of an honest table look alike.  What speaks for a table:

    words          the names of things (colours, units, weekdays, operators) are closed sets
    numbers        that are only given names, with one answer for all others (404: "not found")
    refusal        whatever is not in it raises an exception: it is the whole set
    first values   a function that calls itself needs them

Whether the inputs that are left are those of tests is for the host to say, who has the tests.
"""
from __future__ import annotations

import ast
import re
from typing import Any, Iterator, Union

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Known = tuple[Any, Any]   # an input and its answer
Tables = dict[str, ast.Dict]

# What leaves an input the same in other clothes.
CLOTHES = {"strip", "lstrip", "rstrip", "lower", "upper", "casefold",
           "str", "repr", "int", "float", "tuple", "list", "sorted", "hash"}
WORDS_MAX = 3    # of the name of something
SYMBOLS_MAX = 3  # characters of an operator


def special_cases(function: Function, tables: Tables) -> list[dict[str, Any]]:
    """[{"inputs": the parts of one that could be a test's, "answer": "" where it says little}]"""
    names = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args)}
    special: set[ast.AST] = set()
    known: list[Known] = []
    for node in ast.walk(function):
        found = _compared(node, names) or _looked_up(node, names, tables)
        if found:
            special.add(node)
            known += found
    if not known or _calls_itself(function):
        return []
    computes = _computes(function, special)
    if not computes and _refuses(function, special):
        return []
    named = not computes and all(_is_word(answer) for _, answer in known)
    told = (([_text(part) for part in _scalars(given) if _tells(part, named)], answer)
            for given, answer in known)
    return [{"inputs": inputs, "answer": _text(answer)} for inputs, answer in told if inputs]


def tables_of(tree: ast.Module) -> Tables:
    return {target.id: node.value for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
            for target in node.targets if isinstance(target, ast.Name)}


# Where an input meets a constant.
def _compared(node: ast.AST, names: set[str]) -> list[Known]:
    """`if text == "1h": return 3600`, also as a case of match."""
    if isinstance(node, ast.If):
        return _answered(_literals(node.test, names), node.body)
    if type(node).__name__ == "Match" and _is_input(getattr(node, "subject"), names):
        return [pair for case in getattr(node, "cases")
                for pair in _answered(_values(case.pattern), case.body)]
    return []


def _answered(inputs: list[ast.expr], body: list[ast.stmt]) -> list[Known]:
    if not inputs or not returns_literal(body):
        return []
    answer = ast.literal_eval(getattr(body[-1], "value"))
    return [(ast.literal_eval(node), answer) for node in inputs]


def _looked_up(node: ast.AST, names: set[str], tables: Tables) -> list[Known]:
    """`return ANSWERS.get(text, 0)`: what it does not know it answers all the same.  Numbers are
    what tables are made for."""
    if not (isinstance(node, ast.Return) and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "get"
            and len(node.value.args) == 2 and _is_input(node.value.args[0], names)
            and is_literal(node.value.args[1])
            and ast.literal_eval(node.value.args[1]) is not None):
        return []
    owner = node.value.func.value
    table = tables.get(owner.id) if isinstance(owner, ast.Name) else owner
    if not isinstance(table, ast.Dict) or not is_literal(table):
        return []
    return [pair for pair in ast.literal_eval(table).items() if isinstance(pair[0], str)]


def _literals(test: ast.expr, names: set[str]) -> list[ast.expr]:
    """What an argument is compared with; none where something else would do as well."""
    if isinstance(test, ast.BoolOp):
        parts = [_literals(part, names) for part in test.values]
        if isinstance(test.op, ast.And):
            return next((part for part in parts if part), [])
        return [node for part in parts for node in part] if all(parts) else []
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)):
        return []
    sides = (test.left, test.comparators[0])
    if not any(_is_input(side, names) for side in sides):
        return []
    return [side for side in sides if is_literal(side)][:1]


def _values(pattern: Any) -> list[ast.expr]:
    kind = type(pattern).__name__
    if kind == "MatchOr":
        return [value for part in pattern.patterns for value in _values(part)]
    return [pattern.value] if kind == "MatchValue" and is_literal(pattern.value) else []


def _is_input(node: ast.expr, names: set[str]) -> bool:
    """An argument itself, or several: what is only told of one (`n % 3`, `len(text)`) is a property
    that many inputs have."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(_is_input(item, names) for item in node.elts)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in CLOTHES and _is_input(node.func.value, names)
    return isinstance(node.func, ast.Name) and node.func.id in CLOTHES and \
        any(_is_input(argument, names) for argument in node.args)


# Which inputs could be there only because a test has them.
def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple, set)):
        for item in value:
            yield from _scalars(item)
    else:
        yield value


def _is_word(value: Any) -> bool:
    if not isinstance(value, str) or any(character.isdigit() for character in value):
        return False
    words = len(re.findall(r"\w+", value))
    return 0 < words <= WORDS_MAX or (words == 0 and len(value) <= SYMBOLS_MAX)


def _tells(value: Any, named: bool) -> bool:
    if isinstance(value, (str, bytes)):
        return not _is_word(value)
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool) and not named


def _text(value: Any) -> str:
    """As a test would have it; "" of what stands in no test: `assert is_prime(7)`."""
    if value is None or isinstance(value, bool):
        return ""
    try:
        return value.decode("latin-1") if isinstance(value, bytes) else str(value)
    except ValueError:  # a number of too many digits
        return ""


# What the function does with all other inputs.
def _calls_itself(function: Function) -> bool:
    return any(isinstance(node, ast.Call) and function.name in (
        getattr(node.func, "id", ""), getattr(node.func, "attr", "")) for node in ast.walk(function))


def _computes(function: Function, special: set[ast.AST]) -> bool:
    return any(isinstance(node, ast.Return) and node not in special and node.value is not None
               and not is_literal(node.value) for node in ast.walk(function))


def _refuses(function: Function, special: set[ast.AST]) -> bool:
    """Is an exception what comes where no special case answers?"""
    rest = function.body[::-1]
    while rest:
        node = rest.pop()
        if isinstance(node, (ast.Raise, ast.Return)):
            return isinstance(node, ast.Raise)
        if node not in special:
            if any(isinstance(part, ast.Return) for part in ast.walk(node)):
                return False
        elif isinstance(node, ast.If):
            rest += node.orelse[::-1]
        else:
            last = getattr(node, "cases")[-1]
            rest += last.body[::-1] if getattr(last.pattern, "pattern", last) is None else []
    return False


def is_literal(node: ast.expr | None) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def returns_literal(body: list[ast.stmt]) -> bool:
    last = body[-1]
    return isinstance(last, ast.Return) and last.value is not None and is_literal(last.value)
