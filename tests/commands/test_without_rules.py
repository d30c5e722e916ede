"""Sites without rules, or with an override: the verdict of a crawl, and the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands.running import FAST, options, overriding, results, robots, told
from tests.crawl.harness import crawl_in_child
from tests.crawl.plugin import NOTHING, obey
from tests.crawl.result import Ending
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

PATHS = ("/a", "/b")
OVERRIDES = {
    "none": "",
    "allow": 'action = "allow"',
    "forbid": 'action = "forbid"',
    "unreachable is allowed": 'action = "unreachable-is-allowed"',
    "other agent": 'action = "agent"\nagent = "otherbot"',
}


class Told(NamedTuple):
    """A verdict and its reason, in the words of a crawl."""

    verdict: str
    reason: str


def by_crawl(ending: Ending) -> Told:
    """How a request ended."""
    if ending.problem is None:
        return Told("allowed", "")
    verdict = ending.problem.data["verdict"]
    kind = {"forbidden": "disallowed"}.get(ending.kind, ending.kind)
    return Told(kind, verdict["reason"])


def by_check(row: dict[str, Any]) -> Told:
    """What `check` says of a URL."""
    return Told(row["verdict"], "" if row["verdict"] == "allowed" else row["reason"])


def by_explain(words: list[str], url: str) -> Told:
    """What `explain` says of a URL; it ends with status 3 where the rules are undefined."""
    ended = robots("explain", "--format", "json", *words, url)
    [said] = results(ended.out)
    assert ended.status == {"allowed": 0, "disallowed": 1, "unreachable": 3}[said["verdict"]]
    return by_check(said)


@pytest.mark.parametrize("status", [503, pytest.param(403, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", first(2, OVERRIDES))
def test_what_decides_in_a_crawl_decides_here(
    site: Site, tmp_path: Path, case: str, status: int
) -> None:
    """Whether that is the lack of rules or an override."""
    shop = site.authority(robots=Reply(status))
    file = overriding(tmp_path, shop.url(""), OVERRIDES[case])[1].partition("=")[2]
    settings = {"REP_ACCESS_DENIED": "disallow", "REP_OVERRIDES": file}
    urls = [shop.url(path) for path in PATHS]
    result = crawl_in_child(settings=obey(**settings), plans=urls)
    crawled = [by_crawl(result.ending(url)) for url in urls]
    words = options({**settings, "REP_RETRY_DELAYS": "[]"})
    assert [by_check(row) for row in told("check", *words, *urls)] == crawled
    assert [by_explain(words, url) for url in urls] == crawled
    ended = robots("filter", *words, "--rejected", tmp_path / "rejected", given="\n".join(urls))
    verdicts = dict(zip(urls, crawled, strict=True))
    assert ended.out.split() == [url for url in urls if verdicts[url].verdict == "allowed"]
    rejected = dict(line.split("\t") for line in (tmp_path / "rejected").read_text().splitlines())
    for url, said in verdicts.items():
        if said.verdict != "allowed":
            assert rejected[url].startswith("Disallow: " if said.reason == "rule" else said.reason)


def test_url_that_an_override_forbids_is_decided_where_the_site_is_unreachable(
    site: Site, tmp_path: Path
) -> None:
    """By `filter` too: it is disallowed, as in a crawl, and only the others are undecided."""
    shop = site.authority(robots=Reply(503))
    actions = [f'action = "{action}"\npaths = ["/a"]' for action in ("allow", "forbid")]
    rejected, overrides = tmp_path / "rejected", overriding(tmp_path, shop.url(""), *actions)
    words = (*FAST, *overrides, "--rejected", rejected)
    urls = [shop.url("/a"), shop.url("/b")]
    ended = robots("filter", *words, given=urls[0])
    said = "scrapy robots filter: 1 line: 1 disallowed\n"
    assert ended == (0, "", said)
    assert rejected.read_text().startswith(f"{urls[0]}\toverride: forbid, entry 2: ours (ops, ")
    ended = robots("filter", *words, given="\n".join(urls))
    assert ended == (3, "", "scrapy robots filter: 2 lines: 1 disallowed, 1 undecided\n")
    settings = obey(REP_OVERRIDES=overrides[1].partition("=")[2])
    crawled = crawl_in_child(settings=settings, plans=urls)
    assert [by_crawl(crawled.ending(url)).verdict for url in urls] == ["disallowed", "unreachable"]


@pytest.mark.parametrize("status", [503, 403])
def test_robots_txt_itself_is_allowed(site: Site, tmp_path: Path, status: int) -> None:
    """RFC 9309 section 2.2.2."""
    shop = site.authority(robots=Reply(status))
    words = options({"REP_RETRY_DELAYS": "[]", "REP_ACCESS_DENIED": "disallow"})
    urls = [shop.url("/robots.txt"), shop.url("/a")]
    rows = told("check", *words, *urls)
    assert [row["verdict"] == "allowed" for row in rows] == [True, False]
    assert rows[0]["reason"] == "robots.txt itself"
    assert robots("check", *words, urls[0]).status == 0
    assert robots("explain", *words, urls[0]).status == 0
    assert robots("filter", *words, given="\n".join(urls)).out.split() == urls[:1]


def test_explain_names_the_rule_of_an_override_that_agrees_with_the_site(
    site: Site, tmp_path: Path
) -> None:
    """No verdict has changed, but the group of the site has not decided."""
    shop = site.authority(robots="User-agent: *\nDisallow: /\n\nUser-agent: slow\nDisallow: /a\n")
    action = 'action = "agent"\nagent = "slow"'
    words = (*overriding(tmp_path, shop.url(""), action), *FAST)
    ended = robots("explain", *words, shop.url("/a"))
    assert ended.status == 1
    assert "  by override: Disallow: /a, line 5, group slow\n" in ended.out
    [said] = told("explain", *words, shop.url("/a"))
    assert (said["decided_by"], said["override"]) == ("override", None)


def test_both_verdicts_are_shown_where_an_override_changes_one(site: Site, tmp_path: Path) -> None:
    """By `check` on the line of the URL; by `explain` on one line each."""
    shop = site.authority(robots=NOTHING)
    words = overriding(tmp_path, shop.url("/"), 'action = "allow"\npaths = ["/a"]')
    ended = robots("check", *words, shop.url("/a"))
    assert ended.status == 0
    [line] = ended.out.splitlines()
    assert line.startswith(
        f"allowed     {shop.url('/a')}  override: allow, entry 1: ours (ops, until"
    )
    assert line.endswith("without it: forbidden, Disallow: /, line 2, group *")
    ended = robots("explain", *words, shop.url("/a"))
    assert ended.status == 0
    first, by, rules, *_ = ended.out.splitlines()
    assert first == f"allowed: {shop.url('/a')}"
    assert by.startswith("  by override: allow, entry 1: ours (ops")
    assert rules == "  by the rules alone: Disallow: /, line 2, group *"


def test_an_unreachable_site_can_be_explained(site: Site, tmp_path: Path) -> None:
    """Although there are no rules."""
    shop = site.authority(robots=Reply(503))
    action = 'action = "unreachable-is-allowed"\npaths = ["/a"]'
    words = (*overriding(tmp_path, shop.url("/"), action), *FAST)
    ended = robots("explain", *words, shop.url("/a"))
    assert ended.out.splitlines()[0] == f"allowed: {shop.url('/a')}"
    assert ended.out.endswith("  by the rules alone: status 503\n")
    assert robots("explain", *words, shop.url("/b")).status == 3
