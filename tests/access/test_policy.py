"""What is known of an authority, what follows from it, and what a fetch adds."""

import random
from dataclasses import replace

import pytest

from scrapy_rep.access.entry import Answer, Entry, Failure, Requester, merge
from scrapy_rep.access.outcome import Cause, Meaning, NotModified, Outcome, Unreachable
from scrapy_rep.access.policy import (
    DECISIONS,
    TRANSITIONS,
    Decision,
    EntryState,
    Fetch,
    Policy,
    confirmable,
    expires_at,
    in_force,
    learn,
    refresh_at,
    retry_at,
    standing,
    state_of,
)
from tests.rows import deep, first, rows

DAY = 86_400.0
NOW = 1_700_000_000.0
POLICY = Policy()
RULES = Answer(200, b"User-agent: *\nDisallow: /x\n", etag=b'"1"')
DOWN = Unreachable(Cause.STATUS, 503)


def answer_of(entry: Entry | None) -> Answer:
    """The answer in force of an entry that has one."""
    answer, _ = in_force(entry, NOW, POLICY)
    assert answer is not None
    return answer


def failure_of(entry: Entry | None) -> Failure:
    """The failure of an entry that has one."""
    assert entry is not None
    assert entry.failure is not None
    return entry.failure


def due(entry: Entry | None) -> float:
    """When the authority of a failing entry is asked again."""
    return retry_at(failure_of(entry), POLICY)


def test_the_tables_are_total() -> None:
    """Every state has a decision, every outcome a transition: no failure falls through."""
    assert set(DECISIONS) == set(EntryState)
    assert set(TRANSITIONS) == set(Meaning) - {Meaning.REDIRECT}


def worth(entry: Entry | None, now: float, policy: Policy) -> EntryState:
    """What an entry is worth then."""
    return state_of(*in_force(entry, now, policy), now, policy)


def test_unknown_waits_for_a_fetch() -> None:
    """1996 section 3: robots must retrieve the instructions before visiting other URLs."""
    assert standing(None, NOW, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)


def test_success_is_followed_for_a_day_and_then_fetched_again() -> None:
    """RFC 9309 sections 2.3.1.1 and 2.4: rules are followed, for no more than 24 hours."""
    entry = learn(None, RULES, NOW, POLICY)
    assert standing(entry, NOW, POLICY)[:2] == (Decision.FOLLOW, Fetch.NO)
    assert standing(entry, NOW + 0.9 * DAY - 1, POLICY)[:2] == (Decision.FOLLOW, Fetch.NO)
    assert standing(entry, NOW + 0.9 * DAY, POLICY)[:2] == (Decision.FOLLOW, Fetch.BACKGROUND)
    assert standing(entry, NOW + DAY - 1, POLICY)[:2] == (Decision.FOLLOW, Fetch.BACKGROUND)
    assert standing(entry, NOW + DAY, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)


@rows(
    "outcome, after, body, until",
    (RULES, 0.0, RULES.body, NOW + 0.9 * DAY),
    (RULES, 0.95 * DAY, RULES.body, 0.0),
    (RULES, DAY, None, 0.0),
    (Answer(404), 0.0, None, NOW + 0.9 * DAY),
    (DOWN, 0.0, None, NOW + 60.0),
    (DOWN, 60.0, None, 0.0),
)
def test_octets_are_given_while_they_are_followed(
    outcome: Outcome, after: float, body: bytes | None, until: float
) -> None:
    """RFC 9309 section 2.4: expired rules are not followed, and what is fresh needs no look."""
    found = standing(learn(None, outcome, NOW, POLICY), NOW + after, POLICY)
    assert (found.body, found.until) == (body, until)


@rows(
    "stale, decision, until",
    [(DAY, Decision.FOLLOW, 65), (30.0, Decision.FOLLOW, 30), (5.0, Decision.DISALLOW_ALL, 65)],
)
def test_a_decision_about_a_failing_site_holds_until_the_attempt_or_the_end_of_its_copy(
    stale: float, decision: Decision, until: float
) -> None:
    """RFC 9309 section 2.3.1.4: whichever comes first; a copy that is not followed has no say."""
    policy = replace(POLICY, stale_if_unreachable=stale)
    failing = learn(learn(None, RULES, NOW, policy), DOWN, NOW + 5, policy)
    found = standing(failing, NOW + 5, policy)
    assert (found.decision, found.until) == (decision, NOW + until)


