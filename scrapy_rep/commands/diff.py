"""``scrapy robots diff``: what does a change of a robots.txt mean, and for whom?"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep.access.policy import Decision
from scrapy_rep.commands.check import lack_of_rules, shown, told
from scrapy_rep.commands.crawl import robots_txt_of
from scrapy_rep.commands.output import (
    EndingError,
    Status,
    counted,
    note,
    painted,
    say,
    say_json,
)
from scrapy_rep.linting.effects import MOST_PATHS, Difference, difference
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.robotstxt.verdict import Verdict, as_plain
from scrapy_rep.sites.cached_rules import CachedRules

if TYPE_CHECKING:
    from scrapy_rep.commands.crawl import Project

_MOST_AGENTS = 8
"""Names of crawlers that are shown in one line."""


class _Version(NamedTuple):
    """One side: its octets, and what it is if it is not a file."""

    body: bytes
    instead: str = ""


def run(project: Project, options: Namespace) -> Status:
    """Print for which crawlers which paths change."""
    chosen = project.chosen
    old, new = map(_version, robots_txt_of(project, options, [options.old, options.new]))
    found = difference(
        truncate(old.body, chosen.max_size),
        truncate(new.body, chosen.max_size),
        options.agent or (),
        chosen.profile,
    )
    if options.format == "json":
        say_json("diff", [_as_json(one, old, new) for one in found])
    else:
        _as_text(found, old, new)
    if not found:
        return Status.CLEAN
    agents = sum(len(one.agents) for one in found)
    note("diff", f"the rules differ for {counted(agents, 'crawler')}")
    return Status.FOUND


def _version(source: bytes | CachedRules | EndingError) -> _Version:
    """Return a side, which a site without a robots.txt opens or closes as a whole."""
    if isinstance(source, bytes):
        return _Version(source)
    if isinstance(source, EndingError):
        raise source
    body = b"" if source.decision is Decision.ALLOW_ALL else b"User-agent: *\nDisallow: /\n"
    return _Version(body, lack_of_rules(source))


def _seen(verdict: Verdict, version: _Version) -> Verdict:
    """Return a verdict without the rule of a file that does not exist."""
    if not version.instead:
        return verdict
    return Verdict(allowed=verdict.allowed, reason=version.instead)


def _as_json(one: Difference, old: _Version, new: _Version) -> dict[str, object]:
    return {
        "agents": [*one.agents],
        "paths": [
            {
                "path": change.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
                "old": as_plain(_seen(change.old, old)),
                "new": as_plain(_seen(change.new, new)),
            }
            for change in one.paths
        ],
        "old_pace": one.old_pace,
        "new_pace": one.new_pace,
    }


def _as_text(found: Sequence[Difference], old: _Version, new: _Version) -> None:
    for number, one in enumerate(found):
        if number:
            say()
        names = ", ".join(one.agents[:_MOST_AGENTS])
        more = len(one.agents) - _MOST_AGENTS
        say(painted(escaped(names + (f" and {more} more" if more > 0 else "")), "bold"))
        for change in one.paths:
            say(f"  {escaped(change.path)}")
            for mark, verdict in (("-", _seen(change.old, old)), ("+", _seen(change.new, new))):
                say(f"    {mark} {shown(verdict)}: {escaped(told(verdict))}")
        if len(one.paths) == MOST_PATHS:
            say(f"  and more: {MOST_PATHS} paths are shown")
        for name in sorted({*one.old_pace, *one.new_pace}):
            before, after = one.old_pace.get(name), one.new_pace.get(name)
            if before != after:
                say(f"  {name}: {before or 'none'} -> {after or 'none'}")
