"""One parsed pattern against one match path."""

from __future__ import annotations

from scrapy_rep.robotstxt.normal_form import form_of
from scrapy_rep.robotstxt.patterns import STEPS_OF_A_PIECE, Wildcard
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.hostile import oracle
from tests.robotstxt.paths import match_path
from tests.rows import rows

FORM = form_of(PROFILES["rfc9309"])


def parsed(pattern: str) -> Wildcard:
    """A pattern of the profile rfc9309."""
    return Wildcard(pattern, pattern, FORM.octets(pattern), FORM)


def matches(pattern: str, path: str) -> bool:
    """A pattern matches a path as it stands in a URI; then it has passed what comes before."""
    found = parsed(pattern).matches(match_path(path, FORM))
    assert not found or parsed(pattern).least <= len(match_path(path, FORM))
    assert not found or parsed(pattern).literal in match_path(path, FORM)
    return found


@rows(
    "text",
    *("/*%2Fx$ /a%2Fx /?a/x /?a%2Fx /?/x !/a/x", "/*?%2Fx$ /?/x", "/*a*%2F$ /?a/ !/?/a"),
    *("/*a/*%2F$ !/?a/", "/*%2F*%2F /a%2F?/ !/?a/", "/*%2Fb*b /%2Fb?/b", "/*%2Fb*c /?/bc/%2Fb"),
    *("/*%2Fbc*d /x%2Fbcd?/bc /x?/bcd%2Fbc", "/*%2Fab*%2Fab*c /x%2Fab?/abc"),
    *("/*%2Fab*%2Fab*%2Fab !/x%2Fab?/ab", "/*%2Fx*%2Fx*%2Fx /?/x/x/x !/?/x/x"),
    *("*/a%2F*b /a%2Fb?", "/ab*b$ !/ab", "/*aa*aa !/aaa"),
)
def test_a_piece_is_taken_where_it_ends_first(text: str) -> None:
    """RFC 9309 section 2.2.3: pieces follow each other without sharing an octet.

    A pattern, the paths that it matches, and with a ``!`` those that it does not.
    """
    pattern, *paths = text.split()
    for path in paths:
        path, is_match = path.lstrip("!"), not path.startswith("!")
        assert matches(pattern, path) is is_match, path
        if "%" not in path:
            assert oracle.matches(pattern.encode(), path.encode()) is is_match, path


@rows(
    "pattern, pieces, steps",
    ("/a$", 0, 0),
    ("/a*bc*def", 2, 3 * 10),
    ("/a*bc$", 1, 2 * 10),
    ("/a*%2F*b", 2, 2 * 2 * 3 * 10),
)
def test_the_steps_of_a_pattern_are_known_before_it_is_tried(
    pattern: str, pieces: int, steps: int
) -> None:
    """RFC 9309 section 3: the octets of the longest piece times those of the path."""
    assert parsed(pattern).steps("/a" + "x" * 8) == pieces * STEPS_OF_A_PIECE + steps


def test_the_pieces_of_a_pattern_are_in_normal_form() -> None:
    """RFC 9309 section 2.2.2: in a path and in a query; behind a ``?`` only in a query."""
    found = parsed("/%61%2F*%2F*x?%2F*%2F$")
    assert (found.head, found.ends) == ("/a%2F", True)
    assert found.pieces == ("%2F", "x?/", "/")
    assert found.in_query == ("/", "x?/", "/")
    assert parsed("/a**b*").pieces == ("b",)
    assert parsed("/a*$").pieces == ("",)
    assert parsed("/%61$").pieces == ()


@rows(
    "pattern, literal",
    ("/a*b", "b"),
    ("/*abc*de", "abc"),
    ("/*%2Fabc", "abc"),
    ("/*ab%2Fc", "ab"),
    ("/*%2F", ""),
    ("/a", ""),
    ("/*" + "0123456789" * 7, ("0123456789" * 7)[-32:]),
)
def test_every_path_that_a_pattern_matches_holds_its_literal(pattern: str, literal: str) -> None:
    """RFC 9309 section 2.2.2: what may differ in a query is no part of it."""
    assert parsed(pattern).literal == literal


def test_a_path_that_begins_otherwise_does_not_match() -> None:
    """RFC 9309 section 2.2.3: the octets before the first wildcard stand at the start."""
    assert not matches("/a*b", "/b/a/b")
