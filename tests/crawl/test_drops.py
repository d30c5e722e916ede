"""What a dropped request tells: the errback, the log, the stats, and the components of Scrapy."""

from __future__ import annotations

import errno
import pickle
import time
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import HtmlResponse, Response

from scrapy_rep import RobotsForbidden, RobotsUnreachable, Rule
from scrapy_rep.access.outcome import Cause
from tests.commands.running import write_project
from tests.crawl.closing import ItemSpider
from tests.crawl.harness import crawl, visit
from tests.crawl.middlewares import middleware
from tests.crawl.pacing import pages
from tests.crawl.plugin import DEMANDING, NOTHING, RULES, obey
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
USE = "User-agent: *\nContent-Usage: train-ai=n\n"


async def test_a_forbidden_request_says_by_which_rule(site: Site) -> None:
    """The errback gets RobotsForbidden with the verdict: rule, line, group; and the authority.

    One line of DEBUG for each request says the same.
    """
    shop = site.authority(GROUPS)
    url, other = shop.url("/private/page"), shop.url("/private/2")
    plans = [url, other, shop.url("/star")]
    result = await visit(plans, ROBOTSTXT_USER_AGENT="mybot")
    assert result.forbidden == [url, other]
    problem = result.problem(url)
    error = problem.exception
    assert isinstance(error, RobotsForbidden)
    assert isinstance(error, IgnoreRequest)
    rule = "Disallow: /private, line 6, group mybot"
    assert str(error) == f"Forbidden by robots.txt: {rule} ({shop.url('')})"
    verdict = error.verdict
    assert (verdict.allowed, verdict.line, verdict.group) == (False, 6, "mybot")
    assert isinstance(verdict.rule, Rule)
    assert "/private" in str(verdict.rule)
    keeps_no_rules(result, [url, other])
    assert str(error.authority) == shop.url("")
    begun, *said = [line.text for line in result.log if line.logger.startswith("scrapy_rep")]
    assert begun.startswith("Obeying robots.txt as ")
    lines = [f"Forbidden by robots.txt: <GET {one}> ({rule})" for one in (url, other)]
    assert sorted(said) == sorted(lines)


def keeps_no_rules(result: Result, urls: Iterable[str]) -> None:
    """A spider may keep each failure: REP_MEMORY_LIMIT bounds the rules all the same."""
    for url in urls:
        error: Any = result.problem(url).exception
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        kept = {type(value).__name__ for frame in frames for value in frame.f_locals.values()}
        assert not kept & {"CachedRules", "ParsedRobotsTxt", "Gate"}, kept


async def test_an_unreachable_request_says_why_and_until_when(site: Site) -> None:
    """The errback gets RobotsUnreachable with the cause and the time of the next attempt."""
    dark = site.authority(Reply(503, RULES, {"Retry-After": "120"}))
    silent = site.authority(Hang())
    now = time.time()
    urls = [dark.url("/a"), silent.url("/a")]
    result = await visit(urls, REP_TIMEOUT=1)
    errors: list[Any] = [result.problem(url).exception for url in urls]
    for error in errors:
        assert isinstance(error, RobotsUnreachable)
        assert isinstance(error, IgnoreRequest)
    keeps_no_rules(result, urls)
    assert [str(error.authority) for error in errors] == [dark.url(""), silent.url("")]
    assert [error.verdict.allowed for error in errors] == [False, False]
    assert errors[0].cause != errors[1].cause
    for error, seconds in zip(errors, (120, 60), strict=True):
        assert now + seconds - 1 <= error.retry_at <= time.time() + seconds + 1
    assert str(pickle.loads(pickle.dumps(errors[0]))) == str(errors[0])


