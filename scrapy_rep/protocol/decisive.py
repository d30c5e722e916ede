"""What decided a question: the patterns of the rules, before their lines are looked up.

RFC 9309 section 2.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Decisive(NamedTuple):
    """What decided: the kind and the patterns of the rules, and of the best of the other kind.

    ``path`` is the match path; ``allow`` is None where no rule matched. Patterns are as written;
    several may be of the same length.
    """

    path: str
    allow: bool | None = None
    written: Sequence[str] = ()
    overruled: Sequence[str] = ()


def strictest(found: Sequence[Decisive], always: str | None) -> Decisive:
    """The first that forbids, or else the first."""
    for one in found:
        if one.allow is False and one.path != always:
            return one
    return found[0]
