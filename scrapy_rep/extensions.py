"""The records of a crawl, as an extension: the decision log and the archive."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_rep.access.outcome import Cause
from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware, failing_at_start
from scrapy_rep.exceptions import RobotsUnreachable
from scrapy_rep.overrides.reading import configured_overrides
from scrapy_rep.records import needs, unrecorded
from scrapy_rep.records.archive import Archive
from scrapy_rep.settings import RepSettings, enabled_classes
from scrapy_rep.signals import robots_decided, robots_fetched
from scrapy_rep.stats import RepStats

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.records.recorder import DecisionRecorder
    from scrapy_rep.signals import RobotsDecision


class RepRecords:
    """Writes what was decided to ``REP_DECISION_LOG``, and what sites answered to ``REP_WARC``.

    It belongs in ``EXTENSIONS``, where the add-on puts it if one of these settings is set.
    """

    def __init__(self, crawler: Crawler):
        settings = RepSettings.from_settings(crawler.settings)
        if settings.decision_log is None and settings.warc is None:
            raise NotConfigured  # without a text, as Scrapy would warn with it
        enabled = enabled_classes(crawler.settings, "DOWNLOADER_MIDDLEWARES")
        if RepDownloaderMiddleware not in enabled:
            raise ValueError("RepRecords needs RepDownloaderMiddleware in DOWNLOADER_MIDDLEWARES")
        stats, run = RepStats(crawler.stats), uuid4().hex
        self._crawler = crawler
        self._archive: Archive | None = None
        self._recorder: DecisionRecorder | None = None
        self._is_begun = False
        self._is_required = settings.decision_log_required
        if settings.warc is not None:
            self._archive = Archive(settings.warc, run, stats, time.time)
            crawler.signals.connect(self._archive.fetched, signal=robots_fetched)
        if settings.decision_log is not None:
            archive = None if self._archive is None else self._archive.name
            self._recorder = _recorder(settings, stats, run, archive)
            crawler.signals.connect(self._decided, signal=robots_decided)
        crawler.signals.connect(self._engine_started, signal=signals.engine_started)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepRecords:
        """Return the extension; raise ``NotConfigured`` if there is nothing to record.

        Raises ``ValueError`` for a bad setting, if a file cannot be made, and if
        :class:`RepDownloaderMiddleware` is not enabled.
        """
        with failing_at_start(crawler):
            return cls(crawler)

    def _engine_started(self) -> None:
        """Begin the records; where there is no open spider, what comes first begins them."""
        engine: Any = self._crawler.engine
        if engine.spider is None:
            return
        if self._archive is not None:
            self._archive.open()
        self._begin_log()

    def _begin_log(self) -> None:
        """Write the first line of the log, once."""
        if self._is_begun or self._recorder is None:
            return
        middleware = self._crawler.get_downloader_middleware(RepDownloaderMiddleware)
        if middleware is not None:
            self._recorder.open(middleware.agents(None))
            self._is_begun = True

    def _decided(self, decision: RobotsDecision) -> None:
        """Record a decision; it may come before the crawl has started or after its end."""
        if self._recorder is None:
            return
        try:
            self._begin_log()
            self._recorder.decided(decision)
        except Exception as error:
            if not self._is_required or decision.error is not None:
                raise
            # Scrapy logs other errors of handlers, and the request would pass.
            why = unrecorded(error)
            raise RobotsUnreachable(decision.authority, Cause.ERROR, detail=why) from error

    def _spider_closed(self) -> None:
        if self._archive is not None:
            self._crawler.signals.disconnect(self._archive.fetched, signal=robots_fetched)
            self._archive.close()
        if self._recorder is not None:
            self._recorder.close()


def _recorder(
    settings: RepSettings, stats: RepStats, run: str, archive: str | None
) -> DecisionRecorder:
    try:
        from scrapy_rep.records.recorder import DecisionRecorder, Run
    except ImportError:
        name = f"REP_DECISION_LOG = {settings.decision_log!r}"
        raise ValueError(f"{name} {needs('msgspec')}") from None
    overrides = configured_overrides(settings, time.time())
    return DecisionRecorder(settings, stats, time.time, Run(run, overrides, archive))
