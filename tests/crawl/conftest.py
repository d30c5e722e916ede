"""What all crawls of the tests have in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from scrapy.core.engine import ExecutionEngine

from tests.crawl.clock import Ahead, take_over
from tests.crawl.harness import EACH_MODE
from tests.crawl.sharing import CUSTOM, OURS, SharedStore, shared_store_of
from tests.rows import first
from tests.stores.servers import RedisServer


@pytest.fixture(autouse=True)
def _quick_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine looks after itself ten times a second, so that no crawl ends seconds late."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 0.1)


@pytest.fixture(autouse=True)
def _own_garbage(others_set_aside: None) -> Iterator[None]:
    """What a crawl has left is collected, and nothing else is looked at."""
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture(params=EACH_MODE)
def mode(request: pytest.FixtureRequest) -> str:
    """The reactor of a crawl, or none: by default asyncio's."""
    return str(request.param)


@pytest.fixture(params=first(1, OURS))
def store_uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that several workers may share: by default a file."""
    if request.param == "SQLite":
        return f"sqlite://{tmp_path}/robots.db"
    server: RedisServer = request.getfixturevalue("server")
    return server.uri


@pytest.fixture
def queue(module_server: RedisServer) -> RedisServer:
    """That server, empty: it has the queue and the store."""
    with redis.Redis(port=module_server.port) as client:
        client.flushall()
    return module_server


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """The clock of the package."""
    return take_over(monkeypatch)


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, Any]:
    """The settings of a crawl that keeps what it fetches in a file."""
    return {"REP_STORE": f"sqlite://{tmp_path}/robots.db"}


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    """The settings of a crawl with a job directory, in which no rules are kept."""
    return {"JOBDIR": str(tmp_path), "REP_STORE": "memory:"}


@pytest.fixture(params=first(1, OURS + CUSTOM))
def shared(request: pytest.FixtureRequest) -> Iterator[SharedStore]:
    """A store of each kind, for several crawls: by default a file."""
    with shared_store_of(request.param) as shared:
        yield shared
