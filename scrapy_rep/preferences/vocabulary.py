"""The vocabularies: which document defines them, and which label counts for which category.

None of the documents is a finished standard, so each is listed with its number and date. Labels
that a later draft dropped are known as outdated, and count for nothing.

:data:`COUNTS_FOR` is a choice of this package. No document says that ``ai-input`` of one vocabulary
means ``ai-use`` of another. They are combined because a crawl needs one answer for each purpose;
the statements that led to an answer are kept beside it.
"""

from __future__ import annotations

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
RSL: Final = "rsl"
PRODUCT_TOKEN: Final = "product-token"  # noqa: S105 (a crawler's name)


class Document(NamedTuple):
    """A document on a vocabulary, or on where it is written; ``date`` is that of ``number``."""

    name: str
    number: str
    date: str
    state: str


DOCUMENTS: Final[dict[str, tuple[Document, ...]]] = {
    CONTENT_USAGE: (
        Document("draft-ietf-aipref-attach", "05", "2026-08-19", "working group draft"),
        Document("draft-ietf-aipref-vocab", "08", "2026-09-14", "working group draft"),
    ),
    CONTENT_SIGNAL: (
        Document(
            "draft-romm-aipref-contentsignals", "00", "2025-10-01", "individual, expired 2026-04-04"
        ),
    ),
    TDMREP: (
        Document("TDM Reservation Protocol", "1.0", "2024-05-10", "community group final report"),
    ),
    RSL: (Document("Really Simple Licensing", "1.0", "2025-12-10", "errata up to 2026-10-02"),),
    META: (Document("noai, noimageai, noml", "", "2022-11", "conventions without a document"),),
    PRODUCT_TOKEN: (
        Document(
            "draft-kelley-aipref-training-preference-signal", "00", "2026-10-30", "individual draft"
        ),
    ),
}
"""The documents that define each vocabulary, in the versions that are implemented."""

COUNTS_FOR: Final[dict[str, dict[str, str]]] = {
    CONTENT_USAGE: {"train-ai": TRAIN_AI, "ai-use": AI_USE, "search": SEARCH},
    CONTENT_SIGNAL: {"ai-train": TRAIN_AI, "ai-input": AI_USE, "search": SEARCH},
    TDMREP: {"tdm-reservation": TDM},
    META: {"noai": TRAIN_AI, "noimageai": TRAIN_AI, "noml": TRAIN_AI},
    PRODUCT_TOKEN: {category: category for category in CATEGORIES},
}
"""The category that a label of a vocabulary counts for; other labels count for none."""

OUTDATED: Final[dict[str, frozenset[str]]] = {
    CONTENT_USAGE: frozenset(
        {"ai", "ai-output", "all", "bots", "genai", "inference", "tdm", "train-genai"}
    ),
}
"""Labels of drafts before the current number (vocab 00 to 07)."""
