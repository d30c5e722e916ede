"""What a decision about a request rests on: what is in force at its site, since when, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Basis = Literal["rules", "stale", "unavailable", "denied", "unreachable", "unknown"]


@dataclass(frozen=True, eq=False)
class RulesInForce:
    """What was in force at a site when a request was decided about.

    Rules get a new instance each time that they come into memory, and keep it as long as they are
    there.
    """

    outcome: Basis = "unknown"
    """``rules``; ``stale``, the last good copy of a site that is unreachable; ``unavailable``, no
    rules, as after a 404; ``denied``, a 401, 402 or 403 that forbids the site; ``unreachable``; or
    ``unknown``, if the decision does not depend on what is known of the site."""

    since: float | None = None
    """When the rules were fetched, or the failures began, in seconds since the epoch."""

    status: int | None = None
    """The status of the response that counts."""

    cause: str | None = None
    """Why the site is unreachable, or was when the last good copy came into force."""

    body: bytes | None = None
    """The octets of the ``robots.txt`` that is followed, decoded."""

    exchange: str = ""
    """The ID of the :class:`~scrapy_rep.signals.RobotsExchange` that brought the response that
    counts. It is empty if nothing listened to ``robots_fetched`` at the time."""

    failed_exchange: str = ""
    """The ID of the newest exchange that failed, while the site is unreachable."""
