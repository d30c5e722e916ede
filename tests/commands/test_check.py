"""`scrapy robots check`: what it says is what a crawl would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.running import FAST, options, robots, told
from tests.crawl.harness import EACH_MODE, MODES
from tests.replies import Reply
from tests.rows import first
from tests.site import Authority, Site

RULES = (
    "User-agent: *\nDisallow: /private\n\nUser-agent: mybot\nDisallow: /search\nCrawl-delay: 2\n"
)


@pytest.fixture
def shop(site: Site) -> Authority:
    """A site with those rules."""
    return site.authority(robots=RULES)


def test_row_says_by_which_line_and_where_that_came_from(shop: Authority) -> None:
    """Outside a project the crawler is Scrapy, for which there is no group of its own."""
    [one, other] = told("check", shop.url("/private/x"), shop.url("/search"))
    assert one == {
        "url": shop.url("/private/x"), "verdict": "disallowed", "allowed": False, "reason": "rule",
        "overruled": None, "rule": "Disallow: /private", "line": 2, "group": "*", "delay": None,
        "decided_by": "robots.txt", "agent": ["Scrapy"], "profile": "rfc9309", "override": None,
        "preferences": None, "lack_of_rules": None,
    }  # fmt: skip
    assert other["verdict"] == "allowed"
    assert len(shop.robots_hits) == 1


def test_text_has_a_line_for_each_url(site: Site, shop: Authority) -> None:
    """The verdict first, then the URL as given, then why."""
    gone = site.authority(robots=Reply(404))
    urls = shop.url("/search"), shop.url("/a"), gone.url("/a")
    ended = robots("check", "--agent", "mybot", *urls)
    assert ended.out.splitlines() == [
        f"disallowed  {shop.url('/search')}  Disallow: /search, line 5, group mybot",
        f"allowed     {shop.url('/a')}  no rule matches, group mybot",
        f"allowed     {gone.url('/a')}  no robots.txt: status 404",
    ]
    assert ended.err == "scrapy robots check: of 3 URLs, 1 disallowed\n"


def test_unreachable_goes_before_disallowed(site: Site) -> None:
    """Its cause is said on its line."""
    shop = site.authority(robots="User-agent: *\nDisallow: /\n")
    down = site.authority(robots=Reply(503))
    ended = robots("check", shop.url("/a"), down.url("/b"), *FAST)
    assert ended.status == 3
    assert ended.out.endswith(f"unreachable  {down.url('/b')}  status 503\n")
    assert ended.err == "scrapy robots check: of 2 URLs, 1 disallowed, 1 unreachable\n"


@pytest.mark.parametrize("store", first(1, ["sqlite:robots.db", "memory:"]))
def test_failure_is_told_with_what_its_error_says(
    shop: Authority, project: Path, store: str
) -> None:
    """By each subcommand, and once more from the store."""
    (project / "shop" / "broken.py").write_text(
        "class Broken:\n"
        "    def process_response(self, request, response):\n"
        "        raise RuntimeError('no \\x1b[2J tunnel')\n"
    )
    words = ("-s", 'DOWNLOADER_MIDDLEWARES={"shop.broken.Broken": 1}', "-s", f"REP_STORE={store}")
    url = shop.url("/a")
    said = r"error: no \x1b[2J tunnel"
    for _ in range(2):
        ended = robots("check", url, *words, cwd=project)
        assert (ended.status, ended.out) == (3, f"unreachable  {url}  {said}\n")
    assert told("check", url, *words, cwd=project)[0]["lack_of_rules"] == said
    assert f": {said}\n" in robots("explain", url, *words, cwd=project).out
    for words_of_two in (("lint", url), ("diff", "/dev/null", url)):
        ended = robots(*words_of_two, *words, cwd=project)
        assert ended.err.endswith(f"the robots.txt of {url} is unreachable: {said}\n")
    assert robots("sitemaps", url, *words, cwd=project).err.endswith(f"{shop.url('')}: {said}\n")


def test_rules_from_a_file_need_no_network(robots_txt: Path) -> None:
    """A file is tried before it is published. The first agent that has a group counts."""
    words = ("check", "--robots-txt", robots_txt)
    [one, other] = told(*words, "https://e.invalid/private", "ftp://e.invalid/private")
    assert (one["verdict"], one["line"]) == ("disallowed", 2)
    assert (other["verdict"], other["reason"]) == ("allowed", "no robots.txt governs this scheme")
    [one] = told(*words, "--agent", "unknown", "--agent", "mybot", "https://e.invalid/search")
    assert (one["group"], one["verdict"], one["delay"]) == ("mybot", "disallowed", 2)


def test_usage_preferences_are_shown(robots_txt: Path) -> None:
    """For a page that may be fetched, by purpose."""
    text = "User-agent: *\nContent-Usage: train-ai=n, search=y\nDisallow: /private\n"
    robots_txt.write_text(text)
    words = ("--robots-txt", robots_txt, "https://e.invalid/a", "https://e.invalid/private")
    [one, other] = told("check", *words)
    assert one["preferences"] == {"train-ai": "disallowed", "search": "allowed"}
    assert other["preferences"] is None


@pytest.mark.parametrize("layout", ["scrapy.cfg", "pyproject.toml"])
def test_in_a_project_its_settings_count(shop: Authority, project: Path, layout: str) -> None:
    """Its identity and its store; neither pipelines nor extensions are made, no feed is written."""
    if layout == "pyproject.toml":
        (project / "scrapy.cfg").rename(project / "old.cfg")
        (project / "pyproject.toml").write_text(
            '[tool.scrapy.settings]\ndefault = "shop.settings"\n'
        )
        from scrapy.utils import conf

        if "pyproject" not in Path(conf.__file__).read_text():
            pytest.skip("this Scrapy reads scrapy.cfg alone")
    for _ in range(2):
        [one] = told("check", shop.url("/search"), cwd=project)
        assert (one["agent"], one["verdict"]) == (["mybot"], "disallowed")
    assert not (project / "items.jsonl").exists()
    assert len(shop.robots_hits) == 1


def test_spider_brings_its_own_identity(site: Site, project: Path) -> None:
    """And none of its requests is made."""
    shop = site.authority(robots=RULES + "\nUser-agent: shopbot\nDisallow: /\n")
    [one] = told("check", "--spider", "shop", shop.url("/a"), cwd=project)
    assert (one["agent"], one["verdict"]) == (["shopbot"], "disallowed")
    assert one["profile"] == "1994"


def test_spider_counts_for_rules_from_a_file_too(project: Path, robots_txt: Path) -> None:
    """Its identity and its custom settings: 1994 knows no Allow."""
    robots_txt.write_text("User-agent: shopbot\nDisallow: /a\nAllow: /a/b\n")
    url = "https://e.invalid/a/b"
    words = ("--spider", "shop", "--robots-txt", robots_txt)
    [one] = told("check", *words, url, cwd=project)
    assert (one["agent"], one["profile"], one["verdict"]) == (["shopbot"], "1994", "disallowed")
    assert robots("explain", *words, url, cwd=project).status == 1
    assert robots("filter", *words, given=url, cwd=project).out == ""


def test_a_store_in_memory_leaves_that_of_the_project_alone(shop: Authority, project: Path) -> None:
    """It is neither read nor written."""
    memory = ("-s", "REP_STORE=memory:")
    told("check", *memory, shop.url("/a"), cwd=project)
    assert not [*project.rglob("robots.db")]
    told("check", shop.url("/a"), cwd=project)
    told("check", *memory, shop.url("/a"), cwd=project)
    assert len(shop.robots_hits) == 3


def test_a_project_that_does_not_obey_is_asked_as_if_it_did(shop: Authority, project: Path) -> None:
    """The verdict is that of a crawl that does."""
    words = ("-s", "ROBOTSTXT_OBEY=False", "-s", "ADDONS={}")
    assert robots("check", *words, shop.url("/search"), cwd=project).status == 1


@pytest.mark.parametrize("mode", EACH_MODE)
def test_every_reactor_will_do(shop: Authority, mode: str) -> None:
    """And none."""
    ended = robots("check", shop.url("/private"), *options(MODES[mode]))
    assert ended.status == 1
    assert ended.out.startswith("disallowed")
    shop.robots = "User-agent: *\nDisallow: /a(b)\n"  # as aiohttp sends it
    ended = robots("check", shop.url("/a%28b%29"), *options(MODES[mode]))
    assert ended.status == (mode == "none")


@pytest.mark.parametrize("mode", EACH_MODE)
def test_every_subcommand_judges_what_is_sent(shop: Authority, tmp_path: Path, mode: str) -> None:
    """With rules from a file, too, and in what it explains."""
    file, url, words = tmp_path / "robots.txt", shop.url("/a%28b%29"), options(MODES[mode])
    shop.robots = "User-agent: *\nDisallow: /a(b)\n"  # as aiohttp sends it
    file.write_text(shop.robots)
    for where in ((), ("--robots-txt", file)):
        [one] = told("explain", *words, *where, url)
        assert one["allowed"] is one["by_rules"]["allowed"] is (mode != "none"), where
        passed = robots("filter", *words, *where, given=url).out
        assert passed == ("" if mode == "none" else f"{url}\n"), where
