"""The three ways in: the add-on, by hand, and the matcher alone; and how to stay out."""

from __future__ import annotations

from typing import Any

import pytest
import scrapy
from scrapy import signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.settings import Settings

from scrapy_rep import RepDownloaderMiddleware, RepLastStep, RepRobotParser
from tests.crawl.harness import RULED, open_and_private, visit
from tests.crawl.plugin import BUILT_IN, NOTHING, OWN, RULES, OwnRobotsTxtMiddleware, obey
from tests.crawl.result import Result
from tests.site import Site

OURS = "scrapy_rep.RepDownloaderMiddleware"


def gates(result: Result) -> list[str]:
    """The robots.txt middlewares that took part, from the engine outwards."""
    kinds = (RepDownloaderMiddleware, RobotsTxtMiddleware)
    active = result.crawler.engine.downloader.middleware.middlewares
    return [type(gate).__name__ for gate in active if isinstance(gate, kinds)]


@pytest.mark.parametrize(
    "settings",
    [
        {"ADDONS": {"scrapy_rep.Addon": 100}},
        {"ROBOTSTXT_OBEY": True, "DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, OURS: 100}},
        obey(DOWNLOADER_MIDDLEWARES={BUILT_IN: None, OURS: 120}),
    ],
    ids=["add-on", "by hand", "both"],
)
async def test_one_gate_obeys(site: Site, settings: dict[str, Any]) -> None:
    """One line in ADDONS switches ROBOTSTXT_OBEY on and replaces the built-in, without a word.

    DOWNLOADER_MIDDLEWARES and ROBOTSTXT_OBEY do what the add-on does.
    """
    shop = site.authority(RULES)
    result = await open_and_private(shop, by=lambda: settings)
    assert result.kinds == RULED
    assert result.problem(shop.url("/private")).type == "RobotsForbidden"
    assert gates(result) == ["RepDownloaderMiddleware"]
    assert result.crawler.settings.getbool("ROBOTSTXT_OBEY")
    assert len(shop.robots_hits) == 1
    listed = [line.text for line in result.log if line.text.startswith("Enabled addons")]
    assert ["[scrapy_rep.Addon]" in line for line in listed] == [bool(settings.get("ADDONS"))]
    if "DOWNLOADER_MIDDLEWARES" not in settings:
        assert result.lines("", "WARNING") == []


class OwnGate(RepDownloaderMiddleware):
    """A subclass of a project."""


class OwnLastStep(RepLastStep):
    """The same."""


@pytest.mark.parametrize("last", [{}, {OwnLastStep: 90_000}])
async def test_a_subclass_has_no_second_gate_beside_it(site: Site, last: dict[Any, int]) -> None:
    """The add-on adds what is not there, in some form."""
    shop = site.authority(RULES)
    middlewares = {OwnGate: 100, **last}
    result = await open_and_private(shop, by=obey, DOWNLOADER_MIDDLEWARES=middlewares)
    assert result.kinds == RULED
    assert gates(result) == ["OwnGate"]
    assert len(shop.robots_hits) == 1
    assert result.stats["robotstxt/allowed"] == 1


async def test_the_matcher_serves_the_built_in(site: Site) -> None:
    """ROBOTSTXT_PARSER: Scrapy fetches, the matcher here judges (`foo` does not name `foobot`)."""
    shop = site.authority("User-agent: foo\nDisallow: /open\n\nUser-agent: *\nDisallow: /private\n")
    settings = {"ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": "scrapy_rep.RepRobotParser"}
    settings["USER_AGENT"] = "foobot/1.0 (+http://foobot.example)"
    result = await open_and_private(shop, by=lambda: settings)
    assert result.kinds == RULED
    assert gates(result) == ["RobotsTxtMiddleware"]


@pytest.mark.parametrize("body", [b"User-agent: *\nDisallow: /private\n", b"Disallow", b"\xff\x00"])
def test_the_parser_works_without_a_crawler(body: bytes) -> None:
    """As Scrapy's own parsers do: a script or a test has no crawler to hand in."""
    theirs = ProtegoRobotParser.from_crawler(None, body)  # type: ignore[arg-type]
    ours = RepRobotParser.from_crawler(None, body)
    for url in ("https://e.org/", "https://e.org/private/x"):
        assert ours.allowed(url, "mybot") is theirs.allowed(url, "mybot")
    assert ours.crawl_delay("mybot") is None


OWN_ONE = "OwnRobotsTxtMiddleware"
BY_HAND = {"ROBOTSTXT_OBEY": True, "DOWNLOADER_MIDDLEWARES": {OURS: 100}}


@pytest.mark.parametrize(
    ("settings", "others", "named"),
    [
        (obey(DOWNLOADER_MIDDLEWARES={BUILT_IN: None}), [], ""),
        (obey(DOWNLOADER_MIDDLEWARES={RobotsTxtMiddleware: 450}), [], ""),
        (obey(DOWNLOADER_MIDDLEWARES={BUILT_IN: None, OWN: 200}), [OWN_ONE], OWN_ONE),
        (
            obey(DOWNLOADER_MIDDLEWARES={BUILT_IN: None, OwnRobotsTxtMiddleware: 200}),
            *([OWN_ONE], OWN_ONE),
        ),
        (BY_HAND, ["RobotsTxtMiddleware"], f"{BUILT_IN} is enabled as well"),
    ],
    ids=["disabled", "moved", "subclass by its path", "subclass", "by hand"],
)
async def test_a_built_in_that_is_elsewhere_is_warned_of(
    site: Site, settings: dict[str, Any], others: list[str], named: str
) -> None:
    """The gate is in; a project's own stays, and a warning says so."""
    shop = site.authority(RULES)
    result = await open_and_private(shop, by=lambda: settings)
    assert result.kinds == RULED
    assert sorted(gates(result)) == sorted(["RepDownloaderMiddleware", *others])
    warned = result.lines("RobotsTxtMiddleware", "WARNING")
    assert len(warned) == len(others)
    assert all(named in line for line in warned)


@pytest.mark.parametrize("by", ["project", "spider", "cmdline", "default"])
async def test_who_says_not_to_obey_is_heeded(site: Site, by: str) -> None:
    """ROBOTSTXT_OBEY = False of project, spider or command line is stronger than the add-on.

    The middleware by hand is no switch: where nothing is set, nothing is gated.
    """
    shop = site.authority(NOTHING)
    settings = Settings(obey())
    if by == "default":
        settings = Settings({"DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, OURS: 100}})
    else:
        settings.set("ROBOTSTXT_OBEY", "False", priority=by)
    result = await open_and_private(shop, by=lambda: settings)
    assert len(result.downloaded) == 2
    assert shop.robots_hits == []
    assert gates(result) == []


@pytest.mark.skipif(scrapy.version_info < (2, 18), reason="Scrapy has the signal since 2.18")
async def test_listeners_get_a_parser_of_each_robots_txt(site: Site) -> None:
    """`signals.robots_parsed` comes once per file, before the first verdict."""
    shop = site.authority(RULES + "Crawl-delay: 0.01\nSitemap: http://a.example/map.xml\n")
    none = site.authority()
    heard: list[tuple[Any, ...]] = []

    def listen(robotparser: Any, request: Any) -> None:
        delay, maps = robotparser.crawl_delay("mybot"), list(robotparser.sitemaps())
        heard.append((type(robotparser), request.url, delay, maps, len(shop.page_hits)))

    plans = [shop.url("/open"), shop.url("/private"), none.url("/")]
    await visit(plans, on={signals.robots_parsed: listen})
    assert heard == [(RepRobotParser, shop.url("/open"), 0.01, ["http://a.example/map.xml"], 0)]
