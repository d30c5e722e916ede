"""What the middleware tells a program at run time: `explain` and `cache_info`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep import RobotsForbidden, Verdict
from tests.crawl.closing import ClosingSpider
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


class AskingSpider(ClosingSpider):
    """Asks about `questions` (URL, agent) before its requests, and keeps the answers."""

    def __init__(self, questions: list[tuple[str, Any]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.questions = questions
        self.answers: list[Any] = []
        self.infos: list[dict[str, int]] = []

    async def start(self) -> AsyncIterator[Any]:
        """First the questions."""
        self.infos.append(self.gate.cache_info())
        for url, agent in self.questions:
            self.answers.append(await self.answer(url, agent))
        self.infos.append(self.gate.cache_info())
        async for request in super().start():
            yield request

    async def answer(self, url: str, agent: Any) -> Any:
        """The verdict, or why there is none."""
        try:
            return await self.gate.explain(url, agent)
        except ValueError as error:
            return error


async def ask(questions: list[tuple[str, Any]], **more: Any) -> Result:
    """A crawl that asks."""
    settings = obey(ROBOTSTXT_USER_AGENT="mybot", **more.pop("settings", {}))
    return (await crawl(AskingSpider, settings, questions=questions, **more)).check()


def answers(result: Result) -> list[Any]:
    """What it was told."""
    told: list[Any] = result.crawler.spider.answers
    return told


@ensureDeferred
async def test_explain_gives_the_verdict_and_its_reason(site: Site) -> None:
    """Rule, line and group, for the crawler's own token or another one."""
    shop = site.authority(GROUPS)
    result = await ask(
        [
            (shop.url("/private/x"), None),
            (shop.url("/open"), None),
            (shop.url("/open"), "otherbot"),
            (shop.url("/for-others"), "otherbot"),
            (shop.url("/open"), ["newsbot", "otherbot"]),
            (shop.url("/robots.txt"), "otherbot"),
        ]
    )
    told = answers(result)
    assert all(isinstance(verdict, Verdict) for verdict in told)
    assert [verdict.allowed for verdict in told] == [False, True, False, True, False, True]
    assert [verdict.line for verdict in told[:5]] == [2, None, 5, 6, 5]
    assert "/private" in str(told[0].rule)
    assert told[2].group == "otherbot"
    assert (len(shop.robots_hits), shop.page_hits) == (1, [])


@ensureDeferred
async def test_explain_gives_the_reason_that_a_request_ends_with(site: Site) -> None:
    """Where both the purposes of the crawl and the pace of the site are in the way."""
    shop = site.authority("User-agent: *\nContent-Usage: train-ai=n\nCrawl-delay: 900\n")
    settings = {
        "REP_PREFERENCES": "skip",
        "REP_PURPOSES": ["train-ai"],
        "REP_OVER_MAX_CRAWL_DELAY": "forbid",
    }
    result = await ask([(shop.url("/a"), None)], settings=settings)
    (told,) = answers(result)
    refused = (await crawl(settings=obey(**settings), plans=[shop.url("/a")])).check()
    problem = refused.problem(shop.url("/a"))
    assert isinstance(problem.exception, RobotsForbidden)
    assert told == problem.exception.verdict
    assert told.reason == "asks for 900 s between requests, more than 60 s"


@pytest.mark.parametrize(
    ("robots", "allowed", "word"),
    [
        (Reply(404), True, "unavailable"),
        (Reply(503), False, "unreachable"),
        (Hang(), False, "unreachable"),
    ],
    ids=["404", "503", "hang"],
)
@ensureDeferred
async def test_explain_says_what_follows_without_rules(
    site: Site, robots: Reply, allowed: bool, word: str
) -> None:
    """No rules to be had: all or nothing, and why."""
    shop = site.authority(robots)
    questions = [(shop.url("/a"), None), (shop.url("/robots.txt"), None)]
    result = await ask(questions, settings={"REP_TIMEOUT": 0.4})
    about_page, about_itself = answers(result)
    assert about_page.allowed is allowed
    assert word in about_page.reason
    assert about_itself.allowed


