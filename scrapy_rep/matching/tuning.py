"""The tuning constants of the matcher, each with the measurement that chose it.

None of them changes an answer; they decide how an answer is found. The one exception is the budget:
a question that exceeds it is answered with "disallowed". Times are of one core of an EPYC server
with CPython 3.11, for a URL of 50 octets unless stated otherwise.
"""

from __future__ import annotations

from typing import Final

# When many patterns are indexed.

FEW: Final = 24
"""Up to this many patterns of a kind have neither an index nor a budget.

24 prefixes take 0.36 us one by one and 0.55 us with an index, 100 take 0.71 and 0.61 us.
"""
INDEX_AFTER: Final = 30
"""Questions after which an index is built.

Files with 100 to 400 rules answer their first 10 questions in 120 us altogether; they take 208 us
with an index from the first question on, which is the usual number of questions of a short crawl.
"""
LONG_URI: Final = 1_000
"""Octets of a URI that counts as :data:`INDEX_AFTER` questions.

300 patterns like ``/*word7`` and ten URLs of 1,500 octets take 1.8 ms; without it, 2.3 ms.
"""

# Which literal an index files a pattern by.

LONGEST_INNER: Final = 32
"""Octets of an inner literal; of a longer piece, the last ones.

950 literals that begin each other and a URL of 8 KB full of their beginnings take 0.18 ms; with
whole pieces they take 99 ms. With 8 octets, 18,000 pieces of the same two letters take three times
as long as with 32.
"""
DISTINCTIVE: Final = 3
"""Octets from which on a part of a piece, without its escapes, is taken as inner literal.

Of the pieces of typical rules with 2 octets, a typical URL holds 13 %; of those with 3, it holds
1.5 %.
"""
CROWD: Final = 16
"""Up to this many patterns share a required literal; more are filed by other literals.

60 rules like ``/*session*7x`` and a URL with ``session`` take 2.7 us; they take 49 us if they stay
together. For 24,000 rules of which all share one piece, the limit of 16 is better than 4: 25 us
instead of 66.
"""
FEW_SUBSTRINGS: Final = 60
"""Up to this many inner literals are searched one by one.

60 take 3.4 us one by one and 6.6 us by their grams, 240 take 11 and 6.5 us.
"""
GRAM: Final = 4
"""Octets of a gram.

20,000 inner literals take 2.7 us with 4, 3.0 us with 3 and 4.0 us with 6; shorter grams are in more
paths by chance, and literals shorter than a gram take longer.
"""

# What is kept.

MOST_PARSED: Final = 5_000_000
"""Octets of memory for the parsed patterns of a set; beyond that, all are dropped.

A hostile file of 500 KB then takes at most 15 MB; all patterns of any real file fit.
"""

# What one question may cost: scrapy_rep.matching.budget explains the steps.

STEPS: Final = 20_000_000
"""Steps that the patterns of one kind may take for one question.

The costliest of 100,000 questions about real files took 8.3 million.
"""
STEPS_OF_A_PATTERN: Final = 12_000
"""Steps for parsing a pattern, which takes about 6 us."""
STEPS_OF_A_PIECE: Final = 1_000
"""Steps for parsing one of its pieces, which takes about 0.5 us."""
UNCOUNTED: Final = 8_000_000
"""Steps below which nothing is counted.

This is less than the budget, because each piece may be searched for several times on short cuts.
"""
UNCOUNTED_OF_A_PATTERN: Final = 3_000
"""Steps for each pattern where nothing is counted: most are ruled out in 1.5 us, before parsing."""
