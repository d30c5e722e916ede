"""The interval between two requests to a host lasts from one run of a job to the next.

RFC 9309 section 2.2.4 leaves Crawl-delay open; a site does not know of runs.
"""

from __future__ import annotations

from pathlib import Path

from pytest_twisted import ensureDeferred

from tests.crawl.harness import crawl
from tests.crawl.pacing import gaps
from tests.crawl.plugin import obey
from tests.site import Site

SLOW = "User-agent: *\nCrawl-delay: 1.5\n"


@ensureDeferred
async def test_the_first_page_of_a_resumed_job_comes_an_interval_after_its_start(
    site: Site, tmp_path: Path
) -> None:
    """When the last request of the earlier run ended is not known, but it was before this run."""
    slow = site.authority(SLOW)
    settings = obey(JOBDIR=str(tmp_path), CLOSESPIDER_PAGECOUNT=1)
    plans = [slow.url(f"/{number}") for number in range(2)]
    first = await crawl(settings=settings, plans=plans)
    second = await crawl(settings=settings, plans=[])
    assert sorted([*first.downloaded, *second.downloaded]) == plans
    assert min(gaps(slow)) >= 1.5


@ensureDeferred
async def test_the_first_page_of_a_new_job_does_not_wait(site: Site, tmp_path: Path) -> None:
    """Nothing was requested before."""
    slow = site.authority("User-agent: *\nCrawl-delay: 60\n")
    settings = obey(JOBDIR=str(tmp_path))
    result = (await crawl(settings=settings, plans=[slow.url("/")], timeout=50)).check()
    assert result.downloaded == [slow.url("/")]
