"""Real crawls of sites that say what their pages may be used for.

`report` changes nothing, `skip` refuses requests, `drop` drops items as well; the rest of a crawl
is as it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.http import Response

from scrapy_rep import (
    RepDownloaderMiddleware,
    RepSpiderMiddleware,
    RobotsTxt,
    usage_preferences,
)
from scrapy_rep.preferences.statement import CATEGORIES
from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.plugin import BUILT_IN, by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import OneByOneSpider, RequestsSpider
from tests.preferences.answers import answers
from tests.preferences.test_robots_rows import MANAGED
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

BY_PATH = "User-agent: *\nContent-Usage: / train-ai=y\nContent-Usage: /art/ train-ai=n\nAllow: /\n"


class UseSpider(RequestsSpider):
    """Makes an item of each page, and logs what the page may be used for."""

    def found(self, response: Response) -> Iterable[Any]:
        """The item."""
        yield self.item(response)

    def item(self, response: Response) -> dict[str, str]:
        """What is said about the page."""
        use = answers(usage_preferences(response))
        self.logger.info("%s may be used: %s.", response.url, use)
        return {"url": response.url}


class AsyncUseSpider(UseSpider):
    """The same with a callback that is an asynchronous generator."""

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """A page came."""
        self._note(response.meta, status=response.status, final=response.url)
        yield self.item(response)


SPIDERS = ["tests.crawl.test_preferences.UseSpider", "tests.crawl.test_preferences.AsyncUseSpider"]


def page(*fields: str, head: str = "") -> Reply:
    """A page with these header lines."""
    body = f"<html><head>{head}</head><body>text</body></html>"
    lines = [(name, value.strip()) for name, _, value in (field.partition(":") for field in fields)]
    return Reply(200, body, (("Content-Type", "text/html"), *lines))


def said(result: Result, url: str) -> str:
    """What the spider was told of a page."""
    [line] = [text for text in result.lines(" may be used: ") if text.startswith(f"{url} ")]
    return line.partition(": ")[2].removesuffix(".")


def items(result: Result) -> int:
    """How many items came out of the crawl."""
    return int(result.stats.get("item_scraped_count", 0))


async def visit(plans: list[Any], spider: Any = UseSpider, **settings: Any) -> Result:
    """One crawl with the add-on."""
    return (await crawl(spider, obey(**settings), plans=plans)).check()


@ensureDeferred
async def test_by_default_a_crawl_is_told_and_not_changed(site: Site) -> None:
    """All pages and items come; stats and one line at the end say what was disallowed."""
    shop = site.authority(MANAGED)
    plans = [shop.url("/a"), shop.url("/b")]
    result = await visit(plans)
    assert result.downloaded == plans
    assert items(result) == 2
    assert said(result, plans[0]) == "train-ai=n search=y"
    assert result.stats["robotstxt/preferences/train-ai/disallowed"] == 2
    assert result.stats["robotstxt/preferences/search/allowed"] == 2
    assert result.lines("pages said", "INFO") == ["What pages said: 2 disallow train-ai"]


@pytest.mark.parametrize("directives", ["report", "off"])
@ensureDeferred
async def test_directives_and_preferences_are_in_one_line_at_the_end(
    site: Site, directives: str
) -> None:
    """It has what was read; no setting is advertised.

    What is allowed is counted in the stats alone.
    """
    shop = site.authority(MANAGED, page("Content-Usage: train-ai=n", "X-Robots-Tag: noindex"))
    result = await visit([shop.url("/a"), shop.url("/b")], REP_PAGE_DIRECTIVES=directives)
    noindex = "2 noindex, " if directives == "report" else ""
    assert result.lines("pages said") == [f"What pages said: {noindex}2 disallow train-ai"]
    allowing = site.authority("User-agent: *\nContent-Signal: search=yes\n")
    result = await visit([allowing.url("/a")], REP_PAGE_DIRECTIVES=directives)
    assert result.stats["robotstxt/preferences/search/allowed"] == 1
    assert result.lines("pages read") == []


@pytest.mark.parametrize("spider", SPIDERS)
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_skip_refuses_what_robots_txt_disallows(site: Site, mode: str, spider: str) -> None:
    """The managed block, and Content-Usage by path; the exception names the statement."""
    managed, by_path, free = site.authority(MANAGED), site.authority(BY_PATH), site.authority()
    urls = [managed.url("/x"), by_path.url("/art/1"), by_path.url("/text"), free.url("/")]
    settings = obey(REP_PREFERENCES="skip", REP_PURPOSES=["train-ai"])
    result = (await crawl_under(mode, spider, settings, plans=urls)).check()
    assert result.forbidden == urls[:2]
    assert result.downloaded == urls[2:]
    assert items(result) == 2
    problem = result.problem(urls[1])
    assert problem.text.startswith(
        "Forbidden by usage preference: Content-Usage disallows train-ai (http://"
    )
    statement = problem.data["statement"]
    assert (statement["line"], statement["value"]) == (3, "n")
    assert problem.data["verdict"]["line"] == 3
    assert result.stats["robotstxt/preferences/skipped"] == 2
    assert result.stats["robotstxt/forbidden"] == 2
    assert managed.page_hits == []
    assert said(result, urls[2]) == "train-ai=y"


@pytest.mark.parametrize("spider", SPIDERS)
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_drop_drops_the_items_of_pages_that_disallow(
    site: Site, mode: str, spider: str
) -> None:
    """Pages say it by header or meta; what robots.txt disallows is refused as with skip."""
    pages = {
        "/header": page("Content-Usage: train-ai=n"),
        "/noai": page(head='<meta name="robots" content="noai">'),
        "/other": page(head='<meta name="otherbot" content="noai">'),
        "/free": page("Content-Usage: train-ai=y"),
    }
    shop, managed = site.authority(None, pages), site.authority(MANAGED)
    urls = [*(shop.url(path) for path in pages), managed.url("/x")]
    settings = obey(REP_PREFERENCES="drop", REP_PURPOSES="train-ai")
    result = (await crawl_under(mode, spider, settings, plans=urls)).check()
    assert result.downloaded == urls[:4]
    assert result.forbidden == urls[4:]
    assert items(result) == 2
    assert result.stats["robotstxt/preferences/dropped"] == 2
    assert said(result, urls[1]) == "train-ai=n"


@ensureDeferred
async def test_a_token_of_a_purpose_counts_by_its_named_group_alone(site: Site) -> None:
    """`Google-Extended` is a name for training; `*` is not, whatever it forbids."""
    named = "User-agent: Google-Extended\nDisallow: /art\n\nUser-agent: *\nAllow: /\n"
    other = "User-agent: mybot\nAllow: /\n\nUser-agent: *\nDisallow: /\n"
    shop, strict = site.authority(named), site.authority(other)
    plans = [shop.url("/art"), shop.url("/text"), strict.url("/art")]
    settings = {
        "ROBOTSTXT_USER_AGENT": "mybot",
        "REP_PREFERENCES": "skip",
        "REP_PURPOSES": ["train-ai"],
        "REP_PURPOSE_TOKENS": {"train-ai": ["Google-Extended"], "search": "Googlebot"},
    }
    result = await visit(plans, **settings)
    assert result.forbidden == plans[:1]
    problem = result.ending(plans[0]).problem
    assert "the group of Google-Extended disallows train-ai" in problem.text
    assert problem.exception.statement.line == 2
    told = await visit(plans, **{**settings, "REP_PREFERENCES": "report"})
    assert told.downloaded == plans
    assert said(told, plans[0]) == "train-ai=n"


@pytest.mark.parametrize("mode", first(1, ["skip", "drop"]))
@ensureDeferred
async def test_a_token_counts_for_text_and_data_mining_too(site: Site, mode: str) -> None:
    """TDMRep itself has no statement in a robots.txt."""
    shop = site.authority("User-agent: miner\nDisallow: /art\n")
    plans = [shop.url("/art"), shop.url("/text")]
    result = await visit(
        plans,
        REP_PREFERENCES=mode,
        REP_PURPOSES=["tdm"],
        REP_PURPOSE_TOKENS={"tdm": ["miner"]},
    )
    assert result.forbidden == plans[:1]
    assert "the group of miner disallows tdm" in result.problem(plans[0]).text


class ErrbackSpider(UseSpider):
    """Makes an item of a page that no callback gets."""

    def failed(self, failure: Any) -> Any:
        """The page is that of the failure."""
        super().failed(failure)
        yield {"url": failure.value.response.url}


@ensureDeferred
async def test_items_of_an_errback_are_dropped_too(site: Site) -> None:
    """A page with the status 404 has a header like any other."""
    said_so = (("Content-Type", "text/html"), ("Content-Usage", "train-ai=n"))
    pages = {"/said": Reply(404, "gone", said_so), "/silent": Reply(404, "gone")}
    shop = site.authority(None, pages)
    plans = [shop.url(path) for path in pages]
    result = await visit(plans, ErrbackSpider, REP_PREFERENCES="drop", REP_PURPOSES=["train-ai"])
    assert items(result) == 1
    assert result.stats["robotstxt/preferences/dropped"] == 1


class NamelessGate(RepDownloaderMiddleware):
    """A subclass of a project, which fails to tell by what name a page was requested."""

    def agents(self, request: Request | None) -> tuple[str, ...]:
        """Only the name of the whole crawl is known."""
        if request is not None:
            raise KeyError("name")
        return super().agents(request)


@ensureDeferred
async def test_a_page_that_speaks_to_an_unknown_crawler_permits_no_use(site: Site) -> None:
    """What cannot be read for a fault drops the items. A page that says nothing says it to all."""
    pages = {"/said": page("Content-Usage: train-ai=y"), "/silent": page()}
    shop = site.authority(None, pages)
    settings = by_hand(
        DOWNLOADER_MIDDLEWARES={BUILT_IN: None, NamelessGate: 100},
        SPIDER_MIDDLEWARES={RepSpiderMiddleware: 100},
        REP_PAGE_DIRECTIVES="off",
        REP_PREFERENCES="drop",
        REP_PURPOSES=["train-ai"],
    )
    plans = [shop.url(path) for path in pages]
    result = await crawl(UseSpider, settings, plans=plans)
    result.check(expected=["The reading of usage preferences failed"])
    assert result.downloaded == plans
    assert len(result.lines("The reading of usage preferences failed", "ERROR")) == 1
    assert items(result) == 1
    assert result.stats["robotstxt/preferences/dropped"] == 1


@ensureDeferred
async def test_a_request_that_passes_by_is_left_alone(site: Site) -> None:
    """`dont_obey_robotstxt` is for its request and its items."""
    shop = site.authority(MANAGED, page("Content-Usage: train-ai=n"))
    plans = [{"url": shop.url("/a"), "meta": {"dont_obey_robotstxt": True}}]
    result = await visit(plans, REP_PREFERENCES="drop", REP_PURPOSES=["train-ai"])
    assert len(result.downloaded) == 1
    assert items(result) == 1


@ensureDeferred
async def test_the_page_of_a_service_is_the_one_that_counts(site: Site) -> None:
    """`robotstxt_page`: the preferences of the page that is named, not of the service."""
    shop, service = site.authority(BY_PATH), site.authority()
    url = service.url("/render")
    plans = [{"url": url, "meta": {"robotstxt_page": shop.url("/art/1")}}]
    result = await visit(plans)
    assert said(result, url) == "train-ai=n"
    refused = await visit(plans, REP_PREFERENCES="skip", REP_PURPOSES=["train-ai"])
    assert refused.forbidden == [url]


@ensureDeferred
async def test_off_reads_nothing(site: Site) -> None:
    """No stat, no line, no fetch, and no gate that asks; callbacks may still ask for themselves."""
    shop = site.authority(MANAGED, page("Content-Usage: train-ai=n", "tdm-reservation: 1"))
    result = await visit([shop.url("/a")], REP_PREFERENCES="off", REP_PURPOSES=["train-ai"])
    assert items(result) == 1
    assert not [name for name in result.stats if "preferences" in name]
    assert result.lines("disallow ") == []
    assert [hit.path for hit in shop.hits] == ["/robots.txt", "/a"]
    assert said(result, shop.url("/a")) == "train-ai=n tdm=n"


@ensureDeferred
async def test_without_the_spider_middleware_requests_are_still_skipped(site: Site) -> None:
    """By hand, a project may use the downloader middleware alone."""
    managed = site.authority(MANAGED)
    settings = by_hand(REP_PREFERENCES="skip", REP_PURPOSES=["train-ai"])
    result = (await crawl(UseSpider, settings, plans=[managed.url("/x")])).check()
    assert result.forbidden == [managed.url("/x")]


@ensureDeferred
async def test_skip_refuses_what_need_not_wait_for_its_rules(site: Site) -> None:
    """The second request finds the rules in memory; they say something of its path alone."""
    shop = site.authority("User-agent: *\nContent-Usage: /b train-ai=n\nAllow: /\n")
    urls = [shop.url("/a"), shop.url("/b")]
    settings = obey(REP_PREFERENCES="skip", REP_PURPOSES=["train-ai"])
    result = await crawl(OneByOneSpider, settings, plans=urls)
    result.check()
    assert (result.downloaded, result.forbidden) == (urls[:1], urls[1:])
    assert result.stats["robotstxt/cache/hit"] == 1


@ensureDeferred
async def test_a_spider_is_told_where_licences_are(site: Site) -> None:
    """RSL: of robots.txt, header and HTML, by `usage_preferences`; nothing fetches them."""
    link = '<link rel="license" type="application/rsl+xml" href="/html.xml">'
    field = 'Link: </header.xml>; rel="license"; type="application/rsl+xml"'
    shop = site.authority("License: https://e.org/robots.xml\n", page(field, head=link))
    found: list[Any] = []

    class LicenseSpider(RequestsSpider):
        def found(self, response: Response) -> Iterable[Any]:
            found.extend(usage_preferences(response).licenses)
            return ()

    result = await visit([shop.url("/a")], LicenseSpider)
    assert [(one.url, one.source, one.line) for one in found] == [
        ("https://e.org/robots.xml", "robots.txt", 1),
        (shop.url("/header.xml"), "header", None),
        (shop.url("/html.xml"), "html", None),
    ]
    assert [hit.path for hit in shop.hits] == ["/robots.txt", "/a"]
    assert result.stats["robotstxt/preferences/license"] == 1


def test_outside_a_crawl_everything_may_be_handed_in() -> None:
    """A response and a robots.txt."""
    fields = {"Content-Usage": ["search=y", "ai-use=n"], "tdm-reservation": ["1"]}
    response = Response("https://e.org/art/1", headers=fields, body=b"x")
    assert answers(usage_preferences(response)) == "ai-use=n search=y tdm=n"
    robots = RobotsTxt.parse(BY_PATH + "\nUser-agent: mybot\nContent-Signal: ai-train=yes\n")
    whole = usage_preferences(response, "otherbot", robots)
    assert answers(whole) == "train-ai=n ai-use=n search=y tdm=n"
    assert whole.tdm.source == "header"
    own = usage_preferences(response, ["mybot"], robots)
    assert answers(own) == "train-ai=y ai-use=n search=y tdm=n"
    with pytest.raises(ValueError, match="product token"):
        usage_preferences(response, "")


def test_a_licence_is_named_for_pages_that_are_disallowed_too() -> None:
    """RSL 1.0 has no effect on rules, nor they on it."""
    robots = RobotsTxt.parse("User-agent: *\nLicense: https://e.org/l.xml\nDisallow: /\n")
    assert robots.preferences("https://e.org/a", "mybot") is None
    found = usage_preferences(Response("https://e.org/a"), "mybot", robots)
    assert [one.url for one in found.licenses] == ["https://e.org/l.xml"]


@ensureDeferred
async def test_a_mode_without_a_purpose_is_warned_of(site: Site) -> None:
    """Else a crawl would seem to obey what it does not."""
    shop = site.authority(MANAGED)
    result = await visit([shop.url("/a")], REP_PREFERENCES="skip")
    assert result.downloaded == [shop.url("/a")]
    assert result.lines("REP_PURPOSES is empty", "WARNING")


HOSTILE = "\x1b[31mPWNED\x07"


@pytest.mark.parametrize("mode", first(1, ["skip", "report", "drop"]))
@ensureDeferred
async def test_no_text_of_a_site_gets_into_stats_or_log(site: Site, mode: str) -> None:
    """Labels, values, locations, licences: the names of stats are from closed lists."""
    robots = (
        f"License: {HOSTILE}\nUser-agent: *\nContent-Usage: train-ai=n, pwned=PWNED\n"
        f"Content-Usage: {HOSTILE}\nContent-Signal: ai-train=no,{HOSTILE}={HOSTILE}\nAllow: /\n"
    )
    head = f'<meta name="robots" content="noai, {HOSTILE}"><meta name="tdm-policy" content="PWNED">'
    fields = (f"Content-Usage: pwned=PWNED{'(' * 9_000}", 'Link: <PWNED>; rel="license"')
    reply = page(*fields, "tdm-reservation: PWNED", head=head)
    shop = site.authority(robots, {"/": reply})
    bare = site.authority(None, {"/": reply})
    settings = {"REP_PURPOSES": ["train-ai", "tdm"], "REP_PREFERENCES": mode}
    plans = [shop.url("/"), bare.url("/")]
    result = await visit(plans, RequestsSpider, **settings, LOG_LEVEL="DEBUG")
    assert len(result.forbidden) == (0 if mode == "report" else 1)
    assert "PWNED" not in str(result.stats).upper()
    assert not [line for line in result.log if "PWNED" in line.text.upper()]
    assert {name for name in result.stats if "preferences" in name} <= {
        *(f"robotstxt/preferences/{use}/{answer}"
          for use in CATEGORIES for answer in ("allowed", "disallowed", "unknown")),
        "robotstxt/preferences/skipped",
    }  # fmt: skip
