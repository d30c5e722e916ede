"""A response of another page than was asked for is judged by the rules of that page.

Browsers and services follow redirects by themselves, so that no request for the last page is seen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import robots
from tests.crawl.closing import ClosingSpider, FetchingSpider
from tests.crawl.faults import crawled, modules, some, struck
from tests.crawl.harness import crawl_in_child, crawl_under, visit
from tests.crawl.pacing import SLOTLESS
from tests.crawl.plugin import DEMANDING, NOTHING, RULES, obey, override
from tests.crawl.result import Result
from tests.crawl.test_decision_log import decisions
from tests.crawl.test_preferences import UseSpider
from tests.records.archives import archives
from tests.replies import Hang, Peer, Reply, html, redirect
from tests.site import Site
from tests.stores.servers import installed, lacks

BROWSER = {"DOWNLOAD_HANDLERS": {"http": "tests.crawl.handlers.FollowingHandler"}}
SERVICE = {"DOWNLOADER_MIDDLEWARES": {"tests.crawl.middlewares.RenamingMiddleware": 500}}


async def browse(plans: list[Any], *how: Any, **named: Any) -> Result:
    """A crawl whose download handler follows redirects by itself."""
    return await visit(plans, *how, **BROWSER, **named)


def leading_to(site: Site, *targets: str, robots: str = RULES) -> list[str]:
    """URLs of one site that redirect to these, in this order."""
    pages = {f"/{number}": redirect(target) for number, target in enumerate(targets)}
    shop = site.authority(robots, pages)
    return [shop.url(path) for path in pages]


async def test_the_page_that_a_handler_was_redirected_to_is_judged(site: Site, mode: str) -> None:
    """By the rules of its own site, before a callback sees it; what they allow comes as ever."""
    far, dark = site.authority(RULES), site.authority(Reply(503))
    targets = {
        "/private/own": "forbidden",
        "/open": "downloaded",
        far.url("/private"): "forbidden",
        far.url("/open"): "downloaded",
        far.url("/robots.txt"): "downloaded",
        dark.url("/x"): "unreachable",
    }
    urls = leading_to(site, *targets)
    result = await browse(urls, mode=mode)
    assert result.kinds == [*targets.values()]
    assert len(far.robots_hits) == 2  # one of them is the page of a request
    problem = result.problem(urls[2])
    assert "Disallow: /private" in problem.text
    assert far.url("").rstrip("/") in problem.text
    stats = result.stats
    assert stats["robotstxt/allowed"] == len(urls)
    assert (stats["robotstxt/forbidden"], stats["robotstxt/unreachable"]) == (2, 1)
    assert stats["robotstxt/final_url/judged"] == len(urls) - 1
    assert stats["robotstxt/final_url/refused"] == 3
    assert result.lines(f"led to <{far.url('/private')}>, which is judged", "DEBUG")
    assert result.lines(f"Forbidden by robots.txt: <GET {far.url('/private')}>", "DEBUG")


async def test_what_is_no_other_page_is_not_judged_again(site: Site) -> None:
    """Another spelling of the URL: a fragment, the login, the origin in other letters.

    Nor is what no robots.txt governs: a browser that could not load a page says so. The rules of a
    URL without a usable host cannot be had, which is no permission.
    """
    shop = site.authority(RULES)
    upper = f"HTTP://{shop.url('/open').partition('://')[2]}"
    finals = [shop.url("/open"), shop.url("/open#a"), upper, shop.url("/open", user="a:b")]
    finals += ["about:blank", "chrome-error://chromewebdata/", "data:,x", "file:///x", "x", ""]
    finals += ["http://[::1/x"]
    page = {"url": shop.url("/open"), "dont_filter": True}
    plans: list[Any] = [page, shop.url("/open#b")]
    plans += [{**page, "meta": {"final_url": final}} for final in finals]
    result = await visit(plans, **SERVICE)
    assert result.kinds == ["downloaded"] * (len(plans) - 1) + ["unreachable"]
    [problem] = [ending.problem for ending in result.endings if ending.problem]
    assert problem.data["cause"] == "malformed url"
    assert "robotstxt/final_url/judged" not in result.stats
    assert result.stats["robotstxt/final_url/refused"] == 1
    looked_up = sum(result.stats.get(f"robotstxt/cache/{how}", 0) for how in ("hit", "miss"))
    assert looked_up == len(plans)


async def test_the_meta_of_the_request_counts_for_the_final_url(site: Site) -> None:
    """The agent that it names; with `dont_obey_robotstxt` no rules are even fetched."""
    far, closed = site.authority("User-agent: newsbot\nDisallow: /\n"), site.authority(NOTHING)
    to_far, to_closed = leading_to(site, far.url("/x"), closed.url("/x"))
    plans: list[Any] = [
        to_far,
        {"url": f"{to_far}?", "meta": {"robotstxt_user_agent": "newsbot"}, "dont_filter": True},
        {"url": to_closed, "meta": {"dont_obey_robotstxt": True}},
    ]
    result = await browse(plans)
    assert result.kinds == ["downloaded", "forbidden", "downloaded"]
    assert closed.robots_hits == []


async def test_a_service_answers_for_the_page_at_its_own_urls(site: Site) -> None:
    """Or with the URL of that page; a third one is that of a page to be judged."""
    service, shop, far = site.authority(NOTHING), site.authority(RULES), site.authority(RULES)
    page = shop.url("/open")
    finals = {
        service.url("/result/1"): "downloaded",
        page: "downloaded",
        shop.url("/private"): "forbidden",
        far.url("/open"): "downloaded",
        far.url("/private"): "forbidden",
    }
    plans = [
        {"url": service.url(f"/{n}"), "meta": {"robotstxt_page": page, "final_url": final}}
        for n, final in enumerate(finals)
    ]
    result = await visit(plans, **SERVICE)
    assert [result.kind(plan["url"]) for plan in plans] == [*finals.values()]
    assert result.stats["robotstxt/final_url/judged"] == 3
    assert service.robots_hits == []


async def test_nothing_but_rules_and_overrides_counts_for_a_final_url(site: Site) -> None:
    """The page is there: no pace is kept, none refuses it, and no purpose is asked.

    An override opens a closed site, and one closes an open site; both are counted as used.
    """
    text = "User-agent: *\nCrawl-delay: 3000\nContent-Usage: train-ai=n\nDisallow: /private\n"
    far, closed, open_one = (site.authority(robots) for robots in (text, NOTHING, text))
    targets = (far.url("/open"), closed.url("/x"), far.url("/private"), open_one.url("/x"))
    urls = leading_to(site, *targets)
    overrides = [override(closed.url(), "allow"), override(open_one.url(), "forbid")]
    result = await browse(urls, REP_OVERRIDES=overrides, **DEMANDING)
    assert (result.downloaded, result.forbidden) == (urls[:2], urls[2:])
    assert result.stats["robotstxt/override/used"] == 2
    others = ("crawl_delay/hosts", "preferences/skipped", "override/unused")
    assert not [name for name in others if f"robotstxt/{name}" in result.stats]


async def test_the_use_of_a_page_is_what_its_own_site_says(site: Site) -> None:
    """Not what the site says that redirected to it: items are dropped by that."""
    says_no = "User-agent: *\nContent-Usage: train-ai=n\n"
    silent, far = site.authority(RULES), site.authority(says_no)
    to_far = leading_to(site, far.url("/a"))
    to_silent = leading_to(site, silent.url("/a"), robots=says_no)
    dropping = {"REP_PREFERENCES": "drop", "REP_PURPOSES": ["train-ai"]}
    for urls, settings, answer in ((to_far, dropping, "disallowed"), (to_silent, {}, None)):
        result = await browse(urls, UseSpider, **settings)
        counted = result.stats.get("robotstxt/preferences/train-ai/disallowed")
        assert counted == (1 if answer else None)
        assert result.stats.get("robotstxt/preferences/dropped") == counted
        assert len(result.downloaded) == 1


@dataclass(frozen=True)
class After(Reply):
    """A reply that is sent once a condition holds."""

    condition: Callable[[], bool] = bool

    async def answer(self, peer: Peer) -> bool:
        """It waits for that."""
        while not self.condition():  # noqa: ASYNC110  # no event says that it holds
            await asyncio.sleep(0.01)
        return await super().answer(peer)


async def test_a_response_that_waits_for_rules_keeps_no_request_from_being_made(site: Site) -> None:
    """One place, which the response would hold, and rules that come after all other pages."""
    shop = site.authority(RULES)
    far = site.authority(After(200, RULES, condition=lambda: len(shop.page_hits) == 7))
    shop.pages = {"/to": redirect(far.url("/private"))}
    urls = [shop.url(path) for path in ("/first", "/to", *(f"/{n}" for n in range(5)))]
    later = [{"url": url, "priority": -number} for number, url in enumerate(urls[1:])]
    how = {"onward": {"/first": later}, "timeout": 60}
    result = await browse(urls[:1], **how, CONCURRENT_REQUESTS=1, REP_TIMEOUT=20)
    assert (result.forbidden, result.downloaded) == (urls[1:2], urls[:1] + urls[2:])
    assert result.crawler.engine.downloader.total_concurrency == 1


@pytest.mark.parametrize("downloader", [{}, SLOTLESS], ids=["Scrapy's", "without slots"])
async def test_responses_that_wait_for_one_site_share_a_fetch(site: Site, downloader: Any) -> None:
    """All of them are judged by it, with a custom downloader as well."""
    far = site.authority(Reply(200, RULES, delay=0.2))
    targets = [far.url(f"/{'private' if n % 2 else 'open'}/{n}") for n in range(40)]
    urls = leading_to(site, *targets)
    result = await browse(urls, **downloader)
    assert (result.downloaded, result.forbidden) == (urls[::2], urls[1::2])
    assert len(far.robots_hits) == 1


STOPPED = {"after": "robotstxt/final_url/judged", "close_after": 0.3, "timeout": 40}


async def test_a_stop_ends_a_response_that_waits_for_rules(site: Site) -> None:
    """Its rules are not known, so that it ends unreachable."""
    [url] = leading_to(site, site.authority(Hang()).url("/open"))
    result = await browse([url], ClosingSpider, **STOPPED, REP_TIMEOUT=60)
    assert result.unreachable == [url]
    assert result.problem(url).data["cause"] == "crawl closing"


async def test_a_stop_gives_back_a_request_whose_response_waits_for_rules(
    site: Site, tmp_path: Path, mode: str
) -> None:
    """With JOBDIR: the next run makes it once more, and judges its response."""
    far = site.authority(Hang())
    urls = leading_to(site, far.url("/open"), far.url("/private"))
    settings = obey(**BROWSER, REP_TIMEOUT=60, JOBDIR=str(tmp_path))
    first = (await crawl_under(mode, ClosingSpider, settings, plans=urls, **STOPPED)).check_log()
    far.robots = RULES
    second = (await crawl_under(mode, settings=settings, plans=urls, timeout=40)).check_log()
    ends = Counter((ending.url, ending.kind) for ending in [*first.endings, *second.endings])
    assert ends == {(urls[0], "downloaded"): 1, (urls[1], "forbidden"): 1}


async def test_a_direct_download_is_refused_as_well(site: Site) -> None:
    """`engine.download_async` raises what an errback would get."""
    far = site.authority(RULES)
    urls = leading_to(site, "/open", far.url("/private"))
    result = await browse(urls[:1], FetchingSpider, inner=urls[1])
    assert result.stats["inner"] == "RobotsForbidden"


async def test_a_cached_response_is_judged_each_time(site: Site, tmp_path: Path) -> None:
    """HTTPCACHE keeps what was refused; it is refused again, without a download."""
    far = site.authority(RULES)
    urls = leading_to(site, far.url("/open"), far.url("/private"))
    for hits in (2, 2):
        result = await browse(urls, HTTPCACHE_ENABLED=True, HTTPCACHE_DIR=str(tmp_path))
        assert (result.downloaded, result.forbidden) == (urls[:1], urls[1:])
        assert len(far.page_hits) == hits


@pytest.mark.parametrize("which", ["refused", "all"])
async def test_decisions_on_final_urls_are_recorded(site: Site, tmp_path: Path, which: str) -> None:
    """With the page that was asked for; and the archive bears them out, whatever else is asked."""
    text = f"{RULES}Crawl-delay: 3000\nContent-Usage: train-ai=n\n"
    far, dark = site.authority(text), site.authority(Reply(503))
    urls = leading_to(site, far.url("/open"), far.url("/private?a#b"), dark.url("/x"))
    records = {
        "REP_DECISION_LOG": str(tmp_path / "log"),
        "REP_WARC": str(tmp_path / "robots.warc.gz"),
        "REP_DECISIONS": which,
        "REP_DECISION_LOG_REQUIRED": True,
    }
    await browse(urls, **records, **DEMANDING)
    found = [line for line in decisions(tmp_path / "log") if line["requested"] is not None]
    said = {line["requested"]: (line["url"], line["allowed"], line["outcome"]) for line in found}
    expected = {
        urls[0]: (far.url("/open"), True, "rules"),
        urls[1]: (far.url("/private?a"), False, "rules"),
        urls[2]: (dark.url("/x"), False, "unreachable"),
    }
    if which == "refused" and urls[0] not in said:  # it was not the first decision of its site
        del expected[urls[0]]
    assert said == expected
    assert {line["delay"] for line in found} == {line["preferences"] for line in found} == {None}
    named = [word for one in archives(tmp_path) for word in ("--warc", one)]
    verified = robots("verify", tmp_path / "log", *named)
    assert (verified.status, "differ" in verified.err) == (0, False)


async def test_no_query_of_the_page_that_was_asked_for_is_recorded_against_the_setting(
    site: Site, tmp_path: Path
) -> None:
    """REP_LOG_URLS is for both URLs."""
    [url] = leading_to(site, site.authority(NOTHING).url("/x?secret"))
    for how, start in (("path", url), ("hash", "sha256:")):
        log = tmp_path / how
        await browse([f"{url}?secret"], REP_DECISION_LOG=str(log), REP_LOG_URLS=how)
        assert "secret" not in log.read_text()
        (line,) = [line for line in decisions(log) if line["requested"] is not None]
        assert line["requested"].startswith(start)


INVOLVED = "gate.gate gate.judge gate.account gate.page_url downloadermiddlewares records.recorder"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a coroutine that a fault left behind
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("places", [5, pytest.param(100, marks=pytest.mark.slow)])
async def test_no_fault_lets_a_forbidden_page_pass(site: Site, tmp_path: Path, places: int) -> None:
    """At any call and after any await: each request has one end, and none a page of that kind."""
    far, dark = site.authority(RULES), site.authority(Reply(503))
    allowed = {far.url("/open"), far.url("/open/2")}
    urls = leading_to(site, *allowed, far.url("/private"), dark.url("/x"), robots="")
    records = {"REP_DECISION_LOG": str(tmp_path / "log"), "REP_DECISIONS": "all"}
    settings = obey(**BROWSER, **records)

    async def visit() -> str:
        endings = getattr(await crawled(settings, plans=urls), "endings", ())
        finals = {ending.final for ending in endings if ending.kind == "downloaded"}
        return f"{finals - allowed} came" if finals - allowed else ""

    names = modules(*(f"scrapy_rep.{name}" for name in INVOLVED.split()))
    assert await struck(names, visit, some(places, 1)) == []


# --- scrapy-playwright and a real Chromium


@pytest.fixture
def browser() -> dict[str, Any]:
    """The settings that have pages loaded in the browser.

    Without it the tests are skipped; with CI set they fail.
    """
    program = installed("chromium")
    if find_spec("scrapy_playwright") is None:
        lacks("the extra `browser` is missing")
    options = {"executable_path": program, "args": ["--no-sandbox", "--no-proxy-server"]}
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    return {"DOWNLOAD_HANDLERS": {"http": handler}, "PLAYWRIGHT_LAUNCH_OPTIONS": options}


@pytest.mark.slow
def test_the_page_that_the_browser_was_redirected_to_is_judged(site: Site, browser: Any) -> None:
    """By the rules of its own site, and a forbidden one never reaches a callback."""
    far, dark = site.authority(RULES), site.authority(Reply(503))
    pages = {
        "/plain": (html("a page"), "downloaded"),
        "/own": (redirect("/private/x"), "forbidden"),
        "/far": (redirect(far.url("/private")), "forbidden"),
        "/twice": (redirect("/far"), "forbidden"),
        "/dark": (redirect(dark.url("/")), "unreachable"),
        "/open": (redirect(far.url("/open#top")), "downloaded"),
    }
    shop = site.authority(RULES, {path: page for path, (page, _) in pages.items()})
    plans = [{"url": shop.url(path), "meta": {"playwright": True}} for path in pages]
    result = crawl_in_child(settings=obey(**browser), plans=plans, timeout=100).check()
    for path, (_, kind) in pages.items():
        assert result.kind(shop.url(path)) == kind
    assert result.ending(shop.url("/open")).final.startswith(far.url("/open"))
    assert result.stats["robotstxt/final_url/judged"] == 5
    assert result.stats["robotstxt/final_url/refused"] == 4
    assert len(far.robots_hits) == len(dark.robots_hits) == 1
