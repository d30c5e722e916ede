"""What a raw socket sees of the site of the tests where a reply is odd, or none.

What is right is seen by each crawl.
"""

from __future__ import annotations

import gzip
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


def test_a_chunked_body_ends_with_an_empty_chunk(site: Site) -> None:
    """`framing="chunked"` sends no Content-Length."""
    head, _, body = answer(site.authority(Reply(200, "abc", framing="chunked"))).partition(
        b"\r\n\r\n"
    )
    assert b"Transfer-Encoding: chunked" in head
    assert b"Content-Length" not in head
    assert body == b"3\r\nabc\r\n0\r\n\r\n"


def test_a_body_without_length_ends_with_the_connection(site: Site) -> None:
    """`framing="close"` sends no Content-Length and closes."""
    with connect(site.authority(Reply(200, "abc", framing="close"))) as sock:
        ask(sock)
        assert b"Content-Length" not in rest(sock)
        assert ended(sock)


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


def test_an_empty_reply_is_an_end_without_an_octet(site: Site) -> None:
    """The connection is closed in good order, and nothing was said."""
    with connect(site.authority(Empty())) as sock:
        ask(sock)
        assert ended(sock)


def test_half_a_head_ends_before_the_blank_line(site: Site) -> None:
    """The status line comes, the end of the headers does not."""
    with connect(site.authority(HalfHead())) as sock:
        ask(sock)
        octets = rest(sock)
        assert octets.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\n\r\n" not in octets
        assert ended(sock)


def test_a_short_body_ends_before_its_content_length(site: Site) -> None:
    """Half of the promised octets come, then the end."""
    with connect(site.authority(ShortBody(200, RULES))) as sock:
        ask(sock)
        head, _, body = rest(sock).partition(b"\r\n\r\n")
        assert b"Content-Length: %d" % len(RULES) in head
        assert body == RULES.encode()[: len(RULES) // 2]
        assert ended(sock)


def test_a_hanging_authority_says_nothing_and_stays(site: Site) -> None:
    """The request is taken, and then there is neither an octet nor an end."""
    hanging = site.authority(Hang())
    with connect(hanging) as sock:
        ask(sock)
        assert rest(sock, first=0.2) == b""
        assert not ended(sock)
        assert hanging.hits[0].finished is None


def test_a_stalled_body_stops_in_the_middle_and_stays(site: Site) -> None:
    """Half of the body comes, then neither an octet nor an end."""
    with connect(site.authority(Stall(200, RULES))) as sock:
        ask(sock)
        assert rest(sock).endswith(RULES.encode()[: len(RULES) // 2])
        assert not ended(sock)


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
