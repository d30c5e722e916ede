"""What several benchmarks need: engines, a loop for them, crawls, and processes of their own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.utils.reactor import install_reactor

ADDON: dict[str, Any] = {"ADDONS": {"scrapy_rep.Addon": 100}}
QUIET: dict[str, Any] = {
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
}
Returned = TypeVar("Returned")


def in_a_loop(work: Coroutine[Any, Any, Returned]) -> Returned:
    """What a coroutine returns, in a loop as an engine needs it."""
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    return asyncio.get_event_loop_policy().get_event_loop().run_until_complete(work)


def with_engine(settings: dict[str, Any]) -> Crawler:
    """A crawler with a spider, whose engine is Scrapy's own, and not open yet."""
    crawler = Crawler(Spider, {**QUIET, **settings})
    crawler.spider = Spider.from_crawler(crawler, "bench")
    crawler._apply_settings()
    crawler.engine = crawler._create_engine()
    return crawler


def crawled(spider: type[Spider], settings: dict[str, Any], **arguments: Any) -> Any:
    """The spider of a crawl in this process, which is over."""
    process = AsyncCrawlerProcess({**QUIET, **settings})
    crawler = process.create_crawler(spider)
    process.crawl(crawler, **arguments)
    process.start()
    return crawler.spider


def in_a_process(benchmark: str, *arguments: str) -> Any:
    """What a benchmark prints as JSON when it is run with these arguments."""
    command = [sys.executable, "-m", f"tests.benchmarks.{benchmark}", *arguments]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(child.stdout)


def argument(default: int) -> int:
    """The first argument of the command, if there is one."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default
