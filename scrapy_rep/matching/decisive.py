"""What decides a question: the longest rules, before their lines are looked up.

RFC 9309 section 2.2.2. A URI is mostly one text that is held against one rule set. It is several
where the rules of several groups apply, where it has dot segments, and where rules match within
its escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from scrapy_rep.matching.budget import TooCostlyError


class Decisive(NamedTuple):
    """What decided: the kind and the patterns of the rules, and of the best of the other kind.

    ``path`` is the match path; ``allow`` is None where no rule matched. Patterns are as written;
    several may be of the same length. If it was ``too_costly`` to find out, ``allow`` is False.
    """

    path: str
    allow: bool | None = None
    written: Sequence[str] = ()
    overruled: Sequence[str] = ()
    too_costly: bool = False


class RuleSet(Protocol):
    """Rules of which the longest counts; each question may raise TooCostlyError.

    ``share`` is the number of texts that have the budget of a question together.
    """

    def forbidden(self, path: str, share: int, /) -> int:
        """Return the octets of the longest disallow rule that matches; 0 if none does."""

    def permitted(self, path: str, share: int, /) -> int:
        """Return the octets of the longest allow rule that matches; 0 if none does."""

    def written(self, path: str, share: int, octets: int, /, *, allow: bool) -> list[str]:
        """Return the rules of one kind, as written, that are so long and match."""


class Text(NamedTuple):
    """One of the texts that a URI is read as, and the rules that it is held against."""

    rules: RuleSet
    path: str
    share: int
    """The number of texts of the URI."""

    def permitted(self) -> int | None:
        """Octets of the longest allow rule that matches; None if that is too costly to know."""
        try:
            return self.rules.permitted(self.path, self.share)
        except TooCostlyError:
            return None

    def written(self, octets: int, *, allow: bool) -> list[str]:
        """The rules of one kind, as written, that are so long and match, as far as is known."""
        try:
            return self.rules.written(self.path, self.share, octets, allow=allow) if octets else []
        except TooCostlyError:
            return []


def longest(texts: Sequence[Text]) -> tuple[int, int]:
    """Octets of the longest disallow and allow rules that match one of the texts.

    Raises TooCostlyError if it is too costly to know which of them is longer.
    """
    disallow = max([text.rules.forbidden(text.path, text.share) for text in texts])
    permitted = [text.permitted() for text in texts]
    allow = max([octets or 0 for octets in permitted])
    if allow < disallow and None in permitted:
        raise TooCostlyError
    return disallow, allow


def passes(texts: Sequence[Text], always: str | None) -> bool:
    """One reading of a URI is allowed. The first of its texts is the match path.

    The search ends at the first text with a disallow rule longer than all allow rules.
    """
    allow = max([text.permitted() or 0 for text in texts])
    try:
        found = any(text.rules.forbidden(text.path, text.share) > allow for text in texts)
    except TooCostlyError:
        found = True
    return not found or texts[0].path == always


def decisive(texts: Sequence[Text]) -> Decisive:
    """What decides about one reading of a URI. The first of its texts is the match path."""
    path = texts[0].path
    try:
        disallow, allow = longest(texts)
    except TooCostlyError:
        return Decisive(path, False, too_costly=True)
    if not disallow and not allow:
        return Decisive(path)
    forbids = [pattern for text in texts for pattern in text.written(disallow, allow=False)]
    permits = [pattern for text in texts for pattern in text.written(allow, allow=True)]
    if allow >= disallow:
        return Decisive(path, True, permits, forbids)
    return Decisive(path, False, forbids, permits)


def strictest(found: Sequence[Decisive], always: str | None) -> Decisive:
    """The first that forbids, or else the first."""
    for one in found:
        if one.allow is False and one.path != always:
            return one
    return found[0]
