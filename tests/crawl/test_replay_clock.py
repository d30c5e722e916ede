"""A replay of a run whose clock was set back while it crawled."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from twisted.python.failure import Failure

from tests.commands.running import Ended, robots
from tests.crawl.clock import Ahead, take_over
from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply, Reset
from tests.rows import first
from tests.site import Site

RESERVED = Reply(200, '[{"location": "/a", "tdm-reservation": 1}]')


class ClockSpider(RequestsSpider):
    """Makes one request after another, and moves the clock after so many pages."""

    def __init__(self, clock: Ahead, moves: dict[int, float], **arguments: Any) -> None:
        super().__init__(**arguments)
        self.clock, self.moves, self.pages = clock, moves, 0

    async def start(self) -> AsyncIterator[Any]:
        """The first request."""
        for request in self.following():
            yield request

    def following(self) -> Iterable[Any]:
        """The next request, if there is one."""
        return [self.request(**plan) for plan in self.plans[len(self.made) :][:1]]

    def found(self, response: Any) -> Iterable[Any]:
        """A page came."""
        self.pages += 1
        self.clock.seconds = self.moves.get(self.pages, self.clock.seconds)
        return self.following()

    def failed(self, failure: Failure) -> Iterable[Any]:
        """A request ended without a page."""
        super().failed(failure)
        return self.following()


def replay(folder: Path) -> tuple[Ended, list[dict[str, Any]]]:
    """The command, and what it prints."""
    log, archive = folder / "decisions.jsonl", folder / "robots.warc.gz"
    done = robots("replay", log, "--warc", archive, "--format", "jsonl")
    return done, [json.loads(line) for line in done.out.splitlines()]


async def replayed(
    site: Site, folder: Path, clock: Ahead, moves: dict[int, float]
) -> tuple[list[dict[str, Any]], Ended]:
    """What a replay says of a crawl during which the clock was moved."""
    outcomes = (RULES, Reply(404), Reply(503), Reply(403), Reset())
    shops = [site.authority(one) for one in outcomes]
    settings = obey(
        REP_DECISION_LOG=str(folder / "decisions.jsonl"),
        REP_DECISIONS="all",
        REP_WARC=str(folder / "robots.warc.gz"),
        REP_ACCESS_DENIED="disallow",
        REP_RETRY_DELAYS=[],
    )
    number = iter(range(1_000))
    plans = [
        {"url": shop.url(f"{path}{next(number)}"), "meta": {"dont_retry": True}}
        for _ in range(3)
        for shop in shops
        for path in ("/a", "/private", "/b")
    ]
    last = site.authority(RULES)
    plans.append({"url": last.url("/a")})
    result = await crawl(ClockSpider, settings, plans=plans, clock=clock, moves=moves)
    assert result.endings
    assert clock.seconds == [*moves.values()][-1]
    done, found = replay(folder)
    return found, done


@pytest.mark.parametrize("seconds", first(2, [-59.0, -61.0, -0.01, -30.0, -3_600.0, -90_000.0]))
@ensureDeferred
async def test_it_is_said_once_and_no_decision_differs(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Whatever the crawl still believed then, of rules, their absence, refusals and failures."""
    moves = {3: 50.0, 8: 50.0 + seconds}
    found, done = await replayed(site, tmp_path, take_over(monkeypatch), moves)
    (said,) = [one for one in found if one["finding"] == "time goes back"]
    assert f"{-seconds:,.3f} s before that of the line before it" in said["why"]
    others = [one for one in found if one is not said]
    assert all(one["finding"] == "cannot be decided" for one in others), others
    strange = [one for one in others if "the clock of its run was set back" not in one["why"]]
    assert strange == []
    # A fetch that was under way may be dated further ahead.
    assert len(others) <= (0 if seconds > -60 else 3), others
    assert done.status == 1
    assert done.err.endswith("; the time goes back once\n")


@pytest.mark.parametrize(
    ("moves", "steps"),
    first(
        2,
        [
            ({3: 3_600.0, 8: 9_000.0}, 0),
            ({3: -7_200.0, 6: 9_000.0, 8: -100_000.0}, 2),
            ({3: -40.0, 6: 10.0, 8: -50.0}, 2),
            ({3: -30.0, 5: -60.0, 7: -90.0, 9: -120.0}, 4),
        ],
    ),
)
@ensureDeferred
async def test_a_clock_that_is_set_again_and_again(
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moves: dict[int, float],
    steps: int,
) -> None:
    """Each step back is said; a step forward is like a long wait."""
    found, done = await replayed(site, tmp_path, take_over(monkeypatch), moves)
    said = [one for one in found if one["finding"] == "time goes back"]
    assert len(said) == steps
    others = [one for one in found if one["finding"] != "time goes back"]
    strange = [one for one in others if "the clock of its run was set back" not in one["why"]]
    assert strange == []
    # A fetch that was under way may be dated further ahead.
    assert len(others) == 0 or steps, others
    assert done.status == (1 if steps else 0)
