"""``scrapy robots explain``: why may my crawler fetch a URL, or why not?"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import NamedTuple

from scrapy_rep.commands.check import as_json, look_up_all, painted_word, sum_up
from scrapy_rep.commands.crawl import Project, lack_of_rules
from scrapy_rep.commands.output import Status, painted, say, say_json
from scrapy_rep.exceptions import BY_ROBOTS_TXT
from scrapy_rep.gate.explain import LookUp
from scrapy_rep.robotstxt.lines import agent_lines
from scrapy_rep.robotstxt.printable import escaped, without_login
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
from scrapy_rep.robotstxt.verdict import Verdict, as_plain, why


class Explanation(NamedTuple):
    """What the rules of a file say about a URL, and how they come to it."""

    verdict: Verdict
    groups: list[int]
    """The user-agent lines of the groups that apply."""
    others: list[tuple[str, Verdict]]
    """The profiles that would decide otherwise."""
    lines: list[str]


def run(project: Project, options: Namespace) -> Status:
    """Print why the verdict is what it is: what decided, the lines involved, other profiles."""
    profile = project.rep_settings.profile
    [one] = look_up_all(project, options, [options.url])
    known, found = one.known, None
    if known is not None and known.body is not None:
        found = explained(known.body, one.url, one.agent, profile)
    if options.format == "json":
        row = as_json(options.url, one, profile)
        row["by_rules"] = None if found is None else as_plain(found.verdict)
        row["other_profiles"] = {} if found is None else {n: as_plain(v) for n, v in found.others}
        say_json("explain", [row])
    else:
        fetched = "" if known is None or known.answer is None else known.answer.uri
        origin = options.robots_txt or fetched or str(one.authority)
        _as_text(options.url, one, found, profile, origin)
    return sum_up("explain", [one])


def explained(body: bytes, url: str, agent: Sequence[str], profile: str) -> Explanation:
    """Return why ``agent`` may fetch ``url`` by the rules of a robots.txt, or why not."""
    several = {name: ParsedRobotsTxt(body, each) for name, each in PROFILES.items()}  # cut already
    verdicts = {name: robots.verdict(url, agent) for name, robots in several.items()}
    robots, verdict = several[profile], verdicts[profile]
    others = [(name, one) for name, one in verdicts.items() if one.allowed is not verdict.allowed]
    text = robots.text().encode("latin-1").decode("utf-8", "backslashreplace")
    groups = agent_lines(robots.group(robots.tokens_of(agent)))
    lines = text.removesuffix("\n").split("\n")[1:]
    return Explanation(verdict, groups, others, lines)


def _as_text(url: str, one: LookUp, found: Explanation | None, profile: str, origin: str) -> None:
    say(f"{painted_word(one.verdict)}: {escaped(without_login(url))}")
    if found is not None:
        rules = why(found.verdict)
    else:
        rules = why(one.verdict) if one.known is None else lack_of_rules(one.known)
    if one.by == BY_ROBOTS_TXT:
        say(f"  for {escaped(', '.join(one.agent))} in the profile {profile}: {rules}")
    else:
        say(f"  by {one.by}: {why(one.verdict)}")
        say(f"  by the rules alone: {rules}")
    if found is None:
        return
    _excerpt(found, origin)
    if found.others:
        say()
        say(painted("Other profiles", "bold"))
    for name, other in found.others:
        say(f"  {name}: {painted_word(other)}: {why(other)}")


def _excerpt(found: Explanation, origin: str) -> None:
    """Print the lines involved; ``>`` marks the one that decides."""
    deciding, lost = found.verdict.line, found.verdict.overruled
    losing = None if lost is None else lost.line
    counting = {line for line in (*found.groups, deciding, losing) if line is not None}
    if not counting:
        return
    say()
    say(painted(escaped(origin), "bold"))
    for number in sorted(counting):
        mark = ">" if number == deciding else " "
        end = "  (decides)" if number == deciding else "  (loses)" if number == losing else ""
        text = f"  {mark} {number:>4}  {escaped(found.lines[number - 1])}{end}"
        say(painted(text, "bold" if mark == ">" else ""))
