"""Every setting: its form on the command line, and what is refused at the start."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

import scrapy_rep
from scrapy_rep import settings
from scrapy_rep.access.policy import Policy
from scrapy_rep.records.recorder import _NOT_LOGGED
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.settings import SETTINGS, RepSettings, unknown_settings
from tests.crawl.harness import crawl
from tests.crawl.plugin import obey
from tests.replies import Reply
from tests.rows import rows
from tests.site import Site

DAY = 86_400.0

PRIVATE = {settings._path, settings._archive, settings._overrides}
"""The checks of settings that may hold a path."""

FIELDS = {name: field.name for name, field in SETTINGS.items()}
"""Each setting that there is, and the field of `RepSettings` that holds its value."""


# setting: (as on the command line, what it comes to)
FROM_TEXT: dict[str, tuple[str, Any]] = {
    "ROBOTSTXT_USER_AGENT": ("mybot", ("mybot",)),
    "REP_PROFILE": ("google", "google"),
    "REP_STORE": ("sqlite:", "sqlite:"),
    "REP_STORE_LIMIT": ("1048576", 1_048_576),
    "REP_STORE_PREFIX": ("shop-2", "shop-2"),
    "REP_MEMORY_LIMIT": ("1048576", 1_048_576),
    "REP_MAX_SIZE": ("1000000", 1_000_000),
    "REP_TIMEOUT": ("2.5", 2.5),
    "REP_RETRY_DELAYS": ("0.5,2", (0.5, 2.0)),
    "REP_UNREACHABLE_TTL": ("30, 600", (30.0, 600.0)),
    "REP_STALE_IF_UNREACHABLE": ("0", 0.0),
    "REP_DEFER_UNREACHABLE": ("600", 600.0),
    "REP_MAX_TTL": ("3600", 3_600.0),
    "REP_ACCESS_DENIED": ("disallow", "disallow"),
    "REP_MAX_REDIRECTS": ("10", 10),
    "REP_CRAWL_DELAY": ("False", False),
    "REP_MAX_CRAWL_DELAY": ("10", 10.0),
    "REP_OVER_MAX_CRAWL_DELAY": ("forbid", "forbid"),
    "REP_SHARED_PACE": ("False", False),
    "REP_PAGE_DIRECTIVES": ("obey", "obey"),
    "REP_NOINDEX": ("drop", "drop"),
    "REP_LINK_NOFOLLOW": ("True", True),
    "REP_PREFERENCES": ("drop", "drop"),
    "REP_PURPOSES": ("train-ai, tdm", ("train-ai", "tdm")),
    "REP_PURPOSE_TOKENS": ('{"train-ai": "Google-Extended"}', {"train-ai": ("Google-Extended",)}),
    "REP_OVERRIDES": (" overrides.toml", "overrides.toml"),
    "REP_DECISION_LOG": ("decisions.jsonl ", "decisions.jsonl"),
    "REP_DECISIONS": ("all", "all"),
    "REP_LOG_URLS": ("hash", "hash"),
    "REP_DECISION_LOG_REQUIRED": ("True", True),
    "REP_WARC": ("a/robots.warc.gz", "a/robots.warc.gz"),
}

BAD: dict[str, list[Any]] = {
    "ROBOTSTXT_USER_AGENT": [[], [""], 7, ["mybot", None], "  "],
    "REP_PROFILE": ["rfc9308", "", 1, "RFC9309 "],
    "REP_STORE": [5, ["sqlite:"], b"sqlite:", "nonsense:", "no.such.Store", f"{__name__}.DAY"],
    "REP_STORE_LIMIT": [0, 1_048_575, "much", 10**400, True],
    "REP_STORE_PREFIX": ["", "a b", "{shop}", "caf\u00e9", "a\n", 5, b"a"],
    "REP_MEMORY_LIMIT": [0, -1, "much", 1_048_575, True, float("nan"), 1_048_576.5],
    "REP_MAX_SIZE": [511_999, 0, -1, "500K", float("inf")],
    "REP_TIMEOUT": [0, -1, "soon", float("nan"), float("inf"), "", True],
    "REP_RETRY_DELAYS": [[-1], ["x"], "1,x", [float("nan")], {"a": 1}, {1: 2}, {1, 2}, b"x"],
    "REP_UNREACHABLE_TTL": [[], [60], [60, 30], [0, 10], [1, 2, 3], "60", 60, {60, 61}, b"<="],
    "REP_STALE_IF_UNREACHABLE": [-1, "always", float("nan")],
    "REP_DEFER_UNREACHABLE": [-1, "10 min", True, "", [600], float("inf")],
    "REP_MAX_TTL": [59, 86_401, -1, "day"],
    "REP_ACCESS_DENIED": ["maybe", "", True],
    "REP_MAX_REDIRECTS": [4, -1, 5.5, "many"],
    "REP_CRAWL_DELAY": ["perhaps", 2, ""],
    "REP_MAX_CRAWL_DELAY": [-1, "long", float("inf")],
    "REP_OVER_MAX_CRAWL_DELAY": ["drop", "", 60],
    "REP_SHARED_PACE": ["perhaps", 2, ""],
    "REP_PAGE_DIRECTIVES": ["on", "", True, "OBEY"],
    "REP_NOINDEX": ["forget", "", False],
    "REP_LINK_NOFOLLOW": ["nofollow", 2, ""],
    "REP_PREFERENCES": ["on", "", True, "SKIP"],
    "REP_PURPOSES": [["ai-train"], "training", 5, {"tdm": 1}, [None, 7], [["tdm"]]],
    "REP_PURPOSE_TOKENS": [{"ai-train": "x"}, {"tdm": []}, {"tdm": 5}, {7: "x"}, ["tdm"], "tdm"],
    "REP_DECISION_LOG": [" ", 7, True, ["a"], b"a", "a\0b"],
    "REP_DECISIONS": ["some", "", True, ["all"]],
    "REP_LOG_URLS": ["none", "", False],
    "REP_DECISION_LOG_REQUIRED": ["perhaps", 2, ""],
    "REP_WARC": [7, True, ["a.warc.gz"], "robots.warc", "robots.gz", "a\0.warc.gz"],
    "REP_OVERRIDES": [" ", 7, True, {"authority": "http://a.example"}, b"file.toml"],
}


def read(**settings: Any) -> RepSettings:
    """What the package makes of a project's settings."""
    return RepSettings.from_settings(Settings(settings))


