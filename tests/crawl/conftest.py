"""What all crawls of the tests have in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from scrapy.core.engine import ExecutionEngine


@pytest.fixture(autouse=True)
def _quick_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine looks after itself ten times a second, so that no crawl ends seconds late."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 0.1)


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_others() -> None:
    """What earlier modules have left is collected before the first test sets the rest aside."""
    gc.collect()


@pytest.fixture(autouse=True)
def _own_garbage(_garbage_of_others: None) -> Iterator[None]:
    """No collection within a test looks at what was there before: it is ten times as quick.

    Each crawl collects its garbage when it has ended, and a worker holds a million objects.
    """
    gc.freeze()
    yield
    gc.collect()
