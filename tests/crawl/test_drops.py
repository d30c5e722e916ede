"""What a dropped request tells: the errback, the log, the stats, and the components of Scrapy."""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import Response

from scrapy_rep import RobotsForbidden, RobotsUnreachable, Rule
from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.plugin import NOTHING, RULES, by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.processes import run_python
from tests.proxy import Proxy
from tests.replies import Hang, Reply, Reset
from tests.site import Site

GROUPS = """\
User-agent: *
Disallow: /star

User-agent: mybot
Allow: /
Disallow: /private  # why not
"""
BUILT_IN = {"ROBOTSTXT_OBEY": True}


@ensureDeferred
async def test_a_forbidden_request_says_by_which_rule(site: Site) -> None:
    """The errback gets RobotsForbidden with the verdict: rule, line, group; and the authority.

    One line of DEBUG for each request says the same.
    """
    shop = site.authority(GROUPS)
    url, other = shop.url("/private/page"), shop.url("/private/2")
    plans = [url, other, shop.url("/star")]
    result = (await crawl(settings=obey(ROBOTSTXT_USER_AGENT="mybot"), plans=plans)).check()
    assert result.forbidden == [url, other]
    problem = result.problem(url)
    error = problem.exception
    assert isinstance(error, RobotsForbidden)
    assert isinstance(error, IgnoreRequest)
    assert str(error) == (
        f"Forbidden by robots.txt: Disallow: /private, line 6, group mybot ({shop.url('')})"
    )
    verdict = error.verdict
    assert (verdict.allowed, verdict.line, verdict.group) == (False, 6, "mybot")
    assert isinstance(verdict.rule, Rule)
    assert "/private" in str(verdict.rule)
    assert str(error.authority) == shop.url("")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    begun, *said = [line.text for line in result.log if line.logger.startswith("scrapy_rep")]
    assert begun.startswith("Obeying robots.txt as ")
    assert sorted(said) == [
        f"Forbidden by robots.txt: <GET {one}> (Disallow: /private, line 6, group mybot)"
        for one in sorted([url, other])
    ]


@ensureDeferred
async def test_what_a_request_ends_in_keeps_no_rules_alive(site: Site) -> None:
    """A spider may keep each failure: REP_MEMORY_LIMIT bounds the rules all the same."""
    shop, dark = site.authority(Reply(200, RULES)), site.authority(Reply(503))
    urls = [shop.url("/private"), shop.url("/private/2"), dark.url("/a")]
    result = (await crawl(settings=obey(REP_RETRY_DELAYS=[]), plans=urls)).check()
    for url in urls:
        problem = result.problem(url)
        assert problem.exception is not None
        frames = [frame for frame, _ in traceback.walk_tb(problem.exception.__traceback__)]
        kept = {type(value).__name__ for frame in frames for value in frame.f_locals.values()}
        assert not kept & {"CachedRules", "RobotsTxt", "Gate"}, kept


@ensureDeferred
async def test_an_unreachable_request_says_why_and_until_when(site: Site) -> None:
    """The errback gets RobotsUnreachable with the cause and the time of the next attempt."""
    dark = site.authority(Reply(503, RULES, {"Retry-After": "120"}))
    silent = site.authority(Hang())
    now = time.time()
    urls = [dark.url("/a"), silent.url("/a")]
    result = (await crawl(settings=obey(REP_TIMEOUT=2), plans=urls)).check()
    errors = []
    for url in urls:
        problem = result.problem(url)
        assert isinstance(problem.exception, RobotsUnreachable)
        assert isinstance(problem.exception, IgnoreRequest)
        errors.append(problem.exception)
    assert [str(error.authority) for error in errors] == [dark.url(""), silent.url("")]
    assert [error.verdict.allowed for error in errors] == [False, False]
    assert errors[0].cause != errors[1].cause
    assert errors[0].retry_at is not None
    over = time.time()
    assert now + 119 <= errors[0].retry_at <= over + 121
    assert errors[1].retry_at is not None
    assert now + 59 <= errors[1].retry_at <= over + 61
    assert str(pickle.loads(pickle.dumps(errors[0]))) == str(errors[0])


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_one_line_tells_of_a_failed_fetch(site: Site, mode: str) -> None:
    """Whatever the failure: one warning per authority, no traceback, however many requests."""
    robots = [Reply(503), Reply(429), Reset(), Hang()]
    dark = [*(site.authority(answer) for answer in robots), site.refusing()]
    urls = [authority.url(f"/{number}") for authority in dark for number in range(5)]
    settings = obey(REP_TIMEOUT=1)
    result = (await crawl_under(mode, settings=settings, plans=urls)).check()
    assert result.unreachable == urls
    for authority in dark:
        name = authority.url("")
        assert len([text for text in result.lines("", "WARNING") if f"{name} " in text]) == 1
    ours = [line for line in result.log if line.logger.startswith("scrapy_rep")]
    (*failed, last) = [line for line in ours if line.level == "WARNING"]
    assert len(failed) == len(dark)
    assert last.text == "No request was allowed: 25 with robots.txt unreachable"


