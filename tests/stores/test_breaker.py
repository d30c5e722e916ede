"""A server that fails again and again is left alone for a while."""

from __future__ import annotations

from scrapy_rep.stores.breaker import Breaker


def test_three_failures_in_a_row_open_it_for_thirty_seconds() -> None:
    """Two failures and a success do nothing; three shut the server out."""
    moment = [100.0]
    breaker = Breaker(clock=lambda: moment[0])
    for _ in range(10):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
    assert breaker.admits()
    for _ in range(3):
        breaker.failed()
    assert not breaker.admits()
    assert breaker.open
    moment[0] += 29.9
    assert not breaker.admits()


def test_after_the_pause_one_attempt_decides() -> None:
    """One of many is let through; its failure begins a new pause, its success ends it all."""
    moment = [100.0]
    breaker = Breaker(clock=lambda: moment[0])
    for _ in range(3):
        breaker.failed()
    moment[0] += 30.0
    assert [breaker.admits() for _ in range(4)] == [True, False, False, False]
    breaker.failed()
    moment[0] += 29.9
    assert not breaker.admits()
    moment[0] += 0.2
    assert breaker.admits()
    breaker.succeeded()
    assert [breaker.admits() for _ in range(4)] == [True] * 4
