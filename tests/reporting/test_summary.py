"""What several logs say together: counts, sites, versions of rules, delays; in bounded memory."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

import pytest

from scrapy_rep.reporting.lines import Unread
from scrapy_rep.reporting.page import page
from scrapy_rep.reporting.sites import Why
from scrapy_rep.reporting.summary import NotALogError, Summary
from tests.reporting.samples import (
    CRAWL,
    SITE,
    crawl,
    decision,
    digest,
    failure,
    lines,
    overridden,
    refusal,
    run,
)

OTHER = "0" * 32


def summed(*logs: bytes, **more: Any) -> Summary:
    """A summary of logs."""
    summary = Summary(**more)
    for number, octets in enumerate(logs):
        summary.read(f"log {number}", io.BytesIO(octets))
    summary.end()
    return summary


def of(*values: dict[str, Any]) -> Summary:
    """A summary of one log, with the first line of a run."""
    return summed(lines(run(), *values))


def test_each_refusal_has_a_reason() -> None:
    """By what the line says: an override, a rule, a failure, a preference, the pace, a page."""
    no: dict[str, Any] = {"allowed": False, "rule": None, "line": None}
    found = of(
        refusal(),
        refusal(reason="rule (last good copy)", outcome="stale"),
        failure(),
        decision(**no, reason="access denied (403)", outcome="denied"),
        decision(**no, reason="use for train-ai", preferences={"train-ai": "disallowed"}),
        decision(**no, reason="asks for 99 s between requests, more than 60 s"),
        decision(**no, reason="asks for 90 s between requests, more than 60 s"),
        decision(**no, reason="nofollow (meta)"),
        overridden(allowed=False),
        decision(**no, reason="too costly"),
        decision(**no, reason="a reason of a later version"),
        decision(),
    )
    assert found.whys == {
        Why.RULE: 2,
        Why.UNREACHABLE: 1,
        Why.DENIED: 1,
        Why.PREFERENCE: 1,
        Why.PACE: 2,
        Why.NOFOLLOW: 1,
        Why.OVERRIDE: 1,
        Why.COST: 1,
        Why.OTHER: 1,
    }
    assert (found.total.decisions, found.total.refused, found.total.allowed) == (12, 11, 1)
    assert found.sites[SITE].whys == found.whys


@pytest.mark.slow
def test_logs_in_any_order_give_the_same_page() -> None:
    """Runs that share a file, and files of several processes, are put in order of time."""
    values = crawl()
    first = [{**one, "crawl": OTHER} for one in values[:900]]
    parts = [lines(values[0], *values[900:]), lines(*first)]
    mixed = [lines(values[0], *reversed(values[900:])), lines(first[0], *reversed(first[1:]))]
    pages = []
    for logs in (parts, mixed, [b"".join(parts)], [b"".join(mixed[::-1])]):
        summary = summed(*logs)
        summary.files.clear()  # all but the list of files
        pages.append(page(summary))
    assert pages[0] == pages[1] == pages[2] == pages[3]


def test_a_change_of_rules_shows_when_and_what_it_did() -> None:
    """By the digest; a file that is gone is a version, a failure is none."""
    found = of(
        decision(1),
        refusal(2),
        failure(3),
        decision(4, digest=digest(2)),
        refusal(5, digest=digest(2), rule="Disallow: /new"),
        decision(6, digest=None, outcome="unavailable", status=404),
    )
    versions = found.sites[SITE].versions
    assert list(versions) == [digest(1), digest(2), "unavailable"]
    old, new, gone = versions.values()
    assert (old.first[17:23], old.last[17:23]) == ("01.000", "02.000")
    assert (old.allowed, old.refused, new.allowed, new.refused) == (1, 1, 1, 1)
    assert [verdict.rule for verdict in new.rules or ()] == ["Disallow: /new"]
    assert (gone.allowed, gone.refused) == (1, 0)


def test_a_delay_costs_its_length_for_each_request_but_the_first_of_a_run() -> None:
    """At most REP_MAX_CRAWL_DELAY; refusals cost nothing."""
    other = {"crawl": OTHER, "delay": 100.0}
    found = summed(
        lines(
            run(),
            run(crawl=OTHER, max_crawl_delay=30.0),
            *(decision(second, delay=10.0) for second in range(4)),
            *(decision(second, **other) for second in range(3)),
            refusal(9),
        )
    )
    assert found.cost == 3 * 10.0 + 2 * 30.0
    delays = found.sites[SITE].delays
    assert delays is not None
    assert (delays.requests, delays.least, delays.longest, delays.cost) == (7, 10.0, 100.0, 90.0)


def test_failures_are_told_with_their_causes_and_times() -> None:
    """Requests that were refused, and those that the last good copy decided."""
    found = of(failure(5), failure(7, cause="dns"), decision(9, outcome="stale", cause="dns"))
    failures = found.sites[SITE].failures
    assert failures is not None
    assert {cause: count.decisions for cause, count in failures.causes.items()} == {
        "timeout": 1,
        "dns": 2,
    }
    assert (failures.refused, failures.stale) == (2, 1)
    assert (failures.first[17:23], failures.last[17:23]) == ("05.000", "09.000")


def test_whether_the_log_is_complete_is_known_of_all_runs() -> None:
    """Only REP_DECISIONS = "all" records each decision; a run without a first line may be any."""
    assert summed(lines(run(), decision())).is_complete
    assert not summed(lines(run(decisions="refused"), decision())).is_complete
    assert not summed(lines(run(), decision(crawl=OTHER))).is_complete


def test_unread_lines_are_counted_by_kind_and_place() -> None:
    """The decisions of a run of another schema are left out with its first line."""
    octets = (
        lines(run(), decision())
        + b"noise\n"
        + lines(run(crawl=OTHER, schema=9), decision(crawl=OTHER), decision(time="now"))
        + b'{"crawl":"7c6c'
    )
    found = summed(octets)
    (file,) = found.files
    assert (file.lines, file.read, found.unread) == (7, 2, 5)
    assert file.numbers == {
        Unread.FOREIGN: [3],
        Unread.SCHEMA: [4, 5],
        Unread.DAMAGED: [6],
        Unread.CUT: [7],
    }
    assert found.total.decisions == 1
    assert CRAWL in found.runs
    assert OTHER not in found.runs


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"", "it is empty"),
        (b"noise\n" * 5, "it is not a decision log"),
        (lines(run(schema=2)), "it was written by another version of scrapy_rep"),
    ],
)
def test_a_file_without_a_line_of_a_log_is_not_one(octets: bytes, reason: str) -> None:
    """It says why."""
    with pytest.raises(NotALogError, match=reason):
        summed(octets)


def test_a_file_that_begins_with_noise_is_given_up_soon() -> None:
    """A video takes no time."""
    stream = io.BytesIO(b"noise\n" * 1_000_000)
    with pytest.raises(NotALogError):
        Summary().read("video", stream)
    assert stream.tell() < 10_000


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log() -> None:
    """Six times as many sites, rules, runs and overrides take no more; totals stay exact."""
    peaks = []
    for count in (2_000, 12_000):
        summary = Summary(most_sites=500)
        for bounded in (summary.rules, summary.overrides, summary.runs):
            bounded._most = 500
        octets = b"".join(
            lines(
                overridden(number, f"https://b{number}.example", override=f"no {number}")
                if number % 2
                else refusal(
                    number, f"https://a{number}.example", f"Disallow: /{number}", crawl=f"{number}"
                )
            )
            for number in range(count)
        )
        stream = io.BytesIO(octets)
        tracemalloc.start()
        summary.read("log", stream)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert summary.total.decisions == count
        assert (summary.whys[Why.RULE], summary.overridden) == (count // 2, count // 2)
        assert 'over 500</span> <span class="what">sites' in page(summary)
    assert peaks[1] < 1.5 * peaks[0]
