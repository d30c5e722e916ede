"""Exceptions for single sites in real crawls: each action, the stats, the log, both verdicts."""

from __future__ import annotations

import json
import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep import RobotsForbidden, Verdict
from scrapy_rep.gate.overrides import AppliedOverrides
from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.pacing import gaps
from tests.crawl.plugin import NOTHING, RULES, by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import OneByOneSpider
from tests.crawl.test_explain import AskingSpider
from tests.proxy import Proxy
from tests.replies import Hang, Reply
from tests.site import Authority, Site

USED = "robotstxt/override/used"
EXPIRED = "robotstxt/override/expired"
UNUSED = "robotstxt/override/unused"


def today() -> date:
    """The day that it is, UTC."""
    return datetime.now(timezone.utc).date()


def entry(shop: Authority, action: str, **more: Any) -> dict[str, Any]:
    """An override that ends next month."""
    until = (today() + timedelta(days=30)).isoformat()
    common = {"reason": "our own site", "by": "ops@example.org", "until": until}
    return {"authority": shop.url("/"), "action": action, **common, **more}


async def crawl_with(entries: list[dict[str, Any]], urls: list[Any], **settings: Any) -> Result:
    """A crawl with those overrides."""
    settings = obey(REP_OVERRIDES=entries, ROBOTSTXT_USER_AGENT="mybot", **settings)
    return await crawl(settings=settings, plans=urls)


def verdict_of(result: Result, url: str) -> Verdict:
    """The verdict that a request was forbidden with."""
    problem = result.problem(url)
    assert isinstance(problem.exception, RobotsForbidden)
    return problem.exception.verdict


@ensureDeferred
async def test_allow_lets_through_what_the_site_forbids(site: Site) -> None:
    """Where its paths say so, and nowhere else; each request is counted."""
    shop, other = site.authorities(2, NOTHING)
    urls = [shop.url("/reports/1"), shop.url("/reports/2"), shop.url("/x"), other.url("/reports/1")]
    result = (await crawl_with([entry(shop, "allow", paths=["/reports/"])], urls)).check()
    assert set(result.downloaded) == set(urls[:2])
    assert set(result.forbidden) == set(urls[2:])
    assert result.stats[USED] == 2
    assert UNUSED not in result.stats
    (line, _) = result.lines("^Allowed by override", "DEBUG")
    assert "without it: forbidden, Disallow: /, line 2, group *" in line
    assert "our own site (ops@example.org, until" in line


@ensureDeferred
async def test_forbid_keeps_out_what_the_site_allows(site: Site) -> None:
    """The exception carries both verdicts. The rules, which allow the page, are in memory."""
    shop = site.authority(RULES)
    urls = [shop.url("/a"), shop.url("/b")]
    settings = obey(REP_OVERRIDES=[entry(shop, "forbid", paths=["/b"])])
    result = (await crawl(OneByOneSpider, settings, plans=urls)).check()
    assert (result.downloaded, result.forbidden) == (urls[:1], urls[1:])
    assert result.stats["robotstxt/cache/hit"] == 1
    verdict = verdict_of(result, urls[1])
    assert verdict.override is not None
    assert verdict.override.startswith("forbid, entry 1")
    assert verdict.without is not None
    assert verdict.without.allowed
    assert result.stats[USED] == result.stats["robotstxt/forbidden"] == 1
    assert result.lines("^Forbidden by override.*without it: allowed, no rule matches", "DEBUG")
    problem = result.problem(urls[1])
    assert problem.text.startswith("Forbidden by override: forbid, entry 1")


@ensureDeferred
async def test_unreachable_is_allowed_where_it_is_said(site: Site) -> None:
    """RFC 9309 section 2.3.1.4 holds for every other site."""
    answers = [Reply(503), Reply(429), Hang()]
    broken = [site.authority(robots) for robots in answers]
    others = [site.authority(robots) for robots in answers]
    urls = [shop.url(path) for path in ("/a", "/b") for shop in broken]
    urls += [shop.url("/a") for shop in others]
    entries = [entry(shop, "unreachable-is-allowed", paths=["/a"]) for shop in broken]
    result = (await crawl_with(entries, urls, REP_TIMEOUT=0.4)).check()
    assert (result.downloaded, result.unreachable) == (urls[:3], urls[3:])
    assert result.stats[USED] == 3
    for except_by, shops in ((", except by override", broken), ("", others)):
        said = result.lines(f"nothing is requested from it{except_by}; ", "WARNING")
        assert len(said) == 3
        assert all(any(shop.url("") in line for line in said) for shop in shops)