@ensureDeferred
async def test_hostile_text_reaches_the_log_harmless(site: Site) -> None:
    """Neither a rule nor an agent name writes a control character or a new line into the log."""
    robots = b"User-agent: *\nDisallow: /\x1b[31m\x07*\x85x\xe2\x80\xa8\n"
    shop = site.authority(Reply(200, robots))
    url = shop.url("/%1B[31m%07*%85x%E2%80%A8")
    result = (await crawl(settings=obey(), plans=[url, shop.url("/open")])).check()
    for line in result.log:
        assert not any(ord(c) < 32 and c not in "\n\t" for c in line.text), line
        if line.logger.startswith("scrapy_rep"):
            assert line.text.isprintable(), line


@ensureDeferred
async def test_the_stats_tell_what_was_decided(site: Site) -> None:
    """Scrapy's names for what Scrapy counts, and the family goes on; no name of a host."""
    shop, closed, dark = site.authority(RULES), site.authority(NOTHING), site.authority(Reply(503))
    moved, none = site.authority(Reply(301, "", {"Location": "/r"}), {"/r": RULES}), site.refusing()
    plans = [
        *[shop.url(f"/{n}") for n in range(3)],
        shop.url("/private"),
        closed.url("/"),
        dark.url("/"),
        moved.url("/private"),
        none.url("/"),
        {"url": closed.url("/by"), "meta": {"dont_obey_robotstxt": True}},
    ]
    result = (await crawl(settings=obey(), plans=plans)).check()
    stats = {k.removeprefix("robotstxt/"): v for k, v in result.stats.items() if "robotstxt/" in k}
    expected = {
        "request_count": 5,
        "response_count": 4,
        "response_status_count/200": 3,
        "response_status_count/503": 1,
        "allowed": 3,
        "forbidden": 3,
        "unreachable": 2,
        "bypassed": 1,
        "redirect_count": 1,
        "cache/miss": 8,
    }
    exceptions = {key: stats.pop(key) for key in list(stats) if key.startswith("exception_count/")}
    assert sum(exceptions.values()) == 1
    assert {key: stats.get(key) for key in expected if key != "cache/miss"} == {
        key: value for key, value in expected.items() if key != "cache/miss"
    }
    assert stats["cache/miss"] + stats.get("cache/hit", 0) == 8
    hosts = [shop.host, closed.host, dark.host, moved.host, none.host]
    assert not any(host in key for key in result.stats for host in hosts)


