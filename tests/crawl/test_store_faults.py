"""A crawl whose store is down, slow or wrong ends as one that keeps all in memory does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.python import global_object_name

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.redis import RedisStore
from tests.crawl.harness import crawl, visit
from tests.crawl.plugin import obey
from tests.crawl.result import Result
from tests.crawl.sharing import CustomStore
from tests.crawl.spiders import RequestsSpider
from tests.processes import run_python
from tests.replies import Reply
from tests.site import Site
from tests.stores.deployments import ClusterDeployment, SentinelDeployment
from tests.stores.faults import faulty
from tests.stores.obstacles import no_file_beyond, read_only_directory
from tests.stores.samples import told
from tests.stores.servers import RedisServer
from tests.timed import waits

RULES = "User-agent: *\nDisallow: /private\n"
SAID = "The robots.txt store fails"


def plans_of(site: Site, *, count: int = 12) -> tuple[list[str], dict[str, str]]:
    """URLs of several authorities, one of them a name to be resolved, and how they are to end."""
    kinds = [(RULES, "downloaded", "forbidden"), (Reply(404), "downloaded", "downloaded")]
    kinds.append((Reply(503), "unreachable", "unreachable"))
    ends = {}
    for number in range(count):
        robots, open_page, private = kinds[number % 3]
        authority = site.authority(robots)
        ends |= {authority.url("/"): open_page, authority.url("/private/x"): private}
    named = site.authority(RULES, host="127.0.0.1")
    ends[f"http://localhost:{named.port}/"] = "downloaded"
    return list(ends), ends


SOME = ("refuse", "hang", "garbage", "LOADING", "idle close", "another's entry")
"""A fault of each kind: the store's own tests know all of them."""


@pytest.mark.parametrize("fault", SOME)
async def test_a_faulty_redis_changes_no_verdict(site: Site, fault: str) -> None:
    """Each request ends as it would with memory alone; one warning, and a stat."""
    plans, expected = plans_of(site)
    with faulty(fault) as uri:
        result = await visit(plans, REP_STORE=uri)
    assert result.by_url == expected
    errors = result.stats.get("robotstxt/store/error", 0)
    said = result.lines(SAID, "WARNING")
    if fault not in ("idle close", "another's entry"):
        assert errors > 0
        assert len(said) == 1
    assert len(site.hits) == len([end for end in expected.values() if end == "downloaded"]) + 13


@pytest.mark.parametrize("is_full", [False, True], ids=["read-only directory", "full disk"])
async def test_an_unwritable_file_is_said_once(site: Site, tmp_path: Path, is_full: bool) -> None:
    """The crawl completes as with memory alone."""
    plans, expected = plans_of(site, count=30)
    await crawl(settings=obey(), plans=plans[:1])  # another user may not import what it needs
    unwritable = no_file_beyond(20_000) if is_full else read_only_directory()
    with unwritable as directory:
        uri = f"sqlite://{directory or tmp_path}/r.db"
        result = await visit(plans, REP_STORE=uri, CONCURRENT_REQUESTS=2)
    assert result.by_url == expected
    (said,) = [line for line in result.lines(SAID, "WARNING") if "r.db" in line]
    assert is_full or "Permission denied" in said
    assert result.stats["robotstxt/store/error"] >= 1


class BrokenStore(CustomStore):
    """A user's store that does not work."""

    def get(self, authority: Authority, crawler: str = "") -> Entry | None:
        """It raises what a store should not."""
        raise ZeroDivisionError("broken")

    put = get  # type: ignore[assignment]  # with the wrong number of arguments


class HangingStore(CustomStore):
    """Nothing is ever answered."""

    def get(self, authority: Authority, crawler: str = "") -> Future[Entry | None]:
        """No answer comes."""
        return Future()

    def lease(self, authority: Authority, seconds: float) -> Future[str | None]:
        """No answer comes."""
        return Future()


@pytest.mark.parametrize(
    ("store", "said", "errors"),
    # one error for each site
    [(BrokenStore, SAID, 13), (HangingStore, "did not answer", 1)],
)
async def test_a_store_of_ones_own_that_fails_changes_no_verdict(
    site: Site, monkeypatch: pytest.MonkeyPatch, store: type[Any], said: str, errors: int
) -> None:
    """Whatever it raises, or however long it is silent: the crawl goes on without it, and says so.

    A Future that is never completed is given up, and what waits for it is not kept.
    """
    monkeypatch.setattr("scrapy_rep.stores.Store.answer_timeout", 0.3)
    CustomStore.entries.clear()
    plans, expected = plans_of(site)
    result = await visit(plans, REP_STORE=global_object_name(store), REP_TIMEOUT=2)
    assert result.by_url == expected
    assert len(result.lines(said, "WARNING")) == 1
    assert result.stats["robotstxt/store/error"] >= errors