@ensureDeferred
async def test_no_override_lifts_what_is_said_about_use(site: Site) -> None:
    """A statement counts for a path that the robots.txt disallows and an override allows."""
    entries, urls = [], []
    for action, more in (("allow", {}), ("agent", {"agent": "partnerbot"})):
        for path in ("/", "/elsewhere"):
            lines = ["User-agent: *", "Content-Usage: train-ai=n", f"Disallow: {path}"]
            shop = site.authority("\n".join([*lines, "", "User-agent: partnerbot", "Allow: /", ""]))
            entries.append(entry(shop, action, **more))
            urls.append(shop.url("/a"))
    settings = {"REP_PREFERENCES": "skip", "REP_PURPOSES": ["train-ai"]}
    result = (await crawl_with(entries, urls, **settings)).check()
    assert result.forbidden == urls
    for url in urls:
        assert "Content-Usage disallows train-ai" in result.problem(url).text


class Breaking:
    """A middleware that drops each robots.txt."""

    def process_request(self, request: Any) -> None:
        """No component may be trusted."""
        if request.url.endswith("/robots.txt"):
            raise ArithmeticError("a fault on this side")


@ensureDeferred
async def test_unreachable_is_allowed_is_not_for_failures_of_the_crawler(site: Site) -> None:
    """A fault of another component says nothing about the site."""
    shop = site.authority(RULES)
    settings = obey(
        REP_OVERRIDES=[entry(shop, "unreachable-is-allowed")],
        DOWNLOADER_MIDDLEWARES={Breaking: 200},
    )
    result = (await crawl(settings=settings, plans=[shop.url("/a")])).check()
    assert result.unreachable == [shop.url("/a")]


@pytest.mark.parametrize("answer", [Reply(407), None], ids=["407", "dead"])
@ensureDeferred
async def test_unreachable_is_allowed_is_not_for_failures_of_a_proxy(
    site: Site, tmp_path: Path, answer: Any
) -> None:
    """A proxy that asks for a password, or is gone, says nothing about the site."""
    proxy = Proxy(site)
    shop = proxy.authority("http://shop.example", answer)
    url = shop.url("/a")
    address = proxy.url if answer is not None else site.refusing().url("")
    settings = obey(
        REP_OVERRIDES=[entry(shop, "unreachable-is-allowed")],
        REP_DECISION_LOG=str(tmp_path / "log"),
    )
    plans = [{"url": url, "meta": {"proxy": address}}]
    result = (await crawl(settings=settings, plans=plans)).check()
    assert result.unreachable == [url]
    assert shop.page_hits == []
    line = json.loads((tmp_path / "log").read_bytes().splitlines()[-1])
    assert (line["reason"], line["override"]) == ("unreachable", None)


@ensureDeferred
async def test_agent_follows_another_group(site: Site) -> None:
    """Of one site alone; the requests go out as before."""
    text = "User-agent: *\nDisallow: /\n\nUser-agent: partner\nDisallow: /b\n"
    shop, other = site.authorities(2, text)
    urls = [shop.url("/a"), shop.url("/b"), other.url("/a")]
    result = (await crawl_with([entry(shop, "agent", agent="partner")], urls)).check()
    assert result.downloaded == urls[:1]
    assert set(result.forbidden) == set(urls[1:])


@ensureDeferred
async def test_delay_is_kept_where_the_site_asks_for_none(site: Site) -> None:
    """And ``REP_MAX_CRAWL_DELAY`` does not cut what the operator has set."""
    shop = site.authority(RULES)
    urls = [shop.url(f"/{number}") for number in range(3)]
    entries = [entry(shop, "delay", delay=0.4)]
    result = (await crawl_with(entries, urls, REP_MAX_CRAWL_DELAY=0.1)).check()
    assert len(result.downloaded) == 3
    assert min(gaps(shop)) >= 0.4
    assert result.stats[USED] == 3
    assert "robotstxt/crawl_delay/capped" not in result.stats


