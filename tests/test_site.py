"""What a raw socket sees of the site of the tests where a reply is odd, or none.

What is right is seen by each crawl.
"""

from __future__ import annotations

import gzip
import re
import time

import pytest

from tests.rawclient import answer, ask, connect, ended, rest
from tests.replies import (
    Bomb,
    Empty,
    Endless,
    HalfHead,
    Hang,
    Reply,
    Reset,
    ShortBody,
    Stall,
    Trickle,
)
from tests.site import Site

RULES = "User-agent: *\nDisallow: /private\n"


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
    "silence": (Hang(), b"", False),
}
"""Replies, what comes of each, and whether the connection ends."""


@pytest.mark.parametrize(("reply", "seen", "is_over"), ODD.values(), ids=ODD)
def test_an_odd_reply_is_what_it_says(site: Site, reply: Reply, seen: bytes, is_over: bool) -> None:
    """All of it, and then the end, or neither an octet nor an end."""
    authority = site.authority(reply)
    with connect(authority) as sock:
        ask(sock)
        assert re.fullmatch(seen, rest(sock, timeout=0.3, first=0.5), re.DOTALL)
        assert ended(sock) is is_over
        if isinstance(reply, Hang):
            assert authority.hits[0].finished is None


def test_a_delay_comes_before_the_first_octet(site: Site) -> None:
    """`delay` holds back the whole reply."""
    slow = site.authority(Reply(200, "abc", delay=0.3))
    with connect(slow) as sock:
        ask(sock)
        assert rest(sock, first=0.2) == b""
        assert rest(sock).endswith(b"abc")


def test_a_reset_is_a_reset(site: Site) -> None:
    """The client gets ECONNRESET, not an end."""
    with connect(site.authority(Reset())) as sock:
        ask(sock)
        with pytest.raises(ConnectionResetError):
            sock.recv(1)


def test_a_trickle_sends_octet_by_octet(site: Site) -> None:
    """Each octet of the body has its own moment."""
    with connect(site.authority(Trickle(200, "abcd", interval=0.1))) as sock:
        start, octets = time.monotonic(), b""
        ask(sock)
        while not octets.endswith(b"abcd"):
            octets += sock.recv(100)
        assert time.monotonic() - start >= 0.3


def test_a_bomb_is_small_and_inflates_to_much(site: Site) -> None:
    """The body holds what was given first, and then megabytes of comment."""
    head, _, body = answer(site.authority(Bomb(200, RULES, inflated=8 << 20))).partition(
        b"\r\n\r\n"
    )
    assert b"Content-Encoding: gzip" in head
    assert len(body) < 100_000
    assert len(gzip.decompress(body)) == len(RULES) + (8 << 20)
    assert gzip.decompress(body).startswith(RULES.encode())


def test_an_endless_body_comes_until_the_client_hangs_up(site: Site) -> None:
    """More than ten megabytes come if one reads on; then the server notices the hang-up."""
    endless = site.authority(Endless(200, RULES))
    octets = answer(endless, enough=10 << 20)
    assert len(octets) >= 10 << 20
    assert octets.partition(b"\r\n\r\n")[2].startswith(RULES.encode())
    deadline = time.monotonic() + 60
    while endless.hits[0].finished is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_is_not_http_is_hung_up_on(site: Site) -> None:
    """A client that speaks TLS to a plain server gets an end, not silence."""
    with connect(site.authority(RULES)) as sock:
        sock.sendall(b"\x16\x03\x01\x02\x00")
        assert ended(sock)


def test_a_site_closes_with_connections_open() -> None:
    """Peers that wait for a hanging reply get a reset, and no thread stays."""
    with Site() as site:
        sock = connect(site.authority(Hang()))
        ask(sock)
        assert rest(sock, first=0.2) == b""
    with sock, pytest.raises(ConnectionResetError):
        sock.recv(1)