def test_each_field_has_one_setting() -> None:
    """None can be set in two ways, or in none."""
    names = {field.name for field in fields(RepSettings)}
    assert sorted(FIELDS.values()) == sorted(names)


def test_each_setting_is_read_by_something() -> None:
    """One that nothing reads has no effect. A policy takes its own by their names."""
    read = {field.name for field in fields(Policy)}
    for path in Path(scrapy_rep.__file__).parent.rglob("*.py"):
        object_of = "self" if path.name == "settings.py" else "settings"
        read |= {*re.findall(rf"\b_?{object_of}\.(\w+)", path.read_text("utf-8"))}
    assert {*FIELDS.values()} - read == set()


def test_a_default_that_a_profile_has_too_is_the_same_there() -> None:
    """That of the profile is in force, so one that is changed in its field alone has no effect."""
    assert RepSettings() == read()
    assert RepSettings().policy == Policy()


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_set_goes_before_the_default_of_a_profile(profile: str) -> None:
    """The profile says only what is not set."""
    found = read(REP_PROFILE=profile, REP_MAX_REDIRECTS=7, REP_ACCESS_DENIED="allow")
    assert (found.max_redirects, found.access_denied) == (7, "allow")
    assert found.max_ttl == PROFILES[profile].default_life


def test_a_longer_life_than_the_profile_knows_is_an_error() -> None:
    """A crawl by it does not start."""
    assert read(REP_PROFILE="1996", REP_MAX_TTL=604_800).max_ttl == 604_800
    with pytest.raises(ValueError, match=r"^REP_MAX_TTL = 604800: must be at most 86400 seconds"):
        read(REP_PROFILE="google", REP_MAX_TTL=604_800)


@pytest.mark.parametrize("table", [FROM_TEXT, BAD], ids=["text", "bad"])
def test_each_setting_has_a_row_in_the_tables(table: dict[str, Any]) -> None:
    """A new setting is not tested until it has one."""
    assert set(table) == set(FIELDS)


@rows("name", FIELDS)
def test_a_setting_that_is_none_is_not_set(name: str) -> None:
    """Then the default is in force, which ``tests/docs/test_reference.py`` knows."""
    assert getattr(read(**{name: None}), FIELDS[name]) == getattr(read(), FIELDS[name])


def test_an_empty_text_switches_off_what_is_off_by_default() -> None:
    """`-s REP_STORE=` runs a crawl without the store of its project."""
    off = {name for name, field in FIELDS.items() if getattr(read(), field) is None}
    assert off > {"REP_STORE", "REP_DECISION_LOG"}
    assert read(**dict.fromkeys(off, "")) == read()


def test_a_list_may_come_from_a_text_that_was_split() -> None:
    """`os.environ.get("PURPOSES", "").split(",")`: with white space, or with nothing in it."""
    assert read(REP_PURPOSES=["train-ai", " tdm"]).purposes == ("train-ai", "tdm")
    assert read(REP_PURPOSES=[""]).purposes == ()


@rows("name", FIELDS)
def test_a_setting_may_be_given_on_the_command_line(name: str) -> None:
    """`-s NAME=VALUE` gives text."""
    text, value = FROM_TEXT[name]
    assert getattr(read(**{name: text}), FIELDS[name]) == value


