"""How coroutines wait, and for how long."""

from __future__ import annotations

import time
from time import monotonic

import pytest
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.awaiting import DeadlineError, sleep, with_timeout
from tests.timed import timed

pytestmark = timed


async def answered(after: float) -> str:
    """An answer that comes so late, and takes some iterations of the loop to get here."""
    await sleep(after)
    for _ in range(5):
        await sleep(0)
    return "answer"


@pytest.mark.parametrize("stall", [0.2, 0.6])
async def test_an_answer_that_came_while_the_loop_stood_still_is_read(stall: float) -> None:
    """The time limit passed only because nothing was looked at."""
    call_later(0.05, time.sleep, stall)
    assert await deferred_from_coro(with_timeout(0.15, answered(0.1))) == "answer"


@pytest.mark.parametrize("stall", [0.0, 0.2, 0.6])
async def test_what_never_comes_is_waited_for_once_more_at_most(stall: float) -> None:
    """For no longer than the limit, however long the loop stood still."""
    never: Deferred[None] = Deferred()

    async def work() -> None:
        await maybe_deferred_to_future(never)

    call_later(0.05, time.sleep, stall)
    begun = monotonic()
    with pytest.raises(DeadlineError):
        await deferred_from_coro(with_timeout(0.15, work()))
    assert monotonic() - begun < max(0.15, 0.05 + stall) + 0.15 + 0.1
