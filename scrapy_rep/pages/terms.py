"""The terms of META robots and X-Robots-Tag, and how a list of them is split.

A list is separated by commas. Spaces and semicolons are read as commas, too: no document allows
them, but sites write them, and no restriction must be lost. The commas of a date are not
separators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

RESTRICTIONS: Final = frozenset(
    ("noindex", "nofollow", "nosnippet", "notranslate", "noimageindex", "noarchive", "nocache",
     "noai", "noimageai", "noml")
)  # fmt: skip
NONE: Final = "none"
ALL: Final = "all"
FOLLOW: Final = "follow"
OF_1996: Final = frozenset((ALL, NONE, "index", "noindex", FOLLOW, "nofollow"))

MAX_SNIPPET: Final = "max-snippet"
MAX_VIDEO_PREVIEW: Final = "max-video-preview"
MAX_IMAGE_PREVIEW: Final = "max-image-preview"
UNAVAILABLE_AFTER: Final = "unavailable_after"
VALUED: Final = frozenset((MAX_SNIPPET, MAX_VIDEO_PREVIEW, MAX_IMAGE_PREVIEW, UNAVAILABLE_AFTER))
"""The terms that have a value. In a header, any other name before a colon is an agent."""

IMAGE_PREVIEWS: Final = ("none", "standard", "large")
"""The strictest first."""

_SIMPLE: Final = RESTRICTIONS | OF_1996
_SEPARATORS: Final = re.compile("[,;]")
_WEEKDAY: Final = re.compile("(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*", re.IGNORECASE)
_LIMIT: Final = re.compile(r"-1|[0-9]{1,15}")
_ISO_DATE: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})? ?(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
_LONGEST_DATE: Final = 64


class Term(NamedTuple):
    """A term as written; ``agent`` is the name that it was given for in a header, or empty."""

    name: str
    value: str | None = None
    agent: str = ""


def terms_of(text: str, *, agents: bool = False) -> Iterator[Term]:
    """Yield the terms of a list.

    With ``agents`` it is a line of X-Robots-Tag, in which ``name:`` counts for the terms after it,
    up to the next name.
    """
    agent = ""
    rest = _SEPARATORS.split(text)
    rest.reverse()
    while rest:
        before, colon, after = rest.pop().partition(":")
        words = before.split()
        if not colon:
            yield from (Term(word, None, agent) for word in words)
            continue
        name = words.pop() if words else ""
        yield from (Term(word, None, agent) for word in words)
        if name.lower() == UNAVAILABLE_AFTER:
            date, *others = _date_and_others(after, rest)
            yield Term(name, date, agent)
            yield from (Term(word, None, agent) for word in others)
        elif name.lower() in VALUED:
            value, _, further = after.strip().partition(" ")
            yield Term(name, value, agent)
            if further:
                rest.append(further)
        elif agents:
            agent = name or "*"
            rest.append(after)
        else:
            yield Term(f"{name}:{after}".strip(), None, agent)


def _date_and_others(text: str, rest: list[str]) -> list[str]:
    """Return a date, with the parts of ``rest`` that belong to it, and the terms after it.

    ``Wednesday, 03-Aug-2025 12:00:00 GMT`` has a comma; what follows the comma of a date begins
    with a digit.
    """
    while rest and (_WEEKDAY.fullmatch(text.strip()) or rest[-1].lstrip()[:1].isdigit()):
        text = f"{text},{rest.pop()}"
        if len(text) > _LONGEST_DATE:
            break
    words = text.split()
    others: list[str] = []
    while words and words[-1].lower() in _SIMPLE:
        others.append(words.pop())
    return [" ".join(words), *reversed(others)]


def limit_of(value: str | None) -> int | None:
    """Return a number of characters or seconds, -1 for no limit, or ``None`` for anything else."""
    return int(value) if value is not None and _LIMIT.fullmatch(value) else None


def moment_of(value: str | None) -> datetime | None:
    """Return the moment of a date by RFC 822, RFC 850 or ISO 8601, in UTC; ``None`` if unreadable.

    A date without a zone is in UTC; one without a time means the start of the day.
    """
    if value is None or len(value) > _LONGEST_DATE:
        return None
    try:
        iso = _ISO_DATE.fullmatch(value)
        if iso is None:
            moment = parsedate_to_datetime(value)
        else:
            zone = (iso[3] or "+00:00").upper().replace("Z", "+00:00")
            zone = zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
            moment = datetime.fromisoformat(f"{iso[1]}T{iso[2] or '00:00'}{zone}")
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
