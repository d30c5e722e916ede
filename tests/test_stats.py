"""What the stats of a crawl remember, so that they say it once."""

from __future__ import annotations

import pytest

from scrapy_rep.access.authority import Authority
from scrapy_rep.stats import RepStats


def test_the_sites_that_redirect_on_and_on_are_not_all_remembered(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One site in twenty does, so a crawl of the web meets millions of them."""
    monkeypatch.setattr("scrapy_rep.stats._MOST_SAID", 3)
    stats = RepStats()
    for number in range(10):
        for _ in range(2):
            stats.redirected_on(Authority("http", f"h{number}.example", 80), 5)
    assert len(caplog.messages) == 10
    assert len(stats._redirecting) <= 3


def test_no_login_of_a_url_is_logged_with_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    """The errors of some proxies name them as they were asked for."""
    RepStats().own_fault("A check", ValueError("407, url='http://ann:secret@proxy.example:3128'"))
    assert "url='http://proxy.example:3128'" in caplog.text
    assert "secret" not in caplog.text