class FilesSpider(RequestsSpider):
    """Each page gives one item, which asks for the files of the argument `files`."""

    def __init__(self, files: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.asked = list(files)
        self.items: list[dict[str, Any]] = []

    def found(self, response: Response) -> Iterable[Any]:
        """The item."""
        item: dict[str, Any] = {"file_urls": self.asked}
        self.items.append(item)
        yield item


async def gathered(site: Site, files: Path, settings: dict[str, object]) -> tuple[object, ...]:
    """What a FilesPipeline brings, and says, of two files of which one is forbidden."""
    shop = site.authority(RULES, {"/file": "a file", "/page": "a page"})
    wanted = [shop.url("/file"), shop.url("/private/file")]
    pipelines = {"scrapy.pipelines.files.FilesPipeline": 1}
    settings = {**settings, "ITEM_PIPELINES": pipelines, "FILES_STORE": str(files)}
    result = await crawl(FilesSpider, settings, plans=[shop.url("/page")], files=wanted)
    result.check(expected=["FileException"])
    assert [hit.path for hit in shop.page_hits] == ["/page", "/file"]
    assert result.stats["robotstxt/forbidden"] == 1
    (item,) = result.crawler.spider.items
    said = [(line.level, line.logger) for line in result.log if "pipelines" in line.logger]
    return [file["url"] == wanted[0] for file in item["files"]], said


@ensureDeferred
async def test_a_media_pipeline_takes_a_drop_as_it_takes_the_built_ins(
    site: Site, tmp_path: Path
) -> None:
    """The forbidden file is left out, and the pipeline logs what it logs of Scrapy's refusal."""
    ours = await gathered(site, tmp_path / "ours", obey())
    assert ours[0] == [True]
    assert ours == await gathered(site, tmp_path / "theirs", BUILT_IN)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Scrapy project that uses the add-on."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    settings = 'SPIDER_MODULES = ["shop"]\nTELNETCONSOLE_ENABLED = False\n'
    addons = 'ADDONS = {"scrapy_rep.Addon": 100}\n'
    (tmp_path / "shop" / "settings.py").write_text(settings + addons)
    return tmp_path


CODE = "response and response.text"


@pytest.mark.parametrize(
    ("words", "printed"), [(["fetch"], ""), (["shell", "-c", CODE], "None")], ids=["fetch", "shell"]
)
def test_commands_of_scrapy_get_what_is_allowed_and_nothing_else(
    site: Site, project: Path, words: list[str], printed: str
) -> None:
    """Of a forbidden page nothing is printed, or there is no `response`."""
    shop = site.authority(RULES, {"/open": "an open page"})
    allowed, forbidden = (
        run_python("-m", "scrapy", *words, *more, shop.url(path), cwd=project)
        for more, path in ((["--nolog"], "/open"), ([], "/private"))
    )
    assert (allowed.returncode, allowed.stdout.strip()) == (0, "an open page")
    assert (forbidden.returncode, forbidden.stdout.strip()) == (0, printed)
    assert "Forbidden by robots.txt" in forbidden.stderr
    assert "Traceback" not in forbidden.stderr
    assert [hit.path for hit in shop.page_hits] == ["/open"]


# --- what is blamed


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
    problem = result.problem(url)
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
        problem = result.problem(url)
        assert problem.data["cause"] == "proxy failure"
        assert problem.text.startswith("robots.txt unreachable: proxy failure (http")
    assert len(result.lines(r"is unreachable \(proxy failure: ", "WARNING")) == 2
    assert result.lines("2 with robots.txt unreachable$", "WARNING")


@ensureDeferred
async def test_what_a_proxy_answers_is_told_apart_from_what_the_site_does(site: Site) -> None:
    """A status is the site's, but for 407 (RFC 9110 section 15.5.8)."""
    proxy = Proxy(site)
    causes = {
        "proxy failure 407": Reply(407),  # it wants a login
        "proxy failure": Hang(),
        "status 503": Reply(503),
    }
    plans = []
    for number, answer in enumerate(causes.values()):
        shop = proxy.authority(f"http://shop{number}.example", answer)
        plans.append({"url": shop.url("/x"), "meta": {"proxy": proxy.url}})
    result = (await crawl(settings=obey(REP_TIMEOUT=1), plans=plans)).check()
    found = [result.problem(plan["url"]).data["cause"] for plan in plans]
    assert found == [*causes]
    assert len(result.lines(r"is unreachable \((proxy failure.*407|proxy|status 503)")) == 3


# --- a crawl to which nothing was allowed


class StoppingSpider(RequestsSpider):
    """Closes the crawl as soon as a request was refused."""

    def failed(self, failure: Any) -> None:
        """The first one ends the crawl."""
        super().failed(failure)
        raise CloseSpider("enough")


def warned(result: Result) -> list[str]:
    """What was said at the end."""
    return result.lines("No request was allowed", "WARNING")


@pytest.mark.parametrize("settings", [obey(), by_hand()], ids=["add-on", "by hand"])
@ensureDeferred
async def test_a_crawl_to_which_nothing_was_allowed_says_so(
    site: Site, settings: dict[str, Any]
) -> None:
    """The requests are counted by what they ended in. An empty crawl was not refused."""
    shop, dark, gone = site.authority(NOTHING), site.authority(Reply(503)), site.refusing()
    urls = [*(shop.url(f"/{n}") for n in range(3)), dark.url("/a"), gone.url("/a")]
    result = (await crawl(settings=settings, plans=urls)).check()
    assert warned(result) == ["No request was allowed: 3 forbidden, 2 with robots.txt unreachable"]
    assert warned((await crawl(settings=settings, plans=[])).check()) == []


@ensureDeferred
async def test_one_request_that_passes_is_enough(site: Site) -> None:
    """Nothing is said, however many others were refused."""
    shop, free = site.authority(NOTHING), site.authority()
    bypassing = {"url": shop.url("/private"), "meta": {"dont_obey_robotstxt": True}}
    for plan in (free.url("/a"), bypassing, free.url("/robots.txt")):
        result = (
            await crawl(settings=obey(), plans=[shop.url("/a"), shop.url("/b"), plan])
        ).check()
        assert len(result.forbidden) == 2
        assert warned(result) == []


@ensureDeferred
async def test_a_crawl_that_is_stopped_was_not_refused(site: Site) -> None:
    """One was forbidden; of those that waited when the crawl was stopped nothing is known."""
    shop, slow = site.authority(NOTHING), site.authority(Hang())
    urls = [shop.url("/a"), slow.url("/a"), slow.url("/b")]
    result = (await crawl(StoppingSpider, obey(), plans=urls)).check_log()
    assert [ending.url for ending in result.endings] == result.forbidden == urls[:1]
    assert warned(result) == []
