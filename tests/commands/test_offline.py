"""Rules from a file: every subcommand says what a crawl would do if a site served that file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from scrapy_rep import exceptions
from tests.commands.archive import write_archive
from tests.commands.running import assert_one_line, options, overriding, robots, told
from tests.crawl.plugin import NOTHING, RULES
from tests.rows import first
from tests.site import Site

PATHS = ("/a", "/art/1", "/private", "/robots.txt")


class Case(NamedTuple):
    """A robots.txt, some settings, and which of :data:`PATHS` a crawl may fetch, for what cause."""

    text: str
    settings: dict[str, str]
    allowed: str
    """One letter for each path: y or n."""
    by: str = "robots.txt"
    """What decides about the second path."""
    overrides: str = ""


USAGE = "User-agent: *\nContent-Usage: /art train-ai=n\nDisallow: /private\n"
NAMING = f"{RULES}\nUser-agent: Extended\nDisallow: /art\n"
SLOW = f"{RULES}Crawl-delay: 90\n"
SKIP = {"REP_PREFERENCES": "skip", "REP_PURPOSES": "train-ai"}
TOKENS = {"REP_PURPOSE_TOKENS": '{"train-ai": ["Extended"]}'}
FORBID = {"REP_OVER_MAX_CRAWL_DELAY": "forbid"}
DELAY = 'action = "delay"\ndelay = 1\npaths = ["/art", "/private"]'

CASES = {
    "rules": Case(f"{RULES}Disallow: /art\n", {}, "ynny"),
    "purpose": Case(USAGE, SKIP, "ynny", "usage preference"),
    "purpose that is only reported": Case(USAGE, {**SKIP, "REP_PREFERENCES": "report"}, "yyny"),
    "token of a purpose": Case(NAMING, {**SKIP, **TOKENS}, "ynny", "usage preference"),
    "delay that is too long": Case(SLOW, FORBID, "nnny", "pace"),
    "delay that is cut": Case(SLOW, {}, "yyny"),
    "override": Case(NOTHING, {}, "nyny", "override", 'action = "allow"\npaths = ["/art"]'),
    "forbidding override": Case(
        RULES, {}, "ynny", "override", 'action = "forbid"\npaths = ["/art"]'
    ),
    "pace of an override": Case(SLOW, FORBID, "nyny", "robots.txt", DELAY),
}


def test_each_reason_of_a_refusal_is_among_the_cases() -> None:
    """But for what pages say, of which these subcommands know nothing."""
    reasons = {by for name, by in vars(exceptions).items() if name.startswith("BY_")}
    assert {case.by for case in CASES.values()} == reasons - {exceptions.BY_PAGE_DIRECTIVE}


@pytest.mark.parametrize("name", first(3, CASES))
def test_file_is_judged_as_a_crawl_would_judge_it(site: Site, tmp_path: Path, name: str) -> None:
    """By `check`, `explain` and `filter`: purposes, pace, overrides, not the rules alone."""
    case = CASES[name]
    shop = site.authority(robots=case.text)
    file, rejected = tmp_path / "robots.txt", tmp_path / "rejected"
    file.write_text(case.text)
    urls = [shop.url(path) for path in PATHS]
    allowed = [url for url, answer in zip(urls, case.allowed, strict=True) if answer == "y"]
    words = options({"REP_RETRY_DELAYS": "[]", **case.settings})
    words += overriding(tmp_path, shop.url(""), case.overrides)
    read = told("check", *words, "--robots-txt", file, *urls)
    assert told("check", *words, *urls) == read
    assert [row["url"] for row in read if row["verdict"] == "allowed"] == allowed
    [explained] = told("explain", "--robots-txt", file, *words, urls[1])
    assert {name: explained[name] for name in read[1]} == read[1]
    assert explained["decided_by"] == case.by
    given = "\n".join(urls)
    reasons = []
    for where in ((), ("--robots-txt", file)):
        filtered = robots("filter", *where, *words, "--rejected", rejected, given=given)
        assert (filtered.status, filtered.out.split()) == (0, allowed), where
        reasons.append(rejected.read_text())
    assert reasons[0] == reasons[1]


def test_an_archive_is_judged_so_too(tmp_path: Path) -> None:
    """By the purposes of the crawl, and by what a refusal means in its settings."""
    text = b"User-agent: *\nContent-Usage: /art train-ai=n\n"
    archive = write_archive(
        tmp_path / "a.warc.gz",
        ("https://a.org/robots.txt", "2026-01-01T00:00:00Z", 200, text),
        ("https://denied.org/robots.txt", "2026-01-01T00:00:00Z", 403, b""),
    )
    words = options({**CASES["purpose"].settings, "REP_ACCESS_DENIED": "disallow"})
    words += ["--missing", "allow"]
    given = "https://a.org/a\nhttps://a.org/art\nhttps://denied.org/\nhttps://missing.org/\n"
    out = robots("filter", "--warc", archive, *words, given=given).out
    assert out.split() == ["https://a.org/a", "https://missing.org/"]


@pytest.mark.parametrize("name", first(1, ["filter", "check", "explain"]))
def test_bad_overrides_are_status_2_without_a_crawl_too(robots_txt: Path, name: str) -> None:
    """As at the start of a crawl."""
    words = ("--robots-txt", robots_txt, "-s", "REP_OVERRIDES=/no/such/file")
    ended = robots(name, "/dev/null" if name == "filter" else "https://e.org/", *words)
    assert_one_line(ended)
    assert "REP_OVERRIDES" in ended.err


def test_explanation_says_what_decides_and_what_the_rules_alone_say(robots_txt: Path) -> None:
    """So that the rules and the other profiles below never seem to contradict the verdict."""
    robots_txt.write_text("User-agent: *\nContent-Usage: train-ai=n\nAllow: /\n")
    words = options({"REP_PREFERENCES": "skip", "REP_PURPOSES": "train-ai"})
    out = robots("explain", "--robots-txt", robots_txt, *words, "https://e.org/a").out
    assert out.startswith(
        "disallowed: https://e.org/a\n"
        "  by usage preference: Content-Usage disallows train-ai\n"
        "  by the rules alone: Allow: /, line 3, group *\n"
    )
    out = robots("explain", "--robots-txt", robots_txt, "https://e.org/a").out
    assert "alone" not in out
