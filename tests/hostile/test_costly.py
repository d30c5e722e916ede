"""No file and URL that are made for each other cost more than they may.

RFC 9309 section 3. The budget of :mod:`scrapy_rep.robotstxt.patterns` bounds a question about a
body of 500 KiB: 60 ms of processor time for a URL of 8 KB, twice that for a verdict, and 400 ms for
the first question, which reads the body.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.commands.explain import explained
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE
from scrapy_rep.robotstxt.verdict import NO_RULE_MATCHES, TOO_COSTLY
from tests.benchmarks import inputs
from tests.hostile.costly import AGENT, Cost, Question, cost, question
from tests.hostile.test_budgets import calibration, quickest
from tests.rows import rows
from tests.timed import timed

LETTERS = "bcdefghijklmnopqrstuvwxyz0123456789"


def wrong_order(
    octets: int,
    piece: str = "a" * 37 + "baa",
    length: int = 3,
    line: str = "Disallow: /*{piece}*{telling}",
    first: str = "",
) -> Question:
    """Each pattern has a piece that is nearly found everywhere, and one that stands before it."""
    rnd = random.Random(1)
    text = "".join(rnd.choices(LETTERS, k=octets // 2))
    lines = ["User-agent: *", first]
    left = DEFAULT_MAX_SIZE
    while left > 0:
        at = rnd.randrange(len(text) - length)
        lines.append(line.format(piece=piece, telling=text[at : at + length]))
        left -= len(lines[-1]) + 1
    path = text + "a" * (octets - len(text) - len(piece)) + piece
    return Question("\n".join(lines).encode()[:DEFAULT_MAX_SIZE], f"https://e.org/{path}")


def with_dots(asked: Question) -> Question:
    """The same with a URL that is read with its dot segments and without them."""
    return Question(asked.body, asked.url.replace("https://e.org/", "https://e.org/x/../"))


def in_several_ways(octets: int) -> Question:
    """A URL that is read in four ways, by rules that match within escapes: as ``/*2Fb`` does."""
    body, url = wrong_order(octets, line="Disallow: /*{piece}*2F*{telling}")
    return with_dots(Question(body, url + "%2F"))


def within_escapes(piece: str) -> Question:
    """As many rules that match within escapes as fit, and a URL that is read in four ways."""
    line = f"Disallow: /*%2F{piece}*2F%41{{}}"
    lines = [line.format(rule) for rule in range(DEFAULT_MAX_SIZE // len(line + "12345"))]
    lines[0] = "User-agent: *\nDisallow: /"
    return Question("\n".join(lines).encode(), f"https://e.org/./{piece}" + "é" * 950)


ALLOW = "Allow: /*{piece}*{telling}"
BOTH = ALLOW + "\nDisallow: /*{piece}*{telling}c"
FINDS: dict[str, Callable[[], Question]] = {
    "wrong order, 8 KB": lambda: wrong_order(8_000),
    "wrong order, 2 KB": lambda: wrong_order(2_000),
    "wrong order, 1 KB": lambda: wrong_order(999),
    "wrong order and an end": lambda: wrong_order(8_000, line="Disallow: *{piece}*{telling}$"),
    "wrong order in allow rules": lambda: wrong_order(8_000, line=ALLOW, first="Disallow: /"),
    "wrong order in both kinds": lambda: wrong_order(8_000, line=BOTH, first="Allow: /x"),
    "long pieces": lambda: wrong_order(8_000, piece="a" * 96 + "baa", length=12),
    "very long pieces": lambda: wrong_order(2_000, piece="a" * 300 + "b"),
    "escapes": lambda: wrong_order(8_000, line="Disallow: /*{piece}*%41*{telling}"),
    "escapes and a query": lambda: wrong_order(8_000, line="Disallow: /*{piece}*%2F*{telling}"),
    "dot segments, 8 KB": lambda: with_dots(wrong_order(8_000)),
    "dot segments, 2 KB": lambda: with_dots(wrong_order(2_000)),
    "dot segments, both kinds": lambda: with_dots(wrong_order(8_000, line=BOTH)),
    "dot segments and escapes, 8 KB": lambda: in_several_ways(8_000),
    "dot segments and escapes, 2 KB": lambda: in_several_ways(2_000),
    "dot segments and escapes, 1 KB": lambda: in_several_ways(999),
    "thousands of rules within escapes": lambda: within_escapes("aaa"),
    "many short pieces": lambda: Question(
        ("User-agent: *\n" + ("Disallow: /" + "*a*b" * 900 + "c\n") * 140).encode(),
        "https://e.org/" + "ab" * 3_990,
    ),
    "literals that begin each other": lambda: Question(
        b"User-agent: *\n" + b"".join(b"Disallow: /*b%s*%dx\n" % (b"a" * n, n) for n in range(950)),
        "https://e.org/" + ("b" + "a" * 900) * 8,
    ),
    **{f"seed {seed}": lambda seed=seed: question(seed) for seed in (1, 13, 57, 88, 101, 175)},  # type: ignore[misc]
}


@cache
def question_of(name: str) -> Question:
    """A find of the search, or one that was made by hand from such."""
    return FINDS[name]()


def assert_cheap(found: Cost) -> None:
    """A question about a URL costs what it may."""
    slower = max(calibration(), 1)
    assert found.allowed < 0.060 * slower
    assert found.verdict < 0.120 * slower
    assert found.first < 0.400 * slower


SOME = ("wrong order, 8 KB", "many short pieces", "literals that begin each other", "seed 1")
"""Finds of several kinds: profiles differ in how a file is read, not in what a question costs."""


@timed
@pytest.mark.parametrize(
    ("name", "profile"),
    [(name, profile) for profile in PROFILES for name in (FINDS if profile == "rfc9309" else SOME)],
)
def test_the_costliest_questions_are_answered_in_time(name: str, profile: str) -> None:
    """RFC 9309 section 3: in each profile."""
    assert_cheap(cost(question_of(name), profile))


@timed
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "seeds", [range(1_000, 1_008), *(range(n, n + 25) for n in range(2_000, 2_100, 25))], ids=repr
)
def test_a_search_finds_no_costlier_question(seeds: range) -> None:
    """RFC 9309 section 3: files and URLs that are made for each other."""
    for seed in seeds:
        assert_cheap(cost(question(seed), "google" if seed % 4 == 0 else "rfc9309"))


@rows("profile", ["rfc9309", "google"])
def test_what_is_too_costly_to_know_is_disallowed(profile: str) -> None:
    """RFC 9309 section 3: a failure of the matcher is never permission, as elsewhere (2.3.1.4)."""
    body, url = question_of("wrong order, 8 KB")
    robots = RobotsTxt.parse(body, profile=profile)
    assert robots.allowed(url, AGENT) is False
    verdict = robots.verdict(url, AGENT)
    assert (verdict.allowed, verdict.reason, verdict.group) == (False, TOO_COSTLY, "*")
    assert (verdict.rule, verdict.line, verdict.overruled) == (None, None, None)


def test_robots_txt_itself_is_allowed_at_any_cost() -> None:
    """RFC 9309 section 2.2.2: the /robots.txt URI is always allowed."""
    rnd = random.Random(1)
    text = "robots.txt"
    lines = {"Disallow: /*" + "*".join(rnd.choices(text, k=8)) for _ in range(16_000)}
    robots = RobotsTxt.parse("\n".join(["User-agent: *", *sorted(lines)]).encode())
    assert robots.allowed("https://e.org/robots.txt", AGENT)
    assert robots.verdict("https://e.org/robots.txt", AGENT).reason == "robots.txt itself"
    assert robots.verdict("https://e.org/robots.txt2", AGENT).reason == TOO_COSTLY
    assert not robots.allowed("https://e.org/robots.txt2", AGENT)


def test_allow_rules_that_are_too_costly_matter_only_where_something_is_disallowed() -> None:
    """RFC 9309 section 2.2.2: if no match is found, the URI is allowed."""
    body, url = wrong_order(8_000, line=ALLOW, first="Disallow: /*%3Fx")
    robots = RobotsTxt.parse(body)
    assert robots.verdict(url, AGENT).reason == NO_RULE_MATCHES
    assert robots.allowed(url, AGENT) is robots.verdict(url, AGENT).allowed is True
    assert robots.allowed(url + "?x", AGENT) is True


@rows("seed", range(20))
def test_files_like_those_of_the_world_stay_far_below_the_budget(seed: int) -> None:
    """RFC 9309 section 2.2.2: a URL of 2 KB made of a file's own patterns gets a real answer."""
    rnd = random.Random(seed)
    body = inputs.file(rnd, rnd.choice((50, 400, 2_500)), wildcards=0.4)
    robots = RobotsTxt.parse(body)
    patterns = re.findall(r"(?im)^(?:dis)?allow: *(\S+)", body.decode("utf-8", "replace"))
    for _ in range(10):
        path = "/"
        while len(path) < 2_000 and patterns:
            path += rnd.choice(patterns).replace("*", rnd.choice(("", "x", "/"))).rstrip("$")
        for agent in (AGENT, "Googlebot"):
            verdict = robots.verdict("https://e.org" + path[:2_000], agent)
            assert verdict.reason != TOO_COSTLY


@timed
@pytest.mark.parametrize("line", ["/*2F1*{}", "/*2F{}*7", "/*{}a*7", "/*a{}*b"])
def test_thousands_of_wildcards_are_explained_in_a_second(line: str) -> None:
    """RFC 9309 section 3: 24,000 rules and a URL of 8 KB, in all profiles."""
    rules = "".join(f"Disallow: {line.format(number)}\n" for number in range(24_000))
    url = "https://e.org/" + "a%2F1" * 1_600 + "7"
    body = f"User-agent: *\n{rules}".encode()
    taken = quickest(lambda: explained(body, url, ["mybot"], "rfc9309"), times=1)
    assert taken < 1.0 * max(calibration(), 1)
