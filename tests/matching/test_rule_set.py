"""The rules of one crawler: without an index, with one, and in several parts."""

from __future__ import annotations

import random
import re

import pytest

from scrapy_rep.matching.match import Match
from scrapy_rep.matching.matcher import Matcher
from scrapy_rep.matching.pattern_set import PatternSet
from scrapy_rep.matching.patterns import patterns_of
from scrapy_rep.matching.rule_set import LongestMatchRules
from scrapy_rep.matching.rules_in_parts import RulesInParts
from scrapy_rep.matching.tuning import FEW, INDEX_AFTER, LONG_URI
from scrapy_rep.protocol.normal_forms import form_of
from scrapy_rep.protocol.profiles import PROFILES
from tests.hostile import oracle
from tests.rows import rows

FORM = form_of(PROFILES["rfc9309"])
PIECES = ("a", "b", "c", "ab", "/", "?", "=", "*", "*", "%2F", "%41", ".")


def rules_of(disallow: list[str], allow: list[str], share: int = 1) -> LongestMatchRules:
    """Rules in the profile rfc9309."""
    return LongestMatchRules(disallow, allow, FORM, robots_txt_is_free=True, share=share)


class Asked:
    """A matcher that is replaced as often as it asks for it."""

    def __init__(self, rules: LongestMatchRules) -> None:
        self.replaced = 0
        self.matcher = rules.matcher(self.replace)

    def replace(self, matcher: Matcher) -> None:
        """Ask another matcher from now on."""
        self.replaced += 1
        self.matcher = matcher

    def __call__(self, path: str) -> bool:
        """Ask about a path of one origin."""
        return self.matcher("https://e.org" + path)


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


