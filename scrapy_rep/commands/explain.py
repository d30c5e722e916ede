"""``scrapy robots explain``: why may my crawler fetch a URL, or why not?"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrapy_rep.commands.configuration import effective_settings
from scrapy_rep.commands.crawling import run_in_crawl
from scrapy_rep.commands.endings import Status
from scrapy_rep.commands.explanation import Candidate, Explanation, Matched, explanation
from scrapy_rep.commands.lookups import unreachable
from scrapy_rep.commands.offline import Offline
from scrapy_rep.commands.sources import authority_named, read
from scrapy_rep.commands.terminal import note, painted, say
from scrapy_rep.gate.judge import OVERRIDE, PACE, RULES, USE
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.verdict import as_plain, is_undefined

if TYPE_CHECKING:
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.gate.explain import LookUp

_DECIDERS = {OVERRIDE: "the rules of an override", PACE: "the pace", USE: "the use of the page"}
_AROUND = 3
"""Lines that are shown before and after the deciding one, and after a user-agent line."""


def needs_crawl(options: Namespace) -> bool:
    """Return True if the rules have to be fetched."""
    authority_named(options.url)
    return options.robots_txt is None


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Print why the verdict is what it is: what decided, then all about the rules."""
    settings = effective_settings(command.project, options)
    one, body, origin = _found(command, options)
    found = None
    if body is not None:
        url = requested_url(options.url)
        found = explanation(body, url, one.agent, settings.profile, origin, settings.max_size)
    if options.format == "json":
        say(json.dumps(_as_dict(options.url, one, found), indent=2))
    else:
        _say_verdict(options.url, one, found)
        if found is not None:
            _as_text(found)
    if one.verdict.allowed:
        return Status.CLEAN
    note("explain", "the URL is disallowed")
    return Status.FOUND


def _found(command: RobotsCommand, options: Namespace) -> tuple[LookUp, bytes | None, str]:
    """Return what is known of the URL, the octets that are followed, and where they came from."""
    if options.robots_txt is not None:
        body = read(options.robots_txt)
        offline = Offline(command.project, options)
        return offline.look_up(options.url, body, offline.parse(body)), body, options.robots_txt

    async def work(middleware: RepDownloaderMiddleware) -> LookUp:
        return await middleware.look_up(options.url, options.agent)

    one = run_in_crawl(command, options, work)
    known = one.known
    if is_undefined(one.verdict):
        raise unreachable(options.url, known)
    if known is None or known.body is None or known.answer is None:
        return one, None, ""
    return one, known.body, known.answer.uri or str(one.authority)


def _as_dict(url: str, one: LookUp, found: Explanation | None) -> dict[str, Any]:
    answer = one.known.answer if one.known is not None else None
    said: dict[str, Any] = {"url": url, **as_plain(one.verdict), "decided_by": one.by}
    if one.by == OVERRIDE:
        said["override"] = one.verdict.override
    if found is None:
        return {**said, "status": answer.status if answer is not None else None}
    return {**said, **found.as_dict()}


def _say_verdict(url: str, one: LookUp, found: Explanation | None) -> None:
    """Print the verdict and what decided; the rules come after that, or there are none."""
    say(f"{_word(one.verdict.allowed)}: {escaped(url)}")
    if one.by != RULES:
        say(f"  by {_decider(one)}")
        if found is not None:
            _heading("By the rules alone")
            say(f"{_word(found.verdict.allowed)}: {escaped(url)}")
    if found is not None:
        return
    answer = one.known.answer if one.known is not None else None
    if answer is None:
        say(f"  {one.authority} has no rules: its robots.txt is unreachable")
    else:
        say(f"  {one.authority} has no rules: its robots.txt answered with status {answer.status}")


def _decider(one: LookUp) -> str:
    """Return what decided, if it was not the rules of the site, and what it says."""
    verdict = one.verdict
    if verdict.override is not None:
        return f"override: {escaped(verdict.override)}"
    line = f" (line {verdict.line})" if verdict.line is not None else ""
    return f"{_DECIDERS[one.by]}: {escaped(f'{verdict.rule or verdict.reason}{line}')}"


def _word(allowed: bool) -> str:
    return painted("allowed", "green") if allowed else painted("disallowed", "red")


def _as_text(found: Explanation) -> None:
    verdict = found.verdict
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
