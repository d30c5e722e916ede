"""``scrapy robots explain``: why may my crawler fetch a URL, or why not?"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_rep.commands.check import as_json, lack_of_rules, look_up_all, shown, told
from scrapy_rep.commands.crawl import unreachable
from scrapy_rep.commands.output import Status, note, painted, say, say_json
from scrapy_rep.commands.sources import authority_named
from scrapy_rep.gate.judge import OVERRIDE, PACE, RULES, USE
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.robotstxt.lines import agent_lines
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from scrapy_rep.robotstxt.verdict import Verdict, as_plain, is_undefined

if TYPE_CHECKING:
    from scrapy_rep.commands.crawl import Project
    from scrapy_rep.gate.explain import LookUp

_DECIDERS = {OVERRIDE: "the rules of an override", PACE: "the pace", USE: "the use of the page"}
_MOST_MATCHES = 12
"""Rules that are shown of those that match; the others would lose to all of them."""


class Explanation(NamedTuple):
    """What the rules of a file say about a URL, and how they come to it."""

    verdict: Verdict
    matched: list[Verdict]
    """What decides, then what would decide without it, and so on."""
    groups: list[int]
    """The user-agent lines of the groups that count."""
    others: list[tuple[str, Verdict]]
    """The profiles that would decide otherwise."""
    lines: list[str]


def run(project: Project, options: Namespace) -> Status:
    """Print why the verdict is what it is: what decided, the lines that count, other profiles."""
    authority_named(options.url)
    started, file = time.time(), options.robots_txt
    profile = project.chosen.profile
    [one] = look_up_all(project, options, [options.url])
    known = one.known
    if is_undefined(one.verdict):
        raise unreachable(options.url, one)
    found, origin = None, file or str(one.authority)
    if known is not None and known.body is not None and known.answer is not None:
        found = explained(known.body, requested_url(options.url), one.agent, profile)
        origin = file or known.answer.uri or origin
    if options.format == "json":
        said = as_json(options.url, one, profile, started, file)
        say_json("explain", [said | _as_json(found)])
    else:
        _as_text(options.url, one, found, profile, origin)
    if one.verdict.allowed:
        return Status.CLEAN
    note("explain", "the URL is disallowed")
    return Status.FOUND


def explained(body: bytes, url: str, agent: Sequence[str], profile: str) -> Explanation:
    """Return why ``agent`` may fetch ``url`` by the rules of a robots.txt, or why not."""
    robots = _parse(body, profile)
    verdict = robots.verdict(url, agent)
    others = [
        (name, other.verdict(url, agent))
        for name in PROFILES
        if name != profile
        and (other := _parse(body, name)).allowed(url, agent) is not verdict.allowed
    ]
    text = robots.text().encode("latin-1").decode("utf-8", "backslashreplace")
    matched = robots.matching(url, agent)[:_MOST_MATCHES]
    groups = agent_lines(robots.group(robots.tokens_of(agent)))
    lines = text.removesuffix("\n").split("\n")[1:]
    return Explanation(verdict, matched, groups, others, lines)


def _parse(body: bytes, profile: str) -> RobotsTxt:
    return RobotsTxt.parse(body, profile=profile, max_size=len(body))  # it is cut already


def _as_json(found: Explanation | None) -> dict[str, Any]:
    """Return what an explanation adds to the verdict; nothing if there are no rules."""
    return {
        "by_rules": None if found is None else as_plain(found.verdict),
        "matched": [] if found is None else [as_plain(each) for each in found.matched],
        "groups": [] if found is None else found.groups,
        "other_profiles": {} if found is None else {n: as_plain(v) for n, v in found.others},
    }


def _as_text(url: str, one: LookUp, found: Explanation | None, profile: str, origin: str) -> None:
    say(f"{shown(one.verdict)}: {escaped(url)}")
    if one.by != RULES:
        decider = "" if one.verdict.override is not None else f"{_DECIDERS[one.by]}: "
        say(f"  {escaped(decider + told(one.verdict))}")
    if found is None:
        if one.known is not None:
            start = "unreachable: " if one.known.unreachable else ""
            say(f"  {one.authority}: {start}{escaped(lack_of_rules(one.known))}")
        return
    if one.by != RULES:
        say(f"  by the rules alone: {shown(found.verdict)}, {escaped(told(found.verdict))}")
    else:
        agent = escaped(", ".join(one.agent))
        say(f"  for {agent} in the profile {profile}: {escaped(told(found.verdict))}")
    _excerpt(found, origin)
    if found.others:
        say()
        say(painted("Other profiles", "bold"))
        several: dict[str, list[str]] = {}
        for name, other in found.others:
            several.setdefault(f"{shown(other)}: {escaped(told(other))}", []).append(name)
        for said, names in several.items():
            say(f"  {', '.join(names)}: {said}")


def _excerpt(found: Explanation, origin: str) -> None:
    """Print the lines that count, with those beside them; ``>`` marks the deciding one."""
    deciding, *losing = [verdict.line for verdict in found.matched] or [None]
    counting = {*found.groups, *losing, deciding} - {None}
    if not counting:
        return
    say()
    say(painted(escaped(origin), "bold"))
    last = 0
    for number, line in enumerate(found.lines, 1):
        if not counting & {number - 1, number, number + 1}:
            continue
        if number > last + 1:
            say("        ...")
        last = number
        mark = ">" if number == deciding else " "
        end = "  (decides)" if number == deciding else "  (loses)" if number in losing else ""
        text = f"  {mark} {number:>4}  {escaped(line)}{end}".rstrip()
        say(painted(text, "bold" if mark == ">" else ""))
    if last < len(found.lines):
        say("        ...")
