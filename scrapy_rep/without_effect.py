"""Settings that can have no effect as the others stand: each gets one warning at the start.

A new setting that depends on another one gets a row in :data:`_TABLE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware

from scrapy_rep.settings import enabled_middlewares

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_rep.settings import RepSettings

_SPIDER_MIDDLEWARE = "scrapy_rep.spidermiddlewares.RepSpiderMiddleware"
"""By name, because its module needs that of the downloader middleware, which asks here."""


class _Others(NamedTuple):
    """What a row asks: the checked settings, and which middlewares are enabled."""

    rep: RepSettings
    reads_pages: bool
    """Whether ``RepSpiderMiddleware`` is enabled."""
    has_builtin: bool
    """Whether Scrapy's ``RobotsTxtMiddleware``, or a subclass of it, is enabled as well."""

    @property
    def refuses_uses(self) -> bool:
        """Whether ``REP_PREFERENCES`` asks to refuse or to drop anything."""
        return self.rep.preferences in ("skip", "drop")

    @property
    def shares_a_store(self) -> bool:
        """Whether ``REP_STORE`` names something that outlives the crawl."""
        return self.rep.store not in (None, "memory:")

    @property
    def may_keep_a_pace(self) -> bool:
        """Whether a robots.txt or an override may ask for a pace that is kept."""
        return self.rep.crawl_delay or self.rep.overrides is not None


_NO_LOG = "has no effect without REP_DECISION_LOG"
_NO_PACE = "has no effect as long as REP_CRAWL_DELAY is off"
_NO_STORE = "has no effect without a REP_STORE that crawls can share"
_NOT_OBEYED = 'has no effect unless REP_PAGE_DIRECTIVES is "obey"'
_NO_PAGES = "without RepSpiderMiddleware in SPIDER_MIDDLEWARES"

# A setting, when it has no effect if it is set, and what the warning says. A value that asks for
# nothing, such as "keep", "off" or False, gets no warning: what it asks for happens.
_TABLE: tuple[tuple[str, Callable[[_Others], bool], str], ...] = (
    (
        "ROBOTSTXT_PARSER",
        lambda on: not on.has_builtin,
        "has no effect: scrapy_rep reads robots.txt files itself",
    ),
    (
        "REP_PAGE_DIRECTIVES",
        lambda on: on.rep.page_directives != "off" and not on.reads_pages,
        f"has no effect {_NO_PAGES}",
    ),
    (
        "REP_NOINDEX",
        lambda on: on.rep.noindex == "drop" and on.rep.page_directives != "obey",
        _NOT_OBEYED,
    ),
    (
        "REP_LINK_NOFOLLOW",
        lambda on: on.rep.link_nofollow and on.rep.page_directives != "obey",
        _NOT_OBEYED,
    ),
    (
        "REP_PREFERENCES",
        lambda on: on.rep.preferences == "report" and not on.reads_pages,
        f"has no effect {_NO_PAGES}",
    ),
    (
        "REP_PREFERENCES",
        lambda on: on.rep.preferences == "drop" and bool(on.rep.purposes) and not on.reads_pages,
        f"drops no items {_NO_PAGES}",
    ),
    (
        "REP_PREFERENCES",
        lambda on: on.refuses_uses and not on.rep.purposes,
        "refuses nothing as long as REP_PURPOSES is empty",
    ),
    (
        "REP_PURPOSES",
        lambda on: bool(on.rep.purposes) and not on.refuses_uses,
        'has no effect unless REP_PREFERENCES is "skip" or "drop"',
    ),
    (
        "REP_PURPOSE_TOKENS",
        lambda on: bool(on.rep.purpose_tokens) and on.rep.preferences == "off",
        'has no effect as long as REP_PREFERENCES is "off"',
    ),
    (
        "REP_PURPOSE_TOKENS",
        lambda on: (
            on.refuses_uses
            and bool(on.rep.purpose_tokens)
            and not on.rep.purpose_tokens.keys() & {*on.rep.purposes}
        ),
        "refuses nothing: none of its purposes is in REP_PURPOSES",
    ),
    ("REP_STORE_PREFIX", lambda on: not on.shares_a_store, _NO_STORE),
    ("REP_SHARED_PACE", lambda on: on.rep.shared_pace and not on.shares_a_store, _NO_STORE),
    (
        "REP_SHARED_PACE",
        lambda on: on.rep.shared_pace and on.shares_a_store and not on.may_keep_a_pace,
        _NO_PACE,
    ),
    ("REP_MAX_CRAWL_DELAY", lambda on: not on.rep.crawl_delay, _NO_PACE),
    (
        "REP_OVER_MAX_CRAWL_DELAY",
        lambda on: on.rep.over_max_crawl_delay == "forbid" and not on.rep.crawl_delay,
        _NO_PACE,
    ),
    ("REP_DECISIONS", lambda on: on.rep.decision_log is None, _NO_LOG),
    ("REP_LOG_URLS", lambda on: on.rep.decision_log is None, _NO_LOG),
    (
        "REP_DECISION_LOG_REQUIRED",
        lambda on: on.rep.decision_log_required and on.rep.decision_log is None,
        _NO_LOG,
    ),
)


def without_effect(settings: BaseSettings, checked: RepSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting of the user that can have no effect, and why.

    ``checked`` are the settings of this package among all ``settings`` of the crawl.
    """
    names = {
        f"{cls.__module__}.{cls.__qualname__}" for cls in enabled_middlewares(settings, "SPIDER")
    }
    has_builtin = RobotsTxtMiddleware in enabled_middlewares(settings, "DOWNLOADER")
    others = _Others(checked, _SPIDER_MIDDLEWARE in names, has_builtin)
    for name, is_idle, why in _TABLE:
        # What is not set at all, or by Scrapy's defaults alone, is nobody's mistake.
        if settings.get(name) is not None and settings.getpriority(name) and is_idle(others):
            yield name, why