def test_unavailable_allows_all_for_a_day() -> None:
    """RFC 9309 section 2.3.1.3: a crawler may access any resources."""
    entry = learn(None, Answer(404), NOW, POLICY)
    assert standing(entry, NOW, POLICY)[:2] == (Decision.ALLOW_ALL, Fetch.NO)
    assert standing(entry, NOW + 0.95 * DAY, POLICY)[:2] == (Decision.ALLOW_ALL, Fetch.BACKGROUND)
    assert standing(entry, NOW + DAY, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)


@rows("status", [401, 402, 403])
def test_access_denied_may_be_taken_as_disallow(status: int) -> None:
    """1996 section 3.1: 401 and 403 restrict the site completely, and so does 402."""
    entry = learn(None, Answer(status), NOW, POLICY)
    strict = replace(POLICY, access_denied="disallow")
    assert standing(entry, NOW, POLICY).decision is Decision.ALLOW_ALL
    assert standing(entry, NOW, strict)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)
    assert standing(entry, NOW + 0.95 * DAY, strict)[:2] == (
        Decision.DISALLOW_ALL,
        Fetch.BACKGROUND,
    )
    assert standing(entry, NOW + DAY, strict)[:2] == (Decision.WAIT, Fetch.NOW)


def test_unreachable_disallows_all_until_the_next_attempt() -> None:
    """RFC 9309 section 2.3.1.4: the crawler must assume complete disallow."""
    entry = learn(None, DOWN, NOW, POLICY)
    assert standing(entry, NOW, POLICY)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)
    assert standing(entry, NOW + 59, POLICY)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)
    assert standing(entry, NOW + 60, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)


def test_unreachable_after_unavailable_disallows_all() -> None:
    """RFC 9309 section 2.3.1.4: that there was no robots.txt is no copy of one."""
    entry = learn(learn(None, Answer(404), NOW, POLICY), DOWN, NOW + 2 * DAY, POLICY)
    assert standing(entry, NOW + 2 * DAY, POLICY).decision is Decision.DISALLOW_ALL


def test_the_last_good_copy_is_followed_for_thirty_days() -> None:
    """RFC 9309 section 2.3.1.4: continue to use a cached copy, here for 30 days."""
    entry = learn(learn(None, RULES, NOW, POLICY), DOWN, NOW + DAY, POLICY)
    assert standing(entry, NOW + DAY, POLICY)[:2] == (Decision.FOLLOW, Fetch.NO)
    assert standing(entry, NOW + DAY + 60, POLICY)[:2] == (Decision.FOLLOW, Fetch.BACKGROUND)
    assert standing(entry, NOW + 30 * DAY - 1, POLICY).decision is Decision.FOLLOW
    assert standing(entry, NOW + 30 * DAY, POLICY)[:2] == (Decision.WAIT, Fetch.NOW)
    again = learn(entry, DOWN, NOW + 30 * DAY, POLICY)
    assert standing(again, NOW + 30 * DAY, POLICY)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)


def test_unreachable_keeps_the_copy_and_the_beginning_of_the_failure() -> None:
    """RFC 9309 section 2.3.1.4: 'a reasonably long period' is counted from the first failure."""
    first = learn(learn(None, RULES, NOW, POLICY), DOWN, NOW + DAY, POLICY)
    second = learn(first, DOWN, NOW + 2 * DAY, POLICY)
    assert answer_of(second).body == RULES.body
    assert (failure_of(first).since, failure_of(second).since) == (NOW + DAY, NOW + DAY)
    assert failure_of(second).count == 2


@rows("count, waits", [(1, 60), (2, 120), (6, 1_920), (7, 3_600), (5_000, 3_600)])
def test_the_back_off_doubles_up_to_an_hour(count: int, waits: float) -> None:
    """Also after years: two to the power of so many rounds is more than a float can hold."""
    assert retry_at(Failure(NOW, NOW, count), POLICY) - NOW == waits


@rows("asked, waits", [(None, 60), (5, 60), (600, 600), (DAY, DAY), (10 * DAY, DAY), (0, 60)])
def test_retry_after_is_honoured_up_to_a_day(asked: float | None, waits: float) -> None:
    """RFC 9110 section 10.2.3; never sooner than the back-off, never later than 24 h."""
    entry = learn(None, Unreachable(Cause.STATUS, 429, retry_after=asked), NOW, POLICY)
    assert due(entry) - NOW == waits


