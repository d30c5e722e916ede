"""What a raw socket sees of the site of the tests where a reply is odd, or none.

What is right is seen by each crawl.
"""

from __future__ import annotations

import gzip
import re
import socket
from contextlib import suppress

import pytest

from tests.replies import Bomb, Empty, HalfHead, Hang, Reply, Reset, ShortBody, Stall, Trickle
from tests.site import Authority, Site

RULES = "User-agent: *\nDisallow: /private\n"


def connect(authority: Authority) -> socket.socket:
    """A connection of the test to that authority."""
    return socket.create_connection((authority.host, authority.port), timeout=30)


def ask(sock: socket.socket) -> None:
    """A GET goes out."""
    sock.sendall(b"GET /robots.txt HTTP/1.1\r\nHost: here\r\nConnection: keep-alive\r\n\r\n")


def rest(sock: socket.socket, timeout: float) -> bytes:
    """What still comes: it ends with the connection, or with so many seconds of silence."""
    sock.settimeout(timeout)
    octets = b""
    with suppress(TimeoutError):
        while piece := sock.recv(65536):
            octets += piece
    return octets


def ended(sock: socket.socket) -> bool:
    """Whether the server has closed."""
    try:
        return sock.recv(1) == b""
    except TimeoutError:
        return False


HALF = RULES.encode()[: len(RULES) // 2]
NO_LENGTH = rb"(?!.*Content-Length)HTTP/1\.1 200 .*"
ODD: dict[str, tuple[Reply, bytes, bool]] = {
    "chunked": (
        Reply(200, "abc", framing="chunked"),
        NO_LENGTH + rb"Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        False,
    ),
    "until the end": (Reply(200, "abc", framing="close"), NO_LENGTH + rb"\r\n\r\nabc", True),
    "nothing": (Empty(), b"", True),
    "half a head": (HalfHead(), rb"(?!.*\r\n\r\n)HTTP/1\.1 200 OK\r\n.*", True),
    "a short body": (
        ShortBody(200, RULES),
        b".*Content-Length: %d.*\r\n\r\n%b" % (len(RULES), re.escape(HALF)),
        True,
    ),
    "a stalled body": (Stall(200, RULES), b".*\r\n\r\n" + re.escape(HALF), False),
    "a late reply": (Reply(200, "abc", delay=60), b"", False),
    "octet by octet": (Trickle(200, "abcd", interval=0.4), b".*\r\n\r\nabcd", False),
    "silence": (Hang(), b"", False),
}
"""Replies, what comes of each, and whether the connection ends."""


@pytest.mark.parametrize(("reply", "seen", "is_over"), ODD.values(), ids=ODD)
def test_an_odd_reply_is_what_it_says(site: Site, reply: Reply, seen: bytes, is_over: bool) -> None:
    """All of it, and then the end, or neither an octet nor an end."""
    authority = site.authority(reply)
    with connect(authority) as sock:
        ask(sock)
        assert re.fullmatch(seen, rest(sock, timeout=0.5), re.DOTALL)
        assert ended(sock) is is_over
        if isinstance(reply, Hang):
            assert authority.hits[0].finished is None


def test_a_reset_is_a_reset(site: Site) -> None:
    """The client gets ECONNRESET, not an end."""
    with connect(site.authority(Reset())) as sock:
        ask(sock)
        with pytest.raises(ConnectionResetError):
            sock.recv(1)


def test_a_bomb_is_small_and_inflates_to_much(site: Site) -> None:
    """The body holds what was given first, and then megabytes of comment."""
    with connect(site.authority(Bomb(200, RULES, inflated=8 << 20))) as sock:
        ask(sock)
        body = rest(sock, timeout=0.3).partition(b"\r\n\r\n")[2]
    assert len(body) < 100_000
    assert gzip.decompress(body) == RULES.encode() + b"#" * (8 << 20)
