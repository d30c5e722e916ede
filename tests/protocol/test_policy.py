"""What is known of an authority, what follows from it, and what a fetch adds."""

import random
from dataclasses import replace

import pytest

from scrapy_rep.protocol.outcome import (
    Cause,
    Meaning,
    NotModified,
    Outcome,
    Success,
    Unavailable,
    Unreachable,
    meaning_of,
)
from scrapy_rep.protocol.policy import (
    DECISIONS,
    LESSONS,
    Decision,
    Entry,
    Fetch,
    Policy,
    State,
    decide,
    good_until,
    learn,
    refresh_at,
    state_of,
)

DAY = 86_400.0
NOW = 1_700_000_000.0
POLICY = Policy()
RULES = Success(b"User-agent: *\nDisallow: /x\n", etag=b'"1"')
DOWN = Unreachable(Cause.STATUS, 503)


def test_the_tables_are_total() -> None:
    """Every state has a decision, every outcome a lesson: no failure falls through."""
    assert set(DECISIONS) == set(State)
    assert set(LESSONS) == {Success, NotModified, Unavailable, Unreachable}


def test_unknown_waits_for_a_fetch() -> None:
    """1996 section 3: robots must retrieve the instructions before visiting other URLs."""
    assert decide(None, NOW, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)


def test_success_is_followed_for_a_day_and_then_fetched_again() -> None:
    """RFC 9309 sections 2.3.1.1 and 2.4: rules are followed, for no more than 24 hours."""
    entry = learn(None, RULES, NOW, POLICY)
    assert decide(entry, NOW, POLICY)[:2] == (Decision.FOLLOW, Fetch.NO)
    assert decide(entry, NOW + 0.9 * DAY - 1, POLICY)[:2] == (Decision.FOLLOW, Fetch.NO)
    assert decide(entry, NOW + 0.9 * DAY, POLICY)[:2] == (Decision.FOLLOW, Fetch.BACKGROUND)
    assert decide(entry, NOW + DAY - 1, POLICY)[:2] == (Decision.FOLLOW, Fetch.BACKGROUND)
    assert decide(entry, NOW + DAY, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)


def test_unavailable_allows_all_for_a_day() -> None:
    """RFC 9309 section 2.3.1.3: a crawler may access any resources."""
    entry = learn(None, Unavailable(404), NOW, POLICY)
    assert decide(entry, NOW, POLICY)[:2] == (Decision.ALLOW_ALL, Fetch.NO)
    assert decide(entry, NOW + 0.95 * DAY, POLICY)[:2] == (Decision.ALLOW_ALL, Fetch.BACKGROUND)
    assert decide(entry, NOW + DAY, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)


@pytest.mark.parametrize("status", [401, 403])
def test_access_denied_may_be_taken_as_disallow(status: int) -> None:
    """1996 section 3.1: on 401 and 403 a robot should regard the site completely restricted."""
    entry = learn(None, Unavailable(status), NOW, POLICY)
    strict = replace(POLICY, access_denied="disallow")
    assert decide(entry, NOW, POLICY).decision is Decision.ALLOW_ALL
    assert decide(entry, NOW, strict)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)
    assert decide(entry, NOW + 0.95 * DAY, strict)[:2] == (Decision.DISALLOW_ALL, Fetch.BACKGROUND)
    assert decide(entry, NOW + DAY, strict)[:2] == (Decision.WAIT, Fetch.NOW)


def test_unreachable_disallows_all_until_the_next_attempt() -> None:
    """RFC 9309 section 2.3.1.4: the crawler must assume complete disallow."""
    entry = learn(None, DOWN, NOW, POLICY)
    assert decide(entry, NOW, POLICY)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)
    assert decide(entry, NOW + 59, POLICY)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)
    assert decide(entry, NOW + 60, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)


def test_unreachable_after_unavailable_disallows_all() -> None:
    """RFC 9309 section 2.3.1.4: that there was no robots.txt is no copy of one."""
    entry = learn(learn(None, Unavailable(404), NOW, POLICY), DOWN, NOW + 2 * DAY, POLICY)
    assert decide(entry, NOW + 2 * DAY, POLICY).decision is Decision.DISALLOW_ALL


