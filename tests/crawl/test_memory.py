"""A crawl may take days, and remembers no request that has ended."""

from __future__ import annotations

import gc
import logging
from typing import Any

import pytest

from scrapy_rep.frontier.frontier import frontier_of
from tests.crawl.harness import visit
from tests.crawl.plugin import RULES
from tests.replies import Reply
from tests.site import Site


@pytest.mark.parametrize(
    "robots",
    [
        RULES,
        "User-agent: *\nDisallow: /\n",
        "User-agent: *\nCrawl-delay: 0.05\n",
        "User-agent: *\nContent-Usage: train-ai=n\nAllow: /\n",
        Reply(503, ""),
    ],
    ids=["allowed", "forbidden", "paced", "with preferences", "unreachable"],
)
async def test_no_request_is_remembered_after_its_end(
    site: Site, robots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each page of a crawl would keep its request until the end."""
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # records keep requests
    shop = site.authority(robots)
    result = await visit([shop.url(f"/{number}") for number in range(8)], REP_RETRY_DELAYS=[])
    assert len(result.endings) == 8
    frontier = frontier_of(result.crawler)
    assert frontier is not None
    states = frontier.states
    del result, frontier
    gc.collect()
    assert len(states) == 0
