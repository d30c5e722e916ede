"""What an authority says when it is asked for robots.txt, and what is then downloaded from it.

RFC 9309 section 2.3.1: success, redirects, unavailable, unreachable. All authorities are visited
in one crawl; each has a page that the usual rules allow and one that they forbid.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import EACH_MODE, crawl, crawl_in_child, crawl_under
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.result import Result
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


def chain(hops: int, end: Script) -> Maker:
    """An authority whose robots.txt is found after so many redirects."""
    pages: dict[str, Script] = {f"/hop{n}": redirect(f"/hop{n + 1}") for n in range(1, hops)}
    return lambda site: site.authority(redirect("/hop1"), {**pages, f"/hop{hops}": end})


def elsewhere(site: Site) -> Authority:
    """A redirect to the robots.txt of an authority that the spider may not visit."""
    return site.authority(redirect(site.authority(NOTHING, host="127.2.0.1").url("/robots.txt")))


def into_the_dark(robots: Script) -> Maker:
    """A redirect to an authority that says this about its robots.txt."""
    return lambda site: site.authority(redirect(site.authority(robots).url("/robots.txt")))


def long_rules(site: Site) -> Authority:
    """Three megabytes, in which /private comes first and /open last."""
    filler = "# nothing to see in this line\n" * 110_000
    return site.authority(f"{RULES}{filler}Disallow: /open\n")


CASES: dict[str, tuple[Maker, tuple[str, str]]] = {
    "200": (says(RULES), RULED),
    "200 without a length": (says(Reply(200, RULES, framing="close")), RULED),
    "200 chunked": (says(Reply(200, RULES, framing="chunked")), RULED),
    "200 gzip": (says(Reply(200, RULES, gzip=True)), RULED),
    "200 gzip unannounced": (says(Reply(200, gzip.compress(RULES.encode()))), RULED),
    "200 empty": (says(""), FREE),
    "200 HTML": (says(html("<html><body>Not found.</body></html>")), FREE),
    "200 HTML refreshing": (
        says(
            html('<html><meta http-equiv="refresh" content="0;url=/x"></html>'), **{"/x": NOTHING}
        ),
        FREE,
    ),
    "200 of 3 MB": (long_rules, RULED),
    "gzip bomb": (says(Bomb(200, RULES)), RULED),
    "gzip bomb unannounced": (says(Reply(200, Bomb(200, RULES)._octets())), RULED),
    "200 without an end": (says(Endless(200, RULES)), RULED),
    "203": (says(Reply(203, RULES)), RULED),
    "204": (says(Reply(204)), FREE),
    "301 to another path": (says(redirect("/rules", 301), **{"/rules": RULES}), RULED),
    "302 to another authority": (elsewhere, CLOSED),
    "302 to a 404": (into_the_dark(Reply(404)), FREE),
    "302 to a 503": (into_the_dark(Reply(503)), DARK),
    "302 to a reset": (into_the_dark(Reset()), DARK),
    "307 to another path": (says(redirect("/rules", 307), **{"/rules": RULES}), RULED),
    "308 to another path": (says(redirect("/rules", 308), **{"/rules": RULES}), RULED),
    "five redirects": (chain(5, RULES), RULED),
    "six redirects": (chain(6, RULES), FREE),
    "a loop": (says(redirect("/robots.txt")), FREE),
    "400": (says(Reply(400, NOTHING)), FREE),
    "401": (says(Reply(401, NOTHING, {"WWW-Authenticate": 'Basic realm="x"'})), FREE),
    "402": (says(Reply(402, NOTHING)), FREE),
    "403": (says(Reply(403, NOTHING)), FREE),
    "404": (says(Reply(404)), FREE),
    "404 with rules": (says(Reply(404, f"<html>\n{NOTHING}</html>")), FREE),
    "410": (says(Reply(410, NOTHING)), FREE),
    "429": (says(Reply(429, "User-agent: *\nDisallow:\n")), DARK),
    "451": (says(Reply(451, NOTHING)), FREE),
    "499": (says(Reply(499, NOTHING)), FREE),
    "500": (says(Reply(500)), DARK),
    "503 with rules": (says(Reply(503, RULES)), DARK),
    "599": (says(Reply(599, RULES)), DARK),
    "600": (says(Reply(600, RULES)), DARK),
    "connection refused": (lambda site: site.refusing(), DARK),
    "reset": (says(Reset()), DARK),
    "empty reply": (says(Empty()), DARK),
    "half a header": (says(HalfHead(200, RULES)), DARK),
    "not HTTP": (says(Raw(body="Disallow: /private\r\n\r\n")), DARK),
    "body too short": (says(ShortBody(200, RULES)), DARK),
}
SILENT: dict[str, tuple[Maker, tuple[str, str]]] = {
    "hang": (says(Hang()), DARK),
    "stall": (says(Stall(200, RULES)), DARK),
    "trickle": (says(Trickle(200, RULES, interval=0.2)), DARK),
    "late": (says(Reply(200, RULES, delay=60)), DARK),
}


def ends(result: Result, authority: Authority) -> tuple[str, str]:
    """What became of the two pages."""
    return result.kind(authority.url("/open")), result.kind(authority.url("/private"))


@pytest.mark.parametrize(("cases", "patience"), [(CASES, 60.0), (SILENT, 1.0)])
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_each_answer_has_its_outcome(
    site: Site, mode: str, cases: dict[str, tuple[Maker, tuple[str, str]]], patience: float
) -> None:
    """RFC 9309 2.3.1: every page of one crawl over all kinds of authority is as it must be."""
    there = {name: make(site) for name, (make, _) in cases.items()}
    urls = [a.url(path) for a in there.values() for path in ("/open", "/private")]
    hosts = [authority.host for authority in there.values()]
    settings = obey(REP_TIMEOUT=patience, CONCURRENT_REQUESTS=32)
    result = await crawl_under(mode, settings=settings, plans=urls, allowed_domains=hosts)
    result.check()
    expected = {name: kinds for name, (_, kinds) in cases.items()}
    assert {name: ends(result, authority) for name, authority in there.items()} == expected
    asked = {a.url(hit.path) for a in there.values() for hit in a.page_hits}
    assert asked & set(urls) == set(result.downloaded)
    kinds = [kind for pair in expected.values() for kind in pair]
    assert result.stats.get("robotstxt/forbidden", 0) == kinds.count("forbidden")
    assert result.stats["robotstxt/unreachable"] == kinds.count("unreachable")


@pytest.mark.parametrize("denied", ["allow", "disallow"])
def test_access_denied_is_what_the_setting_says(site: Site, denied: str) -> None:
    """1996 section 3.1 of 401 and 403; 402 is the answer of sites that sell access to crawlers."""
    shops = [site.authority(Reply(status)) for status in (401, 402, 403)]
    gone = site.authority(Reply(404))
    urls = [shop.url("/open") for shop in (*shops, gone)]
    settings = obey(REP_ACCESS_DENIED=denied)
    result = crawl_in_child(settings=settings, plans=urls).check()
    kind = "forbidden" if denied == "disallow" else "downloaded"
    assert [result.kind(url) for url in urls] == [kind, kind, kind, "downloaded"]
    assert len([hit for shop in shops for hit in shop.page_hits]) == (denied == "allow") * 3


@ensureDeferred
async def test_the_log_repeats_what_the_failure_of_a_fetch_says(site: Site) -> None:
    """Not the name of an exception, which says less."""
    dead = site.refusing()
    result = (await crawl(settings=obey(), plans=[dead.url("/a")])).check()
    (line,) = result.lines("robots.txt of", "WARNING")
    assert "is unreachable (connection" in line
    assert "Connection refused" in line
