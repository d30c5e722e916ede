"""Where the middleware cannot be built, nothing is crawled: without scrapy.cfg, or a custom store.

Scrapy goes on without a component that raises `NotConfigured`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings

from scrapy_rep import Addon, RepDownloaderMiddleware
from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores import Store
from tests.crawl.harness import crawl
from tests.crawl.plugin import BUILT_IN, NOTHING, by_hand, obey
from tests.polling import until
from tests.processes import environment, run_python
from tests.rows import rows
from tests.site import Site
from tests.stores.servers import free_port

SETTINGS = """
SPIDER_MODULES = ["shop.spiders"]
ADDONS = {"scrapy_rep.Addon": 100}
TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = False
"""
SPIDERS = """
import scrapy
from scrapy.exceptions import NotConfigured

from scrapy_rep.stores import Store

class Shop(scrapy.Spider):
    name = "shop"

    async def start(self):
        yield scrapy.Request(self.url)

class Unconfigured(Store):
    @classmethod
    def from_crawler(cls, crawler):
        raise NotConfigured("SHOP_DSN is not set")

    def get(self, authority):
        return None

    def put(self, authority, entry):
        pass
"""
UNCONFIGURED = "REP_STORE: shop.spiders.Unconfigured is not configured: SHOP_DSN is not set"


class Unconfigured(Store):
    """A store whose own setting is missing."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Unconfigured:
        """As components of Scrapy do."""
        raise NotConfigured("SHOP_DSN is not set,\nand neither is SHOP_HOST")

    def get(self, authority: Authority, crawler: str = "") -> Entry | None:
        """Never called."""
        raise AssertionError

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Never called."""
        raise AssertionError


class Hidden(RepDownloaderMiddleware):
    """A middleware of the project, which disables itself before ours can say anything."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepDownloaderMiddleware:
        """Not for this crawl."""
        raise NotConfigured("not today")


class HiddenInside(RepDownloaderMiddleware):
    """The same, in the middle of it."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        raise NotConfigured("not\ntoday")


class HiddenAfter(RepDownloaderMiddleware):
    """The same, when all of ours is done."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepDownloaderMiddleware:
        """Not for this crawl."""
        super().from_crawler(crawler)
        raise NotConfigured("not today")


