"""Claims, holds, and the slots of Scrapy's downloader that keep to them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
from scrapy.core.downloader import Slot

from scrapy_rep.claims import Claim, Hold
from scrapy_rep.protocol.extensions import LONGEST_DELAY, VisitTime
from scrapy_rep.protocol.rules import RobotsTxt
from scrapy_rep.robotparser import RepRobotParser
from scrapy_rep.scrapy_internals import pacing
from tests.scripted import Clock

MIDNIGHT = 1_700_006_400.0
HOUR = 3_600.0
DAY = 24 * HOUR


def claim_of(text: str, agent: str = "mybot") -> Claim:
    """What a robots.txt asks of an agent."""
    claim = Claim((agent,))
    claim.read(RobotsTxt.parse(text.encode("utf-8", "surrogateescape")))
    return claim


def values(seed: int, count: int) -> list[str]:
    """What stands behind `Crawl-delay:` in robots.txt files, and what might."""
    found = [
        "2500-0100",
        "0060-0100",
        "0000-2400",
        "nan",
        "inf",
        "-inf",
        "1e309",
        "1e400",
        "-1",
        "9" * 10_000,
        "1" + "0" * 4_000,
    ]
    found += [
        "1,5",
        "1s",
        "",
        " ",
        "1 2",
        "0x10",
        "1_000",
        "\u0661",
        "1.2.3",
        ".",
        "-0",
        "+1",
        "1e",
        "e1",
    ]
    found += [
        "0." + "0" * 5_000 + "1",
        "1e-400",
        "infinity",
        "NaN",
        "1/0",
        "0/1",
        "1/0s",
        "\x00",
        "\u00bd",
    ]
    chance = random.Random(seed)
    while len(found) < count:
        text = "".join(chance.choices("0123456789.,eE+-/smhd nif\t%", k=chance.randint(1, 12)))
        found.append(text)
    return found


@pytest.mark.parametrize("key", ["Crawl-delay", "Request-rate", "Visit-time"])
def test_no_value_is_out_of_range(key: str) -> None:
    """Five hundred values of each record: none raises, none is negative, endless or no number."""
    for value in values(seed=1, count=500):
        text = f"User-agent: *\n{key}: {value}\nDisallow: /private\n"
        robots = RobotsTxt.parse(text.encode("utf-8"))
        delay = RepRobotParser(robots).crawl_delay("mybot")
        assert delay is None or 0 <= delay <= LONGEST_DELAY, value
        claim = claim_of(text)
        hold = Hold(0.0, 60.0, Clock())
        hold.add(claim, idle=True)
        assert 0 <= claim.longest <= LONGEST_DELAY, value
        assert 0 <= hold.interval <= 60, value
        window = robots.visit_time("mybot")
        assert window is None or 0 <= window.start < 1_440, value
        assert not robots.allowed("https://e.org/private", "mybot"), value


@pytest.mark.parametrize(
    ("lines", "seconds"),
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
        ("Request-rate: 1/5 0200-0001\nRequest-rate: 1/2", 2.0),
        ("Request-rate: 1/5 0200-0300", 0.0),
        ("Crawl-delay: 0", 0.0),
        ("Crawl-delay: -1", 0.0),
        ("Request-rate: 0/5\nRequest-rate: 5/0", 0.0),
    ],
)
def test_the_politest_value_counts(lines: str, seconds: float) -> None:
    """Of all Crawl-delay and Request-rate records in force just now, the longest interval."""
    claim = claim_of(f"User-agent: mybot\n{lines}\nDisallow:\n\nUser-agent: *\nCrawl-delay: 99\n")
    assert claim.asked(MIDNIGHT + 120) == seconds


def test_a_pace_is_of_the_agents_right_above_it() -> None:
    """A line for one crawler is none for the next, although their rules are one group's."""
    text = "User-agent: a\nCrawl-delay: 10\n\nUser-agent: b\nUser-agent: *\nDisallow: /x\n"
    assert [claim_of(text, agent).longest for agent in ("a", "b", "c")] == [10.0, 0.0, 0.0]
    robots = RobotsTxt.parse(text.encode())
    assert not any(robots.allowed("https://e.org/x", agent) for agent in ("a", "b", "c"))


def test_rates_of_several_windows_take_turns() -> None:
    """A slower rate by day, a faster one by night; the last minute that a window names is in it."""
    claim = claim_of("User-agent: *\nRequest-rate: 5/1m 0200-2259\nRequest-rate: 20/1m 2300-0159\n")
    asked = {hours: claim.asked(MIDNIGHT + hours * HOUR) for hours in (0, 1.99, 2, 12, 22.99, 23.0)}
    assert asked == {0: 3.0, 1.99: 3.0, 2: 12.0, 12: 12.0, 22.99: 12.0, 23.0: 3.0}
    assert claim.longest == 12.0


def test_windows_open_and_close_by_utc() -> None:
    """Visit-time, past midnight too; at the time it names it opens, at the other it is closed."""
    day, night, always = VisitTime(360, 525), VisitTime(1_380, 60), VisitTime(300, 300)
    hours = (0, 5.99, 6, 8.74, 8.75, 23)
    assert [day.covers(MIDNIGHT + h * HOUR) for h in hours] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert [night.covers(MIDNIGHT + h * HOUR) for h in (22.9, 23, 24, 25)] == [
        False,
        True,
        True,
        False,
    ]
    assert all(always.covers(MIDNIGHT + h * HOUR) for h in range(24))
    assert day.opening(MIDNIGHT) == MIDNIGHT + 6 * HOUR
    assert day.opening(MIDNIGHT + 9 * HOUR) == pytest.approx(MIDNIGHT + 30 * HOUR)
    assert str(day) == "0600-0845 UTC"


