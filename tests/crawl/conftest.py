"""What all crawls of the tests have in common."""

from __future__ import annotations

import pytest
from scrapy.core.engine import ExecutionEngine


@pytest.fixture(autouse=True)
def _quick_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine looks after itself ten times a second, so that no crawl ends seconds late."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 0.1)
