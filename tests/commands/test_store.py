"""`scrapy robots store`: what the configured store holds, as a table and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import FAST, Ended, assert_one_line, robots, told
from tests.replies import Reply
from tests.rows import first, rows
from tests.site import Authority, Site


class Stored:
    """A store with four authorities: rules, none, a refusal, and one that is unreachable.

    What a 403 says about one crawler is kept apart, and listed like every other answer.
    """

    def __init__(self, site: Site, folder: Path) -> None:
        self.words = ("-s", f"REP_STORE=sqlite://{folder}/robots.db")
        self.shop = site.authority(robots="User-agent: *\nDisallow: /a\n")
        self.others = [site.authority(robots=Reply(status)) for status in (404, 403, 503)]
        urls = [one.url("/") for one in (self.shop, *self.others)]
        robots("check", *urls, *FAST, *self.words)

    def __call__(self, *words: object, given: str = "") -> Ended:
        """How an action ends."""
        return robots("store", *words, *self.words, given=given)

    def listed(self) -> dict[str, Any]:
        """What is said of each site."""
        return {one["site"]: one for one in told("store", "list", *self.words)}


@pytest.fixture
def store(site: Site, tmp_path: Path) -> Stored:
    """Such a store."""
    return Stored(site, tmp_path)


def name(one: Authority) -> str:
    """The name of an authority in the store."""
    return one.url("")


def test_everything_about_a_store(store: Stored, tmp_path: Path) -> None:
    """List, show, export, forget and import, one after another."""
    rows = store.listed()
    several = [rows[name(one)] for one in (store.shop, *store.others)]
    found = [(row["status"], row["bytes"], row["cause"]) for row in several]
    assert found[:2] == [(200, 27, None), (404, None, None)]
    assert found[2:] == [(403, None, None), (None, None, "status 503")]
    assert store("show", store.shop.url("/any/page")).out == "User-agent: *\nDisallow: /a\n"
    exported = store("export").out
    assert store("forget", *rows).err.endswith(": 4 sites forgotten\n")
    assert store.listed() == {}
    assert store("import", given=exported).err.endswith(": 4 sites imported\n")
    assert len(store.listed()) == 4


def test_list_is_a_table(store: Stored) -> None:
    """With a heading; how many there are stands on stderr."""
    ended = store("list")
    head, *rows = ended.out.splitlines()
    assert head.split() == ["SITE", "AGE", "STATUS", "BYTES", "CAUSE"]
    [row] = [row for row in rows if row.startswith(name(store.shop))]
    assert row.split()[-2:] == ["200", "27"]
    assert ended.err == "scrapy robots store list: 4 sites\n"


def test_a_stored_body_can_be_compared(store: Stored, tmp_path: Path) -> None:
    """`show` writes the octets alone, which `diff` reads."""
    body = store("show", store.shop.url("/")).out
    assert robots("diff", "-", store.shop.url("/"), given=body).status == 0
    store.shop.robots = "User-agent: *\nDisallow: /b\n"
    ended = robots("diff", "-", store.shop.url("/"), given=body)
    assert (ended.status, ended.out.split()[:2]) == (1, ["*", "/a"])


def test_unknown_site_is_status_1(store: Stored) -> None:
    """The reason says which."""
    for action in ("show", "forget"):
        ended = store(action, "https://nobody.example/")
        assert (ended.status, ended.out) == (1, "")


EACH_BUT_IMPORT = pytest.mark.parametrize(
    "words", ["list", "export", "show https://e.org/", "forget https://e.org/"]
)


@EACH_BUT_IMPORT
@pytest.mark.parametrize("setting", first(1, ["REP_STORE=sqlite://{}/robots.db", "JOBDIR={}"]))
def test_nothing_but_import_makes_a_store(tmp_path: Path, words: str, setting: str) -> None:
    """A mistyped path is an error, not an empty store; neither a file nor a folder is made."""
    ended = robots("store", *words.split(), "-s", setting.format(tmp_path / "mistyped"))
    assert_one_line(ended)
    assert "does not exist" in ended.err
    assert not [*tmp_path.iterdir()]


@EACH_BUT_IMPORT
def test_nothing_but_import_replaces_a_damaged_store(tmp_path: Path, words: str) -> None:
    """It is an error, not an empty store; an export of nothing would pass for a copy."""
    path = tmp_path / "robots.db"
    store = ("-s", f"REP_STORE=sqlite://{path}")
    robots("store", "import", *store)
    damaged = path.read_bytes()[:512]
    path.write_bytes(damaged)
    ended = robots("store", *words.split(), *store)
    assert_one_line(ended, 3)
    assert "the store cannot be used" in ended.err
    assert path.read_bytes() == damaged
    assert robots("store", "import", *store)[:2] == (0, "")
    assert (tmp_path / "robots.db.corrupt").read_bytes() == damaged


@pytest.mark.parametrize("given", first(2, ["{}", "nonsense", "[1]", '{"site": "x"}', "\0"]))
def test_bad_import_is_status_2(tmp_path: Path, given: str) -> None:
    """And the number of the entry is said."""
    store = ("-s", f"REP_STORE=sqlite://{tmp_path}/robots.db")
    ended = robots("store", "import", *store, given=given)
    assert ended.status == 2
    assert "entry 1" in ended.err


@rows(
    "store, status, said",
    ("memory:", 2, "REP_STORE names no store"),
    ("redis://127.0.0.1:9/0", 3, "the store cannot be used"),
    ("sqlite://{}/robots.db", 2, "REP_STORE"),
)
def test_a_store_that_cannot_be_used_is_a_line(
    tmp_path: Path, store: str, status: int, said: str
) -> None:
    """Memory outlives no process, no server listens; a file that is no store is left as it is."""
    (tmp_path / "robots.db").write_text("precious")
    ended = robots("store", "list", "-s", f"REP_STORE={store.format(tmp_path)}")
    assert_one_line(ended, status)
    assert said in ended.err
    assert (tmp_path / "robots.db").read_text() == "precious"
