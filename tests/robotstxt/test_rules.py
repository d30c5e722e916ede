"""The rules of one crawler: the prefilter, the patterns and the budget."""

from __future__ import annotations

import random

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.normal_form import ROBOTS_TXT, form_of
from scrapy_rep.robotstxt.patterns import LONGEST_LITERAL, Patterns
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.rules import (
    MANY_PREFIXES,
    MOST_INNER,
    SORT_AFTER,
    Match,
    Prefilter,
    Rules,
)
from tests.hostile import oracle
from tests.rows import first, rows

FORM = form_of(PROFILES["rfc9309"])
PIECES = ("a", "b", "c", "ab", "/", "?", "=", "*", "*", "%2F", "%41", ".")


def rules_of(disallow: list[str], allow: list[str]) -> Rules:
    """Rules in the profile rfc9309."""
    return Rules(Patterns(disallow, FORM), Patterns(allow, FORM), FORM, ROBOTS_TXT)


def patterns(rnd: random.Random, number: int) -> list[str]:
    """Patterns of a few letters, so that many match and many are alike."""
    texts = ("".join(rnd.choices(PIECES, k=rnd.randrange(1, 6))) for _ in range(number))
    return ["/" + text + rnd.choice(("", "", "$")) for text in texts]


def expected(disallow: list[str], allow: list[str], path: str) -> Match:
    """What a walk over the octets says: the kind of the rules that decide, and which these are."""
    matching = [
        {text for text in found if oracle.matches(text.encode(), path.encode())}
        for found in (disallow, allow)
    ]
    octets = [{text: oracle.octets(text.encode()) for text in found} for found in matching]
    longest = [max(found.values(), default=0) for found in octets]
    named = [sorted(text for text in octets[kind] if octets[kind][text] == longest[kind])
             for kind in (0, 1)]  # fmt: skip
    if not any(longest):
        return Match(path)
    winner = longest[1] >= longest[0]
    return Match(path, winner, named[winner], named[not winner])