def test_a_list_may_be_empty_a_number_or_in_brackets() -> None:
    """No further attempts; one; several, as people write them. So may an identity."""
    for given in ([], "", "[]"):
        assert read(REP_RETRY_DELAYS=given).retry_delays == (), given
    for given in ("[1, 2]", (1, 2)):
        assert read(REP_RETRY_DELAYS=given).retry_delays == (1.0, 2.0), given
    assert read(REP_RETRY_DELAYS=2).retry_delays == (2.0,)
    tokens = read(ROBOTSTXT_USER_AGENT=["mybot-news", b"mybot"]).user_agent
    assert tokens == ("mybot-news", "mybot")


@rows("name, value", [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_value_is_refused_in_one_line_that_names_it(name: str, value: Any) -> None:
    """The setting, the value, and what it must be."""
    if name == "REP_STORE" and isinstance(value, str) and value:
        return  # found out when the store is opened, see below
    with pytest.raises(ValueError, match=name) as caught:
        read(**{name: value})
    said = str(caught.value)
    if name != "REP_STORE":
        assert repr(value)[:90] in said or f"{value:g}" in said
    assert "\n" not in said
    assert len(said) < 300


@pytest.mark.parametrize(
    ("name", "value"), [("REP_TIMEOUT", 0), *(("REP_STORE", value) for value in BAD["REP_STORE"])]
)
async def test_a_crawl_with_a_bad_setting_does_not_start(site: Site, name: str, value: Any) -> None:
    """Not one request, to whatever site. A store that does not exist is found out by opening it."""
    shop = site.authority(Reply(404))
    with pytest.raises(ValueError, match=name):
        await crawl(settings=obey(**{name: value}), plans=[shop.url("/a")])
    assert site.hits == []


@rows(
    "name, value, hint",
    ("REP_PROFILE", "RFC9309", "did you mean 'rfc9309'?"),
    ("REP_PROFILE", "RFC-9309", "did you mean 'rfc9309'?"),
    ("REP_PROFILE", "yandex", ""),
    ("REP_PROFILE", "x" * 3_000_000, ""),
    ("REP_PREFERENCES", "SKIP ", "did you mean 'skip'?"),
    ("REP_NOINDEX", True, ""),
    ("REP_PURPOSES", ["ai-train"], "did you mean 'train-ai'?"),
    ("REP_PURPOSES", "tdm,train_ai", "did you mean 'train-ai'?"),
    ("REP_PURPOSES", [7], ""),
    ("REP_PURPOSE_TOKENS", {"TrainAI": "x"}, "did you mean 'train-ai'?"),
    ("REP_PURPOSE_TOKENS", {7: "x"}, ""),
)
def test_a_slip_gets_the_spelling_that_was_meant(name: str, value: Any, hint: str) -> None:
    """At the end of the line, if there is a similar one."""
    with pytest.raises(ValueError, match=f"^{name} = ") as caught:
        read(**{name: value})
    assert str(caught.value).endswith(hint) if hint else "did you mean" not in str(caught.value)


def test_a_profile_may_be_a_number() -> None:
    """Two of them look like one."""
    assert read(REP_PROFILE=1994).profile == "1994"


@rows(
    "name, nearest",
    ("REP_TIMOUT", "REP_TIMEOUT"),
    ("REP_CRAWLDELAY", "REP_CRAWL_DELAY"),
    ("REP_MAX_CRAWL_DELAYS", "REP_MAX_CRAWL_DELAY"),
    ("REP_STORE_URI", "REP_STORE"),
    ("rep_timeout", "REP_TIMEOUT"),
    ("REP_BANANA", None),
)
def test_a_setting_that_does_not_exist_is_named_with_the_nearest(
    name: str, nearest: str | None
) -> None:
    """The nearest of those that exist, if any is near."""
    settings = Settings({name: 1, "REPORT": 1, "REP_TIMEOUT": 1, "PREFIX_REP_X": 1})
    assert list(unknown_settings(settings)) == [(name, nearest)]


async def test_a_crawl_warns_of_a_setting_that_does_not_exist(site: Site) -> None:
    """One warning each; the crawl goes on, and settings that exist are not named."""
    shop = site.authority(Reply(404))
    settings = obey(REP_TIMOUT=1, REP_BANANA=1, REP_TIMEOUT=2)
    result = (await crawl(settings=settings, plans=[shop.url("/a")])).check()
    assert result.downloaded == [shop.url("/a")]
    assert result.lines("There is no setting", "WARNING") == [
        "There is no setting REP_TIMOUT; did you mean REP_TIMEOUT?",
        "There is no setting REP_BANANA; no setting has a similar name",
    ]


def test_no_path_and_no_password_is_in_the_decision_log() -> None:
    """The first line of a run has all other settings."""
    hidden = {
        each.name
        for each in SETTINGS.values()
        if not each.repr or each.metadata["check"] in PRIVATE
    }
    assert hidden == {*_NOT_LOGGED}
