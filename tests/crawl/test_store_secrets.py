"""No crawl prints the password of its store: not in a log line, a stat or a traceback."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT, run_python
from tests.rows import first
from tests.site import Site

WORD = "hunter2"

SCRIPT = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy_rep import RepDownloaderMiddleware

store, url, priority = sys.argv[1:]

class Shop(scrapy.Spider):
    name = "shop"
    custom_settings = {"REP_STORE": eval(store)} if priority == "spider" else {}

    async def start(self):
        yield scrapy.Request(url)

    def parse(self, response):
        robots = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        self.logger.info("a page came, %r", vars(robots))

settings = {"ADDONS": {"scrapy_rep.Addon": 100}, "TELNETCONSOLE_ENABLED": False}
if priority == "project":
    settings["REP_STORE"] = eval(store)
process = CrawlerProcess(settings)
process.crawl(Shop)
process.start()
"""


@pytest.mark.parametrize("priority", first(1, ["project", "spider"]))
@pytest.mark.parametrize(
    ("store", "starts"),
    [
        (f"redis://user:{WORD}@127.0.0.1:1/0", True),
        (f"redis://127.0.0.1:1/0?password={WORD}", True),
        (f"rediss://127.0.0.1:1/0?ssl_cert_reqs={WORD}", True),
        (f"redis://:{WORD}#x@127.0.0.1:1/0", False),
        (f"user:{WORD}@127.0.0.1:1/0", False),
        ([f"redis://:{WORD}@127.0.0.1:1/0"], False),
        (f"redis://:{WORD}@127.0.0.1:1/0".encode(), False),
    ],
)
def test_a_crawl_never_prints_the_password_of_its_store(
    site: Site, tmp_path: Path, store: Any, starts: bool, priority: str
) -> None:
    """All that a process says at level DEBUG, with a server that is not there."""
    shop = site.authority("User-agent: *\nDisallow: /private\n")
    done = run_python(
        *("-c", SCRIPT, repr(store), shop.url("/a"), priority),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
    )
    said = done.stdout + done.stderr
    assert ("a page came" in said) is starts
    assert ("The robots.txt store fails" in said) is starts
    assert ("REP_STORE" in said) is not starts
    assert WORD not in said
