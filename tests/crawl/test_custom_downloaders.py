"""DOWNLOADER may be anything: the pace is kept or the requests are refused, and nothing locks up.

RFC 9309 section 2.2.4 leaves Crawl-delay open; what cannot be kept is no permission.
"""

from __future__ import annotations

from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler

from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.pacing import SlotlessDownloader, gaps
from tests.crawl.plugin import RULES, obey
from tests.site import Site

SLOW = "User-agent: *\nCrawl-delay: 0.1\n"


def settings_of(downloader: type[Any], **settings: Any) -> dict[str, Any]:
    """Settings of a crawl with a custom downloader, which Scrapy's default queue may not suit."""
    return obey(
        DOWNLOADER=f"{__name__}.{downloader.__name__}",
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
        **settings,
    )


class OneAtATimeDownloader(SlotlessDownloader):
    """Has room for one request, and says so in no way but the documented one."""

    def needs_backout(self) -> bool:
        """There is room for one."""
        return len(self.active) >= 1


@pytest.mark.parametrize("mode", EACH_MODE)
@pytest.mark.parametrize("where", ["page", "after"])
@pytest.mark.parametrize(
    "downloader",
    [pytest.param(SlotlessDownloader, marks=pytest.mark.slow), OneAtATimeDownloader],
)
@ensureDeferred
async def test_a_downloader_without_slots_locks_nothing_up(
    site: Site, mode: str, where: str, downloader: type[Any]
) -> None:
    """A request may wait for another one of its host, before its download or after it."""
    slow = site.authority(SLOW)
    middlewares = {"tests.crawl.middlewares.InnerMiddleware": 950}
    settings = settings_of(downloader, DOWNLOADER_MIDDLEWARES=middlewares)
    settings["DOWNLOADER"] = f"{downloader.__module__}.{downloader.__name__}"
    plans = [slow.url(f"/{where}{number}") for number in range(3)]
    result = (await crawl_under(mode, settings=settings, plans=plans)).check()
    assert len(result.downloaded) == 3
    assert len(slow.page_hits) == 6
    assert min(gaps(slow)) >= 0.1


class OtherSlot:
    """A slot that has nothing of Scrapy's."""

    def __init__(self) -> None:
        self.members: list[Request] = []


class OtherSlotsDownloader(SlotlessDownloader):
    """Keeps slots by the name that Scrapy's downloader has for them, but others."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.slots: dict[str, OtherSlot] = {}
        self.per_slot_settings: dict[str, Any] = {}
        self.domain_concurrency = self.total_concurrency = 8

    def _get_slot(self, request: Request) -> tuple[str, OtherSlot]:
        key = request.url.split("/")[2]
        return key, self.slots.setdefault(key, OtherSlot())


class MissingSlotsDownloader(OtherSlotsDownloader):
    """Fails when it is asked for a slot."""

    def _get_slot(self, request: Request) -> tuple[str, OtherSlot]:
        raise LookupError("there are none")


class HalfADownloader(Downloader):
    """Scrapy's, with other slots behind its back."""

    def _get_slot(self, request: Request, spider: Any = None) -> Any:
        key, slot = super()._get_slot(request)
        return key, _Guarded(slot)


class _Guarded:
    """A slot that shows of Scrapy's only what its downloader needs to send."""

    def __init__(self, slot: Any) -> None:
        self.__dict__["_slot"] = slot

    def __getattr__(self, name: str) -> Any:
        if name == "concurrency":
            raise AttributeError(name)
        return getattr(self.__dict__["_slot"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_slot"], name, value)


@pytest.mark.parametrize(
    "downloader", [OtherSlotsDownloader, MissingSlotsDownloader, HalfADownloader]
)
@ensureDeferred
async def test_a_downloader_with_other_slots_keeps_the_pace(
    site: Site, downloader: type[Any]
) -> None:
    """What is in ``slots`` need not be what Scrapy has there."""
    slow, quick = site.authority(SLOW), site.authority(RULES)
    plans = [shop.url(f"/{number}") for number in range(4) for shop in (slow, quick)]
    plans.append(quick.url("/private"))
    result = (await crawl(settings=settings_of(downloader), plans=plans)).check()
    assert (len(result.downloaded), len(result.forbidden)) == (8, 1)
    assert min(gaps(slow)) >= 0.1


class _Opaque:
    """Runs the middlewares, and shows nothing of their methods."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self.middlewares = own.middlewares

    def download_async(self, download: Any, request: Request) -> Any:
        """What a request comes to."""
        return self._own.download_async(download, request)


class OpaqueDownloader(SlotlessDownloader):
    """A downloader that nothing can be added to."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.middleware: Any = _Opaque(self.middleware)


@ensureDeferred
async def test_a_downloader_that_hides_its_middlewares_keeps_the_pace(site: Site) -> None:
    """The last step is a middleware like any other one."""
    slow, quick = site.authority(SLOW), site.authority(RULES)
    plans = [shop.url(f"/{number}") for number in range(4) for shop in (slow, quick)]
    result = (await crawl(settings=settings_of(OpaqueDownloader), plans=plans)).check()
    assert len(result.downloaded) == 8
    assert min(gaps(slow)) >= 0.1
