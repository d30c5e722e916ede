"""What a store keeps from one crawl to the next one, and to crawls with other settings.

RFC 9309 sections 2.3.1.4, 2.4 and 2.5.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from scrapy_rep.access import authority as protocol
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores import StoreError
from tests.crawl.clock import DAY, take_over
from tests.crawl.harness import RULED, open_and_private, visit
from tests.crawl.plugin import NOTHING, RULES
from tests.crawl.sharing import CUSTOM, OURS, CustomStore, SharedStore, key_of, shift
from tests.crawl.test_flights import Versions
from tests.replies import Reply
from tests.rows import first
from tests.site import Authority, Hit, Site


async def test_a_restart_fetches_no_robots_txt_and_judges_the_same(site: Site, stored: Any) -> None:
    """12 authorities, crawled twice with one SQLite file: 12 fetches, then none."""
    kinds: list[Any] = [RULES, "User-agent: *\nDisallow: /\nAllow: /open\n", Reply(404), NOTHING]
    authorities = [site.authority(kinds[number % len(kinds)]) for number in range(12)]
    plans = [a.url(path) for a in authorities for path in ("/", "/private/x", "/open")]
    first, again = await visit(plans, **stored), await visit(plans, **stored)
    assert again.by_url == first.by_url
    assert [len(authority.robots_hits) for authority in authorities] == [1] * 12
    assert sorted(set(first.kinds)) == RULED
    assert again.stats.get("robotstxt/request_count", 0) == 0
    assert again.stats.get("robotstxt/store/error", 0) == 0


async def test_with_a_job_directory_the_file_lies_there(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless REP_STORE says otherwise."""
    monkeypatch.chdir(tmp_path)
    authority = site.authority(RULES)
    plan = {"url": authority.url("/private/x"), "dont_filter": True}
    for _ in range(2):
        assert (await visit([plan], JOBDIR=str(tmp_path / "job"))).kinds == ["forbidden"]
    assert len(authority.robots_hits) == 1
    assert [*tmp_path.rglob("robots.db")] == [tmp_path / "job" / "robots.db"]  # noqa: ASYNC240


async def test_each_prefix_has_a_store_of_its_own(site: Site, stored: Any) -> None:
    """Three crawls with one file, of which two share a prefix."""
    shop = site.authority(RULES)
    for prefix, fetches in (("one", 1), ("two", 2), ("one", 2)):
        result = await visit([shop.url("/private/x")], **stored, REP_STORE_PREFIX=prefix)
        assert result.kinds == ["forbidden"]
        assert len(shop.robots_hits) == fetches


# --- crawls with different settings


async def ends(shop: Authority, shared: SharedStore, **settings: Any) -> list[str]:
    """How a crawl of two pages of a site ends."""
    return (await open_and_private(shop, REP_STORE=shared.uri, **settings)).kinds


LONG = "User-agent: *\n" + "# padding\n" * 60_000 + "Disallow: /private\n"


async def test_a_larger_limit_fetches_a_cut_file_anew(site: Site, shared: SharedStore) -> None:
    """REP_MAX_SIZE is raised: rules behind the old cut count, and no validator is sent.

    A crawl with the old limit may use the whole file.
    """
    shop = site.authority(Versions(LONG))
    for limit, kinds, hits in ((512_000, BOTH, 1), (1_000_000, RULED, 2)):
        for _ in range(2):
            assert await ends(shop, shared, REP_MAX_SIZE=limit) == kinds
        assert len(shop.robots_hits) == hits
    await ends(shop, shared)
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
    await ends(shop, shared, **fetches)
    shared.grow_older(shop, age)
    await ends(shop, shared, **fetches)
    assert len(shop.robots_hits) == 1
    await ends(shop, shared, **reads)
    assert len(shop.robots_hits) == 2


BOTH = ["downloaded", "downloaded"]
ALPHA = {"USER_AGENT": "alpha/1.0"}
BETA = {"USER_AGENT": "beta/1.0"}


def refuses_alpha(hit: Hit, status: int = 403) -> Reply:
    """Rules for everybody but one crawler."""
    return Reply(status) if "alpha" in (hit.header("User-Agent") or "") else Reply(200, RULES)


