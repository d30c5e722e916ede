"""By which name the crawler looks for its group (RFC 9309 section 2.2.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import crawl
from tests.crawl.plugin import obey
from tests.crawl.spiders import RequestsSpider
from tests.rows import first
from tests.site import Site

# From the strongest to the weakest: each name has a group that forbids a page of that name.
SOURCES = ["meta", "spider", "setting", "header", "default-headers", "user-agent"]
NAMES = {source: f"{source}-bot" for source in SOURCES}
ROBOTS = "".join(f"User-agent: {NAMES[s]}\nDisallow: /{s}\n\n" for s in SOURCES)
ROBOTS += "User-agent: *\nDisallow: /star\n"


def plan(url: str, sources: list[str]) -> dict[str, Any]:
    """A request that names the crawler in its meta and its header, if those are sources."""
    meta = {"robotstxt_user_agent": NAMES["meta"]} if "meta" in sources else {}
    headers = {"User-Agent": f"{NAMES['header']}/1.0"} if "header" in sources else {}
    return {"url": url, "meta": meta, "headers": headers}


def configured(sources: list[str]) -> dict[str, Any]:
    """Settings that name the crawler where the sources say."""
    settings = obey()
    if "setting" in sources:
        settings["ROBOTSTXT_USER_AGENT"] = NAMES["setting"]
    if "default-headers" in sources:
        settings["DEFAULT_REQUEST_HEADERS"] = {"User-Agent": f"{NAMES['default-headers']}/2.0"}
    if "user-agent" in sources:
        settings["USER_AGENT"] = f"Mozilla/5.0 (compatible; {NAMES['user-agent']}/3.0; +http://x)"
    return settings


@pytest.mark.parametrize("strongest", range(len(SOURCES)), ids=SOURCES)
@ensureDeferred
async def test_the_strongest_name_counts(site: Site, strongest: int) -> None:
    """Meta, spider attribute, setting, then the User-Agent that the request really carries."""
    sources = SOURCES[strongest:]
    shop = site.authority(ROBOTS)
    plans = [plan(shop.url(f"/{source}"), sources) for source in [*SOURCES, "star"]]
    arguments = {"robotstxt_user_agent": NAMES["spider"]} if "spider" in sources else {}
    result = (await crawl(settings=configured(sources), plans=plans, **arguments)).check()
    assert result.forbidden == [shop.url(f"/{sources[0]}")]
    if strongest >= SOURCES.index("header"):
        assert all(NAMES[sources[0]] in str(hit.header("User-Agent")) for hit in shop.page_hits)


@pytest.mark.parametrize("place", ["meta", "spider", "setting"])
@pytest.mark.parametrize(
    ("tokens", "forbidden"),
    first(
        2,
        [
            (["mybot-news", "mybot"], "/news"),
            (["other", "another"], "/star"),
            (["mybot-images", "mybot"], "/mybot"),
            (("mybot",), "/mybot"),
            ("MyBot", "/mybot"),
        ],
    ),
)
@ensureDeferred
async def test_a_list_is_in_falling_preference(
    site: Site, place: str, tokens: Any, forbidden: str
) -> None:
    """The first token that has a group wins; without any, the group of `*`."""
    shop = site.authority(
        "User-agent: mybot\nDisallow: /mybot\n\nUser-agent: mybot-news\nDisallow: /news\n\n"
        "User-agent: *\nDisallow: /star\n"
    )
    meta = {"robotstxt_user_agent": tokens} if place == "meta" else {}
    plans = [{"url": shop.url(path), "meta": meta} for path in ("/mybot", "/news", "/star")]
    settings = obey(ROBOTSTXT_USER_AGENT=tokens if place == "setting" else "unknown")
    arguments = {"robotstxt_user_agent": tokens} if place == "spider" else {}
    result = (await crawl(settings=settings, plans=plans, **arguments)).check()
    assert result.forbidden == [shop.url(forbidden)]


@ensureDeferred
async def test_two_names_in_one_crawl_need_one_fetch(site: Site) -> None:
    """Requests of one crawl may go by different names; the robots.txt is fetched once."""
    shop = site.authority("User-agent: badbot\nDisallow: /\n\nUser-agent: goodbot\nAllow: /\n")
    plans = [
        {"url": shop.url(f"/{name}"), "meta": {"robotstxt_user_agent": name}}
        for name in ("goodbot", "badbot", "goodbot/2.0", "nobot")
    ]
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert result.forbidden == [shop.url("/badbot")]
    assert len(shop.robots_hits) == 1


@ensureDeferred
async def test_a_browser_names_no_crawler_and_one_warning_says_so(site: Site) -> None:
    """Chrome's User-Agent follows the group of `*`; the warning says what to set, once."""
    shop = site.authority(
        "User-agent: Mozilla\nDisallow: /a\n\nUser-agent: Chrome\nDisallow: /a\n\n"
        "User-agent: *\nDisallow: /b\n"
    )
    browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0"
    urls = [shop.url("/a"), shop.url("/b")]
    result = (await crawl(settings=obey(USER_AGENT=browser), plans=urls)).check()
    assert (result.downloaded, result.forbidden) == (urls[:1], urls[1:])
    (warning,) = result.lines("names no crawler", "WARNING")
    assert "ROBOTSTXT_USER_AGENT" in warning


