"""A project with a fault: one line that says whose it is, and status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.running import assert_one_line, robots
from tests.rows import first
from tests.site import Site

SPIDER = """
import scrapy

class Broken(scrapy.Spider):
    name = "broken"
    {}
"""
SPIDERS = {
    "raises": 'def __init__(self, *args, **kwargs): raise RuntimeError("\\x1b[31mno\\nno")',
    "needs an argument": "def __init__(self, category, **kwargs): super().__init__(**kwargs)",
    "exits": "def __init__(self, *args, **kwargs): raise SystemExit(5)",
    "bad setting": 'custom_settings = {"REP_PROFILE": "nonsense"}',
    "missing component": 'custom_settings = {"DOWNLOADER_MIDDLEWARES": {"no.such.Thing": 1}}',
    "bad settings": "@classmethod\n    def update_settings(cls, settings): raise ValueError('no')",
}


@pytest.fixture
def url(site: Site) -> str:
    """A page of a site that forbids nothing."""
    return site.authority(robots="User-agent: *\nDisallow:\n").url("/")


@pytest.mark.parametrize("spider", first(2, SPIDERS))
def test_spider_that_fails_is_a_fault_of_the_project(url: str, project: Path, spider: str) -> None:
    """Not one of this package, in whichever subcommand; what it says is escaped."""
    (project / "shop" / "spiders" / "broken.py").write_text(SPIDER.format(SPIDERS[spider]))
    for words in (["check", url], ["filter"]):
        ended = robots(*words, "--spider", "broken", cwd=project, given=url)
        assert_one_line(ended)
        assert "fault of scrapy_rep" not in ended.err
        assert "\x1b" not in ended.err


@pytest.mark.parametrize("name", ["check", "explain", "filter"])
def test_spider_with_a_bad_agent_is_status_2(project: Path, name: str) -> None:
    """Outside a crawl, too."""
    faulty = SPIDER.format("robotstxt_user_agent = 7")
    (project / "shop" / "spiders" / "broken.py").write_text(faulty)
    words = [name, "--spider", "broken", "--robots-txt", "-"]
    words += ["https://e.org/"] if name != "filter" else ["/dev/null"]
    ended = robots(*words, cwd=project, given="")
    assert (ended.status, ended.out) == (2, "")
    said = "robotstxt_user_agent = 7: must be a product token or a list of them"
    assert ended.err == f"scrapy robots {name}: {said}\n"


SETTINGS = [
    *('ADDONS={"no.such.Addon": 1}', 'DOWNLOADER_MIDDLEWARES={"no.such.Thing": 1}'),
    *("DOWNLOADER=no.such.Downloader", "STATS_CLASS=no.such.Stats"),
    *("TWISTED_REACTOR=no.such.Reactor", "LOG_LEVEL=WHAT", "LOG_FILE=/no/such/folder/log"),
    *("REP_OVERRIDES=/no/such/file", "REP_MAX_SIZE=1", "REP_PURPOSES=nonsense"),
]


@pytest.mark.parametrize("setting", first(4, SETTINGS))
def test_setting_that_no_crawl_can_start_with_is_status_2(url: str, setting: str) -> None:
    """One line, with what is wrong."""
    ended = robots("check", url, "-s", setting)
    assert_one_line(ended)
    assert "fault of scrapy_rep" not in ended.err


@pytest.mark.parametrize("words", [["check"], ["check", "--spider", "shop"], ["filter"]])
def test_module_of_spiders_that_cannot_be_imported_is_status_2(
    url: str, project: Path, words: list[str]
) -> None:
    """Only where a crawl or a spider is needed."""
    (project / "shop" / "spiders" / "broken.py").write_text("import no_such_module")
    ended = robots(*words, *[url][: words != ["filter"]], cwd=project, given=url)
    assert_one_line(ended)
    assert "no_such_module" in ended.err
    assert robots("lint", "-", cwd=project, given="User-agent: *\nDisallow:\n").status == 0


def test_project_whose_add_on_switches_obeying_on_obeys(url: str, project: Path) -> None:
    """There is nothing to say about that."""
    assert robots("check", url, cwd=project)[::2] == (0, "")
