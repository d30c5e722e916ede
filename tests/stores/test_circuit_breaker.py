"""What fails again and again is left alone for a while."""

from __future__ import annotations

from scrapy_rep.stores.circuit_breaker import CircuitBreaker


def used(moment: list[float], *limits: float, first: float | None = 1.0) -> CircuitBreaker:
    """A breaker of something that has worked before."""
    breaker = CircuitBreaker(*limits, first=first, clock=lambda: moment[0])  # type: ignore[arg-type]
    assert breaker.succeeded() is None
    return breaker


def failing(moment: list[float]) -> CircuitBreaker:
    """A breaker that is open since the moment."""
    breaker = used(moment)
    assert [breaker.failed() for _ in range(3)] == [False, False, True]
    return breaker


def test_three_failures_in_a_row_open_it() -> None:
    """Two failures and a success do nothing; three refuse all attempts for a second."""
    moment = [100.0]
    breaker = used(moment)
    for _ in range(10):
        assert not breaker.failed()
        assert not breaker.failed()
        assert breaker.succeeded() is None
    assert breaker.admits()
    assert not breaker.open
    breaker = failing(moment)
    assert not breaker.admits()
    assert breaker.open
    moment[0] += 0.9
    assert not breaker.admits()


def test_after_the_pause_one_attempt_decides() -> None:
    """One of many is let through; its failure begins a new pause, its success ends it all."""
    moment = [100.0]
    breaker = failing(moment)
    moment[0] += 1.0
    assert [breaker.admits() for _ in range(4)] == [True, False, False, False]
    assert not breaker.failed()
    moment[0] += 1.9
    assert not breaker.admits()
    moment[0] += 0.2
    assert breaker.admits()
    assert breaker.succeeded() is not None
    assert [breaker.admits() for _ in range(4)] == [True] * 4


def test_pauses_double_up_to_half_a_minute() -> None:
    """An outage of seconds costs seconds, a long one two attempts a minute; then all is as new."""
    moment = [100.0]
    breaker = failing(moment)
    for pause in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0):
        moment[0] += pause - 0.1
        assert not breaker.admits()
        moment[0] += 0.1
        assert breaker.admits()
        assert not breaker.failed()
    assert breaker.succeeded() is not None
    assert [breaker.failed() for _ in range(3)] == [False, False, True]
    moment[0] += 1.0
    assert breaker.admits()


def test_an_attempt_of_which_nothing_is_heard_holds_it_open_for_a_pause() -> None:
    """A probe that neither fails nor succeeds does not shut the door for ever."""
    moment = [100.0]
    breaker = failing(moment)
    moment[0] += 1.0
    assert breaker.admits()
    moment[0] += 2.0
    assert breaker.admits()


def test_it_counts_the_lookups_of_an_outage() -> None:
    """Those that failed and those that were refused count once each; nothing else does."""
    moment = [100.0]
    breaker = used(moment)
    breaker.failed(5)
    breaker.succeeded()  # no outage: two more would have opened it
    for lookups in (2, 0, 1):
        breaker.failed(lookups)
    assert [breaker.admits(lookups) for lookups in (1, 0, 1)] == [False] * 3
    assert breaker.succeeded() == 5
    assert breaker.succeeded() is None


def test_what_has_never_worked_is_said_to_fail_at_once() -> None:
    """A short crawl may make no further attempt. It is said once, and so is the end."""
    moment = [100.0]
    breaker = CircuitBreaker(first=1.0, clock=lambda: moment[0])
    assert [breaker.failed(1) for _ in range(2)] == [True, False]
    assert breaker.admits()
    assert breaker.succeeded() == 2
    assert breaker.succeeded() is None
    assert [breaker.failed(1) for _ in range(4)] == [False, False, True, False]
    assert breaker.succeeded() == 4
    breaker = CircuitBreaker(first=1.0, clock=lambda: moment[0])
    assert [breaker.failed() for _ in range(5)] == [True, False, False, False, False]
    assert breaker.open


def test_without_a_first_pause_all_are_as_long() -> None:
    """Half a minute, or what its maker says."""
    moment = [100.0]
    breaker = used(moment, 2, 5.0, first=None)
    assert [breaker.failed() for _ in range(2)] == [False, True]
    for _ in range(3):
        moment[0] += 4.9
        assert not breaker.admits()
        moment[0] += 0.1
        assert breaker.admits()
        assert not breaker.failed()