@rows("said, life", [(None, DAY), (0.0, 60), (59.0, 60), (3600.0, 3600), (7 * DAY, DAY)])
def test_a_response_may_shorten_its_life_never_lengthen_it(said: float | None, life: float) -> None:
    """RFC 9309 section 2.4: cache control may be used, but no more than 24 hours."""
    for outcome in (replace(RULES, lifetime=said), Answer(404, lifetime=said)):
        entry = learn(None, outcome, NOW, POLICY)
        assert expires_at(answer_of(entry), POLICY) - NOW == life


def test_not_modified_renews_the_same_copy() -> None:
    """RFC 9111 section 4.3.4: a 304 freshens what is stored."""
    entry = learn(learn(None, RULES, NOW, POLICY), DOWN, NOW + DAY, POLICY)
    renewed = learn(entry, NotModified(), NOW + 2 * DAY, POLICY)
    assert answer_of(renewed).body is answer_of(entry).body
    assert renewed.failure is None
    assert standing(renewed, NOW + 2 * DAY, POLICY)[:2] == (Decision.FOLLOW, Fetch.NO)
    assert standing(renewed, NOW + 3 * DAY, POLICY).decision is Decision.WAIT


def test_a_copy_without_a_validator_cannot_be_confirmed() -> None:
    """RFC 9110 section 13.1: a 304 would answer nothing that was asked."""
    entry = learn(None, replace(RULES, etag=None), NOW, POLICY)
    assert confirmable(entry, POLICY) is None
    dated = learn(None, replace(RULES, etag=None, last_modified=b"Mon"), NOW, POLICY)
    assert confirmable(dated, POLICY) is dated.answer


@rows("before", [None, Answer(404), DOWN])
def test_not_modified_without_a_copy_is_unreachable(before: Outcome | None) -> None:
    """RFC 9309 section 2.3.1.4: an answer to a question that was not asked decides nothing."""
    entry = None if before is None else learn(None, before, NOW, POLICY)
    after = learn(entry, NotModified(), NOW + DAY, POLICY)
    assert standing(after, NOW + DAY, POLICY).decision is Decision.DISALLOW_ALL
    assert failure_of(after).cause == "status 304"


@rows("outcome", [RULES, Answer(404), DOWN])
def test_an_entry_from_the_future_decides_nothing(outcome: Outcome) -> None:
    """RFC 9309 section 2.4: after a clock step no one knows how old it is."""
    entry = learn(None, outcome, NOW, POLICY)
    assert worth(entry, NOW - 61, POLICY) is EntryState.UNKNOWN
    assert worth(entry, NOW - 60, POLICY) is not EntryState.UNKNOWN


def test_a_copy_from_the_future_is_followed_once_a_fetch_has_failed() -> None:
    """RFC 9309 section 2.3.1.4: a crawler whose clock is slow does not lose the last good copy."""
    after = learn(learn(None, RULES, NOW, POLICY), DOWN, NOW - DAY, POLICY)
    assert worth(after, NOW - DAY, POLICY) is EntryState.FAILING_WITH_COPY
    assert failure_of(after).count == 1
    assert standing(after, NOW + 28 * DAY, POLICY).decision is Decision.FOLLOW
    assert standing(after, NOW + 29 * DAY, POLICY).decision is Decision.WAIT


def test_a_copy_is_dated_anew_only_beyond_the_tolerance_for_clocks() -> None:
    """RFC 9309 section 2.3.1.4: a clock that is a minute off is believed."""
    entry = learn(None, RULES, NOW, POLICY)
    for early, date in ((60, NOW), (61, NOW - 61 - 60)):
        failing = learn(entry, DOWN, NOW - early, POLICY)
        assert failing.answer == replace(answer_of(entry), fetched_at=date)


def test_a_failure_from_the_future_hides_no_answer() -> None:
    """RFC 9309 section 2.3.1.4: a crawler whose clock is fast shuts no other crawler out."""
    rules, missing = (learn(None, outcome, NOW, POLICY) for outcome in (RULES, Answer(404)))
    for entry, state in ((rules, EntryState.RULES_FRESH), (missing, EntryState.UNAVAILABLE_FRESH)):
        failing = learn(entry, DOWN, NOW + 120, POLICY)
        assert worth(failing, NOW, POLICY) is state
        assert failure_of(learn(failing, DOWN, NOW + 1, POLICY)).count == 1


def test_rules_that_were_cut_are_fetched_again_by_a_crawler_that_reads_more() -> None:
    """RFC 9309 section 2.5: rules may stand behind the cut; a 304 would keep them there."""
    entry = learn(None, replace(RULES, cut_at=512_000), NOW, POLICY)
    larger = replace(POLICY, max_size=512_001)
    assert worth(entry, NOW, POLICY) is EntryState.RULES_FRESH
    assert confirmable(entry, POLICY) is entry.answer
    assert worth(entry, NOW, larger) is EntryState.LIMITED
    assert confirmable(entry, larger) is None
    failing = learn(entry, DOWN, NOW, larger)
    assert standing(failing, NOW, larger).decision is Decision.FOLLOW