@ensureDeferred
async def test_a_name_that_is_none_is_no_permission(site: Site) -> None:
    """A meta value that names nobody either counts as absent or stops the request,
    and then it is named in the log.
    """
    shop = site.authority("User-agent: *\nDisallow: /\n")
    values: list[Any] = ["", [], 7, [""]]
    plans = [
        {"url": shop.url(f"/{n}"), "meta": {"robotstxt_user_agent": value}}
        for n, value in enumerate(values)
    ]
    result = await crawl(settings=obey(), plans=plans)
    result.check(expected=["robotstxt_user_agent"])
    assert result.downloaded == []
    assert shop.page_hits == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "Obeying robots.txt as Scrapy. Set USER_AGENT to the name of your crawler"),
        ({"USER_AGENT": "shopbot/1.0 (+https://e.org)"}, "Obeying robots.txt as shopbot"),
        (
            {"ROBOTSTXT_USER_AGENT": ["shopbot-news", "shopbot"]},
            "Obeying robots.txt as shopbot-news, else shopbot",
        ),
        ({"ROBOTSTXT_USER_AGENT": "shop bot"}, "Obeying robots.txt as shop"),
        (
            {"ROBOTSTXT_USER_AGENT": ["Shop/1.0 (+http://x)", "b"]},
            "Obeying robots.txt as Shop, else b",
        ),
        ({"ROBOTSTXT_USER_AGENT": ["Mozilla/5.0", "b"]}, "Obeying robots.txt as b"),
        ({"ROBOTSTXT_USER_AGENT": "*"}, "Obeying robots.txt as *"),
        (
            {"ROBOTSTXT_USER_AGENT": "Lycos_(Rex)/1.0", "REP_PROFILE": "kollar"},
            "Obeying robots.txt as Lycos_(Rex)",
        ),
    ],
)
@ensureDeferred
async def test_the_log_says_at_the_start_who_the_crawler_is(
    site: Site, settings: dict[str, Any], said: str
) -> None:
    """One line, and a hint where the name is that of all crawlers that do not set one."""
    result = (await crawl(settings=obey(**settings), plans=[site.authority().url("/a")])).check()
    assert result.lines("^Obeying", "INFO") == [said]


NOT_A_TOKEN = "is not a product token, which has only letters, digits, _ and -"


@pytest.mark.parametrize("place", ["meta", "spider", "setting"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shop bot", f'"shop bot" {NOT_A_TOKEN}: robots.txt files are searched for shop'),
        ("shop.bot/1.0", f'"shop.bot/1.0" {NOT_A_TOKEN}: robots.txt files are searched for shop'),
        ("shop\x1b[31m", f'"shop\\x1b[31m" {NOT_A_TOKEN}: robots.txt files are searched for shop'),
        ("Shop/1.0 bot", None),
        ("SHOP (+https://example.org)", None),
        ("Mozilla/5.0 (compatible; shop; +https://example.org)", None),
    ],
)
@ensureDeferred
async def test_a_name_that_goes_on_after_its_token_gets_a_warning(
    site: Site, place: str, name: str, said: str | None
) -> None:
    """One, however many requests bear the name; the token is what is searched for."""
    shop = site.authority("User-agent: shop\nDisallow: /\n")
    meta = {"robotstxt_user_agent": name} if place == "meta" else {}
    settings = obey(**({"ROBOTSTXT_USER_AGENT": name} if place == "setting" else {}))
    arguments = {"robotstxt_user_agent": name} if place == "spider" else {}
    plans = [{"url": shop.url(path), "meta": meta} for path in ("/a", "/b")]
    result = (await crawl(settings=settings, plans=plans, **arguments)).check()
    assert len(result.forbidden) == 2
    assert result.lines("not a product token", "WARNING") == ([said] if said else [])
    if place != "meta":
        assert [line.lower() for line in result.lines("^Obeying")] == ["obeying robots.txt as shop"]


@pytest.mark.parametrize("settings", [{"USER_AGENT": ""}, {"USER_AGENT": None}])
@ensureDeferred
async def test_a_crawler_without_a_user_agent_is_told_so(
    site: Site, settings: dict[str, Any]
) -> None:
    """It is not said to have sent an empty one."""
    result = (await crawl(settings=obey(**settings), plans=[site.authority().url("/a")])).check()
    assert result.lines("User-Agent", "WARNING") == [
        "No User-Agent is set, so the rules for * are followed; set ROBOTSTXT_USER_AGENT to the "
        "product token of your crawler"
    ]


class LateSpider(RequestsSpider):
    """Sets a name that is not a token when the crawl is running."""

    async def start(self) -> Any:
        """The check at the start came before."""
        self.robotstxt_user_agent = 7
        async for request in super().start():
            yield request


@ensureDeferred
async def test_a_late_name_that_is_none_refuses_requests_and_is_recorded(
    site: Site, tmp_path: Path
) -> None:
    """Each request ends in RobotsUnreachable, with a decision log as without one."""
    shop, log = site.authority(), tmp_path / "decisions.jsonl"
    settings = obey(REP_DECISION_LOG=str(log))
    result = await crawl(LateSpider, settings, plans=[shop.url("/a")])
    result.check(expected=["robotstxt_user_agent"])
    assert result.unreachable == [shop.url("/a")]
    assert shop.page_hits == []
    assert len(log.read_text().splitlines()) == 2
