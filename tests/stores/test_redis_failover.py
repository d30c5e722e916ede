"""A master dies, of a Sentinel's service or of a cluster: the store finds its successor."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.redis import PATIENCE, RedisStore
from tests.stores.contract import now
from tests.stores.deployments import ClusterDeployment, SentinelDeployment
from tests.stores.lateness import Lateness
from tests.stores.samples import authority, entry
from tests.timed import waits

pytestmark = waits

GIVEN_UP_AFTER = 500
"""Milliseconds after which a server that is silent is taken for dead."""

DEATHS = [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)]
"""A server that dies, and one that hangs."""

COUNT = 60
"""Authorities, so that each node of a cluster has some."""


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[SentinelDeployment]:
    """A master and its Sentinels, of the test's own."""
    deployment = SentinelDeployment(tmp_path, GIVEN_UP_AFTER)
    try:
        yield deployment.start()
    finally:
        deployment.stop()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[ClusterDeployment]:
    """A cluster of the test's own."""
    deployment = ClusterDeployment(tmp_path, GIVEN_UP_AFTER)
    try:
        yield deployment.start()
    finally:
        deployment.stop()


def begin(store: RedisStore, number: int) -> Future[Any] | None:
    """A look-up, unless it is refused."""
    try:
        return store.get(authority(number))
    except StoreError:
        return None


def found(store: RedisStore) -> tuple[int, float]:
    """How many of the authorities are found, and the longest that a look-up took."""
    asked = [(number, time.monotonic(), begin(store, number)) for number in range(COUNT)]
    brought, longest = 0, 0.0
    for number, start, answer in asked:
        if answer is None:
            continue
        error = answer.exception(10)
        longest = max(longest, time.monotonic() - start)
        assert error is None or isinstance(error, StoreError)
        if error is None and answer.result() is not None:
            assert answer.result() == entry(number)
            brought += 1
    return brought, longest


def outlives(store: RedisStore, late: Lateness, *, within: float) -> None:
    """Look-ups go on, all short; all entries are found again in time, and written again."""
    end = time.monotonic() + within
    while True:
        brought, longest = found(store)
        assert longest < PATIENCE + 0.1 + late.slack
        if brought == COUNT:
            break
        assert time.monotonic() < end, f"{brought} of {COUNT} are found"
        time.sleep(0.05)
    for number in range(COUNT):
        store.put(authority(number), entry(number + 1))
    store.flush()
    for number in range(COUNT):
        assert store.get(authority(number)).result(10) == entry(number + 1)


def fill(store: RedisStore) -> None:
    """All authorities are known, to the replicas, too."""
    for number in range(COUNT):
        store.put(authority(number), entry(number))
    store.flush()
    assert found(store)[0] == COUNT
    time.sleep(0.2)


@pytest.mark.parametrize("death", DEATHS)
def test_a_sentinels_new_master_is_found(watched: SentinelDeployment, death: int) -> None:
    """A master that dies or hangs: within seconds the Sentinels' choice is read and written."""
    store = RedisStore(watched.uri, clock=now)
    try:
        fill(store)
        master = watched.master()
        master.signal(death)
        with Lateness() as late:
            outlives(store, late, within=12)
        assert watched.master() is not master
    finally:
        store.close()


@pytest.mark.parametrize("death", DEATHS)
def test_a_clusters_new_master_is_found(nodes: ClusterDeployment, death: int) -> None:
    """One of three masters dies or hangs: its replica is read and written within seconds."""
    store = RedisStore(nodes.uri, clock=now)
    try:
        fill(store)
        nodes.servers[1].signal(death)
        with Lateness() as late:
            outlives(store, late, within=12)
    finally:
        store.close()
