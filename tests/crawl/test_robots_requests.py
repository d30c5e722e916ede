"""Requests for robots.txt: what they carry, and what of Scrapy does not touch them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import default_settings

from scrapy_rep.gate.identity import header_of_fetches
from scrapy_rep.sites.asking import TRANSPORT_KEYS
from scrapy_rep.sites.store_adapter import crawler_digest
from tests.crawl.harness import RULED, crawl, crawl_in_child, open_and_private, visit
from tests.crawl.middlewares import middleware
from tests.crawl.plugin import DEMANDING, NOTHING, OPEN, RULES, obey
from tests.crawl.spiders import OneByOneSpider, RequestsSpider
from tests.processes import ROOT
from tests.replies import Peer, Reply, html, redirect
from tests.site import Hit, Site

PRIVATE_HEADERS = {
    "Cookie": "of=page",
    "Authorization": "Basic b2Y6cGFnZQ==",
    "Referer": "http://of.page/",
    "X-Of-The-Page": "yes",
    "User-Agent": "of-the-page/1.0",
}


DEFAULT_HEADERS = {"Cookie": "sid=1", "Authorization": "Bearer t0ken", "Referer": "http://r/"}


async def test_the_robots_txt_request_carries_nothing_of_the_page(site: Site, mode: str) -> None:
    """Not the headers, the cookies, the method or the body, on the first hop or the second.

    Of DEFAULT_REQUEST_HEADERS no Cookie, no Referer, and Authorization for no other authority.
    """
    second = site.authority(RULES)
    first = site.authority(redirect(second.url("/robots.txt")))
    plan = {"url": first.url("/open?q"), "headers": PRIVATE_HEADERS, "cookies": {"jar": "page"}}
    plan |= {"method": "POST", "body": "of the page"}
    result = await visit([plan], mode=mode, DEFAULT_REQUEST_HEADERS=DEFAULT_HEADERS)
    assert result.downloaded == [first.url("/open?q")]
    for hit in [*first.robots_hits, *second.robots_hits]:
        assert (hit.method, hit.target) == ("GET", "/robots.txt")
        assert "page" not in str(hit.headers).lower()
        for name in ("Cookie", "Referer", "Content-Type"):
            assert hit.header(name) is None
    assert [hit.header("Authorization") for hit in first.robots_hits] == ["Bearer t0ken"]
    assert [hit.header("Authorization") for hit in second.robots_hits] == [None]
    (page,) = first.page_hits
    assert page.header("X-Of-The-Page") == "yes"


async def test_no_header_without_a_value_is_sent(site: Site) -> None:
    """Some servers answer an empty Range with 416, as if there were no robots.txt.

    What is kept back is kept back from a request that another component repeats, too.
    """

    def robots(hit: Hit) -> Reply:
        is_plain = all(hit.header(name) is None for name in ("Range", "If-Range", *DEFAULT_HEADERS))
        return Reply(416) if not is_plain else Reply.text(NOTHING) if len(shop.hits) > 1 else again

    def repeat(request: Request, response: Response) -> Request | Response:
        return request.copy() if response.status == again.status else response

    again, shop = Reply(503), site.authority(robots)
    moved = site.authority(redirect(shop.url("/robots.txt")))
    result = await visit(
        [moved.url("/private")],
        DOWNLOAD_HANDLERS={"http": "tests.crawl.handlers.BlankHandler"},
        DEFAULT_REQUEST_HEADERS=DEFAULT_HEADERS,
        DOWNLOADER_MIDDLEWARES={middleware(process_response=repeat): 900},
    )
    assert (result.kinds, len(shop.hits)) == (["forbidden"], 2)


async def test_the_spiders_status_list_changes_no_verdict(site: Site) -> None:
    """Redirects of robots.txt are followed, and failures are failures, whatever the spider sees."""
    robots = [redirect("/rules"), Reply(404, NOTHING), Reply(503, RULES), Reply(429)]
    shops = [site.authority(answer, {"/rules": RULES}) for answer in robots]
    urls = [shop.url("/private") for shop in shops]
    seen = (301, 302, 303, 307, 308, 404, 429, 500, 503)
    result = await visit(urls, handle_httpstatus_list=seen)
    assert result.forbidden == urls[:1]
    assert result.downloaded == urls[1:2]
    assert result.unreachable == urls[2:]


@pytest.mark.parametrize("missing", [False, True])
async def test_the_http_cache_opens_nothing(site: Site, tmp_path: Path, missing: bool) -> None:
    """Neither a robots.txt nor a page out of Scrapy's cache gets around today's rules."""
    shop = site.authority(OPEN)
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    assert (await open_and_private(shop, **cache)).kinds == ["downloaded", "downloaded"]
    shop.robots = RULES
    second = await open_and_private(shop, **cache, HTTPCACHE_IGNORE_MISSING=missing)
    assert second.kinds == RULED
    assert second.stats["httpcache/hit"] == 1
    assert len(shop.robots_hits) == 2


async def test_autothrottle_learns_nothing_from_robots_txt(site: Site) -> None:
    """A slow robots.txt is no sample of the pages' latency, and the verdict is the same."""
    shop = site.authority(Reply(200, RULES, delay=0.5))
    urls = [shop.url(path) for path in ("/open", "/private", "/1", "/2", "/3")]
    throttled = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.01}
    result = await visit(urls, **throttled, AUTOTHROTTLE_DEBUG=True)
    assert result.forbidden == [shop.url("/private")]
    samples = result.lines("slot: ")  # one for each response it learns from
    assert len(samples) == len(shop.page_hits) == 4


