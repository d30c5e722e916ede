"""What a replay makes of single lines, without a crawl."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.outcome import Cause
from scrapy_rep.access.policy import Policy
from scrapy_rep.recording.decisions import Basis, Decided, Encoder
from scrapy_rep.recording.recorded_run import RecordedRun
from scrapy_rep.recording.replay import Replay, Result
from scrapy_rep.recording.warc_reader import ArchiveIndex
from scrapy_rep.robotstxt.verdict import ROBOTS_TXT_ITSELF, Verdict
from tests.reporting.samples import CRAWL, failure, run
from tests.rows import rows


@rows("urls", ["full", "path", "hash"])
@rows(
    "url",
    [
        "http://a.example/robots.txt",
        "http://a.example:80/robots.txt",
        "https://a.example:443/robots.txt",
        "https://a.example:80/robots.txt",
        "http://a.example:0080/robots.txt",
        "http://a.example./robots.txt",
        "HTTP://A.Example/robots.txt",
        "http://user:password@a.example/robots.txt#part",
        "http://bücher.example/robots.txt",
        "http://[0:0::1]/robots.txt",
    ],
)
def test_rules_are_known_however_their_url_is_written(url: str, urls: str) -> None:
    """They are always allowed (RFC 9309 section 2.2.2), so no record is needed to decide it."""
    verdict = Verdict(allowed=True, reason=ROBOTS_TXT_ITSELF)
    decided = Decided(1e9, "GET", url, authority_of(url), ("mybot",), verdict, Basis())
    line = json.loads(Encoder(CRAWL, "rfc9309", urls)(decided))
    with ArchiveIndex() as archives:
        replay, of_run = Replay(archives), RecordedRun(run(log_urls=urls))
        assert replay.decide(line, of_run).result is Result.AGREES
        other = replay.decide({**line, "allowed": False}, of_run)
        assert other.result is Result.DIFFERS


POLICY = [one.name for one in fields(Policy)]
OTHERS = ["86400", "x", True, None, -1, 1e400, 10**400, [], ["x", "y"], [60.0], {}]
"""What no field of the policy is."""


@pytest.mark.parametrize("name", POLICY)
def test_each_field_of_the_policy_is_checked(name: str) -> None:
    """A field that is added to ``Policy`` as well: as is its setting when a crawl starts."""
    line = run()
    assert sorted(line["policy"]) == sorted(POLICY)
    RecordedRun(line)
    missing = {key: value for key, value in line["policy"].items() if key != name}
    for policy in [missing, *({**missing, name: bad} for bad in OTHERS)]:
        with pytest.raises(ValueError, match=f"^its policy has no usable {name}: "):
            RecordedRun({**line, "policy": policy})


@pytest.mark.parametrize("name", [*POLICY, "timeout", "max_crawl_delay", "profile", "log_urls"])
def test_each_setting_of_a_run_is_the_recorded_one(name: str) -> None:
    """Not the default of this version."""
    values: dict[str, Any] = {
        "max_ttl": 61.0,
        "unreachable_ttl": (1.5, 7.0),
        "stale_if_unreachable": 3.0,
        "access_denied": "disallow",
        "max_size": 600_000,
        "max_redirects": 9,
        "timeout": 3.5,
        "max_crawl_delay": 7.0,
        "profile": "1996",
        "log_urls": "path",
    }
    line, said = run(), json.loads(json.dumps(values[name]))
    changed = {"policy": {**line["policy"], name: said}} if name in POLICY else {name: said}
    assert getattr(RecordedRun({**line, **changed}).settings, name) == values[name]


def test_a_field_of_a_later_policy_is_not_passed_over() -> None:
    """A decision may depend on it."""
    line = run()
    with pytest.raises(ValueError, match="has a field that this version does not know: 'more"):
        RecordedRun({**line, "policy": {**line["policy"], "more\x1b": 1}})


@pytest.mark.parametrize("cause", Cause)
def test_only_a_failure_without_a_fetch_needs_no_record(cause: Cause) -> None:
    """Of every other one, what another component dropped as well, an archive has a record."""
    line = failure(cause=str(cause))
    with ArchiveIndex() as archives:
        found = Replay(archives).decide(line, RecordedRun(run()))
    if cause in (Cause.ERROR, Cause.CLOSING):
        assert found.result is Result.ELSEWHERE
        assert found.why == f"the crawler failed: {cause}"
    else:
        assert found.result is Result.UNKNOWN
        assert "is in no archive" in found.why
