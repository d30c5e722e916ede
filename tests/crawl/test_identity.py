"""By which name the crawler looks for its group (RFC 9309 section 2.2.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import signals
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware

from tests.crawl.harness import visit
from tests.crawl.middlewares import middleware
from tests.replies import redirect
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


HEADERS = {"User-Agent": f"{NAMES['default-headers']}/2.0"}
CONFIGURED: dict[str, tuple[str, Any]] = {
    "spider": ("robotstxt_user_agent", NAMES["spider"]),
    "setting": ("ROBOTSTXT_USER_AGENT", NAMES["setting"]),
    "default-headers": ("DEFAULT_REQUEST_HEADERS", HEADERS),
    "user-agent": ("USER_AGENT", f"Mozilla/5.0 (compatible; {NAMES['user-agent']}/3.0; +http://x)"),
}
"""The attribute of the spider and the settings that name it, if those are sources."""


@pytest.mark.parametrize("strongest", range(len(SOURCES)), ids=SOURCES)
async def test_the_strongest_name_counts(site: Site, strongest: int) -> None:
    """Meta, spider attribute, setting, then the User-Agent that the request really carries."""
    sources = SOURCES[strongest:]
    shop = site.authority(ROBOTS)
    plans = [plan(shop.url(f"/{source}"), sources) for source in [*SOURCES, "star"]]
    named = dict(CONFIGURED[source] for source in sources if source in CONFIGURED)
    result = await visit(plans, **named)
    assert result.forbidden == [shop.url(f"/{sources[0]}")]
    if strongest >= SOURCES.index("header"):
        assert all(NAMES[sources[0]] in str(hit.header("User-Agent")) for hit in shop.page_hits)


PLACES = {"USER_AGENT": "USER_AGENT", "setting": "ROBOTSTXT_USER_AGENT"}
PLACES["spider"] = "robotstxt_user_agent"
"""Settings, and the attribute of the spider."""

PREFERRED: list[tuple[Any, str]] = [
    (["mybot-news", "mybot"], "/news"),
    (["other", "another"], "/star"),
    (["mybot-images", "mybot"], "/mybot"),
    (("mybot",), "/mybot"),
    ("MyBot", "/mybot"),
]
"""What a crawler goes by, and the page that the first token with a group forbids."""


@pytest.mark.parametrize("place", ["meta", "spider", "setting"])
async def test_a_list_is_in_falling_preference(site: Site, place: str) -> None:
    """The first token that has a group wins; without any, the group of `*`."""
    paths = ("/mybot", "/news", "/star")
    robots = "User-agent: mybot\nDisallow: /mybot\n\nUser-agent: mybot-news\nDisallow: /news\n\n"
    robots += "User-agent: *\nDisallow: /star\n"
    plans, expected = [], []
    for tokens, forbidden in PREFERRED if place == "meta" else PREFERRED[2:3]:
        shop = site.authority(robots)
        meta = {"robotstxt_user_agent": tokens} if place == "meta" else {}
        plans += [{"url": shop.url(path), "meta": meta} for path in paths]
        expected.append(shop.url(forbidden))
    named = {PLACES[place]: PREFERRED[2][0]} if place in PLACES else {}
    result = await visit(plans, **{"ROBOTSTXT_USER_AGENT": "unknown", **named})
    assert result.forbidden == expected


async def test_a_user_agent_is_read_by_the_profile(site: Site) -> None:
    """Kollar's own example: its product token is all text up to the version."""
    shop = site.authority("User-agent: Rex\nDisallow: /\n")
    name = "Lycos_Spider_(Rex)/1.0 libwww/3.1"
    sent = {"url": shop.url("/sent"), "headers": {"User-Agent": name}}
    result = await visit([shop.url("/"), sent], USER_AGENT=name, REP_PROFILE="kollar")
    assert result.forbidden == [shop.url("/"), shop.url("/sent")]


async def test_a_name_that_is_none_is_no_permission(site: Site) -> None:
    """A meta value that names nobody either counts as absent or stops the request,
    and then it is named in the log.
    """
    shop = site.authority("User-agent: *\nDisallow: /\n")
    values: list[Any] = ["", [], 7, [""], [["mybot"]], {"mybot": 1}]
    metas = [{"robotstxt_user_agent": value} for value in values]
    plans = [{"url": shop.url(f"/{n}"), "meta": meta} for n, meta in enumerate(metas)]
    result = await visit(plans, expected=["robotstxt_user_agent"])
    assert result.downloaded == []
    assert shop.page_hits == []


TO_SET = "so the rules for * are followed; set ROBOTSTXT_USER_AGENT to the product token "
TO_SET += "of your crawler"
NAMES_NONE = f"names no crawler, {TO_SET}"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0"