async def test_one_line_tells_of_a_failed_fetch(site: Site, mode: str) -> None:
    """Whatever the failure: one warning per authority, no traceback, however many requests."""
    robots = [Reply(503), Reply(429), Reset(), Hang()]
    dark = [*(site.authority(answer) for answer in robots), site.refusing()]
    urls = [authority.url(f"/{number}") for authority in dark for number in range(5)]
    result = await visit(urls, mode=mode, REP_TIMEOUT=1)
    assert result.unreachable == urls
    for authority in dark:
        name = authority.url("")
        assert len([text for text in result.lines("", "WARNING") if f"{name} " in text]) == 1
    ours = [line for line in result.log if line.logger.startswith("scrapy_rep")]
    (*failed, last) = [line for line in ours if line.level == "WARNING"]
    assert len(failed) == len(dark)
    assert last.text == "No request was allowed: 25 with robots.txt unreachable"


async def test_hostile_text_reaches_the_log_harmless(site: Site) -> None:
    """Neither a rule nor an agent name writes a control character or a new line into the log."""
    robots = b"User-agent: *\nDisallow: /\x1b[31m\x07*\x85x\xe2\x80\xa8\n"
    shop = site.authority(Reply(200, robots))
    url = shop.url("/%1B[31m%07*%85x%E2%80%A8")
    result = await visit([url, shop.url("/open")])
    for line in result.log:
        assert not any(ord(c) < 32 and c not in "\n\t" for c in line.text), line
        if line.logger.startswith("scrapy_rep"):
            assert line.text.isprintable(), line


async def test_the_stats_tell_what_was_decided(site: Site) -> None:
    """Scrapy's names for what Scrapy counts, and the family goes on; no name of a host."""
    shop, closed, dark = site.authority(RULES), site.authority(NOTHING), site.authority(Reply(503))
    moved, none = site.authority(Reply(301, "", {"Location": "/r"}), {"/r": RULES}), site.refusing()
    by = {"url": closed.url("/by"), "meta": {"dont_obey_robotstxt": True}}
    refused = [shop.url("/private"), closed.url("/"), moved.url("/private")]
    result = await visit([*pages(shop, 3), *refused, dark.url("/"), none.url("/"), by])
    stats = {k.removeprefix("robotstxt/"): v for k, v in result.stats.items() if "robotstxt/" in k}
    looked_up = stats.pop("cache/hit", 0) + stats.pop("cache/miss")
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
    }
    assert sum(count for key, count in stats.items() if key.startswith("exception_count/")) == 1
    assert {key: stats.get(key) for key in expected} == expected
    assert looked_up == 8
    hosts = [shop.host, closed.host, dark.host, moved.host, none.host]
    assert not any(host in key for key in result.stats for host in hosts)


async def gathered(site: Site, files: Path, by: Callable[..., Any]) -> tuple[object, ...]:
    """What a FilesPipeline brings, and says, of two files of which one is forbidden."""
    shop = site.authority(RULES, {"/file": "a file", "/page": "a page"})
    wanted = [shop.url("/file"), shop.url("/private/file")]
    pipelines = {"scrapy.pipelines.files.FilesPipeline": 1}
    how: dict[str, Any] = {"by": by, "files": wanted, "expected": ["FileException"]}
    how |= {"ITEM_PIPELINES": pipelines, "FILES_STORE": str(files)}
    result = await visit([shop.url("/page")], ItemSpider, **how)
    assert [hit.path for hit in shop.page_hits] == ["/page", "/file"]
    assert result.stats["robotstxt/forbidden"] == 1
    item = result.crawler.spider.item
    said = [(line.level, line.logger) for line in result.log if "pipelines" in line.logger]
    return [file["url"] == wanted[0] for file in item["files"]], said


async def test_a_media_pipeline_takes_a_drop_as_the_built_ins(site: Site, tmp_path: Path) -> None:
    """The forbidden file is left out, and the pipeline logs what it logs of Scrapy's refusal."""
    ours = await gathered(site, tmp_path / "ours", obey)
    assert ours[0] == [True]
    assert ours == await gathered(site, tmp_path / "theirs", partial(dict, ROBOTSTXT_OBEY=True))


