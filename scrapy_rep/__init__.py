"""robots.txt for Scrapy, as the Robots Exclusion Protocol says (RFC 9309).

The public names are imported when they are first asked for. So the matcher can be used without
Scrapy, and ``import scrapy_rep`` takes a few milliseconds.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in typing, whose import would take most of the time
if TYPE_CHECKING:
    from typing import Any

    from scrapy_rep.addon import Addon
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware, RepLastStep
    from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
    from scrapy_rep.extensions import RepRecords
    from scrapy_rep.gate.page_responses import page_directives, usage_preferences
    from scrapy_rep.pages.directives import PageDirectives
    from scrapy_rep.preferences.preferences import Preferences
    from scrapy_rep.preferences.robots_txt import RobotsTxt
    from scrapy_rep.robotparser import RepRobotParser
    from scrapy_rep.robotstxt.verdict import Rule, Verdict
    from scrapy_rep.scheduler import RepScheduler, RepSchedulerMixin
    from scrapy_rep.spidermiddlewares import RepSpiderMiddleware

__all__ = [
    "Addon",
    "PageDirectives",
    "Preferences",
    "RepDownloaderMiddleware",
    "RepLastStep",
    "RepRecords",
    "RepRobotParser",
    "RepScheduler",
    "RepSchedulerMixin",
    "RepSpiderMiddleware",
    "RobotsForbidden",
    "RobotsTxt",
    "RobotsUnreachable",
    "Rule",
    "Verdict",
    "page_directives",
    "usage_preferences",
]

_MODULES = {
    "Addon": "addon",
    "PageDirectives": "pages.directives",
    "Preferences": "preferences.preferences",
    "RepDownloaderMiddleware": "downloadermiddlewares",
    "RepLastStep": "downloadermiddlewares",
    "RepRecords": "extensions",
    "RepRobotParser": "robotparser",
    "RepScheduler": "scheduler",
    "RepSchedulerMixin": "scheduler",
    "RepSpiderMiddleware": "spidermiddlewares",
    "RobotsForbidden": "exceptions",
    "RobotsTxt": "preferences.robots_txt",
    "RobotsUnreachable": "exceptions",
    "Rule": "robotstxt.verdict",
    "Verdict": "robotstxt.verdict",
    "page_directives": "gate.page_responses",
    "usage_preferences": "gate.page_responses",
}
"""Each public name, and the module that it is imported from."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value  # the next look-up does not come here
    return value
