"""The examples of the documents work: as doctests, in crawls, and as the log lines they show."""

from __future__ import annotations

import ast
import doctest
import io
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import Settings

from scrapy_rep import RepDownloaderMiddleware
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores import open_store
from tests.crawl.harness import settings_of, within
from tests.crawl.logtap import LogTap
from tests.docs.pages import DOCS, PAGES, block_with, blocks, executed
from tests.replies import Reply
from tests.rows import rows
from tests.site import Site

OBEY = {"ADDONS": {"scrapy_rep.Addon": 100}}
START = "docs/start.rst"
FAILURES = "docs/guides/failures.rst"


def chosen(block: str) -> Settings:
    """The settings that a block sets, as of a project."""
    names = executed(block)
    return Settings({name: value for name, value in names.items() if name.isupper()})


def spider_of(block: str, site: Site | None = None) -> Any:
    """The spider that a block defines, with the example's host put on the site."""
    if site is not None:
        shop = site.authority("User-agent: *\nDisallow: /private\nSitemap: /map.xml\n")
        origin = shop.url("/").removesuffix("/")
        block = re.sub(r"https://example\.org(?=[/{])", origin, block)
    else:
        block = block.replace("https://example.org", "data:,")
    names = executed(block)
    return next(names[name] for name in names if name.endswith("Spider") and name != "Spider")


async def crawled(spider: Any, settings: Settings) -> Crawler:
    """A crawl of the spider, done."""
    crawler = Crawler(spider, settings_of(settings))
    await within(30, crawler.crawl())
    return crawler


async def said_by(spider: Any, settings: dict[str, Any]) -> list[str]:
    """What a spider logs in a crawl."""
    with LogTap() as tap:
        await crawled(spider, Settings(settings))
    return [line.text for line in tap.lines if line.logger == spider.name]


@rows("page", PAGES)
def test_interactive_examples_work(page: Path) -> None:
    """As doctest runs them."""
    result = doctest.testfile(str(page), module_relative=False)
    assert result.failed == 0
    assert result.attempted > 5 or page.name not in ("without-scrapy.rst", "page-directives.rst")


