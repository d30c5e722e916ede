"""Sites without rules: every subcommand gives the verdict of a crawl, and the reason."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands.running import results, robots
from tests.crawl.harness import crawl_in_child
from tests.crawl.plugin import obey
from tests.crawl.result import Ending
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

PATHS = ("/a", "/b")
LATER = f"{(time.gmtime().tm_hour + 6) % 24:02}"
TDMREP = dumps([{"location": "/a", "tdm-reservation": 1}]).encode()
OVERRIDES = {
    "none": "",
    "allow": 'action = "allow"',
    "forbid": 'action = "forbid"',
    "unreachable is allowed": 'action = "unreachable-is-allowed"',
    "other agent": 'action = "agent"\nagent = "otherbot"',
}
SETTINGS = {
    "REP_ACCESS_DENIED": "disallow",
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
    reason = "" if row["verdict"] == "allowed" else row["reason"]
    return Told(row["verdict"], reason.replace(": status 503", ""))


def by_explain(words: tuple[object, ...], url: str) -> Told:
    """What `explain` says of a URL; it ends with status 3 where the rules are undefined."""
    ended = robots("explain", "--format", "json", *words, url)
    if ended.status == 3:
        return Told("unreachable", "unreachable")
    [said] = results(ended.out)
    assert ended.status == (said["verdict"] != "allowed")
    return by_check(said)


@pytest.mark.parametrize("status", [503, pytest.param(403, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", first(2, OVERRIDES))
def test_what_decides_in_a_crawl_decides_here(
    site: Site, tmp_path: Path, case: str, status: int
) -> None:
    """Whether that is the lack of rules or an override."""
    shop = site.authority(robots=Reply(status))
    tomorrow = datetime.now(timezone.utc).date() + timedelta(days=1)
    head = f'[[override]]\nauthority = "{shop.url("")}"\nreason = "ours"\nby = "ops"\n'
    text = f"{head}until = {tomorrow}\n{OVERRIDES[case]}\n" if OVERRIDES[case] else ""
    (tmp_path / "overrides.toml").write_text(text)
    settings = {**SETTINGS, "REP_OVERRIDES": str(tmp_path / "overrides.toml")}
    urls = [shop.url(path) for path in PATHS]
    result = crawl_in_child(
        settings=obey(**settings),
        plans=urls,
    )
    crawled = [by_crawl(result.ending(url)) for url in urls]
    chosen = {**settings, "REP_RETRY_DELAYS": "[]"}
    words = tuple(word for name, value in chosen.items() for word in ("-s", f"{name}={value}"))
    rows = results(robots("check", "--format", "json", *words, *urls).out)
    assert [by_check(row) for row in rows] == crawled
    assert [by_explain(words, url) for url in urls] == crawled
    ended = robots("filter", *words, "--rejected", tmp_path / "rejected", given="\n".join(urls))
    assert ended.out.split() == [
        url for url, told in zip(urls, crawled, strict=True) if told.verdict == "allowed"
    ]
    rejected = dict(line.split("\t") for line in (tmp_path / "rejected").read_text().splitlines())
    for url, told in zip(urls, crawled, strict=True):
        if told.verdict != "allowed":
            told_rule = told.reason == "rule"
            assert rejected[url].startswith("Disallow: " if told_rule else told.reason)


@pytest.mark.parametrize("status", [503, 403])
def test_robots_txt_itself_is_allowed(site: Site, tmp_path: Path, status: int) -> None:
    """RFC 9309 section 2.2.2."""
    shop = site.authority(robots=Reply(status))
    words = ("-s", "REP_RETRY_DELAYS=[]", "-s", "REP_ACCESS_DENIED=disallow")
    urls = [shop.url("/robots.txt"), shop.url("/a")]
    rows = results(robots("check", "--format", "json", *words, *urls).out)
    assert [row["verdict"] == "allowed" for row in rows] == [True, False]
    assert rows[0]["reason"] == "robots.txt itself"
    assert robots("check", *words, urls[0]).status == 0
    assert robots("explain", *words, urls[0]).status == 0
    assert robots("filter", *words, given="\n".join(urls)).out.split() == urls[:1]


def test_explain_names_the_rule_of_an_override_that_agrees_with_the_site(
    site: Site, tmp_path: Path
) -> None:
    """No verdict has changed, but the group of the site has not decided."""
    tomorrow = datetime.now(timezone.utc).date() + timedelta(days=1)
    shop = site.authority(robots="User-agent: *\nDisallow: /\n\nUser-agent: slow\nDisallow: /a\n")
    (tmp_path / "overrides.toml").write_text(
        f'[[override]]\nauthority = "{shop.url("")}"\naction = "agent"\nagent = "slow"\n'
        f'reason = "ours"\nby = "ops"\nuntil = {tomorrow}\n'
    )
    words = ("-s", f"REP_OVERRIDES={tmp_path / 'overrides.toml'}", "-s", "REP_RETRY_DELAYS=[]")
    ended = robots("explain", *words, shop.url("/a"))
    assert ended.status == 1
    assert "  the rules of an override: Disallow: /a (line 5, group slow)\n" in ended.out
    [said] = results(robots("explain", "--format", "json", *words, shop.url("/a")).out)
    assert (said["decided_by"], said["override"]) == ("override", None)
