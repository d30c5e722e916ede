"""A robots.txt request has a name, and is sent as its page is.

A site may answer 403 to requests without a name, or to another transport, which would mean that it
has no rules (RFC 9309 section 2.3.1.3).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.settings import default_settings

from scrapy_rep.sites.fetcher import TRANSPORT_KEYS
from tests.crawl.harness import EACH_MODE, crawl, crawl_in_child, crawl_under
from tests.crawl.plugin import NOTHING, by_hand, obey
from tests.crawl.spiders import RequestsSpider
from tests.processes import ROOT
from tests.replies import Reply, redirect
from tests.site import Hit, Site

SCRAPY = default_settings.USER_AGENT


def refuses_the_nameless(hit: Hit) -> Reply:
    """A site that is closed, and says so to whoever has a name."""
    return Reply.text(NOTHING) if hit.header("User-Agent") else Reply(403)


class HiddenSpider(RequestsSpider):
    """Its pages are requested without a name."""

    user_agent = ""


NAMELESS: list[Any] = [
    ({}, SCRAPY),
    ({"ROBOTSTXT_USER_AGENT": "shopbot"}, "shopbot"),
    ({"ROBOTSTXT_USER_AGENT": ["shopbot-news", "shopbot"]}, "shopbot-news"),
    ({"ROBOTSTXT_USER_AGENT": "shopbot/1.0 (+https://shop.example)"}, "shopbot"),
    ({"ROBOTSTXT_USER_AGENT": "*"}, SCRAPY),
    ({"DEFAULT_REQUEST_HEADERS": {"User-Agent": ""}, "USER_AGENT": "shopbot"}, "shopbot"),
    ({"DEFAULT_REQUEST_HEADERS": {"User-Agent": []}, "USER_AGENT": "shopbot"}, "shopbot"),
    ({"USER_AGENT": " ", "ROBOTSTXT_USER_AGENT": "shopbot"}, "shopbot"),
]


@pytest.mark.parametrize(("settings", "name"), NAMELESS)
@pytest.mark.parametrize("switch", [obey, by_hand])
@ensureDeferred
async def test_a_robots_txt_request_has_a_name_where_pages_have_none(
    site: Site, switch: Any, settings: dict[str, Any], name: str
) -> None:
    """The product token, else the name that Scrapy goes by; on each hop."""
    closed = site.authority(refuses_the_nameless)
    moved = site.authority(redirect(closed.url("/robots.txt")))
    urls = [closed.url("/x"), moved.url("/x")]
    settings = switch(**{"USER_AGENT": "", **settings})
    result = (await crawl(settings=settings, plans=urls)).check()
    assert sorted(result.forbidden) == sorted(urls)
    assert {hit.header("User-Agent") for hit in [*closed.hits, *moved.hits]} == {name}


@pytest.mark.parametrize(
    ("disabled", "settings"),
    [
        ("useragent.UserAgentMiddleware", {"USER_AGENT": "shopbot/1.0"}),
        (
            "defaultheaders.DefaultHeadersMiddleware",
            {
                "DEFAULT_REQUEST_HEADERS": {"User-Agent": "other"},
                "USER_AGENT": "",
                "ROBOTSTXT_USER_AGENT": "shopbot",
            },
        ),
    ],
)
@ensureDeferred
async def test_a_robots_txt_request_has_a_name_where_no_middleware_adds_one(
    site: Site, disabled: str, settings: dict[str, Any]
) -> None:
    """As projects disable it whose download handler, or own middleware, names the crawler."""
    closed = site.authority(refuses_the_nameless)
    settings = by_hand(**settings)
    settings["DOWNLOADER_MIDDLEWARES"][f"scrapy.downloadermiddlewares.{disabled}"] = None
    result = (await crawl(settings=settings, plans=[closed.url("/x")])).check()
    assert result.forbidden == [closed.url("/x")]
    assert [hit.header("User-Agent") for hit in closed.hits] == ["shopbot"]


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_pages_stay_nameless(site: Site, mode: str) -> None:
    """In each mode; the name is the robots.txt request's alone."""
    shop = site.authority("User-agent: *\nDisallow: /private\n")
    settings = obey(USER_AGENT="", ROBOTSTXT_USER_AGENT="shopbot")
    result = (await crawl_under(mode, settings=settings, plans=[shop.url("/x")])).check()
    assert result.downloaded == [shop.url("/x")]
    assert [hit.header("User-Agent") for hit in shop.robots_hits] == ["shopbot"]
    assert "shopbot" not in str(shop.page_hits[0].headers)


