"""Crawls with different settings share a store: each applies its own (RFC 9309 2.4, 2.5)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.crawl.harness import visit as crawl_of
from tests.crawl.plugin import RULES
from tests.crawl.sharing import CUSTOM, OURS, SharedStore
from tests.replies import Reply
from tests.rows import first
from tests.site import Authority, Hit, Site

DAY = 86_400.0


async def visit(shop: Authority, shared: SharedStore, **settings: Any) -> list[str]:
    """How a crawl of two pages of a site ends."""
    plans = [shop.url("/open"), shop.url("/private")]
    return (await crawl_of(plans, REP_STORE=shared.uri, **settings)).kinds


LONG = Reply(
    200, "User-agent: *\n" + "# padding\n" * 60_000 + "Disallow: /private\n", {"ETag": '"1"'}
)


def conditional(hit: Hit) -> Reply:
    """A long robots.txt that knows its validator."""
    return Reply(304, "") if hit.header("If-None-Match") == '"1"' else LONG


async def test_a_larger_limit_fetches_a_cut_file_again_in_full(
    site: Site, shared: SharedStore
) -> None:
    """REP_MAX_SIZE is raised: rules behind the old cut count, and no validator is sent.

    A crawl with the old limit may use the whole file.
    """
    shop = site.authority(conditional)
    for limit, kinds, hits in ((512_000, BOTH, 1), (1_000_000, OPEN, 2)):
        for _ in range(2):
            assert await visit(shop, shared, REP_MAX_SIZE=limit) == kinds
        assert len(shop.robots_hits) == hits
    await visit(shop, shared)
    assert len(shop.robots_hits) == 2
    assert [hit.header("If-None-Match") for hit in shop.robots_hits] == [None, None]


@pytest.mark.parametrize(
    ("fetches", "age", "reads"),
    [({"REP_PROFILE": "kollar"}, 2 * DAY, {}), ({}, 7_200, {"REP_MAX_TTL": 3_600})],
    ids=["profile", "REP_MAX_TTL"],
)
async def test_a_copy_is_used_as_long_as_its_reader_says(
    site: Site, shared: SharedStore, fetches: Any, age: float, reads: Any
) -> None:
    """Not as long as the crawl that has stored it would, by another profile or setting."""
    shop = site.authority(RULES)
    await visit(shop, shared, **fetches)
    shared.grow_older(shop, age)
    await visit(shop, shared, **fetches)
    assert len(shop.robots_hits) == 1
    await visit(shop, shared, **reads)
    assert len(shop.robots_hits) == 2


BOTH, OPEN = ["downloaded", "downloaded"], ["downloaded", "forbidden"]
ALPHA = {"USER_AGENT": "alpha/1.0"}
BETA = {"USER_AGENT": "beta/1.0"}


def refuses_alpha(hit: Hit, status: int = 403) -> Reply:
    """Rules for everybody but one crawler."""
    return Reply(status) if "alpha" in (hit.header("User-Agent") or "") else Reply(200, RULES)


@pytest.mark.parametrize("shared", first(1, OURS), indirect=True)
async def test_a_refusal_counts_for_the_crawler_that_got_it(
    site: Site, shared: SharedStore
) -> None:
    """RFC 9309 section 2.3.1.3: a 403 to one crawler is not "no rules" for another one.

    Neither fetches twice while what it was told is fresh.
    """
    for status in (402, 403):
        shop = site.authority(partial(refuses_alpha, status=status))
        for _ in range(2):
            assert await visit(shop, shared, **ALPHA) == BOTH
            assert await visit(shop, shared, **BETA) == OPEN
        agents = [hit.header("User-Agent") for hit in shop.robots_hits]
        assert agents == ["alpha/1.0", "beta/1.0"]


async def test_a_refusal_of_one_crawler_costs_no_copy_of_another(
    site: Site, shared: SharedStore
) -> None:
    """The rules that were known stay the last good copy of the crawler that was served."""
    shop = site.authority(refuses_alpha)
    await visit(shop, shared, **BETA)
    shared.grow_older(shop, 2 * DAY)
    assert await visit(shop, shared, **ALPHA) == BOTH
    shop.robots = Reply(503)
    assert await visit(shop, shared, **BETA) == OPEN
    assert len(shop.robots_hits) == 3


@pytest.mark.parametrize("shared", CUSTOM, indirect=True)
async def test_a_refusal_in_a_custom_store_is_told_to_no_other_crawler(
    site: Site, shared: SharedStore
) -> None:
    """A store that keeps octets keeps it for the crawler that got it."""
    shop = site.authority(refuses_alpha)
    for _ in range(2):
        assert await visit(shop, shared, **ALPHA) == BOTH
    assert await visit(shop, shared, **BETA) == OPEN
    assert len(shop.robots_hits) == (2 if shared.kind == "custom, blocking" else 3)
