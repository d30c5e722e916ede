"""What the middleware tells a program at run time: `explain` and `cache_info`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scrapy_rep import Verdict
from tests.crawl.closing import AskingSpider
from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.crawl.result import Result
from tests.replies import Hang, Reply
from tests.site import Site

GROUPS = """\
User-agent: *
Disallow: /private

User-agent: otherbot
Disallow: /
Allow: /for-others
"""


async def ask(
    questions: list[tuple[str, Any]], plans: Iterable[Any] = (), **settings: Any
) -> tuple[Result, list[Any]]:
    """A crawl that asks, and what it was told."""
    settings = obey(ROBOTSTXT_USER_AGENT="mybot", **settings)
    result = (await crawl(AskingSpider, settings, questions=questions, plans=plans)).check()
    return result, result.crawler.spider.answers


async def test_explain_gives_the_verdict_and_its_reason(site: Site) -> None:
    """Rule, line and group, for the crawler's own token or another one.

    One fetch serves the questions and the crawl, whose requests meet the same verdicts; it is
    counted.
    """
    shop = site.authority(GROUPS)
    urls = [shop.url("/private/x"), shop.url("/open")]
    questions: list[tuple[str, Any]] = [
        *((url, None) for url in urls),
        (shop.url("/open"), "otherbot"),
        (shop.url("/for-others"), "otherbot"),
        (shop.url("/open"), ["newsbot", "otherbot"]),
        (shop.url("/robots.txt"), "otherbot"),
    ]
    result, told = await ask(questions, plans=urls)
    assert all(isinstance(verdict, Verdict) for verdict in told)
    assert [verdict.allowed for verdict in told] == [False, True, False, True, False, True]
    assert [verdict.line for verdict in told[:5]] == [2, None, 5, 6, 5]
    assert "/private" in str(told[0].rule)
    assert told[2].group == "otherbot"
    assert (result.forbidden, result.downloaded) == (urls[:1], urls[1:])
    assert result.problem(urls[0]).exception.verdict == told[0]  # type: ignore[union-attr]
    assert len(shop.robots_hits) == 1
    before, after = result.crawler.spider.infos
    assert before == {"sites": 0, "bytes": 0, "fetches": 0, "waiting": 0}
    assert (after["sites"], after["fetches"], after["waiting"]) == (1, 0, 0)
    assert after["bytes"] > len(GROUPS)


async def test_explain_says_what_follows_without_rules(site: Site) -> None:
    """No rules to be had: all or nothing, and why; robots.txt itself is allowed."""
    shops = [site.authority(robots) for robots in (Reply(404), Reply(503), Hang())]
    questions = [(shop.url(path), None) for path in ("/a", "/robots.txt") for shop in shops]
    _, told = await ask(questions, REP_TIMEOUT=0.4)
    assert [verdict.allowed for verdict in told] == [True, False, False, True, True, True]
    for verdict, word in zip(told, ("unavailable", "unreachable", "unreachable"), strict=False):
        assert word in verdict.reason


BROKEN = [
    *("http://", "http:///x", "http://[::1/", "http://h:port/", "nonsense", "", "//e.org/"),
    *("/private", "e.org/private", "3x:y"),
]


async def test_what_cannot_be_explained_is_an_error_and_needs_no_fetch(site: Site) -> None:
    """A URL without an authority, an agent without a name. Other schemes have no robots.txt."""
    other = [(url, None) for url in ("data:,x", "file:///x", "ftp://host.example/x")]
    nobody = [(site.authority(RULES).url("/a"), agent) for agent in ("", [], [""])]
    result, told = await ask([*other, *((url, None) for url in BROKEN), *nobody])
    assert [verdict.allowed for verdict in told[:3]] == [True] * 3
    assert [type(answer) for answer in told[3:]] == [ValueError] * (len(BROKEN) + len(nobody))
    assert "robotstxt/request_count" not in result.stats


async def test_explain_judges_the_url_that_a_request_has(site: Site) -> None:
    """Scrapy changes how some URLs are written, before a request is made."""
    shop = site.authority("User-agent: *\nDisallow: /private\nDisallow: /*bad$\nDisallow: /*?$\n")
    paths = ("/private ", "/pri\tvate", "\\private", "/bad?", "/bad?#part", "/free?", "/\\private")
    urls = [shop.url("") + path for path in paths]
    plans = [{"url": url, "dont_filter": True} for url in urls]
    result, told = await ask([(url, None) for url in urls], plans=plans)
    assert [one.allowed for one in told] == [kind == "downloaded" for kind in result.kinds]
