"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.site import Site


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but for one that Scrapy 2.14 cannot help: how it asks for TLS."""
    ignored = "ignore:Passing method to twisted.internet.ssl:DeprecationWarning"
    config.addinivalue_line("filterwarnings", ignored)


@pytest.fixture
def site() -> Iterator[Site]:
    """A site of the test's own, without any authority yet."""
    with Site() as site:
        yield site
