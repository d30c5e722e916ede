"""One line of the decision log: whatever is in it, it is one object of JSON with these values."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.test import get_crawler

from scrapy_rep import RobotsTxt, Rule, Verdict
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.access.in_force import RulesInForce
from scrapy_rep.access.outcome import Cause
from scrapy_rep.access.policy import Policy, standing
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.account import Account
from scrapy_rep.gate.judge import Judgement
from scrapy_rep.gate.overrides import AppliedOverrides
from scrapy_rep.gate.page_url import Asked
from scrapy_rep.records.lines import DecisionLine, LoggedVerdict, encoded
from scrapy_rep.records.recorder import DecisionRecorder, Run
from scrapy_rep.settings import RepSettings
from scrapy_rep.signals import RobotsDecision, SignalSender, robots_decided
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.stats import RepStats

TEXT = st.text(st.characters(exclude_categories=()), max_size=50)
SITE = authority_of("http://a.example/")
RUN = Run("0" * 32)
NOW = datetime.now(timezone.utc)


def lines_in(folder: Path) -> list[dict[str, Any]]:
    """The lines of the log in a folder, after that of the run."""
    octets = (folder / "log").read_bytes()
    assert octets.isascii()
    assert all(line.decode().isprintable() for line in octets.split(b"\n"))
    return [json.loads(line) for line in octets.splitlines()]


@given(TEXT, TEXT, TEXT, TEXT, TEXT)
def test_any_text_comes_back_as_it_was(
    url: str, rule: str, group: str, reason: str, method: str
) -> None:
    """Quotes, control characters, separators of lines, halves of surrogate pairs."""
    without = LoggedVerdict(False, rule, 3, group, reason)
    line = DecisionLine(
        "0" * 32, NOW, url, method, url, None, (group,), False, rule, 3, group, reason,
        "unknown", None, reason, None, None, None, None, None, {"tdm": reason}, reason, without,
    )  # fmt: skip
    octets = encoded(line)
    assert octets.isascii()
    assert octets[:-1].decode().isprintable()
    assert octets.endswith(b"\n")
    found = json.loads(octets)
    assert found["rule"] == found["without"]["rule"] == rule
    assert (found["group"], found["reason"], found["override"]) == (group, reason, reason)
    assert (found["method"], found["preferences"]) == (method, {"tdm": reason})


def test_every_field_of_a_line_is_written(tmp_path: Path) -> None:
    """Also one that was added later, which has a default so that older logs can be read."""
    rule = Rule(allow=True, pattern="/b", line=2)
    verdict = Verdict(True, rule, 2, "mybot", override="allow", without=Verdict(False))
    since = time.time() - 5.0
    rules = RulesInForce("stale", since, 200, "status 503", b"Allow: /b", "urn:1", "urn:2")
    request = Request("http://a.example/a")
    crawl = Recorded(tmp_path / "log", decisions="all")
    crawl.recorder.decided(
        RobotsDecision(
            request, "http://a.example/b", SITE, ("mybot",), verdict, rules,
            requested=request.url, delay=2.0, preferences={"search": "allowed"},
        )
    )  # fmt: skip
    crawl.recorder.close()
    [line] = lines_in(tmp_path)
    unset = [name for name in DecisionLine.__struct_fields__ if not line[name]]
    assert unset == []


@pytest.mark.parametrize(
    ("url", "full", "path"),
    [
        ("http://u:p@a/b?c#d", "http://a/b?c", "http://a/b"),
        ("http://u:p@a?c@d", "http://a?c@d", "http://a"),
        ("http://a/b@c?d", "http://a/b@c?d", "http://a/b@c"),
        ("http://a#u:p@b", "http://a", "http://a"),
        ("data:,x", "data:,x", "data:,x"),
    ],
)
def test_secrets_are_left_out(tmp_path: Path, url: str, full: str, path: str) -> None:
    """User information and fragment always, the query where it is not wanted."""
    digest = f"sha256:{hashlib.sha256(full.encode()).hexdigest()}"
    for name, shown in (("full", full), ("path", path), ("hash", digest)):
        (tmp_path / name).mkdir()
        crawl = Recorded(tmp_path / name / "log", log_urls=name)
        error = RobotsForbidden(Verdict(False, reason="nofollow"), SITE)
        crawl.account.ended(Request("http://a/"), error, final_url=url)
        crawl.recorder.close()
        assert [line["url"] for line in lines_in(tmp_path / name)] == [shown]


def test_a_failure_of_the_crawler_does_not_rest_on_that_of_the_site(tmp_path: Path) -> None:
    """A site is known to be unreachable, and the crawl ends while it is asked again."""
    now = time.time()
    entry = Entry(failure=Failure(now, now, cause="status 503"))
    known = CachedRules(entry, standing(entry, now, Policy()), None, now)
    crawl = Recorded(tmp_path / "log")
    request = Request("http://a.example/a")
    for cause in ("status 503", Cause.CLOSING, Cause.TIMEOUT):
        error = RobotsUnreachable(SITE, cause)
        if cause == "status 503":
            asked = Asked(request, request.url, SITE, ("mybot",))
            crawl.account.refused(asked, known, Judgement(error), error)
        crawl.account.ended(request, error)
    crawl.recorder.close()
    found = lines_in(tmp_path)
    assert [(line["outcome"], line["cause"], line["age"] is None) for line in found] == [
        ("unreachable", "status 503", False),
        ("unknown", "crawl closing", True),
        ("unknown", "timeout", True),
    ]


class Recorded:
    """The decisions of a crawl, and what records them."""

    def __init__(self, path: Path, **more: Any) -> None:
        settings = replace(RepSettings(), decision_log=str(path), **more)
        self.crawler = get_crawler()
        self.recorder = DecisionRecorder(settings, RepStats(self.crawler.stats), time.time, RUN)
        self.crawler.signals.connect(self.recorder.decided, signal=robots_decided)
        stats = RepStats()
        self.account = Account(
            stats, AppliedOverrides((), stats, settings.pace_policy, time.time),
            SignalSender(self.crawler), lambda _: ("mybot",), lambda *_: None,
            lambda _, page: page,
        )  # fmt: skip


def rules_of_usual_size() -> CachedRules:
    """What was fetched just now."""
    rules = "".join(f"Disallow: /private{number}/\n" for number in range(20))
    body = f"User-agent: *\n{rules}Disallow: /*.gif$\n".encode()
    now = time.time()
    entry = Entry(Answer(200, body, fetched_at=now))
    return CachedRules(entry, standing(entry, now, Policy()), RobotsTxt.parse(body), now)


@pytest.mark.parametrize(
    "error",
    [
        RobotsForbidden(Verdict(False, reason="nofollow (meta)"), SITE, by="page directive"),
        RobotsForbidden(Verdict(False, reason="nofollow"), SITE, by="page directive"),
        RobotsUnreachable(SITE, Cause.CLOSING),
        RobotsUnreachable(SITE, Cause.ERROR),
    ],
    ids=lambda error: f"{error.verdict.reason} {getattr(error, 'cause', '')}",
)
def test_what_the_rules_did_not_refuse_does_not_rest_on_them(
    tmp_path: Path, error: RobotsForbidden | RobotsUnreachable
) -> None:
    """Its line says nothing of them, and their first decision is recorded after it."""
    rules = rules_of_usual_size()
    crawl = Recorded(tmp_path / "log")
    request = Request("http://a.example/a")
    crawl.account.ended(request, error)
    asked = Asked(request, request.url, SITE, ("mybot",))
    for _ in range(2):
        crawl.account.passed(asked, rules, Judgement())
    crawl.recorder.close()
    refused, first = lines_in(tmp_path)
    rests_on = ("status", "digest", "record", "failure_record", "age")
    assert refused["outcome"] == "unknown"
    assert {refused[name] for name in rests_on} == {None}
    assert (refused["authority"], refused["reason"]) == (str(SITE), error.verdict.reason)
    assert (first["allowed"], first["outcome"], first["status"]) == (True, "rules", 200)
