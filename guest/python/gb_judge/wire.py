# SPDX-License-Identifier: Apache-2.0
"""The line between the two boxes: bounded JSON lines, and questions that may nest.

Both sides use the same Link.  A question has "do", an answer repeats the question's "i".  While
one side waits for its answer it serves the other's questions, so callbacks are nothing special.
"t" names the thread that asks; whichever thread waits reads for all (no thread exists only to
read).  In the box with the tests every byte that comes in is hostile: what is not exactly as
described here is a Violation, and the link is dead from then on.
"""
from __future__ import annotations

import _thread
import itertools
import os
from _json import encode_basestring_ascii, make_encoder, make_scanner
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Message = dict[str, Any]

LINE_MAX = 32 << 20
NODES_MAX = 1 << 20  # arrays and objects in one line: bounds what a line becomes in memory
NESTING_MAX = 300
THREADS_MAX = 120
INBOX_MAX = 100  # messages that wait for one thread; an honest side has one
CONTROL = b"!"  # begins the lines of the process that starts servers (forking.py)


class Interruption(BaseException):
    """Ends a test whatever it catches: no `except Exception` may hide one of these."""


class Lost(Interruption):
    """The other side is gone."""


class Violation(Interruption):
    """The other side sent what nobody may send."""


class TooLarge(Interruption):
    """An honest side wanted to send more than may cross at once."""


def require(condition: object, what: str) -> None:
    if not condition:
        raise Violation(what)


def check_depth(question: Message) -> None:
    """Whoever serves asks first; calls within callbacks within calls have an end."""
    if question["depth"] > NESTING_MAX:
        raise RecursionError(f"calls nested deeper than {NESTING_MAX}")


def _no_constant(name: str) -> None:
    raise Violation(f"{name} in a message")


def _nodes(line: bytes) -> int:
    return line.count(b"[") + line.count(b"{")


class _Reading:
    """How the scanner reads."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, _no_constant


def _no_object(value: Any) -> None:
    raise TypeError(f"{type(value).__name__} in a message")


# The parts of json that do the work, without the package: loading that, and the regular expressions
# with it, takes as long as everything else here.
_scan = make_scanner(_Reading)
_chunks = make_encoder(None, _no_object, encode_basestring_ascii, None, ":", ",", False, False,
                       False)  # keys are not sorted nor skipped, no NaN


def to_json(value: Any) -> str:
    return "".join(_chunks(value, 0))


def _from_json(text: str) -> Any:
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("no JSON") from None
    if text[end:] != "\n":
        raise ValueError("more than one value")
    return value


class Channel:
    """Messages over two descriptors; one reader and one writer at a time."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._reader = os.fdopen(read_fd, "rb", buffering=1 << 16)
        self._write_fd = write_fd
        self._lock = _thread.allocate_lock()  # of the reader
        self.epoch = 0  # counts the servers: a link of an earlier one reads no more
        self._control: list[bytes] = []

    def send(self, message: Message) -> None:
        line = to_json(message).encode("ascii")
        if len(line) >= LINE_MAX or _nodes(line) > NODES_MAX:
            raise TooLarge(f"{len(line)} bytes in one message are more than can cross")
        self.send_line(line)

    def send_line(self, line: bytes) -> None:
        view = memoryview(line + b"\n")
        try:
            while view:
                view = view[os.write(self._write_fd, view):]
        except OSError as error:
            raise Lost(f"cannot write: {error.strerror}") from None

    def receive_line(self, epoch: int = 0) -> bytes:
        try:
            with self._lock:
                if epoch != self.epoch:
                    raise Lost("it ended")
                line = self._reader.readline(LINE_MAX + 1)
                if line.startswith(CONTROL):
                    self._control.append(line)
        except OSError as error:
            raise Lost(f"cannot read: {error.strerror}") from None
        if not line.endswith(b"\n"):
            require(len(line) <= LINE_MAX, f"a line of more than {LINE_MAX} bytes")
            raise Lost("it ended")
        if line.startswith(CONTROL):
            raise Lost("it ended")
        return line

    def skip_to(self, wanted: bytes) -> None:
        """Reads on until that line; what came before it was meant for nobody any more.  A thread
        that a test left behind may read it first, and nothing after it."""
        left = 4 * LINE_MAX
        epoch = self.epoch + 1
        while left > 0:
            with self._lock:
                self.epoch = epoch
                if wanted in self._control:
                    self._control.clear()
                    return
                line = self._reader.readline(LINE_MAX)
                self._control += [line] if line.startswith(CONTROL) else []
            left -= len(line)
            if not line:
                raise Lost("it ended")
        raise Violation("too much output")

    def receive(self, epoch: int = 0) -> Message:
        line = self.receive_line(epoch)
        require(_nodes(line) <= NODES_MAX, "a line of too many parts")
        try:
            message = _from_json(line.decode("ascii"))
        except (ValueError, RecursionError) as error:
            raise Violation(f"a line that is no message: {str(error)[:200]}") from None
        require(type(message) is dict, "a message that is no object")
        require(type(message.get("t")) is int, "a message without thread")
        return message


def take_line() -> tuple[int, int]:
    """Standard input and output become private; others find an empty input, and what they
    write to descriptor 1 lands on standard error."""
    line = os.dup(0), os.dup(1)  # not inherited by programs that others start
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return line


