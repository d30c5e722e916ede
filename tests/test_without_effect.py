"""Settings that can have no effect as the others stand: one warning each, and no other."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import Settings

from scrapy_rep import RepSpiderMiddleware
from scrapy_rep.scheduler import with_frontier
from scrapy_rep.settings import RepSettings, without_effect
from tests.crawl.harness import crawl
from tests.crawl.plugin import BUILT_IN, by_hand, obey
from tests.site import Site

PAGES = {"SPIDER_MIDDLEWARES": {"scrapy_rep.RepSpiderMiddleware": 100}}
"""What the add-on sets as well."""

PARSER = {"ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"}


class Subclass(RobotsTxtMiddleware):
    """Scrapy's own, changed by a project; it asks for the parser that is set."""


class Reader(RepSpiderMiddleware):
    """A subclass, which reads pages too."""


NO_LOG = "has no effect without REP_DECISION_LOG"
NO_STORE = "has no effect without a REP_STORE that crawls can share"
NOT_OBEYED = 'has no effect unless REP_PAGE_DIRECTIVES is "obey"'
NOT_REFUSED = 'has no effect unless REP_PREFERENCES is "skip" or "drop"'
NO_PAGES = "has no effect without RepSpiderMiddleware in SPIDER_MIDDLEWARES"

NO_SCHEDULER = "has no effect without RepScheduler as the SCHEDULER"
NO_DELAYS = "has no effect as long as REP_CRAWL_DELAY is off"
READS_NOTHING = 'has no effect as long as REP_PREFERENCES is "off"'
NO_PURPOSE = "refuses nothing as long as REP_PURPOSES is empty"
READS_ITSELF = "ROBOTSTXT_PARSER has no effect: scrapy_rep reads robots.txt files itself"
NO_SUCH = {"SPIDER_MIDDLEWARES": {"no.such.Middleware": 1}}
NO_READER = {"SPIDER_MIDDLEWARES": {Reader: None}}
TOKENS = {"REP_PURPOSE_TOKENS": {"train-ai": ["Google-Extended"]}}
UNPACED = {"REP_MAX_CRAWL_DELAY": 300, "REP_OVER_MAX_CRAWL_DELAY": "forbid"}
LOGGING = {"REP_DECISIONS": "all", "REP_LOG_URLS": "hash", "REP_DECISION_LOG_REQUIRED": True}

WARNED = [
    (PARSER, READS_ITSELF),
    ({"REP_DEFER_UNREACHABLE": 600}, f"REP_DEFER_UNREACHABLE {NO_SCHEDULER}"),
    ({"REP_NOINDEX": "drop"}, f"REP_NOINDEX {NOT_OBEYED}"),
    ({"REP_LINK_NOFOLLOW": "1"}, f"REP_LINK_NOFOLLOW {NOT_OBEYED}"),
    ({"REP_PAGE_DIRECTIVES": "obey", **NO_SUCH}, f"REP_PAGE_DIRECTIVES {NO_PAGES}"),
    ({"REP_PAGE_DIRECTIVES": "obey", **NO_READER}, f"REP_PAGE_DIRECTIVES {NO_PAGES}"),
    ({"REP_PAGE_DIRECTIVES": "report", **NO_READER}, f"REP_PAGE_DIRECTIVES {NO_PAGES}"),
    ({"REP_PREFERENCES": "drop"}, f"REP_PREFERENCES {NO_PURPOSE}"),
    ({"REP_PURPOSES": ["tdm"]}, f"REP_PURPOSES {NOT_REFUSED}"),
    ({"REP_PURPOSES": ["tdm"], "REP_PREFERENCES": "off"}, f"REP_PURPOSES {NOT_REFUSED}"),
    ({**TOKENS, "REP_PREFERENCES": "off"}, f"REP_PURPOSE_TOKENS {READS_NOTHING}"),
    ({**UNPACED, "REP_CRAWL_DELAY": False}, *(f"{name} {NO_DELAYS}" for name in UNPACED)),
    ({"REP_STORE_PREFIX": "shop", "REP_STORE": "memory:"}, f"REP_STORE_PREFIX {NO_STORE}"),
    ({"REP_SHARED_PACE": True, "JOBDIR": "job"}, f"REP_SHARED_PACE {NO_STORE}"),
    (LOGGING, *(f"{name} {NO_LOG}" for name in LOGGING)),
]

