"""A budget of steps limits what the rules of a file may cost for one question.

RFC 9309 section 3. Literals are cheap, however many there are. Patterns with wildcards are not:
searching a path for a piece of a pattern compares, at worst, the length of the piece times the
length of the path, and an attacker can write a path and thousands of patterns for which every
search is at its worst. Without a limit, 8,800 rules like ``/*aaa...abaa*xyz`` and a URL of 8 KB
take two seconds.

A *step* is one octet of a pattern compared with one octet of the path, about half a nanosecond.
Before a pattern is tried, the most steps that it may take are subtracted from the budget of the
question, which is 20 million. They are the octets of its inner pieces times those of the path, and
fixed numbers for parsing the pattern and its pieces. When the budget is used up,
:class:`TooCostlyError` is raised and the URL is disallowed: a failure is never permission.

- The steps depend on the patterns and the path, never on time or on earlier questions. If the path
  is so short, or the patterns are so few, that they cannot exhaust the budget, nothing is counted
  and every short cut may be taken. Otherwise the patterns that the index finds for the path are
  tried, and these are the same for every question.
- No real file exhausts the budget. 8,396 real files were asked about 100,000 URLs of up to 2 KB
  made of their own patterns: the costliest took 8.3 million steps, and an ordinary URL takes a few
  thousand.
- The comparisons for one URL (with and without its dot segments, in normal form and as written)
  share the budget equally; so do the parts of the rules of several groups.
- With the budget, a question takes at most 30 ms of processor time for a URL of 2 KB and 100 ms
  for one of 8 KB, whatever the file says. Allow and disallow rules have such a budget each. The
  8,800 rules above take 8 ms.

Prefix rules, as in the documents of 1994 and 1996, need no budget: all of them together take less
than 10 ms.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from scrapy_rep.matching.tuning import FEW, UNCOUNTED, UNCOUNTED_OF_A_PATTERN


class TooCostlyError(Exception):
    """The budget was used up before it was clear which patterns match a path."""


def uncounted(patterns: Sequence[str]) -> int:
    """Return the octets of the longest path for which these patterns cannot exhaust the budget."""
    if len(patterns) <= FEW:
        return sys.maxsize
    left = UNCOUNTED - UNCOUNTED_OF_A_PATTERN * len(patterns)
    return max(left // sum(map(len, patterns)), 0)
