"""One refresh, and the requests that wait for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import CancelledError, Deferred

from scrapy_rep.access.entry import Entry
from scrapy_rep.access.policy import Policy, standing
from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.sites.single_flight import SingleFlight
from tests.scripted import settle

NOW = 1_700_000_000.0
RESULT = CachedRules(Entry(), standing(None, NOW, Policy()), None, NOW)


def waiting(flight: SingleFlight, page: Any, seconds: float = 30.0) -> Deferred[CachedRules]:
    """One more request that waits."""
    return deferred_from_coro(flight.wait(seconds, page))


@ensureDeferred
async def test_every_request_gets_the_one_result() -> None:
    """Those that wait, and one that comes when the result is there already."""
    flight = SingleFlight()
    several = [waiting(flight, number) for number in range(3)]
    await settle()
    assert list(flight.waiters.values()) == [0, 1, 2]
    flight.resolve(RESULT)
    assert [await one for one in several] == [RESULT] * 3
    assert await flight.wait(0.0, "late") is RESULT
    assert flight.waiters == {}


@ensureDeferred
async def test_a_flight_that_is_lost_holds_up_no_request() -> None:
    """Each waits for its own time, and then gives up; the others wait on."""
    flight = SingleFlight()
    patient, hasty = waiting(flight, "patient"), waiting(flight, "hasty", seconds=0.01)
    with pytest.raises(DeadlineError):
        await hasty
    assert list(flight.waiters.values()) == ["patient"]
    flight.resolve(RESULT)
    assert await patient is RESULT


@ensureDeferred
async def test_a_cancelled_request_ends_alone() -> None:
    """The flight belongs to no request."""
    flight = SingleFlight()
    first, second = waiting(flight, 1), waiting(flight, 2)
    await settle()
    first.addErrback(lambda failure: failure.trap(CancelledError, asyncio.CancelledError))
    first.cancel()
    flight.resolve(RESULT)
    assert await second is RESULT
