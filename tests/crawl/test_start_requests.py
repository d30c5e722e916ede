"""A crawl that could not begin says so: one warning, if all its start requests were refused."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Iterable
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from tests.crawl.harness import crawl, crawl_in_child
from tests.crawl.plugin import NOTHING, RULES, by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, Reply, redirect
from tests.rows import first
from tests.site import Site


class MetaCopyingSpider(RequestsSpider):
    """Follows a page to `target`, with the meta of the page that named it."""

    target = ""

    def found(self, response: Response) -> Iterable[Any]:
        """One request, once."""
        if response.url != self.target and not self.made[1:]:
            meta = {k: v for k, v in response.meta.items() if k not in ("number", "asked")}
            yield self.request(self.target, meta=meta)


class StoppingSpider(RequestsSpider):
    """Closes the crawl as soon as a request was refused."""

    def failed(self, failure: Any) -> None:
        """The first one ends the crawl."""
        super().failed(failure)
        if not self.endings[1:]:
            raise CloseSpider("enough")


class PersistentSpider(RequestsSpider):
    """Makes a request once more that was refused: as a retry, or as a plain copy."""

    def __init__(self, retry: bool = False, pause: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.retry, self.pause = retry, pause

    async def failed(self, failure: Any) -> Any:
        """One further attempt for each of the plans."""
        super().failed(failure)
        request, number = failure.request, failure.request.meta["number"]
        if number < len(self.plans):
            await sleep(self.pause)
            again = request.replace(dont_filter=True)
            if self.retry:
                again = get_retry_request(request, spider=self, reason="refused")
            again.meta.update(number=len(self.made), asked=again.url)
            self.made.append(again.url)
            yield again


@pytest.mark.parametrize("retry", first(1, [True, False]))
@ensureDeferred
async def test_a_start_request_that_is_made_once_more_counts_by_its_last_end(
    site: Site, retry: bool
) -> None:
    """By an errback: refused twice it is one that was refused; what passes was not refused."""
    shut, free = site.authority(NOTHING), site.authority()
    settings = obey(REP_UNREACHABLE_TTL=[1, 1])
    result = await crawl(PersistentSpider, settings, plans=[shut.url("/a")], retry=retry)
    assert result.check().forbidden == [shut.url("/a")] * 2
    assert warned(result) == ["The only start request was refused: 1 forbidden by robots.txt"]
    urls = [shut.url("/a"), free.url("/a")]
    result = await crawl(PersistentSpider, settings, plans=urls, retry=retry)
    assert (result.check().downloaded, warned(result)) == (urls[1:], [])
    shaky = site.authority([Reply(503), RULES])
    urls = [shaky.url("/a"), shut.url("/a")]
    arguments = {"plans": urls, "retry": retry, "pause": 1.2}
    result = await crawl(PersistentSpider, settings, **arguments)
    assert (result.check().downloaded, warned(result)) == (urls[:1], [])


def warned(result: Result) -> list[str]:
    """The warnings about start requests."""
    return result.lines("start request", "WARNING")


@pytest.mark.parametrize("settings", [obey(), by_hand()], ids=["add-on", "by hand"])
@ensureDeferred
async def test_a_crawl_whose_start_requests_were_all_refused_says_so(
    site: Site, settings: dict[str, Any]
) -> None:
    """One WARNING, with the reasons counted, the most frequent first."""
    shop, dark, gone = site.authority(NOTHING), site.authority(Reply(503)), site.refusing()
    urls = [*(shop.url(f"/{n}") for n in range(3)), dark.url("/a"), dark.url("/b"), gone.url("/a")]
    result = (await crawl(settings=settings, plans=urls)).check()
    assert warned(result) == [
        "All 6 start requests were refused: 3 forbidden by robots.txt, "
        "2 with robots.txt unreachable (status 503), 1 with robots.txt unreachable (connection)"
    ]


def test_it_is_said_under_any_reactor(site: Site) -> None:
    """A child process with another reactor."""
    shop = site.authority(NOTHING)
    result = crawl_in_child(settings=obey(), mode="select", plans=[shop.url("/a")]).check()
    assert warned(result) == ["The only start request was refused: 1 forbidden by robots.txt"]


@ensureDeferred
async def test_one_start_request_that_passes_is_enough(site: Site) -> None:
    """Nothing is said, however many others were refused."""
    shop, free = site.authority(NOTHING), site.authority()
    urls = [shop.url("/a"), shop.url("/b"), free.url("/a")]
    result = (await crawl(settings=obey(), plans=urls)).check()
    assert len(result.forbidden) == 2
    assert warned(result) == []


@pytest.mark.parametrize(
    "plan",
    [
        {"url": "data:,x"},
        {"url": "/a", "meta": {"dont_obey_robotstxt": True}},
        {"url": "/robots.txt"},
    ],
    ids=["another scheme", "bypass", "robots.txt"],
)
@ensureDeferred
async def test_what_no_rule_governs_passes(site: Site, plan: dict[str, Any]) -> None:
    """Such a request counts as one that was let through."""
    shop = site.authority(NOTHING)
    plan = {**plan, "url": shop.url(plan["url"]) if plan["url"][0] == "/" else plan["url"]}
    result = (await crawl(settings=obey(), plans=[shop.url("/b"), plan])).check()
    assert result.forbidden == [shop.url("/b")]
    assert warned(result) == []


@ensureDeferred
async def test_a_request_that_passes_and_fails_was_not_refused(site: Site) -> None:
    """The network is to blame, not robots.txt."""
    shop, broken = site.authority(NOTHING), site.authority(pages=Reply(500))
    settings = obey(RETRY_TIMES=1)
    urls = [shop.url("/a"), broken.url("/a")]
    result = (await crawl(settings=settings, plans=urls)).check(expected=["Gave up retrying"])
    assert warned(result) == []


@ensureDeferred
async def test_nothing_is_said_without_start_requests(site: Site) -> None:
    """An empty crawl was not refused."""
    assert warned((await crawl(settings=obey(), plans=[])).check()) == []


@ensureDeferred
async def test_nothing_is_said_where_robots_txt_is_not_obeyed(site: Site) -> None:
    """The switch is off."""
    shop = site.authority(NOTHING)
    result = (await crawl(settings=obey(ROBOTSTXT_OBEY=False), plans=[shop.url("/a")])).check()
    assert result.downloaded == [shop.url("/a")]
    assert warned(result) == []


@ensureDeferred
async def test_a_start_request_ends_where_its_redirect_is_refused(site: Site) -> None:
    """A retry, two redirects and then a forbidden page: one start request, refused."""
    shop, closed = site.authority(RULES), site.authority(NOTHING)
    shop.pages = {"/a": [Reply(503), redirect("/b")], "/b": redirect(closed.url("/c"))}
    result = (await crawl(settings=obey(), plans=[shop.url("/a")])).check()
    assert result.forbidden == [shop.url("/a")]
    assert warned(result) == ["The only start request was refused: 1 forbidden by robots.txt"]


@ensureDeferred
async def test_a_redirect_that_passes_is_a_start_request_that_passes(site: Site) -> None:
    """The other one is refused."""
    shop, closed = site.authority(RULES, {"/a": redirect("/b")}), site.authority(NOTHING)
    urls = [shop.url("/a"), closed.url("/a")]
    result = (await crawl(settings=obey(), plans=urls)).check()
    assert result.forbidden == urls[1:]
    assert warned(result) == []


@ensureDeferred
async def test_further_requests_are_no_start_requests(site: Site) -> None:
    """A spider that copies the meta of a response copies Scrapy's mark, too."""
    shop = site.authority(RULES, {"/a": redirect("/b")})
    plans = [shop.url("/a")]
    target = shop.url("/private")
    result = (await crawl(MetaCopyingSpider, obey(), plans=plans, target=target)).check()
    assert result.forbidden == [target]
    assert warned(result) == []


