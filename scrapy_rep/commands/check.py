"""``scrapy robots check``: may my crawler fetch these URLs, and by which rule?"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from scrapy_rep.access.authority import Authority, authority_of, has_scheme
from scrapy_rep.access.requested_pace import RequestedPace
from scrapy_rep.commands.approval import Approval, Found
from scrapy_rep.commands.configuration import effective_settings
from scrapy_rep.commands.crawling import run_in_crawl
from scrapy_rep.commands.endings import EndingError, Status, usage_error
from scrapy_rep.commands.lookups import followed, look_up_all
from scrapy_rep.commands.offline import Offline
from scrapy_rep.commands.sources import read
from scrapy_rep.commands.terminal import aligned, duration, fits, note, painted, say, table
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.preferences.robots_txt import preferences
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.robotstxt import RobotsTxt, Verdict
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.robotstxt.verdict import UNREACHABLE, is_undefined

if TYPE_CHECKING:
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.gate.explain import LookUp

_NAMES = ("delay", "", "", "status", "redirects", "age")
"""The labels of the cells from DELAY on, where they do not stand in a table."""
_COLOURS = {"allowed": "green", "disallowed": "red", UNREACHABLE: "yellow"}


@dataclass(frozen=True, slots=True)
class Row:
    """What is said about one URL; times in seconds."""

    url: str
    verdict: str
    """``allowed``, ``disallowed`` or ``unreachable``."""
    reason: str
    rule: str | None
    line: int | None
    group: str | None
    agent: list[str]
    profile: str
    delay: float | None
    """What is asked for between two requests; a crawl keeps at most REP_MAX_CRAWL_DELAY."""
    preferences: dict[str, str] | None
    source: str
    """``fetched``, ``store``, or ``file``."""
    status: int | None
    redirects: list[str]
    age: float | None
    override: str | None = None
    """The override that changed the verdict, if one did."""
    without: str | None = None
    """What the verdict would have been without it."""


def needs_crawl(options: Namespace) -> bool:
    """Return True if rules have to be fetched."""
    _check_urls(options.urls)
    return options.robots_txt is None


def _check_urls(urls: Sequence[str]) -> None:
    for url in urls:
        try:
            asked = requested_url(url)
            governed = authority_of(asked) is not None or has_scheme(asked)
        except ValueError as error:
            raise usage_error(f"{url}: {error}") from None
        if not governed:
            raise usage_error(f"{url} is not an absolute URL")


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Print a row for each URL."""
    approval = Approval(options.approve) if options.approve is not None else None
    found: list[Found] = []
    if options.robots_txt is not None:
        rows = _by_file(command, options, found)
    else:
        rows = _by_crawl(command, options, found)
    {"text": _as_text, "json": _as_json, "jsonl": _as_jsonl}[options.format](rows)
    if approval is not None:
        changed = approval.compare(found, Offline(command.project, options))
        if changed:
            raise EndingError(Status.CHANGED, changed)
    return _status(rows)


def _by_file(command: RobotsCommand, options: Namespace, found: list[Found]) -> list[Row]:
    whole = read(options.robots_txt)
    offline = Offline(command.project, options)
    body = truncate(whole, offline.settings.max_size)
    robots = offline.parse(body)
    profile, agent = offline.settings.profile, offline.agent
    rows = []
    for url in options.urls:
        one = offline.look_up(url, body, robots)
        if one.authority is not None:
            found.append(Found(one.authority, agent, body))
        governs = robots if one.authority is not None else None
        rows.append(_row(url, one.verdict, agent, profile, governs, "file"))
    return rows


def _by_crawl(command: RobotsCommand, options: Namespace, found: list[Found]) -> list[Row]:
    started = time.time()

    async def work(middleware: RepDownloaderMiddleware) -> list[LookUp]:
        return await look_up_all(middleware, options.urls, options.agent)

    settings = effective_settings(command.project, options)
    profile = settings.profile
    looked_up = run_in_crawl(command, options, work)
    rows = []
    for url, one in zip(options.urls, looked_up, strict=True):
        if one.authority is not None and one.known is not None:
            body = None
            if not one.known.unreachable:
                body = truncate(followed(one.known), settings.max_size)
            found.append(Found(one.authority, one.agent, body))
        rows.append(_row_of(url, one, profile, started))
    return rows


def _row_of(url: str, one: LookUp, profile: str, started: float) -> Row:
    known = one.known
    robots = known.robots if known is not None else None
    verdict = one.verdict
    if known is not None and known.unreachable and is_undefined(verdict):
        verdict = replace(verdict, reason=f"{UNREACHABLE}: {known.cause}")
    return _row(url, verdict, one.agent, profile, robots, *_origin(one.authority, known, started))


