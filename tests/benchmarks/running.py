"""What several benchmarks need: engines, a loop for them, crawls, and processes of their own."""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
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


def print_cases(
    description: str | None,
    head: Sequence[str],
    cases: Sequence[Any],
    quick: Sequence[Any],
    row_of: Callable[[Any, int], Sequence[str]],
) -> None:
    """Print a line for each case that the arguments of the command choose, and write a CSV file.

    ``row_of`` returns the cells of a case, of which the first is its name, in some rounds.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    rows: list[Sequence[str]] = []

    def add(row: Sequence[str]) -> None:
        rows.append(row)
        cells = zip(row[1:], head[1:], strict=True)
        print(f"{row[0]:46}", *(f"{cell:>{max(8, len(word))}}" for cell, word in cells), flush=True)

    add(head)
    for case in quick if options.quick else cases:
        if all(word in case.name for word in options.words):
            add(row_of(case, 1 if options.quick else options.rounds))
    write_csv(options.csv, rows)


def write_csv(path: Path | None, rows: Iterable[Sequence[str]]) -> None:
    """Write a table to a CSV file, if one was named."""
    if path:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def argument(default: int) -> int:
    """The first argument of the command, if there is one."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default
