"""The facts about one authority: what it answered, whom it refused, how fetches failed.

An :class:`Entry` has up to three parts. Each is dated by the clock of the crawler that fetched it:

- the *answer*: the newest conclusive response that any crawler got: it brings rules, or says that
  there are none;
- the *refusal*: the newest answer by which the server denied access to *this* crawler, such as a
  403. Another crawler may well be served, so a refusal stands beside the answer and never replaces
  it;
- the *failure*: the run of failed fetches since the last answer. It stands beside the answer too,
  because an answer stays useful as the last good copy (RFC 9309 section 2.3.1.4).

An entry holds no expiry and no time of the next attempt. Both follow from the facts and from the
settings of the crawler that reads them (:mod:`scrapy_rep.access.policy`), so that crawlers with
different limits may share a store.

Several crawlers may fetch at once, lose the store for a while, or have wrong clocks.
:func:`merge` says what they know together. Every store applies the same rule part by part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

CLOCK_TOLERANCE = 60.0
"""Seconds by which a part may be dated ahead of the clock and still be believed."""

REFUSALS = frozenset({401, 402, 403})
"""The statuses that deny one crawler access (1996 section 3.1); 402 asks it to pay for that."""

UNAUTHORIZED = 401
"""The status that asks for a login (RFC 9110 section 15.5.2)."""

_MOST_REFUSED = 20
"""Refused requesters that are told apart: once so many were refused, a refusal holds for all."""


class Requester(NamedTuple):
    """The properties of a request that may decide whether a robots.txt is refused to it.

    ``way`` is how it is sent: through which proxy, from which address and as which browser; "" for
    none of these. ``login`` is its ``Authorization``, and ``user_agent`` a ``User-Agent`` of its
    own.
    """

    way: str = ""
    login: bytes | None = None
    user_agent: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A conclusive response to a request for a robots.txt; times are seconds since the epoch.

    ``body`` holds the octets of the rules, ``None`` if there are no rules. ``uri`` is that of the
    last request, and ``redirects`` are the targets of all redirects on the way. ``lifetime`` is how
    many seconds the response says that it stays fresh, ``None`` if it does not say. ``cut_at`` is
    the limit in octets at which the body was cut, ``None`` if it is whole. ``exchange`` is the ID
    of the exchange that brought it, "" if nothing listened to ``robots_fetched``.

    The last three belong to a refusal. ``proxied`` says that the robots.txt was requested in a
    special way, such as through a proxy, and ``refused_to`` holds the requesters that were refused;
    neither is stored. ``refused_as`` is the ``User-Agent`` of the last such request.
    """

    status: int = 0
    body: bytes | None = None
    uri: str = ""
    redirects: tuple[str, ...] = ()
    etag: bytes | None = None
    last_modified: bytes | None = None
    fetched_at: float = 0.0
    lifetime: float | None = None
    cut_at: int | None = None
    exchange: str = ""
    proxied: bool = False
    refused_to: frozenset[Requester] = frozenset()
    refused_as: bytes | None = None

    @property
    def holds_for_all(self) -> bool:
        """False for a refusal: it may be due to how the robots.txt was requested."""
        return self.status not in REFUSALS

    def holds_for(self, requester: Requester) -> bool:
        """Return whether this says anything about the pages that ``requester`` requests.

        A refusal holds for requests that are sent in the same way: through the same proxy, or
        through none. Of these, a 401 holds for those without a login, and for those whose own login
        was refused too; any other refusal holds for those without a User-Agent of their own, and
        for those whose own User-Agent was refused too.
        """
        if self.holds_for_all or requester in self.refused_to:
            return True
        asks_for_login = self.status == UNAUTHORIZED
        # A request that is retried has the User-Agent of the crawl in its header.
        if asks_for_login or requester.user_agent == self.refused_as:
            requester = requester._replace(user_agent=None)
        own = requester.login if asks_for_login else requester.user_agent
        if own is None and not (self.proxied or requester.way):
            return True
        return requester in self.refused_to or len(self.refused_to) >= _MOST_REFUSED


@dataclass(frozen=True, slots=True)
class Failure:
    """A run of failed fetches; times are seconds since the epoch.

    ``since`` is when it began, ``failed_at`` when the newest of its ``count`` rounds failed.
    ``retry_after`` is how many seconds the server asked to be left alone after that. ``cause`` is a
    :class:`~scrapy_rep.access.outcome.Cause`, with the status if there was one. ``exchange``
    is the ID of the exchange of the newest attempt, "" if nothing listened to ``robots_fetched``.
    ``ours`` says that the newest attempt failed on the crawler's own side, for example at a proxy;
    ``detail`` is what its error said, "" if there was none. ``error`` is its exception, if there
    was one; it is not stored.
    """

    since: float
    failed_at: float
    count: int = 1
    retry_after: float | None = None
    cause: str = ""
    exchange: str = ""
    ours: bool = False
    detail: str = ""
    error: BaseException | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one authority."""

    answer: Answer | None = None
    refusal: Answer | None = None
    failure: Failure | None = None


def without_proxied(entry: Entry) -> Entry:
    """Return an entry without a refusal through a proxy, for places that keep no ``refused_to``."""
    is_proxied = entry.refusal is not None and entry.refusal.proxied
    return replace(entry, refusal=None) if is_proxied else entry


Part = TypeVar("Part", Answer, Failure)


def merge(old: Entry | None, new: Entry, now: float) -> Entry:
    """Return what is known from ``old``, which is kept, and ``new``, which arrives at ``now``.

    - The newest of each part stays. A part dated in the future gives way to any other: no reader
      would believe it, and a wrong clock must not block a store.
    - A failure that is older than the answer is over. One dated in the future is dropped.
    - An answer that comes with ``new`` ends an older refusal of the same crawler, even if another
      crawler has put a newer answer meanwhile.

    So a failure never removes an answer, whichever crawler writes it and whatever its clock says.
    """
    if old is None:
        old = Entry()
    answer = _newest(old.answer, new.answer, now)
    refusal = _newest(old.refusal, new.refusal, now)
    if refusal is not None and new.refusal is None and new.answer is not None:
        ended = new.answer.fetched_at >= refusal.fetched_at
        refusal = None if ended else refusal
    failure = _newest(old.failure, new.failure, now)
    if failure is not None and is_over(failure, answer, now):
        failure = None
    return Entry(answer, refusal, failure)


def is_over(failure: Failure, answer: Answer | None, now: float) -> bool:
    """Return whether a failure no longer counts: an answer came later, or it lies in the future."""
    latest = now + CLOCK_TOLERANCE
    if failure.failed_at > latest:
        return True
    return answer is not None and failure.failed_at < answer.fetched_at <= latest


def date_of(part: Answer | Failure) -> float:
    """Return the date of a part, in seconds since the epoch."""
    return part.fetched_at if isinstance(part, Answer) else part.failed_at


def _newest(old: Part | None, new: Part | None, now: float) -> Part | None:
    if old is None or new is None:
        return old if new is None else new
    return old if date_of(new) < date_of(old) <= now + CLOCK_TOLERANCE else new