@ensureDeferred
async def test_a_crawl_that_is_stopped_was_not_refused(site: Site) -> None:
    """One was forbidden; of those that waited when the crawl was stopped nobody knows."""
    shop, slow = site.authority(NOTHING), site.authority(Hang())
    urls = [shop.url("/a"), slow.url("/a"), slow.url("/b")]
    result = (await crawl(StoppingSpider, obey(), plans=urls)).check_log()
    assert [ending.url for ending in result.endings] == result.forbidden == urls[:1]
    assert warned(result) == []


@ensureDeferred
async def test_a_fault_of_ours_is_a_refusal_too(site: Site) -> None:
    """A request whose check fails is refused, and counted with its cause."""
    shop = site.authority()
    plans = [{"url": shop.url("/a"), "meta": {"robotstxt_user_agent": 7}}]
    result = (await crawl(settings=obey(), plans=plans)).check(expected=["robotstxt_user_agent"])
    assert warned(result) == [
        "The only start request was refused: 1 with robots.txt unreachable (error)"
    ]


@ensureDeferred
async def test_start_requests_are_counted_however_a_spider_makes_them(site: Site) -> None:
    """`start_urls`, by their own `start()`."""

    class PlainSpider(RequestsSpider):
        start_urls = (site.authority(NOTHING).url("/a"),)

        async def start(self) -> Any:
            """As Scrapy's own `Spider` does."""
            for url in self.start_urls:
                self.made.append(url)
                yield Request(url, errback=self.failed, meta={"number": 0, "asked": url})

    assert len(warned((await crawl(PlainSpider, obey())).check())) == 1
