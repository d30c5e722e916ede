"""What the tests of the stores share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_rep.stores.sqlite import SqliteStore
from tests.stores.contract import now
from tests.stores.deployments import ClusterDeployment
from tests.stores.servers import RedisServer, running, running_server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file of a SQLite store may be."""
    return tmp_path / "robots.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """A SQLite store in that file."""
    with closing(SqliteStore(path, clock=now)) as store:
        yield store


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A redis-server for all tests that leave it as it is; without the program they fail."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def cluster() -> Iterator[ClusterDeployment]:
    """A cluster for all tests that leave it as it is."""
    with (
        tempfile.TemporaryDirectory() as directory,
        running(ClusterDeployment(Path(directory))) as deployment,
    ):
        yield deployment
