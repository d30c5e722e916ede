"""Answers written short: `train-ai=n search=y` means that the other two are unknown."""

from __future__ import annotations

from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.preferences.vocabularies import ALLOWED, CATEGORIES, DISALLOWED, UNKNOWN

_SHORT = {ALLOWED: "y", DISALLOWED: "n", UNKNOWN: "?"}


def answers(preferences: Preferences | None) -> str | None:
    """What there is an answer for, in the order of the categories; None where nothing applies."""
    if preferences is None:
        return None
    found = ((category, preferences[category]) for category in CATEGORIES)
    return " ".join(f"{name}={_SHORT[answer]}" for name, answer in found if answer != UNKNOWN)
