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
        order = self._place(_configured(settings))
        settings.set_in_component_priority_dict(_SETTING, RobotsTxtMiddleware, None)
        settings.setdefault_in_component_priority_dict(_SETTING, RepDownloaderMiddleware, order)

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


def _configured(settings: BaseSettings) -> dict[Any, Any]:
    """Return the project's middlewares by class; by name those that cannot be loaded."""
    return {_loaded(name): order for name, order in settings.getdict(_SETTING).items()}


def _loaded(name: Any) -> Any:
    try:
        return load_object(name)
    except (ImportError, NameError, ValueError, TypeError):
        return name  # Scrapy itself complains when it builds the middlewares


def _is_subclass_of_builtin(cls: type) -> bool:
    return issubclass(cls, RobotsTxtMiddleware) and cls is not RobotsTxtMiddleware
