"""The literals that a path must hold to be matched by a pattern."""

from __future__ import annotations

import random

import pytest

from scrapy_rep.matching.index import PatternIndex
from scrapy_rep.matching.normal_form import match_path
from scrapy_rep.matching.patterns import patterns_of
from scrapy_rep.matching.prefilter import Prefilter
from scrapy_rep.matching.required_literals import each_required_literal
from scrapy_rep.matching.tuning import CROWD, LONGEST_INNER
from scrapy_rep.matching.wildcard import parse_wildcard
from scrapy_rep.protocol.normal_forms import form_of
from scrapy_rep.protocol.profiles import PROFILES
from tests.benchmarks import inputs
from tests.rows import rows

FORM = form_of(PROFILES["rfc9309"])
AS_IT_IS = form_of(PROFILES["google"])


def found(pattern: str) -> set[tuple[str, str]]:
    """The kinds and literals that one pattern requires."""
    return {(kind, literal) for kind, literal, _ in each_required_literal([pattern], FORM)}


@rows("seed", range(20))
def test_a_path_holds_a_required_literal_of_each_pattern_that_matches_it(seed: int) -> None:
    """RFC 9309 section 2.2.3: a path that the prefilter lets pass is matched by no pattern."""
    rnd = random.Random(seed)
    for _ in range(300):
        pattern = rnd.choice(
            (inputs.wildcard(rnd), inputs.literal(rnd) + "*%2F" + inputs.literal(rnd))
        )
        path = pattern.removesuffix("$")
        while "*" in path:
            path = path.replace("*", rnd.choice(("", "x", "/y", "?z=")), 1)
        if not path.startswith("/"):
            path = "/" + path
        matched = match_path(path, FORM)
        if not parse_wildcard(pattern, FORM).matches(matched):
            continue
        shows = {
            "prefix": matched.startswith,
            "suffix": matched.endswith,
            "inner": matched.__contains__,
        }
        assert any(shows[kind](text) for kind, text in found(pattern)), pattern
        prefilter = Prefilter.of(patterns_of([pattern], FORM), FORM)
        assert (
            matched.startswith(prefilter.prefixes[1:])
            or matched.endswith(prefilter.suffixes)
            or any(literal in matched for literal in prefilter.inner)
        ), pattern


@rows(
    "pattern, expected",
    [
        ("a*b", set()),
        ("%2Fa", set()),
        ("a%41*b", set()),
        ("*", {("prefix", "")}),
        ("/*", {("prefix", "/")}),
        ("/**", {("prefix", "/")}),
        ("/*$", {("prefix", "/")}),
        ("/**$", {("prefix", "/")}),
        ("/$", {("prefix", "/")}),
        ("$", {("prefix", "")}),
        ("/a*b", {("prefix", "/a")}),
        ("/a*b$", {("prefix", "/a")}),
        ("/a$", {("prefix", "/a")}),
        ("/a$*", {("prefix", "/a$")}),
        ("/*.gif$", {("suffix", ".gif")}),
        ("*.gif$", {("suffix", ".gif")}),
        ("/**.gif$", {("inner", ".gif")}),
        ("/*x", {("inner", "x")}),
        ("*x", {("inner", "x")}),
        ("/*$x", {("inner", "$x")}),
        ("/*x*", {("inner", "x")}),
        ("/*x*$", {("inner", "x")}),
        ("/*a*bc", {("inner", "bc")}),
        ("/*abc*d$", {("inner", "abc")}),
        ("/*%2Fa", {("inner", "%2Fa"), ("inner", "/a")}),
        ("/*%2Fa$", {("suffix", "%2Fa"), ("suffix", "/a")}),
        ("/*%2Fa*$", {("inner", "%2Fa"), ("inner", "/a")}),
        ("/*%2Fabc", {("inner", "abc")}),
        ("/*abc%2Fd", {("inner", "abc")}),
        ("/*ab%2Fc", {("inner", "ab%2Fc"), ("inner", "ab/c")}),
        ("/*abc*%41bcdef", {("inner", "abc")}),
        ("/*ab*%41b", {("inner", "Ab")}),
        ("/%41*b", {("prefix", "/A")}),
        ("/%C3%A9", {("prefix", "/\xc3\xa9")}),
        ("/%2F?%2F*b", {("prefix", "/%2F")}),
        ("/a%2Fb*c", {("prefix", "/a")}),
    ],
)
def test_each_shape_of_pattern_has_its_required_literal(
    pattern: str, expected: set[tuple[str, str]]
) -> None:
    """RFC 9309 section 2.2.3; nothing is required by a pattern that matches no path."""
    assert found(pattern) == expected


