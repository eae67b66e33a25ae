# SPDX-License-Identifier: Apache-2.0
"""In the box of the tests: the other end, every byte of which is hostile.

Peer asks it; RemoteModule and Finder make `import duration` in a test mean the module over there.
"""
from __future__ import annotations

import os
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType

from .adopting import TestCodec, is_text
from .lent import Lending, _library
from .proxies import QUESTIONS, NeedsTogether, Remote, RemoteClass, RemoteMethod, is_named
from .wire import Interruption, Link, Violation, check_depth
from .workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .wire import Channel, Message

ECHO_MAX = 1 << 21
NOTES_MAX = 500
NAME_MAX = 500
NOT_SHARED = ("TMPDIR", "PWD", "OLDPWD")


class Peer:
    """The tested code, asked over the line."""

    plain_types = (int, float, complex, str, bytes, bytearray, tuple, list, dict, set, frozenset)

    def __init__(self, channel: Channel, root: str) -> None:
        self.flags: set[str] = set()
        self.drops: list[list[int]] = []
        self.unpacking = False
        self.lending = Lending()
        self.codec = TestCodec(self, self.lending)
        self.link = Link(channel, self._serve, self._prepare, step=1)
        self.workspace = Workspace(root)
        self._methods: dict[type, set[str]] = {}
        self._environment, self._raw_environment = dict(os.environ), _raw_environment()
        self._argv = list(sys.argv)
        self._cwd = root
        self._greeted = self._listening = False

    def flag(self, name: str) -> None:
        self.flags.add(name)

    def dropped(self, handle: Any) -> None:
        """Called by the collector at any moment: it only makes a note for the next message."""
        count = getattr(handle, "_judge_count_", 0)
        if count:
            self.drops.append([handle._judge_number_, count])

    def ask(self, do: str, number: int = 0, name: str = "", args: tuple = (),
            kwargs: dict | None = None) -> Any:
        return self._result(self._exchange(do, number, name, args, kwargs or {}))

    def require(self, condition: object, what: str) -> None:
        """A violation is the end, also when the test catches it."""
        if not condition:
            raise self.link.die(Violation(what))

    def get(self, obj: Any, name: str) -> Any:
        """An attribute.  A method is known by its class from the second time on."""
        if name in QUESTIONS and isinstance(obj, Remote) and not is_named(obj):
            self.flag("unnamed_type")
        methods = self._methods.setdefault(type(obj), set())
        if name in methods:
            return RemoteMethod(obj, name)
        answer = self._exchange("get", obj._judge_number_, name, (), {})
        if "method" in answer and not isinstance(obj, RemoteClass):
            self._result(answer)
            methods.add(name)
            return RemoteMethod(obj, name)
        return self._result(answer)

    def operator(self, obj: Any, name: str, *args: Any) -> Any:
        return self.ask("operator", obj._judge_number_, name, args)

    def _exchange(self, do: str, number: int, name: str, args: tuple, kwargs: dict) -> Message:
        if self.unpacking:
            raise AttributeError(name)  # of an object that is not complete yet
        def pack() -> Message:
            message = self._pack([*args, *kwargs.values()])
            message.update(do=do, n=number, name=name)
            if kwargs:
                message["kw"] = list(kwargs)
            return message

        return self.link.ask(pack)

    def _result(self, answer: Message) -> Any:
        self._hear(answer)
        values = answer["values"]
        self.require(len(values) >= 1, "an answer without value")
        self._warn(answer, values[1:])
        if answer.get("bg") and not self._listening:
            self._listening = True
            self.link.listen()
        if "error" in answer:
            self.require(isinstance(values[0], BaseException), "an error that is none")
            raise values[0]
        return values[0]

    def _serve(self, question: Message) -> Callable[[], Message]:
        """A callback.  What it raises goes back as the exception it is."""
        self._hear(question)
        names = question.get("kw", [])
        self.require(are_names(names), "strange names")
        self.require(is_text(question["do"], NAME_MAX), "an unknown question")
        self.require(type(question.get("n")) is int, "a strange question")
        self.require(is_text(question.get("name"), NAME_MAX), "a strange question")
        values = question["values"]
        self.require(len(names) <= len(values), "names without values")
        split = len(values) - len(names)
        try:
            check_depth(question)
            result = self.lending.serve(question["do"], question["n"], question["name"],
                                        values[:split], dict(zip(names, values[split:])))
        except Violation as why:
            raise self.link.die(why)
        except Interruption:
            raise
        except BaseException as error:
            return partial(self._pack, [error], {"error": 1})
        return partial(self._pack, [result])

    def _pack(self, values: list, message: Message | None = None) -> Message:
        message = message or {}
        if not self.link.threaded:
            idle = self.codec.twins.idle()
            for number in idle:
                self.codec.twins.forget(number)
            if idle:
                message["forget"] = idle
        self.codec.give_twins = not self.link.threaded
        message["v"], message["heap"] = self.codec.pack(values)
        if self.drops:
            message["drop"], self.drops = self.drops, []
        self._pack_surroundings(message)
        return message

    def _pack_surroundings(self, message: Message) -> None:
        if not self._greeted:
            self._greeted = True
            message["root"] = self.workspace.root
        if _raw_environment() != self._raw_environment:
            environment = dict(os.environ)
            message["env"] = _difference(self._environment, environment)
            self._environment, self._raw_environment = environment, _raw_environment()
        if sys.argv != self._argv:
            self._argv = message["argv"] = [str(word) for word in sys.argv]
        files = self.workspace.changes()
        if files:
            message["files"] = files
        if self.workspace.touched and os.getcwd() != self._cwd:
            self._cwd = message["cwd"] = os.getcwd()

    def _prepare(self, message: Message) -> None:
        drops = message.get("drop", [])
        self.require(type(drops) is list, "strange drops")
        for drop in drops:
            self.require(type(drop) is list and [type(part) for part in drop] == [int, int],
                         "a strange drop")
            self.lending.drop(*drop)
        self.workspace.apply(message.get("files", []))
        self.unpacking = True
        try:
            message["values"] = self.codec.unpack(message.get("v"), message.get("heap", []))
        finally:
            self.unpacking = False

    def _hear(self, message: Message) -> None:
        """Output and log records appear here as if the code had run here."""
        for field, stream in (("out", sys.stdout), ("err_out", sys.stderr)):
            text = message.get(field, "")
            self.require(is_text(text, ECHO_MAX), "strange output")
            if text:
                stream.write(text)
        if "cut" in message:
            self.flag("output_cut")
        records = message.get("logs", [])
        self.require(type(records) is list and len(records) <= NOTES_MAX, "strange records")
        for record in records:
            kinds = [type(part) for part in record] if type(record) is list else []
            self.require(kinds == [str, int, str], "a strange record")
            _log(*record)

    def _warn(self, answer: Message, categories: list) -> None:
        texts = answer.get("warnings", [])
        self.require(type(texts) is list and len(texts) == len(categories), "strange warnings")
        if texts:
            import warnings
            for text, category in zip(texts, categories):
                self.require(is_text(text, NAME_MAX * 10), "a strange warning")
                self.require(isinstance(category, type), "no warning")
                self.require(issubclass(category, Warning), "no warning")
                warnings.warn_explicit(text, category, "tested code", 1)


