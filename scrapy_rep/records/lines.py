"""The lines of a decision log, ``REP_DECISION_LOG``: each is one JSON object.

A class here is the schema of its lines, and what writes and reads them.
``msgspec.json.schema(Line)`` is their JSON Schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import msgspec

from scrapy_rep.access.in_force import Basis

if TYPE_CHECKING:
    from scrapy_rep.robotstxt.verdict import Verdict

SCHEMA_VERSION: Literal[1] = 1

_LONGEST_LINE = 1 << 20
"""Octets of a line that is read; Scrapy's URLs and the rules of a robots.txt are far shorter."""

_LONGEST_RULE = 2_000
"""Characters of a rule, as in the longest URLs that servers and browsers take."""

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""Written in UTC, to the microsecond (RFC 3339)."""

Crawl = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
"""The random name of a run, the same in all of its lines."""

LineNumber = Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
Seconds = Annotated[float, msgspec.Meta(ge=0, lt=1e12)]
Digest = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]


def rule_of(verdict: Verdict) -> str | None:
    """Return the rule that decides, as the site wrote it, and cut if it is very long.

    A site can write half a megabyte, and each refusal would have it in its line.
    """
    if verdict.rule is None:
        return None
    rule = str(verdict.rule)
    return rule if len(rule) <= _LONGEST_RULE else rule[:_LONGEST_RULE] + "..."


class OverrideEntry(msgspec.Struct, frozen=True):
    """An entry of ``REP_OVERRIDES``; ``tokens`` and ``delay`` are those of its action."""

    entry: int
    authority: str
    action: str
    paths: list[str]
    tokens: list[str]
    delay: float
    reason: str
    by: str
    until: str


class RunLine(msgspec.Struct, frozen=True, tag_field="type", tag="run"):
    """The first line of a run: what all its decisions depend on.

    ``settings`` are those of this package, by the names of the fields of ``RepSettings``, without
    the store and the paths of files. ``archive`` is the name of the file of ``REP_WARC``.
    """

    crawl: Crawl
    schema: Literal[1]
    time: Time
    versions: dict[str, str | None]
    agent: tuple[str, ...]
    settings: dict[str, Any]
    overrides: list[OverrideEntry]
    archive: str | None


class LoggedVerdict(msgspec.Struct, frozen=True):
    """A verdict: whether the request is allowed, and by which rule, line and group, or why."""

    allowed: bool
    rule: str | None
    line: LineNumber | None
    group: str | None
    reason: str

    @classmethod
    def of(cls, verdict: Verdict) -> LoggedVerdict:
        """Return what a line says of a verdict."""
        return cls(verdict.allowed, rule_of(verdict), verdict.line, verdict.group, verdict.reason)


class DecisionLine(msgspec.Struct, tag_field="type", tag="decision"):
    """The line of a decision.

    ``requested`` is the page that was asked for, if ``url`` is the final URL of a response.
    ``cause`` says why a site is unreachable. ``digest`` is that of the octets of robots.txt that
    were followed. ``record`` and ``failure_record`` are the IDs of the records in the archive of
    the response that counts and of the newest failed fetch. ``age`` is seconds since the rules were
    fetched, or the failures began; ``delay`` is the seconds between two requests that the site asks
    for. ``without`` is the verdict without the override that changed it.
    """

    crawl: Crawl
    time: Time
    authority: str | None
    method: str
    url: str
    requested: str | None
    agent: tuple[str, ...]
    allowed: bool
    rule: str | None
    line: LineNumber | None
    group: str | None
    reason: str
    outcome: Basis
    status: int | None
    cause: str | None
    digest: Digest | None
    record: str | None
    failure_record: str | None
    age: Seconds | None
    delay: Seconds | None = None
    preferences: Mapping[str, str] | None = None
    override: str | None = None
    without: LoggedVerdict | None = None


Line = RunLine | DecisionLine


_encode = msgspec.json.Encoder().encode


def encoded(line: Line) -> bytes:
    """Return a line with its end: ASCII, and no control character, whatever is in it."""
    try:
        octets = _encode(line)
        if octets.isascii() and 0x7F not in octets:
            return octets + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair
        pass
    plain = msgspec.to_builtins(line)
    return json.dumps(plain, separators=(",", ":")).replace("\x7f", "\\u007f").encode() + b"\n"


_decode = msgspec.json.Decoder(Line).decode

_HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, as in the name of a file that is not UTF-8. msgspec reads none."""


def read_lines(stream: BinaryIO) -> Iterator[Line | None]:
    """Yield the lines of a log; None for what is not one. Halves of surrogate pairs are escaped.

    A log may end in the middle of a line, and hold lines of other programs or of another version.
    A line that is too long counts once for each of its parts. Empty lines are passed over: a
    process that looks at the end of the file while another one writes may begin with one.
    """
    while octets := stream.readline(_LONGEST_LINE):
        if octets != b"\n":
            yield _read(octets)


def _read(octets: bytes) -> Line | None:
    try:
        return _decode(octets)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        if b"\\ud" not in octets:
            return None
    try:
        text = json.dumps(json.loads(octets), ensure_ascii=False)
        return _decode(_HALF.sub(lambda half: f"\\\\u{ord(half[0]):x}", text))  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return None
