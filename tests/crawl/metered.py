"""A spider that says what its crawl cost."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

from tests.crawl.spiders import RequestsSpider


class MeteredSpider(RequestsSpider):
    """Puts the processor seconds of all threads, from its start to its end, into the stats."""

    name = "metered"

    async def start(self) -> AsyncIterator[Any]:
        """All the requests at once, after a look at the clock."""
        self.began = time.process_time()
        async for request in super().start():
            yield request

    def closed(self, reason: str) -> None:
        """The crawl is over."""
        assert self.crawler.stats
        self.crawler.stats.set_value("cpu", time.process_time() - self.began)