class WithoutMiddlewares:
    """A downloader of a project's own, which runs none of the middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        """It is never asked for anything."""

    def fetch(self, request: Request) -> None:
        """Nothing is requested."""

    def close(self) -> None:
        """There is nothing to close."""


HERE = __name__
PAGES_OFF = {"REP_PAGE_DIRECTIVES": "off", "REP_PREFERENCES": "off"}
SAID = r"\.Unconfigured is not configured: SHOP_DSN is not set,\\nand neither is SHOP_HOST$"
NOT_BUILT = "DOWNLOADER_MIDDLEWARES lacks RepDownloaderMiddleware, or Scrapy has disabled it"
WITHOUT = {"ROBOTSTXT_OBEY": True, "DOWNLOADER_MIDDLEWARES": {BUILT_IN: None}}
LAST_STEP_ALONE = {
    "ROBOTSTXT_OBEY": True,
    "DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, "scrapy_rep.RepLastStep": 100_000},
}
BY_HAND = {"SPIDER_MIDDLEWARES": {"scrapy_rep.RepSpiderMiddleware": 100}}


def middlewares(cls: str, order: int | None = 100) -> dict[str, Any]:
    """The setting that has this class in the place of ours."""
    return {"DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, f"{HERE}.{cls}": order}}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (obey(REP_STORE=f"{HERE}.Unconfigured"), SAID),
        (by_hand(REP_STORE=f"{HERE}.Unconfigured"), SAID),
        (obey(REP_STORE=f"{HERE}.Unconfigured", **PAGES_OFF), SAID),
        (by_hand(**middlewares("HiddenInside")), r"robots.txt cannot be obeyed: not\\ntoday"),
        (by_hand(**middlewares("Hidden"), **BY_HAND, **PAGES_OFF), NOT_BUILT),
        (by_hand(**middlewares("HiddenAfter"), **BY_HAND, **PAGES_OFF), NOT_BUILT),
        (obey(DOWNLOADER=f"{HERE}.WithoutMiddlewares"), NOT_BUILT),
        (BY_HAND | {"ROBOTSTXT_OBEY": True}, "lacks RepDownloaderMiddleware"),
        (WITHOUT | {"SCHEDULER": "scrapy_rep.RepScheduler"}, NOT_BUILT),
        (LAST_STEP_ALONE, NOT_BUILT),
        (
            obey(DOWNLOADER_MIDDLEWARES={"scrapy_rep.RepDownloaderMiddleware": None}, **PAGES_OFF),
            NOT_BUILT,
        ),
    ],
)
async def test_a_middleware_that_is_not_built_ends_the_crawl(
    site: Site, settings: dict[str, Any], said: str
) -> None:
    """Whatever keeps it from being built; with the add-on and by hand."""
    shop = site.authority(NOTHING)
    with pytest.raises(ValueError, match=said) as error:
        await crawl(settings=settings, plans=[shop.url("/x")])
    assert "\n" not in str(error.value)
    assert shop.hits == []


@pytest.fixture
def unimportable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a class whose module raises `NotConfigured`, as it lacks a library."""
    (tmp_path / "lacking.py").write_text(
        "from scrapy.exceptions import NotConfigured\nraise NotConfigured('lacks a library')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return "lacking.Class"


@pytest.mark.parametrize("order", [None, 543])
def test_a_module_that_is_not_configured_does_not_disable_the_addon(
    unimportable: str, order: int | None
) -> None:
    """Scrapy goes on without an add-on that raises `NotConfigured`, with one warning."""
    settings = Settings({"DOWNLOADER_MIDDLEWARES": {unimportable: order}})
    Addon().update_settings(settings)
    assert settings["DOWNLOADER_MIDDLEWARES"][RepDownloaderMiddleware] == 100
    settings = Settings({"SPIDER_MIDDLEWARES": {unimportable: order}})
    with pytest.raises(ValueError, match=r"robots\.txt cannot be obeyed: lacks a library$"):
        Addon().update_settings(settings)


@pytest.mark.parametrize(
    "settings", [obey(ROBOTSTXT_OBEY=False), by_hand(**BY_HAND, ROBOTSTXT_OBEY="0")]
)
async def test_where_obedience_is_off_nothing_has_to_be_built(
    site: Site, settings: dict[str, Any]
) -> None:
    """`ROBOTSTXT_OBEY = False` has the last word, and no other setting matters."""
    shop = site.authority(NOTHING)
    off = {**settings, "REP_TIMEOUT": "soon", "REP_STORE": f"{HERE}.Unconfigured"}
    result = await crawl(settings=off, plans=[shop.url("/x")])
    assert result.downloaded == [shop.url("/x")]


@pytest.mark.parametrize(
    ("store", "file"),
    [("sqlite:", ".scrapy/robots/robots.db"), ("sqlite://{}/far/r.db", "far/r.db")],
)
async def test_sqlite_needs_no_scrapy_cfg(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, file: str
) -> None:
    """As under scrapyd and cron: a settings module, and no `scrapy.cfg` above the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "tests.crawl.plugin")
    shop = site.authority(NOTHING)
    settings = obey(REP_STORE=store.format(tmp_path))
    result = (await crawl(settings=settings, plans=[shop.url("/x")])).check()
    assert result.forbidden == [shop.url("/x")]
    assert (tmp_path / file).is_file()


@pytest.fixture
def deployed(tmp_path: Path) -> Path:
    """A project without its `scrapy.cfg`."""
    (tmp_path / "shop").mkdir()
    for name, text in {"__init__": "", "settings": SETTINGS, "spiders": SPIDERS}.items():
        (tmp_path / "shop" / f"{name}.py").write_text(text)
    return tmp_path


def run(deployed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`scrapy ...` in that folder."""
    told = environment(deployed, SCRAPY_SETTINGS_MODULE="shop.settings")  # as a line of a crontab
    return run_python("-m", "scrapy", *arguments, cwd=deployed, env=told)


def test_a_store_that_is_not_configured_ends_scrapy_crawl(site: Site, deployed: Path) -> None:
    """The reason is the last line, and the status is 1."""
    shop = site.authority(NOTHING)
    store = "REP_STORE=shop.spiders.Unconfigured"
    done = run(deployed, "crawl", "shop", "-a", f"url={shop.url()}", "-s", store)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"ValueError: {UNCONFIGURED}")
    assert shop.hits == []


