"""What a response asks of one crawler: all statements of its header and its page together.

The documents leave much of this open, or disagree; the guide says what was chosen. The rule behind
the choices: statements add up, and none lifts another. The one exception is the profile ``kollar``,
whose document says otherwise.

A list of terms is separated by commas. Spaces and semicolons are read as commas, too: no document
allows them, but sites write them, and no restriction may be lost. The commas of a date are not
separators.

A page is parsed only if one of its metas may have a name that counts. A page of 50 KB without such
a name takes 55 microseconds; to parse its head takes 200.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime, parsedate_tz
from typing import Final, Literal, NamedTuple

from scrapy_rep.pages.markup import Markup, Meta
from scrapy_rep.pages.source import PageSource
from scrapy_rep.robotstxt.profiles import RFC9309, Profile

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

_TERM: Final = re.compile(
    rf"(?<!\S)(?:{'|'.join(sorted(RESTRICTIONS | OF_1996 | VALUED))})(?![^\s:])", re.IGNORECASE
)
"""A known term, as it may follow a date."""
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

X_ROBOTS_TAG: Final = "X-Robots-Tag"
Source = Literal["meta", "X-Robots-Tag"]

EVERY_AGENT: Final = "*"

_ROBOTS: Final = "robots"
_DOCUMENT_STATE: Final = "document-state"
_URL: Final = "url"
_NAMED_URL: Final = ('"url"', "'url'", "=url")
"""How a page writes this name. Most pages have an Open Graph meta whose name ends with it."""
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_MOST_OF_A_FIELD: Final = 8 * 1024
"""Octets of X-Robots-Tag that are read; a term that is cut is dropped."""
_MOST_TEXT: Final = 32 * 1024
"""Characters of all metas together that are read."""


@dataclass(frozen=True, slots=True)
class PageStatement:
    """One term of a page or its header, as written.

    ``agent`` is ``*`` if the term is for all agents, or else the name of one, in lower case.
    """

    name: str
    value: str | None
    agent: str
    source: Source


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """What a page asks of one crawler. This is plain data: it can be kept, compared and sent.

    Where several statements speak of the same thing, the strictest counts: the union of the
    restrictions, the smallest limits, the earliest date.
    """

    restrictions: frozenset[str] = frozenset()
    """Any of ``noindex``, ``nofollow``, ``nosnippet``, ``notranslate``, ``noimageindex``,
    ``noarchive``, ``nocache``, ``noai``, ``noimageai``, ``noml``; ``none`` is the first two."""
    max_snippet: int | None = None
    """Characters. -1 stands for no limit, ``None`` for no statement."""
    max_video_preview: int | None = None
    """Seconds. -1 stands for no limit, ``None`` for no statement."""
    max_image_preview: str | None = None
    """``none``, ``standard`` or ``large``."""
    unavailable_after: datetime | None = None
    """The moment, in UTC, from which the page is ``noindex``."""
    document_state: str | None = None
    """``static`` or ``dynamic`` (META of 1996-98)."""
    url: str | None = None
    """The absolute address that the page gives for itself (META of 1996-98)."""
    statements: tuple[PageStatement, ...] = ()
    """Each statement that applies to the crawler, including unknown ones."""

    def is_noindex(self, now: datetime) -> bool:
        """Return whether the page is not to be indexed at a moment."""
        expired = self.unavailable_after is not None and self.unavailable_after <= now
        return expired or NOINDEX in self.restrictions


def read(source: PageSource, tokens: Collection[str], profile: Profile) -> PageDirectives:
    """Return what a response asks of the crawler with these product tokens, in lower case."""
    statements: list[PageStatement] = []
    # Going through all names takes a tenth of the time of a look-up; most responses lack this one.
    if X_ROBOTS_TAG.encode() in [*source.fields]:
        statements += _of_header(source.lines(X_ROBOTS_TAG), tokens, profile)
    counting = [*statements]
    markup = source.markup
    names = (_ROBOTS, _DOCUMENT_STATE, *tokens)
    if markup is not None and markup.may_name(*names, *_NAMED_URL):
        for meta in _metas(markup, {*names, _URL}, profile):
            terms = [*_of_meta(meta)]
            statements += terms
            counting += _that_count(terms, profile)
    return _together(statements, counting) if statements else PageDirectives()


def _of_header(
    lines: Sequence[str], tokens: Collection[str], profile: Profile
) -> Iterator[PageStatement]:
    """Yield the terms of ``X-Robots-Tag`` that are for a crawler.

    A name applies to the rest of its line. ``mybot/2.1`` is ``mybot``, as in robots.txt (RFC 9309
    section 2.2.1).
    """
    letters = profile.name_alphabet or RFC9309.name_alphabet
    left = _MOST_OF_A_FIELD
    for line in lines:
        text = line[:left]
        left -= len(text)
        if len(text) < len(line):  # what is left of the last term may say something else
            text = text[: max(text.rfind(","), text.rfind(";")) + 1]
        for term in terms_of(text, agents=True):
            written = term.agent.lower()
            name = written[: len(written) - len(written.lstrip(letters))]
            if written in ("", EVERY_AGENT, _ROBOTS):
                yield PageStatement(term.name, term.value, EVERY_AGENT, X_ROBOTS_TAG)
            elif name in tokens:
                yield PageStatement(term.name, term.value, name, X_ROBOTS_TAG)


def _metas(markup: Markup, names: Collection[str], profile: Profile) -> Iterator[Meta]:
    """Yield the metas with some names, up to :data:`_MOST_TEXT`."""
    left = _MOST_TEXT
    for meta in markup.metas(names, everywhere=profile.metas_of_the_body_count):
        yield meta._replace(content=meta.content[:_MOST_TEXT])
        left -= len(meta.content)
        if left <= 0:
            return


def _of_meta(meta: Meta) -> Iterator[PageStatement]:
    """Yield what a meta says: a list of terms, or one of the two statements of 1996-98."""
    if meta.name in (_DOCUMENT_STATE, _URL):
        yield PageStatement(meta.name, meta.content, EVERY_AGENT, "meta")
        return
    agent = EVERY_AGENT if meta.name == _ROBOTS else meta.name
    for term in terms_of(meta.content):
        yield PageStatement(term.name, term.value, agent, "meta")


def _that_count(statements: Sequence[PageStatement], profile: Profile) -> Sequence[PageStatement]:
    """Return those statements of one meta that count in a profile, and what they imply."""
    names = {one.name.lower() for one in statements}
    if profile.noindex_closes_links and names & OF_1996 == {NOINDEX}:
        return [*statements, PageStatement(NOFOLLOW, None, EVERY_AGENT, "meta")]
    if profile.all_and_follow_lift:
        if ALL in names:
            return ()
        if FOLLOW in names:  # lifts NOFOLLOW, and that part of NONE
            left = [one for one in statements if one.name.lower() not in (NOFOLLOW, NONE)]
            if NONE in names:
                left.append(PageStatement(NOINDEX, None, EVERY_AGENT, "meta"))
            return left
    return statements


def _together(
    statements: Sequence[PageStatement], counting: Iterable[PageStatement]
) -> PageDirectives:
    """Return what ``counting`` amounts to; values that cannot be read are ignored.

    ``statements`` are all statements as written; ``counting`` those that count in the profile.
    """
    values: dict[str, list[str]] = {}
    for one in counting:
        values.setdefault(one.name.lower(), []).append(one.value or "")
    restrictions = RESTRICTIONS & values.keys()
    if NONE in values:
        restrictions |= {NOINDEX, NOFOLLOW}
    max_snippet = _least(values.get(MAX_SNIPPET, ()))
    if max_snippet == 0:
        restrictions |= {"nosnippet"}
    sizes = {value.lower() for value in values.get(MAX_IMAGE_PREVIEW, ())}
    moments = map(moment_of, values.get(UNAVAILABLE_AFTER, ()))
    states = [text.lower() for text in _texts_of(statements, _DOCUMENT_STATE)]
    urls = _texts_of(statements, _URL)
    return PageDirectives(
        restrictions=restrictions,
        max_snippet=max_snippet,
        max_video_preview=_least(values.get(MAX_VIDEO_PREVIEW, ())),
        max_image_preview=next((size for size in IMAGE_PREVIEWS if size in sizes), None),
        unavailable_after=min([one for one in moments if one is not None], default=None),
        document_state=next((text for text in states if text in ("static", "dynamic")), None),
        url=next(filter(_ABSOLUTE.fullmatch, urls), None),
        statements=tuple(statements),
    )


def _least(values: Iterable[str]) -> int | None:
    """Return the smallest limit; -1 stands for no limit, so it is the largest."""
    limits = [int(value) for value in values if _LIMIT.fullmatch(value)]
    return min([limit for limit in limits if limit >= 0], default=-1 if limits else None)


def _texts_of(statements: Iterable[PageStatement], name: str) -> list[str]:
    """Return the texts of the metas of 1996-98 with a name; the first that is valid counts."""
    return [one.value.strip() for one in statements if one.name == name and one.value is not None]


class Term(NamedTuple):
    """A term as written; ``agent`` is the name for which a header gives it, or empty."""

    name: str
    value: str | None = None
    agent: str = ""


def terms_of(text: str, *, agents: bool = False) -> Iterator[Term]:
    """Yield the terms of a list.

    With ``agents``, the text is a line of X-Robots-Tag, in which ``name:`` applies to the terms
    after it, up to the next name.
    """
    agent = ""
    rest = _SEPARATORS.split(text)
    rest.reverse()
    while rest:
        before, colon, after = rest.pop().partition(":")
        words = before.split()
        name = words.pop() if colon and words else ""
        yield from (Term(word, None, agent) for word in words)
        if not colon:
            continue
        if name.lower() in VALUED:
            if name.lower() == UNAVAILABLE_AFTER:
                value, further = _date_and_further(after, rest)
            else:
                value, further = [*after.split(None, 1), "", ""][:2]
            yield Term(name, value, agent)
            rest.append(further)
        elif agents:
            agent = name or EVERY_AGENT
            rest.append(after)
        else:
            yield Term(f"{name}:{after}".strip(), None, agent)


def _date_and_further(text: str, rest: list[str]) -> tuple[str, str]:
    """Return a date, with the parts of ``rest`` that belong to it, and the terms after it.

    ``Wednesday, 03-Aug-2025 12:00:00 GMT`` has a comma; what follows the comma of a date begins
    with a digit.
    """
    while rest and (_WEEKDAY.fullmatch(text.strip()) or rest[-1].lstrip()[:1].isdigit()):
        text = f"{text},{rest.pop()}"
        if len(text) > _LONGEST_DATE:
            break
    term = _TERM.search(text)
    end = len(text) if term is None else term.start()
    return " ".join(text[:end].split()), text[end:]


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
