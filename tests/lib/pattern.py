# SPDX-License-Identifier: Apache-2.0
"""Bytes that say where they belong, and peers of which each checks what it gets and may be slow.

A box gets this text as it is: nothing but the standard library is used.
"""
import array
import socket
import threading
import time

PIECE = 1 << 18

# Of who is slow: what the kernel keeps for it, bytes of a packet, how much it takes at a time, seconds.
ROOM, PACKET, GULP, REST = 1 << 16, 1000, 700_001, 0.02


def at(start, size):
    """The bytes from start on; each eight of them are a number that no others are."""
    first = start // 8
    words = array.array("Q", range(first, (start + size + 7) // 8)).tobytes()
    return words[start - 8 * first:][:size]


def narrow(s):
    """A socket of who is slow, before it connects or is connected to: with large packets and much room the kernel
    would take at once whatever is held for it."""
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, PACKET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)


def connect(host, port, is_slow):
    s = socket.socket()
    if is_slow:
        narrow(s)
    s.settimeout(60)
    s.connect((host, port))
    return s


def send(s, total):
    for start in range(0, total, PIECE):
        s.sendall(at(start, min(PIECE, total - start)))
    if total:
        s.shutdown(socket.SHUT_WR)


def _check(s, is_slow):
    got = rested = 0
    while piece := s.recv(1 + got * 7919 % 30011 if is_slow else PIECE):
        if piece != at(got, len(piece)):
            return f"wrong behind {got}"
        got += len(piece)
        if is_slow and got - rested > GULP:
            rested = got
            time.sleep(REST)
    return f"{got} right"


def exchange(s, total, is_slow):
    """Sends so much, reads to the end, and says "N right" or where it was wrong.

    Who is slow takes pieces of any size and rests again and again, for so long that all on the way to it is full."""
    sender = threading.Thread(target=send, args=(s, total))
    sender.start()
    said = _check(s, is_slow)
    sender.join()
    return said
