"""A crawl that is started again with the same store (RFC 9309 section 2.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.crawl.harness import crawl, visit
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.replies import Reply
from tests.site import Site


async def test_a_restart_fetches_no_robots_txt_and_judges_the_same(
    site: Site, tmp_path: Path
) -> None:
    """12 authorities, crawled twice with one SQLite file: 12 fetches, then none."""
    kinds: list[Any] = [RULES, "User-agent: *\nDisallow: /\nAllow: /open\n", Reply(404), NOTHING]
    authorities = [site.authority(kinds[number % len(kinds)]) for number in range(12)]
    plans = [a.url(path) for a in authorities for path in ("/", "/private/x", "/open")]
    settings = obey(REP_STORE=f"sqlite://{tmp_path}/robots.db", CONCURRENT_REQUESTS=32)
    first = (await crawl(settings=settings, plans=plans)).check().by_url
    again = await crawl(settings=settings, plans=plans)
    assert again.check().by_url == first
    assert [len(authority.robots_hits) for authority in authorities] == [1] * 12
    assert sorted(set(first.values())) == ["downloaded", "forbidden"]
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


async def test_each_prefix_has_a_store_of_its_own(site: Site, tmp_path: Path) -> None:
    """`REP_STORE_PREFIX`: three crawls with one file, of which two share a prefix."""
    shop = site.authority(RULES)
    for prefix, fetches in (("one", 1), ("two", 2), ("one", 2)):
        settings = {"REP_STORE": f"sqlite://{tmp_path}/r.db", "REP_STORE_PREFIX": prefix}
        result = await visit([shop.url("/private/x")], **settings)
        assert result.forbidden == [shop.url("/private/x")]
        assert len(shop.robots_hits) == fetches
