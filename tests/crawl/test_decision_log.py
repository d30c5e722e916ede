"""The decision log of real crawls: which lines it holds, that they are true, and what it costs."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import scrapy
from scrapy import Request, signals

from scrapy_rep import RobotsTxt
from scrapy_rep.records.lines import Line
from tests.crawl.clock import DAY, Ahead
from tests.crawl.harness import gate_with, visit
from tests.crawl.middlewares import Component
from tests.crawl.plugin import NOTHING, RULES, SKIPPING, by_hand, override
from tests.crawl.result import Result
from tests.crawl.spiders import OneByOneSpider
from tests.replies import Reply
from tests.site import Site

VALIDATOR = jsonschema.Draft202012Validator(msgspec.json.schema(Line))
VALIDATOR.check_schema(VALIDATOR.schema)
FULL = Path("/dev/full")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the decisions go."""
    return tmp_path / "decisions.jsonl"


def lines(log: Path) -> list[dict[str, Any]]:
    """All lines, each valid by the schema."""
    found = [json.loads(line) for line in log.read_bytes().split(b"\n")[:-1]]
    for line in found:
        VALIDATOR.validate(line)
    return found


def decisions(log: Path) -> list[dict[str, Any]]:
    """The decisions of one run, without its first line."""
    first, *rest = lines(log)
    assert first["type"] == "run"
    assert {line["crawl"] for line in rest} <= {first["crawl"]}
    return rest


async def record(log: Path, plans: Iterable[Any], *how: Any, **named: Any) -> Result:
    """A crawl that records."""
    named |= {"REP_DECISION_LOG": str(log), "ROBOTSTXT_USER_AGENT": "mybot"}
    return await visit(plans, *how, **named)


async def test_refusals_and_the_first_decision_on_a_site_are_kept(site: Site, log: Path) -> None:
    """What was allowed later follows from the same rules."""
    open_shop, shop = site.authorities(2, RULES)
    urls = [open_shop.url("/a"), open_shop.url("/b")]
    urls += [shop.url("/private/1"), shop.url("/private/2")]
    await record(log, urls)
    found = decisions(log)
    (allowed,) = [line["url"] for line in found if line["allowed"]]
    assert allowed in urls[:2]
    assert {line["url"] for line in found if not line["allowed"]} == {*urls[2:]}
    refused = next(line for line in found if not line["allowed"])
    assert (refused["rule"], refused["line"], refused["group"]) == ("Disallow: /private", 2, "*")
    assert (refused["reason"], refused["outcome"], refused["status"]) == ("rule", "rules", 200)
    digest = hashlib.sha256(RULES.encode()).hexdigest()
    assert {line["digest"] for line in found} == {f"sha256:{digest}"}
    assert refused["agent"] == ["mybot"]
    assert refused["authority"] == f"http://{shop.host}:{shop.port}"
    assert 0 <= refused["age"] < 30
    at = datetime.fromisoformat(refused["time"][:-1] + "+00:00")
    assert timedelta() <= datetime.now(timezone.utc) - at < timedelta(minutes=1)


async def test_all_decisions_are_recorded_on_request(site: Site, log: Path) -> None:
    """As many lines as requests, and each is what the rules say; most find them in memory."""
    text = "User-agent: *\nDisallow: /x\nAllow: /x/y\nDisallow: /*.gif$\n"
    shops = site.authorities(3, text)
    paths = ["/a", "/x", "/x/y/z", "/b.gif", "/b.gif?c", "/%7E"]
    urls = [shop.url(path) for shop in shops for path in paths]
    result = await record(log, urls, OneByOneSpider, REP_DECISIONS="all")
    assert result.stats["robotstxt/cache/hit"] == len(urls) - len(shops)
    found = {line["url"]: line for line in decisions(log)}
    assert [*found] == urls
    assert {url for url in urls if found[url]["allowed"]} == set(result.downloaded)
    rules = RobotsTxt.parse(text)
    for url in urls:
        verdict = rules.verdict(url, "mybot")
        said = found[url]["allowed"], found[url]["line"], found[url]["reason"]
        assert said == (verdict.allowed, verdict.line, verdict.reason)


