"""One statement of a site about use, and several of them together.

None of the vocabularies is a finished standard; the guide lists them with number and date.

:data:`COUNTS_FOR` is a choice of this package. No document says that ``ai-input`` of one vocabulary
means ``ai-use`` of another. They are combined because a crawl needs one answer for each purpose;
the statements that led to an answer are kept beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

TRAIN_AI: Final = "train-ai"
AI_USE: Final = "ai-use"
SEARCH: Final = "search"
TDM: Final = "tdm"
CATEGORIES: Final = (TRAIN_AI, AI_USE, SEARCH, TDM)
"""The categories of use: training of models, use by AI, search, text and data mining."""

ALLOWED: Final = "allowed"
DISALLOWED: Final = "disallowed"
UNKNOWN: Final = "unknown"

CONTENT_USAGE: Final = "content-usage"
CONTENT_SIGNAL: Final = "content-signal"
TDMREP: Final = "tdmrep"
META: Final = "meta"
PRODUCT_TOKEN: Final = "product-token"  # noqa: S105 (a crawler's name)

RESERVATION: Final = "tdm-reservation"
POLICY: Final = "tdm-policy"

COUNTS_FOR: Final[dict[str, dict[str, str]]] = {
    CONTENT_USAGE: {"train-ai": TRAIN_AI, "ai-use": AI_USE, "search": SEARCH},
    CONTENT_SIGNAL: {"ai-train": TRAIN_AI, "ai-input": AI_USE, "search": SEARCH},
    TDMREP: {RESERVATION: TDM},
    META: {"noai": TRAIN_AI, "noimageai": TRAIN_AI, "noml": TRAIN_AI},
    PRODUCT_TOKEN: {category: category for category in CATEGORIES},
}
"""The category that a label of a vocabulary counts for; other labels count for none."""

ROBOTS_TXT: Final = "robots.txt"
HEADER: Final = "header"
META_ELEMENT: Final = "meta"
HTML: Final = "html"


@dataclass(frozen=True, slots=True)
class Statement:
    """One label and its value as written.

    ``source`` is ``robots.txt``, ``header`` or ``meta``, and ``line`` the line of a robots.txt.
    ``answer`` is ``allowed``, ``disallowed`` or ``unknown``. The label is empty if the text, which
    ``value`` is then, could not be read.
    """

    vocabulary: str
    label: str
    value: str
    answer: str
    source: str
    line: int | None = None

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
        said = [one for one in self.statements if one.vocabulary == TDMREP]
        said.sort(key=lambda one: one.source != META_ELEMENT)
        for one in said:
            if one.label == RESERVATION and one.answer != UNKNOWN:
                policy = next((each.value for each in said if each.label == POLICY), None)
                reserved = one.answer == DISALLOWED
                return Tdm(reserved, policy if reserved else None, one.source)
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
