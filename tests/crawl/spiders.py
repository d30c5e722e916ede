"""Spiders that keep an account of how each of their requests ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import Response
from twisted.python.failure import Failure

from scrapy_rep import parts
from tests.crawl.clock import DAY, Ahead
from tests.crawl.result import Ending, Problem

Plan = str | Mapping[str, Any]


def keywords(plan: Plan) -> Mapping[str, Any]:
    """The keyword arguments of a request."""
    return {"url": plan} if isinstance(plan, str) else plan


class RequestsSpider(Spider):
    """Makes the requests it is given, all at its start, and notes how each one ended.

    A plan is a URL, or the keyword arguments of a `Request`. `onward` are those that a page leads
    to, by its path. A subclass that makes more requests makes them with `self.request` in `found`,
    so that they are counted too. Its further arguments are attributes, as Scrapy makes them.
    """

    name = "requests"
    crawler: Any
    onward: Mapping[str, Iterable[Plan]] = {}

    def __init__(self, plans: Iterable[Plan] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plans = list(plans)
        self.made: list[str] = []
        self.endings: list[Ending] = []

    async def start(self) -> AsyncIterator[Any]:
        """All the requests at once."""
        for plan in self.plans:
            yield self.request(**keywords(plan))

    def request(self, url: str, **fields: Any) -> Request:
        """A request whose end is noted."""
        meta = {**fields.pop("meta", {}), "number": len(self.made), "asked": url}
        self.made.append(url)
        return Request(url, self.page, errback=self.failed, meta=meta, **fields)

    def page(self, response: Response) -> Iterable[Any]:
        """A page came."""
        self._note(response.meta, status=response.status, final=response.url)
        return self.found(response)

    def failed(self, failure: Failure) -> None:
        """A request ended without a page."""
        request = failure.request
        self._note(request.meta, problem=Problem.of(failure.value), final=request.url)

    def found(self, response: Response) -> Iterable[Any]:
        """Items and further requests out of a page; here those of `onward`."""
        for plan in map(keywords, self.onward.get(urlsplit(response.url).path, ())):
            yield self.request(**{**plan, "url": response.urljoin(plan["url"])})

    def _note(self, meta: Mapping[str, Any], **facts: Any) -> None:
        # From the meta, since a resumed crawl ends requests that an earlier run made.
        self.endings.append(Ending(number=meta["number"], url=meta["asked"], **facts))


class TickingSpider(RequestsSpider):
    """Whenever a request ends, `tick` is told how many have ended."""

    tick: Callable[[int], Any] = staticmethod(lambda _: None)

    def _note(self, meta: Mapping[str, Any], **facts: Any) -> None:
        super()._note(meta, **facts)
        self.tick(len(self.endings))


class AgeingSpider(TickingSpider):
    """When some of its requests have ended, 40 days pass. For crawls in a child process."""

    after = 1

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.clock: Any = Ahead()
        parts.time = self.clock

    def tick(self, ended: int) -> None:
        """Pass the time."""
        if ended == self.after:
            self.clock.seconds += 40 * DAY


class OneByOneSpider(TickingSpider):
    """Makes each request when the one before it has ended."""

    async def start(self) -> AsyncIterator[Any]:
        """The first."""
        self.left = [keywords(plan) for plan in self.plans]
        for request in self.following():
            yield request

    def found(self, response: Response) -> Iterable[Any]:
        """The next, after a page."""
        return self.following()

    def failed(self, failure: Failure) -> Iterable[Any]:  # type: ignore[override]
        """The next, after a refusal."""
        super().failed(failure)
        return self.following()

    def following(self) -> Iterable[Any]:
        """The next."""
        if self.left:
            yield self.request(**self.left.pop(0), dont_filter=True)


class QueuedSpider(RequestsSpider):
    """Schedules all its requests before the first one is sent."""

    async def start(self) -> AsyncIterator[Any]:
        """All the requests at once, to an engine that is paused until it has them."""
        self.crawler.engine.pause()
        async for request in super().start():
            yield request
        self.crawler.engine.unpause()
