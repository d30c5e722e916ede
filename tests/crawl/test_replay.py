"""Recorded crawls are decided again from their archives: all agree, and each change is found."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep.recording.log_reader import Line, read_log
from scrapy_rep.recording.recorded_run import RecordedRun
from scrapy_rep.recording.replay import Finding, Replay
from scrapy_rep.recording.warc_reader import ArchiveIndex
from tests.crawl.clock import Ahead, take_over
from tests.crawl.recorded_crawl import RecordedCrawl
from tests.site import Site


def index_of(paths: list[Path]) -> ArchiveIndex:
    """The records of some archives."""
    archives = ArchiveIndex()
    for path in paths:
        assert archives.add(str(path))
    return archives


def lines_of(log: Path) -> list[dict[str, Any]]:
    """The lines of a log, checked against the schema."""
    found = list(read_log(str(log)))
    assert all(isinstance(line, Line) for line in found)
    return [line.fields for line in found if isinstance(line, Line)]


def findings(log: Path, archives: list[Path]) -> list[tuple[Finding, str, dict[str, Any]]]:
    """What comes of each decision."""
    with index_of(archives) as index:
        replay, runs, found = Replay(index), {}, []
        for line in lines_of(log):
            if line["type"] == "run":
                runs[line["crawl"]] = RecordedRun(line)
            else:
                one = replay.decide(line, runs[line["crawl"]])
                found.append((one.finding, one.why, line))
        return found


def disagreeing(found: list[tuple[Finding, str, dict[str, Any]]]) -> list[Any]:
    """Those that neither agree nor follow from something else."""
    return [one for one in found if one[0] in (Finding.DIFFERS, Finding.UNKNOWN)]


def overrides_for(recorded: RecordedCrawl) -> list[dict[str, Any]]:
    """One of each kind, for sites that come first."""
    until = (datetime.now(timezone.utc).date() + timedelta(days=3)).isoformat()
    local = recorded.folder / "local-robots.txt"
    local.write_bytes(b"User-agent: *\nDisallow: /a\n")
    kinds = [
        {"action": "allow", "paths": ["/a", "/*.gif"]},
        {"action": "forbid", "paths": ["/b"]},
        {"action": "unreachable-is-allowed"},
        {"action": "profile", "profile": "google"},
        {"action": "agent", "agent": ["otherbot"]},
        {"action": "delay", "delay": 0},
        {"action": "file", "file": str(local)},
    ]
    about = {"reason": "ours", "by": "ops", "until": until}
    return [
        {"authority": site.url("/"), **kinds[number % len(kinds)], **about}
        for number, site in enumerate(recorded.sites[:42])
    ]


async def crawled(site: Site, folder: Path, clock: Ahead, seed: int, count: int) -> RecordedCrawl:
    """Four runs with one store: two with overrides, one days later, one by another document."""
    recorded = RecordedCrawl(site, folder, seed, count)
    overrides = overrides_for(recorded)
    await recorded.run(REP_OVERRIDES=overrides)
    clock.seconds = 3_000
    await recorded.run(REP_OVERRIDES=overrides)
    clock.seconds = 1.5 * 86_400
    await recorded.run(REP_OVERRIDES=overrides)
    clock.seconds = 9 * 86_400
    await recorded.run(REP_PROFILE="1996", REP_PREFERENCES="report")
    return recorded


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@ensureDeferred
async def test_a_random_crawl_agrees_with_its_archive(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """100 authorities of all outcomes, four runs with one store: every decision."""
    recorded = await crawled(site, tmp_path, take_over(monkeypatch), seed, 100)
    found = findings(recorded.log, recorded.archives)
    assert disagreeing(found) == []
    outcomes = {line["outcome"] for _, _, line in found}
    assert {"rules", "stale", "unavailable", "denied", "unreachable"} <= outcomes
    reasons = " ".join({line["reason"] for _, _, line in found})
    for word in ("rule", "no group", "override", "visit time", "asks for", "disallows train-ai"):
        assert word in reasons
    apart = [one for one in found if one[0] is Finding.ELSEWHERE]
    assert len(apart) < len(found) / 10
    assert {line["reason"] for _, _, line in apart} == {"dont_obey_robotstxt"}
