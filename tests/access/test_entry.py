"""What two crawlers know together."""

from __future__ import annotations

import random
from dataclasses import replace

from scrapy_rep.access.entry import CLOCK_TOLERANCE, Answer, Entry, Failure, Requester, merge

NOW = 1_700_000_000.0
RULES = Answer(200, b"Disallow: /\n", fetched_at=NOW)
MISSING = Answer(404, fetched_at=NOW)
REFUSAL = Answer(403, fetched_at=NOW)
FAILURE = Failure(NOW, NOW, 1, None, "status 503")


def test_what_is_not_known_yet_is_what_comes() -> None:
    """The first entry is kept as it is."""
    for entry in (Entry(RULES), Entry(refusal=REFUSAL), Entry(failure=FAILURE)):
        assert merge(None, entry, NOW) == entry
        assert merge(entry, Entry(), NOW) == entry


def test_a_failure_never_removes_an_answer_whatever_the_clock_of_the_writer_says() -> None:
    """RFC 9309 section 2.3.1.4: the last good copy outlives any failure, old or new."""
    for clock in (-3600.0, -120.0, 0.0, 120.0, 3600.0):
        now = NOW + 10 + clock
        failed = Entry(failure=Failure(now, now))
        for kept in (RULES, MISSING):
            assert merge(Entry(kept), failed, now).answer == kept
            assert merge(failed, Entry(kept), now).answer == kept


def test_of_each_part_the_newest_stays() -> None:
    """RFC 9309 section 2.4: parts are dated, and an older one changes nothing."""
    old, new = replace(RULES, fetched_at=NOW - 50), replace(MISSING, fetched_at=NOW - 40)
    assert merge(Entry(old), Entry(new), NOW).answer == new
    assert merge(Entry(new), Entry(old), NOW).answer == new
    early, late = replace(FAILURE, failed_at=NOW - 20), replace(FAILURE, failed_at=NOW - 10)
    assert merge(Entry(failure=early), Entry(failure=late), NOW).failure == late
    assert merge(Entry(failure=late), Entry(failure=early), NOW).failure == late


def test_of_two_parts_with_one_date_the_later_stays() -> None:
    """Equal dates do not keep a part from being replaced."""
    other = replace(RULES, body=b"")
    assert merge(Entry(RULES), Entry(other), NOW).answer == other


def test_a_part_from_the_future_gives_way() -> None:
    """A wrong clock blocks no store: any answer replaces it, and such a failure is dropped."""
    ahead = NOW + CLOCK_TOLERANCE + 1
    future = Entry(replace(RULES, fetched_at=ahead))
    assert merge(future, Entry(MISSING), NOW).answer == MISSING
    assert merge(Entry(failure=replace(FAILURE, failed_at=ahead)), Entry(), NOW) == Entry()
    kept = merge(future, Entry(failure=FAILURE), NOW)
    assert (kept.answer, kept.failure) == (future.answer, FAILURE)


def test_an_answer_ends_the_failure_before_it() -> None:
    """RFC 9309 section 2.3.1.1: once rules were fetched, the site is no longer unreachable."""
    before, after = replace(FAILURE, failed_at=NOW - 1), replace(FAILURE, failed_at=NOW + 1)
    for one, other in (
        (Entry(RULES), Entry(failure=before)),
        (Entry(failure=before), Entry(RULES)),
    ):
        assert merge(one, other, NOW + 1) == Entry(RULES)
    assert merge(Entry(failure=after), Entry(RULES), NOW + 1) == Entry(RULES, failure=after)


def test_an_answer_ends_only_the_older_refusal_of_the_crawler_that_got_it() -> None:
    """RFC 9309 section 2.3.1.3: a refusal stands beside an answer that was there before it."""
    newer = replace(RULES, fetched_at=NOW + 1)
    assert merge(Entry(refusal=REFUSAL), Entry(newer), NOW + 1) == Entry(newer)
    assert merge(Entry(newer), Entry(refusal=REFUSAL), NOW + 1) == Entry(newer, REFUSAL)
    same = replace(RULES, fetched_at=REFUSAL.fetched_at)
    assert merge(Entry(refusal=REFUSAL), Entry(same), NOW) == Entry(same)
    older = replace(RULES, fetched_at=NOW - 1)
    assert merge(Entry(refusal=REFUSAL), Entry(older), NOW) == Entry(older, REFUSAL)
    newest = replace(RULES, fetched_at=NOW + 2)
    assert merge(Entry(newest, REFUSAL), Entry(newer), NOW + 2) == Entry(newest)


def test_the_order_in_which_parts_with_right_dates_come_does_not_matter() -> None:
    """Many crawlers write in any order, and the store ends with the same facts."""
    rng = random.Random(9309)
    for _ in range(2_000):
        entries = []
        for _ in range(rng.randint(2, 5)):
            date = NOW - rng.randrange(10_000) / 8
            kinds = (
                Entry(replace(RULES, fetched_at=date)),
                Entry(replace(MISSING, fetched_at=date)),
                Entry(failure=replace(FAILURE, failed_at=date)),
            )
            entries.append(rng.choice(kinds))
        results = []
        for _ in range(3):
            rng.shuffle(entries)
            kept = None
            for entry in entries:
                kept = merge(kept, entry, NOW)
            results.append(kept)
        assert results[0] == results[1] == results[2]


def test_only_a_refusal_may_be_due_to_the_request() -> None:
    """What else an answer says, it says to all."""
    for answer in (RULES, MISSING, replace(RULES, proxied=True), Answer(404, proxied=True)):
        assert answer.holds_for_all
        assert answer.holds_for(Requester("proxy.example:1", b"login"))
    for answer in (REFUSAL, replace(REFUSAL, proxied=True), replace(REFUSAL, status=401)):
        assert not answer.holds_for_all


def test_a_refusal_that_may_be_due_to_the_request_holds_for_requests_like_it() -> None:
    """RFC 9309 section 2.3.1.3: of another proxy or login nothing is known; twenty are enough."""
    direct, proxied = Requester(), Requester("proxy.example:80")
    login = Requester(login=b"Basic YTpi")
    assert replace(REFUSAL, status=401).holds_for(direct)
    assert not replace(REFUSAL, status=401).holds_for(login)
    assert replace(REFUSAL, status=401, refused_to=frozenset({login})).holds_for(login)
    assert not replace(REFUSAL, status=401).holds_for(proxied)
    assert REFUSAL.holds_for(direct)
    assert REFUSAL.holds_for(login)
    assert not REFUSAL.holds_for(proxied)
    named = Requester(user_agent=b"OtherBot/1")
    assert not REFUSAL.holds_for(named)
    assert replace(REFUSAL, refused_to=frozenset({named})).holds_for(named)
    assert replace(REFUSAL, refused_as=b"OtherBot/1").holds_for(named)
    assert replace(REFUSAL, status=401).holds_for(named)
    both = Requester(proxied.way, user_agent=named.user_agent)
    for refused in (both, proxied):  # with that User-Agent as its own, or as that of a retry
        refusal = replace(REFUSAL, refused_to=frozenset({refused}), refused_as=named.user_agent)
        assert refusal.holds_for(both)
    assert not replace(REFUSAL, proxied=True).holds_for(direct)
    others = frozenset(Requester(f"{number}.example:80") for number in range(20))
    assert replace(REFUSAL, proxied=True, refused_to=others).holds_for(direct)
