"""The harness of the crawl tests: what it reports of crawls under Scrapy's own middleware."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy.http import Response
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from tests.crawl.harness import EACH_MODE, crawl, crawl_in_child
from tests.crawl.leftovers import Leftovers
from tests.crawl.result import Ending, LogLine, Problem, Result
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reset, redirect
from tests.site import Site


class DroppingSpider(RequestsSpider):
    """Drops a Deferred that failed, which nobody handles."""

    def found(self, response: Response) -> Iterable[Any]:
        """Twisted complains when the Deferred is collected."""
        Deferred().errback(RuntimeError("dropped"))
        return ()


@pytest.mark.parametrize("mode", EACH_MODE)
def test_a_child_brings_the_same_result_from_any_reactor(site: Site, mode: str) -> None:
    """Pages and failures come back from a child whatever its reactor."""
    shop = site.authority(pages={"/bad": Reset(), "/moved": redirect("/new")})
    safe = site.authority(tls=True)
    urls = [shop.url("/a"), shop.url("/bad"), shop.url("/moved"), safe.url("/a")]
    result = crawl_in_child(mode=mode, settings={"RETRY_ENABLED": False}, plans=urls).check()
    assert result.downloaded == [urls[0], urls[2], urls[3]]
    assert result.ending(urls[2]).final == shop.url("/new")
    assert [url for url, _ in result.errors] == [urls[1]]
    assert result.lines("Crawled \\(200\\)", "DEBUG")


@ensureDeferred
async def test_a_dropped_failure_is_trouble(site: Site) -> None:
    """What Twisted reports as unhandled fails the check, unless it is expected."""
    result = await crawl(DroppingSpider, plans=[site.authority().url("/")])
    with pytest.raises(AssertionError, match="Unhandled error"):
        result.check()
    result.check(expected=["Unhandled error", "RuntimeError: dropped"])


@ensureDeferred
async def test_a_delayed_call_left_behind_is_noticed() -> None:
    """A call that the reactor would still have to make fails the crawl that left it."""
    before = Leftovers.now()
    call = reactor.callLater(60, print)
    with pytest.raises(AssertionError, match="left behind"):
        await before.cleared(patience=0.1)
    call.cancel()
    await before.cleared()


def result_with(endings: list[Ending], log: list[LogLine] | None = None) -> Result:
    """A result of two requests."""
    return Result(["http://a/", "http://b/"], endings, {}, log or [])


def test_a_request_lost_or_ended_twice_fails_the_check() -> None:
    """Each request made must have one end."""
    one, two = (Ending(n, url, url, 200) for n, url in enumerate(["http://a/", "http://b/"]))
    result_with([two, one]).check()
    with pytest.raises(AssertionError, match="without an end: \\['http://b/'\\]"):
        result_with([one]).check()
    with pytest.raises(AssertionError, match="with two: \\['http://a/'\\]"):
        result_with([one, one, two]).check()


@pytest.mark.parametrize(
    "line",
    [
        LogLine("ERROR", "scrapy", "something"),
        LogLine("DEBUG", "scrapy", "something", "Traceback (most recent call last): ..."),
        LogLine("INFO", "asyncio", "Task exception was never retrieved"),
    ],
)
def test_trouble_in_the_log_fails_the_check(line: LogLine) -> None:
    """Errors, tracebacks and what nobody retrieved are trouble."""
    endings = [Ending(n, url, url, 200) for n, url in enumerate(["http://a/", "http://b/"])]
    with pytest.raises(AssertionError, match=line.text):
        result_with(endings, [line]).check()


def test_a_problem_is_known_by_its_class_and_its_text() -> None:
    """Unreachable by its class, forbidden by the text, anything else is an error."""

    class RobotsUnreachable(Exception):  # noqa: N818
        pass

    problem = Problem.of(RobotsUnreachable("Forbidden by robots.txt"))
    assert problem.kind == "unreachable"
    assert Problem.of(ValueError("Forbidden by robots.txt")).kind == "error"
