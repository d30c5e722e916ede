"""``scrapy robots check``: may my crawler fetch these URLs, and by which rule?

Other subcommands use its functions, so that all of them describe a verdict in the same words.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

from scrapy_rep.commands.crawl import Project, lack_of_rules, look_up
from scrapy_rep.commands.offline import Offline
from scrapy_rep.commands.output import Status, counted, listed, note, painted, say, say_json
from scrapy_rep.commands.sources import governing, read
from scrapy_rep.gate.explain import LookUp
from scrapy_rep.preferences.robots_txt import preferences
from scrapy_rep.robotstxt.printable import escaped, without_login
from scrapy_rep.robotstxt.verdict import (
    UNAVAILABLE,
    UNREACHABLE,
    Verdict,
    as_plain,
    is_undefined,
    why,
)
from scrapy_rep.sites.cached_rules import CachedRules

ALLOWED, DISALLOWED = "allowed", "disallowed"
_COLOURS = {ALLOWED: "green", DISALLOWED: "red", UNREACHABLE: "yellow"}


def run(project: Project, options: Namespace) -> Status:
    """Print a line for each URL."""
    found = look_up_all(project, options, options.urls)
    if options.format == "json":
        rows = zip(options.urls, found, strict=True)
        say_json("check", [as_json(url, one, project.rep_settings.profile) for url, one in rows])
    else:
        for url, one in zip(options.urls, found, strict=True):
            word, reason = painted_word(one.verdict, 10), reason_of(one.verdict, one.known)
            say(f"{word}  {escaped(without_login(url))}  {reason}")
    return sum_up("check", found)


def sum_up(subcommand: str, found: Sequence[LookUp]) -> Status:
    """Say on stderr how many URLs are not allowed; return the exit status."""
    counts = Counter(word_of(one.verdict) for one in found)
    if summary := listed(counts, (DISALLOWED, UNREACHABLE)):
        note(subcommand, f"of {counted(len(found), 'URL')}, {summary}")
    if counts[UNREACHABLE]:
        return Status.UNKNOWN
    return Status.FOUND if counts[DISALLOWED] else Status.CLEAN


def look_up_all(project: Project, options: Namespace, urls: Sequence[str]) -> list[LookUp]:
    """Return the verdicts on URLs, by the file of ``--robots-txt`` or else as a crawl finds them.

    Raises ``EndingError`` for text that is not an absolute URL.
    """
    for url in urls:
        governing(url)
    if options.robots_txt is None:
        return look_up(project, urls, options.agent)
    offline, body = Offline(project, options.agent), read(options.robots_txt)
    return [offline.look_up(url, body) for url in urls]


def word_of(verdict: Verdict) -> str:
    """Return the verdict in one word."""
    if is_undefined(verdict):
        return UNREACHABLE
    return ALLOWED if verdict.allowed else DISALLOWED


def painted_word(verdict: Verdict, width: int = 0) -> str:
    """Return the verdict in one word, in its colour on a terminal, padded to ``width``."""
    word = word_of(verdict)
    return painted(word.ljust(width), _COLOURS[word])


def reason_of(verdict: Verdict, known: CachedRules | None = None) -> str:
    """Return why a verdict is what it is: printable, in one line."""
    if verdict.override is not None:
        return f"override: {why(verdict)}"
    is_for_lack = is_undefined(verdict) or verdict.reason == UNAVAILABLE
    return lack_of_rules(known) if is_for_lack and known is not None else why(verdict)


def as_json(url: str, one: LookUp, profile: str) -> dict[str, Any]:
    """Return all that is known about a URL; the delay in seconds."""
    verdict, known = one.verdict, one.known
    robots = None if known is None else known.robots
    stated = None if robots is None else preferences(robots, one.url, one.agent)
    return {
        "url": without_login(url),
        "verdict": word_of(verdict),
        **as_plain(verdict),
        "lack_of_rules": lack_of_rules(known) if known is not None and robots is None else None,
        "override": verdict.override,
        "decided_by": one.by,
        "agent": [*one.agent],
        "profile": profile,
        "delay": None if robots is None else robots.pace(one.agent).interval or None,
        "preferences": None if stated is None else stated.answers or None,
    }
