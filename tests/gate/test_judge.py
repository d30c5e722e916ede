"""What a judge asks of the rules, and what it makes them take."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer
from scrapy_rep.gate.account import Account
from scrapy_rep.gate.judge import Judge
from scrapy_rep.gate.overrides import AppliedOverrides
from scrapy_rep.gate.page_url import Asked
from scrapy_rep.overrides.override import Override
from scrapy_rep.settings import RepSettings
from scrapy_rep.signals import RobotsDecision, SignalSender, robots_decided
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.stats import RepStats
from tests.scripted import Bench, ask, authority

AGENT = ("mybot",)
FORBIDDING = {"REP_OVER_MAX_CRAWL_DELAY": "forbid"}
RULES = b"".join(b"Disallow: /d%d/*/x%d\nAllow: /a%d/*/x\n" % (n, n, n) for n in range(2_000))


def asked(path: str) -> Asked:
    """A request of one site."""
    url = f"{authority()}{path}"
    return Asked(Request(url), url, authority(), AGENT)


def overriding(bench: Bench, *overrides: Override) -> AppliedOverrides:
    """Overrides as a crawl applies them; none by default."""
    return AppliedOverrides(overrides, RepStats(), RepSettings().pace_policy, bench.clock)


@pytest.mark.parametrize("path", ["/p/{}", "/a{}/b/x", "/d{0}/b/x{0}"])
async def test_rules_that_grew_with_their_verdicts_are_measured(path: str) -> None:
    """An index is built after thirty questions, lines and patterns are read when one matches."""
    bench = Bench(Answer(200, b"User-agent: *\n" + RULES))
    cached = await ask(bench)
    paces = RepSettings().pace_policy
    judge = Judge(bench.cache.weigh, paces, None, overriding(bench))
    crawler = get_crawler()
    heard: list[RobotsDecision] = []

    def hear(decision: RobotsDecision) -> None:
        heard.append(decision)

    crawler.signals.connect(hear, signal=robots_decided)
    account = Account(
        RepStats(),
        overriding(bench),
        SignalSender(crawler),
        lambda _: AGENT,
        bench.cache.weigh,
        str,
    )
    for number in range(48):
        judgement = judge.judge(asked(path.format(number)), cached)
        account.passed(asked(path.format(number)), cached, judgement)
    assert len(heard) == 48
    assert cached.robots is not None
    assert bench.cache.octets >= cached.robots.size > 1_000_000


async def test_rules_that_grew_with_the_first_answer_to_an_agent_are_measured() -> None:
    """They are compiled for it, also where nothing asks for a verdict."""
    bench = Bench(Answer(200, b"User-agent: other\n" + RULES + b"User-agent: *\n" + RULES))
    cached = await ask(bench)
    judge = Judge(bench.cache.weigh, RepSettings().pace_policy, None, overriding(bench))
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
        one = Override(1, authority(), action, "ours", "ops", date(2999, 1, 1), ("/",))
        overrides = overriding(bench, one)
    judge = Judge(scales.weigh, RepSettings().pace_policy, None, overrides)
    for _ in range(48):
        scales.count = 0
        refused = judge.judge(asked(path), cached).refusal is not None
        assert scales.count <= 1
        if refused or action is not None:
            assert scales.count == 1
