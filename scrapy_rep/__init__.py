"""robots.txt for Scrapy, as the Robots Exclusion Protocol says (RFC 9309)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_rep.addon import Addon
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
    from scrapy_rep.protocol.robotstxt import RobotsTxt, Rule, Verdict
    from scrapy_rep.robotparser import RepRobotParser

__all__ = [
    "Addon",
    "RepDownloaderMiddleware",
    "RepRobotParser",
    "RobotsForbidden",
    "RobotsTxt",
    "RobotsUnreachable",
    "Rule",
    "Verdict",
]

# Imported when they are first asked for: the matcher is of use without Scrapy, and each call of
# ``scrapy`` loads this module with the command ``scrapy robots``.
_EDGE = {
    "Addon": "addon",
    "RepDownloaderMiddleware": "downloadermiddlewares",
    "RepRobotParser": "robotparser",
    "RobotsForbidden": "exceptions",
    "RobotsTxt": "protocol.robotstxt",
    "RobotsUnreachable": "exceptions",
    "Rule": "protocol.robotstxt",
    "Verdict": "protocol.robotstxt",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _EDGE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_EDGE[name]}"), name)
