"""``scrapy robots check``: may my crawler fetch these URLs, and by which rule?"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrapy_rep.access.authority import authority_of, has_scheme
from scrapy_rep.access.requested_pace import RequestedPace
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
from scrapy_rep.commands.project import effective_settings
from scrapy_rep.commands.sources import read
from scrapy_rep.commands.verdicts import ALLOWED, DISALLOWED, told, word_of
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.preferences.robots_txt import preferences
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.robotstxt.verdict import UNREACHABLE, is_undefined

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_rep.gate.explain import LookUp
    from scrapy_rep.robotstxt.robotstxt import RobotsTxt

_COLOURS = {ALLOWED: "green", DISALLOWED: "red", UNREACHABLE: "yellow"}


def run(settings: BaseSettings, options: Namespace) -> Status:
    """Print a line for each URL."""
    _check_urls(options.urls)
    started = time.time()
    profile = effective_settings(settings, options).profile
    if options.robots_txt is not None:
        offline, whole = Offline(settings, options), read(options.robots_txt)
        body = truncate(whole, offline.settings.max_size)
        robots = offline.parse(body)
        found = [offline.look_up(url, body, robots) for url in options.urls]
    else:
        found = look_up(settings, options, options.urls, options.agent)
    words = [word_of(one.verdict) for one in found]
    if options.format == "json":
        rows = zip(options.urls, found, strict=True)
        is_file = options.robots_txt is not None
        say_json("check", [_row(url, one, profile, started, is_file) for url, one in rows])
    else:
        width = max(map(len, words))
        for url, one, word in zip(options.urls, found, words, strict=True):
            padding = " " * (width - len(word))
            said = f"{escaped(url)}  {escaped(told(one.verdict, one.known))}"
            say(f"{painted(word, _COLOURS[word])}{padding}  {said}")
    return _status(words, found)


def _check_urls(urls: Sequence[str]) -> None:
    for url in urls:
        try:
            asked = requested_url(url)
            governed = authority_of(asked) is not None or has_scheme(asked)
        except ValueError as error:
            raise usage_error(f"{url}: {error}") from None
        if not governed:
            raise usage_error(f"{url} is not an absolute URL")


def _row(url: str, one: LookUp, profile: str, started: float, is_file: bool) -> dict[str, Any]:
    """Return all that is known about one URL; times in seconds."""
    verdict, known = one.verdict, one.known
    robots = known.robots if known is not None else None
    agent = tuple(one.agent)
    said = preferences(robots, requested_url(url), agent) if robots is not None else None
    answer = known.answer if known is not None else None
    failure = known.failure if known is not None else None
    age = None if answer is None or is_file else round(max(0.0, time.time() - answer.fetched_at), 3)
    learnt = failure.failed_at if failure is not None else answer.fetched_at if answer else started
    source = "file" if is_file else "fetched" if learnt >= started else "store"
    return {
        "url": url,
        "verdict": word_of(verdict),
        "reason": f"{UNREACHABLE}: {told(verdict, known)}"
        if is_undefined(verdict)
        else verdict.reason,
        "rule": None if verdict.rule is None else str(verdict.rule),
        "line": verdict.line,
        "group": verdict.group,
        "agent": [*agent],
        "profile": profile,
        "delay": None if robots is None else _delay(robots, agent),
        "preferences": None if said is None else said.answers or None,
        "source": None if one.authority is None else source,
        "status": None if answer is None or is_file else answer.status,
        "redirects": [] if answer is None else [*answer.redirects],
        "age": age,
        "override": verdict.override,
        "without": None if verdict.without is None else word_of(verdict.without),
    }


def _delay(robots: RobotsTxt, agent: tuple[str, ...]) -> float | None:
    """Return the interval that a robots.txt asks for; a crawl keeps at most its own limit."""
    return RequestedPace.read(robots, agent).interval or None


def _status(words: Sequence[str], found: Sequence[LookUp]) -> Status:
    """Return the status, and say on stderr how many URLs are not allowed."""
    disallowed = words.count(DISALLOWED)
    causes = {told(one.verdict, one.known) for one in found if is_undefined(one.verdict)}
    unreachable = words.count(UNREACHABLE)
    said = [f"{disallowed:,} disallowed"] if disallowed else []
    if unreachable:
        said.append(f"{unreachable:,} unreachable ({', '.join(sorted(causes))})")
    if not said:
        return Status.CLEAN
    note("check", f"of {counted(len(words), 'URL')}, {', '.join(said)}")
    return Status.UNKNOWN if unreachable else Status.FOUND
