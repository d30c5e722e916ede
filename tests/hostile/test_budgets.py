"""No body and no URL costs more than it may.

RFC 9309 sections 2.5 and 3. Times are held against a calibration loop of this machine and given
generous room; memory is counted by the allocator.
"""

from __future__ import annotations

import gc
import random
import time
import tracemalloc
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TypeVar

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.pace import PACE_SPELLINGS
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE
from tests.benchmarks import inputs
from tests.timed import timed

Made = TypeVar("Made")
pytestmark = pytest.mark.usefixtures("others_set_aside")

AGENT = "mybot"
URL = "https://e.org/articles/2024/05/how-to-bake-bread?page=2"
LONG_URL = "https://e.org/" + "a" * 8_178

PARSE_AND_FIRST = 0.160
"""Seconds for a body and its first verdict, on a machine where the calibration takes 20 ms."""
VERDICT_ON_LONG_URL = 0.024
PACE = 0.060
"""Seconds for the pace of a group, in any profile."""
ROOM = 2.5
"""Other processes share the machine, and what they have in its caches."""


def rules(lines: list[str], agent: str = "*") -> bytes:
    """A group of disallow rules."""
    return "".join([f"User-agent: {agent}\n", *(f"Disallow: {line}\n" for line in lines)]).encode()


def agents(numbers: Iterable[int]) -> bytes:
    """The first lines of a group for crawlers with these numbers."""
    return b"".join(b"User-agent: bot%d\n" % number for number in numbers)


def nested() -> bytes:
    """Literals that begin each other, and others that fall between them."""
    lines = ["/a" + "b" * number for number in range(900)]
    return rules(lines + [line + "a" for line in lines[:100]])


def alike() -> bytes:
    """Wildcard rules whose literals share all their short pieces."""
    rnd = random.Random(1)
    return rules(["/*" + "".join(rnd.choices("ab", k=14)) for _ in range(18_000)])


def nested_floats() -> bytes:
    """Wildcard rules whose literals begin each other."""
    return rules(["/*b" + "a" * number for number in range(950)])


def any_order() -> bytes:
    """Wildcard rules with many pieces of one letter each."""
    rnd = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return rules(["/*a*" + "*".join(rnd.choices(letters, k=18)) for _ in range(9_000)])


def allowed_one_by_one() -> bytes:
    """Thousands of allow rules that share a piece, where all else is disallowed."""
    return b"User-agent: *\nDisallow: /\n" + b"".join(
        [b"Allow: /*aaaaa*%05d\n" % number for number in range(22_000)]
    )


