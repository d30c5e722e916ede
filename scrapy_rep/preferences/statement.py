"""One statement of a site about use, and several of them together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from scrapy_rep.preferences.vocabulary import (
    ALLOWED,
    CATEGORIES,
    COUNTS_FOR,
    DISALLOWED,
    TDMREP,
    UNKNOWN,
)

ROBOTS_TXT: Final = "robots.txt"
HEADER: Final = "header"
META_ELEMENT: Final = "meta"
HTML: Final = "html"


@dataclass(frozen=True, slots=True)
class Statement:
    """One label and its value; ``raw`` is the whole line, field or element that holds it.

    ``source`` is ``robots.txt``, ``header`` or ``meta``, and ``line`` the line of a robots.txt.
    ``answer`` is ``allowed``, ``disallowed`` or ``unknown``. The label is empty if the text could
    not be read as a whole.
    """

    vocabulary: str
    label: str
    value: str
    answer: str
    source: str
    line: int | None = None
    raw: str = ""

    @property
    def category(self) -> str | None:
        """The category that this counts for; None if it counts for none."""
        return COUNTS_FOR.get(self.vocabulary, {}).get(self.label)


class License(NamedTuple):
    """The address of licence terms in RSL. It is never fetched."""

    url: str
    source: str
    """``robots.txt``, ``header`` or ``html``."""
    line: int | None = None


class Tdm(NamedTuple):
    """Whether the rights of text and data mining are reserved, by TDMRep.

    ``reserved`` and ``source`` are None if no source says yes or no. ``source``
    is ``header`` or ``meta``. ``policy`` is a URL, and counts only with a reservation.
    """

    reserved: bool | None = None
    policy: str | None = None
    source: str | None = None


NOT_SAID: Final = Tdm()


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a site says about the use of one page: ``preferences["train-ai"]`` is one answer.

    The answer is ``allowed``, ``disallowed`` or ``unknown``, which is the answer without a
    statement.
    """

    statements: tuple[Statement, ...] = ()
    licenses: tuple[License, ...] = ()
    tdm: Tdm = NOT_SAID

    def __getitem__(self, category: str) -> str:
        """Return the answer for a category; raise KeyError for an unknown category."""
        if category not in CATEGORIES:
            raise KeyError(category)
        return strictest(one.answer for one in self.about(category) if self._counts(one))

    @property
    def answers(self) -> dict[str, str]:
        """The answer for each category, without those that are unknown."""
        found = {category: self[category] for category in CATEGORIES}
        return {category: answer for category, answer in found.items() if answer != UNKNOWN}

    def about(self, category: str) -> tuple[Statement, ...]:
        """Return the statements that count for a category."""
        return tuple(one for one in self.statements if one.category == category)

    def against(self, category: str) -> Statement | None:
        """Return the first statement that disallows a category; None if it is not disallowed."""
        if self[category] != DISALLOWED:
            return None
        counting = filter(self._counts, self.about(category))
        return next((one for one in counting if one.answer == DISALLOWED), None)

    def _counts(self, statement: Statement) -> bool:
        """Of the places of TDMRep, only the strongest that says something counts."""
        return statement.vocabulary != TDMREP or statement.source == self.tdm.source


def strictest(answers: Iterable[str]) -> str:
    """Return ``disallowed`` if any answer is, else ``allowed`` if any is, else ``unknown``.

    draft-ietf-aipref-vocab-08 section 5.1. A statement that leaves the answer open does not weaken
    one that gives it.
    """
    found = set(answers)
    if DISALLOWED in found:
        return DISALLOWED
    return ALLOWED if ALLOWED in found else UNKNOWN
