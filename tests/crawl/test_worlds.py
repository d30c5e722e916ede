"""Random worlds that know only the documents: whatever the project does, the promises hold."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.crawl.harness import MODES, crawl_under
from tests.crawl.result import TOLD_LOUDLY
from tests.crawl.world_judge import judge
from tests.crawl.worlds import World, WorldSpider
from tests.rows import deep
from tests.site import Site
from tests.stores.servers import RedisServer

WORLDS = deep(16, 300)
"""How many worlds there are."""

DEFAULT = 3
"""How many worlds the default run has."""


@pytest.mark.parametrize(
    "seed",
    [n if n < DEFAULT else pytest.param(n, marks=pytest.mark.slow) for n in range(WORLDS)],
)
async def test_promises_are_kept(site: Site, tmp_path: Path, constants: Any, seed: int) -> None:
    """No page without its rules, none that they forbid, none lost or made twice, paces, limits."""
    chance = Random(seed)
    if chance.random() < 0.3:
        constants("access.policy", MIN_LIFETIME=chance.uniform(0.01, 0.8))
    mode = "asyncio" if seed < DEFAULT else chance.choice(["asyncio"] * 3 + list(MODES))
    await crawled(World(site, tmp_path, chance), mode)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
@pytest.mark.parametrize("seed", range(8))
async def test_promises_hold_over_scrapy_redis(
    site: Site, tmp_path: Path, server: RedisServer, seed: int
) -> None:
    """The scheduler of scrapy-redis, with its queues and ours; it keeps them through a stop."""
    await crawled(World(site, tmp_path, Random(seed), server.uri))


async def crawled(world: World, mode: str = "asyncio") -> None:
    """Crawl, perhaps with stops in between, and judge what was done."""
    results = []
    for run in range(world.stops + 1):
        how = {**world.run(), "timeout": 100}
        if run < world.stops:
            how["close_after"] = world.chance.uniform(0.0, 0.6)
        result = await crawl_under(mode, WorldSpider, world.project(), **how)
        expected = ["Gave up retrying", "REP_STORE is not set", *TOLD_LOUDLY]
        results.append(result.check_log(expected))
    judge(world, results)
