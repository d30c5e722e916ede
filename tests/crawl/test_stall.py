"""Sites that wait, however many they are, and however many their requests, delay no other one."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from tests.crawl.harness import visit
from tests.crawl.pacing import pages
from tests.crawl.plugin import RULES
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, html
from tests.site import Authority, Site

PACED = RULES + "Crawl-delay: 60\n"
"""No second page comes before the crawl is over, unless it stalls."""


class UntilSpider(RequestsSpider):
    """Ends the crawl when the pages of `until` have come.

    `then` are requested when the first page of each of their hosts has.
    """

    def __init__(self, until: Sequence[str], then: Sequence[str] = (), **arguments: Any) -> None:
        super().__init__(**arguments)
        self.awaited, self.then = set(until), then
        self.unseen = {urlsplit(url).netloc for url in until}

    def found(self, response: Response) -> Any:
        """What is requested now."""
        self.awaited.discard(response.url)
        if not self.awaited:
            raise CloseSpider
        if urlsplit(response.url).netloc in self.unseen:
            self.unseen.remove(urlsplit(response.url).netloc)
            return () if self.unseen else map(self.request, self.then)
        return ()


async def come(site: Site, others: list[Authority], each: int, **named: Any) -> None:
    """Forty pages of plain hosts come, behind so many pages of each of the others."""
    plain = site.authorities(10, RULES)
    until = [url for shop in plain for url in pages(shop, 4)]
    plans = [url for other in others for url in pages(other, each)] + until
    await visit(plans, UntilSpider, until=until, whole=False, **named)
    assert [len(shop.page_hits) for shop in plain] == [4] * 10


async def test_a_paced_host_with_many_requests_delays_no_other(site: Site, mode: str) -> None:
    """1,500 requests of one host are ahead of all others."""
    paced = site.authority(PACED)
    await come(site, [paced], 1_500, mode=mode)
    assert len(paced.page_hits) == 1


async def test_many_paced_hosts_delay_no_other(site: Site, mode: str) -> None:
    """Forty of them with thirty requests each are ahead of all others."""
    paced = site.authorities(40, PACED)
    await come(site, paced, 30, mode=mode)
    assert all(len(shop.page_hits) <= 1 for shop in paced)


async def test_paced_hosts_delay_no_other_in_their_slot(site: Site) -> None:
    """A hundred hosts share one downloader slot, as behind a service; ninety ask for a pace."""
    paced, plain = site.authorities(90, PACED), site.authorities(10, RULES)
    until = [url for shop in plain for url in pages(shop, 4)]
    urls = [url for shop in paced for url in pages(shop, 20)] + until
    plans = [{"url": url, "meta": {"download_slot": "pool"}} for url in urls]
    await visit(plans, UntilSpider, until=until, whole=False)
    assert [len(shop.page_hits) for shop in plain] == [4] * 10
    assert all(len(shop.page_hits) <= 1 for shop in paced)


@pytest.mark.slow
async def test_many_silent_hosts_delay_no_other(site: Site, mode: str) -> None:
    """Sixty of them with twenty requests each are ahead of all others."""
    silent = site.authorities(60, Hang())
    await come(site, silent, 20, mode=mode, REP_TIMEOUT=60)
    assert not any(shop.page_hits for shop in silent)
    assert all(len(shop.robots_hits) == 1 for shop in silent)


@pytest.mark.slow
async def test_hosts_with_slow_pages_take_no_more_than_their_share(site: Site, mode: str) -> None:
    """Of 16 places each quick host keeps one while it has requests; two slow ones get no more."""
    quick = site.authorities(10, RULES, html(delay=0.05))
    slow = site.authorities(2, RULES, html(delay=1))
    until = [url for shop in quick for url in pages(shop, 30)]
    then = [url for shop in slow for url in pages(shop, 40)]
    await visit(until, UntilSpider, until=until, then=then, whole=False, mode=mode)
    times = [hit.received for shop in slow for hit in shop.page_hits]
    lasts = [shop.page_hits[-1].received for shop in quick]
    assert min(times) < max(lasts)
    for moment in times:
        assert at_work(slow, moment) <= 16 - sum(last > moment for last in lasts)


def at_work(shops: list[Authority], moment: float) -> int:
    """How many pages of some hosts were being answered at a moment."""
    hits = [hit for shop in shops for hit in shop.page_hits]
    return sum(hit.received <= moment < (hit.sent or inf) for hit in hits)
