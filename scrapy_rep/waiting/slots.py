"""The downloader slots that have as many requests as they may send at once.

Of what has waited they get no more. Otherwise a slot queues it, and under asyncio Scrapy sends all
that a slot has queued as soon as one of its requests ends: it counts a request only when its
download has begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from scrapy_rep.waiting.ready import slot_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

    from scrapy_rep.scrapy_names import ScrapyNames


class Slots:
    """The downloader slots of a crawl."""

    def __init__(self, settings: BaseSettings, scrapy: ScrapyNames):
        self._scrapy = scrapy
        self._of_some = settings.getdict("DOWNLOAD_SLOTS")
        of_ip = settings.getint("CONCURRENT_REQUESTS_PER_IP")
        self._of_each = of_ip or settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self._just_out: set[Request] = set()

    def hand_out(self, request: Request) -> None:
        """Count a request until it has had the time to reach the last step."""
        if not self._just_out:
            call_later(0.0, self._just_out.clear)
        self._just_out.add(request)

    def crowded(self, is_under_way: Callable[[Request], bool]) -> frozenset[str]:
        """Return the slots that have as many requests as they may send at once.

        ``is_under_way(request)`` says that one has passed the last step, and its download has not
        ended. What another middleware holds up does not count.
        """
        of_slot = Counter(
            slot_of(request)
            for request in self._scrapy.active
            if request in self._just_out or is_under_way(request)
        )
        return frozenset(s for s, number in of_slot.items() if 0 < self._most(s) <= number)

    def _most(self, slot: str) -> int:
        """Return how many requests a slot sends at once; 0 if there is no limit."""
        most: int = self._of_some.get(slot, {}).get("concurrency", self._of_each)
        return most
