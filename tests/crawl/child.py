"""`python -m tests.crawl.child job.json result.json`: one crawl under a separate reactor."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.utils.misc import load_object

from tests.crawl.harness import result_of, settings_of
from tests.crawl.logtap import LogTap


def main(order: Path, answer: Path) -> None:
    """The job is done and its result written."""
    job = json.loads(order.read_text())
    settings = settings_of({**job["settings"], "LOG_ENABLED": False})
    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.1
    selecting = settings.get("TWISTED_REACTOR", "").endswith("SelectReactor")
    process = (CrawlerProcess if selecting else AsyncCrawlerProcess)(settings)
    with LogTap(twisted=False) as tap:
        crawler = process.create_crawler(load_object(job["spider"]))
        process.crawl(crawler, **job["arguments"])
        process.start()
        gc.collect()
    result_of(crawler, tap).dump(answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