def test_too_many_redirects_for_one_crawler_are_followed_by_one_that_follows_more() -> None:
    """RFC 9309 section 2.3.1.2: unavailable means, after the hops that this crawler follows."""
    hops = tuple(f"https://e.org/{n}" for n in range(5))
    entry = learn(None, Answer(302, redirects=hops), NOW, POLICY)
    assert worth(entry, NOW, POLICY) is EntryState.UNAVAILABLE_FRESH
    assert worth(entry, NOW, replace(POLICY, max_redirects=6)) is EntryState.LIMITED


def test_the_limits_of_the_reader_apply_to_what_another_crawler_stored() -> None:
    """RFC 9309 section 2.4: an answer that one crawler keeps for a week is a day old at most."""
    entry = learn(None, RULES, NOW, replace(POLICY, max_ttl=7 * DAY))
    assert standing(entry, NOW + DAY, POLICY).decision is Decision.WAIT
    assert standing(entry, NOW + 7200, replace(POLICY, max_ttl=3600.0)).decision is Decision.WAIT
    failing = learn(None, DOWN, NOW, replace(POLICY, unreachable_ttl=(3600.0, 3600.0)))
    assert retry_at(failure_of(failing), POLICY) == NOW + 60


def test_a_failure_of_the_crawler_is_tried_again_soon() -> None:
    """No server is spared by a pause after a dead proxy; but one that stays dead is left alone."""
    entry, waits = None, []
    for _ in range(14):
        entry = learn(entry, replace(DOWN, ours=True), NOW, POLICY)
        waits.append(due(entry) - NOW)
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == 3600
    asked = learn(None, replace(DOWN, ours=True, retry_after=90.0), NOW, POLICY)
    assert due(asked) - NOW == 90
    quick = replace(POLICY, unreachable_ttl=(0.5, 0.5))
    failing = learn(None, replace(DOWN, ours=True), NOW, POLICY)
    assert retry_at(failure_of(failing), quick) == NOW + 0.5


def test_failures_of_the_crawler_do_not_lengthen_the_back_off_of_a_server() -> None:
    """Two minutes with a dead proxy do not turn the first failure of a server into an hour."""
    entry = None
    for _ in range(7):
        entry = learn(entry, replace(DOWN, ours=True), NOW, POLICY)
    entry = learn(entry, DOWN, NOW, POLICY)
    assert due(entry) - NOW == 60
    assert failure_of(entry).since == NOW
    assert due(learn(entry, DOWN, NOW, POLICY)) - NOW == 120
    assert due(learn(entry, replace(DOWN, ours=True), NOW, POLICY)) - NOW == 2


@rows("status", [401, 402, 403])
def test_a_refusal_counts_until_it_expires_and_replaces_no_copy(status: int) -> None:
    """RFC 9309 section 2.3.1.3: what one crawler is refused may be served to another one."""
    rules = learn(None, RULES, NOW, POLICY)
    refused = learn(rules, Answer(status), NOW + 10, POLICY)
    assert refused.answer == rules.answer
    strict = replace(POLICY, access_denied="disallow")
    shared = merge(refused, learn(None, RULES, NOW + 20, POLICY), NOW + 20)
    assert shared.refusal is None  # this crawler was answered
    shared = Entry(shared.answer, refused.refusal)  # another one was
    for entry in (refused, shared):
        assert standing(entry, NOW + 30, strict)[:2] == (Decision.DISALLOW_ALL, Fetch.NO)
        assert standing(entry, NOW + 30, POLICY)[:2] == (Decision.ALLOW_ALL, Fetch.NO)
    assert worth(refused, NOW + DAY + 10, strict) is EntryState.DENIED_EXPIRED
    assert standing(shared, NOW + DAY + 10, strict).decision is Decision.FOLLOW
    down = learn(refused, DOWN, NOW + 40, POLICY)
    assert standing(down, NOW + 40, POLICY).decision is Decision.DISALLOW_ALL


def test_a_short_life_has_no_refresh_within_a_minute() -> None:
    """No authority is asked more often than once a minute."""
    for life in (60.0, 61.0, 66.0, 70.0, 600.0):
        entry = learn(None, replace(RULES, lifetime=life), NOW, POLICY)
        answer = answer_of(entry)
        assert NOW + 60 <= refresh_at(answer, POLICY) <= expires_at(answer, POLICY)