@ensureDeferred
async def test_explain_of_other_schemes_needs_no_fetch(site: Site) -> None:
    """No robots.txt governs them."""
    result = await ask([("data:,x", None), ("file:///x", None), ("ftp://host.example/x", None)])
    assert [verdict.allowed for verdict in answers(result)] == [True] * 3
    assert "robotstxt/request_count" not in result.stats


BROKEN = [
    *("http://", "http:///x", "http://[::1/", "http://h:port/", "nonsense", "", "//e.org/"),
    *("/private", "e.org/private", "3x:y"),
]


@ensureDeferred
async def test_explain_of_a_broken_url_is_an_error() -> None:
    """There is no authority to ask."""
    told = answers(await ask([(url, None) for url in BROKEN]))
    assert {url: type(answer) for url, answer in zip(BROKEN, told, strict=True)} == dict.fromkeys(
        BROKEN, ValueError
    )


@ensureDeferred
async def test_explain_judges_the_url_that_a_request_has(site: Site) -> None:
    """Scrapy changes how some URLs are written, before a request is made."""
    shop = site.authority("User-agent: *\nDisallow: /private\nDisallow: /*bad$\nDisallow: /*?$\n")
    paths = ("/private ", "/pri\tvate", "\\private", "/bad?", "/bad?#part", "/free?", "/\\private")
    urls = [shop.url("") + path for path in paths]
    told = answers(await ask([(url, None) for url in urls]))
    plans = [{"url": url, "dont_filter": True} for url in urls]
    crawled = (await crawl(settings=obey(), plans=plans)).check()
    assert [one.allowed for one in told] == [kind == "downloaded" for kind in crawled.kinds]


@pytest.mark.parametrize("agent", ["", [], [""]])
@ensureDeferred
async def test_explain_for_nobody_is_an_error(site: Site, agent: Any) -> None:
    """An agent without a name."""
    result = await ask([(site.authority(RULES).url("/a"), agent)])
    assert [type(answer) for answer in answers(result)] == [ValueError]


@ensureDeferred
async def test_what_explain_learnt_serves_the_crawl(site: Site) -> None:
    """One fetch for both; the verdict is the one that the request meets."""
    shop = site.authority(GROUPS)
    urls = [shop.url("/private/x"), shop.url("/open")]
    result = await ask([(url, None) for url in urls], plans=urls)
    assert [result.kind(url) == "downloaded" for url in urls] == [
        verdict.allowed for verdict in answers(result)
    ]
    problem = result.problem(urls[0])
    assert problem.exception.verdict == answers(result)[0]  # type: ignore[union-attr]
    assert len(shop.robots_hits) == 1


@ensureDeferred
async def test_cache_info_counts_what_is_known(site: Site) -> None:
    """Sites, bytes, fetches and waiting requests."""
    shops = site.authorities(3, RULES)
    result = await ask([(shop.url("/a"), None) for shop in shops])
    before, after = result.crawler.spider.infos
    assert before == {"sites": 0, "bytes": 0, "fetches": 0, "waiting": 0}
    assert (after["sites"], after["fetches"], after["waiting"]) == (3, 0, 0)
    assert after["bytes"] > 3 * len(RULES)


@ensureDeferred
async def test_cache_info_counts_what_is_under_way(site: Site) -> None:
    """While requests wait, and when they do no more."""
    slow = site.authority(Hang())
    urls = [slow.url(f"/{n}") for n in range(5)]
    result = await crawl(ClosingSpider, obey(), plans=urls, parked=5, close_after=0.1)
    assert result.stats["closing/waiting"] == 5
    info = result.gate.cache_info()
    assert (info["fetches"], info["waiting"]) == (0, 0)