@pytest.mark.parametrize("number", [1, 5, 20, 60, MOST_INNER + 200])
@pytest.mark.parametrize("seed", first(2, range(6)))
def test_every_stage_says_what_a_walk_over_the_octets_says(seed: int, number: int) -> None:
    """RFC 9309 section 2.2.2: prefilter, sets and wildcards, and the rules they name."""
    rnd = random.Random(seed * 1_000 + number)
    disallow, allow = patterns(rnd, number), patterns(rnd, number // 3)
    rules = rules_of(disallow, allow)
    allows = rules.matcher()
    for attempt in range(2 * SORT_AFTER if number < MOST_INNER else 12):
        path = "/" + "".join(rnd.choices("abc/?=", k=rnd.randrange(9)))
        wanted = expected(disallow, allow, path)
        if attempt % 3 == 0:
            found = rules.match("https://e.org" + path)
            named = sorted({*found.patterns}), sorted({*found.overruled})
            assert (found.allow, *named) == (wanted.allow, [*wanted.patterns], [*wanted.overruled])
        assert allows("https://e.org" + path) is (wanted.allow is not False), path


@rows("number", [3, MANY_PREFIXES, MANY_PREFIXES + 1, 1_000])
def test_many_prefixes_are_sorted_and_say_the_same(number: int) -> None:
    """RFC 9309 section 2.2.2: literals that begin each other, and paths between them."""
    rnd = random.Random(number)
    disallow = ["/" + "".join(rnd.choices("ab/", k=rnd.randrange(1, 9))) for _ in range(number)]
    allows = rules_of(disallow, []).matcher()
    for _ in range(3 * SORT_AFTER):
        path = "/" + "".join(rnd.choices("ab/c", k=rnd.randrange(10)))
        wanted = not any(path.startswith(text) for text in disallow)
        assert allows("https://e.org" + path) is wanted, path


@rows("star", ["*", "*b", "*$", "*a*"])
def test_a_star_among_many_prefixes_may_match_any_path(star: str) -> None:
    """RFC 9309 section 2.2.3: its literal is empty or lies within the path, and begins none."""
    many = [f"/p{number}" for number in range(MANY_PREFIXES + 1)]
    allows = rules_of([*many, star], []).matcher()
    for _ in range(2 * SORT_AFTER):
        assert not allows("https://e.org/xab")
        assert not allows("https://e.org/p7")


def test_a_prefilter_holds_the_literals_of_each_kind() -> None:
    """RFC 9309 section 2.2.3: before the prefixes stand all patterns as written."""
    long = "0123456789" * 7
    assert Prefilter(Patterns([f"/*{long}"], FORM), FORM).inner == (long[-LONGEST_LITERAL:],)
    patterns = Patterns(["/a", "/b*g", "/*c$", "/*d", "/*e*f%2F"], FORM)
    prefilter = Prefilter(patterns, FORM)
    assert prefilter.prefixes == ("/a", "/b*g", "/*c$", "/*d", "/*e*f%2F", "/b")
    assert prefilter.suffixes == ("c",)
    assert {*prefilter.inner} == {"d", "f/", "f%2F"}
    assert patterns.special == ["/b*g", "/*c$", "/*d", "/*e*f%2F"]


def test_octets_outside_ascii_are_special_where_patterns_are_encoded() -> None:
    """Profile google: they are not in normal form as they stand."""
    assert Patterns(["/\xe9", "/b"], form_of(PROFILES["google"])).special == ["/\xe9"]
    assert Patterns(["/\xe9", "/b"], FORM).special == ()


def hostile(number: int) -> tuple[list[str], str]:
    """Patterns and a path for which every search takes long; none of them matches."""
    rnd = random.Random(1)
    letters = "".join(rnd.choices("bcdefghijklmnop", k=2_000))
    piece = "a" * 37 + "baa"
    starts = [rnd.randrange(len(letters) - 3) for _ in range(number)]
    found = [f"/*{piece}*{letters[at : at + 3]}" for at in starts]
    return found, "/" + letters + "a" * 2_000 + piece


def test_rules_that_exceed_the_budget_disallow() -> None:
    """RFC 9309 section 3: each kind has a budget; it matters where something is disallowed."""
    many, path = hostile(4_000)
    for disallow, allow in ((many, []), (["/"], many), (many, many)):
        rules = rules_of(disallow, allow)
        assert rules.match(path) == Match(path, False, too_costly=True)
        assert not rules.matcher()("https://e.org" + path)
    robots = RobotsTxt.parse("User-agent: *\n" + "".join(f"Disallow: {one}\n" for one in many))
    assert robots.verdict("https://e.org" + path, "x").reason == "too costly"
    assert rules_of(["/x"], many).matcher()("https://e.org" + path)
    assert rules_of(["/x"], many).match(path) == Match(path)
    assert rules_of(["/"], [*many, "/b", "/*a"]).match("/b").allow


def test_the_budget_is_shared_by_the_readings_of_a_uri() -> None:
    """RFC 9309 section 3: what fits once may not fit twice."""
    many, path = hostile(90)
    assert rules_of(many, []).match(path).allow is None
    assert rules_of(many, []).match("/x/.." + path).too_costly


def test_the_longest_of_many_wildcards_decides() -> None:
    """RFC 9309 section 2.2.2: with a prefilter and without; equally long ones are all named."""
    for number in (30, MOST_INNER + 30):
        many = [f"/*x{at:05}" for at in range(number)]
        rules = rules_of([*many, "/*a", "/*aa", "/*ba"], ["/*c"])
        assert rules.match("/x00007a/baa").patterns == ["/*x00007"]
        assert {*rules.match("/baa").patterns} == {"/*aa", "/*ba"}
        assert rules.match("/ba/c") == Match("/ba/c", False, ["/*ba"], ["/*c"])
