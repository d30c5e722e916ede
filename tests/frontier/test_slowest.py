"""The site that takes longest is found without a walk, whatever the sites do meanwhile."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_rep.frontier.slowest import Slowest


@dataclass(eq=False)
class Paced:
    """A site that takes so many seconds; 0 if it does not wait for its turn."""

    seconds: float = 0.0
    listed: float = 0.0


def seconds(site: Paced) -> float:
    """What a site takes."""
    return site.seconds


SITES = 3
STEPS = st.lists(
    st.tuples(st.sampled_from(["waits", "takes", "looked for"]), st.integers(0, SITES - 1))
    .flatmap(lambda step: st.tuples(st.just(step), st.sampled_from([0, 1, 2, 3, 10, 15, 16, 400])))
    .map(lambda step: (*step[0], float(step[1]))),
    max_size=60,
)
"""A site that waits is listed if it takes longer than before; any may take less, or be gone."""


@pytest.mark.slow
@settings(max_examples=60)
@given(STEPS)
def test_what_is_found_takes_almost_as_long_as_any(steps: list[tuple[str, int, float]]) -> None:
    """Two thirds of the longest at least; None only if no site takes any time."""
    sites, slowest = [Paced() for _ in range(SITES)], Slowest(seconds)
    for what, number, value in steps:
        site = sites[number]
        if what == "waits":
            site.seconds = value
            slowest.add(site)
        elif what == "takes":
            site.seconds = min(site.seconds, value)
        found, longest = slowest.find(), max(map(seconds, sites))
        assert (found is None) == (longest == 0)
        if found is not None:
            assert 1.5 * found.seconds >= longest


@given(STEPS, st.integers(0, SITES - 1))
def test_what_has_not_been_looked_for_is_found_all_the_same(
    steps: list[tuple[str, int, float]], last: int
) -> None:
    """One look after all that has happened."""
    sites, slowest = [Paced() for _ in range(SITES)], Slowest(seconds)
    for what, number, value in steps:
        sites[number].seconds = value if what == "waits" else 0.0
        slowest.add(sites[number])
    sites[last].seconds = 1_000.0
    slowest.add(sites[last])
    assert slowest.find() is sites[last]


def test_sites_that_are_gone_are_forgotten() -> None:
    """Ten thousand come and go beside one that takes days, and nothing asks for the slowest."""
    slowest, longest = Slowest(seconds), Paced(1e6)
    slowest.add(longest)
    gone = []
    for _ in range(10_000):
        site = Paced(10.0)
        slowest.add(site)
        site.seconds = 0.0
        gone.append(weakref.ref(site))
    assert sum(site() is not None for site in gone) < 500
    assert slowest.find() is longest
