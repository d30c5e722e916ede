"""What a robots.txt asks for, and what a host makes of all that is asked for."""

from __future__ import annotations

import random
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.requested_pace import RequestedPace
from scrapy_rep.robotparser import RepRobotParser
from scrapy_rep.robotstxt.pace import LONGEST_DELAY
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from scrapy_rep.waiting.hosts import PacedHost
from tests.rows import rows
from tests.scripted import Clock

DAY = 86_400.0


def pace_of(text: str, agent: str = "mybot") -> RequestedPace:
    """What a robots.txt asks of an agent."""
    robots = RobotsTxt.parse(text.encode("utf-8", "surrogateescape"))
    return RequestedPace((agent,), robots.pace(agent).interval)


def asker(port: int = 80) -> Any:
    """One authority of the host, and the agent it asks."""
    return Authority("http", "a.example", port), ("mybot",)


def host_with(least: float = 0.0) -> PacedHost:
    """A host that asks for nothing yet."""
    return PacedHost("a.example", least)


def values(seed: int, count: int) -> list[str]:
    """What might stand behind `Crawl-delay:`; the odd ones of the world are tried elsewhere."""
    chance, characters = random.Random(seed), "0123456789.,eE+-/smhd nif\t%"
    return ["".join(chance.choices(characters, k=chance.randint(1, 12))) for _ in range(count)]


@rows("key", ["Crawl-delay", "Request-rate"])
def test_no_value_is_out_of_range(key: str) -> None:
    """Five hundred values of each record: none raises, none is negative, endless or no number."""
    for value in values(seed=1, count=500):
        text = f"User-agent: *\n{key}: {value}\nDisallow: /private\n"
        robots = RobotsTxt.parse(text.encode("utf-8"))
        delay = RepRobotParser(robots).crawl_delay("mybot")
        assert delay is None or 0 <= delay <= LONGEST_DELAY, value
        pace = pace_of(text)
        assert 0 <= pace.interval <= LONGEST_DELAY, value
        assert 0 <= pace.kept(60.0) <= 60, value
        assert not robots.allowed("https://e.org/private", "mybot"), value


@rows(
    "lines, seconds",
    [
        ("Crawl-delay: 2.5", 2.5),
        ("crawl delay: 2", 2.0),
        ("Crawl-delay: 2\nCrawl-delay: 3\nCrawl-delay: 1", 3.0),
        ("Request-rate: 2/1", 0.5),
        ("Request-rate: 1/10m", 600.0),
        ("Request-rate: 1/2h", 7_200.0),
        ("Request-rate: 30/1m", 2.0),
        ("Request-rate: 1/5\nCrawl-delay: 4", 5.0),
        ("Request-rate: 1/5\nCrawl-delay: 6", 6.0),
        ("Request-rate: 1/5 0000-0100\nRequest-rate: 1/2", 5.0),
        ("Request-rate: 1/5 0200-0300\nVisit-time: 0400-0500", 5.0),
        ("Crawl-delay: 0", 0.0),
        ("Crawl-delay: -1", 0.0),
        ("Request-rate: 0/5\nRequest-rate: 5/0", 0.0),
    ],
)
def test_the_politest_value_counts(lines: str, seconds: float) -> None:
    """Of all Crawl-delay and Request-rate records, at any time of the day, the longest interval."""
    pace = pace_of(f"User-agent: mybot\n{lines}\nDisallow:\n\nUser-agent: *\nCrawl-delay: 99\n")
    assert pace.interval == seconds


def test_a_pace_lasts_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 9309 2.4: then it is forgotten, unless a request waits because of it."""
    clock = Clock()
    monkeypatch.setattr("scrapy_rep.waiting.hosts.monotonic", clock)
    host = host_with()
    host.ask(asker(1), 9.0)
    clock.now += DAY - 1
    host.ask(asker(2), 5.0)
    assert host.interval == 9
    clock.now += 1
    host.coming = Request("http://a.example/")
    host.ask(asker(2), 5.0)
    assert host.interval == 9
    host.coming = None
    host.ask(asker(2), 5.0)
    assert host.interval == 5


def test_what_is_asked_for_anew_takes_the_place_of_the_old() -> None:
    """A refresh may ask for more, for less, or for nothing."""
    host = host_with()
    for seconds in (5, 9, 2):
        host.ask(asker(), seconds)
        assert (host.interval, host.asked_by(asker())) == (seconds, seconds)
    host.withdraw(asker())
    assert (host.interval, host.asked_by(asker()), host.asks) == (0.0, 0.0, False)


def test_a_host_heeds_a_hundred_askers() -> None:
    """Past that the least polite go, so that no host grows with the ports it has."""
    host = host_with()
    for seconds in [*range(1, 500), 1]:
        host.ask(asker(seconds), seconds)
    assert host.interval == 499
    assert len(host._askers) == 100


def test_the_operators_delay_bounds_the_interval_from_below() -> None:
    """Where nothing is asked, there is no interval."""
    host = host_with(2.0)
    host.ask(asker(), 1.0)
    assert host.interval == 2
    host.ask(asker(), 3.0)
    assert host.interval == 3
    host.withdraw(asker())
    assert host.interval == 0
