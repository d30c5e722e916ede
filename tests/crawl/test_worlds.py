"""Random worlds that know only the documents: whatever the project does, the promises hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.crawl.harness import MODES, crawl_under
from tests.crawl.world_judge import judge
from tests.crawl.worlds import World, WorldSpider
from tests.rows import first
from tests.site import Site


@pytest.mark.parametrize("seed", first(3, range(300)))
async def test_worlds(
    site: Site, tmp_path: Path, constants: Callable[..., None], seed: int
) -> None:
    """No page without its rules, none that they forbid, none lost or made twice, paces, limits."""
    chance = Random(seed)
    if chance.random() < 0.3:
        constants("access.policy", MIN_LIFETIME=chance.uniform(0.01, 0.8))
    mode = "asyncio" if seed < 6 else chance.choice(["asyncio"] * 3 + list(MODES))
    world = World(site, tmp_path, chance, mode)
    results = []
    for _ in range(world.stops):
        after = chance.uniform(0.0, 0.6)
        how = {**world.run(), "close_after": after, "timeout": 40}
        results.append(await crawl_under(mode, WorldSpider, world.project(), **how))
    how = {**world.run(), "timeout": 40}
    results.append(await crawl_under(mode, WorldSpider, world.project(), **how))
    for result in results:
        result.check_log(["Gave up retrying"])
    judge(world, results)
