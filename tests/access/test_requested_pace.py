"""The pace that a robots.txt asks of an agent, and what an operator makes of it."""

from __future__ import annotations

from scrapy_rep import RobotsTxt
from scrapy_rep.access.requested_pace import PacePolicy, RequestedPace
from tests.rows import rows

ROBOTS = RobotsTxt.parse("User-agent: a\nCrawl-delay: 90\nUser-agent: b\nAllow: /\n")


@rows(
    "agent, policy, interval, kept, is_refused",
    ("a", PacePolicy(True, 60.0, False), 90.0, 60.0, False),
    ("a", PacePolicy(True, 120.0, False), 90.0, 90.0, False),
    ("a", PacePolicy(True, 60.0, True), 90.0, 60.0, True),
    ("a", PacePolicy(True, 90.0, True), 90.0, 90.0, False),
    ("a", PacePolicy(False, 60.0, True), None, None, False),
    ("b", PacePolicy(True, 60.0, True), None, None, False),
)
def test_a_pace_is_read_kept_or_refused(
    agent: str, policy: PacePolicy, interval: float | None, kept: float | None, is_refused: bool
) -> None:
    """RFC 9309 section 2.2.4: the choices of an operator apply to what a site asks for."""
    pace = policy.read(ROBOTS, (agent,))
    assert (None if pace is None else pace.interval) == interval
    assert (None if pace is None else pace.kept(policy.longest)) == kept
    refusal = None if pace is None else policy.refusal(pace)
    assert (refusal is not None) == is_refused
    assert refusal is None or not refusal.allowed


def test_a_pace_that_the_operator_has_set_is_neither_cut_nor_refused() -> None:
    """An override is his own word about one site."""
    pace = RequestedPace(900.0, may_be_cut=False)
    assert pace.kept(60.0) == 900.0
    assert PacePolicy(True, 60.0, True).refusal(pace) is None
