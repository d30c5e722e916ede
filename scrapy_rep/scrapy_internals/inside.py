"""The undocumented parts of the Scrapy that runs one crawl."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import scrapy

from scrapy_rep.scrapy_internals.check import check
from scrapy_rep.scrapy_internals.exchanges import Exchanges
from scrapy_rep.scrapy_internals.listeners import Listeners
from scrapy_rep.scrapy_internals.names import Feature
from scrapy_rep.scrapy_internals.proxies import Proxies
from scrapy_rep.scrapy_internals.switches import Switches
from scrapy_rep.scrapy_names import UnknownScrapyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler


class ScrapyInternals:
    """What this package asks and changes of the Scrapy that runs ``crawler``.

    ``warn`` gets one line for each feature that is switched off.
    """

    def __init__(self, crawler: Crawler, warn: Callable[[str], None]):
        self._crawler = crawler
        self._unknown: str | None = None
        self._is_checked = False
        self._warn = warn
        self._switches = Switches(lambda why: warn(_line(why)))
        self.exchanges = Exchanges(crawler, self._switches)
        self.listeners = Listeners(crawler, self._switches)
        self.proxies = Proxies(self._switches)

    def check(self) -> bool:
        """Look up every undocumented name, the first time that this is called for an open spider.

        Returns whether that is done. Switches off what can be done without. Raises
        :class:`UnknownScrapyError`, at every call, if the crawl has to end.
        """
        if not self._is_checked and self._crawler.spider is not None:
            self._is_checked = True
            report = check(self._crawler)
            self._switches.lack(report.absent)
            if report.fatal:
                self._switches.lack(set(Feature))
                self._unknown = _line("; ".join([*report.fatal, *(why for _, why in report.off)]))
            else:
                for feature, why in report.off:
                    self._switches.turn_off(feature, why)
        if self._unknown is not None:
            raise UnknownScrapyError(self._unknown)
        return self._is_checked


def _line(why: str) -> str:
    return f"scrapy_rep {_own_version()} does not know this Scrapy {scrapy.__version__}: {why}"


def _own_version() -> str:
    try:
        return version("scrapy_rep")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "(not installed)"
