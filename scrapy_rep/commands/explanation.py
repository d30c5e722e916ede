"""Why a verdict is what it is: the rules that matched, the groups, other readings."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from scrapy_rep.matching.first_match import FirstMatchRules
from scrapy_rep.matching.normal_form import match_path
from scrapy_rep.matching.rule_set import LongestMatchRules
from scrapy_rep.protocol import groups, syntax
from scrapy_rep.protocol.groups import Group
from scrapy_rep.protocol.normal_forms import form_of
from scrapy_rep.protocol.product_token import DEFAULT, is_named, names_of, tokens_of
from scrapy_rep.protocol.profiles import PROFILES, Profile, named
from scrapy_rep.protocol.robotstxt import RobotsTxt
from scrapy_rep.protocol.syntax import Record
from scrapy_rep.protocol.verdict import Rule, Verdict, as_plain

_RULES: Final = frozenset({syntax.ALLOW, syntax.DISALLOW})


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
    max_size: int = syntax.DEFAULT_MAX_SIZE,
) -> Explanation:
    """Return why ``agent`` may fetch ``url`` by the rules of a robots.txt, or why not.

    ``origin`` says where ``body`` came from; octets beyond ``max_size`` do not count.
    """
    body = syntax.truncate(body, max_size)
    verdict = _parsed(body, profile).verdict(url, agent)
    part = _deciding_part(body, url, agent, named(profile), verdict)
    text = syntax.text_of(body, part)
    wanted = tokens_of(agent, part)
    records = syntax.records(text.decode("latin-1"), part)
    found = [*groups.groups(records, part)]
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
        path=_shown(match_path(url, form_of(part))),
        matched=_matched(text, wanted, part, url, verdict),
        groups=[*_candidates(text, found, wanted, part)],
        others=others,
        lines=text[1:].removesuffix(b"\n").decode("utf-8", "backslashreplace").split("\n"),
    )


def _parsed(body: bytes, profile: str | Profile) -> RobotsTxt:
    return RobotsTxt.parse(body, profile=profile, max_size=len(body))  # it is cut already


def _deciding_part(
    body: bytes, url: str, agent: Sequence[str], profile: Profile, verdict: Verdict
) -> Profile:
    """Return the profile that decides, where several count at once."""
    for part in profile.all_of:
        if _parsed(body, part).verdict(url, agent) == verdict:
            return part
    return profile


def _shown(text: str) -> str:
    return text.encode("latin-1", "replace").decode("utf-8", "backslashreplace")


def _matched(
    text: bytes, wanted: Sequence[str], profile: Profile, url: str, verdict: Verdict
) -> list[Matched]:
    """Return the rules that match, the one that decides first, then the longest."""
    form = form_of(profile)
    found = []
    _, several = groups.records_for(text, wanted, profile)
    for record in (record for group in several for record in group):
        for pattern in groups.patterns_of(record, profile):
            allow = record.key == syntax.ALLOW
            if pattern and _matches(allow, pattern, url, profile):
                rule = Rule(allow, _shown(pattern), record.line)
                normal = _shown(form.path_text(pattern))
                found.append(Matched(rule, record.line, form.octets(pattern), normal, False, ""))
    if profile.most_octets_win:
        found.sort(key=lambda one: (-one.octets, not one.rule.allow, one.line))
    decided = [one._replace(decides=_is_rule_of(one.rule, verdict)) for one in found]
    decided.sort(key=lambda one: not one.decides)
    return [one if one.decides else one._replace(why=_why(one, decided[0], profile))
            for one in decided]  # fmt: skip


def _matches(allow: bool, pattern: str, url: str, profile: Profile) -> bool:
    """Return True if one rule alone would decide about the URL."""
    form = form_of(profile)
    rules: LongestMatchRules | FirstMatchRules
    if profile.most_octets_win:
        several = ([], [pattern]) if allow else ([pattern], [])
        rules = LongestMatchRules(*several, form, robots_txt_is_free=False)
    else:
        rules = FirstMatchRules([(allow, pattern)], form, robots_txt_is_free=False)
    return rules.match(url).allow is not None


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


def _candidates(
    text: bytes, found: Sequence[Group], wanted: Sequence[str], profile: Profile
) -> Iterator[Candidate]:
    """Yield each group with the reason why it counts, or does not."""
    chosen, _ = groups.applicable(found, wanted, profile)
    records = syntax.records(text.decode("latin-1"), profile)
    agents = [record for record in records if record.key == syntax.AGENT]
    counted = False
    for group in found:
        line = _line_of(group, agents, profile)
        names = [*dict.fromkeys(group.names)]
        matches = chosen is not None and (
            DEFAULT in names if chosen == DEFAULT else is_named(names, chosen, profile)
        )
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


def _line_of(group: Group, agents: Sequence[Record], profile: Profile) -> int:
    """Return the line of the first user-agent line of a group; ``agents`` are all of the file."""
    rules = [record.line for record in group.records if record.key in _RULES]
    end = rules[0] if rules else max([record.line for record in group.records], default=0)
    missing, line = len(group.names), 1
    for record in reversed(agents[: bisect_left(agents, end, key=_line) if end else None]):
        missing -= len(names_of(record.value, profile))
        line = record.line
        if missing <= 0:
            break
    return line


def _line(record: Record) -> int:
    return record.line
