"""The three ways in: the add-on, by hand, and the matcher alone; and how to stay out."""

from __future__ import annotations

from typing import Any

import pytest
import scrapy
from pytest_twisted import ensureDeferred
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.settings import Settings

from scrapy_rep import RepDownloaderMiddleware, RepRobotParser
from tests.crawl.harness import crawl
from tests.crawl.plugin import BUILT_IN, NOTHING, OWN, RULES, OwnRobotsTxtMiddleware, obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.site import Authority, Site

OURS = "scrapy_rep.RepDownloaderMiddleware"


def gates(result: Result) -> list[str]:
    """The robots.txt middlewares that took part, from the engine outwards."""
    kinds = (RepDownloaderMiddleware, RobotsTxtMiddleware)
    active = result.crawler.engine.downloader.middleware.middlewares
    return [type(gate).__name__ for gate in active if isinstance(gate, kinds)]


async def visit(shop: Authority, settings: Any, spider: Any = RequestsSpider) -> Result:
    """One crawl of the open and the private page."""
    urls = [shop.url("/open"), shop.url("/private")]
    return (await crawl(spider, settings, plans=urls)).check()


@ensureDeferred
async def test_one_line_in_addons_is_enough(site: Site) -> None:
    """The add-on switches ROBOTSTXT_OBEY on and replaces the built-in, without a word."""
    shop = site.authority(RULES)
    result = await visit(shop, {"ADDONS": {"scrapy_rep.Addon": 100}})
    assert (result.downloaded, result.forbidden) == ([shop.url("/open")], [shop.url("/private")])
    assert gates(result) == ["RepDownloaderMiddleware"]
    assert result.crawler.settings.getbool("ROBOTSTXT_OBEY")
    assert result.lines("", "WARNING") == []


