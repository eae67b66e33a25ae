#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at code before it runs: python3 -I judge_check.py [--contract FILE] [--seconds N] DIR...

Prints a line for each directory, as soon as it was read, with one JSON object: {"syntax", "interface", "missing_modules", "missing_packages", "lint", "lint_by",
"hints"}, lists of what was found; each linter has N seconds.  Nothing of the code is imported or run; what cannot be told from the text
(names made at run time, star imports, foreign base classes) is not complained about.
"""
from __future__ import annotations

import ast
import builtins
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from typing import Any, Callable, Iterator, Union

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [HERE, *(path for path in sys.path if os.path.abspath(path) != HERE)]
from gb_judge.special import returns_literal, special_cases, tables_of  # noqa: E402

FILES_MAX = 200
BYTES_MAX = 1 << 20
FINDINGS_MAX = 100
TEXT_MAX = 1000
LINT_SECONDS = 20

Finding = dict[str, Any]
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Trees = dict[str, ast.Module]


# Reading and syntax.
def read_all(folder: str) -> dict[str, bytes]:
    """{path below the folder: contents} of the Python files."""
    found: dict[str, bytes] = {}
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            wanted = name.endswith(".py") and len(found) < FILES_MAX
            if wanted and os.path.getsize(path) <= BYTES_MAX:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


def parse_all(files: dict[str, bytes]) -> tuple[Trees, list[Finding]]:
    trees: Trees = {}
    problems: list[Finding] = []
    for name, data in files.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trees[name] = ast.parse(data, name)
                compile(trees[name], name, "exec", dont_inherit=True)
        except SyntaxError as error:
            trees.pop(name, None)
            text = (error.text or "").rstrip("\n")[:200]
            problems.append({"file": name, "line": error.lineno or 0, "message": str(error.msg),
                             "text": text})
        except (ValueError, RecursionError, MemoryError) as error:
            trees.pop(name, None)
            problems.append({"file": name, "line": 0, "message": str(error)[:200]})
    return trees, problems


# Names that the contract promises.
def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a body and of the if, try and with blocks in it."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try, ast.With)):
                yield from statements(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from statements(handler.body)


def defined(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Names bound by a body, with the statement that binds them last; "*" for a star import."""
    found: dict[str, ast.stmt] = {}
    for node in statements(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = node
        else:
            for part in ast.walk(node) if isinstance(node, (ast.Assign, ast.AnnAssign)) else ():
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    found[part.id] = node
    return found


def attributes(cls: ast.ClassDef) -> set[str]:
    """Names of a class and those that its methods set on self."""
    found = set(defined(cls.body))
    for node in ast.walk(cls):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) \
                and isinstance(node.value, ast.Name) and node.value.id == "self":
            found.add(node.attr)
    return found


class Interface:
    """One module against its contract."""

    def __init__(self, tree: ast.Module, contract: dict[str, Any]) -> None:
        self._names = defined(tree.body)
        self._open = "*" in self._names or "__getattr__" in self._names
        self._contract = contract
        self.findings: list[Finding] = []

    def check(self) -> list[Finding]:
        for promised in self._contract.get("names", []):
            name = promised.get("name", "")
            owner, _, member = name.partition(".")
            if self._has(owner, name) and (not member or self._has_member(owner, member, name)):
                self._check_signature(name, promised.get("signature") or "")
            for error in promised.get("raises") or []:
                if isinstance(error, str) and error.isidentifier() and not hasattr(builtins, error):
                    self._has(error, error)
        return self.findings

    def _complain(self, name: str, problem: str, message: str, **more: Any) -> None:
        finding = {"name": name, "problem": problem, "message": message, **more}
        if finding not in self.findings:
            self.findings.append(finding)

    def _has(self, name: str, full: str) -> bool:
        if name in self._names:
            return True
        if not self._open:
            self._missing(full, name, [known for known in self._names if not known.startswith("_")])
        return False

    def _missing(self, full: str, name: str, known: list[str]) -> None:
        import difflib
        near = difflib.get_close_matches(name, known, 1, 0.6)
        folded = [other for other in known
                  if other.replace("_", "").lower() == name.replace("_", "").lower()]
        near = folded[:1] or near
        if near:
            self._complain(full, "misnamed", f"'{full}' is missing; is '{near[0]}' meant to be it?",
                           found=near[0])
        else:
            self._complain(full, "missing", f"'{full}' is missing", defined=sorted(known)[:20])

    def _members(self, cls: ast.ClassDef, depth: int = 0) -> set[str] | None:
        """None when a base is not in this module: then nobody can tell."""
        found = attributes(cls)
        for base in cls.bases:
            name = base.id if isinstance(base, ast.Name) else ""
            node = self._names.get(name)
            if isinstance(node, ast.ClassDef) and depth < 20:
                inherited = self._members(node, depth + 1)
                if inherited is None:
                    return None
                found |= inherited
            elif name not in ("object", "Exception", "ValueError", "ABC", "Protocol"):
                return None
        return None if "__getattr__" in found or cls.keywords or cls.decorator_list else found

    def _has_member(self, owner: str, member: str, full: str) -> bool:
        cls = self._names[owner]
        if not isinstance(cls, ast.ClassDef):
            return False
        own = attributes(cls)
        if member in own:
            return True
        known = self._members(cls)
        if known is not None and member not in known:
            self._missing(full, member, [name for name in known if not name.startswith("_")])
        return False

    def _find(self, name: str) -> tuple[Function | None, bool]:
        """(the function that is called, has it a self)."""
        owner, _, member = name.partition(".")
        node: Any = self._names[owner]
        if isinstance(node, ast.ClassDef):
            decorated = bool(node.decorator_list)
            node = defined(node.body).get(member or "__init__")
            if decorated and not member:
                return None, False
            static = any(getattr(part, "id", "") == "staticmethod"
                         for part in getattr(node, "decorator_list", []))
            return (node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None,
                    not static)
        return (node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None, False)

    def _check_signature(self, name: str, signature: str) -> None:
        function, has_self = self._find(name)
        wanted = promised_arguments(signature)
        if function is None or wanted is None or function.decorator_list and not has_self:
            return
        actual = function.args
        if has_self:
            wanted = without_self(wanted)
            actual = without_self(actual, always=True)
        problem = call_problem(wanted, actual)
        if problem:
            self._complain(name, "signature", f"'{name}' {problem}", line=function.lineno,
                           wanted=signature, found=f"({ast.unparse(function.args)})")


