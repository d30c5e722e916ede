"""The ways in which a Redis server fails, each as a server on loopback that does so."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scrapy_rep.stores.codec import encode_parts
from tests.stores.samples import authority, entry
from tests.stores.servers import Handler, ScriptedServer, commands, free_port


def saying(reply: bytes | Callable[[socket.socket], bytes | None]) -> Handler:
    """A server that accepts everybody and answers each look-up and write in that way."""

    def handle(sock: socket.socket) -> None:
        def answer(words: list[bytes]) -> bytes | None:
            if words[0] in (b"CLIENT", b"SELECT", b"HELLO", b"PING"):
                return b"+OK\r\n"
            return reply if isinstance(reply, bytes) else reply(sock)

        commands(sock, answer)

    return handle


def reset(sock: socket.socket) -> None:
    """Half a reply, and the connection is reset."""
    sock.sendall(b"$100\r\nabc")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def huge(sock: socket.socket) -> None:
    """A reply of two gigabytes."""
    sock.sendall(b"$2000000000\r\n")
    while True:
        sock.sendall(bytes(4096))
        time.sleep(0.001)


def dribble(sock: socket.socket) -> bytes:
    """A reply that takes five seconds, an octet now and then, so that no read ever times out."""
    sock.sendall(b"$50\r\n")
    for _ in range(50):
        sock.sendall(b"x")
        time.sleep(0.1)
    return b"\r\n"


def silent(sock: socket.socket) -> bytes:
    """Nothing is said until the other side hangs up."""
    sock.recv(1)
    return b""


def half(sock: socket.socket) -> bytes:
    """Half a line, and silence."""
    sock.sendall(b"$5")
    return silent(sock)


def stored(words: list[bytes]) -> bytes:
    """The reply to a command, of a server that has an entry."""
    answer = encode_parts(authority(), entry())["answer"]
    if words[0] == b"HGETALL":
        return b"*2\r\n$6\r\nanswer\r\n$%d\r\n%s\r\n" % (len(answer), answer)
    return b":1\r\n" if words[0] == b"EVAL" else b"+OK\r\n"


def foreign(sock: socket.socket) -> None:
    """What is stored is not what it is taken for."""
    octets = b"*2\r\n$6\r\nanswer\r\n$3\r\nREP\r\n"
    commands(sock, lambda words: octets if words[0] == b"HGETALL" else b"+OK\r\n")


def idle_close(sock: socket.socket) -> None:
    """Each connection answers one look-up, rightly, and is closed."""

    def answer(words: list[bytes]) -> bytes | None:
        sock.sendall(stored(words))
        return None if words[0] == b"HGETALL" else b""

    commands(sock, answer)


def wait(sock: socket.socket) -> None:
    """All that comes is read and nothing answered."""
    while sock.recv(1 << 16):
        pass


FAULTS: dict[str, Handler | None] = {
    "refuse": None,
    "hang": wait,
    "reset in mid-reply": saying(reset),
    "garbage": saying(b"\x00\xff\xfe garbage\r\n\r\n$-7\r\n*99999999\r\n"),
    "wrong type": saying(b":5\r\n"),
    "wrong types within": saying(b"*2\r\n:1\r\n$1\r\nx\r\n"),
    "LOADING": saying(b"-LOADING Redis is loading the dataset in memory\r\n"),
    "OOM": saying(b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"),
    "READONLY": saying(b"-READONLY You can't write against a read only replica.\r\n"),
    "NOAUTH": saying(b"-NOAUTH Authentication required.\r\n"),
    "huge bulk": saying(huge),
    "half a line": saying(half),
    "5 s slow": saying(dribble),
    "MOVED": saying(b"-MOVED 3999 127.0.0.1:6381\r\n"),
    "idle close": idle_close,
    "hang after the greeting": saying(silent),
    "another's entry": foreign,
}


@contextmanager
def faulty(fault: str) -> Iterator[str]:
    """The URI of a server with that fault."""
    handler = FAULTS[fault]
    if handler is None:
        yield f"redis://127.0.0.1:{free_port()}/0"
        return
    with ScriptedServer(handler) as server:
        yield server.uri
