"""What a report counts: every decision once, whatever the order and the number of the lines."""

from __future__ import annotations

import io
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.records.tally import Tally, sections
from tests.records.samples import crawl, decision, digest, failure, lines, overridden, refusal, run
from tests.rows import rows as rows_of

OTHER = "1" * 32


def tallied(*logs: bytes) -> Tally:
    """The tally of some logs, which is closed with the test."""
    tally = Tally()
    for octets in logs:
        tally.add(io.BytesIO(octets))
    tally.end()
    return tally


def of(*values: dict[str, Any]) -> Iterator[Tally]:
    """That of one log, with the first line of a run."""
    with closing(tallied(lines(run(), *values))) as tally:
        yield tally


def rows(name: str, *values: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a section; none if there is no such section."""
    for tally in of(*values):
        return next((one.rows for one in sections(tally) if one.name == name), [])
    return []


def test_each_refusal_has_a_reason() -> None:
    """That of its line, or a rule."""
    no: dict[str, Any] = {"allowed": False, "rule": None, "line": None}
    found = rows(
        "reasons",
        refusal(),
        refusal(reason="rule (last good copy)", outcome="stale"),
        failure(),
        decision(**no, reason="access denied (403)", outcome="denied"),
        overridden(allowed=False),
        decision(**no, reason="override"),
        decision(),
    )
    assert {row[0]: row[1] for row in found} == {
        "a rule of robots.txt": 2,
        "unreachable": 1,
        "access denied (403)": 1,
        "override": 2,
    }


def test_a_request_without_a_host_is_of_no_site() -> None:
    """It was refused all the same, for a reason that is counted."""
    without = failure() | {"authority": None, "url": "http:///a", "outcome": "unknown"}
    assert [row[0] for row in rows("sites", refusal(), without)] == [refusal()["authority"]]
    assert rows("sites", without) == []
    assert [row[1] for row in rows("reasons", without)] == [1]


def test_logs_in_any_order_give_the_same_figures() -> None:
    """Those of several workers are read one after the other."""
    values = crawl()[1:]
    first = [{**one, "crawl": OTHER} for one in values[:900]]
    logs = [lines(run(crawl=OTHER), *first), lines(run(), *values[900:])]
    random.Random(3).shuffle(values)
    orders = (logs, logs[::-1])
    found = []
    for order in orders:
        with closing(tallied(*order)) as tally:
            found.append((tally.totals, tally.course(), [*sections(tally)]))
    assert found[0] == found[1]


def test_the_whole_sample_is_summed_up() -> None:
    """Each section has its figures."""
    for tally in of(*crawl()[1:]):
        totals = tally.totals
        assert (totals["decisions"], totals["refused"], totals["sites"]) == (2_401, 816, 12)
        assert (totals["unreachable_sites"], totals["changed_sites"]) == (2, 1)
        assert (totals["overridden"], totals["is_complete"]) == (63, True)
        tables = {one.name: one for one in sections(tally)}
        assert tables["reasons"].rows[0] == ("a rule of robots.txt", 746, "91.4 %")
        assert tables["sites"].rows[0][:3] == ("https://shop.example.com", 101, 223)
        assert tables["unreachable"].rows[0][:3] == ("https://library.example.edu", 41, 0)
        assert {*tables["unreachable"].rows[0][3].split(", ")} == {"timeout", "status 503"}
        assert tables["delays"].rows[0] == ("https://docs.example.org", "10 s", 143)
        assert tables["overrides"].rows[0] == (
            "https://intranet.example.org:8443",
            62,
            "allowed",
            "allow, entry 1: our own site, ticket OPS-114 (crawl-team@example.org, "
            "until 2027-03-31)",
            "refused: Disallow: /private",
        )
        assert tables["runs"].rows[0][3:] == (2_401, 816, "all", "rfc9309", "mybot-news, mybot")
        course = tally.course()
        assert sum(map(sum, course)) == 2_401
        assert sum(unreachable for *_, unreachable in course) == 70


def test_a_change_of_rules_shows_when_and_what_it_did() -> None:
    """By the digest; a robots.txt that goes away is a version as well."""
    gone = decision(9, outcome="unavailable", digest=None, status=404)
    found = rows("changes", decision(1, digest=digest(1)), refusal(5, digest=digest(2)), gone)
    assert [row[1] for row in found] == [digest(1)[7:19], digest(2)[7:19], "no robots.txt"]
    assert [row[2:4] for row in found] == [(1, 0), (0, 1), (1, 0)]


def test_whether_the_log_is_complete_is_known_of_all_runs() -> None:
    """Only REP_DECISIONS = "all" records each decision; a run without a first line may be any."""
    for octets, complete in (
        (lines(run(), decision()), True),
        (lines(run(decisions="refused"), decision()), False),
        (lines(run(), decision(crawl=OTHER)), False),
    ):
        with closing(tallied(octets)) as tally:
            assert tally.totals["is_complete"] is complete


@rows_of("octets", [b"", b"noise\n" * 5, lines(run(schema=2))])
def test_a_file_without_a_line_of_a_log_is_not_one(octets: bytes) -> None:
    """It says so."""
    with closing(Tally()) as tally:
        assert not tally.add(io.BytesIO(octets))


def test_a_file_that_begins_with_noise_is_given_up_soon() -> None:
    """A video takes no time."""
    stream = io.BytesIO(b"noise\n" * 1_000_000)
    with closing(Tally()) as tally:
        assert not tally.add(stream)
    assert stream.tell() < 100_000


@pytest.mark.slow
def test_figures_are_exact_and_memory_does_not_grow_with_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many sites, rules, runs and overrides there are."""
    monkeypatch.setattr("scrapy_rep.records.tally._BATCH", 500)
    peaks = []
    for count in (2_000, 6_000):
        octets = b"".join(
            lines(
                overridden(number, f"https://b{number}.example", override=f"no {number}")
                if number % 2
                else refusal(number, f"https://a{number}.example", f"Disallow: /{number}")
            )
            for number in range(count)
        )
        stream = io.BytesIO(octets)
        tracemalloc.start()
        with closing(Tally()) as tally:
            tally.add(stream)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            tally.end()
            totals = tally.totals
        assert (totals["decisions"], totals["sites"]) == (count, count)
        assert (totals["refused"], totals["overridden"]) == (count // 2, count // 2)
    assert peaks[1] < 1.5 * peaks[0]


@given(st.sampled_from(["1970", "1999", "2026", "9999"]), st.integers(1, 5_000))
def test_a_course_has_few_intervals_and_every_decision(year: str, seconds: int) -> None:
    """Whatever the times are."""
    values = [decision(seconds * number) for number in range(20)]
    values.append({**decision(), "time": f"{year}-01-01T00:00:00.000Z"})
    for tally in of(*values):
        course = tally.course()
        assert len(course) <= 60
        assert sum(map(sum, course)) == 21
