"""The terms of META robots and X-Robots-Tag, and how a list of them is split.

A list is separated by commas. Spaces and semicolons are read as commas, too: no document allows
them, but sites write them, and no restriction must be lost. The commas of a date are not
separators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime, parsedate_tz
from typing import Final, NamedTuple

NOINDEX: Final = "noindex"
NOFOLLOW: Final = "nofollow"
RESTRICTIONS: Final = frozenset(
    (NOINDEX, NOFOLLOW, "nosnippet", "notranslate", "noimageindex", "noarchive", "nocache",
     "noai", "noimageai", "noml")
)  # fmt: skip
NONE: Final = "none"
ALL: Final = "all"
FOLLOW: Final = "follow"
OF_1996: Final = frozenset((ALL, NONE, "index", NOINDEX, FOLLOW, NOFOLLOW))

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
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,]\d{1,9})?)?)?)?"
    r" ?([A-Z]{1,5}|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
"""Year, month, day, hour, minute, second and zone, in the extended or the basic form."""
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


def limit_of(value: str) -> int | None:
    """Return a number of characters or seconds, -1 for no limit, or ``None`` for anything else."""
    return int(value) if _LIMIT.fullmatch(value) else None


def moment_of(value: str) -> datetime | None:
    """Return the moment of a date by RFC 822, RFC 850 or ISO 8601, in UTC; ``None`` if unreadable.

    A date without a zone, or with one that RFC 822 does not name, is in UTC. One without a time
    means the start of the day.
    """
    if len(value) > _LONGEST_DATE:
        return None
    try:
        if iso := _ISO_DATE.fullmatch(value):
            year, month, day, hour, minute, second = [int(part or 0) for part in iso.groups()[:6]]
            moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(iso[7]))
        else:
            moment = parsedate_to_datetime(value if ":" in value else f"{value} 00:00:00 GMT")
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _zone(written: str | None) -> timezone:
    """Return the zone of ``Z``, ``+02``, ``+02:00`` or a name of RFC 822."""
    digits = (written or "").replace(":", "")
    name = f"{digits}00" if len(digits) == 3 and digits[0] in "+-" else digits
    read = parsedate_tz(f"1 Jan 2000 00:00:00 {name}")
    return timezone(timedelta(seconds=(read[9] if read else None) or 0))