async def test_a_request_for_unknown_rules_is_recorded_on_request(site: Site, log: Path) -> None:
    """It is allowed by definition (RFC 9309 section 2.2.2), so its line rests on nothing."""
    shop = site.authority(RULES)
    for which, path in (("refused", "/robots.txt"), ("all", "/robots.txt#part")):
        url = shop.url(path)
        await record(log, [url], REP_DECISIONS=which, REP_DECISION_LOG_REQUIRED=True)
    _, run, line = lines(log)
    assert run["type"] == "run"
    assert (line["allowed"], line["reason"]) == (True, "robots.txt itself")
    assert (line["url"], line["authority"]) == (shop.url("/robots.txt"), shop.url(""))
    assert (line["outcome"], line["agent"]) == ("unknown", ["mybot"])
    rests_on = ("status", "cause", "digest", "record", "failure_record", "age", "rule", "delay")
    assert {line[name] for name in rests_on} == {None}


async def test_each_outcome_has_its_name(site: Site, log: Path) -> None:
    """Rules, none, refused, out of reach; and a URL without a host."""
    rules, gone = site.authority(RULES), site.authority(Reply(404))
    denied, down = site.authority(Reply(403)), site.authority(Reply(503))
    urls = [one.url("/a") for one in (rules, gone, denied, down)]
    await record(log, urls, REP_ACCESS_DENIED="disallow")
    found = {line["url"]: line for line in decisions(log)}
    outcomes = [found[url]["outcome"] for url in urls]
    assert outcomes == ["rules", "unavailable", "denied", "unreachable"]
    assert [found[url]["status"] for url in urls] == [200, 404, 403, None]
    assert [found[url]["allowed"] for url in urls] == [True, True, False, False]
    assert found[urls[3]]["cause"] == "status 503"
    assert found[urls[3]]["reason"] == "unreachable"
    assert [found[url]["digest"] is None for url in urls] == [False, True, True, True]


async def test_overrides_are_recorded_with_both_verdicts(site: Site, log: Path) -> None:
    """Each of them, and requests that do not obey."""
    shop = site.authority(NOTHING)
    entry = override(shop.url("/"), "allow", paths=["/a"])
    free = {"url": shop.url("/free"), "meta": {"dont_obey_robotstxt": True}}
    urls = [shop.url("/a/1"), shop.url("/a/2"), shop.url("/b")]
    service = site.authority(RULES)
    by_service = {"dont_obey_robotstxt": True, "robotstxt_page": shop.url("/by")}
    asked = {"url": service.url("/?key=secret"), "meta": by_service}
    await record(log, [*urls, free, asked], REP_OVERRIDES=[entry])
    found = {line["url"]: line for line in decisions(log)}
    for url in urls[:2]:
        assert found[url]["allowed"]
        assert found[url]["override"].startswith("allow, entry 1: our own site (ops")
        assert found[url]["without"]["allowed"] is False
        assert found[url]["without"]["line"] == 2
    assert (found[urls[2]]["override"], found[urls[2]]["without"]) == (None, None)
    assert not any("secret" in url for url in found)
    for path in ("/free", "/by"):
        line = found[shop.url(path)]
        assert line["authority"] == shop.url("")
        assert (line["reason"], line["override"]) == ("dont_obey_robotstxt", "without a name")


async def test_preferences_are_recorded(site: Site, log: Path) -> None:
    """What the site says of a page that was requested, and what refused one."""
    shop = site.authority("User-agent: *\nContent-Usage: train-ai=n, search=y\nAllow: /\n")
    await record(log, [shop.url("/a")])
    [line] = decisions(log)
    assert line["preferences"] == {"train-ai": "disallowed", "search": "allowed"}
    log.unlink()  # noqa: ASYNC240
    await record(log, [shop.url("/a")], **SKIPPING)
    [line] = decisions(log)
    assert (line["allowed"], line["preferences"]) == (False, {"train-ai": "disallowed"})


async def test_the_delay_that_a_site_asks_for_is_recorded(site: Site, log: Path) -> None:
    """As the group of the agent says; nothing for other agents, and for refusals."""
    text = "User-agent: mybot\nCrawl-delay: 0.25\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 9\n"
    shop, plain = site.authority(text), site.authority(RULES)
    other = {"url": plain.url("/a"), "meta": {"robotstxt_user_agent": "other"}}
    urls = [shop.url("/a"), shop.url("/x"), other]
    await record(log, urls, REP_DECISIONS="all")
    found = {line["url"]: line["delay"] for line in decisions(log)}
    assert found == {shop.url("/a"): 0.25, shop.url("/x"): None, plain.url("/a"): None}


