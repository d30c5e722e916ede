"""A change of a robots.txt is one if a crawl with the same overrides and purposes is concerned."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime, timedelta, timezone
from itertools import combinations
from time import process_time
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_rep.access.authority import Authority
from scrapy_rep.commands.comparison import Comparison
from scrapy_rep.commands.offline import Offline
from tests.rows import first
from tests.timed import timed

SHOP = Authority("https", "e.org", 443)
AGENT = ("mybot",)
TOMORROW = (datetime.now(timezone.utc).date() + timedelta(days=1)).isoformat()
LATER = (datetime.now(timezone.utc) + timedelta(hours=6)).strftime("%H")
PATHS = (
    "/",
    "/a",
    "/a/b",
    "/a/b.pdf",
    "/c",
    "/c.pdf",
    "/d",
    "/e",
    "/e.pdf",
    "/f",
    "/.pdf",
    "/*.pdf$",
)
"""On these, any two of :data:`VERSIONS` differ if they differ at all."""

MINE = "User-agent: mybot\nDisallow: /a\n"
PARTNER = "\nUser-agent: partnerbot\nDisallow: /c\n"
VERSIONS = {
    "rules": MINE + PARTNER,
    "comment": "# new\n" + MINE + PARTNER,
    "exception": MINE + "Allow: /a/b\n" + PARTNER,
    "wildcard": MINE + "Disallow: /*.pdf$\n" + PARTNER,
    "partner": MINE + PARTNER + "Disallow: /a/b\n",
    "partner's wildcard": MINE + PARTNER + "Disallow: /*.pdf$\n",
    "longer name": "User-agent: mybot2\nDisallow: /f\n",
    "everything": "User-agent: *\nDisallow: /\n",
    "nothing": "",
    "use of a path": MINE + "Content-Usage: /c train-ai=n\n" + PARTNER,
    "use of pages": MINE + "Content-Usage: /*.pdf train-ai=n\n" + PARTNER,
    "use of the site": MINE + "Content-Signal: ai-train=no\n" + PARTNER,
    "use by name": MINE + PARTNER + "\nUser-agent: Extended\nDisallow: /d\n",
    "pace": MINE + "Request-rate: 1/9\n" + PARTNER,
    "partner's pace": MINE + PARTNER + "Crawl-delay: 5\n",
}
OVERRIDES: dict[str, dict[str, Any]] = {
    "none": {},
    "allow": {"action": "allow"},
    "allow a path": {"action": "allow", "paths": ["/a"]},
    "forbid a path": {"action": "forbid", "paths": ["/c"]},
    "agent": {"action": "agent", "agent": "partnerbot"},
    "agent for a path": {"action": "agent", "agent": "partnerbot", "paths": ["/a/"]},
    "delay": {"action": "delay", "delay": 3},
}
PURPOSES: dict[str, dict[str, Any]] = {
    "reported": {"REP_PREFERENCES": "report", "REP_PURPOSES": "train-ai"},
    "skipped": {
        "REP_PREFERENCES": "skip",
        "REP_PURPOSES": "train-ai",
        "REP_PURPOSE_TOKENS": '{"train-ai": ["Extended"]}',
    },
}


@pytest.fixture
def offline(request: pytest.FixtureRequest) -> Offline:
    """What decides with an override and some purposes."""
    override, purposes = request.param
    settings = {**PURPOSES[purposes]}
    if OVERRIDES[override]:
        entry = {"authority": str(SHOP), "reason": "ours", "by": "ops", "until": TOMORROW}
        entry |= OVERRIDES[override]
        settings["REP_OVERRIDES"] = [entry]
    options = Namespace(agent=[*AGENT], rep_profile=None, spider=None)
    return Offline(Settings(settings), options)


EACH = [(override, purposes) for override in OVERRIDES for purposes in PURPOSES]


@pytest.mark.parametrize("offline", first(6, map(pytest.param, EACH)), indirect=True)
def test_a_change_is_told_if_a_crawl_decides_otherwise(offline: Offline) -> None:
    """For each two versions; a path is named whose verdict changes."""

    def verdicts(text: str) -> list[bool]:
        body = text.encode()
        robots = offline.parse(body)
        return [offline.look_up(f"{SHOP}{path}", body, robots).verdict.allowed for path in PATHS]

    comparison, crawled = Comparison(offline), {name: verdicts(VERSIONS[name]) for name in VERSIONS}
    for old, new in combinations(VERSIONS, 2):
        told = comparison.change(SHOP, AGENT, VERSIONS[old].encode(), VERSIONS[new].encode())
        differs = crawled[old] != crawled[new]
        assert told.startswith(f"the rules of {SHOP} have changed: /") == differs, (old, new, told)


@pytest.mark.parametrize(
    ("offline", "version", "told"),
    [
        (("none", "reported"), "pace", True),
        (("none", "reported"), "partner's pace", False),
        (("agent", "reported"), "pace", False),
        (("agent", "reported"), "partner's pace", True),
        (("agent for a path", "reported"), "partner's pace", True),
        (("delay", "reported"), "pace", False),
        (("allow", "reported"), "pace", True),
    ],
    indirect=["offline"],
)
def test_the_pace_counts_that_a_crawl_would_be_asked_to_keep(
    offline: Offline, version: str, told: bool
) -> None:
    """That of the rules that an override sets, and none where an override sets the pace."""
    old, new = VERSIONS["rules"].encode(), VERSIONS[version].encode()
    change = Comparison(offline).change(SHOP, AGENT, old, new)
    assert change == (f"the pace that {SHOP} asks for has changed" if told else "")


@timed
def test_a_file_that_has_not_changed_is_not_compared() -> None:
    """With thousands of rules, that would take minutes where the first match counts."""
    options = Namespace(agent=[*AGENT], rep_profile="1996", spider=None)
    comparison = Comparison(Offline(Settings(), options))
    body = b"User-agent: *\n" + b"".join(b"Disallow: /%d/x\n" % n for n in range(4_000))
    started = process_time()
    assert comparison.change(SHOP, AGENT, body, bytes([*body])) == ""
    assert process_time() - started < 1