@rows("page, block", blocks())
def test_blocks_of_python_are_python(page: str, block: str) -> None:
    """Each can be compiled; one that imports something can be run."""
    code = compile(block, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    needs_newer = "robots_parsed" in block and scrapy.version_info < (2, 18)
    if block.startswith(("import ", "from ")) and not needs_newer and "REDIS" not in block:
        exec(code, {"__name__": "documentation"})


@pytest.mark.parametrize("words", ["ADDONS", "DOWNLOADER_MIDDLEWARES"])
async def test_activation_puts_the_plugin_in_the_place_of_the_builtin(words: str) -> None:
    """With the add-on and without it."""
    settings = chosen(block_with(words, START))
    crawler = await crawled(spider_of(block_with("ShopSpider", FAILURES)), settings)
    assert crawler.get_downloader_middleware(RepDownloaderMiddleware)
    assert crawler.get_downloader_middleware(RobotsTxtMiddleware) is None


async def test_activation_of_the_parser_leaves_the_builtin(site: Site) -> None:
    """Scrapy's middleware asks our parser."""
    spider = spider_of(block_with("ShopSpider", FAILURES), site)
    crawler = await crawled(spider, chosen(block_with("ROBOTSTXT_PARSER", START)))
    assert crawler.get_downloader_middleware(RobotsTxtMiddleware)
    assert crawler.get_downloader_middleware(RepDownloaderMiddleware) is None
    assert crawler.stats.get_value("robotstxt/forbidden") == 1


async def test_spider_example_learns_why(site: Site) -> None:
    """Its errback gets the rule and the line; one page is fetched, one is not.

    The log lines are as shown: those of a forbidden request, and of a site whose robots.txt fails.
    """
    dark = site.authority(Reply(503))
    spider = spider_of(block_with("ShopSpider", FAILURES), site)
    with LogTap() as tap:
        crawler = await crawled(spider, Settings(OBEY))
        said = [line.text for line in tap.lines if line.logger == "shop"]
        spider.start = _starting_at(dark.url("/"))
        await crawled(spider, Settings({**OBEY, "REP_RETRY_DELAYS": []}))
    assert [text.partition("/private/: ")[2] for text in said if "private" in text] == [
        "Disallow: /private, line 2"
    ]
    assert any(text.endswith("/ was fetched") for text in said)
    assert crawler.stats.get_value("robotstxt/forbidden") == 1
    lines = [line.text for line in tap.lines if line.logger == "scrapy_rep"]
    assert len(lines) >= 3
    shown = (DOCS / "guides/failures.rst").read_text("utf-8")
    for line in lines:
        host = "example.org" if "private" in line else "example.net"
        line = re.sub(r"http://[\d.:]+\d", f"https://{host}", line)
        assert line in shown or line.startswith("No request was allowed: 1 with")


async def test_patient_spider_fetches_a_site_that_comes_back(site: Site) -> None:
    """The example waits for `retry_at`, and its second request is made."""
    shop = site.authority([Reply(503), Reply(200, "User-agent: *\nDisallow: /private\n")])
    block = block_with("PatientSpider", FAILURES).replace("https://example.org/", shop.url("/"))
    settings = {**OBEY, "REP_RETRY_DELAYS": [], "REP_UNREACHABLE_TTL": [1, 60]}
    said = await said_by(executed(block)["PatientSpider"], settings)
    assert said == [f"{shop.url('/')} was fetched"]


def _starting_at(url: str) -> Any:
    async def start(self: Any) -> Any:
        yield scrapy.Request(url, errback=self.dropped)

    return start


async def test_explain_example_works(site: Site) -> None:
    """It says False by the rule, and what is in memory."""
    said = await said_by(spider_of(block_with("WhySpider"), site), OBEY)
    assert said[0] == "False by Disallow: /private: rule"
    info = ast.literal_eval(said[1])
    shown = (DOCS / "guides/failures.rst").read_text("utf-8")
    assert all(f"``{key}``" in shown for key in info)
    assert info["sites"] == 1


@pytest.mark.skipif(scrapy.version_info < (2, 18), reason="Scrapy has the signal since 2.18")
async def test_signal_example_works(site: Site) -> None:
    """It logs the sitemaps of the robots.txt."""
    said = await said_by(spider_of(block_with("MapSpider"), site), OBEY)
    assert said == ["sitemaps: ['/map.xml']"]


def test_store_example_keeps_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put can be got, by another object as well."""
    monkeypatch.chdir(tmp_path)
    store_class = executed(block_with("DbmStore(BlockingStore)"))["DbmStore"]
    authority = authority_of("https://example.org/")
    entry = Entry(Answer(status=200, body=b"User-agent: *\nDisallow: /\n", fetched_at=1e9))
    store = store_class()
    store.put(authority, entry)
    store.close()
    again = store_class()
    assert again.get(authority).result(10) == entry
    assert again.get(authority_of("http://example.org/")).result(10) is None
    again.close()


def test_the_copy_of_a_store_is_a_line_of_json_for_each_authority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one program prints, the other one reads into another store."""
    names = executed(block_with("def copy_out(uri)"))
    old, new = (f"sqlite://{tmp_path / name}" for name in ("old.db", "new.db"))
    store = open_store(old)
    answer = Answer(status=200, body=b"User-agent: *\n\xff", fetched_at=time.time())
    for url in ("https://example.org/", "https://shop.test/"):
        store.put(authority_of(url), Entry(answer))
    store.close()
    names["copy_out"](old)
    printed = capsys.readouterr().out
    assert len([json.loads(line) for line in printed.splitlines()]) == 2
    monkeypatch.setattr("sys.stdin", io.StringIO(printed))
    names["copy_in"](new)
    store = open_store(new)
    assert store.get(authority_of("https://shop.test/")) == Entry(answer)
    store.close()