def promised_arguments(signature: str) -> ast.arguments | None:
    try:
        tree = ast.parse(f"def f{signature.strip().rstrip(':')}: ...")
    except (SyntaxError, ValueError):
        return None
    function = tree.body[0]
    return function.args if isinstance(function, ast.FunctionDef) else None


def without_self(arguments: ast.arguments, always: bool = False) -> ast.arguments:
    given = [*arguments.posonlyargs, *arguments.args]
    if given and (always or given[0].arg in ("self", "cls")):
        given = given[1:]
    defaults = arguments.defaults[-len(given):] if given else []
    return ast.arguments(posonlyargs=[], args=given, vararg=arguments.vararg, defaults=defaults,
                         kwonlyargs=arguments.kwonlyargs, kw_defaults=arguments.kw_defaults,
                         kwarg=arguments.kwarg)


def call_problem(wanted: ast.arguments, actual: ast.arguments) -> str:
    """Why calls that the contract allows would fail; empty when they would not."""
    promised = [argument.arg for argument in (*wanted.posonlyargs, *wanted.args)]
    positional = [argument.arg for argument in (*actual.posonlyargs, *actual.args)]
    keywords = {argument.arg for argument in actual.kwonlyargs}
    needed = positional[:len(positional) - len(actual.defaults)]
    needed += [argument.arg for argument, default in zip(actual.kwonlyargs, actual.kw_defaults)
               if default is None]
    extra = [name for name in needed if name not in promised
             and name not in {argument.arg for argument in wanted.kwonlyargs}]
    if len(promised) > len(positional) and not actual.vararg:
        late = promised[len(positional):]
        if not all(name in keywords for name in late):
            return f"takes {len(positional)} arguments, {len(promised)} are promised"
    for place, (one, other) in enumerate(zip(promised, positional)):
        if one != other and not one.startswith("_"):
            return f"names argument {place + 1} '{other}', '{one}' is promised"
    if extra:
        return f"needs '{extra[0]}', which nobody promised to pass"
    for argument in wanted.kwonlyargs:
        if argument.arg not in keywords and argument.arg not in positional and not actual.kwarg:
            return f"does not take '{argument.arg}'"
    return ""


# Modules that are not there.
def missing_modules(trees: Trees) -> list[Finding]:
    from importlib.util import find_spec
    # Any folder may be the one that is on the path: that of the module, or of the program.
    own = {part.removesuffix(".py") for name in trees for part in name.split("/")}
    found: list[Finding] = []
    known: dict[str, bool] = {}
    for file, tree in trees.items():
        for node, name in imported(tree):
            top = name.partition(".")[0]
            if top in own or not top:
                continue
            if top not in known:
                known[top] = _is_there(find_spec, top)
            if not known[top]:
                found.append({"module": top, "file": file, "line": node.lineno})
    return found


