"""What an authority says when it is asked for robots.txt, and what is then downloaded from it."""

from __future__ import annotations

import bz2
import gzip
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.utils.asyncio import call_later

from tests.crawl.harness import crawl_in_child, visit
from tests.crawl.middlewares import Component
from tests.crawl.plugin import NOTHING, OPEN, RULES, obey
from tests.replies import Bomb, Endless, Hang, Raw, Reply, Stall, Trickle, html, redirect
from tests.site import Authority, Script, Site

# what becomes of /open and of /private
RULED = ("downloaded", "forbidden")
CLOSED = ("forbidden", "forbidden")
FREE = ("downloaded", "downloaded")
DARK = ("unreachable", "unreachable")

Maker = Callable[[Site], Authority]


def says(robots: Script, **pages: Script) -> Maker:
    """An authority that says this about its robots.txt."""
    return lambda site: site.authority(robots, pages or None)


def elsewhere(robots: Script) -> Maker:
    """A redirect to an authority that says this about its robots.txt."""
    return lambda site: site.authority(redirect(site.authority(robots).url("/robots.txt")))


REFRESH = '<html><meta http-equiv="refresh" content="0;url=/x"></html>'
FILLER = "# nothing to see in this line\n" * 110_000
CASES: dict[str, tuple[Maker, tuple[str, str]]] = {
    "200": (says(RULES), RULED),
    "200 without a length": (says(Reply(200, RULES, framing="close")), RULED),
    "200 chunked": (says(Reply(200, RULES, framing="chunked")), RULED),
    "200 gzip": (says(Reply(200, RULES, gzip=True)), RULED),
    "200 gzip unannounced": (says(Reply(200, gzip.compress(RULES.encode()))), RULED),
    "200 empty": (says(""), FREE),
    "200 HTML": (says(html("<html><body>Not found.</body></html>")), FREE),
    "200 HTML refreshing": (says(html(REFRESH), **{"/x": NOTHING}), FREE),
    "200 of 3 MB": (says(f"{RULES}{FILLER}Disallow: /open\n"), RULED),
    "gzip bomb": (says(Bomb(200, RULES)), RULED),
    "gzip bomb unannounced": (says(Reply(200, Bomb(200, RULES)._octets())), RULED),
    "200 without an end": (says(Endless(200, RULES)), RULED),
    "202": (says(Reply(202, RULES)), DARK),
    "202 challenge": (says(Reply(202, "", {"x-amzn-waf-action": "challenge"})), DARK),
    "204": (says(Reply(204)), FREE),
    "302 to a 404": (elsewhere(Reply(404)), FREE),
    "302 to a 503": (elsewhere(Reply(503)), DARK),
    "404": (says(Reply(404)), FREE),
    "408": (says(Reply(408, OPEN)), DARK),
    "304 that nobody asked for": (says(Reply(304)), DARK),
    "not HTTP": (says(Raw(body="Disallow: /private\r\n\r\n")), DARK),
}
SILENT: dict[str, tuple[Maker, tuple[str, str]]] = {
    "hang": (says(Hang()), DARK),
    "stall": (says(Stall(200, RULES)), DARK),
    "trickle": (says(Trickle(200, RULES, interval=0.2)), DARK),
    "late": (says(Reply(200, RULES, delay=60)), DARK),
}


LABELS = [
    *("utf-8", "none", "binary", "8bit", "aws-chunked", "UTF-8, Identity", "charset=utf-8", "text"),
    *("quoted-printable", "base64?", "*"),
]
"""What servers announce as a content coding, and is none (RFC 9110 section 8.4.1)."""

UNDONE = ["gzip", "br", "zstd", "deflate", "compress", "exi", "gzip, exi", "exi, gzip"]
BROKEN: dict[str, Reply] = {
    **{each: Reply(200, OPEN, {"Content-Encoding": each}) for each in UNDONE},
    "half of gzip": Reply(200, gzip.compress(OPEN.encode())[:-9], {"Content-Encoding": "gzip"}),
    "brotli": Reply(200, bytes(range(40)), {"Content-Encoding": "brotli"}),
    "zlib": Reply(200, zlib.compress(OPEN.encode() * 9), {"Content-Encoding": "zlib"}),
    "bzip2": Reply(200, bz2.compress(OPEN.encode()), {"Content-Encoding": "bzip2"}),
    "utf-8": Reply(200, gzip.compress(OPEN.encode()), {"Content-Encoding": "utf-8"}),
}
"""A coding that cannot be undone: the octets are never read as if they were text."""

