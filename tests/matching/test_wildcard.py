"""One parsed pattern against one match path."""

from __future__ import annotations

import random

import pytest

from scrapy_rep.matching.normal_form import match_path
from scrapy_rep.matching.wildcard import Piece, inner_piece, parse_wildcard
from scrapy_rep.protocol.normal_forms import form_of
from scrapy_rep.protocol.profiles import PROFILES
from tests.hostile import oracle
from tests.rows import rows

FORM = form_of(PROFILES["rfc9309"])
AS_IT_IS = form_of(PROFILES["google"])
PIECES = ("a", "b", "/", "?", "%2F", "%3F", "%41", "%", "*", "*", "$", "=", "ab")


def matches(pattern: str, path: str) -> bool:
    """A pattern matches a path as it stands in a URI."""
    return parse_wildcard(pattern, FORM).matches(match_path(path, FORM))


@rows("seed", range(20))
def test_a_pattern_matches_what_a_walk_over_the_octets_says(seed: int) -> None:
    """RFC 9309 sections 2.2.2 and 2.2.3: octets that are equal in a query may differ in a path."""
    rnd = random.Random(seed)
    for _ in range(1_000):
        pattern = "/" + "".join(rnd.choices(PIECES, k=rnd.randrange(1, 7)))
        if "*" not in pattern and not pattern.endswith("$"):
            pattern += "*"
        path = "/" + "".join(rnd.choices("ab/?=$", k=rnd.randrange(8)))
        expected = oracle.matches(pattern.encode(), path.encode())
        assert matches(pattern, path) is expected, (pattern, path)


@rows(
    "pattern, path, expected",
    [
        ("/*%2Fx$", "/a/x", False),
        ("/*%2Fx$", "/a%2Fx", True),
        ("/*%2Fx$", "/?a/x", True),
        ("/*%2Fx$", "/?a%2Fx", True),
        ("/*%2Fx$", "/?/x", True),
        ("/*?%2Fx$", "/?/x", True),
        ("/*a*%2F$", "/?a/", True),
        ("/*a*%2F$", "/?/a", False),
        ("/*a/*%2F$", "/?a/", False),
        ("/*%2F*%2F", "/?a/", False),
        ("/*%2F*%2F", "/a%2F?/", True),
        ("/*%2Fb*b", "/%2Fb?/b", True),
        ("/*%2Fb*c", "/?/bc/%2Fb", True),
        ("/*%2Fbc*d", "/x%2Fbcd?/bc", True),
        ("/*%2Fbc*d", "/x?/bcd%2Fbc", True),
        ("/*%2Fab*%2Fab*c", "/x%2Fab?/abc", True),
        ("/*%2Fab*%2Fab*%2Fab", "/x%2Fab?/ab", False),
        ("/*%2Fx*%2Fx*%2Fx", "/?/x/x/x", True),
        ("/*%2Fx*%2Fx*%2Fx", "/?/x/x", False),
        ("*/a%2F*b", "/a%2Fb?", True),
        ("/a$", "/a", True),
        ("/a$", "/ab", False),
        ("/a$b*", "/a$bc", True),
        ("/a*$", "/ab", True),
        ("/a*b$", "/ab", True),
        ("/ab*b$", "/ab", False),
        ("/*aa*aa", "/aaa", False),
    ],
)
def test_a_piece_is_taken_where_it_ends_first(pattern: str, path: str, expected: bool) -> None:
    """RFC 9309 section 2.2.3: pieces follow each other without sharing an octet."""
    assert matches(pattern, path) is expected
    if "%" not in path:
        assert oracle.matches(pattern.encode(), path.encode()) is expected


@pytest.mark.parametrize(
    ("pattern", "path", "steps"),
    [
        ("/a$", "/a" * 9, 0),
        ("/b*cd", "/a", 0),
        ("/a*bc*def", "/a" + "x" * 8, 5 * 10),
        ("/a*bc$", "/a" + "x" * 8, 0),
        ("/a*%2F*b", "/a" + "x" * 8, 3 * 4 * 10),
    ],
)
def test_the_steps_of_a_pattern_are_known_before_it_is_tried(
    pattern: str, path: str, steps: int
) -> None:
    """RFC 9309 section 3: the octets of the inner pieces times those of the path."""
    assert parse_wildcard(pattern, FORM).steps(path) == steps


def test_the_pieces_of_a_pattern_are_in_normal_form() -> None:
    """RFC 9309 section 2.2.2: in a path and in a query; behind a ``?`` only in a query."""
    found = parse_wildcard("/%61%2F*%2F*x?%2F*%2F$", FORM)
    assert (found.prefix, found.is_exact, found.differs_in_query) == ("/a%2F", False, True)
    assert found.inner == (Piece("%2F", "/"), Piece("x?/", "x?/"))
    assert found.suffix == Piece("/", "/")
    assert parse_wildcard("/a**b*", FORM).inner == (Piece("b", "b"),)
    assert parse_wildcard("/a*$", FORM).suffix is None
    assert parse_wildcard("/%61$", FORM).is_exact
    assert not parse_wildcard("/a*b", FORM).differs_in_query
    assert inner_piece("%2F?%2F", FORM) == ("%2F?/", "/?/")
    assert inner_piece("\xe9?\xe9", AS_IT_IS) == ("%E9?%E9", "%E9?%E9")


def test_the_size_of_a_parsed_pattern_grows_with_its_pieces() -> None:
    """RFC 9309 section 3: equal pieces are one object."""
    sizes = [parse_wildcard("/" + text, FORM).size for text in ("*a", "*a*a*a", "*a*b*c")]
    assert sizes == [400 + 8 + 180, 400 + 24 + 180, 400 + 24 + 540]
    pieces = parse_wildcard("/" + "*%2Fa" * 3, FORM).inner
    assert pieces[0] is pieces[1] is pieces[2]
