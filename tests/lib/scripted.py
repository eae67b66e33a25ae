# SPDX-License-Identifier: Apache-2.0
"""An engine that says what no real one can be made to say: a socket with an answer for each request."""
import contextlib
import os
import socket
import threading

PING = b"HTTP/1.1 200 OK\r\nAPI-Version: 1.41\r\nContent-Length: 0\r\n\r\n"


@contextlib.contextmanager
def scripted(path, *answers):
    """A socket whose n-th request gets the n-th answer: bytes, or None to hang.  What was asked."""
    asked = []
    left = list(answers)
    open_ones = []
    stop = threading.Event()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(8)

    def serve(connection):
        with connection, contextlib.suppress(OSError):
            while (head := _request(connection)) and left:
                asked.append(head)
                answer = left.pop(0)
                if answer is None:
                    stop.wait(30)
                elif callable(answer):
                    return answer(connection)
                else:
                    connection.sendall(answer)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                thread = threading.Thread(target=serve, args=(connection,))
                open_ones.append((connection, thread))
                thread.start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield asked
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for connection, thread in open_ones:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join()
        os.unlink(path)


def _request(connection):
    """One request as far as it matters: the head."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            return b""
        head += piece
    return head


def answer(body, status="200 OK", more=b""):
    return (f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n".encode() + more + b"\r\n" + body)