@pytest.mark.parametrize(
    ("place", "name", "begins", "warns"),
    [
        ("", None, "Scrapy. Set USER_AGENT to the name of your crawler", ""),
        ("USER_AGENT", "shop/1.0 (+https://e.org)", "shop", ""),
        ("USER_AGENT", "", "", f"No User-Agent is set, {TO_SET}"),
        ("USER_AGENT", None, "", f"No User-Agent is set, {TO_SET}"),
        ("USER_AGENT", CHROME, "", f'The User-Agent "{CHROME}" {NAMES_NONE}'),
        ("setting", ["shop-news", "shop"], "shop-news, else shop", ""),
        ("setting", ["Shop/1.0 (+http://x)", "b"], "Shop, else b", ""),
        ("setting", ["Mozilla/5.0", "b"], "b", f'The User-Agent "Mozilla/5.0" {NAMES_NONE}'),
        ("setting", "*", "*", ""),
        ("setting", "shop bot", "shop", ""),
        ("setting", "shop\x1b[31m", "shop", ""),
        ("spider", "shop bot", "shop", ""),
        ("meta", "shop bot", "", ""),
    ],
)
async def test_the_log_says_at_the_start_who_the_crawler_is(
    site: Site, place: str, name: Any, begins: str, warns: str
) -> None:
    """One line, and a hint where the name is that of all crawlers that do not set one.

    A browser's User-Agent, or none, names no crawler: one warning says what to set.
    Of a name that goes on after its token, the token is searched for.
    """
    groups = ("User-agent: Mozilla\nUser-agent: Chrome", "User-agent: shop")
    shop = site.authority("".join(f"{group}\nDisallow: /\n\n" for group in groups))
    meta = {"robotstxt_user_agent": name} if place == "meta" else {}
    plans = [{"url": shop.url(path), "meta": meta} for path in ("/a", "/b")]
    result = await visit(plans, **{PLACES[place]: name} if place in PLACES else {})
    is_shop = begins.lower().startswith("shop") or place == "meta"
    assert len(result.forbidden) == (2 if is_shop else 0)
    if begins:
        assert [line.partition(" as ")[2] for line in result.lines("^Obeying", "INFO")] == [begins]
    assert result.lines("User-Agent|token", "WARNING") == ([warns] if warns else [])


async def test_a_browsers_name_from_a_middleware_chooses_no_other_group(site: Site) -> None:
    """Where it comes from behind the gate, a redirected request has it when it is judged."""
    robots = "User-agent: shop\nDisallow: /private\n\nUser-agent: *\nDisallow: /open\n"
    pages = {"/a": redirect("/open"), "/b": redirect("/private")}
    shop = site.authority(robots, pages)

    def rotate(request: Any) -> None:
        request.headers.setdefault("User-Agent", CHROME)

    late: Any = {UserAgentMiddleware: None, middleware(process_request=rotate): 400}
    plans = [shop.url("/a"), shop.url("/b")]
    result = await visit(plans, USER_AGENT="shop/1.0", DOWNLOADER_MIDDLEWARES=late)
    assert [result.kinds.count(kind) for kind in ("downloaded", "forbidden")] == [1, 1]
    assert {hit.target for hit in shop.page_hits} == {"/a", "/b", "/open"}
    assert result.lines("User-Agent", "WARNING") == []


@pytest.mark.parametrize("name", [7, [["mybot"]]])
async def test_a_late_name_that_is_none_refuses_requests_and_is_recorded(
    site: Site, tmp_path: Path, name: Any
) -> None:
    """Each request ends in RobotsUnreachable, with a decision log as without one."""
    shop, log = site.authority(), tmp_path / "decisions.jsonl"

    def late(spider: Any) -> None:  # the check at the start came before
        spider.robotstxt_user_agent = name

    how = {"on": {signals.spider_opened: late}, "expected": ["robotstxt_user_agent"]}
    result = await visit([shop.url("/a")], **how, REP_DECISION_LOG=str(log))
    assert result.unreachable == [shop.url("/a")]
    assert shop.page_hits == []
    assert len(log.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("USER_AGENT", b"shop/1.0"),
        ("USER_AGENT", ["shop/1.0"]),
        ("DEFAULT_REQUEST_HEADERS", {"User-Agent": b"shop/1.0"}),
        ("DEFAULT_REQUEST_HEADERS", {b"user-agent": ["shop/1.0"]}),
    ],
)
async def test_a_name_counts_in_any_form_that_is_sent(site: Site, setting: str, value: Any) -> None:
    """Octets and lists, as a setting or a header."""
    shop = site.authority("User-agent: shop\nDisallow: /private\n\nUser-agent: b\nDisallow: /b\n")
    plans = [shop.url("/private"), shop.url("/b")]
    result = await visit(plans, **{setting: value})
    assert (result.forbidden, result.downloaded) == (plans[:1], plans[1:])
    assert [hit.header("User-Agent") for hit in shop.hits] == ["shop/1.0"] * 2
