"""What a raw socket sees of the site of the tests: each reply and each failure is what it says."""

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
    Raw,
    Reply,
    Reset,
    ShortBody,
    Stall,
    Trickle,
    html,
    redirect,
)
from tests.site import Site
from tests.timed import timed

RULES = "User-agent: *\nDisallow: /private\n"


def test_text_is_a_200_with_its_length(site: Site) -> None:
    """A script of text is the body of robots.txt."""
    head, _, body = answer(site.authority(RULES)).partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 200 OK"
    assert b"Content-Length: %d" % len(RULES) in head
    assert body == RULES.encode()


def test_without_a_script_there_are_pages_and_no_robots_txt(site: Site) -> None:
    """The default authority answers 404 for robots.txt and a small page for the rest."""
    plain = site.authority()
    assert answer(plain).startswith(b"HTTP/1.1 404 Not Found\r\n")
    page = answer(plain, "/any/path?q")
    assert page.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Type: text/html" in page


@pytest.mark.parametrize("status", [204, 301, 400, 451, 500, 599, 799])
def test_any_status_can_be_sent(site: Site, status: int) -> None:
    """Known or not, a status comes as it was given; a 204 has no body."""
    reply = answer(site.authority(Reply(status, "text")))
    assert reply.startswith(b"HTTP/1.1 %d " % status)
    assert reply.endswith(b"\r\n\r\n" if status == 204 else b"\r\n\r\ntext")


def test_given_headers_replace_the_implied_ones(site: Site) -> None:
    """A header that is given is sent as given, twice if given twice."""
    cookies = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("content-type", "x/y")]
    reply = answer(site.authority(pages=html(headers=cookies)), "/")
    assert reply.count(b"Set-Cookie: ") == 2
    assert reply.lower().count(b"content-type") == 1


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


def test_a_gzip_body_says_so(site: Site) -> None:
    """`gzip=True` encodes the body."""
    head, _, body = answer(site.authority(Reply(200, RULES, gzip=True))).partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert gzip.decompress(body) == RULES.encode()


def test_a_connection_serves_one_request_after_another(site: Site) -> None:
    """Well-formed replies keep the connection open."""
    shop = site.authority(RULES)
    with connect(shop) as sock:
        for _ in range(3):
            ask(sock)
            assert rest(sock).endswith(RULES.encode())
    assert len(shop.robots_hits) == 3


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
        ask(sock)
        start = time.monotonic()
        assert rest(sock, timeout=5).endswith(b"abcd")
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


def test_raw_octets_are_sent_as_they_are(site: Site) -> None:
    """Not even a status line is added."""
    assert answer(site.authority(Raw(body=b"ICY 200 OK\r\n\r\n"))) == b"ICY 200 OK\r\n\r\n"


def test_what_is_not_http_is_hung_up_on(site: Site) -> None:
    """A client that speaks TLS to a plain server gets an end, not silence."""
    with connect(site.authority(RULES)) as sock:
        sock.sendall(b"\x16\x03\x01\x02\x00")
        assert ended(sock)


def test_a_refusing_authority_refuses(site: Site) -> None:
    """Nobody listens at its port."""
    with pytest.raises(ConnectionRefusedError):
        connect(site.refusing())


def test_a_sequence_is_told_one_by_one(site: Site) -> None:
    """The last reply of a sequence is told again and again."""
    shop = site.authority([Reply(503), Reply(500), RULES])
    statuses = [answer(shop).split()[1] for _ in range(4)]
    assert statuses == [b"503", b"500", b"200", b"200"]


def test_a_function_sees_the_request_it_answers(site: Site) -> None:
    """A script may be any function of the hit."""
    echo = site.authority(pages=lambda hit: Reply(200, f"{hit.path} {hit.header('x-one')}"))
    assert answer(echo, "/a?b").endswith(b"/a 1")


def test_a_script_can_be_changed_while_the_site_runs(site: Site) -> None:
    """What is said next is what was set last."""
    shop = site.authority(RULES)
    assert answer(shop).startswith(b"HTTP/1.1 200")
    shop.robots = redirect("/elsewhere")
    assert b"Location: /elsewhere" in answer(shop)
    shop.pages = {"/elsewhere": "hello"}
    assert answer(shop, "/elsewhere").endswith(b"hello")
    assert b"a page" in answer(shop, "/other")


def test_hits_are_recorded_with_headers_and_times(site: Site) -> None:
    """Each request leaves its method, target, headers and both times."""
    shop = site.authority(RULES)
    before = time.monotonic()
    answer(shop, "/a?b=c")
    answer(shop)
    (page,), (robots,) = shop.page_hits, shop.robots_hits
    assert (page.method, page.target, page.path) == ("GET", "/a?b=c", "/a")
    assert page.header("HOST") == "here"
    assert page.header("Cookie") is None
    assert page.finished is not None
    assert before <= page.received <= page.finished <= robots.received
    assert site.hits == [page, robots]


def test_https_and_ipv6_are_authorities_like_others(site: Site) -> None:
    """The certificate is the site's own; an IPv6 address is written in brackets."""
    safe, six = site.authority(RULES, tls=True), site.authority(RULES, host="::1")
    assert answer(safe).endswith(RULES.encode())
    assert answer(six).endswith(RULES.encode())
    assert safe.url("/a").startswith("https://127.")
    assert six.url("/a") == f"http://[::1]:{six.port}/a"
    assert six.url(user="me:pw") == f"http://me:pw@[::1]:{six.port}/"


@timed
def test_hundreds_of_authorities_cost_little(site: Site) -> None:
    """Each has an address of its own, and all are there within two seconds."""
    start = time.monotonic()
    many = site.authorities(300, RULES)
    assert time.monotonic() - start < 2
    assert len({authority.host for authority in many}) == 300
    assert answer(many[-1]).endswith(RULES.encode())


def test_a_site_closes_with_connections_open() -> None:
    """Peers that wait for a hanging reply get a reset, and no thread stays."""
    with Site() as site:
        sock = connect(site.authority(Hang()))
        ask(sock)
        assert rest(sock, first=0.2) == b""
    with sock, pytest.raises(ConnectionResetError):
        sock.recv(1)
