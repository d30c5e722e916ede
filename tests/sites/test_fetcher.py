"""How many robots.txt files are fetched at once, by what the process may open."""

from __future__ import annotations

import pytest

from scrapy_rep.sites import fetcher


@pytest.mark.parametrize(
    ("descriptors", "requests", "most"),
    [(1_024, 16, 256), (65_536, 16, 512), (512, 16, 128), (128, 16, 64), (1_024, 400, 400)],
)
def test_fetches_take_a_part_of_the_descriptors(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, requests: int, most: int
) -> None:
    """A quarter of them, at most 512; but never fewer than CONCURRENT_REQUESTS."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    assert fetcher.most_at_once(requests) == most


def test_no_limit_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """RLIM_INFINITY is a negative number; some systems have no limits at all."""
    monkeypatch.setattr(fetcher, "resource", None)
    assert fetcher.most_at_once(16) == 512
