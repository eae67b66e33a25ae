# SPDX-License-Identifier: Apache-2.0
"""A server of models that says what a test wants, byte by byte if need be.

    with scripted_server.serving(answer(text("hel"), text("lo"), DONE)) as server:
        ask(server.url)

Each request is answered by the next of the given functions, which get a Visit; the last one answers
all that follow.  A connection is kept for as long as its visitor and the function's answer allow.
"""
import contextlib
import json
import socket
import struct
import threading

PATIENCE_S = 60
DONE = b"data: [DONE]\n\n"


# ---- what servers say ----------------------------------------------------------------------------

def event(document, name=None):
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json.dumps(document).encode() + b"\n\n"


def delta(finish=None, **content):
    return event({"choices": [{"index": 0, "delta": content, "finish_reason": finish}]})


def text(content):
    return delta(content=content)


def stop(reason="stop"):
    return delta(finish=reason)


def claude(kind, **content):
    """An event of Anthropic's."""
    return event({"type": kind, **content}, kind)


def head(status=200, *lines, kind="text/event-stream"):
    return "\r\n".join([f"HTTP/1.1 {status} Word", f"Content-Type: {kind}", *lines, "", ""]).encode()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


def answer(*pieces):
    """Well-formed and streamed; the connection can be kept."""
    def say(visit):
        visit.send(head(200, "Transfer-Encoding: chunked"))
        for piece in pieces:
            visit.send(chunk(piece))
        visit.send(b"0\r\n\r\n")
    return say


def refuse(status, document, *lines):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()

    def say(visit):
        visit.send(head(status, f"Content-Length: {len(body)}", *lines, kind="application/json") + body)
    return say


# ---- the server ----------------------------------------------------------------------------------

class Visit:
    """One request."""

    def __init__(self, connection, method, path, headers, body):
        self.connection = connection
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def document(self):
        return json.loads(self.body)

    def send(self, data):
        self.connection.sendall(data)

    def leave(self):
        """Hangs up in good order."""
        self.connection.shutdown(socket.SHUT_RDWR)
        raise Leave

    def reset(self):
        """Hangs up with a RST."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Leave

    def wait_for_hangup(self):
        while self.connection.recv(65536):
            pass


class Leave(Exception):
    """The connection is over."""


def _read_request(stream):
    line = stream.readline().decode()
    if not line:
        raise Leave
    method, path, _ = line.split()
    headers = {}
    for line in iter(stream.readline, b"\r\n"):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return method, path, headers, stream.read(int(headers.get("content-length", 0)))


class Server:
    def __init__(self, answers):
        self.answers = list(answers)
        self.visits = []
        self.facts = {}  # what is answered at a path, whenever it is asked; no visit
        self.asked = []  # paths of the facts, as they were asked
        self.connections = 0
        self.hung_up = threading.Event()  # a visitor left while it was answered
        self.open = set()
        self.threads = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.url = self.base + "/v1"

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.settimeout(PATIENCE_S)
            thread = threading.Thread(target=self.serve, args=(connection,))
            with self.lock:
                self.connections += 1
                self.open.add(connection)
                thread.start()
                self.threads.append(thread)

    def serve(self, connection):
        with connection, connection.makefile("rb") as stream, contextlib.suppress(Leave, OSError):
            while True:
                visit = Visit(connection, *_read_request(stream))
                if visit.path in self.facts:
                    self.asked.append(visit.path)
                    refuse(200, self.facts[visit.path])(visit)
                    continue
                with self.lock:
                    say = self.answers[min(len(self.visits), len(self.answers) - 1)]
                    self.visits.append(visit)
                try:
                    say(visit)
                except OSError:
                    self.hung_up.set()
                    raise
        with self.lock:
            self.open.discard(connection)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            left = list(self.open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()


@contextlib.contextmanager
def serving(*answers):
    server = Server(answers)
    thread = threading.Thread(target=server.accept)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()
