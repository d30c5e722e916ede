"""What a page says to a crawler, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

NOINDEX = "noindex"
NOFOLLOW = "nofollow"

Source = Literal["meta", "X-Robots-Tag"]


@dataclass(frozen=True, slots=True)
class Statement:
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
    """Of ``noindex``, ``nofollow``, ``nosnippet``, ``notranslate``, ``noimageindex``,
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
    statements: tuple[Statement, ...] = ()
    """Each statement that applies to the crawler, including unknown ones."""

    def is_noindex(self, now: datetime) -> bool:
        """Return whether the page is not to be indexed at a moment."""
        expired = self.unavailable_after is not None and self.unavailable_after <= now
        return expired or NOINDEX in self.restrictions
