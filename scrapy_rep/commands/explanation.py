"""Why a verdict is what it is: the rules that matched, the groups, other readings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scrapy_rep.robotstxt.lines import (
    DEFAULT,
    all_groups,
    group_of,
    is_named,
)
from scrapy_rep.robotstxt.normal_form import form_of, match_path
from scrapy_rep.robotstxt.profiles import PROFILES, Profile
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE, truncate
from scrapy_rep.robotstxt.verdict import Rule, Verdict, as_plain


class Matched(NamedTuple):
    """A rule that matches the URL; ``octets`` is the length that counts."""

    rule: Rule
    line: int
    octets: int
    normal: str
    decides: bool
    why: str
    """Why it lost; empty for the one that decides."""


class Candidate(NamedTuple):
    """A group of the file, and why it counts or not."""

    line: int
    names: Sequence[str]
    chosen: bool
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything about the verdict of the rules."""

    url: str
    agent: Sequence[str]
    profile: str
    origin: str
    verdict: Verdict
    path: str
    """The path of the URL in normal form."""
    matched: Sequence[Matched]
    groups: Sequence[Candidate]
    others: Sequence[tuple[str, Verdict]]
    """Profiles that would say otherwise."""
    lines: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Return all but the file as plain data."""
        return {
            "agent": [*self.agent],
            "profile": self.profile,
            "origin": self.origin,
            "by_rules": as_plain(self.verdict),
            "path": self.path,
            "matched": [
                {
                    "rule": str(one.rule),
                    "line": one.line,
                    "octets": one.octets,
                    "normal": one.normal,
                    "decides": one.decides,
                    "why": one.why or None,
                }
                for one in self.matched
            ],
            "groups": [
                {"line": one.line, "names": [*one.names], "chosen": one.chosen, "why": one.why}
                for one in self.groups
            ],
            "other_profiles": {name: as_plain(verdict) for name, verdict in self.others},
        }


def explanation(
    body: bytes,
    url: str,
    agent: Sequence[str],
    profile: str,
    origin: str = "",
    max_size: int = DEFAULT_MAX_SIZE,
) -> Explanation:
    """Return why ``agent`` may fetch ``url`` by the rules of a robots.txt, or why not.

    ``origin`` says where ``body`` came from; octets beyond ``max_size`` do not count.
    """
    body = truncate(body, max_size)
    robots = _parsed(body, profile)
    verdict = robots.verdict(url, agent)
    text = robots.text()
    others = [
        (name, other)
        for name in PROFILES
        if (other := _parsed(body, name).verdict(url, agent)).allowed is not verdict.allowed
    ]
    return Explanation(
        url=url,
        agent=agent,
        profile=profile,
        origin=origin,
        verdict=verdict,
        path=_shown(match_path(url, form_of(robots.profile))),
        matched=_matched(robots, url, agent, verdict),
        groups=[*_candidates(text, robots.tokens_of(agent), robots.profile)],
        others=others,
        lines=_shown(text[1:].removesuffix("\n")).split("\n"),
    )


def _parsed(body: bytes, profile: str) -> RobotsTxt:
    return RobotsTxt.parse(body, profile=profile, max_size=len(body))  # it is cut already


def _shown(text: str) -> str:
    return text.encode("latin-1", "replace").decode("utf-8", "backslashreplace")


def _matched(robots: RobotsTxt, url: str, agent: Sequence[str], verdict: Verdict) -> list[Matched]:
    """Return the rules that match, the one that decides first, then the longest."""
    form, profile = form_of(robots.profile), robots.profile
    found = []
    for allow, pattern, line in robots.matching(url, agent) or ():
        rule = Rule(allow, _shown(pattern), line)
        normal = _shown(form.path_text(pattern))
        found.append(Matched(rule, line, form.octets(pattern), normal, False, ""))
    if profile.most_octets_win:
        found.sort(key=lambda one: (-one.octets, not one.rule.allow, one.line))
    decided = [one._replace(decides=_is_rule_of(one.rule, verdict)) for one in found]
    decided.sort(key=lambda one: not one.decides)
    return [one if one.decides else one._replace(why=_why(one, decided[0], profile))
            for one in decided]  # fmt: skip


def _is_rule_of(rule: Rule, verdict: Verdict) -> bool:
    return verdict.rule is not None and (rule.line, rule.pattern, rule.allow) == (
        verdict.line,
        verdict.rule.pattern,
        verdict.rule.allow,
    )


def _why(one: Matched, winner: Matched, profile: Profile) -> str:
    """Return why a rule that matches does not decide."""
    if not winner.decides:
        return "/robots.txt is always allowed"
    if not profile.most_octets_win:
        return f"line {winner.line} comes first"
    if one.octets < winner.octets:
        return f"shorter than line {winner.line}"
    if one.rule.allow is not winner.rule.allow:
        return "as long, and allow wins"
    return f"as long, and line {winner.line} comes first"


def _candidates(text: str, wanted: Sequence[str], profile: Profile) -> Iterator[Candidate]:
    """Yield each group with the reason why it counts, or does not."""
    chosen = group_of(text, wanted, profile).token
    counted = False
    for line, names, _ in all_groups(text, profile):
        matches = chosen is not None and is_named(names, chosen, profile)
        if matches and (profile.all_groups_are_merged or not counted):
            why = "for all crawlers without a group" if chosen == DEFAULT else f"names {chosen}"
            why = f"chosen, {why}" + (", together with the one above" if counted else "")
            counted = True
        elif matches:
            matches, why = False, "only the first group that matches counts"
        elif chosen == DEFAULT or chosen is None:
            why = f"does not name {' or '.join(wanted) or 'all crawlers'}"
        elif DEFAULT in names:
            why = f"not used, as {chosen} has a group"
        else:
            why = f"does not name {chosen}"
        yield Candidate(line, names, matches, why)
