"""The lines of a decision log, read by their schema, ``recording/decisions.schema.json``.

A log may end in the middle of a line, hold lines of other programs, or have been written by
another version. What cannot be read is named (:class:`Unread`), and never an error.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from datetime import datetime, timezone
from enum import Enum
from functools import lru_cache
from typing import BinaryIO, NamedTuple, NoReturn

from scrapy_rep.reporting.text import clipped

SCHEMA_VERSION = 1
"""The version of the schema that is read."""

_LONGEST_LINE = 1 << 20
"""Octets of a line; Scrapy's URLs and the rules of a robots.txt are far shorter."""

_LONGEST_TEXT = 300
"""Characters that are kept of a text, so that memory depends on how many there are alone."""

_LONGEST_OVERRIDE = 1_500
_MOST_SETTINGS = 60

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_START = b'{"crawl":'
_SETTINGS = frozenset(
    (
        "profile",
        "timeout",
        "crawl_delay",
        "max_crawl_delay",
        "over_max_crawl_delay",
        "preferences",
        "purposes",
        "purpose_tokens",
        "decisions",
        "log_urls",
    )
)


class Unread(Enum):
    """Why a line is left out."""

    CUT = "cut short"
    FOREIGN = "not a line of a decision log"
    DAMAGED = "not as the schema says"
    SCHEMA = "of another version of the schema"
    LONG = "longer than 1 MiB"


class LineError(ValueError):
    """A line cannot be read; ``crawl`` is the run whose schema is another one, if that is why."""

    def __init__(self, why: Unread, crawl: str | None = None):
        super().__init__(why.value)
        self.why = why
        self.crawl = crawl


class RunLine(NamedTuple):
    """The first line of a run. ``settings`` are names and values as text."""

    crawl: str
    time: str
    agent: str
    settings: tuple[tuple[str, str], ...]
    longest_delay: float
    is_complete: bool
    """Every decision of the run is recorded: ``REP_DECISIONS = "all"``."""


class LoggedVerdict(NamedTuple):
    """The verdict in a line, or the one that it would have had without an override."""

    allowed: bool
    rule: str | None
    line: int | None
    group: str | None
    reason: str


class DecisionLine(NamedTuple):
    """The line of a decision.

    ``time`` is text that sorts, ``second`` the same in seconds since the epoch.
    """

    crawl: str
    time: str
    second: int
    authority: str
    url: str
    verdict: LoggedVerdict
    outcome: str
    cause: str | None
    digest: str | None
    delay: float | None
    preferences: tuple[tuple[str, str], ...]
    override: str | None
    without: LoggedVerdict | None


def lines_of(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield lines with their ends; ``None`` for one that is too long.

    A byte order mark, which an editor may have put before a line, is left out.
    """
    is_within = False
    while octets := stream.readline(_LONGEST_LINE):
        is_whole = octets.endswith(b"\n")
        if len(octets) == _LONGEST_LINE and not is_whole:
            if not is_within:
                yield None
            is_within = True
        elif is_within:
            is_within = not is_whole
        else:
            octets = octets.removeprefix(BOM_UTF8)
            if octets:
                yield octets


def read_line(octets: bytes) -> RunLine | DecisionLine:
    """Return what a line says; raise :class:`LineError` if it cannot be read."""
    try:
        line = _decode(octets.decode("utf-8"))
    except (ValueError, RecursionError):
        raise LineError(_why_not(octets)) from None
    if type(line) is not dict or line.get("type") not in ("run", "decision"):
        raise LineError(Unread.FOREIGN)
    crawl = line.get("crawl")
    if type(crawl) is not str:
        raise LineError(Unread.DAMAGED)
    if line["type"] == "run" and line.get("schema") != SCHEMA_VERSION:
        raise LineError(Unread.SCHEMA, clipped(crawl, _LONGEST_TEXT))
    try:
        return _run(line) if line["type"] == "run" else _decision(line)
    except (KeyError, TypeError, ValueError):
        raise LineError(Unread.DAMAGED) from None


def _why_not(octets: bytes) -> Unread:
    """Return why a line is not JSON: its end is missing, or another program wrote it."""
    line = octets.rstrip(b"\n")
    if not line or not _START.startswith(line[: len(_START)]):
        return Unread.FOREIGN
    return Unread.DAMAGED if line.endswith(b"}") else Unread.CUT


def _not_a_number(constant: str) -> NoReturn:
    raise ValueError(constant)


_decode = json.JSONDecoder(parse_constant=_not_a_number).decode


def _run(line: dict[str, object]) -> RunLine:
    time = _text(line["time"])
    _second(_time(time)[:19])
    versions, policy = line["versions"], line["policy"]
    if type(versions) is not dict or type(policy) is not dict:
        raise TypeError
    said = {"versions": ", ".join(f"{name} {number}" for name, number in versions.items())}
    values = {name: value for name, value in line.items() if name in _SETTINGS} | policy
    said |= {f"REP_{name.upper()}": _value(value) for name, value in values.items()}
    settings = [(clipped(name, 60), clipped(text, _LONGEST_TEXT)) for name, text in said.items()]
    return RunLine(
        crawl=_text(line["crawl"]),
        time=time,
        agent=_tokens(line["agent"]),
        settings=tuple(settings[:_MOST_SETTINGS]),
        longest_delay=_number(line["max_crawl_delay"]),
        is_complete=line["decisions"] == "all",
    )


def _decision(line: dict[str, object]) -> DecisionLine:
    time, without, delay = _text(line["time"]), line["without"], line.get("delay")
    return DecisionLine(
        crawl=_text(line["crawl"]),
        time=time,
        second=_second(_time(time)[:19]),
        authority=_optional(line["authority"]) or "",
        url=_text(line["url"]),
        verdict=_verdict(line),
        outcome=_text(line["outcome"]),
        cause=_optional(line["cause"]),
        digest=_optional(line["digest"]),
        delay=None if delay is None else _number(delay),
        preferences=_preferences(line["preferences"]),
        override=_override(line["override"]),
        without=None if without is None else _verdict(without),
    )


def _verdict(said: object) -> LoggedVerdict:
    if type(said) is not dict or type(said["allowed"]) is not bool:
        raise TypeError
    number = said["line"]
    if number is not None and not (type(number) is int and 0 < number < 1 << 32):
        raise ValueError
    return LoggedVerdict(
        said["allowed"],
        _optional(said["rule"]),
        number,
        _optional(said["group"]),
        _text(said["reason"]),
    )


def _preferences(said: object) -> tuple[tuple[str, str], ...]:
    if said is None:
        return ()
    if type(said) is not dict:
        raise TypeError
    return tuple([(_text(name), _text(answer)) for name, answer in [*said.items()][:20]])


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError
    return value if len(value) <= _LONGEST_TEXT else clipped(value, _LONGEST_TEXT)


def _optional(value: object) -> str | None:
    return None if value is None else _text(value)


def _override(value: object) -> str | None:
    """Return the text of an override, which holds a reason that the operator has written."""
    if value is not None and type(value) is not str:
        raise TypeError
    return value if value is None else clipped(value, _LONGEST_OVERRIDE)


def _number(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value < 1e12:  # type: ignore[operator]
        raise ValueError
    return float(value)  # type: ignore[arg-type]


def _tokens(value: object) -> str:
    if type(value) is not list:
        raise TypeError
    return clipped(", ".join(map(_text, value)), _LONGEST_TEXT)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _time(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise ValueError
    return text


@lru_cache(maxsize=4_096)
def _second(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp())
