"""A recorded crawl that is decided again by another document, and a real crawl by that document."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep.recording.recorded_run import RecordedRun
from scrapy_rep.recording.replay import Replay, Result
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.crawl.harness import crawl
from tests.crawl.plugin import NOTHING, obey
from tests.crawl.test_replay import archives_in, index_of, lines_of
from tests.replies import Reply, redirect
from tests.site import Authority, Site

CHAINS = (5, 6, 8, 21)
"""Redirects that lead to an answer: profiles follow 5 or 20, and a setting 7."""
FOLLOWED = {"1994": 20, "1996": 20, "kollar": 20}
ENDS = {
    "rules": Reply.text(NOTHING),
    "gone": Reply(404),
    "denied": Reply(403),
    "down": Reply(503),
}
TEXTS = (
    "User-agent: *\nDisallow: /a\nAllow: /a/b\n",
    "User-agent: *\nAllow: /a\nDisallow: /\n",
    "User-agent: *\nDisallow: /*b$\n",
    "User-agent: *\n\nDisallow: /\n",
)


def chain(site: Site, length: int, end: Reply) -> Authority:
    """A site whose robots.txt is that many redirects away."""
    pages = {f"/r{number}": redirect(f"/r{number + 1}") for number in range(1, length)}
    return site.authority(redirect("/r1"), pages={**pages, f"/r{length}": end})


def urls_of(site: Site) -> list[str]:
    """Two pages of each of many sites."""
    shops = [chain(site, length, end) for length in CHAINS for end in ENDS.values()]
    shops += [site.authority(one) for one in (*TEXTS, *map(Reply, (401, 402, 403, 404)))]
    return [shop.url(path) for shop in shops for path in ("/a/b", "/c")]


async def recorded(urls: list[str], folder: Path, **settings: Any) -> dict[str, bool]:
    """Which URLs a crawl fetches; its records are in the folder."""
    folder.mkdir()  # noqa: ASYNC240
    files = {"REP_DECISION_LOG": str(folder / "log"), "REP_WARC": str(folder / "robots.warc.gz")}
    settings = obey(**files, REP_DECISIONS="all", **settings)
    result = (await crawl(settings=settings, plans=urls)).check(["is unreachable"])
    return {url: result.kind(url) == "downloaded" for url in urls}


def decided(folder: Path, profile: str) -> dict[str, bool | None]:
    """What a replay by a profile allows; None where the archive does not tell."""
    run, *lines = lines_of(folder / "log")
    with index_of(archives_in(folder)) as index:
        replay, of_run, other = Replay(index), RecordedRun(run), RecordedRun(run, profile)
        found = {}
        for line in lines:
            assert replay.decide(line, of_run).result is Result.AGREES
            verdict = replay.decide(line, other, compares=False).verdict
            found[line["url"]] = None if verdict is None else verdict.allowed
        return found


def untold(urls: list[str], followed: int, limit: int) -> set[str]:
    """The URLs of which the archive of a crawl does not tell what one by another limit finds.

    `followed` is how many redirects the crawl followed. A failure after more redirects than the
    limit is not known to be one of them.
    """
    sites = [(length, end) for length in CHAINS for end in ENDS for _ in ["/a/b", "/c"]]
    return {
        url
        for url, (length, end) in zip(urls, sites, strict=False)
        if followed < min(length, limit) or (end == "down" and limit < length <= followed)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen",
    [{}, {"REP_ACCESS_DENIED": "allow"}, {"REP_MAX_REDIRECTS": 7, "REP_ACCESS_DENIED": "disallow"}],
    ids=["nothing set", "access set", "redirects set"],
)
@ensureDeferred
async def test_replay_by_another_profile_decides_as_a_crawl_by_it(
    site: Site, tmp_path: Path, chosen: dict[str, Any]
) -> None:
    """With the other settings that the recorded crawl had set, and the defaults of the profile."""
    urls = urls_of(site)
    expected = {
        profile: await recorded(urls, tmp_path / profile, REP_PROFILE=profile, **chosen)
        for profile in PROFILES
    }
    limits = {name: chosen.get("REP_MAX_REDIRECTS", FOLLOWED.get(name, 5)) for name in PROFILES}
    for first, profile in product(PROFILES, PROFILES):
        found = decided(tmp_path / first, profile)
        assert {url for url in urls if found[url] is None} == untold(
            urls, limits[first], limits[profile]
        ), (first, profile)
        for url in urls:
            assert found[url] in (None, expected[profile][url]), (first, profile, url)
