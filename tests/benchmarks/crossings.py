"""How long the way of a request is: calls, and how often control goes from one module to another.

``python -m tests.benchmarks.crossings`` crawls two pages of one authority on loopback. It prints,
for the first request, whose robots.txt is fetched, and for the next, whose rules are in memory: the
calls of functions of this package, those of them that come from another module, and the modules.
A coroutine that is resumed counts as called. It does so for the gate alone, and with what reads
pages and preferences, as is the default.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from types import FrameType
from typing import Any, NamedTuple

from scrapy import Request, Spider

from tests.benchmarks.running import ADDON, crawled, in_a_process
from tests.site import Site

KINDS: dict[str, dict[str, Any]] = {
    "the gate alone": {"REP_PAGE_DIRECTIVES": "off", "REP_PREFERENCES": "off"},
    "by default": {},
}
PACKAGE = "scrapy_rep."


class Way(NamedTuple):
    """What one request goes through."""

    calls: int
    crossings: int
    modules: int


class Watch:
    """Counts the calls of this package from :meth:`begin` to :meth:`end`."""

    def begin(self) -> None:
        """Count from here on."""
        self._calls = self._crossings = 0
        self._modules: set[str] = set()
        sys.setprofile(self._note)

    def end(self) -> Way:
        """Return what was counted."""
        sys.setprofile(None)
        return Way(self._calls, self._crossings, len(self._modules))

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(PACKAGE):
            caller = frame.f_back
            self._calls += 1
            self._crossings += caller is None or caller.f_globals.get("__name__") != module
            self._modules.add(module)


class TwoPages(Spider):
    """Two pages, one after the other."""

    name = "crossings"
    ways: list[Way]

    def __init__(self, base: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._base = base
        self._watch = Watch()
        self.ways = []

    async def start(self) -> AsyncIterator[Any]:
        """The first."""
        self._watch.begin()
        yield Request(f"{self._base}/1")

    def parse(self, response: Any) -> Request | None:
        """Counted; the first leads to the second."""
        self.ways.append(self._watch.end())
        if len(self.ways) > 1:
            return None
        self._watch.begin()
        return Request(f"{self._base}/2")


def crawl(kind: str) -> list[Way]:
    """The ways of two requests of a crawl in this process."""
    with Site() as site:
        shop = site.authority("User-agent: *\nDisallow: /no\n")
        settings = {**ADDON, "USER_AGENT": "examplebot/1.0", **KINDS[kind]}
        return list(crawled(TwoPages, settings, base=shop.url("")).ways)


def measure(kind: str) -> list[Way]:
    """The shorter of two such crawls, each in its own process: a timer may go off in one."""
    crawls = [in_a_process("crossings", kind) for _ in range(2)]
    return [Way(*min(ways)) for ways in zip(*crawls, strict=True)]


def main(arguments: list[str]) -> None:
    """The table, or one crawl of it."""
    if arguments:
        print(json.dumps(crawl(arguments[0])))
        return
    print(f"{'':18}{'request':12}{'calls':>8}{'crossings':>12}{'modules':>10}")
    for kind in KINDS:
        for request, way in zip(("first", "next"), measure(kind), strict=True):
            print(f"{kind:18}{request:12}{way.calls:8}{way.crossings:12}{way.modules:10}")


if __name__ == "__main__":
    main(sys.argv[1:])
