"""``X-Robots-Tag``, as Google describes it.

It is a list of terms for all agents or, after ``name:``, for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scrapy_rep.pages.terms import Term, terms_of

X_ROBOTS_TAG: Final = "X-Robots-Tag"

MOST_OF_A_FIELD: Final = 8 * 1024
"""Octets of a field that are read; a term that is cut is dropped."""


def x_robots_tag(lines: Sequence[str]) -> Iterator[Term]:
    """Yield the terms of the lines of ``X-Robots-Tag``; an agent counts to the end of its line."""
    left = MOST_OF_A_FIELD
    for line in lines:
        yield from terms_of(
            line if len(line) <= left else line[:left].rpartition(",")[0], agents=True
        )
        left -= len(line)
        if left <= 0:
            return
