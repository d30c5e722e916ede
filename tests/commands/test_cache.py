"""`scrapy robots cache`: what the configured store holds, as lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import robots
from tests.replies import Reply
from tests.site import Authority, Site


class Stored:
    """A store with three authorities: rules, none, and one that is unreachable."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.words = ("-s", f"REP_STORE=sqlite://{folder}/robots.db")
        self.shop = site.authority(robots="User-agent: *\nDisallow: /a\n")
        self.gone = site.authority(robots=Reply(404))
        self.down = site.authority(robots=Reply(503))
        urls = [one.url("/") for one in (self.shop, self.gone, self.down)]
        robots("check", *urls, "-s", "REP_RETRY_DELAYS=[]", *self.words)

    def __call__(self, *words: object, given: str = "", status: int = 0) -> list[dict[str, Any]]:
        """What an action prints."""
        ended = robots("cache", *words, *self.words, given=given)
        assert ended.status == status, ended.err
        return [json.loads(line) for line in ended.out.splitlines()]


@pytest.fixture
def cache(site: Site, tmp_path: Path) -> Stored:
    """Such a store."""
    return Stored(site, tmp_path)


def name(one: Authority) -> str:
    """The name of an authority in the store."""
    return one.url("")


def test_everything_about_a_store(cache: Stored, tmp_path: Path) -> None:
    """Count, list, show, expire, export, import and forget, one after another."""
    assert cache("count") == [{"authorities": 3}]
    listed = {one["authority"]: one for one in cache("list")}
    assert listed[name(cache.shop)]["state"] == "rules"
    assert listed[name(cache.shop)]["octets"] == 27
    assert listed[name(cache.gone)]["state"] == "unavailable"
    assert listed[name(cache.gone)]["status"] == 404
    assert listed[name(cache.down)]["state"] == "unreachable"
    assert listed[name(cache.down)]["cause"] == "status 503"
    [shown] = cache("show", cache.shop.url("/any/page"))
    assert shown["entry"]["answer"]["body"] == "User-agent: *\nDisallow: /a\n"
    assert cache("expire", cache.shop.url("/")) == [{"expired": 1}]
    assert cache("show", cache.shop.url("/"))[0]["worth"] == "rules, expired"
    exported = "\n".join(map(json.dumps, cache("export")))
    assert cache("forget", "--state", "unreachable") == [{"forgotten": 1}]
    assert cache("forget", "--all") == [{"forgotten": 2}]
    assert cache("count") == [{"authorities": 0}]
    assert cache("import", given=exported) == [{"imported": 3}]
    assert cache("count") == [{"authorities": 3}]


def test_filters_select(cache: Stored) -> None:
    """By prefix, age, state and cause."""
    assert cache("count", "--prefix", name(cache.shop)) == [{"authorities": 1}]
    assert cache("count", "--prefix", "https://") == [{"authorities": 0}]
    assert cache("count", "--older-than", "3600") == [{"authorities": 0}]
    assert cache("count", "--older-than", "0") == [{"authorities": 3}]
    states = ("--state", "rules", "--state", "unreachable")
    assert cache("count", *states) == [{"authorities": 2}]
    assert [one["authority"] for one in cache("list", "--cause", "503")] == [name(cache.down)]


def test_unknown_authority_is_status_1(cache: Stored) -> None:
    """The reason says which."""
    assert cache("show", "https://nobody.example/", status=1) == []


@pytest.mark.parametrize(
    "words",
    [("forget",), ("expire",), ("show",), ("forget", "--all", "https://e.org/")],
    ids=" ".join,
)
def test_nothing_is_changed_by_a_word_left_out(tmp_path: Path, words: tuple[str, ...]) -> None:
    """`forget` alone is no order to forget everything."""
    store = ("-s", f"REP_STORE=sqlite://{tmp_path}/robots.db")
    robots("cache", "import", *store)
    assert robots("cache", *words, *store).status == 2


@pytest.mark.parametrize(
    "words",
    [
        *[("cache", action) for action in ("count", "list", "export")],
        *[("cache", action, "https://e.org/") for action in ("show", "forget", "expire")],
        ("diff", "store:https://e.org/", "/dev/null"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("setting", ["REP_STORE=sqlite://{}/robots.db", "JOBDIR={}"])
def test_nothing_but_import_makes_a_store(
    tmp_path: Path, words: tuple[str, ...], setting: str
) -> None:
    """A mistyped path is an error, not an empty store; neither a file nor a folder is made."""
    ended = robots(*words, "-s", setting.format(tmp_path / "mistyped"))
    assert (ended.status, ended.out) == (2, "")
    assert "does not exist" in ended.err
    assert ended.err.count("\n") == 1
    assert not [*tmp_path.iterdir()]


def test_import_makes_the_store(tmp_path: Path) -> None:
    """A copy may go to a new place."""
    ended = robots("cache", "import", "-s", f"REP_STORE=sqlite://{tmp_path}/new/robots.db")
    assert (ended.status, ended.out) == (0, '{"imported": 0}\n')


@pytest.mark.parametrize("given", ["{}", "nonsense", "[1]", '{"authority": "x"}', "\0"])
def test_bad_import_is_status_2(tmp_path: Path, given: str) -> None:
    """And the number of the entry is said."""
    store = ("-s", f"REP_STORE=sqlite://{tmp_path}/robots.db")
    ended = robots("cache", "import", *store, given=given)
    assert ended.status == 2
    assert "entry 1" in ended.err


def test_without_a_store_is_status_2() -> None:
    """Memory outlives no process."""
    ended = robots("cache", "count")
    assert ended.status == 2
    assert "REP_STORE" in ended.err


def test_store_that_is_down_is_status_3() -> None:
    """Here no server listens."""
    ended = robots("cache", "count", "-s", "REP_STORE=redis://127.0.0.1:9/0")
    assert ended.status == 3
    assert ended.err.count("\n") == 1


def test_file_that_is_no_store_is_status_2(tmp_path: Path) -> None:
    """It is left as it is."""
    (tmp_path / "robots.db").write_text("precious")
    ended = robots("cache", "count", "-s", f"REP_STORE=sqlite://{tmp_path}/robots.db")
    assert ended.status == 2
    assert (tmp_path / "robots.db").read_text() == "precious"
