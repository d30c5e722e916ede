"""What a project writes with the package, for `mypy --strict`: nothing here is run.

``assert_type`` holds what a user may rely on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from datetime import datetime, timezone
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure
from typing_extensions import Self, assert_type

from scrapy_rep import (
    Addon,
    PageDirectives,
    Preferences,
    RepDownloaderMiddleware,
    RepLastStep,
    RepRobotParser,
    RepScheduler,
    RepSpiderMiddleware,
    RobotsForbidden,
    RobotsTxt,
    RobotsUnreachable,
    Rule,
    Verdict,
    page_directives,
    usage_preferences,
)
from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores import BlockingStore, Store, StoreError, open_store

SETTINGS: dict[str, Any] = {
    "ADDONS": {Addon: 100},
    "ROBOTSTXT_PARSER": RepRobotParser,
    "SCHEDULER": RepScheduler,
    "DOWNLOADER_MIDDLEWARES": {RepDownloaderMiddleware: 100, RepLastStep: 100_000},
    "SPIDER_MIDDLEWARES": {RepSpiderMiddleware: 100},
    "REP_PURPOSES": ["train-ai"],
}


class ShopSpider(Spider):
    """One that learns why a request was refused, and what a page asks for."""

    name = "shop"
    robotstxt_user_agent = ["shopbot-news", "shopbot"]  # noqa: RUF012 (as in the documents)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """With a listener to a signal."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.rules_known, signal=signals.robots_parsed)
        return spider

    def rules_known(self, robotparser: RepRobotParser, request: Request | None) -> None:
        """A handler of robots_parsed."""
        assert_type(robotparser.allowed("https://example.org/", b"shopbot"), bool)
        assert_type(robotparser.crawl_delay("shopbot"), float | None)
        assert_type(robotparser.sitemaps(), Iterator[str])

    async def start(self) -> AsyncIterator[Any]:
        """A request under a name of its own."""
        meta = {"robotstxt_user_agent": "shopbot-images"}
        yield Request("https://example.org/", meta=meta, errback=self.dropped)

    async def parse(self, response: Response, **kwargs: Any) -> Any:
        """What the page says, and what robots.txt says of another URL."""
        asked = page_directives(response)
        assert_type(asked, PageDirectives)
        assert_type(asked.restrictions, frozenset[str])
        assert_type(asked.is_noindex(datetime.now(timezone.utc)), bool)
        use = usage_preferences(response, agent=["shopbot"])
        assert_type(use, Preferences)
        assert_type(use["train-ai"], str)
        gate = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        assert gate is not None
        assert_type(gate, RepDownloaderMiddleware)
        assert_type(await gate.explain("https://example.org/private", "shopbot"), Verdict)
        assert_type(gate.cache_info(), dict[str, int])

    def dropped(self, failure: Failure) -> None:
        """An errback that tells the two exceptions apart."""
        error = failure.value
        if isinstance(error, RobotsForbidden):
            assert_type(error.verdict, Verdict)
            assert_type(error.authority, Authority | None)
            assert_type(error.by, str)
        elif isinstance(error, RobotsUnreachable):
            assert_type(error.cause, str)
            assert_type(error.detail, str)
            assert_type(error.retry_at, float | None)


def without_scrapy(body: bytes) -> Verdict:
    """The rules of one file."""
    robots = RobotsTxt.parse(body, profile="google", max_size=600_000)
    assert_type(robots, RobotsTxt)
    assert_type(robots.allowed("https://example.org/", ["shopbot", "bot"]), bool)
    assert_type(robots.crawl_delay("shopbot"), float | None)
    assert_type(robots.preferences("https://example.org/", "shopbot"), Preferences | None)
    verdict = robots.verdict("https://example.org/", "shopbot")
    assert_type(verdict.rule, Rule | None)
    assert_type(verdict.line, int | None)
    assert_type(verdict.group, str | None)
    if verdict:
        assert_type(verdict.allowed, bool)
    return verdict


class DictStore(BlockingStore):
    """A store of one's own: two methods."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, bytes] = {}

    def read(self, key: str) -> bytes | None:
        """What was written."""
        return self.kept.get(key)

    def write(self, key: str, data: bytes) -> None:
        """Keep it."""
        self.kept[key] = data


class DirectStore(Store):
    """A store of one's own that does without a thread."""

    def __init__(self) -> None:
        self.kept: dict[Authority, Entry] = {}

    def get(self, authority: Authority, crawler: str = "") -> Entry | None:
        """What was put."""
        return self.kept.get(authority)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Keep it, or raise what a store may raise."""
        if len(self.kept) > 1_000:
            raise StoreError("full")
        self.kept[authority] = entry


def used(store: DictStore) -> None:
    """What a program does with a store."""
    shop = authority_of("https://example.org/")
    assert shop is not None
    store.put(shop, Entry(Answer(status=200, body=b"", fetched_at=1.0)))
    assert_type(store.get(shop), Future[Entry | None])
    opened = open_store("sqlite:", directory=".")
    assert_type(opened, Store)
    for line in opened.export():
        assert_type(line, dict[str, Any])
    opened.import_([])
    opened.close()
