"""The store that the command opens is that of the crawl, wherever that is configured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands.running import SCRAPY, environment, options, results, robots, write_project
from tests.processes import run_python
from tests.rows import first
from tests.site import Authority, Site

SPIDER = """
import scrapy

class ShopSpider(scrapy.Spider):
    name = "shop"
    start_urls = ["{url}"]
    custom_settings = {settings}
"""
UPDATING = """
    @classmethod
    def update_settings(cls, settings):
        settings.set("REP_STORE", "sqlite://{folder}/updated.db", priority="spider")
"""


class Case(NamedTuple):
    """Settings of the project, the spider and the command line, and where the store then is."""

    project: Mapping[str, str] = {}
    spider: Mapping[str, str] = {}
    line: Mapping[str, str] = {}
    file: str = ""
    """Below a folder, for which ``{}`` stands in the settings; "" for memory."""


def job(name: str) -> dict[str, str]:
    """A job directory."""
    return {"JOBDIR": f"{{}}/{name}"}


def store(name: str) -> dict[str, str]:
    """A file."""
    return {"REP_STORE": f"sqlite://{{}}/{name}.db"}


CASES = {
    "none": Case(),
    "spider's job": Case(spider=job("b"), file="b/robots.db"),
    "project's job": Case(project=job("a"), file="a/robots.db"),
    "project's store": Case(project=store("a"), file="a.db"),
    "job over job": Case(project=job("a"), spider=job("b"), file="b/robots.db"),
    "memory": Case(project=store("a"), spider={"REP_STORE": "memory:"}),
    "line's store over store": Case(spider=store("b"), line=store("c"), file="c.db"),
}


class Project:
    """A project with one spider, which crawls one page."""

    def __init__(self, folder: Path, shop: Authority, case: Case, more: str = "") -> None:
        self.shop, self.folder = shop, folder / "stores"
        self.folder.mkdir()
        self._words = options(self._in(case.line))
        settings = {"TELNETCONSOLE_ENABLED": False, **self._in(case.project)}
        spider = SPIDER.format(url=shop.url("/a"), settings=self._in(case.spider)) + more
        self._root = write_project(folder / "project", settings, spider)

    def _in(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {name: value.format(self.folder) for name, value in settings.items()}

    def crawl(self) -> None:
        """Crawl the page."""
        words = (*SCRAPY[1:], "crawl", "shop", *self._words)
        done = run_python(*words, cwd=self._root, env=environment())
        assert done.returncode == 0, done.stderr
        assert len(self.shop.robots_hits) == 1

    def __call__(self, *words: object, status: int = 0) -> str:
        """What the command prints with the settings of the spider."""
        ended = robots(*words, "--spider", "shop", *self._words, cwd=self._root)
        assert ended.status == status, ended.err
        return ended.out

    @property
    def files(self) -> list[str]:
        """The stores that there are."""
        return sorted(str(file.relative_to(self.folder)) for file in self.folder.rglob("*.db"))


@pytest.mark.parametrize("name", first(2, CASES))
def test_what_a_crawl_keeps_is_what_a_command_finds(site: Site, tmp_path: Path, name: str) -> None:
    """By `check`, `explain` and `store`, without another fetch and another store."""
    case, shop = CASES[name], site.authority(robots="User-agent: *\nDisallow: /private\n")
    project = Project(tmp_path, shop, case)
    project.crawl()
    files = [case.file] if case.file else []
    assert project.files == files
    project("check", shop.url("/private"), status=1)
    project("explain", shop.url("/a"))
    assert len(shop.robots_hits) == (1 if files else 3)
    known = project("store", "list", "--format", "json", status=0 if files else 2)
    assert [one["status"] for one in results(known)] == [200] if files else known == ""
    assert project.files == files


def test_a_crawl_finds_what_the_command_keeps(site: Site, tmp_path: Path) -> None:
    """A check before the crawl leaves the rules in the job directory of the spider."""
    shop = site.authority(robots="User-agent: *\nDisallow: /private\n")
    project = Project(tmp_path, shop, CASES["spider's job"])
    project("check", shop.url("/a"))
    project.crawl()
    assert project.files == ["b/robots.db"]


def test_a_spider_that_computes_its_settings_is_asked(site: Site, tmp_path: Path) -> None:
    """Not only `custom_settings` count."""
    shop = site.authority(robots="User-agent: *\nDisallow: /private\n")
    more = UPDATING.format(folder=tmp_path / "stores")
    project = Project(tmp_path, shop, Case(project=job("a")), more)
    project.crawl()
    assert project.files == ["updated.db"]
    assert len(results(project("store", "list", "--format", "json"))) == 1
    project("check", shop.url("/a"))
    assert len(shop.robots_hits) == 1


@pytest.mark.parametrize("action", ["list", "import"])
def test_the_store_of_a_spider_that_does_not_exist_is_status_2(
    site: Site, tmp_path: Path, action: str
) -> None:
    """And makes no store."""
    project = Project(tmp_path, site.authority(robots=""), CASES["project's store"])
    ended = robots("store", action, "--spider", "other", cwd=tmp_path / "project")
    assert (ended.status, ended.out) == (2, "")
    assert "no spider is called other" in ended.err
    assert not project.files
