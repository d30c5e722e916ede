"""A report on the log of a real crawl: it says what the crawl did."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pytest_twisted import ensureDeferred

from scrapy_rep.records.sections import sections
from scrapy_rep.records.tally import Tally
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
    with closing(Tally()) as tally:
        with log.open("rb") as stream:
            tally.add(log.name, stream)
        tally.end()
        totals = tally.totals
        found = {one.name: one.rows for one in sections(tally)}
    assert (totals["decisions"], totals["refused"], totals["overridden"]) == (20, 8, 2)
    assert (totals["unread"], totals["is_complete"]) == (0, True)
    assert [row[:2] for row in found["reasons"]] == [
        ("a rule of robots.txt", 6),
        ("robots.txt unreachable", 2),
    ]
    name = f"http://{closed.host}:{closed.port}"
    assert found["rules"] == [("Disallow: /private", name, 2, "*", 6, "/private/0")]
    assert found["unreachable"][0][3] == "status 503"
    assert found["delays"][0][1:] == ("0.1 s", 8)
    assert ("train-ai", "disallowed", 8, 1, 0) in found["preferences"]
    assert len(found["runs"]) == 2