def _walk(rng: random.Random, steps: int) -> None:
    """Live through ``steps`` seeded jumps of time and outcomes, and check each."""
    now = rng.choice([40 * DAY, 1e9, 2**31 - 100.0, NOW])
    entry: Entry | None = None
    last_fetch: float | None = None
    for _ in range(steps):
        now += rng.choice([0.1, 1, 30, 59, 61, 600, 3600, DAY, -1, -59, -61, -DAY, 3650 * DAY])
        action = standing(entry, now, POLICY)
        if action.decision is Decision.FOLLOW:
            answer, failure = in_force(entry, now, POLICY)
            assert failure is not None or (answer and now - answer.fetched_at <= DAY)
        if entry is not None and action.fetch is Fetch.NO:
            assert standing(entry, now, POLICY).until > now
        if action.fetch is Fetch.NO:
            continue
        assert last_fetch is None or abs(now - last_fetch) >= 60
        last_fetch = now
        outcome = rng.choice(
            [
                replace(RULES, lifetime=rng.choice([None, 0.0, 61.0, 1e12])),
                Answer(rng.choice([401, 402, 404]), lifetime=rng.choice([None, 0.0])),
                NotModified(rng.choice([None, 5.0])),
                Unreachable(Cause.TIMEOUT, retry_after=rng.choice([None, 0.0, 1e12])),
            ]
        )
        entry = learn(entry, outcome, now, POLICY)
        assert standing(entry, now, POLICY).decision is not Decision.WAIT


@pytest.mark.parametrize("walks", first(1, [1_000, deep(4_000, 100_000)]))
def test_rules_are_never_followed_too_long_nor_fetched_too_often(walks: int) -> None:
    """RFC 9309 section 2.4, on seeded walks of time: back, ten years ahead, and over 2038."""
    rng = random.Random(9309)
    for _ in range(walks):
        _walk(rng, 20)


def test_an_answer_that_is_a_failure_for_this_crawler_does_not_count() -> None:
    """RFC 9309 section 2.3.1.4: another crawler that shares the store took the status otherwise."""
    policy = replace(POLICY, temporary=frozenset({429}))
    entry = Entry(Answer(429, fetched_at=NOW))
    assert in_force(entry, NOW, POLICY) == (entry.answer, None)
    assert in_force(entry, NOW, policy) == (None, None)


def test_a_304_without_a_lifetime_leaves_the_one_that_is_stored() -> None:
    """RFC 9111 section 3.2: only the fields that it has replace others."""
    entry = learn(None, replace(RULES, lifetime=300.0), NOW, POLICY)
    renewed = learn(entry, NotModified(), NOW + 600.0, POLICY)
    assert expires_at(answer_of(renewed), POLICY) == NOW + 900.0
    changed = learn(renewed, NotModified(400.0), NOW + 1_000.0, POLICY)
    assert expires_at(answer_of(changed), POLICY) == NOW + 1_400.0


def test_a_refusal_through_a_proxy_hides_no_copy_while_the_site_cannot_be_reached() -> None:
    """The copy is followed then, as after any failure."""
    entry = learn(None, RULES, NOW, POLICY)
    refused = learn(entry, Answer(403, proxied=True), NOW + 10.0, POLICY)
    assert standing(refused, NOW + 20.0, POLICY).decision is Decision.ALLOW_ALL
    failing = learn(refused, DOWN, NOW + 20.0, POLICY)
    assert standing(failing, NOW + 30.0, POLICY).decision is Decision.FOLLOW


def test_a_refusal_lives_no_longer_because_others_are_refused_as_well() -> None:
    """RFC 9309 section 2.4: who was refused first may be served by now, and asks again."""
    first, second = Requester("p:1"), Requester("p:2")
    refused = Answer(403, proxied=True, refused_to=frozenset({first}))
    entry = learn(None, refused, NOW, POLICY)
    both = learn(entry, replace(refused, refused_to=frozenset({second})), NOW + 70_000.0, POLICY)
    assert both.refusal is not None
    assert both.refusal.refused_to == {first, second}
    assert expires_at(both.refusal, POLICY) == NOW + 86_400.0
    renewed = learn(entry, refused, NOW + 80_000.0, POLICY)
    assert renewed.refusal is not None
    assert expires_at(renewed.refusal, POLICY) == NOW + 80_000.0 + 86_400.0
