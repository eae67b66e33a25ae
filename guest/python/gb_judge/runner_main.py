# SPDX-License-Identifier: Apache-2.0
"""The runner: takes its line and verdict channel, finds the tests, runs them one after another."""
from __future__ import annotations

import os
import sys

from . import minipytest
from .collect import AbsentFinder, Item, load_tests
from .remote import Finder, Peer
from .run import Alarm, Surroundings, describe_in_time, message_of, run_item
from .wire import Channel, Interruption, Lost, take_line, to_json
from .workspace import link_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .run import Result

LINE_MAX = 60000
RECURSION_MAX = 4000  # a callback within a call within a callback takes a dozen frames here


class Options:
    def __init__(self) -> None:
        self.nonce = ""
        self.modules: list[str] = []
        self.ids: list[str] = []
        self.paths: list[str] = []
        self.inputs: list[str] = []
        self.collect = self.together = self.batch = self.exitfirst = False
        self.code = ""
        self.limit, self.limit_stress = 5.0, 20.0


def _read_and_remove(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    os.unlink(path)
    return text


# option -> what its value does
VALUES: dict[str, Any] = {
    "--nonce": lambda o, v: setattr(o, "nonce", v),
    "--nonce-file": lambda o, v: setattr(o, "nonce", _read_and_remove(v).strip()),
    "--module": lambda o, v: o.modules.append(v),
    "--input": lambda o, v: o.inputs.append(v),
    "--id": lambda o, v: o.ids.append(v),
    "--ids-file": lambda o, v: o.ids.extend(_read_and_remove(v).splitlines()),
    "--code": lambda o, v: setattr(o, "code", os.path.abspath(v)),
    "--limit": lambda o, v: setattr(o, "limit", float(v)),
    "--limit-stress": lambda o, v: setattr(o, "limit_stress", float(v)),
}
FLAGS = ("--collect", "--together", "--batch", "--exitfirst")


def parse(argv: list[str]) -> Options:
    options = Options()
    words = iter(argv)
    for word in words:
        if word in VALUES:
            VALUES[word](options, next(words, ""))
        elif word in FLAGS:
            setattr(options, word[2:], True)
        elif word.startswith("--"):
            sys.exit(f"judge_runner: unknown argument '{word}'")
        else:
            options.paths.append(word)
    if not options.nonce or not options.paths:
        sys.exit("judge_runner: --nonce and at least one test file are needed")
    if options.together and not options.code:
        sys.exit("judge_runner: --together needs --code")
    return options


class Verdicts:
    """The only way out: lines that begin with the nonce, on a descriptor of its own."""

    def __init__(self, fd: int, nonce: str) -> None:
        def tell(kind: str, fields: dict[str, Any]) -> None:
            text = to_json({"kind": kind, **fields})
            if len(text) > LINE_MAX:
                text = to_json({"kind": kind, **_cut(fields)})
            view = memoryview(f"{nonce} {text}\n".encode("ascii"))
            while view:
                view = view[os.write(fd, view):]

        self.tell = tell


def _cut(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value[:1500] if isinstance(value, str) else value for key, value in fields.items()}


class Runner:
    def __init__(self, options: Options, line: tuple[int, int], verdicts: Verdicts) -> None:
        self._options, self._verdicts = options, verdicts
        self._channel = Channel(*line)
        self._base = os.getcwd()
        self._own = OwnModules([os.path.join(self._base, path) for path in options.paths])
        self._alarm = Alarm()
        self._top = self._root = self._new_root(os.environ.get("TMPDIR", "/tmp"))
        self._kept = set(sys.modules)
        self._path = list(sys.path)
        self._peer: Peer | None = None

    def collect(self) -> list[Item]:
        """Without the tested code."""
        sys.meta_path.insert(0, AbsentFinder(self._options.modules))
        try:
            with Surroundings(self._root, None):
                return load_tests(self._options.paths, self._base, lambda _: None)
        finally:
            del sys.meta_path[0]

    def tell_tests(self, items: list[Item]) -> None:
        for item in items:
            self._verdicts.tell("test", {"id": item.id, "class": item.kind, "line": item.line})

    def run(self, identity: str) -> Result:
        """One test, everything about it fresh: its module, its proxies, and the peer's process if
        there is one for each test."""
        self._forget()
        self._begin()
        around = Surroundings(self._root, self._peer)
        try:
            item = self._load(identity, around)
            if isinstance(item, dict):
                return item
            stress = item.kind == "stress"
            limit = self._options.limit_stress if stress else self._options.limit
            return run_item(item, around, self._alarm, limit)
        finally:
            self._end()

    def _load(self, identity: str, around: Surroundings) -> Item | Result:
        """The test of that id; a result when there is none."""
        self._alarm.start(self._options.limit)
        try:
            with around:
                items = load_tests(self._options.paths, self._base, around.guard.prepare)
            self._alarm.stop()
        except BaseException as error:
            self._alarm.stop()
            return self._unloaded(identity, error)
        for item in items:
            if item.id == identity:
                return item
        return {"id": identity, "outcome": "error", "message": "no such test", "flags": [],
                "counts": False}

    def _unloaded(self, identity: str, error: BaseException) -> Result:
        """The test file, or the code that it imports, could not be loaded."""
        result: Result = {"id": identity, "flags": ["import"], "counts": False}
        flags = {"import"} | (self._peer.flags if self._peer else set())
        describe_in_time(self._alarm, result, flags, "", "setup", error)
        result["flags"] = sorted(flags)
        return result

    def _begin(self) -> None:
        if self._options.together:
            sys.path.insert(0, self._options.code)
            return
        if self._options.batch:
            self._channel.send_line(b"!begin")
            self._peer = None
            self._root = self._new_root(self._root)
        if self._peer is None:
            self._peer = Peer(self._channel, self._root)
            self._peer.lending.own_modules = self._own
            self._peer.workspace.watch()
        self._peer.flags.clear()
        sys.meta_path.insert(0, Finder(self._peer, self._options.modules))

    def _end(self) -> None:
        if self._options.together:
            return
        del sys.meta_path[0]
        if self._options.batch:
            if self._peer:  # threads that the test has left behind meet no other test
                self._peer.link.die(Lost("the test has ended"))
            self._channel.send_line(b"\n!end")
            self._channel.skip_to(b"!ended\n")

    def _forget(self) -> None:
        """Modules of the tests and of the code before the next test."""
        for name in [name for name in sys.modules if self._is_ours(name)]:
            del sys.modules[name]
        sys.path[:] = self._path
        os.chdir(self._root)

    def _new_root(self, parent: str) -> str:
        """A directory for the files of tests; the working directory from now on."""
        root = f"{parent}/w{os.urandom(6).hex()}"
        os.mkdir(root)
        os.chdir(root)
        os.environ["TMPDIR"] = root
        link_inputs(root, self._options.inputs)
        return root

    def close(self) -> None:
        import shutil
        os.chdir("/")
        shutil.rmtree(self._top, ignore_errors=True)

    def _is_ours(self, name: str) -> bool:
        if any(name == known or name.startswith(known + ".") for known in self._options.modules):
            return True
        return name not in self._kept and name in self._own


class OwnModules:
    """Names of modules that lie beside the tests."""

    def __init__(self, paths: list[str]) -> None:
        self._folders = tuple(os.path.dirname(path) + "/" for path in paths)

    def __contains__(self, name: str) -> bool:
        file = getattr(sys.modules.get(name), "__file__", None)
        ours = name == "pytest" or name.partition(".")[0] == __package__
        return isinstance(file, str) and file.startswith(self._folders) and not ours


def main(argv: list[str]) -> NoReturn:
    options = parse(argv)
    verdicts = Verdicts(os.dup(2), options.nonce)
    options.nonce = ""
    line = take_line()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.argv[:] = ["pytest"]
    del sys.path[0]
    sys.modules["pytest"] = minipytest
    sys.setrecursionlimit(RECURSION_MAX)
    status = _work(options, line, verdicts)
    os._exit(status)


def _work(options: Options, line: tuple[int, int], verdicts: Verdicts) -> int:
    runner = Runner(options, line, verdicts)
    try:
        return _run_all(options, runner, verdicts)
    except Interruption as why:
        verdicts.tell("problem", {"message": message_of(why)})
        return 1
    finally:
        runner.close()


def _run_all(options: Options, runner: Runner, verdicts: Verdicts) -> int:
    ids, found = options.ids, 0
    if options.collect or not ids:
        try:
            items = runner.collect()
        except BaseException as error:
            verdicts.tell("problem", {"message": message_of(error)})
            return 1
        runner.tell_tests(items)
        ids, found = [item.id for item in items], len(items)
    ran = 0
    for identity in [] if options.collect else ids:
        result = runner.run(identity)
        if options.together:
            result["flags"] = sorted({*result["flags"], "together"})
            result["counts"] = False
        verdicts.tell("result", result)
        ran += 1
        if options.exitfirst and result["outcome"] != "passed":
            break
    verdicts.tell("end", {"tests": found or len(ids), "ran": ran})
    return 0