UNUSUAL: dict[str, Script] = {
    "HTTP/1.0": Raw(body=f"HTTP/1.0 200 OK\r\n\r\n{RULES}"),
    "no reason phrase": Raw(body=f"HTTP/1.1 200\r\nContent-Length: {len(RULES)}\r\n\r\n{RULES}"),
    "deflate": Reply(200, zlib.compress(RULES.encode()), {"Content-Encoding": "deflate"}),
    "image": Reply(200, RULES, {"Content-Type": "image/png"}),
    "unknown charset": Reply(200, RULES, {"Content-Type": "text/plain; charset=no-such"}),
    "refresh header": Reply(200, RULES, {"Refresh": "0; url=/elsewhere"}),
    "gzip twice": Reply(200, gzip.compress(RULES.encode()), gzip=True),
    "location on a 200": Reply(200, RULES, {"Location": "/elsewhere"}),
}
"""Neither version, type, charset nor encoding keeps the rules from being found."""

LOCATIONS: dict[str, tuple[str, tuple[str, str]]] = {
    "relative": ("rules", CLOSED),
    "empty, so a loop": ("", FREE),
    "file": ("file:///etc/passwd", DARK),
    "broken": ("http://[::bad/", DARK),
}
"""RFC 9309 2.3.1.2: http and https targets are followed, anything else is no permission."""

UNUSUAL |= {f"labelled {each}": Reply(200, RULES, {"Content-Encoding": each}) for each in LABELS}
UNUSUAL["labelled over gzip"] = Reply(
    200, gzip.compress(RULES.encode()), {"Content-Encoding": "gzip, aws-chunked"}
)
CASES |= {f"broken {name}": (says(reply), DARK) for name, reply in BROKEN.items()}
NO_GZIP = Reply(404, b"\x1f\x8b\x08", BROKEN["gzip"].headers)
CASES |= {  # what such a status says holds, whatever its body is (RFC 9309 2.3.1.3)
    f"{status} that is no gzip": (says(replace(NO_GZIP, status=status)), kinds)
    for status, kinds in ((404, FREE), (403, FREE), (503, DARK))
}
CASES |= {name: (says(robots, **{"/elsewhere": OPEN}), RULED) for name, robots in UNUSUAL.items()}
CASES |= {
    f"Location {name}": (says(redirect(to), **{"/rules": NOTHING}), kinds)
    for name, (to, kinds) in LOCATIONS.items()
}


@pytest.mark.parametrize(("cases", "patience"), [(CASES, 60.0), (SILENT, 1.0)])
async def test_each_answer_has_its_outcome(
    site: Site, mode: str, cases: dict[str, tuple[Maker, tuple[str, str]]], patience: float
) -> None:
    """RFC 9309 2.3.1: every page of one crawl over all kinds of authority is as it must be."""
    there = {name: make(site) for name, (make, _) in cases.items()}
    urls = [a.url(path) for a in there.values() for path in ("/open", "/private")]
    hosts = [authority.host for authority in there.values()]
    settings = {"REP_TIMEOUT": patience, "CONCURRENT_REQUESTS": 32}
    result = await visit(urls, mode=mode, allowed_domains=hosts, **settings)
    expected = {name: kinds for name, (_, kinds) in cases.items()}
    pairs = zip(result.kinds[::2], result.kinds[1::2], strict=True)
    assert dict(zip(there, pairs, strict=True)) == expected
    asked = {a.url(hit.path) for a in there.values() for hit in a.page_hits}
    assert asked & set(urls) == set(result.downloaded)
    dark = [authority for name, authority in there.items() if expected[name] == DARK]
    assert {hit.path for authority in dark for hit in authority.hits} == {"/robots.txt"}
    kinds = [kind for pair in expected.values() for kind in pair]
    assert result.stats.get("robotstxt/forbidden", 0) == kinds.count("forbidden")
    assert result.stats["robotstxt/unreachable"] == kinds.count("unreachable")
    # The next attempt is in a minute, and not in a second: it is the fault of the site.
    broken = [authority for name, authority in there.items() if name.startswith("broken ")]
    causes = [result.problem(authority.url("/open")).data["cause"] for authority in broken]
    assert causes == ["coding"] * len(broken)
    assert len(result.lines(r"\(coding: .*next attempt in 60 s", "WARNING")) == len(broken)


