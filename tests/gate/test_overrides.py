"""The overrides in a crawl: which failures they are for."""

from __future__ import annotations

from datetime import date

from scrapy import Request

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry, Failure
from scrapy_rep.access.outcome import Cause
from scrapy_rep.access.policy import Policy, standing
from scrapy_rep.gate.overrides import AppliedOverrides
from scrapy_rep.gate.page_url import Asked
from scrapy_rep.overrides.override import UNREACHABLE_IS_ALLOWED, Override
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.stats import RepStats
from tests.rows import rows

SITE = Authority("http", "a.example", 80)
NOW = 1_700_000_000.0


@rows("ours", [False, True])
@rows("cause", Cause)
def test_a_failure_of_the_crawler_is_not_one_of_the_site(cause: Cause, ours: bool) -> None:
    """`unreachable-is-allowed` allows nothing that might be asked of the site a moment later."""
    one = Override(1, SITE, UNREACHABLE_IS_ALLOWED, "ours", "ops", date(2999, 1, 1))
    applied = AppliedOverrides([one], RepStats(), lambda *_: None, lambda: NOW)
    entry = Entry(failure=Failure(NOW, NOW, cause=str(cause), ours=ours))
    cached = CachedRules(entry, standing(entry, NOW, Policy()), None, NOW)
    asked = Asked(Request("http://a.example/a"), "http://a.example/a", SITE, ("mybot",))
    verdict, by = applied.verdict(asked, cached)
    assert verdict.allowed is not ours
    assert (by is None) is ours
