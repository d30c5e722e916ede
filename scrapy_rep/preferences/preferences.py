"""What a site says about the use of one page: all of its statements together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scrapy_rep.preferences.licenses import License
from scrapy_rep.preferences.vocabularies import (
    ALLOWED,
    CATEGORIES,
    DISALLOWED,
    META_ELEMENT,
    POLICY,
    RESERVATION,
    TDMREP,
    UNKNOWN,
    Statement,
)


class Tdm(NamedTuple):
    """Whether the rights of text and data mining are reserved, by TDMRep.

    ``reserved`` and ``source`` are None if no source says yes or no. ``source`` is ``header`` or
    ``meta``. ``policy`` is a URL, and counts only with a reservation.
    """

    reserved: bool | None = None
    policy: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a site says about the use of one page: ``preferences["train-ai"]`` is one answer.

    The answer is ``allowed``, ``disallowed`` or ``unknown``, which is the answer without a
    statement. Preferences are true if the site says anything.
    """

    statements: tuple[Statement, ...] = ()
    licenses: tuple[License, ...] = ()

    def __bool__(self) -> bool:
        """Return True if there is a statement or a licence."""
        return bool(self.statements or self.licenses)

    def __add__(self, other: Preferences) -> Preferences:
        """Return what two sources say together."""
        return Preferences(self.statements + other.statements, self.licenses + other.licenses)

    def __getitem__(self, category: str) -> str:
        """Return the answer for a category; raise KeyError for an unknown category.

        It is ``disallowed`` if any answer is, else ``allowed`` if any is
        (draft-ietf-aipref-vocab-08 section 5.1). A statement that leaves the answer open does not
        weaken one that gives it.
        """
        if category not in CATEGORIES:
            raise KeyError(category)
        found = {one.answer for one in self.about(category)}
        return next((answer for answer in (DISALLOWED, ALLOWED) if answer in found), UNKNOWN)

    @property
    def answers(self) -> dict[str, str]:
        """The answer for each category, without those that are unknown."""
        found = {category: self[category] for category in CATEGORIES}
        return {category: answer for category, answer in found.items() if answer != UNKNOWN}

    @property
    def tdm(self) -> Tdm:
        """What TDMRep says. Metas take precedence over header fields.

        A policy counts only with a reservation, and may come from another source.
        """
        statements = [one for one in self.statements if one.vocabulary == TDMREP]
        statements.sort(key=lambda one: one.source != META_ELEMENT)
        for one in statements:
            if one.label == RESERVATION and one.answer != UNKNOWN:
                policies = (other.value for other in statements if other.label == POLICY)
                reserved = one.answer == DISALLOWED
                return Tdm(reserved, next(policies, None) if reserved else None, one.source)
        return Tdm()

    def about(self, category: str) -> tuple[Statement, ...]:
        """Return the statements that count for a category.

        Of the places of TDMRep, only the strongest that says something counts.
        """
        place = self.tdm.source
        return tuple(
            one
            for one in self.statements
            if one.category == category and (one.vocabulary != TDMREP or one.source == place)
        )

    def against(self, category: str) -> Statement | None:
        """Return the first statement that disallows a category; None if it is not disallowed."""
        return next((one for one in self.about(category) if one.answer == DISALLOWED), None)