@pytest.mark.parametrize("limit", ["cap", "forbid"])
@ensureDeferred
async def test_delay_replaces_what_the_site_asks_for(site: Site, limit: str) -> None:
    """A Crawl-delay of an hour and a Request-rate."""
    shop = site.authority("User-agent: *\nCrawl-delay: 3600\nRequest-rate: 1/2h\nDisallow: /x\n")
    urls = [shop.url(f"/{number}") for number in range(4)]
    override = entry(shop, "delay", delay=0)
    result = (await crawl_with([override], urls, REP_OVER_MAX_CRAWL_DELAY=limit)).check()
    assert len(result.downloaded) == 4
    assert result.stats[USED] == 4


@ensureDeferred
async def test_delay_of_a_path_is_kept(site: Site) -> None:
    """Also if a page of another path of the host comes in between."""
    shop = site.authority(RULES)
    urls = [shop.url(path) for path in ("/slow/1", "/x", "/slow/2", "/y")]
    entries = [entry(shop, "delay", delay=0.3, paths=["/slow"])]
    result = (await crawl_with(entries, urls)).check()
    assert len(result.downloaded) == 4
    slow = [hit for hit in shop.page_hits if hit.path.startswith("/slow")]
    first, second = sorted(slow, key=lambda hit: hit.received)
    assert first.sent is not None
    assert second.received - first.sent >= 0.29
    assert result.stats[USED] == 2


@ensureDeferred
async def test_agent_has_the_pace_of_its_group(site: Site) -> None:
    """A pace alone is a use, too."""
    text = "User-agent: *\nDisallow:\n\nUser-agent: slow\nCrawl-delay: 0.3\nDisallow:\n"
    shop = site.authority(text)
    urls = [shop.url(f"/{number}") for number in range(3)]
    result = (await crawl_with([entry(shop, "agent", agent="slow")], urls)).check()
    assert min(gaps(shop)) >= 0.3
    assert result.stats[USED] == 3


@ensureDeferred
@pytest.mark.parametrize("agent", ["slow", "other"])
async def test_an_override_whose_pace_refuses_a_request_is_of_use(site: Site, agent: str) -> None:
    """It is not reported as one that changed nothing, unless the rules ask for the same pace."""
    slow = "User-agent: slow\nCrawl-delay: 1000\n"
    shop = site.authority(f"{slow}\nUser-agent: *\nCrawl-delay: 0.01\n")
    override = entry(shop, "agent", agent=agent)
    result = await crawl_with([override], [shop.url("/")], REP_OVER_MAX_CRAWL_DELAY="forbid")
    if agent == "other":
        assert (result.stats.get(USED), result.stats[UNUSED]) == (None, 1)
    else:
        assert verdict_of(result, shop.url("/")).reason.startswith("asks for 1,000 s")
        assert (result.stats[USED], result.stats.get(UNUSED)) == (1, None)


@ensureDeferred
async def test_expired_overrides_are_named_and_not_applied(site: Site) -> None:
    """Once, at the start; an unused one at the close."""
    shop = site.authority(NOTHING)
    yesterday = (today() - timedelta(days=1)).isoformat()
    entries = [entry(shop, "allow", until=yesterday), entry(shop, "delay", delay=0, paths=["/q"])]
    result = (await crawl_with(entries, [shop.url("/a"), shop.url("/b")])).check()
    assert len(result.forbidden) == 2
    assert (result.stats[EXPIRED], result.stats[UNUSED]) == (1, 1)
    assert USED not in result.stats
    (warning,) = result.lines("An override has expired", "WARNING")
    assert f"http://{shop.host}:{shop.port}, allow, entry 1: our own site" in warning
    assert yesterday in warning
    (unused,) = result.lines("An override changed nothing", "INFO")
    assert "delay, entry 2" in unused


