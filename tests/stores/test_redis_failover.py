"""A master dies, of a Sentinel's service or of a cluster: the store finds its successor."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep.stores.redis import RedisStore
from tests.stores.asking import Asker, nap
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


@pytest.fixture(params=[SentinelDeployment, ClusterDeployment])
def deployment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A master and its Sentinels, or a cluster, of the test's own."""
    deployment = request.param(tmp_path, GIVEN_UP_AFTER)
    try:
        yield deployment.start()
    finally:
        deployment.stop()


async def found(crawl: Asker) -> tuple[int, float]:
    """How many of the authorities are found, and the longest that a look-up took."""
    asked = [crawl.get(number) for number in range(COUNT)]
    answers = [await each for each in asked]
    brought = [number for number, (answer, _) in enumerate(answers) if answer == entry(number)]
    assert len(brought) == sum(answer is not None for answer, _ in answers)
    return len(brought), max(seconds for _, seconds in answers)


async def outlives(store: RedisStore, late: Lateness, *, within: float) -> None:
    """Look-ups go on, all short; all entries are found again in time, and written again."""
    crawl = Asker(store)
    end = time.monotonic() + within
    while True:
        brought, longest = await found(crawl)
        assert longest < store.patience + 0.1 + late.slack
        if brought == COUNT:
            break
        assert time.monotonic() < end, f"{brought} of {COUNT} are found"
        await nap(0.05)
    for number in range(COUNT):
        store.put(authority(number), entry(number + 1))
    store.flush()
    for number in range(COUNT):
        assert store.get(authority(number)).result(10) == entry(number + 1)


async def fill(store: RedisStore) -> None:
    """All authorities are known, to the replicas, too."""
    for number in range(COUNT):
        store.put(authority(number), entry(number))
    store.flush()
    assert (await found(Asker(store)))[0] == COUNT
    await nap(0.2)


@pytest.mark.parametrize("death", DEATHS)
@ensureDeferred
async def test_a_new_master_is_found(deployment: Any, death: int) -> None:
    """A master dies or hangs: within seconds its successor is read and written."""
    store = RedisStore(deployment.uri, clock=now)
    try:
        await fill(store)
        master = deployment.master()
        master.signal(death)
        with Lateness() as late:
            await outlives(store, late, within=12)
        assert deployment.master() is not master
    finally:
        store.close()
