"""Real crawls of sites that say what their pages may be used for.

`report` changes nothing, `skip` refuses requests, `drop` drops items as well; the rest of a crawl
is as it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from scrapy_rep import RepDownloaderMiddleware, RepSpiderMiddleware, RobotsTxt, usage_preferences
from scrapy_rep.preferences.vocabularies import CATEGORIES, LINES
from tests.crawl.harness import visit
from tests.crawl.plugin import BUILT_IN, SKIPPING, by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import OneByOneSpider, RequestsSpider
from tests.preferences.answers import answers
from tests.preferences.test_robots_rows import MANAGED
from tests.preferences.test_vocabularies import LINES as SAMPLES
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

    def failed(self, failure: Any) -> Any:
        """An item of a page that no callback gets."""
        super().failed(failure)
        if isinstance(failure.value, HttpError):
            yield {"url": failure.value.response.url}


class AsyncUseSpider(UseSpider):
    """The same with a callback that is an asynchronous generator."""

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """A page came."""
        self._note(response.meta, status=response.status, final=response.url)
        yield self.item(response)


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


class NamelessGate(RepDownloaderMiddleware):
    """A subclass of a project, which fails to tell by what name a page was requested."""

    def agents(self, request: Request | None) -> tuple[str, ...]:
        """Only the name of the whole crawl is known."""
        if request is not None:
            raise KeyError("name")
        return super().agents(request)


@pytest.mark.parametrize("directives", ["report", "off"])
async def test_by_default_a_crawl_is_told_and_not_changed(site: Site, directives: str) -> None:
    """All pages and items come; stats and one line at the end say what was disallowed.

    The line has the directives as well. What is allowed is counted in the stats alone.
    """
    shop = site.authority(MANAGED, page("Content-Usage: train-ai=n", "X-Robots-Tag: noindex"))
    plans = [shop.url("/a"), shop.url("/b")]
    result = await visit(plans, UseSpider, REP_PAGE_DIRECTIVES=directives)
    assert result.downloaded == plans
    assert items(result) == 2
    assert said(result, plans[0]) == "train-ai=n search=y"
    assert result.stats["robotstxt/preferences/train-ai/disallowed"] == 2
    noindex = "2 noindex, " if directives == "report" else ""
    assert result.lines("pages said") == [f"What pages said: {noindex}2 disallow train-ai"]
    allowing = site.authority("User-agent: *\nContent-Signal: search=yes\n")
    result = await visit([allowing.url("/a")], UseSpider, REP_PAGE_DIRECTIVES=directives)
    assert result.stats["robotstxt/preferences/search/allowed"] == 1
    assert result.lines("pages said") == []


@pytest.mark.parametrize("settings", [obey, by_hand], ids=["add-on", "the gate alone"])
async def test_skip_refuses_what_robots_txt_disallows(site: Site, settings: Any) -> None:
    """The managed block, and Content-Usage by path; the exception names the statement.

    So where the rules are in memory, and for the page that a service renders (`robotstxt_page`).
    """
    managed, by_path, free = site.authority(MANAGED), site.authority(BY_PATH), site.authority()
    urls = [managed.url("/x"), by_path.url("/text"), free.url("/"), by_path.url("/art/1")]
    rendered = {"url": free.url("/render"), "meta": {"robotstxt_page": by_path.url("/art/2")}}
    result = await visit([*urls, rendered], OneByOneSpider, by=settings, **SKIPPING)
    assert result.downloaded == urls[1:3]
    assert result.forbidden == [urls[0], urls[3], free.url("/render")]
    assert result.stats["robotstxt/cache/hit"] == 2
    problem = result.problem(urls[3])
    refusal = "Forbidden by usage preference: Content-Usage disallows train-ai (http://"
    assert problem.text.startswith(refusal)
    statement = problem.data["statement"]
    assert (statement["line"], statement["value"]) == (3, "n")
    assert problem.data["verdict"]["line"] == 3
    assert result.stats["robotstxt/preferences/skipped"] == 3
    assert result.stats["robotstxt/forbidden"] == 3
    assert managed.page_hits == []


async def test_each_vocabulary_of_a_robots_txt_refuses_by_its_name(site: Site) -> None:
    """A refusal says which line of the site disallows the use."""
    lines = [each.line for each in LINES.values() if each.counts_for]
    texts = [f"User-agent: *\n{line}: {SAMPLES[line]}\nAllow: /\n" for line in lines]
    urls = [site.authority(text).url("/x") for text in texts]
    result = await visit(urls, **SKIPPING)
    assert lines
    for line, url in zip(lines, urls, strict=True):
        refusal = f"Forbidden by usage preference: {line} disallows train-ai (http://"
        assert result.problem(url).text.startswith(refusal)


@pytest.mark.parametrize("spider", [UseSpider, AsyncUseSpider])
async def test_drop_drops_the_items_of_pages_that_disallow(site: Site, spider: Any) -> None:
    """Pages say it by header or meta, an error page too, whose item an errback makes.

    What robots.txt disallows is refused as with skip. `dont_obey_robotstxt` is for its request and
    its items.
    """
    says_no = "Content-Usage: train-ai=n"
    gone = (("Content-Type", "text/html"), ("Content-Usage", "train-ai=n"))
    pages = {
        "/header": page(says_no),
        "/noai": page(head='<meta name="robots" content="noai">'),
        "/other": page(head='<meta name="otherbot" content="noai">'),
        "/free": page("Content-Usage: train-ai=y"),
        "/by": page(says_no),
        "/gone": Reply(404, "gone", gone),
        "/silent": Reply(404, "gone"),
    }
    shop, managed = site.authority(None, pages), site.authority(MANAGED)
    by = {"dont_obey_robotstxt": True}
    plans = [{"url": shop.url(path), "meta": by if path == "/by" else {}} for path in pages]
    plans.append({"url": managed.url("/x"), "meta": {}})
    result = await visit(plans, spider, REP_PREFERENCES="drop", REP_PURPOSES="train-ai")
    assert result.downloaded == [shop.url(path) for path in [*pages][:5]]
    assert result.forbidden == [managed.url("/x")]
    assert items(result) == 4
    assert result.stats["robotstxt/preferences/dropped"] == 3
    assert said(result, shop.url("/noai")) == "train-ai=n"


async def test_a_token_of_a_purpose_counts_by_its_named_group_alone(site: Site) -> None:
    """`Google-Extended` is a name for training; `*` is not, whatever it forbids.

    So is a name for text and data mining, though TDMRep has no statement in a robots.txt.
    """
    named = "User-agent: Google-Extended\nDisallow: /art\n\nUser-agent: *\nAllow: /\n"
    other = "User-agent: mybot\nAllow: /\n\nUser-agent: *\nDisallow: /\n"
    mined = "User-agent: miner\nDisallow: /art\n"
    shop, strict, mine = (site.authority(robots) for robots in (named, other, mined))
    plans = [shop.url("/art"), mine.url("/art"), shop.url("/text"), strict.url("/art")]
    settings = {"ROBOTSTXT_USER_AGENT": "mybot", "REP_PURPOSES": ["train-ai", "tdm"]}
    settings["REP_PURPOSE_TOKENS"] = {"train-ai": ["Google-Extended"], "tdm": "miner"}
    result = await visit(plans, **settings, REP_PREFERENCES="skip")
    assert result.forbidden == plans[:2]
    problem = result.problem(plans[0])
    assert "the group of Google-Extended disallows train-ai" in problem.text
    assert "the group of miner disallows tdm" in result.problem(plans[1]).text
    assert problem.data["statement"]["line"] == 2
    told = await visit(plans, UseSpider, **settings, REP_PREFERENCES="report")
    assert told.downloaded == plans
    assert said(told, plans[0]) == "train-ai=n"


async def test_a_page_that_speaks_to_an_unknown_crawler_permits_no_use(site: Site) -> None:
    """What cannot be read for a fault drops the items. A page that says nothing says it to all."""
    pages = {"/said": page("Content-Usage: train-ai=y"), "/silent": page()}
    shop = site.authority(None, pages)
    settings: dict[str, Any] = {"SPIDER_MIDDLEWARES": {RepSpiderMiddleware: 100}}
    settings["DOWNLOADER_MIDDLEWARES"] = {BUILT_IN: None, NamelessGate: 100}
    settings |= {"REP_PAGE_DIRECTIVES": "off", **SKIPPING, "REP_PREFERENCES": "drop"}
    plans = [shop.url(path) for path in pages]
    failed = "The reading of usage preferences failed"
    result = await visit(plans, UseSpider, by=by_hand, expected=[failed], **settings)
    assert result.downloaded == plans
    assert len(result.lines(failed, "ERROR")) == 1
    assert items(result) == 1
    assert result.stats["robotstxt/preferences/dropped"] == 1


async def test_off_reads_nothing(site: Site) -> None:
    """No stat, no line, no fetch, and no gate that asks; callbacks may still ask for themselves."""
    shop = site.authority(MANAGED, page("Content-Usage: train-ai=n", "tdm-reservation: 1"))
    use = {"REP_PREFERENCES": "off", "REP_PURPOSES": ["train-ai"]}
    result = await visit([shop.url("/a")], UseSpider, **use)
    assert items(result) == 1
    assert not [name for name in result.stats if "preferences" in name]
    assert result.lines("disallow ") == []
    assert [hit.path for hit in shop.hits] == ["/robots.txt", "/a"]
    assert said(result, shop.url("/a")) == "train-ai=n tdm=n"


async def test_a_spider_is_told_where_licences_are(site: Site) -> None:
    """RSL: of robots.txt, header and HTML, by `usage_preferences`; nothing fetches them.

    A mode that has no purpose refuses nothing, and is warned of.
    """
    link = '<link rel="license" type="application/rsl+xml" href="/html.xml">'
    field = 'Link: </header.xml>; rel="license"; type="application/rsl+xml"'
    shop = site.authority("License: https://e.org/robots.xml\n", page(field, head=link))
    found: list[Any] = []

    class LicenseSpider(RequestsSpider):
        def found(self, response: Response) -> Iterable[Any]:
            found.extend(usage_preferences(response).licenses)
            return ()

    result = await visit([shop.url("/a")], LicenseSpider, REP_PREFERENCES="skip")
    assert result.lines("REP_PURPOSES is empty", "WARNING")
    assert [(one.url, one.source, one.line) for one in found] == [
        ("https://e.org/robots.xml", "robots.txt", 1),
        (shop.url("/header.xml"), "header", None),
        (shop.url("/html.xml"), "html", None),
    ]
    assert [hit.path for hit in shop.hits] == ["/robots.txt", "/a"]
    assert result.stats["robotstxt/preferences/license"] == 1


def test_outside_a_crawl_everything_may_be_handed_in() -> None:
    """A response and a robots.txt. RSL 1.0 has no effect on rules, nor they on it."""
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
    closed = RobotsTxt.parse("User-agent: *\nLicense: https://e.org/l.xml\nDisallow: /\n")
    assert closed.preferences("https://e.org/a", "mybot") is None
    found = usage_preferences(Response("https://e.org/a"), "mybot", closed)
    assert [one.url for one in found.licenses] == ["https://e.org/l.xml"]


HOSTILE = "\x1b[31mPWNED\x07"


@pytest.mark.parametrize("mode", first(1, ["skip", "report", "drop"]))
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