NOT_WARNED = [
    {},
    {**PARSER, "DOWNLOADER_MIDDLEWARES": {}},
    {**PARSER, "DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, Subclass: 200}},
    {"REP_NOINDEX": "drop", "REP_LINK_NOFOLLOW": True, "REP_PAGE_DIRECTIVES": "obey"},
    {"REP_PAGE_DIRECTIVES": "obey", "SPIDER_MIDDLEWARES": {Reader: 100}},
    {"REP_DEFER_UNREACHABLE": 600, "SCHEDULER": "scrapy_rep.RepScheduler"},
    {"REP_DEFER_UNREACHABLE": 600, "SCHEDULER": with_frontier(Scheduler)},
    {"REP_DEFER_UNREACHABLE": 0},
    {"REP_NOINDEX": "keep", "REP_LINK_NOFOLLOW": False},
    {"REP_PREFERENCES": "skip", "REP_PURPOSES": ["tdm"], "SPIDER_MIDDLEWARES": {}},
    {"REP_PURPOSES": [], "REP_PURPOSE_TOKENS": {}, "REP_PREFERENCES": "off"},
    {"REP_STORE_PREFIX": "shop", "REP_SHARED_PACE": True, "REP_STORE": "my.own.Store"},
    {"REP_SHARED_PACE": False, "REP_CRAWL_DELAY": False},
    {"REP_OVER_MAX_CRAWL_DELAY": "cap", "REP_CRAWL_DELAY": False},
    {**UNPACED, **TOKENS},
    {"REP_PAGE_DIRECTIVES": "off", **NO_READER},
    {"REP_DECISIONS": "all", "REP_LOG_URLS": "hash", "REP_DECISION_LOG": "log.jsonl"},
    {"REP_DECISION_LOG_REQUIRED": False, "REP_DECISIONS": None},
]


def warnings(chosen: dict[str, Any]) -> list[str]:
    """What is said of the settings of a project, whose other settings are those of the add-on."""
    settings = Settings({**by_hand(), **PAGES, **chosen})
    found = without_effect(settings, RepSettings.from_settings(settings))
    return [f"{name} {why}" for name, why in found]


@pytest.mark.parametrize("case", WARNED, ids=lambda case: " ".join(case[0]))
def test_setting_without_effect_is_named_with_the_reason(case: tuple[Any, ...]) -> None:
    """Each row of the table."""
    chosen, *said = case
    assert warnings(chosen) == said


@pytest.mark.parametrize("chosen", NOT_WARNED, ids=" ".join)
def test_setting_with_an_effect_or_without_a_wish_gets_no_warning(chosen: dict[str, Any]) -> None:
    """Nothing is missed where a value asks for nothing, or for what happens."""
    assert warnings(chosen) == []


@pytest.mark.parametrize("plugin", [obey, by_hand])
async def test_each_warning_appears_once_in_a_crawl(site: Site, plugin: Any) -> None:
    """With the add-on, which checks settings twice, and by hand; the crawl goes on."""
    url = site.authority().url("/a")
    settings = plugin(REP_NOINDEX="drop", REP_STORE_PREFIX="shop", **PARSER)
    result = (await crawl(settings=settings, plans=[url])).check()
    assert result.downloaded == [url]
    assert sorted(result.lines("no effect", "WARNING")) == [
        f"REP_NOINDEX {NOT_OBEYED}",
        f"REP_STORE_PREFIX {NO_STORE}",
        READS_ITSELF,
    ]


async def test_crawl_that_does_not_obey_has_no_such_line(site: Site) -> None:
    """It asks nothing of any setting."""
    settings = obey(ROBOTSTXT_OBEY=False, REP_NOINDEX="drop", **PARSER)
    result = (await crawl(settings=settings, plans=[site.authority().url("/a")])).check()
    assert result.lines("no effect") == []
