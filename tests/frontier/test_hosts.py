"""What a robots.txt asks for, and what a host makes of all that is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.access.authority import Authority
from scrapy_rep.frontier.hosts import PacedHost
from tests.scripted import Clock

DAY = 86_400.0


def asker(port: int = 80) -> Any:
    """One authority of the host, and the agent it asks."""
    return Authority("http", "a.example", port), ("mybot",)


def host_with(least: float = 0.0) -> PacedHost:
    """A host that asks for nothing yet."""
    return PacedHost("a.example", least, lambda name: False)


def test_a_pace_lasts_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 9309 2.4: then it is forgotten, unless a request waits because of it."""
    clock = Clock()
    monkeypatch.setattr("scrapy_rep.frontier.hosts.monotonic", clock)
    host = host_with()
    host.heed(asker(1), 9.0)
    clock.now += DAY - 1
    host.heed(asker(2), 5.0)
    assert host.interval == 9
    clock.now += 1
    host.reserved_for = Request("http://a.example/")
    host.heed(asker(2), 5.0)
    assert host.interval == 9
    host.reserved_for = None
    host.heed(asker(2), 5.0)
    assert host.interval == 5


def test_a_pace_whose_override_has_expired_lasts_for_a_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing withdraws it, and what the rules ask for may be no pace."""
    clock = Clock()
    monkeypatch.setattr("scrapy_rep.frontier.hosts.monotonic", clock)
    host = host_with()
    host.heed((asker()[0], ("override 1",)), 9.0)
    clock.now += DAY - 1
    host.withdraw(asker())
    assert host.interval == 9
    clock.now += 1
    host.withdraw(asker())
    assert not host.asks


def test_what_is_asked_for_anew_takes_the_place_of_the_old() -> None:
    """A refresh may ask for more, for less, or for nothing."""
    host = host_with()
    for seconds in (5, 9, 2):
        host.heed(asker(), seconds)
        assert (host.interval, host.asked_by(asker())) == (seconds, seconds)
    host.withdraw(asker())
    assert (host.interval, host.asked_by(asker()), host.asks) == (0.0, 0.0, False)


def test_a_host_heeds_a_hundred_askers() -> None:
    """Past that the least polite go, so that no host grows with the ports it has."""
    host = host_with()
    for seconds in [*range(1, 500), 1]:
        host.heed(asker(seconds), seconds)
    assert host.interval == 499
    assert len(host._asked) == 100