async def test_an_offsite_page_asks_for_no_robots_txt(site: Site) -> None:
    """What OffsiteMiddleware drops, when it is scheduled or later, is dropped first."""
    shop, away = site.authority(RULES), site.authority(RULES)
    urls = [shop.url("/open"), away.url("/open"), away.url("/private")]
    result = await crawl(settings=obey(), plans=urls, allowed_domains=[shop.host])
    assert [ending.url for ending in result.endings] == urls[:1]
    assert result.stats["offsite/filtered"] == 2
    assert away.hits == []


async def test_small_download_limits_do_not_reach_robots_txt(site: Site) -> None:
    """DOWNLOAD_MAXSIZE, DOWNLOAD_TIMEOUT and URLLENGTH_LIMIT are about pages."""
    shop = site.authority(Reply(200, RULES + "#" * 5000, delay=1.5), {"/open": html("x")})
    limits = {"DOWNLOAD_MAXSIZE": 1000, "DOWNLOAD_WARNSIZE": 0, "DOWNLOAD_TIMEOUT": 1}
    assert (await open_and_private(shop, **limits)).kinds == RULED


# --- of the crawler, and of a spider


async def test_no_delay_comes_between_the_hops_of_a_fetch(site: Site) -> None:
    """Several sites redirect to one robots.txt: DOWNLOAD_DELAY is for pages."""
    target = site.authority(RULES)
    shops = site.authorities(8, redirect(target.url("/robots.txt")))
    plans = [shop.url("/a") for shop in shops]
    result = await visit(plans, DOWNLOAD_DELAY=5, REP_TIMEOUT=3)
    assert sorted(result.downloaded) == sorted(plans)


async def test_no_slot_of_a_middleware_holds_up_a_fetch(site: Site) -> None:
    """Others would be waited for there, and their delay, while REP_TIMEOUT goes on."""

    def choose(request: Request) -> None:  # as scrapy-rotating-proxies does; here for no page
        if request.meta.get("dont_obey_robotstxt"):
            request.meta["download_slot"] = "of a proxy"

    urls = [shop.url("/open") for shop in site.authorities(3, RULES)]
    slots = {"DOWNLOAD_SLOTS": {"of a proxy": {"delay": 60}}}
    middlewares = {"DOWNLOADER_MIDDLEWARES": {middleware(process_request=choose): 610}}
    result = await visit(urls, REP_TIMEOUT=2, REP_RETRY_DELAYS=[], **slots, **middlewares)
    assert sorted(result.downloaded) == sorted(urls)


async def test_a_missing_file_is_no_ban_for_long(site: Site) -> None:
    """However many proxies a page is tried with, the site has answered: it has no rules."""

    def repeat(request: Request, response: Response) -> Request | Response:  # as by another proxy
        tried = request.meta.get("tried", 0) + 1
        if response.status == 200 or tried > request.meta.get("max_proxies_to_try", 30):
            return response
        return request.replace(meta={**request.meta, "tried": tried}, dont_filter=True)

    shop = site.authority(Reply(404))
    result = await visit(
        [shop.url("/a")], DOWNLOADER_MIDDLEWARES={middleware(process_response=repeat): 610}
    )
    assert result.downloaded == [shop.url("/a")]
    assert len(shop.robots_hits) == 6


