"""Requests that a middleware holds until another one of their site is done, such as a login."""

from __future__ import annotations

import pytest

from tests.crawl.harness import visit
from tests.crawl.middlewares import LoginMiddleware
from tests.crawl.pacing import gaps
from tests.crawl.plugin import RULES
from tests.site import Site

LOGIN = f"{LoginMiddleware.__module__}.{LoginMiddleware.__qualname__}"


@pytest.mark.parametrize(
    ("order", "robots"),
    [(543, "User-agent: *\nCrawl-delay: 0.15\n"), (50, RULES)],
    ids=["for its turn", "before the gate"],
)
async def test_a_page_may_be_held_until_a_later_one_of_its_site_is_done(
    site: Site, mode: str, order: int, robots: str
) -> None:
    """The one with the next turn, or the first of a site: after a second others go first."""
    shop = site.authority(robots)
    plans = [shop.url(path) for path in ("/page", "/login")]
    result = await visit(plans, mode=mode, timeout=60, DOWNLOADER_MIDDLEWARES={LOGIN: order})
    assert sorted(result.downloaded) == sorted(plans)
    assert [hit.path for hit in shop.page_hits] == ["/login", "/page"]
    assert order == 50 or min(gaps(shop)) >= 0.15
