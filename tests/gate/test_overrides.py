"""The overrides in a crawl: which failures they are for."""

from __future__ import annotations

from datetime import date

from scrapy import Request

from scrapy_rep import RobotsTxt
from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.access.outcome import Cause
from scrapy_rep.access.policy import Policy, standing
from scrapy_rep.access.requested_pace import PacePolicy
from scrapy_rep.gate.overrides import AppliedOverrides
from scrapy_rep.gate.page_url import Asked
from scrapy_rep.overrides.override import DELAY, UNREACHABLE_IS_ALLOWED, Override
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.stats import RepStats
from tests.rows import rows
from tests.scripted import Counts

SITE = Authority("http", "a.example", 80)
NOW = 1_700_000_000.0


@rows("ours", [False, True])
@rows("cause", Cause)
def test_a_failure_of_the_crawler_is_not_one_of_the_site(cause: Cause, ours: bool) -> None:
    """`unreachable-is-allowed` allows nothing that might be asked of the site a moment later."""
    one = Override(1, SITE, UNREACHABLE_IS_ALLOWED, "ours", "ops", date(2999, 1, 1))
    applied = AppliedOverrides([one], RepStats(), PacePolicy(True, 60.0, False), lambda: NOW)
    entry = Entry(failure=Failure(NOW, NOW, cause=str(cause), ours=ours))
    cached = CachedRules(entry, standing(entry, NOW, Policy()), None, NOW)
    asked = Asked(Request("http://a.example/a"), "http://a.example/a", SITE, ("mybot",))
    verdict, by = applied.verdict(asked, cached)
    assert verdict.allowed is not ours
    assert (by is None) is ours


@rows(
    "interval, forbids, is_used",
    [(5, False, False), (6, False, True), (90, False, True), (60, True, True)],
)
def test_a_pace_is_of_use_unless_the_rules_lead_to_the_same(
    interval: int, forbids: bool, is_used: bool
) -> None:
    """The site asks for five seconds; or for more than the crawler waits, which forbids it."""
    own = 90 if forbids else 5
    one = Override(1, SITE, DELAY, "ours", "ops", date(2999, 1, 1), value=interval)
    counts = Counts()
    applied = AppliedOverrides(
        [one],
        RepStats(counts),
        PacePolicy(True, 60.0, forbids),
        lambda: NOW,  # type: ignore[arg-type]
    )
    rules = f"User-agent: *\nCrawl-delay: {own}\n".encode()
    entry = Entry(Answer(200, rules, fetched_at=NOW))
    cached = CachedRules(entry, standing(entry, NOW, Policy()), RobotsTxt.parse(rules), NOW)
    asked = Asked(Request("http://a.example/a"), "http://a.example/a", SITE, ("mybot",))
    applied.count_used(asked, cached, None, applied.pace(asked, cached))
    assert counts.get("robotstxt/override/used", 0) == is_used
