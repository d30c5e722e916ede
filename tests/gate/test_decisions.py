"""What listeners are told of decisions, and what it costs if there are none."""

from __future__ import annotations

import time
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.test import get_crawler

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.requested_pace import RequestedPace
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.account import Account
from scrapy_rep.gate.judge import Judgement
from scrapy_rep.gate.overrides import AppliedOverrides, PaceToKeep
from scrapy_rep.gate.page_url import Asked
from scrapy_rep.gate.use import UseOfPages, noted_for
from scrapy_rep.robotstxt.verdict import UNDEFINED
from scrapy_rep.settings import RepSettings
from scrapy_rep.signals import RobotsDecision, SignalSender, robots_decided
from scrapy_rep.stats import RepStats
from tests.scripted import rules_of

URL = "http://a.example/a"
HERE = Authority("http", "a.example", 80)
ASKED = Asked(Request(URL), URL, HERE, ("mybot",))


class Told:
    """The account of a crawl with some rules, and what a listener is told of them."""

    def __init__(self, rules: bytes = b"User-agent: *\nDisallow: /private\n") -> None:
        self.rules = rules_of(rules, time.time())
        self.crawler = get_crawler()
        self.weighed = 0
        overrides = AppliedOverrides((), RepStats(), RepSettings().pace_policy, time.time)
        told = lambda _: ASKED.agent, self._weigh, lambda _, page: page
        self.account = Account(RepStats(), overrides, SignalSender(self.crawler), *told)
        self.heard: list[RobotsDecision] = []

    def _weigh(self, *_: Any) -> None:
        self.weighed += 1

    def listen(self) -> None:
        """Hear of each decision from now on."""
        self.crawler.signals.connect(self._hear, signal=robots_decided)

    def _hear(self, decision: RobotsDecision) -> None:
        self.heard.append(decision)


def test_nothing_is_asked_if_nothing_listens() -> None:
    """No verdict, no digest, no preferences."""
    told = Told()
    told.account.passed(ASKED, told.rules, Judgement())
    assert told.rules.verdicts == 0
    told.listen()
    told.account.passed(ASKED, told.rules, Judgement())
    assert told.rules.verdicts == 1


def test_rules_that_grow_with_verdicts_are_measured() -> None:
    """Not each time, because that takes a while."""
    told = Told()
    told.listen()
    for _ in range(256):
        told.account.passed(ASKED, told.rules, Judgement())
    assert told.weighed == 2


@pytest.mark.parametrize("what", ["passed", "passed_without_rules", "bypassed"])
def test_a_listener_may_refuse_what_goes_on(what: str) -> None:
    """By an ``IgnoreRequest``; another error is logged, and does not refuse."""
    told = Told()
    arguments: dict[str, tuple[Any, ...]] = {
        "passed": (ASKED, told.rules, Judgement()),
        "passed_without_rules": (ASKED,),
        "bypassed": (ASKED.request,),
    }
    error: Exception = ArithmeticError("a fault of the listener")

    def refuse() -> None:
        raise error

    told.crawler.signals.connect(refuse, signal=robots_decided)
    tell = getattr(told.account, what)
    tell(*arguments[what])
    error = IgnoreRequest("not today")
    with pytest.raises(IgnoreRequest, match="not today"):
        tell(*arguments[what])


def test_another_error_is_no_decision() -> None:
    """What is not a refusal ends a request, too."""
    told = Told()
    told.listen()
    told.account.ended(ASKED.request, IgnoreRequest("by another component"))
    assert told.heard == []


def test_a_refusal_rests_on_the_rules_that_it_was_judged_by() -> None:
    """Memory may hold others by then. What the crawler itself refuses rests on none."""
    told = Told()
    told.listen()
    for error in (RobotsForbidden(UNDEFINED, HERE), RobotsUnreachable(HERE, "error")):
        told.account.refused(ASKED, told.rules, Judgement(error), error)
        told.account.ended(ASKED.request, error)
        told.account.ended(ASKED.request, error)
    assert [each.rules is told.rules.in_force for each in told.heard] == [True, False, True, False]
    assert told.heard[1].rules.outcome == "unknown"


def test_listeners_are_heard_of_if_scrapy_hides_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """If they cannot be counted, a signal is sent in any case."""
    nothing = SimpleNamespace(getReceivers=lambda *_: [])
    monkeypatch.setattr("scrapy_rep.signals.dispatcher", nothing)
    told = Told()
    told.listen()
    told.account.passed(ASKED, told.rules, Judgement())
    assert len(told.heard) == 1


def test_what_was_said_about_the_use_of_a_page_is_forgotten_when_new_rules_say_nothing() -> None:
    """A request may be judged again when its turn has come."""
    told = Told(b"User-agent: *\nContent-Usage: train-ai=n\n")
    request = Request(URL)
    asked = ASKED._replace(request=request)
    use = UseOfPages(RepSettings())
    told.account.passed(asked, told.rules, Judgement(noted=use.noted(asked, told.rules)))
    assert noted_for(request) is not None
    told.account.passed(asked, Told().rules, Judgement())
    assert noted_for(request) is None


def test_a_decision_by_rules_has_every_field() -> None:
    """Each has a default, so nothing else names one that is not set."""
    told = Told(b"User-agent: *\nContent-Usage: search=y\nDisallow: /x\n")
    told.listen()
    pace = PaceToKeep(RequestedPace(2.0), ASKED.agent)
    told.account.passed(ASKED, told.rules, Judgement(pace=pace))
    [heard] = told.heard
    unset = {each.name for each in fields(heard) if getattr(heard, each.name) is None}
    assert unset == {"requested", "error"}