BODIES: dict[str, Callable[[], bytes]] = {
    "runs of stars": lambda: rules(["/" + "*" * 1000 + "x"] * 400),
    "stars between letters": lambda: rules(["/" + "*a" * 2_000 + "*b"] * 100),
    "200,000 stars": lambda: rules(["/" + "*" * 200_000 + "b"]),
    "200,000 pieces": lambda: rules(["/" + "*a" * 200_000 + "b"]),
    "one line of 500 KB": lambda: rules(["/" + "a" * 500_000]),
    "one name of 500 KB": lambda: b"User-agent: " + b"a" * 500_000 + b"\nDisallow: /",
    "23,000 user-agent lines": lambda: b"User-agent: mybot\n" * 23_000 + b"Disallow: /x",
    "13,000 agents twice": lambda: agents([*range(13_000)] * 2) + b"Disallow: /",
    "1,000 agents over 1,000 rules": lambda: (
        agents(range(999)) + rules([f"/{number}" for number in range(1_000)])
    ),
    "100,000 groups": lambda: b"User-agent: a\nDisallow: /\n" * 100_000,
    "100,000 groups of ours": lambda: b"User-agent: *\nAllow:/\n" * 100_000,
    "512,000 newlines": lambda: b"User-agent: *" + b"\n" * 511_980 + b"Allow: /",
    "512,000 carriage returns": lambda: b"User-agent: *" + b"\r" * 511_980 + b"Allow: /",
    "spaces before a missing colon": lambda: b"User-agent: *\nDisallow" + b" " * 500_000 + b"/",
    "lines of spaces": lambda: b"User-agent: *\n" + (b" " * 999 + b"x\n") * 500,
    "tabs and spaces": lambda: b"User-agent: *\n" + b"Disallow\t \t " * 40_000,
    "%41 x 170,000": lambda: rules(["/" + "%41" * 170_000]),
    "% x 500,000": lambda: rules(["/" + "%" * 500_000]),
    "%2F behind stars": lambda: rules(["/*%2F" + str(number) for number in range(20_000)]),
    "number signs": lambda: b"User-agent: *\n" + b"#" * 500_000,
    "comments": lambda: b"User-agent: *\n" + b"Disallow: /a # b\n" * 30_000,
    "NULs": lambda: bytes(512_000),
    "random octets": lambda: random.Random(1).randbytes(512_000),
    "random text": lambda: bytes(random.Random(1).choices(b"user-agntdilow: */\n\r#$%", k=512_000)),
    "UTF-16": lambda: ("\ufeff" + rules(["/x"] * 20_000).decode()).encode("utf-16-le"),
    "short lines": lambda: b"useragent: *\n" + b"a:\n" * 165_000,
    "short rules in another spelling": lambda: b"user agent: *\n" + b"disalow:/\n" * 50_000,
    "useragent": lambda: b"useragent:*\nallow:/\n" * 25_600,
    "lines of a letter": lambda: b"User-agent: *\n" + b"a\n" * 250_000,
    "lines of two words": lambda: b"User-agent: *\n" + b"d i\n" * 120_000,
    "stars alone": lambda: rules(["*"] * 40_000),
    "one piece in all": lambda: rules([f"/*aaaaa*{number:05}" for number in range(24_000)]),
    "one piece and an end": lambda: rules([f"/*aaaaa*{number:05}$" for number in range(24_000)]),
    "one escape in all": lambda: rules([f"/*%41%42*{number:05}" for number in range(22_000)]),
    "letters in any order": any_order,
    "allowed one by one": allowed_one_by_one,
    "many pieces and an end": lambda: rules(["/" + "*a" * 24_000 + f"*{n}*y$" for n in range(10)]),
    "pieces that differ in a query": lambda: rules(["/" + "*%2F" * 2_700 + "*x"] * 60),
    "20,000 prefix rules": lambda: inputs.prefixes(20_000),
    "20,000 wildcard rules": lambda: inputs.floating(20_000),
    "literals that begin each other": nested,
    "literals of the same pieces": alike,
    "floating literals that begin each other": nested_floats,
    "one head and many stars": lambda: rules([f"/a*{number}x" for number in range(25_000)]),
    "many ends": lambda: rules([f"/*{number}$" for number in range(25_000)]),
    "many exact paths": lambda: rules([f"/{number}$" for number in range(25_000)]),
}

LONG_URLS = {
    "letters": LONG_URL,
    "two letters": "https://e.org/" + "".join(random.Random(2).choices("ab", k=8_000)),
    "escapes": "https://e.org/" + "%41" * 2_700,
    "stray percent signs": "https://e.org/" + "%" * 8_000,
    "slashes": "https://e.org" + "/" * 8_000,
    "query": "https://e.org/?" + "a=b&" * 2_000,
    "outside ASCII": "https://e.org/" + "é" * 4_000,
    "ends in b": LONG_URL + "b",
    "words of the rules": "https://e.org/a"
    + "".join(f"?{word}{number}x" for number in range(2, 20) for word in inputs.WORDS)[:8_000],
}


@cache
def calibration() -> float:
    """How much slower this moment is than a machine on which the loop takes 20 ms."""
    best = min(_loop() for _ in range(3))
    return max(best / 0.020, 0.5)


def _loop() -> float:
    begin = time.process_time()
    total = 0
    for number in range(700_000):
        total += number & 7
    return time.process_time() - begin