def _is_there(find_spec: Callable[[str], Any], name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return name in sys.modules


def imported(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Imports that nobody catches when they fail."""
    caught = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try)
              for part in node.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in caught:
            continue
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node, node.module


def missing_packages(packages: Any) -> list[str]:
    """Of the contract's: those that are neither installed under that name nor a module's."""
    found: list[str] = []
    for package in packages if isinstance(packages, list) else []:
        name = re.split(r"[^\w.-]", package, maxsplit=1)[0] if isinstance(package, str) else ""
        if name and name not in found and not _is_installed(name):
            found.append(name)
    return found


def _is_installed(package: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution
    from importlib.util import find_spec
    try:
        distribution(package)
    except (PackageNotFoundError, ValueError):
        return _is_there(find_spec, package.replace("-", "_").partition(".")[0])
    return True


# Lint: the image's own tools, else a few checks of ours; and the types, where mypy is.
def lint(folder: str, trees: Trees, seconds: float) -> tuple[str, list[Finding]]:
    names, found = _style(folder, trees, seconds)
    types = _mypy(folder, seconds)
    if types is not None:
        return f"{names}, mypy", (found + types)[:FINDINGS_MAX]
    return names, found[:FINDINGS_MAX]


def _style(folder: str, trees: Trees, seconds: float) -> tuple[str, list[Finding]]:
    for name, tool in (("ruff", _ruff), ("pyflakes", _pyflakes)):
        found = tool(folder, seconds)
        if found is not None:
            return name, found
    return "builtin", [finding for file, tree in trees.items() for finding in simple_lint(file, tree)]


def _run(words: list[str], folder: str, seconds: float) -> str | None:
    try:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=seconds)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode in (0, 1) else None


def _ruff(folder: str, seconds: float) -> list[Finding] | None:
    text = _run(["ruff", "check", "--isolated", "--no-cache", "--select", "E7,E9,F,B006",
                 "--output-format", "json", "."], folder, seconds)
    try:
        rows = json.loads(text) if text else None
        return None if rows is None else [
            {"file": os.path.relpath(row["filename"], folder), "line": row["location"]["row"],
             "code": row["code"], "message": row["message"]} for row in rows]
    except (ValueError, KeyError, TypeError):
        return None


def _pyflakes(folder: str, seconds: float) -> list[Finding] | None:
    from importlib.util import find_spec
    if find_spec("pyflakes") is None:
        return None
    text = _run([sys.executable, "-I", "-m", "pyflakes", "."], folder, seconds)
    if text is None:
        return None
    found = []
    for line in text.splitlines():
        parts = line.split(":", 3)
        if len(parts) == 4 and parts[1].isdigit():
            found.append({"file": os.path.normpath(parts[0]), "line": int(parts[1]), "code": "F",
                          "message": parts[3].strip()})
    return found


def _mypy(folder: str, seconds: float) -> list[Finding] | None:
    """Errors only.  No configuration of the code's own: it could name a plugin, which would run."""
    from importlib.util import find_spec
    words = ["mypy"] if shutil.which("mypy") else [sys.executable, "-I", "-m", "mypy"]
    if words[0] != "mypy" and find_spec("mypy") is None:
        return None
    text = _run([*words, "--config-file=", "--cache-dir=" + os.devnull, "--no-error-summary",
                 "--no-color-output", "--ignore-missing-imports", "."], folder, seconds)
    if text is None:
        return None
    found = []
    for line in text.splitlines():
        parts = line.split(":", 3)
        if len(parts) == 4 and parts[1].isdigit() and parts[2] == " error":
            found.append({"file": os.path.normpath(parts[0]), "line": int(parts[1]), "code": "type",
                          "message": parts[3].strip()})
    return found


def simple_lint(file: str, tree: ast.Module) -> Iterator[Finding]:
    def finding(node: ast.AST, code: str, message: str) -> Finding:
        return {"file": file, "line": getattr(node, "lineno", 0), "code": code, "message": message}

    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {word for node in ast.walk(tree) if isinstance(node, ast.Constant)
             and isinstance(node.value, str) and node.value.isidentifier() for word in [node.value]}
    if not file.endswith("__init__.py"):
        for name, node in defined(tree.body).items():
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if isinstance(node, (ast.Import, ast.ImportFrom)) and name not in used | {"*"} \
                    and not future:
                yield finding(node, "unused-import", f"'{name}' is imported and not used")
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield finding(node, "bare-except", "a bare except also catches the end of the program")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if isinstance(default, (ast.List, ast.Dict, ast.Set)):
                    yield finding(default, "mutable-default", "a default that all calls share")
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.NotEq)) \
                and isinstance(node.comparators[0], ast.Constant) \
                and node.comparators[0].value is None:
            yield finding(node, "none-comparison", "compare to None with `is`")


