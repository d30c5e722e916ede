"""What a new authority costs a crawl that was there before, beside Scrapy's own middleware.

``python -m tests.benchmarks.restart [rounds]`` crawls one page of each of 400 authorities on
loopback: without robots.txt, with Scrapy's middleware, and with this package and what a crawl
before left in SQLite, and on a redis-server of its own. It prints the processor time, of all
threads and per authority, that each takes beyond the first: from the best of so many rounds, as a
busy machine only ever adds.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import AsyncIterator
from typing import Any

from tests.benchmarks.running import argument
from tests.crawl.harness import crawl_in_child
from tests.crawl.plugin import obey
from tests.crawl.spiders import RequestsSpider
from tests.site import Authority, Site
from tests.stores.servers import running_server

AUTHORITIES = 400
SPIDER = "tests.benchmarks.restart.MeteredSpider"


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


def seconds(authorities: list[Authority], settings: dict[str, Any]) -> float:
    """The processor seconds of a crawl of one page of each authority."""
    urls = [authority.url("/open") for authority in authorities]
    # What a page costs apart from robots.txt is to drown as little of the difference as it can:
    # most of it is a hundred tasks for the items that there are not.
    given = {"LOG_LEVEL": "WARNING", "CONCURRENT_ITEMS": 1, **settings}
    return float(crawl_in_child(SPIDER, given, plans=urls).check().stats["cpu"])


def measure(kinds: dict[str, dict[str, Any]], rounds: int) -> dict[str, float]:
    """The best of so many rounds of each kind of crawl, in seconds."""
    best = dict.fromkeys(kinds, math.inf)
    with Site() as site:
        authorities = site.authorities(AUTHORITIES, "User-agent: *\nDisallow: /private\n")
        for _ in range(rounds + 1):
            for name, settings in kinds.items():
                best[name] = min(best[name], seconds(authorities, settings))
        ours = [name for name in kinds if name.startswith("ours")]
        fetched = sum(len(authority.robots_hits) for authority in authorities)
    assert fetched == AUTHORITIES * (rounds + 1 + len(ours)), "a restart fetched a robots.txt"
    return best


def main(rounds: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as directory, running_server() as server:
        kinds: dict[str, dict[str, Any]] = {
            "no robots.txt": {},
            "Scrapy's": {"ROBOTSTXT_OBEY": True},
            "ours, SQLite": obey(REP_STORE=f"sqlite://{directory}/robots.db"),
            "ours, Redis": obey(REP_STORE=server.uri),
        }
        best = measure(kinds, rounds)
    extra = {name: 1e6 * (best[name] - best["no robots.txt"]) / AUTHORITIES for name in kinds}
    print(f"{'a page of a new authority':28}{'us':>8}{'extra':>8}{'of theirs':>11}")
    for name in kinds:
        us, share = 1e6 * best[name] / AUTHORITIES, extra[name] / extra["Scrapy's"]
        print(f"{name:28}{us:8.0f}{extra[name]:8.0f}{share:11.2f}")


if __name__ == "__main__":
    main(argument(5))