@pytest.mark.filterwarnings("ignore:.*user_agent.*:scrapy.exceptions.ScrapyDeprecationWarning")
@ensureDeferred
async def test_a_spider_may_be_nameless(site: Site) -> None:
    """`user_agent = ""` in the spider."""
    shop = site.authority(refuses_the_nameless)
    settings = obey(ROBOTSTXT_USER_AGENT="shopbot", USER_AGENT="of the project")
    result = (await crawl(HiddenSpider, settings, plans=[shop.url("/x")])).check()
    assert result.forbidden == [shop.url("/x")]
    assert shop.robots_hits[0].header("User-Agent") == "shopbot"


@ensureDeferred
async def test_a_refusal_is_kept_under_the_name_that_was_sent(site: Site, tmp_path: Path) -> None:
    """What the site refused to one token is not refused to another, and once is enough."""

    def refuses_shopbot(hit: Hit) -> Reply:
        return Reply(403) if hit.header("User-Agent") == "shopbot" else Reply.text("")

    shop = site.authority(refuses_shopbot)
    common = {"REP_STORE": f"sqlite://{tmp_path}/r.db", "REP_ACCESS_DENIED": "disallow"}
    for names, ended, fetched in [
        ({"USER_AGENT": "", "ROBOTSTXT_USER_AGENT": "shopbot"}, "forbidden", 1),
        ({"USER_AGENT": "shopbot"}, "forbidden", 1),
        ({"USER_AGENT": "", "ROBOTSTXT_USER_AGENT": "other"}, "downloaded", 2),
        ({"USER_AGENT": "", "ROBOTSTXT_USER_AGENT": "shopbot"}, "forbidden", 2),
    ]:
        result = (await crawl(settings=obey(**common, **names), plans=[shop.url("/x")])).check()
        assert ([e.kind for e in result.endings], len(shop.robots_hits)) == ([ended], fetched)


class Transport:
    """Stands behind all middlewares, and shows the server what a download handler would go by."""

    def process_request(self, request: Request) -> None:
        """As headers."""
        for key in TRANSPORT_KEYS[1:]:
            if key in request.meta:
                request.headers[f"X-{key}"] = str(request.meta[key])


@ensureDeferred
async def test_robots_txt_is_requested_as_its_page_is(site: Site) -> None:
    """The meta keys that choose the transport are inherited, on each hop; other keys are not."""
    closed = site.authority(
        lambda hit: Reply.text(NOTHING) if hit.header("X-impersonate") == "chrome" else Reply(403)
    )
    moved = site.authority(redirect(closed.url("/robots.txt")))
    meta = {
        "impersonate": "chrome",
        "impersonate_args": {"verify": False},
        "impersonate_curl_options": {"HTTPHEADER_ORDER": "Host"},
    }
    assert {*meta, "proxy"} == {*TRANSPORT_KEYS}
    plans = [{"url": each.url("/x"), "meta": {**meta, "mine": 1}} for each in (closed, moved)]
    settings = obey(DOWNLOADER_MIDDLEWARES={f"{__name__}.Transport": 900})
    result = (await crawl(settings=settings, plans=plans)).check()
    assert len(result.forbidden) == 2
    for hit in [*closed.hits, *moved.hits]:
        assert [hit.header(f"X-{key}") for key in meta] == [str(meta[key]) for key in meta]


def test_the_guide_lists_the_keys_of_the_transport() -> None:
    """All of them, in the section about other download handlers."""
    text = (ROOT / "docs" / "guides" / "services.rst").read_text()
    assert [key for key in TRANSPORT_KEYS if f"``{key}``" not in text] == []


@pytest.mark.slow
def test_scrapy_impersonate_fetches_robots_txt_as_the_browser_that_the_page_names(
    site: Site,
) -> None:
    """The real one; as its documentation says, without a User-Agent."""
    pytest.importorskip("scrapy_impersonate", reason="tox -e slow has it")
    handler = "scrapy_impersonate.ImpersonateDownloadHandler"

    def refuses_programs(hit: Hit) -> Reply:  # this header comes from the browser's own
        return Reply.text("User-agent: *\nDisallow: /p\n" if hit.header("Sec-Ch-Ua") else NOTHING)

    shop, nameless = site.authority(refuses_programs), site.authority(refuses_the_nameless)
    plans = [
        {"url": url, "meta": {"impersonate": "chrome"}}
        for url in (shop.url("/open"), shop.url("/private"), nameless.url("/x"))
    ]
    settings = obey(USER_AGENT="", DOWNLOAD_HANDLERS=dict.fromkeys(["http", "https"], handler))
    result = crawl_in_child(settings=settings, plans=plans).check()
    assert result.downloaded == [shop.url("/open")]
    assert "Chrome" in str(shop.page_hits[0].header("User-Agent"))
    assert {hit.header("User-Agent") for hit in [*shop.robots_hits, *nameless.hits]} == {SCRAPY}
