"""A crawl that fails to start leaves nothing of ours behind: no thread, no open file, no socket.

Scrapy tells no component that such a crawl is over.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.reactor import install_reactor
from twisted.internet.task import react

from tests.crawl.harness import MODES, QUIET
from tests.crawl.plugin import NOTHING, obey
from tests.crawl.spiders import RequestsSpider
from tests.processes import run_python
from tests.site import Site


class Nameless(RequestsSpider):
    """What it is called is not text."""

    robotstxt_user_agent = 7


class NotMade:
    """A pipeline that cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("no database")


class NotOpened:
    """A pipeline that cannot be opened."""

    def open_spider(self) -> None:
        """Raises."""
        raise RuntimeError("no database")


FAILURES = [
    (RequestsSpider, f"{__name__}.NotMade", "RuntimeError: no database"),
    (RequestsSpider, f"{__name__}.NotOpened", "RuntimeError: no database"),
    (RequestsSpider, "no.such.Pipeline", "ModuleNotFoundError: No module named 'no'"),
    (Nameless, None, "ValueError: robotstxt_user_agent = 7: must be a product token or a list of"),
]
TIMES = 5
"""Crawls that fail in each of these ways."""


class Left:
    """The threads and the open files of this process."""

    def __init__(self) -> None:
        gc.collect()
        self.threads = Counter(thread.name for thread in threading.enumerate())
        self.files: Counter[str] = Counter()
        for number in os.listdir("/proc/self/fd"):  # noqa: PTH208
            with suppress(FileNotFoundError):  # that of the listing
                self.files[os.readlink(f"/proc/self/fd/{number}").partition("[")[0]] += 1  # noqa: PTH115

    def since(self, before: Left) -> list[str]:
        """What is there now, and was not before."""
        return [*(self.threads - before.threads), *(self.files - before.files)]


async def fail(settings: dict[str, Any]) -> None:
    """Crawls fail; what they leave is written out, and what one leaves that does not fail."""

    async def crawl(spider: type[RequestsSpider], pipeline: str | None, said: str = "") -> None:
        pipelines = {pipeline: 1} if pipeline else {}
        runner = AsyncCrawlerRunner({**QUIET, **settings, "ITEM_PIPELINES": pipelines})
        ended = ""
        try:
            await runner.crawl(spider, plans=settings["PLANS"])
        except Exception as error:  # noqa: BLE001
            ended = f"{type(error).__name__}: {error}"
        assert ended.startswith(said), ended
        assert bool(said) == bool(ended), ended

    for failure in FAILURES:
        await crawl(*failure)
    await crawl(RequestsSpider, None)  # after it the reactor has threads of its own
    before = Left()
    for failure in FAILURES * TIMES:
        await crawl(*failure)
    failed = Left().since(before)
    await crawl(RequestsSpider, None)
    sys.stdout.write(json.dumps([failed, Left().since(before)]))


def main() -> None:
    """In a process of its own."""
    settings = json.loads(sys.argv[1])
    install_reactor(settings["TWISTED_REACTOR"])
    react(lambda _: deferred_from_coro(fail(settings)))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted there")
def test_crawls_that_do_not_start_leave_nothing(site: Site, tmp_path: Path, store_uri: str) -> None:
    """Twenty of them in one process: with a store, a decision log and an archive."""
    shop = site.authority(NOTHING)
    log, archive = tmp_path / "log.jsonl", tmp_path / "a.warc.gz"
    records = {"REP_DECISION_LOG": str(log), "REP_WARC": str(archive), "REP_STORE": store_uri}
    settings = obey(PLANS=[shop.url("/x")], LOG_ENABLED=False, **records, **MODES["asyncio"])
    code = "from tests.crawl.test_failed_starts import main; main()"
    done = run_python("-c", code, json.dumps(settings), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[], []]
    assert len(shop.robots_hits) == 1
    lines = map(json.loads, log.read_text().splitlines())
    assert [line["type"] for line in lines] == ["run", "decision"] * 2  # of those that did start
    assert len([*tmp_path.glob("a-*.warc.gz")]) == 2
