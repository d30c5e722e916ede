"""Findings about groups: who they are for, where they begin and end, and rules without effect.

RFC 9309 sections 2.2.1 and 2.2.2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from scrapy_rep.linting.codes import Severity
from scrapy_rep.linting.lines import RULES, Finding, ParsedLine, RobotsFile, name_of, quoted
from scrapy_rep.preferences.vocabularies import LINES
from scrapy_rep.robotstxt import lines as syntax
from scrapy_rep.robotstxt.lines import DEFAULT
from scrapy_rep.robotstxt.pace import PACE
from scrapy_rep.robotstxt.product_token import product_token
from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+|\*")
"""A product token. Names such as MJ12bot have digits, although RFC 9309 allows none."""
_MOST_PAIRS: Final = 90_000
"""The most pairs of rules that are compared: as many as a group of 300 rules has. A long rule
counts once more for each 100 octets."""
_ORIGIN: Final = "https://robots.invalid"
_REMOVE: Final = "remove the line"
_OF_A_GROUP: Final = RULES | PACE.keys()
_PREFERENCES: Final = {key for key, each in LINES.items() if each.counts_for}


def check_agents(file: RobotsFile) -> Iterator[Finding]:
    """Yield the user-agent lines whose value is not a product token."""
    for line in file.parsed:
        if line.key != syntax.AGENT or _TOKEN.fullmatch(line.value):
            continue
        value = quoted(line.value)
        name = name_of(line.value)
        if not name:
            what = f'"{value}"' if value else "the user-agent line"
            message = f"{what} names no crawler, so that the group is for none"
            fix = "write the product token of the crawler, or * for all"
            yield file.finding_at("agent-not-a-token", line, message, fix)
        else:
            message = f'"{value}" is not a product token: it is read as "{quoted(name)}"'
            yield file.finding_at("agent-not-a-token", line, message, _agent_fix(line.value, name))


def _agent_fix(value: str, name: str) -> str:
    """Return what to write for a value that is read as ``name``.

    A name before a version or a ``*`` is complete. What is read of any other value, such as
    ``archive.org_bot``, may be the name of no crawler.
    """
    if name == DEFAULT:
        return "write User-agent: *"
    meant = product_token(value)
    if meant and not value.startswith(meant):
        return f"write User-agent: {quoted(meant)}"  # Mozilla/5.0 (compatible; foobot/1.0)
    if value[len(name) :].startswith(("/", "*")):
        return f"write User-agent: {quoted(value[: len(name)])}"
    return "write the product token that the crawler's documentation names"


def check_order(file: RobotsFile) -> Iterator[Finding]:
    """Yield the lines that stand before the first group, or may split a group in two."""
    started = has_rule = False
    between: ParsedLine | None = None
    for line in file.parsed:
        if line.key == syntax.AGENT:
            if started and not has_rule and between is not None:
                yield _two_ways(file, line, between)
            started, has_rule, between = True, False, None
            continue
        if not started:
            yield from _before(file, line)
        elif line.key in RULES:
            has_rule = True
        elif between is None:
            between = line


def _before(file: RobotsFile, line: ParsedLine) -> Iterator[Finding]:
    """Yield a finding for a line that stands before the first user-agent line and needs one."""
    fix = "write User-agent: * above it"
    if line.key in _OF_A_GROUP:
        message = "the line stands before the first user-agent line, and is ignored"
        yield file.finding_at("rule-before-group", line, message, fix, 1)
    elif line.key in _PREFERENCES:
        message = (
            "the preference stands before the first user-agent line, so it is unclear who is meant"
        )
        yield file.finding_at("signal-before-group", line, message, fix, 1)


def _two_ways(file: RobotsFile, line: ParsedLine, between: ParsedLine) -> Finding:
    message = (
        f"line {between.number} is not a rule, so this line and the user-agent lines before it "
        "share the rules that follow; some readers see two groups"
    )
    fix = (
        "put the user-agent lines next to each other if they belong together, else write "
        "Disallow: or another rule before this line"
    )
    return file.finding_at("group-read-two-ways", line, message, fix, 1)


def check_emptiness(file: RobotsFile) -> Iterator[Finding]:
    """Yield the groups of crawlers that have no rule in any group."""
    ruled = {DEFAULT, *(name for group in file.groups if group.rules for name in group.names)}
    for group in file.groups:
        named = [name for name in group.names if name and name not in ruled]
        if named:
            message = f'the group of "{quoted(named[0])}" has no rule: that crawler may fetch all'
            fix = "write Disallow: to say so, or the rules that are meant"
            yield file.finding_at("group-without-rules", group.agents[0], message, fix)


def check_redundancy(file: RobotsFile) -> Iterator[Finding]:
    """Yield the rules that change no verdict: without each of them every path keeps its own.

    Groups with wildcards are not checked, nor are those that name a crawler which another group
    names: there it is not certain what a rule adds. Empty rules are found in all groups.
    """
    sharing = Counter(name for group in file.groups for name in {*group.names})
    pairs = 0
    for group in file.groups:
        found = [*_empty(file, group.rules)]
        rules = [line for line in group.rules if line.value]
        pairs += len(rules) * sum([1 + len(line.value) // 100 for line in rules])
        is_plain = not any("*" in line.value or line.value.endswith("$") for line in rules)
        if is_plain and pairs <= _MOST_PAIRS and all(sharing[name] == 1 for name in group.names):
            found += _without_effect(file, rules)
        if sum(one.fix == _REMOVE for one in found) == len(group.rules):
            del found[-1:]  # without any rule the group would share the rules of the next one
        yield from found


def _empty(file: RobotsFile, rules: Sequence[ParsedLine]) -> Iterator[Finding]:
    """Yield empty rules: they match nothing. ``Disallow:`` alone says that all is allowed."""
    for line in rules:
        if not line.value and (line.key == syntax.ALLOW or len(rules) > 1):
            message = "a rule without a path matches nothing"
            yield file.finding_at("rule-without-effect", line, message, _REMOVE, 1)


def _without_effect(file: RobotsFile, rules: Sequence[ParsedLine]) -> Iterator[Finding]:
    """Yield the rules of a group that change nothing; of two that say the same, the later one."""
    left = [line for line in rules if line.value.startswith("/")]
    # A rule decides on its own path if it decides anywhere. But a URL with that path may be another
    # one in normal form, as /. is /. So a longer path is asked for, too.
    urls = [url for line in left for url in (_url(line), _url(line) + "~")]
    whole = _robots(left)
    verdicts = [whole.allowed(url, "*") for url in urls]
    for line in reversed([*left]):
        if line.key == syntax.ALLOW and line.value == "/":
            continue  # it says explicitly what holds anyway
        without = [other for other in left if other is not line]
        robots = _robots(without)
        if all(robots.allowed(url, "*") is old for url, old in zip(urls, verdicts, strict=True)):
            found = _redundant(file, line, robots, without)
            if found.fix == _REMOVE:
                left = without  # otherwise it is the other rule that may go
            yield found


def _robots(rules: Sequence[ParsedLine]) -> ParsedRobotsTxt:
    lines = [f"{line.key}: {line.value}" for line in rules]
    return ParsedRobotsTxt.parse("\n".join(["user-agent: *", *lines]).encode("latin-1"))


def _url(line: ParsedLine) -> str:
    """Return the URL that has the path of a rule."""
    return _ORIGIN + line.value.encode("latin-1").decode("utf-8", "surrogateescape")


def _redundant(
    file: RobotsFile, line: ParsedLine, robots: ParsedRobotsTxt, others: Sequence[ParsedLine]
) -> Finding:
    """Return the finding about a rule, with the one that decides in its place."""
    verdict = robots.verdict(_url(line), "*")
    decider = None if verdict.line is None else others[verdict.line - 2]
    severity: Severity = "information"
    fix = _REMOVE
    if decider is None:
        why = "no disallow rule that is as short or shorter matches there"
    else:
        rule = quoted(f"{decider.key.capitalize()}: {decider.value}")
        why = f'"{rule}" in line {decider.number} decides without it'
        if decider.key != line.key == syntax.DISALLOW:
            severity = "warning"
            fix = "remove one of the two rules, or make the disallow rule the longer one"
    message = f'"{quoted(line.value)}" changes nothing: {why}'
    return replace(file.finding_at("rule-without-effect", line, message, fix, 1), severity=severity)
