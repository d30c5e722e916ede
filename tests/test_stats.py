"""What the stats of a crawl remember, so that they say it once."""

from __future__ import annotations

import pytest

from scrapy_rep.access.authority import Authority
from scrapy_rep.stats import RepStats


def test_the_sites_that_redirect_on_and_on_are_not_all_remembered(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One site in twenty does, so a crawl of the web meets millions of them."""
    monkeypatch.setattr("scrapy_rep.stats._MOST_REDIRECTING", 3)
    stats = RepStats()
    for number in range(10):
        for _ in range(2):
            stats.redirected_on(Authority("http", f"h{number}.example", 80), 5)
    assert len(caplog.messages) == 10
    assert len(stats._redirecting) <= 3
