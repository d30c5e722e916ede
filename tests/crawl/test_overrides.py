"""Exceptions for single sites in real crawls: each action, the stats, the log, both verdicts."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep import RobotsForbidden, Verdict
from tests.crawl.clock import DAY, Ahead
from tests.crawl.harness import visit
from tests.crawl.pacing import gaps
from tests.crawl.plugin import NOTHING, RULES, SKIPPING, by_hand, override
from tests.crawl.result import Result
from tests.crawl.spiders import OneByOneSpider
from tests.crawl.test_explain import ask
from tests.proxy import Proxy
from tests.replies import Hang, Reply, html
from tests.site import Authority, Hit, Site

USED = "robotstxt/override/used"
EXPIRED = "robotstxt/override/expired"
UNUSED = "robotstxt/override/unused"


def today() -> date:
    """The day that it is, UTC."""
    return datetime.now(timezone.utc).date()


def entry(shop: Authority, action: str, **more: Any) -> dict[str, Any]:
    """An override for an authority."""
    return override(shop.url("/"), action, **more)


async def crawl_with(entries: list[dict[str, Any]], urls: list[Any], **settings: Any) -> Result:
    """A crawl with those overrides."""
    return await visit(urls, REP_OVERRIDES=entries, ROBOTSTXT_USER_AGENT="mybot", **settings)


def verdict_of(result: Result, url: str) -> Verdict:
    """The verdict that a request was forbidden with."""
    problem = result.problem(url)
    assert isinstance(problem.exception, RobotsForbidden)
    return problem.exception.verdict


async def test_overrides_are_for_their_own_paths_and_authorities(site: Site) -> None:
    """`allow` lets through what the site forbids, `agent` follows another of its groups.

    Both are for the page that a service renders, too. Each request is counted.
    """
    text = "User-agent: *\nDisallow: /\n\nUser-agent: partner\nDisallow: /b\n"
    shop, partner, rendered, other = site.authorities(4, text)
    entries = [
        entry(shop, "allow", paths=["/reports/"]),
        entry(partner, "agent", agent="partner"),
        entry(rendered, "allow"),
    ]
    by_service = {"url": other.url("/r"), "meta": {"robotstxt_page": rendered.url("/a")}}
    allowed = [shop.url("/reports/1"), shop.url("/reports/2"), partner.url("/a"), other.url("/r")]
    closed = [shop.url("/x"), partner.url("/b"), other.url("/reports/1"), other.url("/a")]
    result = await crawl_with(entries, [*allowed[:3], by_service, *closed])
    assert (result.downloaded, result.forbidden) == (allowed, closed)
    assert result.stats[USED] == 4
    assert UNUSED not in result.stats
    line = result.lines(f"^Allowed by override.*{allowed[0]}", "DEBUG")[0]
    assert "without it: forbidden, Disallow: /, line 2, group *" in line
    assert "our own site (ops@example.org, until" in line


async def test_forbid_keeps_out_what_the_site_allows(site: Site) -> None:
    """The exception carries both verdicts. The rules, which allow the page, are in memory.

    Their own file is allowed by definition (RFC 9309 section 2.2.2), before and after it is known.
    """
    shop = site.authority(RULES)
    urls = [shop.url(path) for path in ("/a", "/b", "/robots.txt")]
    entries = [entry(shop, "forbid", paths=["/b", "/robots.txt"])]
    result = await visit([urls[2], *urls], OneByOneSpider, REP_OVERRIDES=entries)
    assert result.kinds == ["downloaded", "downloaded", "forbidden", "downloaded"]
    assert result.stats["robotstxt/cache/hit"] == 2
    verdict: Any = verdict_of(result, urls[1])
    assert verdict.override.startswith("forbid, entry 1")
    assert verdict.without.allowed
    assert result.stats[USED] == result.stats["robotstxt/forbidden"] == 1
    assert result.lines("^Forbidden by override.*without it: allowed, no rule matches", "DEBUG")
    problem = result.problem(urls[1])
    assert problem.text.startswith("Forbidden by override: forbid, entry 1")


async def test_unreachable_is_allowed_where_it_is_said(site: Site) -> None:
    """RFC 9309 section 2.3.1.4 holds for every other site."""
    answers = [Reply(503), Reply(429), Hang()]
    broken = [site.authority(robots) for robots in answers]
    others = [site.authority(robots) for robots in answers]
    urls = [shop.url(path) for path in ("/a", "/b") for shop in broken]
    urls += [shop.url("/a") for shop in others]
    entries = [entry(shop, "unreachable-is-allowed", paths=["/a"]) for shop in broken]
    result = await crawl_with(entries, urls, REP_TIMEOUT=0.4)
    assert (result.downloaded, result.unreachable) == (urls[:3], urls[3:])
    assert result.stats[USED] == 3
    for except_by, shops in ((", except by override", broken), ("", others)):
        said = result.lines(f"nothing is requested from it{except_by}; ", "WARNING")
        assert len(said) == 3
        assert all(any(shop.url("") in line for line in said) for shop in shops)


async def test_the_log_excepts_no_site_of_which_no_override_permits_anything(site: Site) -> None:
    """Nothing is requested from these sites: the line about them names no exception."""
    expired = {"until": str(today() - timedelta(days=1))}
    others: list[tuple[str, dict[str, Any]]] = [
        ("forbid", {}),
        ("delay", {"delay": 0.0}),
        ("agent", {"agent": "partnerbot"}),
        ("allow", expired),
        ("unreachable-is-allowed", expired),
    ]
    shops = site.authorities(len(others), Reply(503))
    entries = [entry(shop, one[0], **one[1]) for shop, one in zip(shops, others, strict=True)]
    result = await crawl_with(entries, [shop.url("/a") for shop in shops])
    assert result.downloaded == []
    assert len(result.lines("nothing is requested from it; ", "WARNING")) == len(others)


async def test_no_override_lifts_what_is_said_about_use(site: Site) -> None:
    """A statement counts for a path that the robots.txt disallows and an override allows."""
    entries, urls = [], []
    for action, more in (("allow", {}), ("agent", {"agent": "partnerbot"})):
        for path in ("/", "/elsewhere"):
            lines = ["User-agent: *", "Content-Usage: train-ai=n", f"Disallow: {path}"]
            shop = site.authority("\n".join([*lines, "", "User-agent: partnerbot", "Allow: /", ""]))
            entries.append(entry(shop, action, **more))
            urls.append(shop.url("/a"))
    result = await crawl_with(entries, urls, **SKIPPING)
    assert result.forbidden == urls
    for url in urls:
        assert "Content-Usage disallows train-ai" in result.problem(url).text


@pytest.mark.parametrize("answer", [Reply(407), None], ids=["407", "dead"])
async def test_unreachable_is_allowed_is_not_for_failures_of_a_proxy(
    site: Site, tmp_path: Path, answer: Any
) -> None:
    """A proxy that asks for a password, or is gone, says nothing about the site."""
    proxy, log = Proxy(site), tmp_path / "log"
    shop = proxy.authority("http://shop.example", answer)
    address = proxy.url if answer is not None else site.refusing().url("")
    plans = [{"url": shop.url("/a"), "meta": {"proxy": address}}]
    entries = [entry(shop, "unreachable-is-allowed")]
    result = await crawl_with(entries, plans, REP_DECISION_LOG=str(log))
    assert result.unreachable == [shop.url("/a")]
    assert shop.page_hits == []
    line = json.loads(log.read_bytes().splitlines()[-1])
    assert (line["reason"], line["override"]) == ("unreachable", None)


@pytest.mark.parametrize("limit", ["cap", "forbid"])
async def test_the_pace_of_an_override_is_kept(site: Site, limit: str) -> None:
    """It takes the place of what the site asks for, and no limit is for what the operator has set.

    That of a path is kept beside pages of other paths; so is that of another agent's group, unless
    it is too long. A pace alone is a use.
    """
    asks = "User-agent: *\nCrawl-delay: 3600\nRequest-rate: 1/2h\nDisallow: /x\n"
    group = "User-agent: *\nDisallow:\n\nUser-agent: slow\nCrawl-delay: {}\nDisallow:\n"
    plain, hurried, partly = site.authority(RULES), site.authority(asks), site.authority(RULES)
    agent, far = site.authority(group.format(0.3)), site.authority(group.format(1_000))
    same = site.authority("User-agent: *\nCrawl-delay: 0.01\n")
    entries = [
        entry(plain, "delay", delay=0.4),
        entry(hurried, "delay", delay=0),
        entry(partly, "delay", delay=0.3, paths=["/slow"]),
        entry(agent, "agent", agent="slow"),
        entry(far, "agent", agent="slow"),
        entry(same, "agent", agent="other"),
    ]
    paths = ("/slow/1", "/x", "/slow/2")
    plans = [shop.url(path) for shop in (plain, hurried, partly, agent) for path in paths]
    plans += [same.url("/"), far.url("/")]
    limits = {"REP_MAX_CRAWL_DELAY": 0.35, "REP_OVER_MAX_CRAWL_DELAY": limit}
    result = await crawl_with(entries, plans, CONCURRENT_REQUESTS=32, **limits)
    refused = [far.url("/")] if limit == "forbid" else []
    assert result.forbidden == [hurried.url("/x"), *refused]
    assert len(result.downloaded) == len(plans) - len(result.forbidden)
    assert (min(gaps(plain)), min(gaps(agent))) >= (0.4, 0.3)
    slow = [hit for hit in partly.page_hits if hit.path.startswith("/slow")]
    first, second = sorted(slow, key=lambda hit: hit.received)
    assert first.sent is not None
    assert second.received - first.sent >= 0.29
    if refused:
        assert verdict_of(result, far.url("/")).reason.startswith("asks for 1,000 s")
    assert result.stats[USED] == 3 + 2 + 2 + 3 + 1
    assert result.stats[UNUSED] == 1  # the group asks for what the rules ask for


async def test_expired_overrides_are_named_and_not_applied(site: Site) -> None:
    """Once, at the start; an unused one at the close."""
    shop = site.authority(NOTHING)
    yesterday = (today() - timedelta(days=1)).isoformat()
    entries = [entry(shop, "allow", until=yesterday), entry(shop, "delay", delay=0, paths=["/q"])]
    result = await crawl_with(entries, [shop.url("/a"), shop.url("/b")])
    assert len(result.forbidden) == 2
    assert (result.stats[EXPIRED], result.stats[UNUSED]) == (1, 1)
    assert USED not in result.stats
    (warning,) = result.lines("An override has expired", "WARNING")
    assert f"http://{shop.host}:{shop.port}, allow, entry 1: our own site" in warning
    assert yesterday in warning
    (unused,) = result.lines("An override changed nothing", "INFO")
    assert "delay, entry 2" in unused


async def test_an_override_that_expires_during_the_crawl_ends(site: Site, clock: Ahead) -> None:
    """With its last day, and it is named at the close."""

    def page(_: Hit) -> Reply:
        clock.seconds = DAY if len(shop.page_hits) >= 2 else 0.0
        return html()

    shop = site.authority(NOTHING, page)
    urls = [shop.url(f"/{number}") for number in range(6)]
    entries = [entry(shop, "allow", until=today().isoformat())]
    result = await crawl_with(entries, urls, CONCURRENT_REQUESTS=1)
    assert result.downloaded
    assert result.forbidden
    assert result.stats[EXPIRED] == 1
    assert UNUSED not in result.stats


async def test_a_redirect_meets_the_overrides_of_its_target(site: Site) -> None:
    """Each hop is a request of its own."""
    target = site.authority(NOTHING)
    shop = site.authority(RULES, pages=Reply(302, headers={"Location": target.url("/t")}))
    entries = [entry(shop, "allow")]
    result = await crawl_with(entries, [shop.url("/private")])
    assert result.forbidden == [shop.url("/private")]
    assert not target.page_hits
    result = await crawl_with([*entries, entry(target, "allow")], [shop.url("/private")])
    assert result.downloaded == [shop.url("/private")]
    assert result.stats[USED] == 2


async def test_explain_shows_both_verdicts(site: Site) -> None:
    """And counts no use: nothing is requested."""
    shop, other = site.authorities(2, NOTHING)
    urls = [shop.url("/a"), shop.url("/b"), other.url("/a"), shop.url("/robots.txt")]
    entries, questions = [entry(shop, "allow", paths=["/a"])], [(url, None) for url in urls]
    result, answers = await ask(questions, REP_OVERRIDES=entries)
    overridden, plain, elsewhere, itself = answers
    assert overridden.allowed
    assert overridden.without.line == 2
    assert "ops@example.org" in overridden.override
    assert (plain.allowed, plain.override, plain.line) == (False, None, 2)
    assert not elsewhere.allowed
    assert itself.allowed
    assert USED not in result.stats


async def test_overrides_of_a_file(site: Site, tmp_path: Path) -> None:
    """And the middleware by hand."""
    shop = site.authority(NOTHING)
    toml = tmp_path / "overrides.toml"
    toml.write_text(
        f'[[override]]\nauthority = "{shop.url("/")}"\naction = "allow"\npaths = ["/a"]\n'
        f'reason = "ours"\nby = "us"\nuntil = {today()}\n'
    )
    plans = [shop.url("/a"), shop.url("/b")]
    result = await visit(plans, by=by_hand, REP_OVERRIDES=str(toml))
    assert (result.downloaded, result.forbidden) == (plans[:1], plans[1:])


async def test_hostile_text_in_an_override_stays_in_its_line(site: Site) -> None:
    """Control characters and length: a reason cannot make a line of its own."""
    shop = site.authority(NOTHING)
    reason = "a\x1b[31m\u2028b" + "c" * 5_000
    entries = [entry(shop, "allow", reason=reason), entry(shop, "forbid", paths=["/z"])]
    result = await crawl_with(entries, [shop.url("/a")])
    lines = result.lines("(by|An) override")
    assert lines
    for line in lines:
        assert line.isprintable()
        assert len(line) < 1_000


async def test_a_request_that_waits_is_counted_once(site: Site) -> None:
    """It is judged again when its turn has come, and nothing has changed."""
    shop = site.authority(RULES)
    entries = [entry(shop, "delay", delay=0.1)]
    plans = [shop.url(f"/{number}") for number in range(4)]
    result = await crawl_with(entries, plans, by=by_hand)
    assert result.downloaded == plans
    assert result.stats[USED] == 4