async def test_a_request_for_the_rules_waits_for_no_rules(site: Site) -> None:
    """RFC 9309 section 2.2.2, in every spelling of their URL: they are not even fetched."""
    paths = ("/robots.txt", "/robots.txt#part", "/robots.txt#/a?b")
    urls = [site.authority(Reply(503)).url(path) for path in paths]
    meta = {"handle_httpstatus_all": True, "dont_retry": True}
    plans = [{"url": url, "meta": dict(meta)} for url in urls]
    result = await visit(plans)
    assert result.downloaded == urls
    assert len(site.hits) == len(urls)
    assert "robotstxt/request_count" not in result.stats


LOOKALIKES = [
    *("?/robots.txt", "/?/robots.txt", "/robots.txt?a", "/a/robots.txt", "/robots.txt/"),
    *("//robots.txt", "/robots.txt;a", "/Robots.txt", "/a?b=http://b/robots.txt"),
    *("/a#/robots.txt", "#/robots.txt"),
]


async def test_what_only_looks_like_the_url_of_the_rules_waits_for_them(site: Site) -> None:
    """A query, a fragment or another path: it is a page like any other."""
    urls = [site.authority(Reply(503)).url(path) for path in LOOKALIKES]
    result = await visit(urls, expected=["is unreachable"])
    assert result.unreachable == urls
    assert [hit.target for hit in site.hits if hit.path != "/robots.txt"] == []
    assert len(site.hits) == len(urls)  # its rules, and no more


async def test_a_request_for_the_rules_is_allowed_once_they_are_known(site: Site) -> None:
    """RFC 9309 section 2.2.2: neither rules, nor a pace, nor the purposes of a crawl refuse it."""
    refusing = ["Crawl-delay: 1000\nAllow: /", "Content-Usage: train-ai=n\nAllow: /", "Disallow: /"]
    refusing.append("Allow: /\n\nUser-agent: buyer\nDisallow: /")
    shops = [site.authority(f"User-agent: *\n{lines}\n") for lines in refusing]
    names = {"ROBOTSTXT_USER_AGENT": "seller", "REP_PURPOSE_TOKENS": {"train-ai": ["buyer"]}}
    urls = [shop.url(path) for path in ("/a", "/robots.txt") for shop in shops]
    result = await visit(urls, OneByOneSpider, **DEMANDING, **names)
    assert [ending.url for ending in result.endings] == urls
    assert (result.forbidden, result.downloaded) == (urls[:4], urls[4:])


# --- under which name


SCRAPY = default_settings.USER_AGENT


def refuses_the_nameless(hit: Hit) -> Reply:
    """A site that is closed, and says so to whoever has a name."""
    return Reply.text(NOTHING) if hit.header("User-Agent") else Reply(403)


def headed(name: Any, **more: Any) -> dict[str, Any]:
    """Settings with that User-Agent among the default headers."""
    return {"USER_AGENT": "setting/1.0", "DEFAULT_REQUEST_HEADERS": {"user-agent": name}, **more}


TOKEN = {"ROBOTSTXT_USER_AGENT": "shopbot"}
EMPTY = {"USER_AGENT": ""}
NAMES: list[Any] = [
    (TOKEN, None, "", SCRAPY),
    (TOKEN | {"USER_AGENT": "setting/1.0"}, None, "", "setting/1.0"),
    (TOKEN | {"USER_AGENT": "setting/1.0"}, "spider/1.0", "", "spider/1.0"),
    (TOKEN | headed("header/1.0"), "spider/1.0", "", "header/1.0"),
    (TOKEN | headed(b"h\xe4ader/1.0"), None, "", "h\xe4ader/1.0"),
    (TOKEN | headed(None), None, "", "setting/1.0"),
    (TOKEN | headed(None), "spider/1.0", "", "spider/1.0"),
    (TOKEN | headed(""), "spider/1.0", "", "shopbot"),
    (TOKEN | {"USER_AGENT": "setting/1.0"}, "", "", "shopbot"),
    (EMPTY, None, "", SCRAPY),
    (EMPTY | TOKEN, None, "", "shopbot"),
    (EMPTY | {"ROBOTSTXT_USER_AGENT": ["shopbot-news", "shopbot"]}, None, "", "shopbot-news"),
    (EMPTY | {"ROBOTSTXT_USER_AGENT": "shopbot/1.0 (+https://shop.example)"}, None, "", "shopbot"),
    (EMPTY | {"ROBOTSTXT_USER_AGENT": "*"}, None, "", SCRAPY),
    (headed("", USER_AGENT="shopbot"), None, "", "shopbot"),
    (headed([], USER_AGENT="shopbot"), None, "", "shopbot"),
    ({"USER_AGENT": " "} | TOKEN, None, "", "shopbot"),
    ({"USER_AGENT": "shopbot/1.0"}, None, "useragent.UserAgentMiddleware", "shopbot"),
    (
        EMPTY | TOKEN | headed("other", USER_AGENT=""),
        *(None, "defaultheaders.DefaultHeadersMiddleware", "shopbot"),
    ),
]
"""Settings, `user_agent` of the spider, a middleware that a project has disabled, and the name."""