# --- a master of the store dies in mid-crawl: its successor is used

SLOW_RULES = Reply(200, RULES, delay=0.05)

GIVEN_UP_AFTER = 500
"""Milliseconds after which a server that is silent is taken for dead."""

LATER = 5.0
"""Seconds after the death for which the crawl goes on."""


class OnwardSpider(RequestsSpider):
    """Goes from site to site, two requests each, until some seconds after a death."""

    site: Site
    die: Callable[[], None]
    died_at = 0.0

    def found(self, response: Any) -> Iterable[Any]:
        """The next site."""
        if len(self.made) >= 20 and not self.died_at:
            self.die()
            self.died_at = time.monotonic()
        if self.died_at and time.monotonic() > self.died_at + LATER:
            return
        authority = self.site.authority(SLOW_RULES)
        yield self.request(authority.url("/"))
        yield self.request(authority.url("/private/x"))


async def outlived(site: Site, deployment: Any, victim: Callable[[], RedisServer]) -> Result:
    """A crawl in which each request ended as its site's rules say, and the last are stored."""
    try:
        uri = deployment.start().uri
        plans = [site.authority(SLOW_RULES).url("/") for _ in range(2)]
        how = {"site": site, "die": victim().stop, "timeout": 40}
        result = await visit(plans, OnwardSpider, **how, REP_STORE=uri)
        kinds = result.by_url
        assert {url for url in kinds if "private" in url} == set(result.forbidden)
        assert {url for url in kinds if "private" not in url} == set(result.downloaded)
        last = {authority_of(url) for url in result.downloaded[-10:]}
        with closing(RedisStore(uri)) as store:
            assert [authority for authority in last if told(store.get(authority)) is None] == []
        return result
    finally:
        deployment.stop()


@waits
async def test_a_crawl_outlives_the_master_of_its_sentinels(site: Site, tmp_path: Path) -> None:
    """RFC 9309 section 2.3.1.4: a store that is away costs no verdict; then it is used again."""
    deployment = SentinelDeployment(tmp_path, GIVEN_UP_AFTER)
    result = await outlived(site, deployment, lambda: deployment.master())
    assert result.stats["robotstxt/store/error"] >= 1
    said = len(result.lines(SAID, "WARNING"))
    assert said <= 1  # a failover may be over before a second look-up has failed
    assert len(result.lines("The robots.txt store answers again", "WARNING")) == said


@waits
@pytest.mark.slow
async def test_a_crawl_outlives_a_master_of_its_cluster(site: Site, tmp_path: Path) -> None:
    """RFC 9309 section 2.3.1.4: the sites whose entries were on the node cost a fetch at most."""
    deployment = ClusterDeployment(tmp_path, GIVEN_UP_AFTER)
    await outlived(site, deployment, lambda: deployment.servers[1])


# --- the password


WORD = "hunter2"

STARTS = [
    f"redis://user:{WORD}@127.0.0.1:1/0",
    f"redis://127.0.0.1:1/0?password={WORD}",
    f"rediss://127.0.0.1:1/0?ssl_cert_reqs={WORD}",
]
REFUSED: list[Any] = [
    f"redis://:{WORD}#x@127.0.0.1:1/0",
    f"user:{WORD}@127.0.0.1:1/0",
    [f"redis://:{WORD}@127.0.0.1:1/0"],
    f"redis://:{WORD}@127.0.0.1:1/0".encode(),
]
SCRIPT = """
import sys
import traceback
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy_rep import RepDownloaderMiddleware

stores, url = eval(sys.argv[1]), sys.argv[2]

class Shop(scrapy.Spider):
    name = "shop"

    async def start(self):
        yield scrapy.Request(url)

    def parse(self, response):
        robots = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        self.logger.info("a page came, %r", vars(robots))

process = CrawlerProcess({"ADDONS": {"scrapy_rep.Addon": 100}, "TELNETCONSOLE_ENABLED": False})
for store in stores:
    spider = type("Shop", (Shop,), {"custom_settings": {"REP_STORE": store}})
    try:
        process.crawl(spider).addErrback(lambda failure: failure.printTraceback())
    except ValueError:
        traceback.print_exc()
process.start()
"""


@pytest.mark.slow
def test_a_crawl_never_prints_the_password_of_its_store(site: Site, tmp_path: Path) -> None:
    """All that a process says at level DEBUG, with servers that are not there, and bad values."""
    shop = site.authority("User-agent: *\nDisallow: /private\n")
    stores = repr([*STARTS, *REFUSED])
    done = run_python("-c", SCRIPT, stores, shop.url("/a"), cwd=tmp_path)
    said = done.stdout + done.stderr
    assert said.count("a page came") == len(STARTS)
    assert said.count("The robots.txt store fails") == len(STARTS)
    assert said.count("ValueError: REP_STORE") == len(REFUSED)
    assert WORD not in said
