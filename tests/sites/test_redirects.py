"""Where a redirect of a robots.txt leads, and whether it is followed (RFC 9309 2.3.1.2)."""

from __future__ import annotations

import ipaddress
import random
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_rep.access.authority import authority_of
from scrapy_rep.sites.redirects import RefusedError, answered_by_public, is_local_host, target_of

HERE = "http://shop.example/robots.txt"


def lead(location: bytes | str | None, uri: str = HERE, *, public: bool = True) -> str:
    """Where a response with that Location leads."""
    headers = {} if location is None else {"Location": location}
    return target_of(uri, Response(uri, status=302, headers=headers), public)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/rules", "http://shop.example/rules"),
        ("rules?a=b", "http://shop.example/rules?a=b"),
        ("//other.example/r", "http://other.example/r"),
        ("https://other.example", "https://other.example/"),
        ("HTTP://OTHER.example:80/R", "http://other.example/R"),
        ("http://other.example:8080/r", "http://other.example:8080/r"),
        (" /rules\t", "http://shop.example/rules"),
        ("/rules#part", "http://shop.example/rules"),
        ("", HERE),
        ("?v=2", "http://shop.example/robots.txt?v=2"),
        ("../../rules", "http://shop.example/rules"),
        ("http://name:pw@other.example/r", "http://other.example/r"),
        ("http://shop.example./robots.txt", HERE),
    ],
)
def test_a_location_is_resolved_against_the_hop(location: str, target: str) -> None:
    """RFC 9110 section 10.2.2: a reference; user information and fragment are not sent."""
    assert lead(location) == target


@pytest.mark.parametrize(
    ("location", "why"),
    [
        (None, "without a Location"),
        ("file:///etc/passwd", "scheme"),
        ("data:text/plain,User-agent:*", "scheme"),
        ("ftp://shop.example/robots.txt", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("gopher://shop.example/", "scheme"),
        ("http://", "broken"),
        ("http:///robots.txt", "broken"),
        ("http://[::1", "broken"),
        ("http://shop.example:port/", "broken"),
        ("http://shop.example:99999/", "broken"),
        ("http://a b.example/", "broken"),
        ("//", "broken"),
        ("http://127.0.0.1/robots.txt", "public to a local"),
        ("http://127.0.0.1\\/robots.txt", "broken|local"),
        ("http://127.0.0.1\\:81/robots.txt", "broken|local"),
        ("//169.254.169.254\\x/latest", "broken|local"),
        ("//localhost\\", "broken|local"),
        ("http://127.0.0.1\\.other.example/", "broken|local"),
        ("http://127.0.0.1\\@127.0.0.1\\/", "broken|local"),
    ],
)
def test_a_location_that_leads_nowhere_is_refused(location: str | None, why: str) -> None:
    """Another scheme, no host, a broken port: unreachable, not permission; the log says why."""
    with pytest.raises(RefusedError, match=why):
        lead(location)


def test_octets_beyond_ascii_in_a_location_are_utf_8_or_go_back_as_they_are() -> None:
    """What servers send, although it must be encoded."""
    assert lead("/r\u00e9".encode()) == "http://shop.example/r\u00e9"
    assert lead(b"/r\xe9") == "http://shop.example/r%E9"
    assert lead("http://b\u00fccher.example/".encode()) == "http://xn--bcher-kva.example/"


def test_a_local_site_may_redirect_to_a_local_address() -> None:
    """The guard is for what comes from outside."""
    assert lead("http://127.0.0.2/r", "http://127.0.0.1/robots.txt", public=False)


def test_a_hop_is_judged_by_the_address_that_answered() -> None:
    """A public name may resolve to a local address."""
    uri = "http://inner.example/robots.txt"
    for address, public in (("10.1.2.3", False), ("::1", False), ("8.8.8.8", True)):
        response = Response(uri, ip_address=ipaddress.ip_address(address))
        assert answered_by_public(Request(uri), response, uri) is public


@pytest.mark.parametrize(
    ("proxy", "address"),
    [("http://127.0.0.1:3128", ipaddress.ip_address("127.0.0.1")), (None, None)],
)
def test_a_hop_whose_address_is_not_known_is_judged_by_its_name(proxy: Any, address: Any) -> None:
    """The address that answered is the proxy's, or the download handler does not tell it."""
    local = "http://localhost/robots.txt"
    for uri, public in ((HERE, True), (local, False)):
        request = Request(uri, meta={"proxy": proxy})
        assert answered_by_public(request, Response(uri, ip_address=address), uri) is public


@pytest.mark.slow
def test_a_request_goes_to_the_host_that_was_judged() -> None:
    """Scrapy writes URLs anew, by rules other than those of ``urllib``: 20,000 odd spellings."""
    chance = random.Random(9309)
    pieces = [*"/\\@:#?[]% .x1\t\xad\u3002\u2460\u0130\xdf\x00\x7f", "//", "http:", "127.0.0.1"]
    pieces += ["localhost", "other.example", "::1", "%2e", "%5c", "0x7f", "xn--", "\u200b", ":80"]
    followed = 0
    for _ in range(20_000):
        location = "//" + "".join(chance.choices(pieces, k=chance.randrange(1, 8)))
        with suppress(RefusedError):
            target = lead(location)
            followed += 1
            host = urlsplit(Request(target).url).hostname or ""
            assert not is_local_host(host), location
            assert authority_of(Request(target).url) == authority_of(target), location
    assert followed > 1000
