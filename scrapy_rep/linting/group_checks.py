"""Findings about groups: who they are for, and where they begin and end.

RFC 9309 section 2.2.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scrapy_rep.linting.findings import Finding, quoted
from scrapy_rep.linting.lines import BLANK, RULES, VISIT_TIME, Line, RobotsFile
from scrapy_rep.preferences.robots_lines import SIGNAL_KEY, USAGE_KEY
from scrapy_rep.robotstxt import lines as syntax
from scrapy_rep.robotstxt.lines import DEFAULT, names_of
from scrapy_rep.robotstxt.product_token import product_token
from scrapy_rep.robotstxt.profiles import RFC9309

_TOKEN: Final = re.compile(r"[A-Za-z_-]+|\*")
_WITH_DIGITS: Final = re.compile(r"[A-Za-z0-9_-]+")
_OF_A_GROUP: Final = RULES | {syntax.CRAWL_DELAY, syntax.REQUEST_RATE, VISIT_TIME}


def check_agents(file: RobotsFile) -> Iterator[Finding]:
    """Yield the user-agent lines whose value is not a product token."""
    for line in file.parsed:
        if line.key != syntax.AGENT or _TOKEN.fullmatch(line.value):
            continue
        value = quoted(line.value)
        [name] = names_of(line.value, RFC9309)
        if _WITH_DIGITS.fullmatch(line.value):
            message = f'"{value}" holds a digit, which a product token does not'
            fix = "nothing, if the crawler calls itself so"
            yield file.finding_at("agent-digit", line, message, fix)
        elif not name:
            what = f'"{value}"' if value else "the user-agent line"
            message = f"{what} names no crawler: the group is for none"
            fix = "write the product token of the crawler, or * for all"
            yield file.finding_at("agent-not-a-token", line, message, fix)
        else:
            message = f'"{value}" is not a product token: it is read as "{quoted(name)}"'
            yield file.finding_at("agent-not-a-token", line, message, _agent_fix(line.value, name))


def _agent_fix(value: str, name: str) -> str:
    """Return what to write for a value that is read as ``name``.

    After a version or a ``*`` the name is whole. What other text was cut from, such as
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
    between: Line | None = None
    broken = False
    for line in file.parsed:
        if line.key == syntax.AGENT:
            if started and not has_rule and between is not None:
                yield _two_ways(file, line, between)
            started, has_rule, between = True, False, None
            continue
        if not started:
            yield from _before(file, line)
        elif line.key in RULES:
            if between is not None and between.key == BLANK and not broken:
                broken = True
                yield _blank(file, between)
            has_rule, between = True, None
        elif between is None or between.key == BLANK:
            between = line


def _before(file: RobotsFile, line: Line) -> Iterator[Finding]:
    """Yield a finding for a line that stands before the first user-agent line and needs one."""
    fix = "write User-agent: * above it"
    if line.key in _OF_A_GROUP:
        message = "the line stands before the first user-agent line, and is ignored"
        yield file.finding_at("rule-before-group", line, message, fix, 1)
    elif line.key in (USAGE_KEY, SIGNAL_KEY):
        message = "the preference stands before the first user-agent line: for whom is undefined"
        yield file.finding_at("signal-before-group", line, message, fix, 1)


def _two_ways(file: RobotsFile, line: Line, between: Line) -> Finding:
    what = f"line {between.number}"
    what += " is blank" if between.key == BLANK else " is not a rule"
    message = (
        f"{what}, so this line and the user-agent lines before it share the rules that follow; "
        "some readers see two groups"
    )
    together = (
        "remove the blank line" if between.key == BLANK else f"move line {between.number} down"
    )
    fix = (
        f"{together} if the user-agent lines belong together, else write Disallow: or another rule "
        "before this line"
    )
    return file.finding_at("group-read-two-ways", line, message, fix, 1)


def _blank(file: RobotsFile, between: Line) -> Finding:
    message = "a blank line within a group ends it for crawlers of the documents of 1994 and 1996"
    return file.finding_at("blank-line-in-group", between, message, "remove the blank line", 1)


def check_repetition(file: RobotsFile) -> Iterator[Finding]:
    """Yield the groups for a crawler that has one already, and those without any rule."""
    first: dict[str, int] = {}
    for group in file.groups:
        for line in group.agents:
            [name] = names_of(line.value, RFC9309)
            if name and first.get(name, line.number) < group.agents[0].number:
                message = (
                    f'a group for "{quoted(name)}" stands in line {first[name]} already: the rules '
                    "of both count together"
                )
                yield file.finding_at("group-repeated", line, message, "merge the two groups")
            first.setdefault(name, line.number)
        named = [name for name in group.names if name and name != DEFAULT]
        if named and not group.rules:
            message = f'the group of "{quoted(named[0])}" has no rule: that crawler may fetch all'
            fix = "write Disallow: to say so, or the rules that are meant"
            yield file.finding_at("group-without-rules", group.agents[0], message, fix)
