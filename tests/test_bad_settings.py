"""What a user sees of a bad setting: real processes, from the command line and from scripts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import write_project
from tests.crawl.harness import gate_with
from tests.processes import run_python
from tests.rows import first, rows

SELECT = "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"
SOON = "REP_TIMEOUT = 'soon': must be a number of seconds, at least 0.1"

SPIDERS = """
import scrapy

class Plain(scrapy.Spider):
    name = "plain"
    start_urls = ["data:,x"]

    def parse(self, response):
        self.logger.info("a page came")

class Custom(Plain):
    name = "custom"
    custom_settings = {"REP_TIMEOUT": "soon"}

class Nameless(Plain):
    name = "nameless"
    robotstxt_user_agent = 7

class ByHand(Plain):
    name = "by_hand"
    custom_settings = {
        "ADDONS": {},
        "ROBOTSTXT_OBEY": True,
        "REP_TIMEOUT": "soon",
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
            "scrapy_rep.RepDownloaderMiddleware": 100,
        },
    }

class Overridden(Plain):
    name = "overridden"
    custom_settings = {"REP_OVERRIDES": "overrides.toml"}
"""
SCRIPT = """
from scrapy import crawler
from shop.spiders.shop import *

process = crawler.CrawlerProcess({"ADDONS": {"scrapy_rep.Addon": 100}, "REP_TIMEOUT": "soon"})
process.crawl(Plain)
process.start()
"""
CATCHING = """
from scrapy.crawler import CrawlerProcess

try:
    CrawlerProcess({"ADDONS": {"scrapy_rep.Addon": 100}, "REP_TIMEOUT": "soon"})
except Exception as error:
    print(type(error).__mro__[1].__name__, error)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Scrapy project whose settings are sound."""
    (tmp_path / "script.py").write_text(SCRIPT)
    return write_project(tmp_path, {"TELNETCONSOLE_ENABLED": False}, SPIDERS)


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One Python process in the project."""
    return run_python(*arguments, cwd=project)


@rows(
    "pair, said",
    ("REP_TIMEOUT=soon", SOON),
    ("REP_DECISION_LOG=none/a.jsonl", "REP_DECISION_LOG = 'none/a.jsonl': there is no folder"),
    ("REP_STORE=sqlite://{}/script.py", "REP_STORE: '{}/script.py' is not a store"),
)
def test_a_bad_setting_of_the_command_line_is_one_line(project: Path, pair: str, said: str) -> None:
    """`-s NAME=VALUE`: one line on stderr without a traceback, status 1."""
    done = run(project, "-m", "scrapy", "crawl", "plain", "-s", pair.format(project))
    assert done.returncode == 1
    assert done.stderr.startswith(said.format(project))
    assert done.stderr.count("\n") == 1


@rows(
    "name, value, said",
    ("ROBOTSTXT_OBEY", "maybe", "ROBOTSTXT_OBEY = 'maybe': must be True or False"),
    ("REP_STORE", ["redis://:s3cret@host"], "REP_STORE = <list>: must be text"),
    ("REP_STORE", "redis://:s3cret#x@host", "REP_STORE: 'redis://...' names no store"),
    ("REP_STORE", "postgres://user:s3cret@host/0", "or the path of a class"),
    ("REP_STORE", "robots.db", "for a file, use sqlite:NAME or sqlite:///PATH"),
)
def test_an_error_says_what_is_wrong_and_what_is_meant(name: str, value: Any, said: str) -> None:
    """In one line, without what is secret: a slip, another database, the bare name of a file."""
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        gate_with(**{name: value})
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)


ENTRY = """
[[override]]
authority = "{}"
action = "allow"
reason = "why"
by = "who"
until = 2020-01-01
"""
OVERRIDE = ENTRY.format("https://a.example") + ENTRY.format("https://*.example")
OVERRIDES = "REP_OVERRIDES: overrides.toml, entry 2: authority 'https://*.example' must be"


@pytest.mark.parametrize(
    ("spider", "said"),
    [
        ("custom", SOON),
        ("by_hand", SOON),
        ("overridden", OVERRIDES),
        ("nameless", "robotstxt_user_agent = 7: must be a product token or a list of them"),
    ],
)
@pytest.mark.parametrize("reactor", first(1, ["", SELECT]))
def test_a_bad_setting_of_a_spider_is_the_last_line(
    project: Path, spider: str, said: str, reactor: str
) -> None:
    """`custom_settings`, through the add-on or by hand: the last line of stderr, status 1.

    Neither a log nor an archive is begun.
    """
    (project / "overrides.toml").write_text(OVERRIDE)
    before = {*project.iterdir()}
    records = ["-s", "REP_DECISION_LOG=log.jsonl", "-s", "REP_WARC=a.warc.gz"]
    chosen = ["-s", reactor] if reactor else []
    done = run(project, "-m", "scrapy", "crawl", spider, *records, *chosen)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"ValueError: {said}")
    assert "a page came" not in done.stderr
    assert {path.suffix for path in {*project.iterdir()} - before} <= {"", ".pyc"}


def test_a_bad_setting_of_a_process_ends_a_script_with_one_line(project: Path) -> None:
    """The settings that a script hands to `CrawlerProcess`."""
    done = run(project, "script.py")
    assert (done.returncode, done.stderr) == (1, f"{SOON}\n")


def test_a_script_can_catch_a_bad_setting(project: Path) -> None:
    """It is a `ValueError` there as everywhere."""
    done = run(project, "-c", CATCHING)
    assert (done.returncode, done.stdout) == (0, f"ValueError {SOON}\n")
