"""A store that fails again and again is left alone for a while, and the log says so twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_rep.sites.outage import GET, LEASE, PUT, TOGETHER, TURN, Outage
from scrapy_rep.stats import RepStats
from scrapy_rep.stores import StoreError
from tests.scripted import Counts

BEGINS = (
    "The robots.txt store fails (no route): each worker fetches for itself and, if this lasts, "
    "keeps the pace of a site by itself"
)


class Watched:
    """The policy for a store that does as it is told, by a clock of the test's own."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now = 100.0
        self.counts = Counts()
        self.asked = 0
        self.works = True
        self.outage = Outage(0.2, RepStats(self.counts), lambda: self.now)
        self._caplog = caplog

    @property
    def said(self) -> list[str]:
        """The lines in the log."""
        return self._caplog.messages

    async def ask(self, question: str = GET, *, works: bool | None = None, host: str = "") -> bool:
        """Ask once, a moment after what was asked before; return whether there was an answer."""
        self.now += 0.001 + TOGETHER
        self.works = self.works if works is None else works
        try:
            await self.tell(question, self._answer, host=host)
        except StoreError:
            return False
        return True

    def tell(self, question: str, ask: Callable[[], Any], host: str = "") -> Deferred[Any]:
        """Ask what is to be answered by a number."""
        return deferred_from_coro(self.outage.ask(question, (int,), ask, host=host))

    async def fail(self, times: int, question: str = GET) -> None:
        """Ask so often in vain."""
        for _ in range(times):
            assert not await self.ask(question, works=False)

    def _answer(self) -> int:
        self.asked += 1
        if not self.works:
            raise StoreError("no route")
        return self.asked


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    """A store that has been in use."""
    return Watched(caplog)


async def test_three_failures_in_a_row_leave_it_alone_for_a_second(watched: Watched) -> None:
    """Two failures and a success do nothing."""
    await watched.ask()
    for _ in range(5):
        await watched.fail(2)
        assert await watched.ask(works=True)
    assert watched.said == []
    await watched.fail(3)
    assert watched.said == [BEGINS]
    asked = watched.asked
    await watched.fail(5)
    assert watched.asked == asked
    assert watched.counts["robotstxt/store/error"] == 18
    watched.now += 1.0
    assert await watched.ask(works=True)
    assert await watched.ask()
    assert watched.said == [BEGINS, "The robots.txt store answers again after 2 s"]


async def test_pauses_double_up_to_half_a_minute(watched: Watched) -> None:
    """An outage of seconds costs seconds, a long one two questions a minute; then all is as new."""
    await watched.ask()
    await watched.fail(3)
    for pause in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0):
        asked = watched.asked
        watched.now += pause - 0.2
        await watched.fail(1)
        assert watched.asked == asked
        watched.now += 0.1
        await watched.fail(1)
        assert watched.asked == asked + 1
    watched.now += 30.0
    assert await watched.ask(works=True)
    await watched.fail(3)
    watched.now += 1.0
    assert await watched.ask(works=True)


async def test_after_a_pause_one_question_decides(watched: Watched) -> None:
    """One of many is let through; while nothing is heard of it, no other is for a pause."""
    await watched.ask()
    await watched.fail(3)
    watched.now += 1.0
    answer: Future[int] = Future()
    with pytest.raises(StoreError, match=r"within 0\.2 s"):
        await watched.tell(GET, lambda: answer)
    with pytest.raises(StoreError, match="left alone"):
        await watched.tell(GET, lambda: answer)
    watched.now += 2.0
    assert await watched.ask(works=True)


async def test_failures_that_come_together_count_as_one(watched: Watched) -> None:
    """A connection that breaks fails all that was under way on it."""
    await watched.ask()
    for _ in range(50):
        watched.outage.failed(GET, StoreError("reset"))
    assert await watched.ask(works=True)
    assert watched.said == []


async def test_failures_in_quick_succession_count_after_a_while(watched: Watched) -> None:
    """A broad crawl asks a hundred times a second."""
    await watched.ask()
    for _ in range(10):
        watched.outage.failed(GET, StoreError("no route"))
        watched.now += 0.05
    assert watched.said == [BEGINS]


@pytest.mark.parametrize("question", [GET, LEASE, TURN, PUT])
async def test_what_never_worked_is_said_to_fail_at_once(watched: Watched, question: str) -> None:
    """A short crawl may ask no second question. It is said once."""
    for _ in range(2):
        await watched.fail(1, question)
        assert watched.said == [BEGINS]


async def test_turns_are_asked_for_all_the_same(watched: Watched) -> None:
    """The requests that need one wait; and one that is answered ends the outage for all."""
    await watched.fail(3)
    for _ in range(10):
        await watched.fail(1, TURN)
    assert watched.asked == 13
    assert await watched.ask(TURN, works=True)
    assert await watched.ask(GET)
    assert len(watched.said) == 2


async def test_questions_fail_by_themselves(watched: Watched) -> None:
    """A locked file can be read; of a cluster, the server that keeps one host may be down."""
    await watched.ask()
    await watched.ask(LEASE)
    for _ in range(3):
        await watched.ask(TURN, works=True, host="b.example")
        await watched.ask(TURN, works=False, host="a.example")
        assert await watched.ask(LEASE, works=True)
        assert await watched.ask(GET)
    assert watched.said == [BEGINS]
    assert await watched.ask(TURN, host="a.example")
    assert len(watched.said) == 2


async def test_a_turn_that_is_granted_ends_an_outage_of_leases(watched: Watched) -> None:
    """Both are written; and no lease is asked for once all sites are known."""
    await watched.fail(1, LEASE)
    assert await watched.ask(TURN, works=True)
    assert len(watched.said) == 2


async def test_a_put_that_is_taken_ends_no_outage(watched: Watched) -> None:
    """It is only queued."""
    await watched.fail(3)
    await watched.ask(PUT, works=False)
    for _ in range(3):
        assert await watched.ask(PUT, works=True)
    assert watched.said == [BEGINS]


@pytest.mark.parametrize("answer", ["text", None, ("token", 0.0)])
async def test_an_answer_of_another_kind_is_a_failure(watched: Watched, answer: Any) -> None:
    """A custom store may return anything, at once or later."""
    later: Future[Any] = Future()
    later.set_result(answer)
    for given in (answer, later):
        with pytest.raises(StoreError, match="get returned"):
            await watched.tell(GET, lambda given=given: given)
    assert watched.counts["robotstxt/store/error"] == 2


async def test_what_nothing_waits_for_is_not_done_any_more(watched: Watched) -> None:
    """A slow store has time for what is put. A turn is asked for again with the same token."""
    for question, is_cancelled in ((GET, True), (LEASE, True), (TURN, False)):
        answer: Future[int] = Future()
        with pytest.raises(StoreError, match="did not answer"):
            await watched.tell(question, lambda answer=answer: answer)  # type: ignore[misc]
        assert answer.cancelled() is is_cancelled
