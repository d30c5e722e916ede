"""A Scrapy that lacks a name on which the waiting relies ends the crawl, or one feature."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import scrapy
from pytest_twisted import ensureDeferred
from scrapy.core.downloader import Downloader
from scrapy.core.engine import ExecutionEngine
from scrapy.core.engine import _Slot as EngineSlot

from scrapy_rep.scrapy_names import NAMES
from tests.crawl.harness import crawl
from tests.crawl.pacing import gaps
from tests.crawl.plugin import RULES, obey
from tests.site import Site

HOLDERS: dict[str, type[Any]] = {
    "downloader": ExecutionEngine,
    "_slot": ExecutionEngine,
    "active": Downloader,
    "total_concurrency": Downloader,
    "closing": EngineSlot,
    "nextcall": EngineSlot,
}
"""The class that has each undocumented attribute; ``schedule`` is that of ``nextcall``."""

CASES = [
    (path, attribute) for path in NAMES for attribute in path.split(".")[1:] if attribute in HOLDERS
]


@contextmanager
def hidden(cls: Any, attribute: str) -> Iterator[None]:
    """An attribute is gone for this package, and for nothing else."""
    original = cls.__getattribute__

    def without(self: Any, asked: str) -> Any:
        caller: str = sys._getframe(1).f_globals["__name__"]
        if asked == attribute and caller.startswith("scrapy_rep"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        return original(self, asked)

    cls.__getattribute__ = without
    try:
        yield
    finally:
        del cls.__getattribute__


@pytest.mark.parametrize(("path", "attribute"), CASES)
@ensureDeferred
async def test_a_name_that_is_gone_is_said_in_one_line(
    site: Site, path: str, attribute: str
) -> None:
    """What is necessary ends the crawl before its first request, the rest is done without."""
    slow, quick = site.authority("User-agent: *\nCrawl-delay: 0.2\n"), site.authority(RULES)
    plans = [shop.url(f"/{number}") for number in range(3) for shop in (slow, quick)]
    plans.append(quick.url("/private"))
    with hidden(HOLDERS[attribute], attribute):
        result = await crawl(settings=obey(), plans=plans)
    said = [
        line for line in result.log if line.logger == "scrapy_rep" and "does not know" in line.text
    ]
    gone = [name for name in NAMES if attribute in name.split(".")]
    if any(NAMES[name] is None for name in gone):
        (line,) = [line for line in said if line.level == "ERROR"]
        assert f"does not know this Scrapy {scrapy.__version__}: " in line.text
        assert line.text.endswith("; the crawl ends without a request")
        assert (result.made, site.hits) == ([], [])
        assert result.stats["finish_reason"] == "unknown_scrapy"
        return
    (line,) = said
    assert line.level == "WARNING"
    assert path in line.text
    assert line.text.endswith(str(NAMES[path]))
    result.check()
    assert (result.downloaded, result.forbidden) == (plans[:-1], plans[-1:])
    assert min(gaps(slow)) >= 0.2


def test_there_are_at_most_twelve_names() -> None:
    """Each further one is a way in which a new version of Scrapy can break this package."""
    undocumented = {part for path in NAMES for part in path.split(".")} - {"engine", "schedule"}
    assert len(undocumented) <= 12
