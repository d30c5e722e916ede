"""Download handlers send some URLs in another form; rules are matched with what the server gets.

The judge is the server: of each page that it was asked for, the rules must allow the target.
"""

from __future__ import annotations

import json
from pathlib import Path

from scrapy_rep import RobotsTxt
from tests.crawl.harness import visit
from tests.site import Site

DISALLOWED = "/private$", "/*.pdf$", "/a(b)", "/x&y", "/*;session", "/s?q=(", "/v$"
RULES = "User-agent: *\n" + "".join(f"Disallow: {pattern}\n" for pattern in DISALLOWED)
PATHS = "/private; /file.pdf; /private;a /a%28b%29 /x%26y /p%3Bsession=1 /s?q=%28 /open; /open%28"


async def test_no_form_that_is_sent_is_forbidden(site: Site, tmp_path: Path, mode: str) -> None:
    """Twisted drops an empty ``;``, and aiohttp decodes escapes of reserved characters.

    The log of decisions has the URLs that the verdicts are about.
    """
    shop = site.authority(RULES)
    path = tmp_path / "log.jsonl"
    log = {"REP_DECISION_LOG": str(path), "REP_DECISIONS": "all"}
    result = await visit([shop.url(path) for path in PATHS.split()], mode=mode, **log)
    assert set(result.kinds) <= {"downloaded", "forbidden"}
    assert {shop.url("/open;"), shop.url("/open%28")} <= {*result.downloaded}
    robots = RobotsTxt.parse(RULES)
    for hit in shop.page_hits:
        assert robots.allowed(hit.target, "mybot"), hit.target
    for line in map(json.loads, path.read_text().splitlines()):
        if "url" in line:
            assert robots.allowed(line["url"], "mybot") is line["allowed"]


VERBATIM = ["{} ", "{}?", "{}\t", " {}", "\t{}", "\x01{}"]


async def test_a_url_that_is_left_as_it_is_obeys(site: Site, tmp_path: Path, mode: str) -> None:
    """Since 2.19, ``verbatim_url`` keeps what handlers may drop before they send it."""
    shop = site.authority(f"{RULES}Disallow: /e%28\n")
    urls = [*(form.format(shop.url("/v")) for form in VERBATIM), shop.url("/e%28")]
    plans = [{"url": url, "meta": {"verbatim_url": True}, "dont_filter": True} for url in urls]
    path = tmp_path / "log.jsonl"
    result = await visit(plans, mode=mode, REP_DECISION_LOG=str(path))
    assert result.downloaded == []
    assert shop.page_hits == []
    robots = RobotsTxt.parse(f"{RULES}Disallow: /e%28\n")
    for line in map(json.loads, path.read_text().splitlines()):
        if line.get("rule") is not None:
            assert not robots.allowed(line["url"], "mybot")
