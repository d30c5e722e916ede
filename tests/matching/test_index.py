"""Many literals looked for at once."""

import random

import pytest

from scrapy_rep.matching.index import PrefixIndex, SubstringIndex

CHAIN = ["/" + "a" * number for number in range(1_000)]


@pytest.mark.parametrize("seed", range(10))
def test_the_longest_literal_that_begins_a_path_is_found(seed: int) -> None:
    """RFC 9309 section 2.2.2: the match that has the most octets."""
    rnd = random.Random(seed)
    literals = {"/" + "".join(rnd.choices("ab/", k=rnd.randrange(8))) for _ in range(200)}
    index = PrefixIndex(literals)
    for _ in range(500):
        path = "/" + "".join(rnd.choices("ab/c", k=rnd.randrange(10)))
        expected = sorted((text for text in literals if path.startswith(text)), key=len)
        assert [*index.prefixes_of(path)] == expected[::-1]


def test_literals_that_begin_each_other_are_all_found() -> None:
    """RFC 9309 section 2.2.2: the links lead through a thousand of them, the longest first."""
    index = PrefixIndex([*CHAIN, "/" + "a" * 500 + "b"])
    assert index.keys[index.longest("/aab")] == "/aa"
    assert [*index.prefixes_of("/aab")] == ["/aa", "/a", "/"]
    assert [*index.prefixes_of("/" + "a" * 500 + "bc")][:2] == ["/" + "a" * 500 + "b", CHAIN[500]]
    assert [*index.prefixes_of("/" + "a" * 2_000)] == CHAIN[::-1]
    assert [*index.prefixes_of("b")] == []


@pytest.mark.parametrize("number", [10, 59, 200, 2_000])
def test_floating_literals_are_found_wherever_they_stand(number: int) -> None:
    """RFC 9309 section 2.2.3: ``*`` is 0 or more of any character."""
    rnd = random.Random(number)
    letters = "abc/?=&."
    literals = {"".join(rnd.choices(letters, k=rnd.randrange(1, 9))) for _ in range(number)}
    index = SubstringIndex(literals)
    for _ in range(200):
        path = "/" + "".join(rnd.choices(letters, k=rnd.randrange(20)))
        held = [*index.found_in(path)]
        assert {*held} == {text for text in literals if text in path}
        assert len(held) == len({*held})
        assert index.any_in(path) is bool(held)
