"""All that is logged while a crawl runs, Twisted's complaints included."""

from __future__ import annotations

import logging
import traceback

from twisted.python.log import PythonLoggingObserver

from tests.crawl.result import LogLine


class LogTap(logging.Handler):
    """A context in which every log record is kept, down to DEBUG."""

    def __init__(self, *, twisted: bool = True) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[LogLine] = []
        self._observer = PythonLoggingObserver("twisted") if twisted else None
        self._level = logging.root.level

    def __enter__(self) -> LogTap:
        logging.root.addHandler(self)
        logging.root.setLevel(logging.DEBUG)
        if self._observer:
            self._observer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._observer:
            self._observer.stop()
        logging.root.setLevel(self._level)
        logging.root.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """The record is kept; of Twisted's chatter only the errors, as under `scrapy crawl`."""
        if record.name.startswith("twisted") and record.levelno < logging.ERROR:
            return
        info = record.exc_info
        trace = "".join(traceback.format_exception(*info)) if info and info[0] else ""
        self.lines.append(LogLine(record.levelname, record.name, record.getMessage(), trace))
