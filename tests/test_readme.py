"""README.rst says what is so: its tables, its examples and its commands are tested."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from functools import cache
from typing import Any

import docutils.core
import docutils.nodes
import pytest
from pytest_twisted import ensureDeferred
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import Settings

import scrapy_rep
from scrapy_rep import PageDirectives, RepDownloaderMiddleware, stats
from scrapy_rep.pages.terms import RESTRICTIONS
from scrapy_rep.protocol.profiles import PROFILES
from scrapy_rep.settings import _CHECKS, RepSettings
from tests.crawl.harness import ROOT, settings_of, within
from tests.crawl.logtap import LogTap
from tests.site import Site

README = ROOT / "README.rst"
SWITCH = "ROBOTSTXT_OBEY"
CHECKS = {name: (field, check) for name, field, check in _CHECKS}
OBEY = {"ADDONS": {"scrapy_rep.Addon": 100}}
PLAIN = {"halt_level": 2, "report_level": 2, "file_insertion_enabled": False}


@cache
def document() -> docutils.nodes.document:
    """The README, read; a warning of docutils is an error."""
    text = README.read_text("utf-8")
    return docutils.core.publish_doctree(text, str(README), settings_overrides=PLAIN)


def table(name: str) -> dict[str, list[docutils.nodes.entry]]:
    """A table's rows by the literal in their first cell, without the head."""
    [found] = [t for t in document().findall(docutils.nodes.table) if name in t["names"]]
    [body] = found.findall(docutils.nodes.tbody)
    rows = [list(row.findall(docutils.nodes.entry)) for row in body.findall(docutils.nodes.row)]
    return {row[0].astext(): row for row in rows}


def literals() -> set[str]:
    """What the README sets as code in running text."""
    return {node.astext() for node in document().findall(docutils.nodes.literal)}


def code() -> list[str]:
    """The README's blocks of Python."""
    blocks = document().findall(docutils.nodes.literal_block)
    return [block.astext() for block in blocks if "python" in block["classes"]]


def block_with(words: str) -> str:
    """The one block of Python that holds the words."""
    [found] = [block for block in code() if words in block]
    return found


def executed(block: str) -> dict[str, Any]:
    """The names that a block of Python defines."""
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(block, "README.rst", "exec"), names)
    return names


def chosen(block: str) -> Settings:
    """The settings that a block sets, as of a project."""
    names = executed(block)
    return Settings({name: value for name, value in names.items() if name.isupper()})


def test_settings_table_is_complete() -> None:
    """Each setting that is read has a row, and no other."""
    assert set(table("settings-table")) == {SWITCH, *CHECKS}


@pytest.mark.parametrize("name", CHECKS)
def test_settings_table_gives_the_default(name: str) -> None:
    """The default in the table is the one in force without a setting."""
    field, check = CHECKS[name]
    default = ast.literal_eval(table("settings-table")[name][2].astext())
    in_force = getattr(RepSettings.from_settings(Settings()), field)
    assert in_force == (default if default is None else check(default))


@pytest.mark.parametrize("name", CHECKS)
def test_settings_table_gives_a_good_example(name: str) -> None:
    """The example passes the check, and differs from the default."""
    field, _ = CHECKS[name]
    example = ast.literal_eval(table("settings-table")[name][3].astext())
    in_force = getattr(RepSettings.from_settings(Settings({name: example})), field)
    assert in_force != getattr(RepSettings(), field)


def test_profiles_are_named_with_their_defaults() -> None:
    """All are there, and the defaults that the documents of the nineties set."""
    meaning = table("settings-table")["REP_PROFILE"][4]
    named = {node.astext() for node in meaning.findall(docutils.nodes.literal)}
    assert named == set(PROFILES)
    for profile in ("1996", "1994", "kollar"):
        settings = RepSettings.from_settings(Settings({"REP_PROFILE": profile}))
        assert settings.max_ttl == 7 * 86_400
        assert settings.access_denied == "disallow"
        assert settings.max_redirects == 20
    strictest = RepSettings.from_settings(Settings({"REP_PROFILE": "strictest"}))
    assert strictest == RepSettings(profile="strictest", access_denied="disallow")


def test_stats_table_is_complete() -> None:
    """Each stat that is counted has a row, and no other."""
    kept = {
        value.replace("status_count/{}", "status_count/N").replace("{}", "TYPE")
        for name, value in vars(stats).items()
        if name.isupper() and isinstance(value, str) and value.startswith("robotstxt/")
    }
    assert set(table("stats-table")) == kept


def test_stats_table_names_what_pages_may_say() -> None:
    """A closed list: the restrictions, and the limits that have a field."""
    [_, meaning] = table("stats-table")["robotstxt/page/TYPE"]
    named = {node.astext() for node in meaning.findall(docutils.nodes.literal)}
    fields = {*PageDirectives.__dataclass_fields__}
    limits = fields - {"restrictions", "document_state", "url", "statements"}
    assert named == RESTRICTIONS | limits


@pytest.mark.parametrize("name", scrapy_rep.__all__)
def test_public_name_is_documented(name: str) -> None:
    """Whatever can be imported is spoken of."""
    assert name in literals()