async def test_what_is_a_failure_here_is_not_taken_from_a_store(site: Site, stored: Any) -> None:
    """Another crawler, by another profile, has kept it; nor is it the last good copy."""
    shops = [site.authority([Reply(status, OPEN), Reply(503)]) for status in (202, 408)]
    urls = [shop.url("/open") for shop in shops]
    assert len((await visit(urls, REP_PROFILE="google", **stored)).downloaded) == 2
    assert (await visit(urls, **stored)).unreachable == urls


# --- what else may happen to a fetch


def test_a_name_that_cannot_be_looked_up_is_no_permission(site: Site, mode: str) -> None:
    """A label of 70 letters fails before any look-up; TLS with a server that speaks none fails.

    A process of its own has Scrapy's resolver, which a crawl in this one does not install.
    """
    plain = site.authority(OPEN)
    urls = [f"http://{'a' * 70}.example/", plain.url("/a").replace("http:", "https:")]
    result = crawl_in_child(mode=mode, settings=obey(), plans=urls).check()
    assert result.unreachable == urls


async def test_a_second_attempt_may_bring_the_rules(site: Site) -> None:
    """REP_RETRY_DELAYS: requests wait while the robots.txt is asked for again."""
    shaky = site.authority([Reply(503), Reply(500), RULES])
    gone = site.authority([Reply(503), Reply(404)])
    urls = [shaky.url("/open"), shaky.url("/private"), gone.url("/private")]
    result = await visit(urls, REP_RETRY_DELAYS=[0.05, 0.1])
    assert result.kinds == ["downloaded", "forbidden", "downloaded"]
    assert (len(shaky.robots_hits), len(gone.robots_hits)) == (3, 2)


class Meddler(Component):
    """A downloader middleware of a project, which treats each request alike."""

    def deed_to(self, request: Request) -> str | None:
        """What is done to a request for a robots.txt."""
        is_robots = request.url.endswith("/robots.txt")
        return self.crawler.settings["DEED"] if is_robots else None

    def process_request(self, request: Request) -> Response | None:
        """Drops the robots.txt, breaks, or answers itself."""
        match self.deed_to(request):
            case "drop":
                raise IgnoreRequest("by a component")
            case "break":
                raise ZeroDivisionError("in a component")
            case "answer":
                return TextResponse(request.url, body=NOTHING.encode())
        return None

    def process_response(self, request: Request, response: Response) -> Response | Request:
        """Turns the response into a request for something else."""
        if self.deed_to(request) == "turn":
            return request.replace(url=request.url.replace("robots.txt", "rules"))
        return response


DEEDS = {
    "drop": "unreachable",
    "break": "unreachable",
    "answer": "forbidden",
    "turn": "forbidden",
    "nothing": "downloaded",
}


@pytest.mark.parametrize(("deed", "kind"), DEEDS.items(), ids=DEEDS)
async def test_components_of_the_project_open_nothing(site: Site, deed: str, kind: str) -> None:
    """What another middleware does to the robots.txt request is at most its answer."""
    shop = site.authority(OPEN, {"/rules": NOTHING})
    plans = [shop.url("/a"), shop.url("/b")]
    result = await visit(plans, DEED=deed, DOWNLOADER_MIDDLEWARES={Meddler: 300})
    assert result.kinds == [kind, kind]
    pages = [hit for hit in shop.page_hits if hit.path in ("/a", "/b")]
    assert len(pages) == len(result.downloaded)


async def test_the_rules_are_for_every_method(site: Site) -> None:
    """A request is gated whatever its method."""
    shop = site.authority(RULES)
    methods = ("HEAD", "POST", "PUT", "DELETE", "OPTIONS")
    result = await visit([{"url": shop.url("/private"), "method": method} for method in methods])
    assert result.forbidden == [shop.url("/private")] * len(methods)
    assert shop.page_hits == []


# --- a loop that stands still


class BlockingExtension(Component):
    """Holds the loop up for 1.2 s while the first robots.txt is fetched."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawler.signals.connect(self.block, signals.engine_started)

    def block(self) -> None:
        """Nothing goes on for a while."""
        call_later(0.2, time.sleep, 1.2)


async def test_a_site_that_does_not_answer_meanwhile_is_unreachable(site: Site, mode: str) -> None:
    """RFC 9309 section 2.3.1.4: it is an end like any other, not a fault of the check."""
    silent = site.authority(Hang())
    plans = [silent.url("/a"), silent.url("/b")]
    blocking = {f"{__name__}.BlockingExtension": 1}
    result = await visit(plans, mode=mode, REP_TIMEOUT=0.5, EXTENSIONS=blocking)
    assert result.unreachable == plans
    assert {result.problem(url).data["cause"] for url in plans} == {"timeout"}
    assert silent.page_hits == []
