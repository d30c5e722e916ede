"""Many literals looked for at once."""

import random

import pytest

from scrapy_rep.matching.index import FloatIndex, PrefixIndex

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
        assert [*index.beginning(path)] == expected[::-1]


def test_literals_that_begin_each_other_are_climbed_in_few_steps() -> None:
    """RFC 9309 section 3: a thousand links are not followed one by one."""
    index = PrefixIndex([*CHAIN, "/" + "a" * 500 + "b"])
    steps = [0]

    class Path(str):
        __slots__ = ()

        def startswith(self, *args: object) -> bool:  # type: ignore[override]
            steps[0] += 1
            return super().startswith(*args)  # type: ignore[arg-type]

    assert index.keys[index.longest(Path("/aab"))] == "/aa"
    assert steps[0] < 100


@pytest.mark.parametrize("number", [10, 59, 200, 2_000])
def test_floating_literals_are_found_wherever_they_stand(number: int) -> None:
    """RFC 9309 section 2.2.3: ``*`` is 0 or more of any character."""
    rnd = random.Random(number)
    letters = "abc/?=&."
    literals = {"".join(rnd.choices(letters, k=rnd.randrange(1, 9))) for _ in range(number)}
    index = FloatIndex(literals)
    for _ in range(200):
        path = "/" + "".join(rnd.choices(letters, k=rnd.randrange(20)))
        held = [*index.held(path)]
        assert {*held} == {text for text in literals if text in path}
        assert len(held) == len({*held})
        assert index.holds(path) is bool(held)
