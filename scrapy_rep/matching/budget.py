"""A budget of steps bounds what the rules of a file may cost for one question.

RFC 9309 section 3. Literals are cheap, however many there are. Patterns with wildcards are not:
searching a path for a piece of one compares, at worst, the length of the piece times the length of
the path, and a path and thousands of patterns can be written for each other so that every search is
at its worst. Without a bound, 8,800 rules like ``/*aaa...abaa*xyz`` and a URL of 8 KB take two
seconds.

A *step* is one octet of a pattern compared with one octet of the path, about half a nanosecond.
Before a pattern is tried, the most steps that it may take are subtracted from the budget of the
question, which is 20 million: the octets of its floating pieces times those of the path, and fixed
numbers for taking the pattern and its pieces apart. When the budget is used up,
:class:`TooCostlyError` is raised and the URL is disallowed: a failure is never permission.

- The steps depend on the patterns and on the path, never on time or on earlier questions. Where the
  path is so short, or the patterns are so few, that they cannot exhaust the budget, nothing is
  counted, and each quick way to the answer may be taken. Everything else is held against the
  patterns that the index finds for the path, and these are the same for every question.
- No real file meets the budget. 8,396 real files were asked about 100,000 URLs of up to 2 KB made
  of their own patterns: the costliest took 8.3 million steps, and an ordinary URL takes a few
  thousand.
- The texts that one URL is read as, with its dot segments and without them and with its escapes as
  written, share the budget equally; so do the parts of the rules of several groups.
- It buys a question that takes at most 30 ms of processor time for a URL of 2 KB and 100 ms for
  one of 8 KB, whatever the file says. Allow and disallow rules have such a budget each. The eight
  thousand rules above take 8 ms.

Prefix rules, as in the documents of 1994 and 1996, need no budget: all of them together take less
than 10 ms.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

STEPS: Final = 20_000_000
"""Steps that the patterns of one kind may take for one question."""
STEPS_OF_A_PATTERN: Final = 12_000
"""Steps that take as long as taking a pattern apart."""
STEPS_OF_A_PIECE: Final = 1_000
"""Steps that take as long as taking a piece of a pattern apart."""
FEW: Final = 24
"""Up to this many patterns are never counted: each search of a path takes less than 0.3 ms."""
_UNCOUNTED: Final = 8_000_000
"""Up to this many steps need not be counted. It is less than the budget, as each piece may be
searched for several times on the way, and most patterns are never taken apart."""
_UNCOUNTED_OF_A_PATTERN: Final = 3_000


class TooCostlyError(Exception):
    """The budget was used up before it was clear which patterns match a path."""


def uncounted(patterns: Sequence[str]) -> int:
    """The length of a path, in octets, up to which patterns with wildcards need no counting."""
    if len(patterns) <= FEW:
        return sys.maxsize
    left = _UNCOUNTED - _UNCOUNTED_OF_A_PATTERN * len(patterns)
    return max(left // sum(map(len, patterns)), 0)