# Hints of cheating: for a person or a diagnosis, never a verdict.
SPECIAL_MIN = 3
CURIOUS = {
    "sys._getframe": "looks at its callers", "inspect.stack": "looks at its callers",
    "inspect.currentframe": "looks at its callers", "gc.get_objects": "looks at all objects",
    "gc.get_referrers": "looks at all objects", "os._exit": "ends its process",
    "sys.settrace": "traces", "sys.setprofile": "traces", "os.kill": "sends signals",
    "os.getppid": "looks for its parent", "atexit.register": "acts at the end of the process",
    "os.fork": "forks", "sys.addaudithook": "watches its process",
}
CURIOUS_MODULES = {"pytest": "imports the test framework", "unittest": "imports the test framework",
                   "_pytest": "imports the test framework", "ctypes": "reaches into memory",
                   "gc": "looks at all objects", "gb_judge": "imports the judge"}


def hints(file: str, tree: ast.Module) -> Iterator[Finding]:
    def hint(node: ast.AST, kind: str, message: str) -> Finding:
        return {"file": file, "line": getattr(node, "lineno", 0), "kind": kind, "message": message}

    tables = tables_of(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            cases = special_cases(node, tables)
            if len(cases) >= SPECIAL_MIN:
                yield {**hint(node, "special_cases",
                              f"'{node.name}' answers {len(cases)} inputs with constants"),
                       "cases": cases}
            if node.name in ("__eq__", "__ne__", "__contains__", "__bool__") and is_constant(node):
                yield hint(node, "constant_equality", f"'{node.name}' always says the same")
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func) if isinstance(node.func, ast.Attribute) else ""
            if name in CURIOUS:
                yield hint(node, "curious", f"{name}() {CURIOUS[name]}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.startswith("/proc/"):
                yield hint(node, "curious", "names a file of /proc")
        elif isinstance(node, (ast.Assign, ast.Delete)):
            if any(ast.unparse(target).startswith(("builtins.", "__builtins__"))
                   for target in node.targets):
                yield hint(node, "curious", "replaces a built-in")
    for node, name in imported(tree):
        top = name.partition(".")[0]
        if top in CURIOUS_MODULES:
            yield hint(node, "curious", f"{CURIOUS_MODULES[top]}: {name}")


def is_constant(function: Function) -> bool:
    body = [node for node in function.body
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    return len(body) == 1 and returns_literal(body)


def bounded(value: Any) -> Any:
    """The code decides how much there is to say about it, and in which characters."""
    if isinstance(value, str):
        return value[:TEXT_MAX].encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [bounded(item) for item in value[:FINDINGS_MAX]]
    if isinstance(value, dict):
        return {key: bounded(item) for key, item in value.items()}
    return value


def check(folder: str, contract: dict[str, Any], seconds: float = LINT_SECONDS) -> dict[str, Any]:
    trees, problems = parse_all(read_all(folder))
    report: dict[str, Any] = {"syntax": problems, "interface": [], "missing_modules": [],
                              "missing_packages": [], "lint_by": "", "lint": [], "hints": []}
    module = contract.get("module")
    if isinstance(module, str) and module:
        broken = {problem["file"] for problem in problems}
        if module in trees:
            report["interface"] = Interface(trees[module], contract).check()
        elif module not in broken:
            report["interface"] = [{"name": module, "problem": "missing",
                                    "message": f"the file '{module}' is missing",
                                    "defined": sorted(trees)[:20]}]
    report["missing_modules"] = missing_modules(trees)
    report["missing_packages"] = missing_packages(contract.get("packages"))
    report["lint_by"], report["lint"] = lint(folder, trees, seconds)
    found = [hint for file, tree in trees.items() for hint in hints(file, tree)]
    report["hints"] = found[:FINDINGS_MAX]
    return report


def main(argv: list[str]) -> None:
    # Isolated from the workspace, which the host puts first there, and not from the packages behind it.
    sys.path += os.environ.get("PYTHONPATH", "").split(os.pathsep)[1:]
    contract: dict[str, Any] = {}
    folders: list[str] = []
    seconds: float = LINT_SECONDS
    words = iter(argv)
    for word in words:
        if word == "--contract":
            with open(next(words, ""), encoding="utf-8") as file:
                contract = json.load(file)
        elif word == "--seconds":
            seconds = min(LINT_SECONDS, float(next(words, "")))
        else:
            folders.append(word)
    if not folders or not all(map(os.path.isdir, folders)):
        sys.exit("judge_check: name the directories of the code")
    for folder in folders:
        print(json.dumps(bounded(check(os.path.abspath(folder), contract, seconds))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
