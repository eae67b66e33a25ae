# SPDX-License-Identifier: Apache-2.0
"""Plain asserts that tell what they saw.

`assert a == b` is compiled into: evaluate a and b once, and when they differ raise an
AssertionError that carries both.  Which of them is the expected one is a guess: a literal, a name
that says so, else the right side.
"""
from __future__ import annotations

import ast
from types import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REPR_MAX = 2000
TEXT_MAX = 500
VALUES_MAX = 5

FAIL, LOCALS = "__judge_fail__", "__judge_locals__"
LEFT, RIGHT = "__judge_left", "__judge_right"
EXPECTED_NAMES = ("expected", "want", "wanted", "approx")

SYMBOLS: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}


def short_repr(value: Any, limit: int = REPR_MAX) -> str:
    """Bounded, and never raises: it also meets objects of the tested code."""
    try:
        if isinstance(value, (str, bytes)) and len(value) > limit:
            value = value[:limit]
        text = repr(value)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        text = f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
    return text if len(text) <= limit else text[:limit] + "…"


def failure(text: str, symbol: str, left: Any, right: Any, swapped: bool, seen: dict | None,
            message: Any = None) -> AssertionError:
    """The exception of a failed assert."""
    about: dict[str, str] = {"source": text[:TEXT_MAX]}
    if symbol:
        actual, expected = (right, left) if swapped else (left, right)
        about["actual"], about["expected"] = short_repr(actual), short_repr(expected)
        about["operator"] = symbol
        said = f"{short_repr(left, TEXT_MAX)} {symbol} {short_repr(right, TEXT_MAX)} is false"
    else:
        about["actual"], about["expected"] = short_repr(left), "a true value"
        values = [f"{name} = {short_repr(value, TEXT_MAX)}" for name, value in (seen or {}).items()]
        said = f"{about['source']} is {short_repr(left, TEXT_MAX)}"
        said += f", where {', '.join(values)}" if values else ""
    error = AssertionError(f"{message}: {said}" if message is not None else said)
    error._judge_assert_ = about
    return error


def seen_values(names: tuple, scope: dict) -> dict[str, Any]:
    """Variables of a failed assert that help: no functions, classes or modules."""
    found = {name: scope[name] for name in names if name in scope}
    return dict(list((name, value) for name, value in found.items()
                     if not callable(value) and type(value).__name__ != "module")[:VALUES_MAX])


def rewrite(source: bytes, path: str) -> CodeType:
    """A test file, compiled."""
    tree = ast.parse(source, path)
    tree = ast.fix_missing_locations(_Rewriter(source.decode("utf-8", "replace")).visit(tree))
    return compile(tree, path, "exec", dont_inherit=True)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return all(map(_is_literal, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is not None and _is_literal(key) for key in node.keys) \
            and all(map(_is_literal, node.values))
    if isinstance(node, ast.UnaryOp):
        return _is_literal(node.operand)
    return isinstance(node, ast.Constant)


def _is_expected(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        node = node.func
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return _is_literal(node) or name.startswith(EXPECTED_NAMES)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, text: str) -> None:
        self._text = text

    def visit_Assert(self, node: ast.Assert) -> Any:
        test = node.test
        if isinstance(test, ast.Tuple):
            return node  # a mistake that must stay as true as it is
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            made = self._comparison(node, test)
        else:
            made = self._truth(node, test)
        return [ast.copy_location(statement, node) for statement in made]

    def _comparison(self, node: ast.Assert, test: ast.Compare) -> list[ast.stmt]:
        left, right = test.left, test.comparators[0]
        swapped = _is_expected(left) and not _is_expected(right)
        again = ast.Compare(_load(LEFT), test.ops, [_load(RIGHT)])
        error = self._fail(node, SYMBOLS[type(test.ops[0])], _load(RIGHT), swapped, None)
        return [_store(LEFT, left), _store(RIGHT, right), self._unless(again, error)]

    def _truth(self, node: ast.Assert, test: ast.expr) -> list[ast.stmt]:
        names = sorted({part.id for part in ast.walk(test) if isinstance(part, ast.Name)})
        scope = ast.Call(_load(LOCALS), [], [])
        wanted = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
        seen = ast.Call(_load("__judge_seen__"), [wanted, scope], [])
        error = self._fail(node, "", ast.Constant(None), False, seen)
        return [_store(LEFT, test), self._unless(_load(LEFT), error)]

    def _fail(self, node: ast.Assert, symbol: str, right: ast.expr, swapped: bool,
              seen: ast.expr | None) -> ast.expr:
        source = ast.get_source_segment(self._text, node.test) or ""
        args = [ast.Constant(" ".join(source.split())), ast.Constant(symbol), _load(LEFT), right,
                ast.Constant(swapped), seen or ast.Constant(None)]
        return ast.Call(_load(FAIL), args + ([node.msg] if node.msg else []), [])

    @staticmethod
    def _unless(test: ast.expr, error: ast.expr) -> ast.stmt:
        return ast.If(ast.UnaryOp(ast.Not(), test), [ast.Raise(error, None)], [])


SCOPE = {FAIL: failure, LOCALS: locals, "__judge_seen__": seen_values}