def test_octets_outside_ascii_are_required_as_written_where_a_uri_is_taken_as_it_is() -> None:
    """Profile google: patterns are encoded, so a prefix ends before the first such octet."""
    pattern = "/caf\xc3\xa9*x"
    assert [*each_required_literal([pattern], AS_IT_IS)] == [("prefix", "/caf", pattern)]
    assert [*each_required_literal(["/*\xc3\xa9"], AS_IT_IS)] == [("inner", "%C3%A9", "/*\xc3\xa9")]


def test_an_index_files_a_long_piece_by_its_last_octets() -> None:
    """RFC 9309 section 3: they are found faster in a path that was made to resemble them."""
    digits = "0123456789" * 7
    for pattern in (f"/*{digits}", f"/*{digits}*x", f"/*x*{digits}", f"/*%2F*{digits}"):
        assert found(pattern) == {("inner", digits)}
        index = PatternIndex([], [*each_required_literal([pattern], FORM)], FORM)
        assert index.by_inner == {digits[-LONGEST_INNER:]: [pattern]}
    crowd = [f"/a*x*{number:070}" for number in range(CROWD + 1)]
    index = PatternIndex([], each_required_literal(crowd, FORM), FORM)
    assert {*index.by_inner} == {pattern[-LONGEST_INNER:] for pattern in crowd}
    assert index.by_prefix == {"/a": []}


def test_a_prefilter_holds_the_literals_of_each_kind() -> None:
    """RFC 9309 section 2.2.3: before the prefixes stand all patterns as written."""
    prefilter = Prefilter.of(patterns_of(["/a", "/b*", "/*c$", "/*d"], FORM), FORM)
    assert prefilter[:3] == (("/a", "/b*", "/*c$", "/*d", "/b"), ("c",), ("d",))
    assert prefilter.patterns == (("/a", "/b*", "/*c$", "/*d"), ["/b*", "/*c$", "/*d"], True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["\t/a", "/b"], (["/a", "/b"], [], True)),
        (["/a", "/b "], (["/a", "/b"], [], True)),
        (["\t/a # x", "#", "", "  "], (["/a"], [], True)),
        (["/a*", "/b$", "/c", "/a*"], (["/a*", "/b$", "/c", "/a*"], ["/a*", "/b$", "/a*"], True)),
        (["/%41", "/*%", "/b"], (["/%41", "/*%", "/b"], ["/%41", "/*%"], False)),
        (["/\xe9", "/b*"], (["/\xe9", "/b*"], ["/b*"], False)),
    ],
)
def test_the_values_of_rule_lines_become_patterns(
    values: list[str], expected: tuple[list[str], list[str], bool]
) -> None:
    """RFC 9309 section 2.2.2: without comments and white space; an empty one is not a rule."""
    written, special, are_plain = patterns_of(values, FORM)
    assert (written, [*special], are_plain) == expected


def test_octets_outside_ascii_are_special_where_patterns_are_encoded() -> None:
    """Profile google: they are not in normal form as they stand."""
    assert patterns_of(["/\xe9", "/b"], AS_IT_IS).special == ["/\xe9"]
