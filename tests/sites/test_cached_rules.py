"""What an authority without rules says to a request, and on what that rests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, Requester
from scrapy_rep.access.outcome import Unreachable
from scrapy_rep.access.policy import Policy, learn, standing
from scrapy_rep.robotstxt.verdict import ROBOTS_TXT_ITSELF, UNAVAILABLE, UNREACHABLE
from scrapy_rep.sites.cached_rules import CachedRules
from tests.rows import rows

NOW = 1_800_000_000.0
HERE = Authority("https", "e.org", 443)
DENYING = replace(Policy(), access_denied="disallow")
MISSING, REFUSED = Answer(404, fetched_at=NOW), Answer(403, fetched_at=NOW)


FAILED = learn(None, Unreachable("timeout"), NOW, Policy())


@rows(
    "entry, policy, outcome, allowed, reason",
    (Entry(MISSING), Policy(), "unavailable", True, UNAVAILABLE),
    (Entry(refusal=REFUSED), Policy(), "unavailable", True, UNAVAILABLE),
    (Entry(refusal=REFUSED), DENYING, "denied", False, "access denied (403)"),
    (FAILED, Policy(), "unreachable", False, UNREACHABLE),
)
def test_an_authority_without_rules_says_why(
    entry: Entry, policy: Policy, outcome: str, allowed: bool, reason: str
) -> None:
    """RFC 9309 sections 2.3.1.3 and 2.3.1.4: the verdict, the answer and the record agree."""
    cached = CachedRules(entry, standing(entry, NOW, policy), None, NOW)
    verdict = cached.verdict(HERE, "https://e.org/a", ("mybot",))
    assert verdict.allowed is cached.allows(HERE, "https://e.org/a", ("mybot",)) is allowed
    assert verdict.reason == reason
    assert cached.in_force.outcome == outcome
    its_own = cached.verdict(HERE, HERE.robots_uri, ("mybot",))
    assert (its_own.allowed, its_own.reason) == (True, ROBOTS_TXT_ITSELF)


@rows("entry", Entry(MISSING), Entry(refusal=REFUSED), FAILED)
def test_what_was_learnt_holds_from_then_on_and_a_clock_may_go_back_a_little(entry: Entry) -> None:
    """No request has it decided anew meanwhile."""
    cached = CachedRules(entry, standing(entry, NOW, Policy()), None, NOW)
    assert NOW - 61.0 < cached.since <= NOW - 60.0 < NOW < cached.until


def test_the_names_that_are_refused_take_memory() -> None:
    """There are up to 20, as long as requests have them."""
    names = frozenset(Requester(user_agent=b"browser %d" % n + b"x" * 1_000) for n in range(20))
    refusal = replace(REFUSED, refused_to=names)
    few, many = (Entry(refusal=each) for each in (REFUSED, refusal))
    sizes = [
        CachedRules(each, standing(each, NOW, Policy()), None, NOW).weigh() for each in (few, many)
    ]
    assert 20_000 < sizes[1] - sizes[0] < 30_000


def test_memory_is_reckoned_where_python_does_not_measure_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in PyPy, whose getsizeof() knows only its default."""

    def getsizeof(what: object, *default: int) -> int:
        if not default:
            raise TypeError("getsizeof(...) is not implemented")
        return default[0]

    monkeypatch.setattr("scrapy_rep.sites.cached_rules.getsizeof", getsizeof)
    refused = Entry(
        refusal=replace(REFUSED, refused_to=frozenset([Requester(user_agent=b"browser")]))
    )
    for entry in (Entry(MISSING), refused, FAILED):
        CachedRules(entry, standing(entry, NOW, Policy()), None, NOW).weigh()