@pytest.mark.parametrize("block", [block_with("ADDONS"), block_with("DOWNLOADER_MIDDLEWARES")])
@ensureDeferred
async def test_activation_puts_the_plugin_in_the_place_of_the_builtin(block: str) -> None:
    """By the add-on and by hand."""
    crawler = await crawled(spider_of(block_with("ShopSpider")), chosen(block))
    assert crawler.get_downloader_middleware(RepDownloaderMiddleware)
    assert crawler.get_downloader_middleware(RobotsTxtMiddleware) is None


@ensureDeferred
async def test_activation_of_the_parser_leaves_the_builtin(site: Site) -> None:
    """Scrapy's middleware asks our parser."""
    spider = spider_of(block_with("ShopSpider"), site)
    crawler = await crawled(spider, chosen(block_with("ROBOTSTXT_PARSER")))
    assert crawler.get_downloader_middleware(RobotsTxtMiddleware)
    assert crawler.get_downloader_middleware(RepDownloaderMiddleware) is None
    assert crawler.stats.get_value("robotstxt/forbidden") == 1


@ensureDeferred
async def test_spider_example_learns_why(site: Site) -> None:
    """Its errback gets the rule and the line; one page is fetched, one is not."""
    with LogTap() as tap:
        crawler = await crawled(spider_of(block_with("ShopSpider"), site), Settings(OBEY))
    said = [line.text for line in tap.lines if line.logger == "shop"]
    assert [text.partition("/private/: ")[2] for text in said if "private" in text] == [
        "Disallow: /private, line 2"
    ]
    assert any(text.endswith("/ was fetched") for text in said)
    assert crawler.stats.get_value("robotstxt/forbidden") == 1


@ensureDeferred
async def test_debug_line_is_as_shown(site: Site) -> None:
    """The line of a forbidden request."""
    with LogTap() as tap:
        await crawled(spider_of(block_with("ShopSpider"), site), Settings(OBEY))
    [line] = [line.text for line in tap.lines if line.text.startswith("Forbidden by robots.txt")]
    assert re.sub(r"http://[\d.:]+", "https://example.org", line) in README.read_text("utf-8")


@ensureDeferred
async def test_explain_example_works(site: Site) -> None:
    """It says False by the rule, and what is in memory."""
    with LogTap() as tap:
        await crawled(spider_of(block_with("WhySpider"), site), Settings(OBEY))
    said = [line.text for line in tap.lines if line.logger == "why"]
    assert said[0] == "False by Disallow: /private: rule"
    assert set(ast.literal_eval(said[1])) <= literals()
    assert ast.literal_eval(said[1])["authorities"] == 1


def test_interactive_examples_work() -> None:
    """As doctest runs them."""
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_matcher_does_not_import_scrapy() -> None:
    """`from scrapy_rep import RobotsTxt` loads the standard library and the protocol."""
    check = "import scrapy_rep, sys; scrapy_rep.RobotsTxt; sys.exit('scrapy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=False).returncode == 0


def test_first_two_commands_run_the_example_and_the_tests() -> None:
    """They are the first lines that begin with a dollar sign and a space."""
    lines = [line for line in README.read_text("utf-8").splitlines() if line.startswith("$ ")]
    assert lines[0].endswith("scrapy crawl demo")
    assert lines[1].endswith("-m pytest")
    assert all(line.startswith("$ python3 -m venv .venv && ") for line in lines[:2])


def test_linked_sections_exist() -> None:
    """Each reference has its target."""
    refs = [node for node in document().findall(docutils.nodes.reference) if "refid" in node]
    assert all(node["refid"] in document().ids for node in refs)
    assert refs


def test_changes_begin_with_this_version() -> None:
    """CHANGES.rst is read without a warning; its first section is of the package's version."""
    text = (ROOT / "CHANGES.rst").read_text("utf-8")
    changes = docutils.core.publish_doctree(text, settings_overrides=PLAIN)
    [version] = re.findall(r"^version = (.+)$", (ROOT / "setup.cfg").read_text("utf-8"), re.M)
    titles = [node.astext().split()[0] for node in changes.findall(docutils.nodes.subtitle)]
    titles += [node.astext().split()[0] for node in changes.findall(docutils.nodes.title)]
    assert version in titles[:2]


def spider_of(block: str, site: Site | None = None) -> Any:
    """The spider that a block defines, with the example's host put on the site."""
    if site is not None:
        shop = site.authority("User-agent: *\nDisallow: /private\n")
        block = block.replace("https://example.org/", shop.url("/"))
        block = block.replace("https://example.org{", shop.url("/").removesuffix("/") + "{")
    else:
        block = block.replace("https://example.org", "data:,")
    return next(
        value
        for name, value in executed(block).items()
        if name.endswith("Spider") and isinstance(value, type)
    )


async def crawled(spider: Any, settings: Settings) -> Crawler:
    """A crawl of the spider, done."""
    crawler = Crawler(spider, settings_of(settings))
    await within(30, crawler.crawl())
    return crawler
