"""``scrapy robots diff``: what does a change of a robots.txt mean, and for whom?"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy_rep.commands.archives import body_at, parse_locator
from scrapy_rep.commands.configuration import effective_settings
from scrapy_rep.commands.endings import Status, usage_error
from scrapy_rep.commands.lookups import fetched, followed
from scrapy_rep.commands.sources import authority_named, is_url, read
from scrapy_rep.commands.stored import stored_body
from scrapy_rep.commands.terminal import note, painted, say
from scrapy_rep.linting.difference import MOST_PATHS, Difference, difference
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.text import truncate

if TYPE_CHECKING:
    from scrapy_rep.access.policy import Policy
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.robotstxt.verdict import Verdict

_STORE, _WARC = "store:", "warc:"
_MOST_AGENTS = 8
"""Names of crawlers that are shown in one line."""


def needs_crawl(options: Namespace) -> bool:
    """Return True if a version has to be fetched."""
    if options.old == options.new == "-":
        raise usage_error("only one of OLD and NEW can be standard input")
    for source in (options.old, options.new):
        if source.startswith(_STORE):
            authority_named(source.removeprefix(_STORE))
        elif source.startswith(_WARC):
            parse_locator(source.removeprefix(_WARC))
        elif is_url(source):
            authority_named(source)
    return is_url(options.old) or is_url(options.new)


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Print for which crawlers which paths change."""
    settings = effective_settings(command.project, options)
    old, new = _bodies(command, options, settings.policy)
    found = difference(old, new, options.agent or (), settings.profile)
    if options.format == "json":
        say(json.dumps({"differences": [one.as_dict() for one in found]}, indent=2))
    else:
        _as_text(found)
    if not found:
        return Status.CLEAN
    agents = sum(len(one.agents) for one in found)
    note("diff", f"the rules differ for {agents} crawler{'s' * (agents > 1)}")
    return Status.FOUND


def _bodies(command: RobotsCommand, options: Namespace, policy: Policy) -> tuple[bytes, bytes]:
    """Return both versions, as far as a crawler reads them."""
    sources = (options.old, options.new)
    known = fetched(command, options, sources)
    old, new = [
        followed(known[source]) if source in known else _read(command, options, source, policy)
        for source in sources
    ]
    return truncate(old, policy.max_size), truncate(new, policy.max_size)


def _read(command: RobotsCommand, options: Namespace, source: str, policy: Policy) -> bytes:
    if source.startswith(_STORE):
        authority = authority_named(source.removeprefix(_STORE))
        return stored_body(command.project, options, authority, policy)
    if source.startswith(_WARC):
        return body_at(parse_locator(source.removeprefix(_WARC)), policy)
    return read(source, url_may_be_meant=True)


def _as_text(found: Sequence[Difference]) -> None:
    for number, one in enumerate(found):
        if number:
            say()
        names = ", ".join(one.agents[:_MOST_AGENTS])
        more = len(one.agents) - _MOST_AGENTS
        say(painted(escaped(names + (f" and {more} more" if more > 0 else "")), "bold"))
        for change in one.paths:
            say(f"  {escaped(change.path)}")
            say(f"    - {_told(change.old)}")
            say(f"    + {_told(change.new)}")
        if len(one.paths) == MOST_PATHS:
            say(f"  and more: {MOST_PATHS} paths are shown")
        for name, old, new in zip(one.old_pace._fields, one.old_pace, one.new_pace, strict=True):
            if old != new:
                say(f"  {name.replace('_', ' ')}: {old or 'none'} -> {new or 'none'}")


def _told(verdict: Verdict) -> str:
    word = painted("allowed", "green") if verdict.allowed else painted("disallowed", "red")
    if verdict.rule is None:
        return f"{word} ({escaped(verdict.reason)})"
    group = escaped(verdict.group or "")
    return f"{word} by {escaped(str(verdict.rule))} (line {verdict.line}, group {group})"