def test_the_last_good_copy_is_followed_for_thirty_days() -> None:
    """RFC 9309 section 2.3.1.4: continue to use a cached copy, here for 30 days."""
    entry = learn(learn(None, RULES, NOW, POLICY), DOWN, NOW + DAY, POLICY)
    assert decide(entry, NOW + DAY, POLICY)[:2] == (Decision.FOLLOW, Fetch.NO)
    assert decide(entry, NOW + DAY + 60, POLICY)[:2] == (Decision.FOLLOW, Fetch.BACKGROUND)
    assert decide(entry, NOW + 30 * DAY - 1, POLICY).decision is Decision.FOLLOW
    assert decide(entry, NOW + 30 * DAY, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)
    again = learn(entry, DOWN, NOW + 30 * DAY, POLICY)
    assert decide(again, NOW + 30 * DAY, POLICY)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)


def test_stale_if_unreachable_zero_disallows_at_once() -> None:
    """RFC 9309 section 2.3.1.4: complete disallow, without the use of a cached copy."""
    policy = replace(POLICY, stale_if_unreachable=0.0)
    entry = learn(learn(None, RULES, NOW, policy), DOWN, NOW + DAY, policy)
    assert decide(entry, NOW + DAY, policy).decision is Decision.DISALLOW_ALL


def test_unreachable_keeps_the_copy_and_the_beginning_of_the_failure() -> None:
    """RFC 9309 section 2.3.1.4: 'a reasonably long period' is counted from the first failure."""
    first = learn(learn(None, RULES, NOW, POLICY), DOWN, NOW + DAY, POLICY)
    second = learn(first, DOWN, NOW + 2 * DAY, POLICY)
    assert second.body == RULES.body
    assert (first.failing_since, second.failing_since) == (NOW + DAY, NOW + DAY)
    assert second.failures == 2


def test_the_back_off_doubles_up_to_the_longest() -> None:
    """An unreachable authority is asked ever more seldom."""
    entry, delays = None, []
    now = NOW
    for _ in range(40):
        entry = learn(entry, DOWN, now, POLICY)
        delays.append(entry.retry_at - now)
        now = entry.retry_at
    assert delays[:8] == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert delays[-1] == 3600


@pytest.mark.parametrize(
    ("asked", "waits"), [(None, 60), (5, 60), (600, 600), (DAY, DAY), (10 * DAY, DAY), (0, 60)]
)
def test_retry_after_is_honoured_up_to_a_day(asked: float | None, waits: float) -> None:
    """RFC 9110 section 10.2.3; never sooner than the back-off, never later than 24 h."""
    entry = learn(None, Unreachable(Cause.STATUS, 429, retry_after=asked), NOW, POLICY)
    assert entry.retry_at - NOW == waits


@pytest.mark.parametrize(
    ("said", "life"), [(None, DAY), (0.0, 60), (59.0, 60), (3600.0, 3600), (7 * DAY, DAY)]
)
def test_a_response_may_shorten_its_life_never_lengthen_it(said: float | None, life: float) -> None:
    """RFC 9309 section 2.4: cache control may be used, but no more than 24 hours."""
    for outcome in (replace(RULES, lifetime=said), Unavailable(404, lifetime=said)):
        entry = learn(None, outcome, NOW, POLICY)
        assert entry.expires_at - NOW == life


def test_not_modified_renews_the_same_copy() -> None:
    """RFC 9111 section 4.3.4: a 304 freshens what is stored."""
    entry = learn(learn(None, RULES, NOW, POLICY), DOWN, NOW + DAY, POLICY)
    renewed = learn(entry, NotModified(), NOW + 2 * DAY, POLICY)
    assert renewed.body is entry.body
    assert (renewed.failing_since, renewed.failures) == (None, 0)
    assert decide(renewed, NOW + 2 * DAY, POLICY)[:2] == (Decision.FOLLOW, Fetch.NO)
    assert decide(renewed, NOW + 3 * DAY, POLICY).decision is Decision.WAIT


@pytest.mark.parametrize("before", [None, Unavailable(404), DOWN])
def test_not_modified_without_a_copy_is_unreachable(before: Outcome | None) -> None:
    """RFC 9309 section 2.3.1.4: an answer to a question that was not asked decides nothing."""
    entry = None if before is None else learn(None, before, NOW, POLICY)
    after = learn(entry, NotModified(), NOW + DAY, POLICY)
    assert decide(after, NOW + DAY, POLICY).decision is Decision.DISALLOW_ALL


