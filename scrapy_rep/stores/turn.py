"""The right to make one request to a host, as a store grants it."""

from __future__ import annotations

from typing import NamedTuple

LONGEST_TURN = 60.0
"""Seconds for which a turn may be taken or renewed; one that claims to last longer is void."""

LONGEST_INTERVAL = 86_400.0
"""Seconds between two requests to a host that a store is believed: more was not written by us."""

RENEWED = 2.0
"""Seconds within which a worker renews a turn that is in use, again and again.

A store that has lost its memory waits for as long before it grants a turn, and for an interval if
that is longer. Meanwhile a worker whose request is under way takes its turn again.
"""


class Turn(NamedTuple):
    """The answer to a request for a turn: a token, or ``None`` and the seconds to wait.

    Before ``wait`` seconds are over no turn is granted; after them one may be.
    """

    token: str | None
    wait: float = 0.0
