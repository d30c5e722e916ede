"""A report on the log of a real crawl: it says what the crawl did."""

from __future__ import annotations

from pathlib import Path

from lxml import html
from pytest_twisted import ensureDeferred

from scrapy_rep.reporting.page import page
from scrapy_rep.reporting.sites import Why
from scrapy_rep.reporting.summary import Summary
from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply
from tests.site import Site


@ensureDeferred
async def test_a_report_says_what_a_crawl_did(site: Site, tmp_path: Path) -> None:
    """Two runs in one log: each request is counted once, by what became of it."""
    log = tmp_path / "decisions.jsonl"
    closed, down = site.authority(RULES), site.authority(Reply(503))
    slow = site.authority("User-agent: *\nContent-Usage: train-ai=n\nCrawl-delay: 0.1\nAllow: /\n")
    free = {"url": down.url("/free"), "meta": {"dont_obey_robotstxt": True}}
    urls = [closed.url(f"/private/{number}") for number in range(3)]
    urls += [slow.url(f"/{number}") for number in range(4)] + [down.url("/a"), closed.url("/a")]
    settings = obey(REP_DECISION_LOG=str(log), REP_DECISIONS="all", ROBOTSTXT_USER_AGENT="mybot")
    for _ in range(2):
        (await crawl(settings=settings, plans=[*urls, free])).check()
    summary = Summary()
    with log.open("rb") as stream:
        summary.read(log.name, stream)
    summary.end()
    assert summary.unread == 0
    assert (summary.total.decisions, summary.total.refused) == (20, 8)
    assert summary.whys == {Why.RULE: 6, Why.UNREACHABLE: 2}
    assert summary.overridden == 2
    assert summary.is_complete
    assert round(summary.cost, 3) == 0.6
    name = f"http://{closed.host}:{closed.port}"
    assert summary.sites[name].refused == 6
    root = html.document_fromstring(page(summary))
    words = {part.get("id"): " ".join(part.text_content().split()) for part in root.iter("section")}
    assert f"Disallow: /private {name} 2 * 6 /private/0" in words["rules"]
    assert "status 503 (2)" in words["unreachable"]
    assert "0.1 s 8 0.6 s" in words["delays"]
    assert "train-ai disallowed 8 1 0" in words["preferences"]
    assert "2 runs with 1 setup." in words["runs"]
