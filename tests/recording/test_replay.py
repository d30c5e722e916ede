"""What a replay makes of single lines, without a crawl."""

from __future__ import annotations

import json

import pytest

from scrapy_rep.protocol.authority import authority_of
from scrapy_rep.protocol.verdict import ROBOTS_TXT_ITSELF, Verdict
from scrapy_rep.recording.decisions import Basis, Decided, Encoder
from scrapy_rep.recording.recorded_run import RecordedRun
from scrapy_rep.recording.replay import Finding, Replay
from scrapy_rep.recording.warc_reader import ArchiveIndex
from tests.reporting.samples import CRAWL, run


@pytest.mark.parametrize("urls", ["full", "path", "hash"])
@pytest.mark.parametrize(
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
        assert replay.decide(line, of_run).finding is Finding.AGREES
        other = replay.decide({**line, "allowed": False}, of_run)
        assert other.finding is Finding.DIFFERS
