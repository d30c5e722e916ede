"""The word that was meant by one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LONGEST: Final = 100
"""Characters that are compared, because the time grows with their square."""

_SLIPS: Final = {
    "aitrain": "train-ai",  # as Content-Signal has it
    "aiinput": "ai-use",
    "training": "train-ai",
    "textanddatamining": "tdm",
    "rfc": "rfc9309",
    "file": "sqlite",
    "ram": "memory",
    "yes": "True",
    "on": "True",
    "no": "False",
    "off": "False",
}
"""Words that people use for a known one that does not look like them, in plain form."""


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the one of ``names`` that ``word`` was probably meant for, None if none is similar.

    Case, ``-``, ``_`` and spaces do not count.
    """
    known = {_plain(name): name for name in names}
    plain = _plain(word[:_LONGEST])
    if plain not in known and _SLIPS.get(plain) in known.values():
        return _SLIPS[plain]
    found = [plain] if plain in known else get_close_matches(plain, known, n=1)
    return known[found[0]] if found else None


def _plain(word: str) -> str:
    return "".join(c for c in word.lower() if c not in "-_ ")
