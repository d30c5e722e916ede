"""``scrapy robots check``: may my crawler fetch these URLs, and by which rule?

Other subcommands use its functions, so that all of them describe a verdict in the same words.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrapy_rep.access.authority import authority_of, has_scheme
from scrapy_rep.access.outcome import Meaning
from scrapy_rep.commands.crawl import look_up
from scrapy_rep.commands.offline import Offline
from scrapy_rep.commands.output import (
    Status,
    counted,
    note,
    painted,
    say,
    say_json,
    usage_error,
)
from scrapy_rep.commands.sources import read
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.preferences.robots_txt import preferences
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.verdict import UNREACHABLE, is_undefined

if TYPE_CHECKING:
    from scrapy_rep.commands.crawl import Project
    from scrapy_rep.gate.explain import LookUp
    from scrapy_rep.robotstxt.verdict import Verdict
    from scrapy_rep.sites.cached_rules import CachedRules

ALLOWED, DISALLOWED = "allowed", "disallowed"
_COLOURS = {ALLOWED: "green", DISALLOWED: "red", UNREACHABLE: "yellow"}


def run(project: Project, options: Namespace) -> Status:
    """Print a line for each URL; say on stderr how many are not allowed."""
    started = time.time()
    found = look_up_all(project, options, options.urls)
    words = [word_of(one.verdict) for one in found]
    whys = [told(one.verdict, one.known) for one in found]
    if options.format == "json":
        rows = zip(options.urls, found, strict=True)
        profile, file = project.chosen.profile, options.robots_txt
        say_json("check", [as_json(url, one, profile, started, file) for url, one in rows])
    else:
        width = max(map(len, words))
        for url, one, why in zip(options.urls, found, whys, strict=True):
            padding = " " * (width - len(word_of(one.verdict)))
            say(f"{shown(one.verdict)}{padding}  {escaped(url)}  {escaped(why)}")
    disallowed, unreachable = words.count(DISALLOWED), words.count(UNREACHABLE)
    said = [f"{disallowed:,} disallowed"] if disallowed else []
    if unreachable:
        several = zip(found, whys, strict=True)
        causes = sorted({why for one, why in several if is_undefined(one.verdict)})
        said.append(f"{unreachable:,} unreachable ({', '.join(causes)})")
    if said:
        note("check", f"of {counted(len(words), 'URL')}, {', '.join(said)}")
    return Status.UNKNOWN if unreachable else Status.FOUND if disallowed else Status.CLEAN


def look_up_all(project: Project, options: Namespace, urls: Sequence[str]) -> list[LookUp]:
    """Return the verdicts on URLs, by the file of ``--robots-txt`` or else as a crawl finds them.

    Raises ``EndingError`` for text that is not an absolute URL.
    """
    for url in urls:
        try:
            asked = requested_url(url)
            is_url = authority_of(asked) is not None or has_scheme(asked)
        except ValueError as error:
            raise usage_error(f"{url}: {error}") from None
        if not is_url:
            raise usage_error(f"{url} is not an absolute URL")
    if options.robots_txt is None:
        return look_up(project, options, urls, options.agent)
    offline, body = Offline(project, options.agent), read(options.robots_txt)
    return [offline.look_up(url, body) for url in urls]


def word_of(verdict: Verdict) -> str:
    """Return the verdict in one word."""
    if is_undefined(verdict):
        return UNREACHABLE
    return ALLOWED if verdict.allowed else DISALLOWED


def shown(verdict: Verdict) -> str:
    """Return the verdict in one word, in its colour on a terminal."""
    word = word_of(verdict)
    return painted(word, _COLOURS[word])


def told(verdict: Verdict, known: CachedRules | None = None) -> str:
    """Return why a verdict is what it is; text from outside is not escaped yet."""
    if verdict.override is not None:
        without = "" if verdict.without is None else f"; without it: {word_of(verdict.without)}"
        return f"override: {verdict.override}{without}"
    if verdict.rule is not None:
        return f"{verdict.rule} (line {verdict.line}, group {verdict.group})"
    if known is not None and (
        verdict.reason == Meaning.UNAVAILABLE.value or (known.unreachable and is_undefined(verdict))
    ):
        return lack_of_rules(known)
    return verdict.reason if verdict.line is None else f"{verdict.reason} (line {verdict.line})"


def lack_of_rules(known: CachedRules) -> str:
    """Return why a site has no rules."""
    if known.unreachable or known.answer is None:
        return known.cause
    return f"no robots.txt: status {known.answer.status}"


def as_json(url: str, one: LookUp, profile: str, started: float, file: str | None) -> Any:
    """Return all that is known about a URL; times in seconds.

    ``file`` is the name of the file that the rules were read from, if they were. Otherwise they
    were fetched if that was after ``started``, or come from the store.
    """
    verdict, known = one.verdict, one.known
    robots = None if known is None else known.robots
    answer = None if known is None or file is not None else known.answer
    failure = None if known is None else known.failure
    said = None if robots is None else preferences(robots, requested_url(url), one.agent)
    learnt = failure.failed_at if failure is not None else answer.fetched_at if answer else started
    source = "file" if file is not None else "fetched" if learnt >= started else "store"
    return {
        "url": url,
        "verdict": word_of(verdict),
        "reason": f"{UNREACHABLE}: {told(verdict, known)}"
        if is_undefined(verdict)
        else verdict.reason,
        "rule": None if verdict.rule is None else str(verdict.rule),
        "line": verdict.line,
        "group": verdict.group,
        "decided_by": one.by,
        "override": verdict.override,
        "without": None if verdict.without is None else word_of(verdict.without),
        "agent": [*one.agent],
        "profile": profile,
        "delay": None if robots is None else robots.pace(one.agent).interval or None,
        "preferences": None if said is None else said.answers or None,
        "source": None if one.authority is None else source,
        "status": None if answer is None else answer.status,
        "redirects": [] if answer is None else [*answer.redirects],
        "age": None if answer is None else round(max(0.0, time.time() - answer.fetched_at), 3),
    }
