"""The add-on: it enables the middlewares of this package, and wraps the scheduler."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from importlib.util import find_spec
from inspect import getattr_static
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware, RepLastStep
from scrapy_rep.extensions import RepRecords
from scrapy_rep.overrides.reading import configured_overrides
from scrapy_rep.records import needs
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.scheduler import with_frontier
from scrapy_rep.settings import RepSettings, loaded, obeys
from scrapy_rep.sites.store_adapter import naming_the_setting
from scrapy_rep.spidermiddlewares import RepSpiderMiddleware
from scrapy_rep.stores import check_store

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger("scrapy_rep")

_SETTING = "DOWNLOADER_MIDDLEWARES"
_QUEUE_CLASS = "SCHEDULER_QUEUE_CLASS"
_HOST_QUEUE = "scrapy_rep.redis_queue.HostQueue"
_REDIS_SCHEDULER = "scrapy_redis.scheduler.Scheduler"
_MAKERS = "from_settings", "open"
"""The methods of that scheduler by which it makes its queue."""

_DEFAULT_ORDER = 100
_LAST_ORDER = 100_000


class BadSettingError(ValueError, SystemExit):
    """A bad setting, found before there is a crawler.

    It is a ``SystemExit``: if it is not caught, Python prints one line and ends with status 1. It
    is also a ``ValueError``, which a bad setting raises everywhere else, for scripts to catch.
    """

    def __init__(self, message: str):
        super().__init__(message)
        self.code = message


class Addon:
    """Switches ``ROBOTSTXT_OBEY`` on, unless the project, spider or command line says otherwise."""

    def __repr__(self) -> str:
        """Return its name, as Scrapy's log lists it among the enabled add-ons."""
        return "scrapy_rep.Addon" if type(self) is Addon else global_object_name(type(self))

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Check the settings of the project and the command line; change nothing.

        Those of a spider are not known yet, so the middleware checks all of them once more. Raises
        :class:`BadSettingError`.
        """
        final = settings.copy()
        final.set("ROBOTSTXT_OBEY", True, priority="addon")
        try:
            if obeys(final):
                _check(final)
        except ValueError as error:
            raise BadSettingError(str(error)) from None

    def update_settings(self, settings: BaseSettings) -> None:
        """Enable the middlewares of this package, and wrap the scheduler.

        Where something is to be recorded, :class:`RepRecords` is enabled, too.

        Under scrapy-redis's scheduler, :class:`HostQueue` is the queue if the project sets none.

        :class:`RepDownloaderMiddleware` takes the place of Scrapy's ``RobotsTxtMiddleware``, and
        its order if the project gives one. What the project configures itself is left as it is.

        Raises ``ValueError`` if a middleware of the project raises ``NotConfigured``: after
        that exception, Scrapy would go on without this add-on.
        """
        settings.set("ROBOTSTXT_OBEY", True, priority="addon")
        if not obeys(settings):
            return
        try:
            self._enable_middlewares(settings)
        except NotConfigured as error:  # a module may raise it when Scrapy imports it
            why = printable(str(error)) or "a middleware is not configured"
            raise ValueError(f"robots.txt cannot be obeyed: {why}") from error

    def _enable_middlewares(self, settings: BaseSettings) -> None:
        configured = {loaded(key): order for key, order in settings.getdict(_SETTING).items()}
        order = configured.pop(RobotsTxtMiddleware, None)
        order = _DEFAULT_ORDER if order is None else int(order)
        # As a path, because Scrapy 2.14 does not find a class among the paths of the defaults.
        configured[global_object_name(RobotsTxtMiddleware)] = None
        for middleware, its_order in ((RepDownloaderMiddleware, order), (RepLastStep, _LAST_ORDER)):
            if not _has_subclass(configured, middleware):
                configured.setdefault(middleware, its_order)
        settings.set(_SETTING, configured, priority=settings.getpriority(_SETTING) or 0)
        base = load_object(settings["SCHEDULER"])
        if isinstance(base, type):
            priority = settings.getpriority("SCHEDULER") or 0
            settings.set("SCHEDULER", with_frontier(base), priority=priority)
            _choose_queue(settings, base)
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", RepSpiderMiddleware, _DEFAULT_ORDER
        )
        if settings.get("REP_DECISION_LOG") or settings.get("REP_WARC"):
            settings.setdefault_in_component_priority_dict("EXTENSIONS", RepRecords, 0)


def _has_subclass(configured: Mapping[Any, Any], middleware: type[Any]) -> bool:
    """Return whether a subclass of a middleware is enabled: two would check each request twice."""
    return any(
        order is not None and isinstance(key, type) and issubclass(key, middleware)
        for key, order in configured.items()
    )


def _choose_queue(settings: BaseSettings, scheduler: type[Any]) -> None:
    """Use :class:`HostQueue` under scrapy-redis's scheduler, if the project sets no other queue.

    A subclass may make its queue in another way; then a line names the setting.
    """
    base = next((c for c in scheduler.__mro__ if global_object_name(c) == _REDIS_SCHEDULER), None)
    if base is None or settings.get(_QUEUE_CLASS):
        return
    if any(getattr_static(scheduler, name) is not getattr_static(base, name) for name in _MAKERS):
        text = '%s opens a queue of its own. %s = "%s" lets requests wait in Redis for their site'
        logger.info(text, global_object_name(scheduler), _QUEUE_CLASS, _HOST_QUEUE)
        return
    settings.set(_QUEUE_CLASS, _HOST_QUEUE, priority="addon")
    logger.info('%s = "%s": requests wait in Redis for their site', _QUEUE_CLASS, _HOST_QUEUE)


def _check(settings: BaseSettings) -> None:
    checked = RepSettings.from_settings(settings)
    configured_overrides(checked, time.time())
    _check_files(checked)
    if checked.store is not None:
        with naming_the_setting(checked.store):
            check_store(checked.store)


def _check_files(settings: RepSettings) -> None:
    """Raise ``ValueError`` if the files of the records could not be made; make none."""
    files = (
        ("REP_DECISION_LOG", settings.decision_log, "msgspec"),
        ("REP_WARC", settings.warc, "warcio"),
    )
    for name, path, library in files:
        if path is not None and not Path(path).parent.is_dir():
            folder = str(Path(path).parent)
            raise ValueError(f"{name} = {path!r}: there is no folder {folder!r}")
        if path is not None and find_spec(library) is None:
            raise ValueError(f"{name} = {path!r} {needs(library)}")
