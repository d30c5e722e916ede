"""Findings about rules that change nothing (RFC 9309 section 2.2.2).

A rule is reported only where that is certain: two patterns that might match the same path count as
if they do. Where a file has too many rules to compare them all, fewer are reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from scrapy_rep.linting.findings import Finding, quoted
from scrapy_rep.linting.lines import GroupLines, Line, RobotsFile
from scrapy_rep.robotstxt import lines as syntax
from scrapy_rep.robotstxt.normal_form import NormalForm, form_of
from scrapy_rep.robotstxt.patterns import Wildcard
from scrapy_rep.robotstxt.profiles import RFC9309

_MOST_RULES: Final = 4_000
"""Rules of a file beyond which none is looked at: 4,000 take some 25 ms."""
_MOST_PAIRS: Final = 40_000
"""Pairs of rules that are compared: they take some 30 ms."""
_ANYTHING: Final = "\0"
"""Stands for what a ``*`` matches, and for what follows a path: no pattern holds it."""
_REMOVE: Final = "remove the line"
_EVERYTHING: Final = frozenset({"/", "/*", "*"})


class _Rule(NamedTuple):
    """A rule: its line, its kind, its octets, and what it matches."""

    line: Line
    allow: bool
    octets: int
    text: str
    """The pattern in normal form; two rules with the same text match the same paths."""
    head: str
    """What each path that it matches begins with."""
    plain: bool
    """It matches all paths that begin with the head, and no other."""
    wild: Wildcard | None


class _Budget:
    """The pairs of rules of one file that may still be compared."""

    def __init__(self) -> None:
        self.left = _MOST_PAIRS

    def takes(self, pairs: int) -> bool:
        """Return True if so many more pairs may be compared, and count them."""
        self.left -= pairs
        return self.left >= 0


def check_effects(file: RobotsFile) -> Iterator[Finding]:
    """Yield the rules that are repeated, overruled altogether, or covered by another one."""
    if sum([len(group.rules) for group in file.groups]) > _MOST_RULES:
        return
    form, budget = form_of(RFC9309), _Budget()
    rules = [[_rule(line, form) for line in group.rules if line.value] for group in file.groups]
    sharing: dict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(file.groups):
        for name in {*group.names}:
            sharing[name].append(number)
    for number, group in enumerate(file.groups):
        together = sorted({other for name in group.names for other in sharing[name]})
        others = [rule for other in together for rule in rules[other]]
        found = [
            *_empty(file, group),
            *_of_group(file, rules[number], others or rules[number], budget),
        ]
        yield from _keeping_one(found, group)


def _keeping_one(found: list[Finding], group: GroupLines) -> Iterator[Finding]:
    """Yield findings; where all rules of a group are to be removed, one becomes ``Disallow:``.

    Without any rule the group would share the rules of the next one.
    """
    removed = [one for one in found if one.fix == _REMOVE]
    if len(removed) < len(group.rules):
        yield from found
        return
    for one in found:
        yield replace(one, fix="write Disallow: in its place") if one is removed[-1] else one


def _empty(file: RobotsFile, group: GroupLines) -> Iterator[Finding]:
    """Yield empty rules: they match nothing. ``Disallow:`` alone says that all is allowed."""
    rules = group.rules
    for line in rules:
        if not line.value and (line.key == syntax.ALLOW or len(rules) > 1):
            message = "a rule without a path matches nothing"
            yield file.finding_at("rule-without-effect", line, message, _REMOVE, 1)


def _rule(line: Line, form: NormalForm) -> _Rule:
    path = line.value
    octets = form.octets(path)
    allow = line.key == syntax.ALLOW
    if "*" not in path and path[-1:] != "$":
        text = path if "%" not in path else form.path_text(path)
        return _Rule(line, allow, octets, text, text, "%" not in path, None)
    wild = Wildcard(path, path, octets, form, stars=True)
    text = path if "%" not in path else "\0" + path
    plain = path.find("*") == len(path) - 1 and "%" not in path
    return _Rule(line, allow, octets, text, wild.head, plain, wild)


def _of_group(
    file: RobotsFile, rules: list[_Rule], others: list[_Rule], budget: _Budget
) -> Iterator[Finding]:
    opposite = {
        allow: [other for other in others if other.allow is not allow] for allow in (True, False)
    }
    seen: dict[tuple[bool, str], _Rule] = {}
    heads, here = _heads(rules), {rule.line.number for rule in rules}
    for rule in rules:
        if rule.head[:1] not in ("/", "") or not rule.text:
            continue  # it matches nothing, which is another finding
        before = seen.setdefault((rule.allow, rule.text), rule)
        if before is not rule:
            yield _finding(file, rule, f"the rule stands in line {before.line.number} already")
            continue
        against = opposite[rule.allow]
        if not budget.takes(len(against)):
            return
        met = [other for other in against if _may_meet(rule, other)]
        # Only the rules of this group are sure to be there whenever the rule is.
        own = [other for other in met if other.line.number in here]
        why = _overruled(rule, own) if not rule.allow else _lifts_nothing(rule, met)
        if why:
            severity = "information" if rule.allow else "warning"
            yield _finding(file, rule, why, severity=severity)
            continue
        cover = _cover(rule, heads[rule.allow])
        if cover is not None and not _is_between(rule, cover, met):
            shown = quoted(cover.line.value)
            yield _finding(file, rule, f'"{shown}" in line {cover.line.number} covers it')


def _finding(file: RobotsFile, rule: _Rule, why: str, severity: str = "information") -> Finding:
    message = f'"{quoted(rule.line.value)}" changes nothing: {why}'
    fix = _REMOVE
    if severity == "warning":
        fix = "remove one of the two rules, or make the disallow rule the longer one"
    return file.finding_at("rule-without-effect", rule.line, message, fix, 1, severity=severity)


def _heads(rules: list[_Rule]) -> dict[bool, dict[str, _Rule]]:
    """Return the rules of each kind that match all paths with a head, the first of each head."""
    found: dict[bool, dict[str, _Rule]] = {True: {}, False: {}}
    for rule in rules:
        if rule.plain:
            found[rule.allow].setdefault(rule.head, rule)
    return found


def _cover(rule: _Rule, heads: dict[str, _Rule]) -> _Rule | None:
    """Return the longest rule of the same kind that matches whatever a rule matches."""
    for end in range(len(rule.head), 0, -1):
        other = heads.get(rule.head[:end])
        if other is not None and other is not rule and _comes_first(other, rule, end):
            return other
    return None


def _comes_first(other: _Rule, rule: _Rule, end: int) -> bool:
    """Return False if two rules match the same paths and the other one stands later."""
    same = (rule.plain or rule.wild is None) and end == len(rule.head)
    return not same or other.line.number < rule.line.number


def _may_meet(rule: _Rule, other: _Rule) -> bool:
    """Return False only if no path is matched by both of two rules."""
    if not (rule.head.startswith(other.head) or other.head.startswith(rule.head)):
        return False
    for exact, against in ((rule, other), (other, rule)):
        if _is_exact(exact):
            if against.wild is None:
                return exact.head.startswith(against.head)
            return against.wild.matches(exact.head)
    return True


def _is_exact(rule: _Rule) -> bool:
    """Return True if a rule matches one path only."""
    return rule.wild is not None and rule.wild.ends and not rule.wild.pieces


def _overruled(rule: _Rule, met: list[_Rule]) -> str:
    """Return why a disallow rule never decides: a longer allow rule matches wherever it does."""
    path = _all_of(rule)
    for other in met:
        if other.octets >= rule.octets and _matches(other, path):
            return f'"Allow: {quoted(other.line.value)}" in line {other.line.number} overrules it'
    return ""


def _all_of(rule: _Rule) -> str:
    """Return one path that stands for all that a rule matches."""
    if rule.wild is None:
        return rule.head + _ANYTHING
    if _is_exact(rule):
        return rule.head
    text = rule.line.value
    return (
        text[:-1].replace("*", _ANYTHING)
        if text.endswith("$")
        else (text.replace("*", _ANYTHING) + _ANYTHING)
    )


def _matches(rule: _Rule, path: str) -> bool:
    return path.startswith(rule.head) if rule.wild is None else rule.wild.matches(path)


def _lifts_nothing(rule: _Rule, met: list[_Rule]) -> str:
    """Return why an allow rule never decides: it lifts no disallow rule.

    ``Allow: /`` says in clear words what holds anyway, and is left alone.
    """
    if rule.text in _EVERYTHING or any(other.octets <= rule.octets for other in met):
        return ""
    return "no disallow rule that is as short or shorter matches there"


def _is_between(rule: _Rule, cover: _Rule, met: list[_Rule]) -> bool:
    """Return True if a rule of the other kind may beat the cover of a rule, and not the rule."""
    if cover.octets >= rule.octets:
        return False
    if rule.allow:
        return any(cover.octets < other.octets <= rule.octets for other in met)
    return any(cover.octets <= other.octets < rule.octets for other in met)
