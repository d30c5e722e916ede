"""Requests that a middleware holds until another one of their site is done, such as a login."""

from __future__ import annotations

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import EACH_MODE, crawl_under
from tests.crawl.middlewares import LoginMiddleware
from tests.crawl.pacing import gaps
from tests.crawl.plugin import RULES, obey
from tests.site import Site

LOGIN = f"{LoginMiddleware.__module__}.{LoginMiddleware.__qualname__}"


@pytest.mark.parametrize("mode", EACH_MODE)
@pytest.mark.parametrize(
    ("order", "robots"),
    [(543, "User-agent: *\nCrawl-delay: 0.15\n"), (50, RULES)],
    ids=["for its turn", "before the gate"],
)
@ensureDeferred
async def test_a_page_may_be_held_until_a_later_one_of_its_site_is_done(
    site: Site, mode: str, order: int, robots: str
) -> None:
    """The one with the next turn, or the first of a site: after a second others go first."""
    shop = site.authority(robots)
    plans = [shop.url(path) for path in ("/page", "/login")]
    settings = obey(DOWNLOADER_MIDDLEWARES={LOGIN: order})
    result = (await crawl_under(mode, settings=settings, plans=plans, timeout=60)).check()
    assert sorted(result.downloaded) == sorted(plans)
    assert [hit.path for hit in shop.page_hits] == ["/login", "/page"]
    assert order == 50 or min(gaps(shop)) >= 0.15