@ensureDeferred
async def test_the_middleware_can_be_set_by_hand(site: Site) -> None:
    """DOWNLOADER_MIDDLEWARES and ROBOTSTXT_OBEY do what the add-on does."""
    shop = site.authority(RULES)
    settings = {"ROBOTSTXT_OBEY": True, "DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, OURS: 100}}
    result = await visit(shop, settings)
    assert result.forbidden == [shop.url("/private")]
    assert result.problem(shop.url("/private")).type == "RobotsForbidden"
    assert gates(result) == ["RepDownloaderMiddleware"]


@ensureDeferred
async def test_by_hand_without_obey_nothing_is_gated(site: Site) -> None:
    """The middleware alone is no switch: ROBOTSTXT_OBEY is."""
    shop = site.authority(NOTHING)
    result = await visit(shop, {"DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, OURS: 100}})
    assert len(result.downloaded) == 2
    assert gates(result) == []


@ensureDeferred
async def test_the_matcher_serves_the_built_in(site: Site) -> None:
    """ROBOTSTXT_PARSER: Scrapy fetches, the matcher here judges (`foo` does not name `foobot`)."""
    shop = site.authority("User-agent: foo\nDisallow: /open\n\nUser-agent: *\nDisallow: /private\n")
    settings = {
        "ROBOTSTXT_OBEY": True,
        "ROBOTSTXT_PARSER": "scrapy_rep.RepRobotParser",
        "USER_AGENT": "foobot/1.0 (+http://foobot.example)",
    }
    result = await visit(shop, settings)
    assert (result.downloaded, result.forbidden) == ([shop.url("/open")], [shop.url("/private")])
    assert gates(result) == ["RobotsTxtMiddleware"]


@pytest.mark.parametrize("body", [b"User-agent: *\nDisallow: /private\n", b"Disallow", b"\xff\x00"])
def test_the_parser_works_without_a_crawler(body: bytes) -> None:
    """As Scrapy's own parsers do: a script or a test has no crawler to hand in."""
    theirs = ProtegoRobotParser.from_crawler(None, body)  # type: ignore[arg-type]
    ours = RepRobotParser.from_crawler(None, body)
    for url in ("https://e.org/", "https://e.org/private/x"):
        assert ours.allowed(url, "mybot") is theirs.allowed(url, "mybot")
    assert ours.crawl_delay("mybot") is None


@ensureDeferred
async def test_the_add_on_beside_the_middleware_by_hand_is_one_gate(site: Site) -> None:
    """Who does both gets one gate, at the place chosen by hand."""
    shop = site.authority(RULES)
    settings = obey(DOWNLOADER_MIDDLEWARES={BUILT_IN: None, OURS: 120})
    result = await visit(shop, settings)
    assert result.forbidden == [shop.url("/private")]
    assert gates(result) == ["RepDownloaderMiddleware"]
    assert len(shop.robots_hits) == 1


@pytest.mark.parametrize("name", [BUILT_IN, RobotsTxtMiddleware], ids=["path", "class"])
@pytest.mark.parametrize("order", [None, 450])
@ensureDeferred
async def test_the_add_on_copes_with_a_built_in_disabled_or_moved(
    site: Site, name: Any, order: int | None
) -> None:
    """The built-in is out, this gate is in, and a warning says what was unusual."""
    shop = site.authority(RULES)
    result = await visit(shop, obey(DOWNLOADER_MIDDLEWARES={name: order}))
    assert (result.downloaded, result.forbidden) == ([shop.url("/open")], [shop.url("/private")])
    assert gates(result) == ["RepDownloaderMiddleware"]
    (warning,) = result.lines("RobotsTxtMiddleware", "WARNING")
    assert "DOWNLOADER_MIDDLEWARES" in warning


@pytest.mark.parametrize("name", [OWN, OwnRobotsTxtMiddleware], ids=["path", "class"])
@ensureDeferred
async def test_the_add_on_copes_with_a_subclass_of_the_built_in(site: Site, name: Any) -> None:
    """The project's own middleware is not taken away; a warning names it."""
    shop = site.authority(RULES)
    settings = obey(DOWNLOADER_MIDDLEWARES={BUILT_IN: None, name: 100})
    result = await visit(shop, settings)
    assert (result.downloaded, result.forbidden) == ([shop.url("/open")], [shop.url("/private")])
    assert "RepDownloaderMiddleware" in gates(result)
    (warning,) = result.lines("is enabled as well", "WARNING")
    assert warning.startswith(OWN)


@ensureDeferred
async def test_who_forgets_to_disable_the_built_in_by_hand_is_told(site: Site) -> None:
    """Both check each request, and a warning says how to change that."""
    shop = site.authority(RULES)
    settings = {"ROBOTSTXT_OBEY": True, "DOWNLOADER_MIDDLEWARES": {OURS: 100}}
    result = await visit(shop, settings)
    assert result.forbidden == [shop.url("/private")]
    assert set(gates(result)) == {"RepDownloaderMiddleware", "RobotsTxtMiddleware"}
    (warning,) = result.lines("is enabled as well", "WARNING")
    assert warning.startswith(BUILT_IN)


class DisobedientSpider(RequestsSpider):
    """Switches the gate off for itself."""

    custom_settings = {"ROBOTSTXT_OBEY": False}  # noqa: RUF012


def by_command_line(settings: dict[str, Any]) -> Settings:
    """The settings with ROBOTSTXT_OBEY off as `-s ROBOTSTXT_OBEY=False` does it."""
    made = Settings(settings)
    made.set("ROBOTSTXT_OBEY", "False", priority="cmdline")
    return made


@pytest.mark.parametrize("by", ["project", "spider", "command line"])
@ensureDeferred
async def test_who_says_not_to_obey_is_heeded(site: Site, by: str) -> None:
    """ROBOTSTXT_OBEY = False of project, spider or command line is stronger than the add-on."""
    shop = site.authority(NOTHING)
    spider = DisobedientSpider if by == "spider" else RequestsSpider
    settings: Any = obey(ROBOTSTXT_OBEY=False) if by == "project" else obey()
    if by == "command line":
        settings = by_command_line(settings)
    result = await visit(shop, settings, spider)
    assert len(result.downloaded) == 2
    assert shop.robots_hits == []
    assert gates(result) == []


@ensureDeferred
async def test_one_request_may_pass_by(site: Site) -> None:
    """`dont_obey_robotstxt` is for one request, and is counted."""
    shop = site.authority(NOTHING)
    plans = [{"url": shop.url("/a"), "meta": {"dont_obey_robotstxt": True}}, shop.url("/b")]
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert (result.downloaded, result.forbidden) == ([shop.url("/a")], [shop.url("/b")])
    assert result.stats["robotstxt/bypassed"] == 1


@pytest.mark.skipif(scrapy.version_info < (2, 15), reason="Scrapy has the signal since 2.15")
@ensureDeferred
async def test_listeners_get_a_parser_of_each_robots_txt(site: Site) -> None:
    """`signals.robots_parsed` comes once per file, before the first verdict."""
    shop = site.authority(RULES + "Crawl-delay: 0.01\nSitemap: http://a.example/map.xml\n")
    none = site.authority()
    heard: list[tuple[Any, ...]] = []

    def listen(robotparser: Any, request: Any) -> None:
        delay, maps = robotparser.crawl_delay("mybot"), list(robotparser.sitemaps())
        heard.append((type(robotparser), request.url, delay, maps, len(shop.page_hits)))

    def prepare(crawler: Crawler) -> None:
        crawler.signals.connect(listen, signals.robots_parsed)

    plans = [shop.url("/open"), shop.url("/private"), none.url("/")]
    (await crawl(settings=obey(), prepare=prepare, plans=plans)).check()
    assert heard == [(RepRobotParser, shop.url("/open"), 0.01, ["http://a.example/map.xml"], 0)]
