"""The harness of the crawl tests: what it reports of crawls under Scrapy's own middleware."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from tests.crawl.harness import crawl
from tests.crawl.leftovers import Leftovers
from tests.crawl.result import Ending, LogLine, Result
from tests.crawl.spiders import RequestsSpider
from tests.rows import rows
from tests.site import Site


@pytest.mark.xfail(strict=True, raises=ZeroDivisionError)
async def test_a_coroutine_is_run() -> None:
    """One that nobody awaits would pass, whatever is wrong."""
    raise ZeroDivisionError


async def test_a_dropped_failure_is_trouble(site: Site) -> None:
    """What Twisted reports as unhandled fails the check, unless it is expected."""

    class DroppingSpider(RequestsSpider):
        def found(self, response: Any) -> Iterable[Any]:
            Deferred().errback(RuntimeError("dropped"))
            return ()

    result = await crawl(DroppingSpider, plans=[site.authority().url("/")])
    with pytest.raises(AssertionError, match="Unhandled error"):
        result.check()
    result.check(expected=["Unhandled error", "RuntimeError: dropped"])


async def test_a_delayed_call_left_behind_is_noticed() -> None:
    """A call that the reactor would still have to make fails the crawl that left it."""
    before = Leftovers.now()
    call = reactor.callLater(60, print)
    with pytest.raises(AssertionError, match="left behind"):
        await before.cleared(patience=0.1)
    call.cancel()
    await before.cleared()


URLS = ["http://a/", "http://b/"]
ONE, TWO = (Ending(number, url, url, 200) for number, url in enumerate(URLS))


@rows(
    "endings, log, said",
    [
        ([ONE], [], "without an end: ['http://b/']"),
        ([ONE, ONE, TWO], [], "with two: ['http://a/']"),
        ([TWO, ONE], [LogLine("ERROR", "scrapy", "something")], "something"),
        ([TWO, ONE], [LogLine("DEBUG", "scrapy", "a", "Traceback (most recent call ...")], "Trace"),
        ([TWO, ONE], [LogLine("INFO", "asyncio", "Task exception was never retrieved")], "never"),
    ],
)
def test_a_request_lost_or_ended_twice_and_trouble_in_the_log_fail_the_check(
    endings: list[Ending], log: list[LogLine], said: str
) -> None:
    """Each request made must have one end; errors and what nobody retrieved are trouble."""
    with pytest.raises(AssertionError, match=re.escape(said)):
        Result(URLS, endings, {}, log).check()
    Result(URLS, [TWO, ONE], {}, []).check()
