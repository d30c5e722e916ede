"""What a refusal and the log blame is what was at fault, and they call it by its name."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep import RobotsForbidden
from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.proxy import Proxy
from tests.replies import Hang, Reply
from tests.site import Site


@pytest.mark.parametrize(
    ("rules", "settings", "begins"),
    [
        (NOTHING, {}, "robots.txt: Disallow: /, line 2, group *"),
        (Reply(403), {"REP_ACCESS_DENIED": "disallow"}, "robots.txt: access denied (403)"),
        (
            "User-agent: *\nCrawl-delay: 61\n",
            {"REP_OVER_MAX_CRAWL_DELAY": "forbid"},
            "pace: asks for 61 s between requests, more than 60 s",
        ),
        (
            "User-agent: *\nContent-Usage: train-ai=n\n",
            {"REP_PREFERENCES": "skip", "REP_PURPOSES": ["train-ai"]},
            "usage preference: Content-Usage disallows train-ai",
        ),
    ],
    ids=["rule", "access denied", "pace", "use"],
)
@ensureDeferred
async def test_a_refusal_says_what_forbids_the_request(
    site: Site, rules: Any, settings: dict[str, Any], begins: str
) -> None:
    """The exception, its copy and the log agree."""
    shop = site.authority(rules)
    url = shop.url("/x")
    result = (await crawl(settings=obey(**settings), plans=[url])).check()
    assert result.forbidden == [url]
    problem = result.ending(url).problem
    assert problem is not None
    assert problem.text.startswith(f"Forbidden by {begins}")
    by, _, why = begins.partition(": ")
    assert isinstance(problem.exception, RobotsForbidden)
    copy = pickle.loads(pickle.dumps(problem.exception))
    assert (copy.by, str(copy)) == (by, problem.text)
    (line,) = result.lines("^Forbidden by", "DEBUG")
    assert line.startswith(f"Forbidden by {by}: <GET {url}> ({why}")
    assert result.lines("No request was allowed: 1 forbidden$", "WARNING")


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_a_dead_proxy_is_blamed_and_not_the_site(site: Site, mode: str) -> None:
    """For http, and for https through a tunnel."""
    shop, dead = site.authority(RULES), site.refusing()
    urls = [shop.url("/x"), shop.url("/x").replace("http:", "https:")]
    plans = [{"url": url, "meta": {"proxy": dead.url("")}} for url in urls]
    result = (await crawl_under(mode, settings=obey(), plans=plans)).check()
    assert result.unreachable == urls
    for url in urls:
        problem = result.ending(url).problem
        assert problem is not None
        assert problem.data["cause"] == "proxy failure"
        assert problem.text.startswith("robots.txt unreachable: proxy failure (http")
    assert len(result.lines(r"is unreachable \(proxy failure: ", "WARNING")) == 2
    assert result.lines("2 with robots.txt unreachable$", "WARNING")


@pytest.mark.parametrize(
    ("answer", "cause"),
    [(Reply(407), "proxy failure 407"), (Hang(), "proxy failure"), (Reply(503), "status 503")],
    ids=["wants a login", "hangs", "passes on a 503"],
)
@ensureDeferred
async def test_what_a_proxy_answers_is_told_apart_from_what_the_site_does(
    site: Site, answer: Any, cause: str
) -> None:
    """A status is the site's, but for 407 (RFC 9110 section 15.5.8)."""
    proxy = Proxy(site)
    shop = proxy.authority("http://shop.example", answer)
    plans = [{"url": shop.url("/x"), "meta": {"proxy": proxy.url}}]
    result = (await crawl(settings=obey(REP_TIMEOUT=1), plans=plans)).check()
    assert [ending.problem.data["cause"] for ending in result.endings if ending.problem] == [cause]
    kind, _, number = cause.rpartition(" ") if cause[-1].isdigit() else (cause, "", "")
    assert result.lines(rf"is unreachable \({kind}.*{number}", "WARNING")
