"""The vocabularies: which label counts for which category.

None of the documents is a finished standard; the guide lists them with number and date.

:data:`COUNTS_FOR` is a choice of this package. No document says that ``ai-input`` of one vocabulary
means ``ai-use`` of another. They are combined because a crawl needs one answer for each purpose;
the statements that led to an answer are kept beside it.
"""

from __future__ import annotations

from typing import Final

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