def _origin(
    authority: Authority | None, known: CachedRules | None, started: float
) -> tuple[str, int | None, list[str], float | None]:
    """Return where the rules came from, the status, the redirects and the age in seconds."""
    if authority is None or known is None:
        return "none", None, [], None
    if known.answer is None:
        failed_at = known.failure.failed_at if known.failure is not None else started
        return "fetched" if failed_at >= started else "store", None, [], None
    answer = known.answer
    learnt = known.failure.failed_at if known.failure is not None else answer.fetched_at
    source = "fetched" if learnt >= started else "store"
    age = max(0.0, time.time() - answer.fetched_at)
    return source, answer.status, [*answer.redirects], round(age, 3)


def _row(
    url: str,
    verdict: Verdict,
    agent: Sequence[str],
    profile: str,
    robots: RobotsTxt | None,
    source: str,
    status: int | None = None,
    redirects: Sequence[str] = (),
    age: float | None = None,
) -> Row:
    delay = None
    if robots is not None:
        delay = RequestedPace.read(robots, tuple(agent)).interval or None
    return Row(
        url=url,
        verdict=_word(verdict),
        reason=verdict.reason,
        rule=str(verdict.rule) if verdict.rule is not None else None,
        line=verdict.line,
        group=verdict.group,
        agent=[*agent],
        profile=profile,
        delay=delay,
        preferences=_preferences(robots, requested_url(url), agent),
        source=source,
        status=status,
        redirects=[*redirects],
        age=age,
        override=verdict.override,
        without=_word(verdict.without) if verdict.without is not None else None,
    )


def _word(verdict: Verdict) -> str:
    if is_undefined(verdict):
        return UNREACHABLE
    return "allowed" if verdict.allowed else "disallowed"


def _preferences(robots: RobotsTxt | None, url: str, agent: Sequence[str]) -> dict[str, str] | None:
    """Return what a robots.txt says about the use of a page, by category; None if nothing."""
    said = preferences(robots, url, agent) if robots is not None else None
    return None if said is None else said.answers or None


def _as_json(rows: Sequence[Row]) -> None:
    say(json.dumps([asdict(row) for row in rows], indent=2))


def _as_jsonl(rows: Sequence[Row]) -> None:
    for row in rows:
        say(json.dumps(asdict(row)))


def _as_text(rows: Sequence[Row]) -> None:
    head = ("VERDICT", "URL", "RULE", "LINE", "GROUP", "DELAY", "PREFERENCES", "SOURCE", "STATUS",
            "REDIRECTS", "AGE")  # fmt: skip
    cells = aligned([head, *(_cells(row) for row in rows)])
    if fits(cells):
        table(cells, ["bold", *(_COLOURS[row.verdict] for row in rows)])
    else:
        for row in rows:
            _as_block(row)
    for row in rows:
        if row.override is not None:
            say(escaped(f"{row.url}: {row.override}; without the override: {row.without}"))


def _as_block(row: Row) -> None:
    """Print what a table has no room for: the verdict, why, and what else is known."""
    say(f"{painted(row.verdict, _COLOURS[row.verdict])}  {escaped(row.url)}")
    where = f" (line {row.line}, group {row.group})" if row.rule else ""
    say(f"    {escaped((row.rule or row.reason) + where)}")
    known = [
        f"{name} {cell}".strip()
        for name, cell in zip(_NAMES, _cells(row)[5:], strict=True)
        if cell not in ("-", "0")
    ]
    say(f"    {escaped(', '.join(known))}")


def _cells(row: Row) -> tuple[str, ...]:
    said: dict[str, Any] = row.preferences or {}
    return (
        row.verdict,
        row.url,
        row.rule or f"({row.reason})",
        str(row.line or "-"),
        row.group or "-",
        f"{row.delay:g} s" if row.delay is not None else "-",
        ", ".join(f"{name} {value}" for name, value in said.items()) or "-",
        row.source,
        str(row.status or "-"),
        str(len(row.redirects)) if row.status else "-",
        duration(row.age) if row.age is not None else "-",
    )


def _status(rows: Sequence[Row]) -> Status:
    """Return the status, and say on stderr how many URLs are not allowed."""
    disallowed = sum(row.verdict == "disallowed" for row in rows)
    causes = [row.reason for row in rows if row.verdict == UNREACHABLE]
    whole = f" of {len(rows)} URL{'s' * (len(rows) > 1)}"
    said: list[str] = []
    for count, what in ((disallowed, "disallowed"), (len(causes), ", ".join(sorted({*causes})))):
        if count:
            said.append(f"{count}{'' if said else whole} {'is' if count == 1 else 'are'} {what}")
    if not said:
        return Status.CLEAN
    note("check", ", ".join(said))
    return Status.UNKNOWN if causes else Status.FOUND