@pytest.mark.parametrize(("settings", "of_spider", "disabled", "name"), NAMES)
@pytest.mark.filterwarnings("ignore:.*user_agent.*:scrapy.exceptions.ScrapyDeprecationWarning")
async def test_by_which_name_robots_txt_is_requested(
    site: Site, settings: dict[str, Any], of_spider: str | None, disabled: str, name: str
) -> None:
    """As Scrapy fills it in: from the default headers, the spider or the setting, in this order.

    Where that is nothing, the product token, else the name that Scrapy goes by; on each hop. A
    store keeps refusals by the digest of the name.
    """
    closed = site.authority(refuses_the_nameless)
    moved = site.authority(redirect(closed.url("/robots.txt")))
    urls = [closed.url("/x"), moved.url("/x")]
    without = {f"scrapy.downloadermiddlewares.{disabled}": None} if disabled else {}
    of_class = {} if of_spider is None else {"user_agent": of_spider}
    spider = type("NamedSpider", (RequestsSpider,), of_class)
    result = await visit(urls, spider, DOWNLOADER_MIDDLEWARES=without, **settings)
    assert sorted(result.forbidden) == sorted(urls)
    assert {hit.header("User-Agent") for hit in [*closed.hits, *moved.hits]} == {name}
    digest = crawler_digest(header_of_fetches(result.crawler, result.gate.agents(None)))
    assert digest == blake2b(name.encode("latin-1"), digest_size=8).hexdigest()


class RenamedSpider(RequestsSpider):
    """Names itself when the crawl has begun, which is too late for Scrapy."""

    async def start(self) -> AsyncIterator[Any]:
        """The requests, after the change."""
        self.user_agent = "late-bot/1.0"
        async for request in super().start():
            yield request


@pytest.mark.parametrize(("configured", "name"), [("early-bot/1.0",) * 2, ("", "Scrapy/")])
async def test_a_name_that_comes_too_late_is_none(site: Site, configured: str, name: str) -> None:
    """The name of the crawl is that which its pages carry, for robots.txt and by the rules."""
    robots = "User-agent: early-bot\nDisallow: /early\n\nUser-agent: late-bot\nDisallow: /late\n"
    shop = site.authority(robots)
    pages = [shop.url("/early"), shop.url("/late")]
    result = await visit(pages, RenamedSpider, USER_AGENT=configured)
    assert result.forbidden == (pages[:1] if configured else [])
    assert [hit.header("User-Agent")[: len(name)] for hit in shop.robots_hits] == [name]


async def test_pages_stay_nameless(site: Site) -> None:
    """The name is the robots.txt request's alone."""
    shop = site.authority(RULES)
    result = await visit([shop.url("/x")], **EMPTY, **TOKEN)
    assert result.downloaded == [shop.url("/x")]
    assert [hit.header("User-Agent") for hit in shop.robots_hits] == ["shopbot"]
    assert "shopbot" not in str(shop.page_hits[0].headers)


async def test_a_refusal_is_kept_under_the_name_that_was_sent(site: Site, stored: Any) -> None:
    """What the site refused to one token is not refused to another, and once is enough."""

    def refuses_shopbot(hit: Hit) -> Reply:
        return Reply(403) if hit.header("User-Agent") == "shopbot" else Reply.text("")

    shop = site.authority(refuses_shopbot)
    for names, ended, fetched in [
        (EMPTY | TOKEN, "forbidden", 1),
        ({"USER_AGENT": "shopbot"}, "forbidden", 1),
        (EMPTY | {"ROBOTSTXT_USER_AGENT": "other"}, "downloaded", 2),
        (EMPTY | TOKEN, "forbidden", 2),
    ]:
        names |= {"REP_ACCESS_DENIED": "disallow", **stored}
        result = await visit([shop.url("/x")], **names)
        assert (result.kinds, len(shop.robots_hits)) == ([ended], fetched)