@rows("number", [1, 5, 20, 60])
@rows("seed", range(6))
def test_every_stage_says_what_a_walk_over_the_octets_says(seed: int, number: int) -> None:
    """RFC 9309 section 2.2.2: the prefilter, the index and the sets, and the rules they name."""
    rnd = random.Random(seed * 1_000 + number)
    disallow, allow = patterns(rnd, number), patterns(rnd, number // 3)
    rules = rules_of(disallow, allow)
    asked = Asked(rules)
    for attempt in range(2 * INDEX_AFTER):
        path = "/" + "".join(rnd.choices("abc/?=", k=rnd.randrange(9)))
        wanted = expected(disallow, allow, path)
        if attempt % 3 == 0:
            found = rules.match("https://e.org" + path)
            named = sorted({*found.patterns}), sorted({*found.overruled})
            assert (found.allow, *named) == (wanted.allow, [*wanted.patterns], [*wanted.overruled])
        assert asked(path) is (wanted.allow is not False), path


@pytest.mark.parametrize("pattern", ["/p{}", "/*p{}"])
@pytest.mark.parametrize("path", ["/", "/" + "x" * LONG_URI])
def test_a_large_matcher_replaces_itself_once_when_an_index_pays(path: str, pattern: str) -> None:
    """RFC 9309 section 3: after some questions, or a long one; few patterns never have an index."""
    questions = 0 if len(path) > LONG_URI else INDEX_AFTER - 1
    for number, replaced in ((FEW, 0), (FEW + 1, 1)):
        asked = Asked(rules_of([pattern.format(at) for at in range(number)], []))
        for _ in range(questions):
            assert asked(path)
            assert asked.replaced == 0
        for _ in range(3):
            assert asked(path)
            assert asked.replaced == replaced
        assert not asked("/p7")


def test_a_matcher_that_is_made_later_has_the_index_at_once() -> None:
    """RFC 9309 section 3: the index is built once for all crawlers that share the rules."""
    rules = rules_of([f"/*p{at}x" for at in range(99)], ["/*p7xy"])
    first = Asked(rules)
    for _ in range(INDEX_AFTER):
        assert first("/a")
    second = Asked(rules)
    for asked in (first, second):
        assert not asked("/p7x")
        assert asked("/p7xy")
    assert (first.replaced, second.replaced) == (1, 0)


def test_verdicts_build_the_index_of_both_kinds_too() -> None:
    """RFC 9309 section 3: each counts as a question."""
    rules = rules_of([f"/*p{at}x" for at in range(99)], [f"/*a{at}x" for at in range(99)])
    for number in range(INDEX_AFTER):
        assert rules._disallow.index is None, number
        assert rules.match("/p7x") == Match("/p7x", False, ["/*p7x"], [])
    assert rules._disallow.index is not None
    assert rules._allow.index is not None


def test_several_parts_decide_as_one() -> None:
    """RFC 9309 section 2.2.1: the longest rule of all groups; each part gets its own index."""
    parts = [
        rules_of([f"/a{at}" for at in range(60)], ["/*b5"], share=2),
        rules_of([f"/*b{at}" for at in range(60)], ["/a7/x", "/robots.txt"], share=2),
    ]
    rules = RulesInParts(parts, FORM, robots_txt_is_free=True)
    allows = rules.matcher(id)
    for _ in range(INDEX_AFTER + 5):
        for path, is_allowed in (
            ("/a7", False),
            ("/a7/x", True),
            ("/c/b5", True),
            ("/c/b4", False),
            ("/c", True),
            ("/robots.txt", True),
            ("/c/../a7", False),
        ):
            assert allows("https://e.org" + path) is is_allowed
            assert (rules.match("https://e.org" + path).allow is not False) is is_allowed
    assert rules.match("/a7/x") == Match("/a7/x", True, ["/a7/x"], ["/a7"])
    assert all(part._disallow.index for part in parts)


def hostile(number: int) -> tuple[list[str], str]:
    """Patterns and a path for which every search takes long; none of them matches."""
    rnd = random.Random(1)
    letters = "".join(rnd.choices("bcdefghijklmnop", k=2_000))
    piece = "a" * 37 + "baa"
    starts = [rnd.randrange(len(letters) - 3) for _ in range(number)]
    found = [f"/*{piece}*{letters[at : at + 3]}" for at in starts]
    return found, "/" + letters + "a" * 2_000 + piece


def test_rules_that_exceed_the_budget_disallow() -> None:
    """RFC 9309 section 3: if allow rules do, any disallow rule that matches counts as longer."""
    many, path = hostile(4_000)
    for disallow, allow in ((many, []), (["/"], many), (many, many)):
        rules = rules_of(disallow, allow)
        assert rules.match(path) == Match(path, False, too_costly=True)
        assert not rules.matcher(id)("https://e.org" + path)
        assert not rules.allows_path(path)
    assert rules_of(["/x"], many).matcher(id)("https://e.org" + path)
    assert rules_of(["/x"], many).match(path) == Match(path)
    assert rules_of(["/"], [*many, "/b", "/*a"]).match("/b").allow


def test_the_budget_is_shared_by_sets_and_paths() -> None:
    """RFC 9309 section 3: what fits once may not fit if several share it."""
    many, path = hostile(100)
    for share, is_enough in ((1, True), (30, False)):
        assert (rules_of(many, [], share).match(path).allow is None) is is_enough
        assert rules_of(many, []).allows_path(path, share) is is_enough


@pytest.mark.parametrize("seed", range(5))
def test_a_pattern_set_says_the_same_with_an_index_and_without(seed: int) -> None:
    """RFC 9309 section 2.2.2: whether one matches, the octets of the longest, and which it is."""
    rnd = random.Random(seed)
    texts = [text for text in patterns(rnd, 200) if "%" not in text and "?" not in text]
    without, indexed = (PatternSet(patterns_of(texts, FORM), FORM) for _ in range(2))
    indexed.build_index()
    regexes = {
        text: re.compile(
            re.escape(text.removesuffix("$")).replace(r"\*", ".*") + r"\Z" * text.endswith("$")
        )
        for text in texts
    }
    for _ in range(200):
        path = "/" + "".join(rnd.choices("abc/=$*", k=rnd.randrange(9)))
        matching = {text for text, regex in regexes.items() if regex.match(path)}
        longest = max(map(len, matching), default=0)
        for some in (without, indexed):
            assert some.matches(path, 1) is bool(matching)
            octets, named = some.longest(path, 1)
            assert octets == longest
            assert len(named) == len({*named})
            assert {*named} == {text for text in matching if len(text) == longest}


@pytest.mark.parametrize("prefixes", [1, 60])
def test_a_pattern_with_a_question_mark_is_searched_in_paths_with_a_query(prefixes: int) -> None:
    """RFC 9309 section 2.2.2: without an index and with one of many prefixes and few others."""
    asked = Asked(rules_of([*[f"/p{at}" for at in range(prefixes)], "/*?x=", "/*&y=", "/*z"], []))
    for _ in range(2 * INDEX_AFTER):
        for path in ("/a?x=1", "/a?b&y=1", "/a?z", "/z", "/p0?"):
            assert not asked(path)
        for path in ("/a?b", "/ax=", "/a?y=1", "/"):
            assert asked(path)