def test_many_rates_are_no_burden() -> None:
    """A hostile file of 20,000 rates in as many windows leaves the slowest two dozen."""
    lines = [
        f"Request-rate: {number + 1}/9999 {hour:02}{minute:02}-2359"
        for number, (hour, minute) in enumerate((n // 60 % 24, n % 60) for n in range(20_000))
    ]
    claim = claim_of("User-agent: *\n" + "\n".join(lines))
    assert len(claim.rates) == 24
    assert claim.longest == 9_999.0


def test_a_claim_lasts_for_a_day() -> None:
    """RFC 9309 2.4: then it is forgotten, unless somebody waits because of it."""
    clock = Clock()
    hold = Hold(0.0, 60.0, clock)
    slow, slower = (
        claim_of("User-agent: *\nCrawl-delay: 5"),
        claim_of("User-agent: *\nCrawl-delay: 9"),
    )
    hold.add(slower, idle=True)
    clock.now += DAY - 1
    hold.add(slow, idle=True)
    assert hold.interval == 9
    clock.now += 2
    hold.add(slow, idle=False)
    assert hold.interval == 9
    hold.add(slow, idle=True)
    assert hold.interval == 5


def test_a_slot_heeds_a_hundred_claims() -> None:
    """Past that the least polite go, so that no slot grows with the authorities in it."""
    hold = Hold(0.0, 3_600.0, Clock())
    claims = [claim_of(f"User-agent: *\nCrawl-delay: {seconds}") for seconds in range(1, 500)]
    for claim in [*claims, claims[0]]:
        hold.add(claim, idle=True)
    assert hold.interval == 499
    assert len(hold._claims) == 100


def test_the_operators_delay_bounds_a_hold_from_below() -> None:
    """The longest allowed from above; but where nothing is asked, nothing is held."""
    hold = Hold(2.0, 60.0, Clock())
    claim = claim_of("User-agent: *\nCrawl-delay: 1")
    hold.add(claim, idle=True)
    assert hold.interval == 2
    claim.delay = 3_600.0
    assert hold.interval == 60
    claim.forget()
    assert hold.interval == 0


def paced_slot(hold: Hold, delay: float = 0.0, jitter: float = 0.5) -> Slot:
    """A slot of Scrapy's, of eight requests at once, that keeps to a hold from now on."""
    slot = Slot(8, delay, jitter)
    pacing.keep(slot, hold, lambda _: None)
    return slot


def test_a_paced_slot_keeps_the_interval_and_its_own_jitter() -> None:
    """Jitter varies the operator's own delay; the result never falls below what is asked for."""
    hold, claim = Hold(0.0, 60.0, Clock()), claim_of("User-agent: *\nCrawl-delay: 0.5")
    hold.add(claim, idle=True)
    slot = paced_slot(hold)
    assert {slot.download_delay() for _ in range(100)} == {0.5}
    slot = paced_slot(hold, delay=1.0)
    drawn = [slot.download_delay() for _ in range(1_000)]
    assert 0.5 <= min(drawn) < 0.6
    assert 1.4 < max(drawn) <= 1.5
    slot = paced_slot(hold, delay=0.4)
    drawn = [slot.download_delay() for _ in range(1_000)]
    assert min(drawn) == 0.5
    assert 0.55 < max(drawn) <= 0.6


def test_a_paced_slot_is_as_it_was_once_nothing_is_asked() -> None:
    """What AutoThrottle or another component set meanwhile is in force then, and not before."""
    hold, claim = Hold(0.0, 60.0, Clock()), claim_of("User-agent: *\nCrawl-delay: 5")
    hold.add(claim, idle=True)
    slot = paced_slot(hold, delay=1.0, jitter=0.0)
    assert (slot.delay, slot.concurrency, slot.free_transfer_slots()) == (5.0, 1, 1)
    slot.delay, slot.concurrency = 0.25, 4
    assert (slot.delay, slot.concurrency, slot.download_delay()) == (5.0, 1, 5.0)
    claim.forget()
    assert (slot.delay, slot.concurrency, slot.download_delay()) == (0.25, 4, 0.25)
    assert isinstance(slot, Slot)
    assert "delay=0.25" in str(slot)


@pytest.mark.parametrize("clock", [time.monotonic, time.time])
def test_the_first_interval_is_counted_from_now(clock: Callable[[], float]) -> None:
    """The end of the last download of a slot is not known; it may have been this very moment.

    Scrapy 2.14 notes when it sent a request by the time of day, newer versions otherwise.
    """
    hold = Hold(0.0, 60.0, Clock())
    hold.add(claim_of("User-agent: *\nCrawl-delay: 5"), idle=True)
    slot = Slot(8, 0.0, 0.0)
    slot.lastseen = clock() - 7.0
    pacing.keep(slot, hold, lambda _: None)
    assert slot.download_delay() == pytest.approx(12.0, abs=0.1)
    assert paced_slot(hold).download_delay() == 5.0  # nothing was sent there yet


def test_slots_of_another_class_can_be_paced() -> None:
    """A subclass that a project made stays one."""

    class OwnSlot(Slot):
        """A slot with something of its own."""

        __slots__ = ("own",)
        own: str

    hold = Hold(0.0, 60.0, Clock())
    hold.add(claim_of("User-agent: *\nCrawl-delay: 5"), idle=True)
    slot = OwnSlot(8, 0.0, 0.0)
    slot.own = "mine"
    pacing.keep(slot, hold, lambda _: None)
    assert isinstance(slot, OwnSlot)
    assert pacing.interval_of(slot) is hold
    assert (slot.own, slot.delay) == ("mine", 5.0)