async def test_robots_txt_is_requested_as_its_page_is(site: Site) -> None:
    """The meta keys that choose the transport are inherited, on each hop; other keys are not."""
    closed = site.authority(
        lambda hit: Reply.text(NOTHING) if hit.header("X-impersonate") == "chrome" else Reply(403)
    )
    moved = site.authority(redirect(closed.url("/robots.txt")))
    meta: dict[str, Any] = {"impersonate": "chrome", "impersonate_args": {"verify": False}}
    meta["impersonate_curl_options"] = {"HTTPHEADER_ORDER": "Host"}
    assert {*meta, "proxy", "bindaddress"} == {*TRANSPORT_KEYS}

    def show(request: Request) -> None:
        for key in meta.keys() & request.meta.keys():  # which a download handler would go by
            request.headers[f"X-{key}"] = str(request.meta[key])

    plans = [{"url": each.url("/x"), "meta": {**meta, "mine": 1}} for each in (closed, moved)]
    result = await visit(plans, DOWNLOADER_MIDDLEWARES={middleware(process_request=show): 900})
    assert len(result.forbidden) == 2
    for hit in [*closed.hits, *moved.hits]:
        assert [hit.header(f"X-{key}") for key in meta] == [str(meta[key]) for key in meta]


class ForOneAddress(Reply):
    """403, but for one address of the crawler. An old Scrapy reuses a connection of any address."""

    async def _send(self, peer: Peer) -> bool:
        is_known = peer.writer.get_extra_info("peername")[0] == "127.0.0.77"
        reply = Reply.text(NOTHING) if is_known else Reply(403)
        await reply._send(peer)
        return False


async def test_robots_txt_is_requested_from_the_address_of_its_page(site: Site) -> None:
    """A refusal to another address does not hold for it, whichever page comes first."""
    page = Reply(200, "a page", framing="close")
    shops = [site.authority(ForOneAddress(), {"/a": page}) for _ in range(2)]
    bound = {"bindaddress": ("127.0.0.77", 0)}
    plans: list[Any] = [shops[0].url("/a")]
    plans += [{"url": shop.url("/b"), "meta": bound} for shop in shops]
    result = await visit([*plans, shops[1].url("/c")], OneByOneSpider)
    assert result.kinds == ["downloaded", "forbidden", "forbidden", "forbidden"]
    assert [len(shop.robots_hits) for shop in shops] == [2, 1]


def test_the_guide_lists_the_keys_of_the_transport() -> None:
    """All of them, in the section about other download handlers."""
    text = (ROOT / "docs" / "guides" / "services.rst").read_text()
    assert [key for key in TRANSPORT_KEYS if f"``{key}``" not in text] == []


@pytest.mark.slow
def test_scrapy_impersonate_fetches_robots_txt_as_the_browser_of_the_page(site: Site) -> None:
    """The real one; as its documentation says, without a User-Agent."""
    pytest.importorskip("scrapy_impersonate", reason="tox -e slow has it")
    handler = "scrapy_impersonate.ImpersonateDownloadHandler"

    def refuses_programs(hit: Hit) -> Reply:  # this header comes from the browser's own
        return Reply.text("User-agent: *\nDisallow: /p\n" if hit.header("Sec-Ch-Ua") else NOTHING)

    shop, nameless = site.authority(refuses_programs), site.authority(refuses_the_nameless)
    urls = shop.url("/open"), shop.url("/private"), nameless.url("/x")
    plans = [{"url": url, "meta": {"impersonate": "chrome"}} for url in urls]
    settings = obey(USER_AGENT="", DOWNLOAD_HANDLERS=dict.fromkeys(["http", "https"], handler))
    result = crawl_in_child(settings=settings, plans=plans).check()
    assert result.downloaded == [shop.url("/open")]
    assert "Chrome" in str(shop.page_hits[0].header("User-Agent"))
    assert {hit.header("User-Agent") for hit in [*shop.robots_hits, *nameless.hits]} == {SCRAPY}