@pytest.mark.slow
def test_commands_of_scrapy_get_what_is_allowed_alone(site: Site, tmp_path: Path) -> None:
    """Of a forbidden page nothing is printed, or there is no `response`."""
    project = write_project(tmp_path, {"TELNETCONSOLE_ENABLED": False}, "")
    shop = site.authority(RULES, {"/open": "an open page"})
    shell = ["shell", "-c", "response and response.text"]
    for words, path, printed in (
        (["fetch", "--nolog"], "/open", "an open page"),
        (["fetch"], "/private", ""),
        (shell, "/private", "None"),
    ):
        done = run_python("-m", "scrapy", *words, shop.url(path), cwd=project)
        assert (done.returncode, done.stdout.strip()) == (0, printed)
        assert "Traceback" not in done.stderr
        assert path == "/open" or "Forbidden by robots.txt" in done.stderr
    assert [hit.path for hit in shop.page_hits] == ["/open"]


NAMED_SPIDER = """
import scrapy
class Named(scrapy.Spider):
    name = "named"
    user_agent = "alpha/1.0"
"""


@pytest.mark.slow
def test_the_shell_goes_by_the_name_of_its_spider(site: Site, tmp_path: Path) -> None:
    """It opens the spider with the first request, when the engine has long started."""
    project = write_project(tmp_path, {"TELNETCONSOLE_ENABLED": False}, NAMED_SPIDER)
    shop = site.authority("User-agent: alpha\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    words = ["shell", "--spider=named", "-c", "print(response)", shop.url("/x")]
    done = run_python("-m", "scrapy", *words, cwd=project)
    assert (done.returncode, shop.page_hits) == (0, [])
    assert "Obeying robots.txt as alpha\n" in done.stderr
    assert "Set SCHEDULER" not in done.stderr  # it is set


# --- what is blamed


def warned(result: Result) -> list[str]:
    """What was said at the end."""
    return result.lines("No request was allowed", "WARNING")


BLAMED: list[tuple[Any, str]] = [
    (NOTHING, "robots.txt: Disallow: /, line 2, group *"),
    (Reply(403), "robots.txt: access denied (403)"),
    ("User-agent: *\nCrawl-delay: 61\n", "pace: asks for 61 s between requests, more than 60 s"),
    ("User-agent: *\nCrawl-delay: 9999999\n", "pace: asks for 9,999,999 s between requests"),
    (f"{USE}Allow: /\n", "usage preference: Content-Usage disallows train-ai"),
    (f"{USE}Crawl-delay: 900\n", "pace: asks for 900 s between requests, more than 60 s"),
]


async def test_a_refusal_says_what_forbids_the_request(site: Site) -> None:
    """The exception, its copy, the log and `explain` agree."""
    urls = [site.authority(rules).url("/x") for rules, _ in BLAMED]
    result = await visit(urls, **DEMANDING, REP_ACCESS_DENIED="disallow")
    assert result.forbidden == urls
    for url, (_, begins) in zip(urls, BLAMED, strict=True):
        problem = result.problem(url)
        assert problem.text.startswith(f"Forbidden by {begins}")
        by, _, why = begins.partition(": ")
        assert isinstance(problem.exception, RobotsForbidden)
        copy = pickle.loads(pickle.dumps(problem.exception))
        assert (copy.by, str(copy)) == (by, problem.text)
        said = f"Forbidden by {by}: <GET {url}> ({why}"
        assert len([line for line in result.lines("", "DEBUG") if line.startswith(said)]) == 1
        assert await result.gate.explain(url) == problem.exception.verdict
    assert warned(result) == [f"No request was allowed: {len(urls)} forbidden"]


class ComfortingMiddleware:
    """Makes an empty page of each failed download, as some projects do."""

    def process_exception(self, request: Request, exception: Exception) -> Response | None:
        """Return one, unless the request was not made."""
        return None if isinstance(exception, IgnoreRequest) else HtmlResponse(request.url)


async def test_a_response_in_place_of_a_failed_download_is_no_answer(site: Site, mode: str) -> None:
    """RFC 9309 section 2.3.1.4: what failed is undefined, whatever a component makes of it."""
    urls = [one.url("/a") for one in (site.authority(Reset()), site.refusing())]
    own = {"DOWNLOADER_MIDDLEWARES": {f"{__name__}.ComfortingMiddleware": 543}}
    result = await visit(urls, mode=mode, **own)
    assert [result.problem(url).data["cause"] for url in urls] == [Cause.DROPPED] * 2


async def test_a_lack_of_files_is_a_failure_on_this_side(site: Site) -> None:
    """It says nothing of the site, which is asked again after a second."""

    def fail(request: Request) -> None:  # there is no file left for a socket
        if request.meta.get("dont_obey_robotstxt"):
            raise OSError(errno.EMFILE, "Too many open files")

    url = site.authority(RULES).url("/open")
    result = await visit([url], DOWNLOADER_MIDDLEWARES={middleware(process_request=fail): 500})
    assert result.unreachable == [url]
    assert len(result.lines("next attempt in 1 s", "WARNING")) == 1


async def test_a_proxy_that_fails_is_blamed_and_not_the_site(site: Site, mode: str) -> None:
    """It is dead, for http and for https through a tunnel, or it is silent.

    A status is the site's, but for 407 (RFC 9110 section 15.5.8).
    """
    proxy, dead = Proxy(site), site.refusing().url("")
    shop = site.authority(RULES).url("/x")
    causes = [(url, dead, "proxy failure") for url in (shop, shop.replace("http:", "https:"))]
    for answer, cause in (
        (Reply(407), "proxy failure 407"),  # it wants a login
        (Hang(), "proxy failure"),
        (Reply(503), "status 503"),
    ):
        there = proxy.authority(f"http://shop{len(causes)}.example", answer)
        causes.append((there.url("/x"), proxy.url, cause))
    plans = [{"url": url, "meta": {"proxy": way}} for url, way, _ in causes]
    result = await visit(plans, mode=mode, REP_TIMEOUT=1)
    assert result.unreachable == [url for url, _, _ in causes]
    for url, _, cause in causes:
        problem = result.problem(url)
        assert problem.data["cause"] == cause
        assert problem.text.startswith(f"robots.txt unreachable: {cause} (http")
    assert len(result.lines(r"is unreachable \(proxy failure: ", "WARNING")) == 3
    assert len(result.lines(r"is unreachable \((proxy failure.*407|status 503)", "WARNING")) == 2
    assert warned(result) == ["No request was allowed: 5 with robots.txt unreachable"]


# --- a crawl to which nothing was allowed


async def test_a_crawl_to_which_nothing_was_allowed_says_so(site: Site) -> None:
    """The requests are counted by what they ended in.

    Nothing is said of an empty crawl, and where one request passed.
    """
    shop, dark, gone = site.authority(NOTHING), site.authority(Reply(503)), site.refusing()
    urls = [*(shop.url(f"/{n}") for n in range(3)), dark.url("/a"), gone.url("/a")]
    result = await visit(urls)
    assert warned(result) == ["No request was allowed: 3 forbidden, 2 with robots.txt unreachable"]
    bypassing = {"url": shop.url("/private"), "meta": {"dont_obey_robotstxt": True}}
    passing = [[*urls[:2], plan] for plan in (bypassing, site.authority().url("/robots.txt"))]
    for plans in ([], *passing):
        result = await visit(plans)
        assert len(result.forbidden) == len(plans[:2])
        assert warned(result) == []


async def test_a_crawl_that_is_stopped_was_not_refused(site: Site) -> None:
    """One was forbidden; of those that waited when the crawl was stopped nothing is known."""
    shop, slow = site.authority(NOTHING), site.authority(Hang())
    urls = [shop.url("/a"), slow.url("/a"), slow.url("/b")]

    class StoppingSpider(RequestsSpider):
        def failed(self, failure: Any) -> None:
            super().failed(failure)
            raise CloseSpider("enough")

    result = (await crawl(StoppingSpider, obey(), plans=urls)).check_log()
    assert [ending.url for ending in result.endings] == result.forbidden == urls[:1]
    assert warned(result) == []
