"""What a store holds, as its operator sees it: entries with the refusals of all crawlers.

A crawl asks a store for one entry at a time, and sees its own refusal alone. An operator
wants to see everything: :class:`StoredEntry` is what :meth:`scrapy_rep.stores.base.Store.scan`
yields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, Failure, date_of

PREFIX = "scrapy_rep"
"""What the keys of a shared store begin with, unless ``REP_STORE_PREFIX`` says otherwise."""

MONTH = 30 * 86_400.0
"""Seconds for which a last good copy is worth keeping (RFC 9309 section 2.4 leaves it open)."""

KEEP_CONCLUSIONS = 7 * 86_400.0
"""Seconds for which an answer without rules is kept: the longest life that any profile gives it."""

KEEP_FAILURES = 86_400.0
"""Seconds after its last attempt for which the failure streak of an authority is kept."""


class StoreError(Exception):
    """A store could not do what it was asked to; the crawl goes on as if it were empty.

    The text is one line of printable ASCII without credentials.
    """


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """All that a store holds of one authority.

    ``entry`` is what every crawler may read; it has no refusal. ``refusals`` are the newest of
    each crawler, by the digest of the User-Agent that it sent.
    """

    authority: Authority
    entry: Entry = field(default_factory=Entry)
    refusals: Mapping[str, Answer] = field(default_factory=dict)

    def seen_by(self, crawler: str) -> Entry | None:
        """Return the entry as the crawler of that digest reads it, ``None`` if that is nothing."""
        refusal = self.refusals.get(crawler)
        if refusal is None:
            return self.entry if self.entry != Entry() else None
        return replace(self.entry, refusal=refusal)

    @property
    def updated_at(self) -> float:
        """When the newest part came to be, in seconds since the epoch."""
        return max(map(date_of, self._parts), default=0.0)

    def age(self, now: float) -> float:
        """Return for how many seconds no part has changed."""
        return max(0.0, now - self.updated_at)

    def useful_until(self, keep: float) -> float:
        """Return until when any part is worth keeping; see :func:`useful_until`."""
        return max((useful_until(part, keep) for part in self._parts), default=0.0)

    @property
    def _parts(self) -> list[Answer | Failure]:
        parts = (self.entry.answer, self.entry.failure, *self.refusals.values())
        return [part for part in parts if part is not None]


def useful_until(part: Answer | Failure, keep: float = MONTH) -> float:
    """Return until when a part of an entry is worth keeping, in seconds since the epoch.

    ``keep`` is how many seconds the last good copy is used while robots.txt is unreachable.
    """
    if isinstance(part, Failure):
        return part.failed_at + KEEP_FAILURES
    if part.body is None:
        return part.fetched_at + KEEP_CONCLUSIONS
    return part.fetched_at + max(keep, KEEP_CONCLUSIONS)


def store_error(error: BaseException) -> StoreError:
    """Return an error of a store as a :class:`StoreError`; even ``str(error)`` may raise."""
    if isinstance(error, StoreError):
        return error
    try:
        text = str(error)
    except Exception:  # noqa: BLE001
        text = "without a text"
    return StoreError(f"{type(error).__name__}: {text}")
