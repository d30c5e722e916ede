"""The right to make one request to a host, as a store grants it."""

from __future__ import annotations

from typing import NamedTuple

LONGEST_TURN = 60.0
"""Seconds for which a turn may be taken or renewed; one that claims to last longer is void."""


class Turn(NamedTuple):
    """The answer to a request for a turn: a token, or ``None`` and the seconds to wait.

    Before ``wait`` seconds are over no turn is granted; after them one may be.
    """

    token: str | None
    wait: float = 0.0