async def test_the_first_line_of_a_run_says_what_decides(site: Site, log: Path) -> None:
    """Profile, policy, limits, agent, versions; two runs share a file, and differ in their name."""
    shop = site.authority(RULES)
    for _ in range(2):
        await record(log, [shop.url("/private")], REP_PROFILE="google", REP_MAX_TTL=3_600)
    first, _, second, _ = lines(log)
    chosen = first["settings"]
    assert (first["type"], chosen["profile"], first["agent"]) == ("run", "google", ["mybot"])
    assert chosen["max_ttl"] == 3_600
    assert first["versions"]["scrapy"] == scrapy.__version__
    assert second["type"] == "run"
    assert first["crawl"] != second["crawl"]


@pytest.mark.skipif(not FULL.exists(), reason="no full disk to be had")
@pytest.mark.parametrize(("which", "required"), [("all", False), ("all", True), ("refused", True)])
async def test_a_full_disk_is_one_error_and_what_is_lost_is_counted(
    site: Site, which: str, required: bool
) -> None:
    """The crawl goes on, unless each request has to be recorded.

    Then those that cannot be end in RobotsUnreachable, and are counted so alone.
    """
    shop = site.authority(RULES)
    free = {"url": shop.url("/free"), "meta": {"dont_obey_robotstxt": True}}
    urls = [*(shop.url(f"/{number}") for number in range(5)), free]
    settings = {"REP_DECISIONS": which, "REP_DECISION_LOG_REQUIRED": required}
    failed = "Writing the decision log failed"
    result = await record(FULL, urls, **settings, expected=[failed])
    (error,) = result.lines(failed, "ERROR")
    assert "No space left" in error
    if not required:
        assert len(result.downloaded) == 6
        assert result.stats["robotstxt/decision_log/lost"] == 7
        return
    assert not shop.page_hits
    assert len(result.unreachable) == result.stats["robotstxt/unreachable"] == 6
    others = ("allowed", "bypassed", "override/used", "cache/stale")
    assert not [name for name in others if f"robotstxt/{name}" in result.stats]


class Downloads(Component):
    """An extension that downloads a page before the crawl has started, and one when it is over."""

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)

    async def _opened(self) -> None:
        await self.crawler.engine.download_async(Request(f"{self.crawler.settings['SHOP']}/early"))

    async def _closed(self) -> None:
        with suppress(Exception):  # Scrapy does not expect that, but the page is requested
            url = f"{self.crawler.settings['SHOP']}/late"
            await self.crawler.engine.download_async(Request(url))


@pytest.mark.parametrize("order", [-1, 1])
async def test_what_is_requested_before_the_start_and_after_the_end_is_recorded(
    site: Site, log: Path, order: int
) -> None:
    """By an extension, before and behind that of the records; the line of the run comes first."""
    shop = site.authority(RULES)
    settings = {"EXTENSIONS": {Downloads: order}, "SHOP": shop.url(""), "REP_DECISIONS": "all"}
    await record(log, [shop.url("/a")], **settings)
    requested = [shop.url(hit.target) for hit in shop.page_hits]
    assert requested == [shop.url(path) for path in ("/early", "/a", "/late")]
    assert [line["url"] for line in decisions(log)] == requested


@pytest.mark.skipif(not FULL.exists(), reason="no full disk to be had")
async def test_no_request_passes_after_a_refusal_that_could_not_be_recorded(site: Site) -> None:
    """The line that was lost would have been the first one of these rules."""
    shop = site.authority(RULES)
    urls = [shop.url("/private"), shop.url("/a"), shop.url("/b")]
    how = {"REP_DECISION_LOG_REQUIRED": True, "expected": ["Writing the decision log failed"]}
    result = await record(FULL, urls, OneByOneSpider, **how)
    assert result.kinds == ["forbidden", "unreachable", "unreachable"]
    assert shop.page_hits == []