@pytest.mark.parametrize("outcome", [RULES, Unavailable(404), DOWN])
def test_an_entry_from_the_future_is_distrusted(outcome: Outcome) -> None:
    """RFC 9309 section 2.4: after a clock step no one knows how old it is."""
    entry = learn(None, outcome, NOW, POLICY)
    assert state_of(entry, NOW - 61, POLICY) is State.UNKNOWN
    assert state_of(entry, NOW - 60, POLICY) is not State.UNKNOWN
    after = learn(entry, DOWN, NOW - DAY, POLICY)
    assert after.body is None
    assert after.failures == 1


def test_a_short_life_has_no_refresh_within_a_minute() -> None:
    """No authority is asked more often than once a minute."""
    for life in (60.0, 61.0, 66.0, 70.0, 600.0):
        entry = learn(None, replace(RULES, lifetime=life), NOW, POLICY)
        assert NOW + 60 <= refresh_at(entry) <= entry.expires_at


@pytest.mark.parametrize("status", range(100, 600))
def test_every_status_on_every_entry_decides_as_the_tables_say(status: int) -> None:
    """RFC 9309 section 2.3.1: {no entry, fresh, stale good copy} x both REP_ACCESS_DENIED."""
    for denied in ("allow", "disallow"):
        policy = replace(POLICY, access_denied=denied)
        fresh = learn(None, RULES, NOW, policy)
        for entry, now in ((None, NOW), (fresh, NOW + 1), (fresh, NOW + 2 * DAY)):
            after = learn(entry, _outcome(status), now, policy)
            assert decide(after, now, policy).decision is _expected(status, entry, denied)


def _outcome(status: int) -> Outcome:
    """Return what a fetch that ends with ``status``, past its redirects, comes to."""
    meaning = meaning_of(status)
    if meaning is Meaning.SUCCESS:
        return replace(RULES, status=status)
    if meaning is Meaning.NOT_MODIFIED:
        return NotModified()
    if meaning in (Meaning.UNAVAILABLE, Meaning.REDIRECT):
        return Unavailable(status)
    return Unreachable(Cause.STATUS, status)


def _expected(status: int, entry: Entry | None, denied: str) -> Decision:
    if 200 <= status <= 299:
        return Decision.FOLLOW
    if status in (401, 403) and denied == "disallow":
        return Decision.DISALLOW_ALL
    if status in (301, 302, 303, 307, 308) or (400 <= status <= 499 and status != 429):
        return Decision.ALLOW_ALL
    return Decision.DISALLOW_ALL if entry is None else Decision.FOLLOW


def _walk(rng: random.Random, steps: int) -> None:
    """Live through ``steps`` seeded jumps of time and outcomes, and check each."""
    now = rng.choice([40 * DAY, 1e9, 2**31 - 100.0, NOW])
    entry: Entry | None = None
    last_fetch: float | None = None
    for _ in range(steps):
        now += rng.choice([0.1, 1, 30, 59, 61, 600, 3600, DAY, -1, -59, -61, -DAY, 3650 * DAY])
        answer = decide(entry, now, POLICY)
        if answer.decision is Decision.FOLLOW:
            assert entry is not None
            assert entry.failing_since is not None or now - entry.fetched_at <= DAY
        if entry is not None and answer.fetch is Fetch.NO:
            assert good_until(entry, now, POLICY) > now
        if answer.fetch is Fetch.NO:
            continue
        assert last_fetch is None or abs(now - last_fetch) >= 60
        last_fetch = now
        outcome = rng.choice(
            [
                replace(RULES, lifetime=rng.choice([None, 0.0, 61.0, 1e12])),
                Unavailable(rng.choice([401, 404]), lifetime=rng.choice([None, 0.0])),
                NotModified(rng.choice([None, 5.0])),
                Unreachable(Cause.TIMEOUT, retry_after=rng.choice([None, 0.0, 1e12])),
            ]
        )
        entry = learn(entry, outcome, now, POLICY)
        assert decide(entry, now, POLICY).decision is not Decision.WAIT


def test_rules_are_never_followed_too_long_nor_fetched_too_often() -> None:
    """RFC 9309 section 2.4, on 5,000 seeded walks of time and outcomes."""
    rng = random.Random(20220901)
    for _ in range(5_000):
        _walk(rng, 20)


@pytest.mark.slow
def test_the_same_on_a_hundred_thousand_walks() -> None:
    """RFC 9309 section 2.4, with steps back, ten years ahead, and over 2038."""
    rng = random.Random(9309)
    for _ in range(100_000):
        _walk(rng, 20)