def are_names(value: Any) -> bool:
    return type(value) is list and all(is_text(name, NAME_MAX) for name in value)


def _raw_environment() -> dict[Any, Any]:
    """A copy that costs little: it is compared before every message."""
    return dict(getattr(os.environ, "_data", os.environ))


def _difference(old: dict[str, str], new: dict[str, str]) -> dict[str, str | None]:
    changed: dict[str, str | None] = {name: value for name, value in new.items()
                                      if old.get(name) != value and name not in NOT_SHARED}
    changed.update((name, None) for name in old if name not in new)
    return changed


def _log(name: str, level: int, text: str) -> None:
    logging = sys.modules.get("logging")
    if logging is None:
        return
    logger = logging.getLogger(name)
    if logger.isEnabledFor(level):
        logger.handle(logger.makeRecord(name, level, "tested code", 1, text, (), None))


class RemoteModule(ModuleType):
    """A module of the tested code."""

    _judge_module_ = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_judge_") or name in ("__path__", "__all__"):
            raise AttributeError(name)
        peer = self._judge_peer_
        found = peer.ask("get", self._judge_number_, name)
        if isinstance(found, RemoteClass):
            type.__setattr__(found, "_judge_named_", True)
        if isinstance(found, Remote) and _library(name) and type(found).__name__ == "module":
            object.__setattr__(found, "_judge_library_", True)
        if isinstance(found, RemoteClass) or type(found).__name__ == "function":
            self.__dict__[name] = found
        if isinstance(found, Remote) and self._judge_seen_.get(name) != found._judge_number_:
            self._judge_seen_[name] = found._judge_number_
            if found._judge_count_ > 1:  # the test has it already: `pick() is target.FIRST`
                peer.flag("handle_equality")
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") or isinstance(value, RemoteModule):
            super().__setattr__(name, value)
        else:
            raise NeedsTogether(f"the test replaces '{self.__name__}.{name}' in the tested code")

    def __delattr__(self, name: str) -> None:
        raise NeedsTogether(f"the test removes '{self.__name__}.{name}' from the tested code")

    def __dir__(self) -> list[str]:
        return self._judge_peer_.ask("names", self._judge_number_)


class Finder:
    """First on sys.meta_path: the contract's modules are over there."""

    def __init__(self, peer: Peer, modules: list[str]) -> None:
        self._peer, self._modules = peer, modules

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not any(name == known or name.startswith(known + ".") for known in self._modules):
            return None
        return ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> RemoteModule:
        return RemoteModule(spec.name)

    def exec_module(self, module: RemoteModule) -> None:
        about = self._peer.ask("import", 0, module.__name__)
        self._peer.require(type(about) is list and len(about) == 3, "a strange module")
        number, is_package, names = about
        self._peer.require(type(number) is int and are_names(names), "a strange module")
        module.__dict__.update(_judge_number_=number, _judge_peer_=self._peer, __all__=names,
                               _judge_seen_={})
        module.__doc__ = None
        if is_package:
            module.__path__ = []
