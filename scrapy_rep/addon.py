"""One line in ``ADDONS``, and Scrapy's own robots.txt middleware makes room for this one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.misc import load_object

from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger("scrapy_rep")

_SETTING = "DOWNLOADER_MIDDLEWARES"
_DEFAULT_ORDER = 100


class Addon:
    """Switches ``ROBOTSTXT_OBEY`` on, unless the project, spider or command line says otherwise."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Put :class:`RepDownloaderMiddleware` where Scrapy's ``RobotsTxtMiddleware`` stands."""
        settings.set("ROBOTSTXT_OBEY", True, priority="addon")
        if not settings.getbool("ROBOTSTXT_OBEY"):
            return
        configured = {_loaded(key): order for key, order in settings.getdict(_SETTING).items()}
        order = self._place(configured)
        configured.pop(RobotsTxtMiddleware, None)
        # By its path: Scrapy 2.14 does not find a class among the paths of the default order.
        configured[f"{RobotsTxtMiddleware.__module__}.{RobotsTxtMiddleware.__qualname__}"] = None
        configured.setdefault(RepDownloaderMiddleware, order)
        settings.set(_SETTING, configured, priority=settings.getpriority(_SETTING) or 0)

    def _place(self, configured: dict[Any, Any]) -> int:
        """Return the order to stand at; say what in the project's own choice is unusual."""
        for cls in configured:
            if (
                isinstance(cls, type)
                and _is_subclass_of_builtin(cls)
                and configured[cls] is not None
            ):
                logger.warning(
                    "%s.%s, a subclass of Scrapy's RobotsTxtMiddleware, stays enabled: both it and "
                    "scrapy_rep check each request. Set it to None in %s if it is not needed",
                    cls.__module__,
                    cls.__qualname__,
                    _SETTING,
                )
        if RobotsTxtMiddleware not in configured or RepDownloaderMiddleware in configured:
            return _DEFAULT_ORDER
        order = configured[RobotsTxtMiddleware]
        if order is None:
            logger.warning(
                "Scrapy's RobotsTxtMiddleware is disabled in %s; scrapy_rep obeys robots.txt all "
                "the same. Set ROBOTSTXT_OBEY = False if that is not wanted",
                _SETTING,
            )
            return _DEFAULT_ORDER
        logger.warning(
            "%s has Scrapy's RobotsTxtMiddleware at %s; scrapy_rep stands there in its place",
            _SETTING,
            order,
        )
        return int(order)


def _loaded(name: Any) -> Any:
    """Return the class of that path, the path itself if it leads to none."""
    try:
        return load_object(name)
    except (ImportError, NameError, ValueError, TypeError):
        return name  # Scrapy itself complains when it builds the middlewares


def _is_subclass_of_builtin(cls: type) -> bool:
    return issubclass(cls, RobotsTxtMiddleware) and cls is not RobotsTxtMiddleware
