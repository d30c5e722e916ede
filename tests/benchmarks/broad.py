"""A broad crawl: some pages of each of very many sites, with what robots.txt costs it.

``python -m tests.benchmarks.broad [--pages 3] [--most 300] [--quick] [--csv FILE] [SITES...]``
crawls pages of 1,000, 10,000 and 30,000 sites on loopback with robots.txt off, with Scrapy's own
middleware and with this package, in turn and each in a process of its own. The sites are those of
:mod:`tests.benchmarks.field`: some are silent, some refuse, some ask for a pace. Each answers after
50 ms. A crawl that takes longer than ``--most`` seconds is stopped, and counts as far as it came.

What is printed for each crawl:

- the pages that came, and ``+`` if more would have come;
- the processor time of a page, in milliseconds: that of the whole process, by the pages that came;
- the pages a second, until nine tenths of them had come, and how many of them one processor gives;
- the most memory that the process had, in MiB, and the greatest in the second half of the pages by
  that at its begin;
- the most files that it had open at once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scrapy import Request, Spider

from tests.benchmarks.broad_server import FIRST, address_of, served
from tests.benchmarks.running import ADDON, crawled, in_a_process, write_csv

COUNTS = (1_000, 10_000, 30_000)
KINDS: dict[str, dict[str, Any]] = {
    "off": {"ROBOTSTXT_OBEY": False},
    "built-in": {"ROBOTSTXT_OBEY": True},
    "scrapy_rep": ADDON,
}
SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 100,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "USER_AGENT": "mybot",
}
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
EVERY = 0.5
"""Seconds between two looks at the memory and the open files."""


class Sample(NamedTuple):
    """What a process has when so many pages have come."""

    seconds: float
    pages: int
    octets: int
    files: int


class BroadSpider(Spider):
    """One page leads to a page of each site, and that to the others of the site."""

    name = "broad"
    port: int
    sites: int
    each: int
    pages = 0
    cpu = 0.0

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.samples: list[Sample] = []
        self.is_over = threading.Event()
        self.reason = ""

    async def start(self) -> AsyncIterator[Any]:
        """The first page."""
        self.begun, self.cpu = time.monotonic(), -time.process_time()
        threading.Thread(target=self.watch, daemon=True).start()
        yield Request(f"http://{FIRST}:{self.port}/")

    def parse(self, _response: Any) -> Iterator[Request]:
        """The first page of each site."""
        for number in range(self.sites):
            yield Request(f"http://{address_of(number)}:{self.port}/page/0", self.parse_site)

    def parse_site(self, response: Any) -> Iterator[Request]:
        """The others."""
        self.pages += 1
        for number in range(1, self.each):
            yield Request(response.urljoin(f"/page/{number}"), self.parse_page)

    def parse_page(self, _response: Any) -> None:
        """Count a page."""
        self.pages += 1

    def closed(self, reason: str) -> None:
        """The crawl is over."""
        self.cpu += time.process_time()
        self.reason = reason
        self.is_over.set()
        self.samples.append(self.sample())

    def watch(self) -> None:
        """Look at what the process has, again and again."""
        while not self.is_over.wait(EVERY):
            self.samples.append(self.sample())

    def sample(self) -> Sample:
        """What the process has now."""
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_SIZE
        files = len(list(Path("/proc/self/fd").iterdir()))
        return Sample(time.monotonic() - self.begun, self.pages, resident, files)


def crawl(kind: str, port: int, sites: int, each: int, most: float, timeout: float) -> None:
    """One crawl in this process."""
    settings = {
        **SETTINGS,
        "CLOSESPIDER_TIMEOUT": most,
        "DOWNLOAD_TIMEOUT": timeout,
        "REP_TIMEOUT": timeout,
    }
    arguments = {"port": port, "sites": sites, "each": each}
    spider = crawled(BroadSpider, {**settings, **KINDS[kind]}, **arguments)
    stats = spider.crawler.stats
    found = {
        "pages": spider.pages,
        "cpu": spider.cpu,
        "is_whole": spider.reason == "finished",
        "samples": spider.samples,
        "robots": stats.get_value("robotstxt/request_count", 0),
    }
    print(json.dumps(found))


HEAD = (
    "sites", "robots.txt", "pages", "CPU of a page, ms", "pages/s", "pages/s of CPU", "MiB",
    "second half", "files",
)  # fmt: skip


def row_of(kind: str, port: int, sites: int, options: argparse.Namespace) -> tuple[str, ...]:
    """The cells of a crawl in a process of its own."""
    arguments = (port, sites, options.pages, options.most, options.timeout)
    found = in_a_process("broad", "crawl", kind, *map(str, arguments))
    pages = found["pages"]
    samples = [Sample(*sample) for sample in found["samples"]]
    most_of_it = next(sample for sample in samples if sample.pages >= 0.9 * pages)
    at_half = next(sample for sample in samples if sample.pages >= 0.5 * pages)
    after = max(sample.octets for sample in samples if sample.pages >= 0.5 * pages)
    return (
        f"{sites:,}",
        kind,
        f"{pages:,}{'' if found['is_whole'] else '+'}",
        f"{found['cpu'] / pages * 1e3:.2f}",
        f"{most_of_it.pages / most_of_it.seconds:.0f}",
        f"{pages / found['cpu']:.0f}",
        f"{max(sample.octets for sample in samples) / 2**20:.0f}",
        f"{after / at_half.octets:.2f}",
        f"{max(sample.files for sample in samples):,}",
    )


def shown(row: tuple[str, ...]) -> str:
    """A line for people."""
    return f"{row[0]:>8}  {row[1]:12}" + "".join(f"{cell:>18}" for cell in row[2:])


def main() -> None:
    """A line for each crawl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="*", type=int)
    parser.add_argument("--pages", type=int, default=3, help="of each site")
    parser.add_argument("--most", type=float, default=300, help="seconds of a crawl")
    parser.add_argument("--timeout", type=float, default=10, help="seconds, of a download")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--quick", action="store_true", help="30 sites, 4 seconds")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.sites, options.timeout, options.most = [30], 1.0, 4.0
    rows = [HEAD]
    print(shown(HEAD), flush=True)
    with served() as port:
        for sites in options.sites or COUNTS:
            for kind in options.kinds.split(","):
                rows.append(row_of(kind, port, sites, options))
                print(shown(rows[-1]), flush=True)
    write_csv(options.csv, rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        kind, *numbers = sys.argv[2:]
        port, sites, each = map(int, numbers[:3])
        crawl(kind, port, sites, each, *map(float, numbers[3:]))
    else:
        main()
