"""Every use of what Scrapy does not document, and the check of it when a crawl starts.

A name that is necessary and missing ends the crawl with one line. One that is optional switches off
what needs it, with one line. The crawl never changes silently.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import scrapy
from scrapy.core.downloader import Downloader

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.crawler import Crawler

ACTIVE: Final = "engine.downloader.active"
TOTAL: Final = "engine.downloader.total_concurrency"
CLOSING: Final = "engine._slot.closing"
WAKING: Final = "engine._slot.nextcall.schedule"

NAMES: Final[dict[str, str | None]] = {
    ACTIVE: None,
    CLOSING: None,
    TOTAL: "requests that wait, and fetches of robots.txt, count towards CONCURRENT_REQUESTS",
    WAKING: "requests that have waited may start up to five seconds late",
}
"""The names, from the crawler on, and what happens without each; None if the crawl ends."""


class UnknownScrapyError(Exception):
    """The installed Scrapy lacks a name without which robots.txt cannot be obeyed."""


class ScrapyNames:
    """What this package asks and changes of the engine and the downloader of one crawl.

    ``warn`` gets one line for each name that is missing and can be done without.
    """

    def __init__(self, crawler: Crawler, warn: Callable[[str], None]):
        self._crawler = crawler
        self._warn = warn
        self._missing: set[str] = set()
        self._unknown: str | None = None
        self._is_checked = False

    def check(self) -> bool:
        """Look up every name, the first time that this is called for an open spider.

        Return whether that is done. Raises :class:`UnknownScrapyError`, at every call, if the crawl
        has to end.
        """
        if not self._is_checked and self._crawler.spider is not None:
            self._is_checked = True
            self._missing = {name for name in NAMES if not self._has(name)}
            for name in NAMES:
                if name in self._missing:
                    self._lack(name, NAMES[name])
        if self._unknown is not None:
            raise UnknownScrapyError(self._unknown)
        return self._is_checked

    def _has(self, name: str) -> bool:
        try:
            value = attrgetter(name)(self._crawler)
            if name == TOTAL:
                self._crawler.engine.downloader.total_concurrency = value
        except AttributeError:
            return False
        return isinstance(value, int) if name == TOTAL else True

    def _lack(self, name: str, without: str | None) -> None:
        said = f"scrapy_rep {_own_version()} does not know this Scrapy {scrapy.__version__}: "
        said += f"the crawler has no {name}"
        if without is not None:
            if isinstance(getattr(self._engine, "downloader", None), Downloader):
                self._warn(f"{said}; {without}")  # otherwise it is the user's choice
        elif self._unknown is None:
            self._unknown = said

    @property
    def active(self) -> AbstractSet[Request]:
        """The requests that the downloader has, from the first middleware to the last."""
        active: AbstractSet[Request] = self._engine.downloader.active
        return active

    def lend(self, places: int) -> None:
        """Let the downloader have so many requests more, or fewer; it may have no limit."""
        downloader = self._engine.downloader
        if TOTAL not in self._missing and downloader.total_concurrency > 0:
            downloader.total_concurrency += places

    @property
    def is_closing(self) -> bool:
        """Whether the spider is being closed, or is not open: nothing new should begin."""
        slot = self._engine._slot  # noqa: SLF001
        return slot is None or slot.closing is not None

    @property
    def is_over(self) -> bool:
        """Whether the downloader is closed, or about to be; a download begun now never ends."""
        slot = self._engine._slot  # noqa: SLF001
        return slot is None or (slot.closing is not None and slot.closing.called)

    def wake(self) -> None:
        """Have the engine ask the scheduler now. By itself it does so when a request has ended."""
        if WAKING not in self._missing and not self.is_closing:
            self._engine._slot.nextcall.schedule()  # noqa: SLF001

    @property
    def _engine(self) -> Any:
        return self._crawler.engine


def _own_version() -> str:
    try:
        return version("scrapy_rep")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "(not installed)"