@ensureDeferred
async def test_an_override_that_expires_during_the_crawl_ends(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its last day, and it is named at the close."""
    shop = site.authority(NOTHING)
    applied = AppliedOverrides.__init__

    def clock() -> float:
        return time.time() + (86_400 if len(shop.page_hits) >= 2 else 0)

    def with_clock(self: Any, overrides: Any, stats: Any, read_pace: Any, _: Any) -> None:
        applied(self, overrides, stats, read_pace, clock)

    monkeypatch.setattr(AppliedOverrides, "__init__", with_clock)
    urls = [shop.url(f"/{number}") for number in range(6)]
    entries = [entry(shop, "allow", until=today().isoformat())]
    result = (await crawl_with(entries, urls, CONCURRENT_REQUESTS=1)).check()
    assert result.downloaded
    assert result.forbidden
    assert result.stats[EXPIRED] == 1
    assert UNUSED not in result.stats


@ensureDeferred
async def test_overrides_are_for_the_page_that_a_service_renders(site: Site) -> None:
    """``robotstxt_page`` names the authority."""
    shop, service = site.authorities(2, NOTHING)
    plan = {"url": service.url("/render"), "meta": {"robotstxt_page": shop.url("/a")}}
    result = (await crawl_with([entry(shop, "allow")], [plan])).check()
    assert result.downloaded == [service.url("/render")]


@ensureDeferred
async def test_a_redirect_meets_the_overrides_of_its_target(site: Site) -> None:
    """Each hop is a request of its own."""
    target = site.authority(NOTHING)
    shop = site.authority(RULES, pages=Reply(302, headers={"Location": target.url("/t")}))
    entries = [entry(shop, "allow")]
    result = (await crawl_with(entries, [shop.url("/private")])).check()
    assert result.forbidden == [shop.url("/private")]
    assert not target.page_hits
    result = (await crawl_with([*entries, entry(target, "allow")], [shop.url("/private")])).check()
    assert result.downloaded == [shop.url("/private")]
    assert result.stats[USED] == 2


@ensureDeferred
async def test_explain_shows_both_verdicts(site: Site) -> None:
    """And counts no use: nothing is requested."""
    shop, other = site.authorities(2, NOTHING)
    settings = obey(REP_OVERRIDES=[entry(shop, "allow", paths=["/a"])])
    urls = [shop.url("/a"), shop.url("/b"), other.url("/a"), shop.url("/robots.txt")]
    result = (await crawl(AskingSpider, settings, questions=[(url, None) for url in urls])).check()
    overridden, plain, elsewhere, itself = result.crawler.spider.answers
    assert overridden.allowed
    assert overridden.without.line == 2
    assert "ops@example.org" in overridden.override
    assert (plain.allowed, plain.override, plain.line) == (False, None, 2)
    assert not elsewhere.allowed
    assert itself.allowed
    assert USED not in result.stats


@ensureDeferred
async def test_forbid_does_not_forbid_the_robots_txt(site: Site) -> None:
    """RFC 9309 section 2.2.2: it is allowed by definition, before and after it is known."""
    shop = site.authority(RULES)
    plans = [shop.url("/robots.txt"), shop.url("/a"), shop.url("/robots.txt?again")]
    result = (await crawl_with([entry(shop, "forbid", paths=["/a", "/robots.txt"])], plans)).check()
    assert shop.url("/robots.txt") in result.downloaded
    assert shop.url("/a") in result.forbidden


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_overrides_work_under_every_reactor(site: Site, tmp_path: Path, mode: str) -> None:
    """The middleware by hand, and a file."""
    shop = site.authority(NOTHING)
    toml = tmp_path / "overrides.toml"
    toml.write_text(
        f'[[override]]\nauthority = "{shop.url("/")}"\naction = "allow"\npaths = ["/a"]\n'
        f'reason = "ours"\nby = "us"\nuntil = {today()}\n'
    )
    settings = by_hand(REP_OVERRIDES=str(toml))
    plans = [shop.url("/a"), shop.url("/b")]
    result = (await crawl_under(mode, settings=settings, plans=plans)).check()
    assert result.downloaded == plans[:1]
    assert result.forbidden == plans[1:]


@ensureDeferred
async def test_hostile_text_in_an_override_stays_in_its_line(site: Site) -> None:
    """Control characters and length: a reason cannot make a line of its own."""
    shop = site.authority(NOTHING)
    reason = "a\x1b[31m\u2028b" + "c" * 5_000
    entries = [entry(shop, "allow", reason=reason), entry(shop, "forbid", paths=["/z"])]
    result = (await crawl_with(entries, [shop.url("/a")])).check()
    for line in result.lines("(by|An) override"):
        assert line.isprintable()
        assert len(line) < 1_000