@pytest.mark.parametrize("call", ["open", "decided"])
async def test_no_request_passes_a_fault_of_a_required_log(
    site: Site, log: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Scrapy logs what a handler of a signal raises, and goes on."""

    def fail(*args: Any) -> Any:
        raise ArithmeticError("injected")

    monkeypatch.setattr(f"scrapy_rep.records.recorder.DecisionRecorder.{call}", fail)
    shop, expected = site.authority(RULES), ["Error caught on signal handler"]
    free = {"url": shop.url("/free"), "meta": {"dont_obey_robotstxt": True}}
    settings = {"REP_DECISION_LOG_REQUIRED": True, "expected": expected}
    result = await record(log, [shop.url("/a"), free], **settings)
    assert result.kinds == ["unreachable", "unreachable"]
    assert shop.page_hits == []


async def test_a_required_log_is_written_before_the_request(site: Site, log: Path) -> None:
    """When a page is served, its line is there."""
    seen: list[bool] = []

    def page(hit: Any) -> Reply:
        seen.append(hit.target in log.read_text())
        return Reply(200, "a page")

    shop = site.authority(RULES, pages=page)
    urls = [shop.url(f"/page{number}") for number in range(10)]
    result = await record(log, urls, REP_DECISIONS="all", REP_DECISION_LOG_REQUIRED=True)
    assert len(result.downloaded) == 10
    assert seen == [True] * 10


@pytest.mark.parametrize(
    ("setting", "path", "module", "said"),
    [
        ("REP_DECISION_LOG", "none/log", "", "cannot be opened: no file can be made"),
        ("REP_DECISION_LOG", "log", "msgspec", r"needs msgspec: pip install 'scrapy_rep\[evid"),
        ("REP_WARC", "none/robots.warc.gz", "", "no file can be made in"),
        ("REP_WARC", "a.warc.gz", "warcio.statusandheaders", "needs warcio: pip install 'scrapy_r"),
        ("REP_WARC", "robots.warc", "", r"must be the path of a file that ends with \.warc\.gz"),
    ],
)
def test_what_cannot_be_written_ends_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, path: str, module: str, said: str
) -> None:
    """The log or the archive: at its start, in one line, which says what to install."""
    if module:  # it is missing
        for name in ("lines", "recorder"):
            # It may not have been imported yet, which other tests of this process decide.
            monkeypatch.delitem(sys.modules, f"scrapy_rep.records.{name}", raising=False)
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=f"^{setting} = [^\n]*{said}[^\n]*$"):
        gate_with(**{setting: str(tmp_path / path)})
    assert list(tmp_path.iterdir()) == []


async def test_each_state_of_a_site_is_recorded(site: Site, log: Path, clock: Ahead) -> None:
    """Rules, the same in the last tenth of their life, the last good copy, too old a copy."""
    shop = site.authority([RULES, Reply(503)])
    tick = clock.through([0, 0.95 * DAY, 2 * DAY, 5 * DAY])
    plans = [shop.url("/private")] * 4
    await record(log, plans, OneByOneSpider, tick=tick, REP_STALE_IF_UNREACHABLE=3 * DAY)
    found = decisions(log)
    assert [line["outcome"] for line in found] == ["rules", "rules", "stale", "unreachable"]
    digest = f"sha256:{hashlib.sha256(RULES.encode()).hexdigest()}"
    assert [line["digest"] for line in found] == [digest] * 3 + [None]
    assert [line["status"] for line in found] == [200] * 3 + [None]
    assert [line["cause"] for line in found] == [None, None, "status 503", "status 503"]
    assert found[1]["age"] == pytest.approx(0.95 * DAY, abs=60)


async def test_a_fault_before_the_last_step_is_recorded_once(
    site: Site, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ``RepLastStep``, where the middleware takes the turn itself."""

    def fail(self: Any, request: Any) -> Any:
        raise ArithmeticError("injected")

    monkeypatch.setattr("scrapy_rep.frontier.turns.Turns.arrive", fail)
    shop, failed = site.authority(RULES), ["The check of a request failed", "RepLastStep"]
    result = await record(log, [shop.url("/a")], by=by_hand, expected=failed)
    assert result.unreachable == [shop.url("/a")]
    assert [line["allowed"] for line in decisions(log)].count(False) == 1
    assert shop.page_hits == []