@pytest.mark.parametrize("shared", first(1, OURS), indirect=True)
async def test_a_refusal_is_for_the_crawler_that_got_it(site: Site, shared: SharedStore) -> None:
    """RFC 9309 section 2.3.1.3: a 403 to one crawler is not "no rules" for another one.

    Neither fetches twice while what it was told is fresh.
    """
    for status in (402, 403):
        shop = site.authority(partial(refuses_alpha, status=status))
        for _ in range(2):
            assert await ends(shop, shared, **ALPHA) == BOTH
            assert await ends(shop, shared, **BETA) == RULED
        agents = [hit.header("User-Agent") for hit in shop.robots_hits]
        assert agents == ["alpha/1.0", "beta/1.0"]


async def test_a_refusal_costs_no_copy_of_another_crawler(site: Site, shared: SharedStore) -> None:
    """The rules that were known stay the last good copy of the crawler that was served."""
    shop = site.authority(refuses_alpha)
    await ends(shop, shared, **BETA)
    shared.grow_older(shop, 2 * DAY)
    assert await ends(shop, shared, **ALPHA) == BOTH
    shop.robots = Reply(503)
    assert await ends(shop, shared, **BETA) == RULED
    assert len(shop.robots_hits) == 3


@pytest.mark.parametrize("shared", CUSTOM, indirect=True)
async def test_a_custom_store_tells_a_refusal_to_no_other(site: Site, shared: SharedStore) -> None:
    """A store that keeps octets keeps it for the crawler that got it."""
    shop = site.authority(refuses_alpha)
    for _ in range(2):
        assert await ends(shop, shared, **ALPHA) == BOTH
    assert await ends(shop, shared, **BETA) == RULED
    assert len(shop.robots_hits) == (2 if shared.kind == "custom, blocking" else 3)


# --- a failed fetch never costs the copy that a store keeps


def copy_of(shop: Authority, age: float) -> Entry:
    """Rules that were fetched so many seconds ago."""
    robots = key_of(shop).robots_uri
    return Entry(Answer(200, RULES.encode(), robots, fetched_at=time.time() - age))


@pytest.mark.parametrize("age", first(1, [DAY + 30, 30.0]))
@pytest.mark.parametrize("wrong", first(3, [3_600, -40 * DAY, 40 * DAY, -3_600]))
async def test_a_wrong_clock_costs_no_copy(
    site: Site, shared: SharedStore, monkeypatch: pytest.MonkeyPatch, wrong: float, age: float
) -> None:
    """A crawl whose clock is wrong fails to fetch: it costs no other crawl its copy.

    Where the clock is wrong by hours, that crawl follows the copy itself.
    """
    shop, other = site.authority(Reply(503)), site.authority(RULES)
    shared.keep(shop, copy_of(shop, age))
    plans = [shop.url("/open"), shop.url("/private"), other.url("/open")]
    for _ in range(2):
        with monkeypatch.context() as patch:
            shift(patch, take_over(patch), wrong)
            result = await visit(plans, REP_STORE=shared.uri)
        assert abs(wrong) > DAY or result.forbidden == plans[1:2]
    kept: Any = shared.kept(shop)
    assert kept.answer.body == RULES.encode()
    assert await ends(shop, shared) == RULED


class HangingStore(CustomStore):
    """Its first look-up fails after a while."""

    hangs = True

    def get(self, authority: protocol.Authority, crawler: str = "") -> Any:
        """Nothing, the first time."""
        answer: Future[Entry | None] = Future()
        if self.hangs:
            self.hangs = False
            error = StoreError("no answer in time")
            Timer(0.6, answer.set_exception, [error]).start()
        else:
            answer.set_result(self.entries.get(authority))
        return answer


@pytest.mark.parametrize("age", first(1, [30.0, DAY + 30]))
async def test_a_custom_store_that_hangs_costs_no_copy(site: Site, age: float) -> None:
    """The first look-up fails, the site answers 503: the store is asked once more."""
    shop = site.authority(Reply(503))
    CustomStore.entries.clear()
    CustomStore.entries[key_of(shop)] = copy_of(shop, age)
    result = await open_and_private(shop, REP_STORE=f"{__name__}.HangingStore")
    assert result.kinds == RULED
    kept: Any = CustomStore.entries[key_of(shop)]
    assert kept.answer.body == RULES.encode()
