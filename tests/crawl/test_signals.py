"""What a project hears of decisions and fetches, and what it may do."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from scrapy_rep.signals import RobotsDecision, RobotsExchange, robots_decided, robots_fetched
from tests.crawl.harness import crawl_under, gate_with, visit
from tests.crawl.middlewares import Component
from tests.crawl.plugin import BUILT_IN, RULES, by_hand, obey
from tests.crawl.spiders import OneByOneSpider, RequestsSpider
from tests.replies import Reply, redirect
from tests.site import Site

LISTENER = {"EXTENSIONS": {"tests.crawl.test_signals.Listener": 0}}


class Listener(Component):
    """Keeps what it hears in the stats, so that a crawl in a process of its own can tell."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.decisions: list[RobotsDecision] = []
        self.exchanges: list[RobotsExchange] = []
        self._stats = self.crawler.stats
        self._stats.set_value("heard", [])
        crawler.signals.connect(self._decided, signal=robots_decided)
        crawler.signals.connect(self._fetched, signal=robots_fetched)

    def _decided(self, decision: RobotsDecision, request: scrapy.Request) -> None:
        assert decision.request is request
        self.decisions.append(decision)
        self._stats.get_value("heard").append([decision.url, decision.verdict.allowed])
        if "raise" in request.url:
            raise ArithmeticError("a fault of the project")
        if "veto" in request.url:
            raise IgnoreRequest("the project does not want it")

    def _fetched(self, exchange: RobotsExchange) -> None:
        self.exchanges.append(exchange)


async def heard(plans: Any, spider: Any = RequestsSpider, **settings: Any) -> Any:
    """The result of a crawl, and its listener."""
    result = await visit(plans, spider, **LISTENER, **settings)
    return result, result.crawler.get_extension(Listener)


@pytest.mark.parametrize("how", [obey, by_hand], ids=["add-on", "by hand"])
async def test_each_decision_is_told_once(site: Site, mode: str, how: Any) -> None:
    """Also those that need no rules, and of whichever end."""
    shop, gone, down = site.authority(RULES), site.authority(Reply(404)), site.authority(Reply(503))
    allowed = [shop.url("/a"), shop.url("/b"), gone.url("/private"), shop.url("/robots.txt")]
    refused = [shop.url("/private/1"), shop.url("/private/2"), down.url("/a")]
    settings = how()
    settings["EXTENSIONS"] = {**settings.get("EXTENSIONS", {}), **LISTENER["EXTENSIONS"]}
    result = await crawl_under(mode, RequestsSpider, settings, plans=[*allowed, *refused])
    told = sorted((url, is_allowed) for url, is_allowed in result.stats["heard"])
    assert told == sorted([(url, True) for url in allowed] + [(url, False) for url in refused])
    assert sorted(result.downloaded) == sorted(allowed)


async def test_a_decision_says_what_it_rests_on(site: Site) -> None:
    """The rule, what was in force, the pace, and what may be done with the page."""
    text = "User-agent: *\nCrawl-delay: 0.1\nContent-Signal: ai-train=no\nDisallow: /private\n"
    shop = site.authority(text)
    _, listener = await heard([shop.url("/a"), shop.url("/private")], OneByOneSpider)
    allowed, refused = listener.decisions
    assert (allowed.verdict.allowed, refused.verdict.allowed) == (True, False)
    assert str(refused.verdict.rule) == "Disallow: /private"
    assert (allowed.error, type(refused.error).__name__) == (None, "RobotsForbidden")
    assert (allowed.delay, allowed.preferences) == (0.1, {"train-ai": "disallowed"})
    assert allowed.rules is refused.rules
    assert (allowed.rules.outcome, allowed.rules.status) == ("rules", 200)
    assert allowed.rules.body == text.encode()
    (exchange,) = listener.exchanges
    assert allowed.rules.exchange == exchange.id


async def test_a_listener_may_veto_an_allowed_request(site: Site) -> None:
    """Its errback has the exception, and the request counts as neither allowed nor forbidden."""
    shop = site.authority(RULES)
    result, _ = await heard([shop.url("/veto"), shop.url("/a")])
    assert result.downloaded == [shop.url("/a")]
    assert [hit.target for hit in shop.page_hits] == ["/a"]
    assert result.stats["robotstxt/allowed"] == 1
    assert "robotstxt/forbidden" not in result.stats


async def test_a_fault_of_a_listener_is_logged_and_decides_nothing(site: Site) -> None:
    """What robots.txt allows is requested, and what it forbids is not."""
    shop = site.authority("User-agent: *\nDisallow: /raise/not\n")
    urls = [shop.url("/raise"), shop.url("/raise/not")]
    result, _ = await heard(urls, expected=["Error caught on signal handler"])
    assert result.downloaded == urls[:1]
    assert [hit.target for hit in shop.page_hits] == ["/raise"]


async def test_each_exchange_is_told_octet_by_octet(site: Site) -> None:
    """Each hop of a redirect, before any content coding is undone; and a failure without one."""
    end = site.authority(Reply(200, RULES, gzip=True))
    moved, down = site.authority(redirect(end.url("/robots.txt"))), site.refusing()
    _, listener = await heard([moved.url("/a"), down.url("/a")])
    by_uri = {one.uri: one for one in listener.exchanges}
    first, last = by_uri[moved.url("/robots.txt")], by_uri[end.url("/robots.txt")]
    failed = by_uri[down.url("/robots.txt")]
    assert (first.response.status, last.response.status) == (302, 200)
    assert gzip.decompress(last.response.body) == RULES.encode()
    assert str(last.authority) == moved.url("")
    assert (failed.response, failed.failure.cause) == (None, "connection")
    assert len({one.id for one in listener.exchanges}) == 3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"EXTENSIONS": {}}, 'REP_DECISION_LOG needs "scrapy_rep.RepRecords" in EXT'),
        ({"DOWNLOADER_MIDDLEWARES": {BUILT_IN: 100}}, "RepRecords needs RepDownloaderMiddleware"),
    ],
)
def test_records_need_their_extension_and_the_middleware(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    """A crawl that records nothing although it should does not start."""
    with pytest.raises(ValueError, match=f"^{said}"):
        gate_with(REP_DECISION_LOG=str(tmp_path / "log"), **settings)


async def test_the_extension_is_silent_where_nothing_is_recorded(site: Site) -> None:
    """A project may always enable it."""
    shop = site.authority(RULES)
    result = await visit([shop.url("/a")], by=by_hand)
    assert not result.lines("RepRecords")
