"""What one fetch of a robots.txt came to (RFC 9309 section 2.3.1).

A status code means one of five things, and the table :data:`STATUS_MEANINGS` says which. A fetch
as a whole, after its redirects, has one of three outcomes: an
:class:`~scrapy_rep.access.entry.Answer`, which brings rules or says that there are none,
:class:`NotModified` or :class:`Unreachable`. Whatever the table does not name, and whatever went
wrong before there was a status, is Unreachable: a failure is never permission. An outcome's
``exchange`` is the ID of the last exchange of the fetch, "" if nothing listened to
``robots_fetched``.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum

from scrapy_rep.access.entry import Answer
from scrapy_rep.robotstxt.profiles import Profile


class Meaning(Enum):
    """What a status code says of a robots.txt."""

    SUCCESS = "success"
    NOT_MODIFIED = "not modified"
    REDIRECT = "redirect"
    UNAVAILABLE = "unavailable"
    UNREACHABLE = "unreachable"


PROXY_AUTHENTICATION_REQUIRED = 407
"""RFC 9110 section 15.5.8: the answer of the crawler's proxy, and not of the site."""

NOT_NOW: dict[int, str] = {
    202: "RFC 9110 section 15.3.3: accepted, and nothing is there yet",
    408: "RFC 9110 section 15.5.9: the request may be repeated",
    421: "RFC 9110 section 15.5.20: the request may be made over another connection",
    425: "RFC 8470 section 5.2: too early, so not now",
}
"""Statuses that mean "not now". The profile ``google`` reads them like others of their class."""

TEMPORARY = frozenset(NOT_NOW)
"""The same statuses, as the value of :class:`~scrapy_rep.access.policy.Policy`'s ``temporary``."""


def temporary_in(profile: Profile) -> AbstractSet[int]:
    """Return the statuses of a robots.txt that mean "not now" in a profile."""
    return TEMPORARY if profile.some_statuses_mean_not_now else frozenset()


# The first match counts. (first status, last status, meaning, section of the standard)
STATUS_MEANINGS: tuple[tuple[int, int, Meaning, str], ...] = (
    (206, 206, Meaning.UNREACHABLE, "RFC 9110 section 15.3.7: a part, which was not asked for"),
    (200, 299, Meaning.SUCCESS, "RFC 9309 section 2.3.1.1"),
    (304, 304, Meaning.NOT_MODIFIED, "RFC 9111 section 4.3.3"),
    (301, 303, Meaning.REDIRECT, "RFC 9309 section 2.3.1.2"),
    (307, 308, Meaning.REDIRECT, "RFC 9309 section 2.3.1.2"),
    (429, 429, Meaning.UNREACHABLE, "RFC 6585 section 4: too many requests, so not now"),
    (400, 499, Meaning.UNAVAILABLE, "RFC 9309 section 2.3.1.3"),
    (500, 599, Meaning.UNREACHABLE, "RFC 9309 section 2.3.1.4"),
)


def meaning_of(status: int, temporary: AbstractSet[int]) -> Meaning:
    """Return what ``status`` says; Unreachable if it is ``temporary``, or not in the table."""
    if status in temporary:
        return Meaning.UNREACHABLE
    for first, last, meaning, _ in STATUS_MEANINGS:
        if first <= status <= last:
            return meaning
    return Meaning.UNREACHABLE


class Cause(str, Enum):
    """Why a robots.txt was unreachable (RFC 9309 section 2.3.1.4)."""

    STATUS = "status"
    DNS = "dns"
    CONNECTION = "connection"
    TLS = "tls"
    CODING = "coding"
    TIMEOUT = "timeout"
    REDIRECT = "redirect refused"
    DROPPED = "dropped by another component"
    URL = "malformed url"
    CLOSING = "crawl closing"
    PROXY = "proxy failure"
    ERROR = "error"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class NotModified:
    """The copy that the fetch was conditional on still holds (RFC 9111 section 4.3.3)."""

    lifetime: float | None = None
    exchange: str = ""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The robots.txt is undefined: complete disallow (RFC 9309 section 2.3.1.4).

    ``status`` is that of the response, if there was one; ``retry_after`` the seconds for which
    the server asked to be left alone; ``detail`` a few words for the log. ``ours`` says that the
    crawler's own side failed: a proxy, another component, or a fault. ``error`` is the exception of
    the fetch, if there was one.
    """

    cause: Cause
    status: int | None = None
    retry_after: float | None = None
    detail: str = ""
    ours: bool = False
    exchange: str = ""
    error: BaseException | None = field(default=None, compare=False)


Outcome = Answer | NotModified | Unreachable


def archived_outcome(status: int, body: bytes, uri: str, temporary: AbstractSet[int]) -> Outcome:
    """Return what the fetch of an archived response came to: a 407 says nothing of its site."""
    meaning = meaning_of(status, temporary)
    if status == PROXY_AUTHENTICATION_REQUIRED:
        return Unreachable(Cause.PROXY, status)
    if meaning is Meaning.SUCCESS:
        return Answer(status, body, uri)
    if meaning is Meaning.UNAVAILABLE:
        return Answer(status, None, uri)
    return Unreachable(Cause.STATUS, status)