class _Thread:
    """What belongs to one asking or serving thread."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.inbox: deque[Message] = deque()
        self.depth = 0


class _Seat:
    """Held by a living thread; its number is free again when the thread has ended."""

    def __init__(self, thread: _Thread, free: list[_Thread]) -> None:
        self.thread = thread
        self._free = free

    def __del__(self) -> None:
        self._free.append(self.thread)


class Link:
    """Questions and answers.

    The main threads of both sides are number 0; `step` is the sign of this side's others.

    `serve` does what a question asks and returns the function that packs the answer; `prepare`
    decodes a message just read.  Both sides thus pack and unpack in the order of the line."""

    def __init__(self, channel: Channel, serve: Callable[[Message], Callable[[], Message]],
                 prepare: Callable[[Message], None], step: int) -> None:
        self.channel = channel
        self._epoch = channel.epoch
        self.lock = _thread.RLock()  # held while a message is packed and sent, or unpacked
        self.dead: Interruption | None = None
        self._serve = serve
        self._prepare = prepare
        self._turn = _thread.allocate_lock()
        self._waiting: list[Any] = []
        self._reading = False
        self._sequence = itertools.count(1)
        self._numbers = itertools.count(0, step)
        self._local = _thread._local()
        self._threads: dict[int, _Thread] = {}
        self._free: list[_Thread] = []
        self._helpers = 0

    @property
    def threaded(self) -> bool:
        return len(self._threads) > 1

    def is_busy_elsewhere(self) -> bool:
        """Has this process threads that the link did not start?"""
        return _thread._count() > self._helpers

    def ask(self, pack: Callable[[], Message]) -> Message:
        """Sends what `pack` makes, serves meanwhile, returns the answer."""
        me = self._me()
        number = next(self._sequence)
        try:
            self._send(pack, number, me)
        except TooLarge as why:
            raise self.die(why)
        while True:
            message = self._next(me)
            if "do" in message:
                self._answer(message, me)
            else:
                self._check(message.get("i") == number, "an answer to nothing")
                if "large" in message:
                    raise self.die(TooLarge("the answer is more than can cross at once"))
                return message

    def serve_forever(self) -> None:
        """The life of a side that only answers."""
        me = self._me()
        while True:
            self._answer(self._next(me), me)

    def listen(self) -> None:
        """From now on questions are served also while no thread of ours waits."""
        self._start(self.serve_forever)

    def die(self, why: Interruption) -> Interruption:
        self.dead = self.dead or why
        return why

    def _me(self) -> _Thread:
        seat = getattr(self._local, "seat", None)
        if seat is None:
            thread = self._free.pop() if self._free else _Thread(next(self._numbers))
            self._threads[thread.number] = thread
            seat = self._local.seat = _Seat(thread, self._free)
        return seat.thread

    def _send(self, pack: Callable[[], Message], number: int, me: _Thread) -> None:
        if self.dead:
            raise self.dead
        with self.lock:
            message = pack()
            message["i"], message["t"] = number, me.number
            try:
                self.channel.send(message)
            except Lost as lost:
                raise self.die(lost)
            except RecursionError:
                raise TooLarge("the message nests deeper than can cross") from None

    def _answer(self, question: Message, me: _Thread) -> None:
        number = question.get("i")
        self._check("do" in question and type(number) is int, "neither question nor answer")
        me.depth += 1
        question["depth"] = me.depth
        try:
            pack = self._serve(question)
        finally:
            me.depth -= 1
        try:
            self._send(pack, number, me)
        except TooLarge:
            self._send(lambda: {"large": 1}, number, me)
            raise

    def _check(self, condition: object, what: str) -> None:
        if not condition:
            raise self.die(Violation(what))

    def _next(self, me: _Thread) -> Message:
        """The next message for this thread; reads for everybody while nobody else does."""
        while True:
            with self._turn:
                if me.inbox:
                    return me.inbox.popleft()
                if self.dead:
                    raise self.dead
                bell = None
                if self._reading:
                    bell = _thread.allocate_lock()
                    bell.acquire()
                    self._waiting.append(bell)
                self._reading = True
            if bell:
                bell.acquire()
            else:
                self._read_one()

    def _read_one(self) -> None:
        ready = None
        try:
            message = self.channel.receive(self._epoch)
            if "large" not in message:
                with self.lock:
                    self._prepare(message)
            ready = message
        except Interruption as why:
            raise self.die(why)
        finally:
            with self._turn:
                self._reading = False
                if ready is not None:
                    self._deliver(ready)
                bells, self._waiting = self._waiting, []
            for bell in bells:
                bell.release()

    def _deliver(self, message: Message) -> None:
        thread = self._threads.get(message["t"])
        if thread is not None:
            thread.inbox.append(message)
            if len(thread.inbox) > INBOX_MAX:
                self.die(Violation("more messages than anybody asked for"))
        elif "do" not in message or len(self._threads) >= THREADS_MAX:
            self.die(Violation("a message for an unknown thread"))
        else:
            thread = self._threads[message["t"]] = _Thread(message["t"])
            thread.inbox.append(message)
            self._start(self._serve_as, thread)

    def _serve_as(self, thread: _Thread) -> None:
        self._local.seat = _Seat(thread, [])
        self.serve_forever()

    def _start(self, work: Callable[..., None], *args: Any) -> None:
        self._helpers += 1
        _thread.start_new_thread(self._until_dead, (work, *args))

    def _until_dead(self, work: Callable[..., None], *args: Any) -> None:
        try:
            work(*args)
        except Interruption as why:
            self.die(why)  # the thread that asks meets it there