def quickest(work: Callable[[], object], enough: float = 0.0, times: int = 3) -> float:
    """Seconds of the best of some attempts; none is made after one that was quick enough."""
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
        if best < enough:
            break
    return best


def assert_quick(work: Callable[[], object], seconds: float) -> None:
    """It takes no longer, by the processor's time, with room for others on the machine."""
    most = seconds * ROOM * calibration()
    assert quickest(work, most) < most


@timed
@pytest.mark.parametrize("name", BODIES)
def test_any_body_is_answered_in_time(name: str) -> None:
    """RFC 9309 section 3: parse and first verdict."""
    body = BODIES[name]()[:DEFAULT_MAX_SIZE]
    assert_quick(lambda: RobotsTxt.parse(body).allowed(URL, AGENT), PARSE_AND_FIRST)


@timed
@pytest.mark.parametrize("white", [" ", " \v", "\v"])
def test_white_space_before_a_missing_colon_takes_no_time_in_any_profile(white: str) -> None:
    """RFC 9309 section 3: the longest lines that the profile ``google`` reads."""
    line = f"Disallow {white * (16_000 // len(white))}x y\n"
    body = f"User-agent: *\n{line * 8}".encode()
    for profile in PROFILES:
        robots = partial(RobotsTxt.parse, body, profile=profile)
        assert_quick(lambda robots=robots: robots().allowed(URL, AGENT), PARSE_AND_FIRST)  # type: ignore[misc]


@timed
@pytest.mark.parametrize("name", BODIES)
def test_any_url_is_answered_in_time(name: str) -> None:
    """RFC 9309 section 3: a verdict on a URL of 8 KB, before and after prefixes are sorted."""
    robots = RobotsTxt.parse(BODIES[name]()[:DEFAULT_MAX_SIZE])
    for _ in range(40):
        robots.allowed(URL, AGENT)
    for url in LONG_URLS.values():
        robots.allowed(url, AGENT)
        assert_quick(lambda url=url: robots.allowed(url, AGENT), VERDICT_ON_LONG_URL)  # type: ignore[misc]


def held_by(make: Callable[[], Made]) -> tuple[int, Made]:
    """How many octets are allocated for what is made, and that."""
    gc.collect()
    tracemalloc.start()
    made = make()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held, made


BLANK_LINES = {"LF": b"\n", "CRLF": b"\r\n", "CR": b"\r", "spaces": b"  \n", "tabs": b"\t\n"}


