"""What a judge asks of the rules, and what it makes them take; and what overrides are for."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.access.outcome import Cause
from scrapy_rep.access.requested_pace import PacePolicy
from scrapy_rep.gate.account import Account
from scrapy_rep.gate.judge import Judge
from scrapy_rep.gate.overrides import AppliedOverrides
from scrapy_rep.gate.page_url import Asked
from scrapy_rep.overrides.override import DELAY, UNREACHABLE_IS_ALLOWED, Override
from scrapy_rep.settings import RepSettings
from scrapy_rep.signals import RobotsDecision, SignalSender, robots_decided
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.stats import RepStats
from tests.rows import rows
from tests.scripted import Bench, Counts, ask, authority, known_by, rules_of

AGENT = ("mybot",)
FORBIDDING = {"REP_OVER_MAX_CRAWL_DELAY": "forbid"}
PACES, NO_STATS = RepSettings().pace_policy, RepStats()
RULES = b"".join(b"Disallow: /d%d/*/x%d\nAllow: /a%d/*/x\n" % (n, n, n) for n in range(2_000))


def asked(path: str) -> Asked:
    """A request of one site."""
    url = f"{authority()}{path}"
    return Asked(Request(url), url, authority(), AGENT)


def override(action: str, **more: Any) -> Override:
    """An override of that site."""
    return Override(1, authority(), action, "ours", "ops", date(2999, 1, 1), **more)


def overriding(
    bench: Bench, *overrides: Override, stats: RepStats = NO_STATS, paces: PacePolicy = PACES
) -> AppliedOverrides:
    """Overrides as a crawl applies them; none by default."""
    return AppliedOverrides(overrides, stats, paces, bench.clock)


@pytest.mark.parametrize("path", ["/p/{}", "/a{}/b/x", "/d{0}/b/x{0}"])
async def test_rules_that_grew_with_their_verdicts_are_measured(path: str) -> None:
    """An index is built after thirty questions, lines and patterns are read when one matches."""
    bench = Bench(Answer(200, b"User-agent: *\n" + RULES))
    cached = await ask(bench)
    judge = Judge(bench.cache.weigh, PACES, None, overriding(bench))
    crawler = get_crawler()
    heard: list[RobotsDecision] = []

    def hear(decision: RobotsDecision) -> None:
        heard.append(decision)

    crawler.signals.connect(hear, signal=robots_decided)
    told: Any = SignalSender(crawler), lambda _: AGENT, bench.cache.weigh, str
    account = Account(NO_STATS, overriding(bench), *told)
    for number in range(48):
        judgement = judge.judge(asked(path.format(number)), cached)
        account.passed(asked(path.format(number)), cached, judgement)
    assert len(heard) == 48
    assert cached.robots is not None
    assert bench.cache.octets >= cached.robots.size > 1_000_000


async def test_rules_that_grew_with_an_explanation_are_measured() -> None:
    """No request may ever follow a URL that is disallowed."""
    bench = Bench(Answer(200, b"User-agent: *\n" + RULES))
    cached = await ask(bench)
    judge = Judge(bench.cache.weigh, PACES, None, overriding(bench))
    assert not judge.final_verdict(asked("/d1/b/x1"), cached)[0].allowed
    assert cached.robots is not None
    assert bench.cache.octets >= cached.robots.size > 1_000_000


async def test_rules_that_grew_with_the_first_answer_to_an_agent_are_measured() -> None:
    """They are compiled for it, also where nothing asks for a verdict."""
    bench = Bench(Answer(200, b"User-agent: other\n" + RULES + b"User-agent: *\n" + RULES))
    cached = await ask(bench)
    judge = Judge(bench.cache.weigh, PACES, None, overriding(bench))
    for agent in (AGENT, ("other",)):
        before = bench.cache.octets
        assert judge.judge(asked("/p")._replace(agent=agent), cached).refusal is None
        assert cached.robots is not None
        assert bench.cache.octets >= cached.robots.size > 1.5 * before


@pytest.mark.parametrize(
    ("text", "settings", "alone"),
    [
        ("Disallow: /private", FORBIDDING, True),
        ("Crawl-delay: 5", FORBIDDING, True),
        ("Crawl-delay: 86400", FORBIDDING, False),
        ("Crawl-delay: 86400", {}, True),
        ("Request-rate: 1/10s", FORBIDDING, True),
    ],
)
async def test_a_pace_that_is_refused_decides_beside_the_rules(
    text: str, settings: dict[str, Any], alone: bool
) -> None:
    """A pace that is kept or cut does not: it only holds requests up."""
    bench = Bench(Answer(200, f"User-agent: *\n{text}\n".encode()))
    known = await ask(bench)
    paces = RepSettings.from_settings(Settings(settings)).pace_policy
    judge = Judge(bench.cache.weigh, paces, None, overriding(bench))
    assert judge.is_by_rules_alone(asked("/a"), known) is alone


class Scales:
    """Holds the rules of a bench, and counts how often they are measured."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.count = 0

    def weigh(self, authority: Authority, cached: CachedRules) -> None:
        """Measure them, as a crawl does."""
        self.count += 1
        self._bench.cache.weigh(authority, cached)


@pytest.mark.parametrize("action", [None, "allow", "forbid"])
@pytest.mark.parametrize("path", ["/private", "/other"])
async def test_a_request_has_its_rules_measured_once_at_most(path: str, action: str | None) -> None:
    """Whatever decides, and however often: of a refusal always, because it reads the rule."""
    bench = Bench(Answer(200, b"User-agent: *\nDisallow: /private\n"))
    cached, scales, overrides = await ask(bench), Scales(bench), overriding(bench)
    if action is not None:
        overrides = overriding(bench, override(action, paths=("/",)))
    judge = Judge(scales.weigh, PACES, None, overrides)
    for _ in range(48):
        scales.count = 0
        refused = judge.judge(asked(path), cached).refusal is not None
        assert scales.count <= 1
        if refused or action is not None:
            assert scales.count == 1


# --- overrides


@rows("ours", [False, True])
@rows("cause", Cause)
def test_a_failure_of_the_crawler_is_not_one_of_the_site(cause: Cause, ours: bool) -> None:
    """`unreachable-is-allowed` allows nothing that might be asked of the site a moment later."""
    bench = Bench()
    applied, now = overriding(bench, override(UNREACHABLE_IS_ALLOWED)), bench.clock.now
    failed = known_by(Entry(failure=Failure(now, now, cause=str(cause), ours=ours)), now)
    verdict, by = applied.verdict(asked("/a"), failed)
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
    bench, counts, one = Bench(), Counts(), override(DELAY, delay=interval)
    stats: Any = RepStats(counts)  # type: ignore[arg-type]
    applied = overriding(bench, one, stats=stats, paces=PacePolicy(True, 60.0, forbids))
    rules = f"User-agent: *\nCrawl-delay: {90 if forbids else 5}\n".encode()
    cached = rules_of(rules, bench.clock.now)
    applied.count_used(asked("/a"), cached, None, applied.pace(asked("/a"), cached))
    assert counts.get("robotstxt/override/used", 0) == is_used


def test_a_delay_of_zero_is_no_pace() -> None:
    """With one, even of no seconds, a site would have a host that has its requests one by one."""
    bench = Bench()
    cached = rules_of(b"User-agent: *\nCrawl-delay: 5\n", bench.clock.now)
    pace = overriding(bench, override(DELAY, delay=0.0)).pace(asked("/a"), cached)
    assert pace.requested is None
