"""Every key that asks for a pace is read, searched for, checked and shown.

The tests go by ``PACE`` and ``SPELLINGS``, so that a key that is added is tested without more.
"""

from __future__ import annotations

from pathlib import Path

import scrapy_rep
from scrapy_rep import RobotsTxt
from scrapy_rep.linting.checks import lint
from scrapy_rep.linting.effects import difference
from scrapy_rep.robotstxt.lines import AGENT, CLEAN_PARAM, HOST, SITEMAP, SPELLINGS
from scrapy_rep.robotstxt.pace import PACE
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.rows import rows

EXAMPLES = {key: row.wanted.split(": ", 1)[1] for key, row in PACE.items()}
"""A line with each key, as a finding recommends it: ``Crawl-delay: 10``."""

SPELT = [(key, spelling) for key in PACE for spelling in SPELLINGS[key]]
RULES = "User-agent: *\nDisallow: /x\n"
GUIDE = Path(scrapy_rep.__file__).parent.parent / "docs" / "guides" / "politeness.rst"


def value_of(key: str) -> str:
    """The value of the example."""
    return EXAMPLES[key].partition(": ")[2]


def test_every_key_is_a_rule_or_is_read_by_someone() -> None:
    """A key that has spellings alone is read by nothing, and counts as known all the same."""
    read = {AGENT, SITEMAP, HOST, CLEAN_PARAM, *PACE}
    assert set(SPELLINGS) == read, f"not in PACE: {set(SPELLINGS) - read}"


@rows("key, spelling", SPELT)
def test_each_spelling_asks_for_a_pace(key: str, spelling: str) -> None:
    """In every profile, in any case; a text without such a line is not even parsed for it."""
    for profile in PROFILES:
        for written in (spelling, spelling.upper(), spelling.title()):
            body = f"{RULES}{written}: {value_of(key)}\n"
            pace = RobotsTxt.parse(body, profile=profile).pace("a")
            assert [*pace.rates] == [key], f"{written} is not read by {profile}"
            assert pace.interval == pace.rates[key].interval > 0


@rows("key", PACE)
def test_the_politest_of_several_keys_counts(key: str) -> None:
    """Whichever it is."""
    others = "".join(f"{EXAMPLES[other]}\n" for other in PACE if other != key)
    body = f"{RULES}{others}"
    slow = next(
        value
        for value in (value_of(key) + "0" * digits for digits in range(5))
        if RobotsTxt.parse(f"{RULES}{key}: {value}\n").pace("a").interval > 100
    )
    pace = RobotsTxt.parse(f"{body}{key}: {slow}\n").pace("a")
    assert pace.interval == pace.rates[key].interval > 100
    assert set(pace.rates) == set(PACE)


@rows("key", PACE)
def test_each_key_is_checked(key: str) -> None:
    """Its example is right; a value that is not understood is reported with the example."""
    assert not lint(f"{RULES}{EXAMPLES[key]}\n".encode())
    [found] = lint(f"{RULES}{key.capitalize()}: soon\n".encode())
    assert (found.code, found.fix) == ("value-unreadable", f"write {PACE[key].wanted}")
    assert RobotsTxt.parse(f"{RULES}{key}: soon\n").pace("a").void == f"{key}: soon"
    [before] = [one for one in lint(f"{EXAMPLES[key]}\n{RULES}".encode()) if one.line == 1]
    assert before.code == "rule-before-group"


@rows("key", PACE)
def test_a_change_of_each_key_is_shown(key: str) -> None:
    """``scrapy robots diff``."""
    [one] = difference(RULES.encode(), f"{RULES}{EXAMPLES[key]}\n".encode())
    assert one.old_pace == {}
    assert [*one.new_pace] == [key.replace("-", " ")]


@rows("key", PACE)
def test_each_key_is_in_the_guide(key: str) -> None:
    """Operators see what is obeyed."""
    obeyed = GUIDE.read_text("utf-8").partition("``Visit-time`` is not read")[0]
    assert key.capitalize() in obeyed, f"{GUIDE.name} does not name {key}"
