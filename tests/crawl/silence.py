"""Authorities that are asked for a robots.txt and never send it, and others that answer."""

from __future__ import annotations

from tests.crawl.plugin import RULES
from tests.replies import Hang, Reply, Stall, Trickle, html
from tests.site import Authority, Site

SILENT = {
    "hangs": Hang(),
    "trickles": Trickle(200, RULES, interval=1.0),
    "stops after half": Stall(200, RULES),
}
GOOD = 50


def good_ones(site: Site, latency: float) -> list[Authority]:
    """Authorities that answer after so many seconds."""
    return site.authorities(GOOD, Reply(200, RULES, delay=latency), html(delay=latency))


def pages(authorities: list[Authority]) -> list[str]:
    """Two of each."""
    return [shop.url(path) for path in ("/1", "/2") for shop in authorities]
