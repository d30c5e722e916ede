"""A master of the store dies in mid-crawl: no request is lost, and its successor is used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.access.authority import authority_of
from scrapy_rep.stores.redis import RedisStore
from tests.crawl.harness import crawl
from tests.crawl.plugin import obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply
from tests.site import Site
from tests.stores.deployments import ClusterDeployment, SentinelDeployment
from tests.stores.samples import told
from tests.timed import waits

pytestmark = waits

RULES = Reply(200, "User-agent: *\nDisallow: /private\n", delay=0.05)

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
        authority = self.site.authority(RULES)
        yield self.request(authority.url("/"))
        yield self.request(authority.url("/private/x"))


async def outlived(site: Site, uri: str, die: Callable[[], None]) -> Result:
    """The crawl, in which each request ended as its site's rules say."""
    plans = [site.authority(RULES).url("/") for _ in range(2)]
    result = await crawl(
        OnwardSpider, obey(REP_STORE=uri), plans=plans, site=site, die=die, timeout=40
    )
    kinds = result.check().by_url
    assert {url for url in kinds if "private" in url} == set(result.forbidden)
    assert {url for url in kinds if "private" not in url} == set(result.downloaded)
    return result


def check_stored(result: Result, uri: str) -> None:
    """What was fetched last is in the store."""
    last = {authority_of(url) for url in result.downloaded[-10:]}
    store = RedisStore(uri)
    try:
        assert [authority for authority in last if told(store.get(authority)) is None] == []
    finally:
        store.close()


async def test_a_crawl_outlives_the_master_of_its_sentinels(site: Site, tmp_path: Path) -> None:
    """RFC 9309 section 2.3.1.4: a store that is away costs no verdict; then it is used again."""
    deployment = SentinelDeployment(tmp_path, GIVEN_UP_AFTER)
    try:
        uri = deployment.start().uri
        result = await outlived(site, uri, deployment.master().stop)
        check_stored(result, uri)
    finally:
        deployment.stop()
    assert result.stats["robotstxt/store/error"] >= 1
    said = len(result.lines("The robots.txt store fails", "WARNING"))
    assert said <= 1  # a failover may be over before a second look-up has failed
    assert len(result.lines("The robots.txt store answers again", "WARNING")) == said


@pytest.mark.slow
async def test_a_crawl_outlives_a_master_of_its_cluster(site: Site, tmp_path: Path) -> None:
    """RFC 9309 section 2.3.1.4: the sites whose entries were on the node cost a fetch at most."""
    deployment = ClusterDeployment(tmp_path, GIVEN_UP_AFTER)
    try:
        uri = deployment.start().uri
        result = await outlived(site, uri, deployment.servers[1].stop)
        check_stored(result, uri)
    finally:
        deployment.stop()