def test_scrapy_crawl_without_scrapy_cfg_obeys(site: Site, deployed: Path) -> None:
    """It looks for the folder of the project, and takes the one it is in."""
    shop = site.authority(NOTHING)
    done = run(deployed, "crawl", "shop", "-a", f"url={shop.url()}", "-s", "REP_STORE=sqlite:")
    assert (done.returncode, shop.page_hits) == (0, [])
    assert "'robotstxt/forbidden': 1" in done.stderr
    listed = run(deployed, "robots", "store", "list", "-s", "REP_STORE=sqlite:")
    assert listed.stderr == "scrapy robots store list: 1 site\n"
    assert run(deployed, "robots", "check", shop.url(), "-s", "REP_STORE=sqlite:").returncode == 1
    assert len(shop.robots_hits) == 1


@rows(
    "words, said",
    ("check http://127.0.0.1/", f"no robots.txt can be fetched: ValueError: {UNCONFIGURED}"),
    ("store list", UNCONFIGURED),
)
def test_the_command_says_what_is_not_configured(deployed: Path, words: str, said: str) -> None:
    """In one line, with status 2."""
    done = run(deployed, "robots", *words.split(), "-s", "REP_STORE=shop.spiders.Unconfigured")
    assert (done.returncode, done.stderr) == (2, f"scrapy robots {words.split()[0]}: {said}\n")


@pytest.mark.slow
def test_a_project_that_is_deployed_to_scrapyd_obeys(site: Site, deployed: Path) -> None:
    """Its jobs have neither a `scrapy.cfg` nor the folder of the project."""
    closed, opened, spared = site.authority(NOTHING), site.authority(), site.authority()
    jobs = [
        (closed, "sqlite:", "Forbidden by robots.txt"),
        (opened, "sqlite:", "Crawled (200)"),
        (spared, "shop.spiders.Unconfigured", f"ValueError: {UNCONFIGURED}\n"),
    ]
    with scrapyd(deployed) as call:
        assert call("addversion", project="shop", version="1", egg=egg_of(deployed))["spiders"] == 1
        job = {"project": "shop", "spider": "shop"}
        names = [
            call("schedule", **job, url=shop.url("/x"), setting=f"REP_STORE={store}")["jobid"]
            for shop, store, _ in jobs
        ]
        until(lambda: len(call("listjobs", project="shop")["finished"]) == len(jobs))
    for name, (_, _, said) in zip(names, jobs, strict=True):
        assert said in (deployed / "logs" / "shop" / "shop" / f"{name}.log").read_text()
    assert [len(shop.page_hits) for shop, _, _ in jobs] == [0, 1, 0]
    assert (deployed / ".scrapy" / "robots" / "robots.db").is_file()


@contextmanager
def scrapyd(folder: Path) -> Iterator[Callable[..., Any]]:
    """A scrapyd in this folder; a function that calls its web service."""
    port = free_port()
    config = {"http_port": port, "bind_address": "127.0.0.1", "poll_interval": 0.1}
    lines = [f"{name} = {value}" for name, value in config.items()]
    (folder / "scrapyd.conf").write_text("\n".join(["[scrapyd]", *lines]))
    with (
        (folder / "scrapyd.log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-m", "scrapyd"], cwd=folder, env=environment(), stdout=log, stderr=log
        ) as process,
    ):

        def call(name: str, **fields: str | bytes) -> Any:
            form = urlencode(fields)
            asks = name in ("daemonstatus", "listjobs")
            url = f"http://127.0.0.1:{port}/{name}.json" + (f"?{form}" if asks else "")
            with urlopen(url, None if asks else form.encode(), timeout=30) as answer:
                said = json.load(answer)
            assert said["status"] == "ok", said
            return said

        def answers() -> bool:
            assert process.poll() is None, (folder / "scrapyd.log").read_text()
            return bool(call("daemonstatus"))

        try:
            until(answers)
            yield call
        finally:
            process.terminate()


def egg_of(deployed: Path) -> bytes:
    """The project as `scrapyd-deploy` packs it."""
    path = deployed / "shop.egg"
    with ZipFile(path, "w") as egg:
        egg.writestr("EGG-INFO/PKG-INFO", "Metadata-Version: 1.0\nName: shop\nVersion: 1\n")
        egg.writestr("EGG-INFO/entry_points.txt", "[scrapy]\nsettings = shop.settings\n")
        for file in (deployed / "shop").glob("*.py"):
            egg.write(file, f"shop/{file.name}")
    return path.read_bytes()
