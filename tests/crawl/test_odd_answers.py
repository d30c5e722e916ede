"""Answers that are right but unusual, and faults on the way that are nobody's usual ones."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse

from tests.crawl.harness import EACH_MODE, crawl, crawl_in_child, crawl_under
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.replies import Raw, Reply, redirect
from tests.site import Script, Site

OPEN = "User-agent: *\nDisallow:\n"


def deflated(text: str) -> Reply:
    """A body that is sent deflated although nobody asked for it."""
    return Reply(200, zlib.compress(text.encode()), {"Content-Encoding": "deflate"})


RULED: dict[str, Script] = {
    "HTTP/1.0": Raw(body=f"HTTP/1.0 200 OK\r\n\r\n{RULES}"),
    "no reason phrase": Raw(body=f"HTTP/1.1 200\r\nContent-Length: {len(RULES)}\r\n\r\n{RULES}"),
    "deflate": deflated(RULES),
    "octet stream": Reply(200, RULES, {"Content-Type": "application/octet-stream"}),
    "image": Reply(200, RULES, {"Content-Type": "image/png"}),
    "utf-8 mark": Reply(200, b"\xef\xbb\xbf" + RULES.encode()),
    "utf-16": Reply(200, RULES.encode("utf-16")),
    "wrong charset": Reply(200, RULES, {"Content-Type": "text/plain; charset=utf-16"}),
    "unknown charset": Reply(200, RULES, {"Content-Type": "text/plain; charset=no-such"}),
    "CR only": RULES.replace("\n", "\r"),
    "refresh header": Reply(200, RULES, {"Refresh": "0; url=/elsewhere"}),
    "gzip twice": Reply(200, gzip.compress(RULES.encode()), gzip=True),
    "location on a 200": Reply(200, RULES, {"Location": "/elsewhere"}),
}


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_unusual_answers_are_read_all_the_same(site: Site, mode: str) -> None:
    """Neither version, type, charset nor encoding keeps the rules from being found."""
    there = {name: site.authority(robots, {"/elsewhere": OPEN}) for name, robots in RULED.items()}
    urls = [authority.url("/private") for authority in there.values()]
    result = (await crawl_under(mode, settings=obey(), plans=urls)).check()
    kinds = {name: result.kind(authority.url("/private")) for name, authority in there.items()}
    assert kinds == dict.fromkeys(RULED, "forbidden")


LOCATIONS: dict[str, tuple[str | None, str]] = {
    "relative": ("rules", "forbidden"),
    "from the root": ("/rules", "forbidden"),
    "with a fragment": ("/rules#part", "forbidden"),
    "with a query": ("/rules?a=b", "forbidden"),
    "with blanks": ("  /rules  ", "forbidden"),
    "upwards": ("/../rules", "forbidden"),
    "empty, so a loop": ("", "downloaded"),
    "none": (None, "unreachable"),
    "file": ("file:///etc/passwd", "unreachable"),
    "data": ("data:,User-agent: *%0AAllow: /", "unreachable"),
    "ftp": ("ftp://127.0.0.1/robots.txt", "unreachable"),
    "javascript": ("javascript:alert(1)", "unreachable"),
    "broken": ("http://[::bad/", "unreachable"),
    "bad port": ("http://127.0.0.1:99999/", "unreachable"),
}


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_a_redirect_leads_where_it_says_or_nowhere(site: Site, mode: str) -> None:
    """RFC 9309 2.3.1.2: http and https targets are followed, anything else is no permission."""
    there = {
        name: site.authority(Reply(302) if to is None else redirect(to), {"/rules": NOTHING})
        for name, (to, _) in LOCATIONS.items()
    }
    urls = [authority.url("/a") for authority in there.values()]
    result = (await crawl_under(mode, settings=obey(), plans=urls)).check()
    kinds = {name: result.kind(authority.url("/a")) for name, authority in there.items()}
    assert kinds == {name: kind for name, (_, kind) in LOCATIONS.items()}


@pytest.mark.parametrize("mode", EACH_MODE)
def test_a_name_that_cannot_be_looked_up_is_no_permission(site: Site, mode: str) -> None:
    """A label of 70 letters fails before any look-up; TLS with a server that speaks none fails.

    A process of its own has Scrapy's resolver, which a crawl in this one does not install.
    """
    plain = site.authority(OPEN)
    urls = [f"http://{'a' * 70}.example/", plain.url("/a").replace("http:", "https:")]
    result = crawl_in_child(mode=mode, settings=obey(), plans=urls).check()
    assert result.unreachable == urls


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_a_second_attempt_may_bring_the_rules(site: Site, mode: str) -> None:
    """REP_RETRY_DELAYS: requests wait while the robots.txt is asked for again."""
    shaky = site.authority([Reply(503), Reply(500), RULES])
    gone = site.authority([Reply(503), Reply(404)])
    urls = [shaky.url("/open"), shaky.url("/private"), gone.url("/private")]
    settings = obey(REP_RETRY_DELAYS=[0.05, 0.1])
    result = (await crawl_under(mode, settings=settings, plans=urls)).check()
    assert [result.kind(url) for url in urls] == ["downloaded", "forbidden", "downloaded"]
    assert (len(shaky.robots_hits), len(gone.robots_hits)) == (3, 2)


class Meddler:
    """A downloader middleware of a project, which treats each request alike."""

    def __init__(self, crawler: Any) -> None:
        self.deed = crawler.settings["DEED"]

    @classmethod
    def from_crawler(cls, crawler: Any) -> Meddler:
        """Scrapy's way to make one."""
        return cls(crawler)

    def process_request(self, request: Request) -> Response | None:
        """Drops the robots.txt, breaks, or answers itself."""
        if not request.url.endswith("/robots.txt"):
            return None
        if self.deed == "drop":
            raise IgnoreRequest("by a component")
        if self.deed == "break":
            raise ZeroDivisionError("in a component")
        if self.deed == "answer":
            return TextResponse(request.url, body=NOTHING.encode())
        return None

    def process_response(self, request: Request, response: Response) -> Response | Request:
        """Turns the response into a request for something else."""
        if self.deed == "turn" and request.url.endswith("/robots.txt"):
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
@ensureDeferred
async def test_components_of_the_project_open_nothing(site: Site, deed: str, kind: str) -> None:
    """What another middleware does to the robots.txt request is at most its answer."""
    shop = site.authority(OPEN, {"/rules": NOTHING})
    path = "tests.crawl.test_odd_answers.Meddler"
    settings = obey(DEED=deed, DOWNLOADER_MIDDLEWARES={path: 300})
    result = (await crawl(settings=settings, plans=[shop.url("/a"), shop.url("/b")])).check()
    assert [ending.kind for ending in result.endings] == [kind, kind]
    assert len([hit for hit in shop.page_hits if hit.path in ("/a", "/b")]) == len(
        result.downloaded
    )


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
@ensureDeferred
async def test_the_rules_are_for_every_method(site: Site, method: str) -> None:
    """A request is gated whatever its method."""
    shop = site.authority(RULES)
    plan = {"url": shop.url("/private"), "method": method}
    result = (await crawl(settings=obey(), plans=[plan])).check()
    assert result.forbidden == [shop.url("/private")]
    assert shop.page_hits == []


@ensureDeferred
async def test_robots_txt_itself_can_be_crawled(site: Site) -> None:
    """RFC 9309 2.2.2: /robots.txt is allowed, by whatever rules."""
    shop, dark = site.authority(NOTHING), site.authority(Reply(503))
    urls = [shop.url("/robots.txt"), dark.url("/robots.txt")]
    settings = obey(RETRY_ENABLED=False, HTTPERROR_ALLOW_ALL=True)
    result = (await crawl(settings=settings, plans=urls)).check()
    assert result.downloaded == urls
