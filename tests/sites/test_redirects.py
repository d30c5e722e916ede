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
from tests.hostile.test_budgets import calibration, quickest
from tests.rows import rows
from tests.timed import timed

HERE = "http://shop.example/robots.txt"


def lead(location: bytes | str | None, uri: str = HERE, *, public: bool = True) -> str:
    """Where a response with that Location leads."""
    headers = {} if location is None else {"Location": location}
    return target_of(uri, Response(uri, status=302, headers=headers), public)


@rows(
    "target, locations",
    (HERE, ["", "http://shop.example./robots.txt"]),
    ("http://shop.example/rules", ["/rules", " /rules\t", "/rules#part", "../../rules"]),
    ("http://shop.example/rules?a=b", ["rules?a=b"]),
    ("http://shop.example/robots.txt?v=2", ["?v=2"]),
    ("http://other.example/r", ["//other.example/r", "http://name:pw@other.example/r"]),
    ("http://other.example/R", ["HTTP://OTHER.example:80/R"]),
    ("http://other.example:8080/r", ["http://other.example:8080/r"]),
    ("https://other.example/", ["https://other.example"]),
)
def test_a_location_is_resolved_against_the_hop(target: str, locations: list[str]) -> None:
    """RFC 9110 section 10.2.2: a reference; user information and fragment are not sent."""
    assert [lead(location) for location in locations] == [target] * len(locations)


@rows(
    "why, locations",
    ("without a Location", [None]),
    ("scheme", ["file:///etc/passwd", "data:text/plain,User-agent:*", "gopher://shop.example/"]),
    ("scheme", ["ftp://shop.example/robots.txt", "javascript:alert(1)"]),
    ("broken", ["http://", "http:///robots.txt", "http://[::1", "http://shop.example:port/", "//"]),
    ("broken", ["http://shop.example:99999/", "http://a b.example/"]),
    ("public to a local", ["http://127.0.0.1/robots.txt"]),
    ("broken|local", ["http://127.0.0.1\\/robots.txt", "http://127.0.0.1\\:81/robots.txt"]),
    ("broken|local", ["//169.254.169.254\\x/latest", "//localhost\\"]),
    ("broken|local", ["http://127.0.0.1\\.other.example/", "http://127.0.0.1\\@127.0.0.1\\/"]),
)
def test_a_location_that_leads_nowhere_is_refused(why: str, locations: list[str | None]) -> None:
    """Another scheme, no host, a broken port: unreachable, not permission; the log says why."""
    for location in locations:
        with pytest.raises(RefusedError, match=why):
            lead(location)


@timed
def test_a_location_with_a_long_name_is_refused_in_no_time() -> None:
    """Python would encode 16 KB of different characters in seconds."""
    name = "".join(map(chr, range(0x4E00, 0x6300)))

    def refused() -> None:
        with pytest.raises(RefusedError, match="broken"):
            lead(f"//{name}/")

    assert quickest(refused) < 0.050 * max(1.0, calibration())


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
