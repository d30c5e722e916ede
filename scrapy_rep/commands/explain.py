"""``scrapy robots explain``: why may my crawler fetch a URL, or why not?"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_rep.commands.configuration import identity_of, profile_of
from scrapy_rep.commands.crawling import run_in_crawl
from scrapy_rep.commands.endings import Status
from scrapy_rep.commands.explanation import Candidate, Explanation, Matched, explanation
from scrapy_rep.commands.lookups import body_of
from scrapy_rep.commands.sources import authority_named, read
from scrapy_rep.commands.terminal import escaped, note, painted, say
from scrapy_rep.protocol.policy import Decision

if TYPE_CHECKING:
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.explaining import LookUp
    from scrapy_rep.protocol.verdict import Verdict

_AROUND = 3
"""Lines that are shown before and after the deciding one, and after a user-agent line."""


def needs_crawl(options: Namespace) -> bool:
    """Return True if the rules have to be fetched."""
    authority_named(options.url)
    return options.robots_txt is None


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Print why the verdict is what it is."""
    overridden: Verdict | None = None
    refused: Verdict | None = None
    if options.robots_txt is not None:
        body = read(options.robots_txt)
        agent = identity_of(command.project, options)
        origin = options.robots_txt
    else:
        one = _looked_up(command, options)
        known = one.known
        overridden = one.verdict if one.verdict.override is not None else None
        if overridden is not None and known is not None and known.robots is None:
            return _without_rules(options, one, known.answer.status if known.answer else None)
        body = body_of(options.url, known)
        agent = one.agent
        answer = known.answer if known is not None else None
        origin = str(answer.uri or one.authority) if answer is not None else str(one.authority)
        if known is not None and known.decision is not Decision.FOLLOW and answer is not None:
            return _without_rules(options, one, answer.status)
        if not one.verdict.allowed and one.verdict.rule is None:
            refused = one.verdict  # for the pace or the use of the page: the rules may allow it
    profile = profile_of(command.project, options)
    found = explanation(body, options.url, agent, profile, origin)
    if refused is not None:
        found = replace(found, verdict=refused)
    if options.format == "json":
        said = found.as_dict()
        if overridden is not None:
            said["override"] = {"allowed": overridden.allowed, "by": overridden.override}
        say(json.dumps(said, indent=2))
    else:
        if overridden is not None:
            _say_override(options.url, overridden)
            _heading("Without the override")
        _as_text(found, body)
    return _status((overridden or found.verdict).allowed)


def _say_override(url: str, verdict: Verdict) -> None:
    say(f"{_word(verdict.allowed)}: {escaped(url)}")
    say(f"  by override: {escaped(str(verdict.override))}")


def _looked_up(command: RobotsCommand, options: Namespace) -> LookUp:
    async def work(middleware: RepDownloaderMiddleware) -> LookUp:
        return await middleware.look_up(options.url, options.agent)

    return run_in_crawl(command, options, work)


def _without_rules(options: Namespace, one: LookUp, status: int | None) -> Status:
    """Explain the verdict where there is no file to read."""
    verdict = one.verdict
    if options.format == "json":
        said: dict[str, Any] = {
            "url": options.url,
            "allowed": verdict.allowed,
            "reason": verdict.reason,
            "status": status,
        }
        if verdict.override is not None:
            said["override"] = {"allowed": verdict.allowed, "by": verdict.override}
        say(json.dumps(said, indent=2))
    else:
        if verdict.override is not None:
            _say_override(options.url, verdict)
        else:
            say(f"{_word(verdict.allowed)}: {escaped(options.url)}")
        if status is None:
            say(f"  {one.authority} has no rules: its robots.txt is unreachable")
        else:
            say(f"  {one.authority} has no rules: its robots.txt answered with status {status}")
    return _status(verdict.allowed)


def _status(allowed: bool) -> Status:
    if not allowed:
        note("explain", "the URL is disallowed")
        return Status.FOUND
    return Status.CLEAN


def _word(allowed: bool) -> str:
    return painted("allowed", "green") if allowed else painted("disallowed", "red")


def _as_text(found: Explanation, body: bytes) -> None:
    verdict = found.verdict
    say(f"{_word(verdict.allowed)}: {escaped(found.url)}")
    why = verdict.reason
    if verdict.rule is not None:
        why = f"{verdict.rule} (line {verdict.line})"
    say(f"  for {escaped(', '.join(found.agent))} in the profile {found.profile}: {escaped(why)}")
    _heading(f"The file ({escaped(found.origin)})")
    _file(found)
    _heading("Rules that match")
    _matched(found.matched)
    _heading("Groups")
    for group in found.groups:
        say(_group(group))
    if not found.groups:
        say("  none")
    _heading("Normal forms")
    say(f"  URL   {escaped(found.path)}")
    for rule in found.matched:
        say(f"  rule  {escaped(rule.normal)}")
    _heading("Other profiles")
    for name, other in found.others:
        by = f"{other.rule}, line {other.line}" if other.rule is not None else other.reason
        say(f"  {name}: {_word(other.allowed)} ({escaped(by)})")
    if not found.others:
        say("  all say the same")


def _heading(text: str) -> None:
    say()
    say(painted(text, "bold"))


def _file(found: Explanation) -> None:
    """Print the lines around those that count, with their numbers; ``>`` marks the deciding one."""
    deciding = found.verdict.line
    counting = {rule.line for rule in found.matched} | {g.line for g in found.groups if g.chosen}
    wanted = {
        number
        for line in (*counting, *((deciding,) if deciding else ()))
        for number in range(line - _AROUND, line + _AROUND + 1)
    } or {*range(1, 2 * _AROUND + 1)}
    last = 0
    for number, line in enumerate(found.lines, 1):
        if number not in wanted:
            continue
        if number > last + 1:
            say("      ...")
        last = number
        mark = ">" if number == deciding else " "
        text = f"  {mark} {number:>4}  {escaped(line)}"
        say(painted(text, "bold") if mark == ">" else text)
    if last < len(found.lines):
        say("      ...")


def _matched(rules: Sequence[Matched]) -> None:
    for rule in rules:
        what = painted("decides", "bold") if rule.decides else f"loses: {rule.why}"
        say(f"  line {rule.line}: {escaped(str(rule.rule))}  ({rule.octets} octets)  {what}")
    if not rules:
        say("  none")


def _group(group: Candidate) -> str:
    names = escaped(", ".join(group.names))
    return f"  line {group.line}: {names}: {group.why}"