@timed
@pytest.mark.parametrize(
    ("name", "profile"),
    [(name, "rfc9309") for name in BLANK_LINES] + [("LF", name) for name in PROFILES],
)
def test_a_pace_among_blank_lines_is_read_in_no_time(name: str, profile: str) -> None:
    """RFC 9309 section 3: half a million blank lines, before and behind the records of a group."""
    blank = BLANK_LINES[name] * (250_000 // len(BLANK_LINES[name]))
    records = (
        b"User-agent: *\nCrawl-delay: 3\nRequest-rate: 1/5\nVisit-time: 0100-0200\nDisallow: /\n"
    )
    body = blank + records + blank

    def paces() -> list[object]:
        robots = RobotsTxt.parse(body, profile=profile)
        return [robots.crawl_delay(AGENT), robots.request_rate(AGENT)]

    assert paces() == [3.0, (1, 5.0)]
    assert_quick(paces, PACE)


@timed
@pytest.mark.parametrize("value", ["1", "1/1", "1/", "1/1 0600-0845"])
@pytest.mark.parametrize("key", PACE_SPELLINGS)
def test_a_pace_with_many_spaces_is_read_in_no_time(key: str, value: str) -> None:
    """RFC 9309 section 3: a value that is void, but only after 8,000 spaces."""
    body = f"User-agent: *\n{key}: {value}{' ' * 8_000}x\n".encode()
    assert_quick(lambda: RobotsTxt.parse(body).pace(AGENT), PACE)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_any_body_is_held_in_little_memory(name: str) -> None:
    """RFC 9309 section 3: at most 32 octets for each octet of the body, and 15 MB in all."""
    body = BODIES[name]()[:DEFAULT_MAX_SIZE]
    RobotsTxt.parse(b"User-agent: *\nDisallow: /x").verdict(URL, AGENT)

    def asked() -> RobotsTxt:
        robots = RobotsTxt.parse(body)
        for _ in range(40):
            robots.allowed(URL, AGENT)
        robots.allowed("https://e.org/a", AGENT)
        return robots

    held, robots = held_by(asked)
    assert held <= 15_000_000
    assert held <= 32 * max(len(body), 500)
    assert held / 4 <= robots.size


def test_crawlers_with_the_same_rules_share_them() -> None:
    """RFC 9309 section 3: 20 crawlers over thousands of rules hold them once."""
    lines = b"".join(b"Disallow: /%d\nAllow: /*%d\n" % (n, n) for n in range(1_500))
    body = agents(range(20)) + lines

    def asked() -> RobotsTxt:
        robots = RobotsTxt.parse(body)
        for number in range(20):
            for _ in range(40):
                assert robots.allowed(URL, f"bot{number}")
            verdict = robots.verdict("https://e.org/77", f"bot{number}")
            assert (verdict.group, verdict.line) == (f"bot{number}", 176)
        return robots

    held, robots = held_by(asked)
    assert held <= 32 * len(body)
    assert held / 4 <= robots.size <= 4 * held


def test_repeated_groups_cost_their_lines_only() -> None:
    """RFC 9309 section 2.2.1: merging a name's groups adds their rules and doubles nothing."""
    body = b"User-agent: *\nUser-agent: mybot\nDisallow: /x\n" * 5_000
    robots = RobotsTxt.parse(body)
    held, answer = held_by(lambda: robots.allowed("https://e.org/x", "mybot"))
    assert not answer
    assert held < 32 * len(body)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["/p%d", "/*p%dx"])
def test_crawlers_with_a_group_each_and_a_large_one_in_common_are_not_all_kept(
    pattern: str,
) -> None:
    """RFC 9309 section 2.2.1: the rules of two groups are merged, and held within a bound."""
    names = [f"bot{number}" for number in range(20)]
    lines = [f"User-agent: {name}\nDisallow: /own-{name}$" for name in names]
    lines += [f"User-agent: {name}" for name in names]
    lines += [f"Disallow: {pattern % number}" for number in range(20_000)]
    body = "\n".join(lines).encode()

    def asked() -> RobotsTxt:
        robots = RobotsTxt.parse(body)
        for number, name in enumerate(names):
            for path in ("bot", "own-bot", "own-bot5x", "p7"):
                free = "x" in pattern or path[0] != "p"
                assert robots.allowed(f"https://e.org/{path}", name) is free
            assert not robots.allowed(f"https://e.org/own-{name}", name)
            assert not robots.allowed("https://e.org/p77x", name)
            if number % 10 == 0:
                assert robots.verdict(f"https://e.org/own-{name}", name).line == 2 * number + 2
                assert robots.verdict("https://e.org/p1977x", name).line == 3 * 20 + 1978
        return robots

    held, robots = held_by(asked)
    assert held <= 48_000_000
    assert held / 3 <= robots.size <= 3 * held


def test_crawlers_with_other_rules_do_not_share_them() -> None:
    """RFC 9309 section 2.2.1: the same lines may be allowed to one and not to another."""
    robots = RobotsTxt.parse(
        b"User-agent: a\nDisallow: /x\nAllow: /y\n\nUser-agent: b\nAllow: /x\nDisallow: /y\n\n"
        b"User-agent: c\nDisallow: /x\nDisallow: /y\n\nUser-agent: d\nDisallow: /x\nAllow: /y\n"
    )
    found = {
        agent: [robots.allowed(f"https://e.org/{path}", agent) for path in "xy"] for agent in "abcd"
    }
    assert found == {
        "a": [False, True],
        "b": [True, False],
        "c": [False, False],
        "d": [False, True],
    }
    assert [robots.verdict("https://e.org/x", agent).line for agent in "ad"] == [2, 14]
