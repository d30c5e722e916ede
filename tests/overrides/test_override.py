"""What an override changes, and that the verdict without it is kept."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from scrapy_rep import RobotsTxt, Verdict
from scrapy_rep.access.requested_pace import PacePolicy
from scrapy_rep.gate.overrides import AppliedOverrides
from scrapy_rep.overrides.override import DELAY, Override, SiteOverrides
from scrapy_rep.overrides.reading import configured_overrides
from scrapy_rep.settings import RepSettings
from scrapy_rep.stats import RepStats
from tests.rows import rows

SITE = "https://a.example"
NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc).timestamp()
BOT = ("mybot",)

CLOSED = RobotsTxt.parse(b"User-agent: *\nDisallow: /\nCrawl-delay: 9\n")
OPEN = RobotsTxt.parse(b"User-agent: *\nDisallow: /private\n")
UNREACHABLE = Verdict(allowed=False, reason="unreachable")
UNAVAILABLE = Verdict(allowed=True, reason="unavailable")


COMMON = {"authority": SITE, "reason": "why", "by": "who", "until": "2027-01-01"}
"""What all entries have."""


def read_overrides(tables: list[dict[str, Any]]) -> tuple[Override, ...]:
    """What these entries come to."""
    return configured_overrides(RepSettings(overrides=tables), NOW)


def site(*entries: dict[str, Any]) -> SiteOverrides:
    """The overrides of one site, each entry given by what is particular to it."""
    return SiteOverrides(read_overrides([{**COMMON, **entry} for entry in entries]))


def verdict(
    own: SiteOverrides,
    path: str,
    robots: RobotsTxt | None,
    without: Verdict | None = None,
    now: float = NOW,
) -> Verdict:
    """The verdict of a site on one of its paths."""
    if without is None:
        without = robots.verdict(SITE + path, BOT)
    return own.verdict(SITE + path, BOT, robots, without, now)[0]


def test_allow_lets_through_what_is_disallowed() -> None:
    """Both verdicts are there, and who answers for it."""
    found = verdict(site({"action": "allow"}), "/x", CLOSED)
    assert found.allowed
    assert found.reason == "override"
    assert found.override == "allow, entry 1: why (who, until 2027-01-01)"
    assert not found.without.allowed
    assert found.without.line == 2


def test_forbid_keeps_out_what_is_allowed() -> None:
    """The other way round."""
    found = verdict(site({"action": "forbid"}), "/x", OPEN)
    assert not found.allowed
    assert found.without.allowed


def test_a_verdict_that_is_not_changed_is_the_plain_one() -> None:
    """An exception that is not needed leaves no trace, and is not used."""
    own = site({"action": "allow"})
    plain = OPEN.verdict(SITE + "/x", BOT)
    assert own.verdict(SITE + "/x", BOT, OPEN, plain, NOW) == (plain, None)


@rows(
    "paths, path, covered",
    (["/reports/"], "/reports/1", True),
    (["/reports/"], "/report", False),
    (["/*.pdf$"], "/a/b.pdf", True),
    (["/*.pdf$"], "/a/b.pdf?x", False),
    (["/a", "/b"], "/b", True),
    (["/%7Ejoe"], "/~joe/x", True),
)
def test_paths_are_patterns_as_in_robots_txt(paths: list[str], path: str, covered: bool) -> None:
    """RFC 9309 sections 2.2.2 and 2.2.3."""
    assert verdict(site({"action": "allow", "paths": paths}), path, CLOSED).allowed is covered


@rows("robots", [OPEN, CLOSED])
@rows("order", [("allow", "forbid"), ("forbid", "allow")])
def test_forbid_beats_allow_and_is_named(order: tuple[str, str], robots: RobotsTxt) -> None:
    """In whatever order they stand, and whatever the site says: there is one answer."""
    own = site(*[{"action": action} for action in order])
    plain = robots.verdict(SITE + "/x", BOT)
    found, by = own.verdict(SITE + "/x", BOT, robots, plain, NOW)
    assert (found.allowed, found.reason, found.without) == (False, "override", plain)
    assert by is own.overrides[order.index("forbid")]
    assert found.override == str(by)


def test_allow_lets_an_unreachable_site_through() -> None:
    """It is for whatever the rules say, and for rules that cannot be had."""
    assert verdict(site({"action": "allow"}), "/x", None, UNREACHABLE).allowed


def test_unreachable_is_allowed_touches_nothing_else() -> None:
    """Neither rules that are there nor those that forbid access."""
    own = site({"action": "unreachable-is-allowed"})
    assert verdict(own, "/x", None, UNREACHABLE).allowed
    assert verdict(own, "/x", None, UNREACHABLE).without == UNREACHABLE
    assert not verdict(own, "/x", CLOSED).allowed
    assert not verdict(own, "/x", None, Verdict(False, reason="access denied (403)")).allowed
    assert verdict(own, "/x", None, UNAVAILABLE) == UNAVAILABLE


def test_another_agent_finds_another_group() -> None:
    """With all that the group says."""
    robots = RobotsTxt.parse(
        b"User-agent: mybot\nDisallow: /\n\nUser-agent: partner\nDisallow:\nCrawl-delay: 3\n"
    )
    own = site({"action": "agent", "agent": "partner"})
    assert verdict(own, "/x", robots).allowed
    agent, by = own.agent(SITE + "/x", BOT, NOW)
    assert robots.crawl_delay(agent) == 3
    assert by is own.overrides[0]


@rows("path", ["/reports/../private", "/reports/%2E%2e/private", "/private/../reports/1"])
def test_each_reading_of_a_url_has_to_be_covered_by_what_permits(path: str) -> None:
    """RFC 3986 section 6.2.2.3: servers and clients remove dot segments. For what forbids, one is
    enough.
    """
    common = {"paths": ["/reports/"]}
    assert not verdict(site({"action": "allow", **common}), path, CLOSED).allowed
    ignoring = site({"action": "unreachable-is-allowed", **common})
    assert not verdict(ignoring, path, None, UNREACHABLE).allowed
    nothing = RobotsTxt.parse(b"")
    assert not verdict(site({"action": "forbid", **common}), path, nothing).allowed
    assert verdict(site({"action": "allow", **common}), "/reports/../reports/1", CLOSED).allowed


def test_delay_leaves_verdicts_alone() -> None:
    """It is the pace that it changes, for the paths that it is for."""
    own = site({"action": "delay", "delay": 2.5, "paths": ["/slow"]})
    assert not verdict(own, "/x", CLOSED).allowed
    found = own.first(DELAY, SITE + "/slow", NOW)
    assert found.delay == 2.5
    assert own.first(DELAY, SITE + "/x", NOW) is None


def test_an_override_ends_with_its_last_day() -> None:
    """In the middle of a crawl, too."""
    own = site({"action": "allow", "until": "2026-11-21"})
    assert verdict(own, "/x", CLOSED).allowed
    assert verdict(own, "/x", CLOSED, now=NOW + 43_199).allowed
    assert not verdict(own, "/x", CLOSED, now=NOW + 43_200).allowed


def test_two_actions_may_let_requests_to_an_unreachable_site_pass() -> None:
    """Until they end; the log excepts a site only then."""
    actions: list[tuple[str, dict[str, Any], bool]] = [
        *(("allow", {}, True), ("unreachable-is-allowed", {}, True), ("forbid", {}, False)),
        *(("delay", {"delay": 1.0}, False), ("agent", {"agent": "other"}, False)),
    ]
    for action, more, may in actions:
        [override] = site({"action": action, "until": "2026-11-21", **more}).overrides
        assert override.may_permit(NOW + 43_199) is may
        assert not override.may_permit(NOW + 43_200)


@rows("other", ["http://a.example", "https://a.example:8443", "https://b.a.example"])
def test_another_port_scheme_or_host_is_another_authority(other: str) -> None:
    """RFC 9309 section 2.3."""
    own = read_overrides([{**COMMON, "action": "allow"}])
    (there,) = read_overrides([{**COMMON, "action": "allow", "authority": other}])
    applied = AppliedOverrides(own, RepStats(), PacePolicy(True, 60.0, False), lambda: NOW)
    assert own[0].authority in applied
    assert there.authority not in applied


def test_patterns_that_cost_too_much_never_allow() -> None:
    """A failure is not permission: neither for a hostile URL."""
    pattern = "/" + "*a" * 200 + "*b"
    path = "/" + "a" * 60_000
    allow, forbid = (site({"action": action, "paths": [pattern]}) for action in ("allow", "forbid"))
    assert not verdict(allow, path, CLOSED).allowed
    costly = RobotsTxt.parse(f"User-agent: *\nDisallow: {pattern}\n".encode())
    too_costly = costly.verdict(SITE + path, "*").reason == "too costly"
    assert verdict(forbid, path, OPEN).allowed is not too_costly


def test_another_group_that_says_the_same_is_no_use_of_an_override() -> None:
    """The verdict is by its rules, and nothing was overridden."""
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /x\n\nUser-agent: friend\nDisallow: /\n")
    found = verdict(site({"action": "agent", "agent": "friend"}), "/x", robots)
    assert (found.allowed, found.group, found.override) == (False, "friend", None)


def test_the_name_of_an_override_says_whose_it_is() -> None:
    """A line of the log tells entries of several sites apart."""
    [override] = site({"action": "allow"}).overrides
    assert override.name == f"{SITE}, allow, entry 1: why (who, until 2027-01-01)"
