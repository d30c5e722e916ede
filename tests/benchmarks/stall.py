"""How long a hundred pages take beside authorities whose robots.txt never comes.

``python -m tests.benchmarks.stall [--rounds 5] [--peer]`` crawls two pages of each of 50
authorities that answer after a tenth of a second, alone and then behind 16, 64 and 256 requests
that wait for 1, 4 and 16 authorities whose robots.txt hangs, trickles or stops after half. Each
crawl is a process of its own, alone and beside take turns, and what is printed is how many times
longer the pages took, in the median of the rounds. With ``--peer`` each case is crawled once more
with Scrapy's own middleware.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from tests.crawl.harness import crawl_in_child
from tests.crawl.pacing import taken
from tests.crawl.plugin import obey
from tests.crawl.silence import GOOD, SILENT, good_ones, pages
from tests.site import Authority, Site

LATENCY = 0.1
GIVEN_UP = 15
"""Seconds after which a robots.txt is given up; the crawl ends before that if it can."""
RESPONSES = GOOD + 2 * GOOD
KINDS: dict[str, dict[str, Any]] = {
    "ours": obey(REP_TIMEOUT=GIVEN_UP),
    "built-in": {"ROBOTSTXT_OBEY": True, "DOWNLOAD_TIMEOUT": GIVEN_UP, "RETRY_ENABLED": False},
}


def seconds(kind: str, good: list[Authority], waits: list[str]) -> float:
    """From the first request to the good authorities to their last reply."""
    plans = [*waits, *pages(good)]
    settings = {**KINDS[kind], "CLOSESPIDER_PAGECOUNT": RESPONSES}
    crawl_in_child(settings=settings, plans=plans, timeout=300)
    assert sum(len(shop.hits) for shop in good) == RESPONSES
    return taken(good)


def times_longer(kind: str, how: str, authorities: int, waiting: int) -> tuple[float, float]:
    """Seconds of the good pages alone, and how many times longer they take beside the silent."""
    with Site() as site:
        alone = seconds(kind, good_ones(site, LATENCY), [])
        silent = site.authorities(authorities, SILENT[how])
        waits = [silent[n % authorities].url(f"/{n}") for n in range(waiting)]
        return alone, seconds(kind, good_ones(site, LATENCY), waits) / alone


def main() -> None:
    """A line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    print(f"{'':40} {'alone':>7} {'ours':>8} {'least':>7} {'most':>7}", end="")
    print(f" {'built-in':>10}" if options.peer else "")
    for how in SILENT:
        for authorities in (1, 4, 16):
            for waiting in (16, 64, 256):
                case = (how, authorities, waiting)
                found = [times_longer("ours", *case) for _ in range(options.rounds)]
                alone = statistics.median(seconds for seconds, _ in found)
                ratios = [ratio for _, ratio in found]
                title = f"{waiting} wait for {authorities}, which {how}"
                print(f"{title:40} {alone:5.2f} s {statistics.median(ratios):7.2f}x", end="")
                print(f" {min(ratios):6.2f}x {max(ratios):6.2f}x", end="")
                peer = f" {times_longer('built-in', *case)[1]:9.1f}x" if options.peer else ""
                print(peer, flush=True)


if __name__ == "__main__":
    main()
