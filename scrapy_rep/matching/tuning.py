"""The tuning constants of the matcher, each with the measurement that chose it.

None of them changes an answer; they decide how an answer is found. "The corpus" is 8,396 real
robots.txt files; times are from one core of an EPYC server and CPython 3.11.
"""

from __future__ import annotations

from typing import Final

# When an index is built.

FEW: Final = 24
"""Up to this many patterns of a kind are searched one by one, without index or budget."""
INDEX_AFTER: Final = 30
"""Questions after which many patterns are indexed."""
LONG_URI: Final = 1_000
"""Octets of a URI that count as :data:`INDEX_AFTER` questions."""
FEW_CANDIDATES: Final = 16
"""Without an index, up to this many candidates of one path are tried; more build the index."""

# Where an index files a pattern.

LONGEST_INNER: Final = 32
"""Octets of an inner literal, the last ones of a longer piece."""
DISTINCTIVE: Final = 3
"""Octets from which on an inner literal is worth having although the piece it is in is longer."""
CROWD: Final = 16
"""Patterns behind one required literal; where there are more, other literals are chosen."""
PIECES_COMPARED: Final = 8
"""Pieces of a crowded pattern, the longest, of which the rarest becomes its inner literal."""
FEW_SUBSTRINGS: Final = 60
"""Up to this many inner literals are searched one by one, without a set of grams."""
GRAM: Final = 4
"""Octets of a gram."""

# What is kept.

MOST_PARSED: Final = 5_000_000
"""Octets of memory for the parsed patterns of a set; beyond that, all are dropped."""

# What one question may cost: see scrapy_rep.matching.budget.

STEPS: Final = 20_000_000
"""Steps that the patterns of one kind may take for one question."""
STEPS_OF_A_PATTERN: Final = 12_000
"""Steps that take as long as parsing a pattern."""
STEPS_OF_A_PIECE: Final = 1_000
"""Steps that take as long as parsing one piece of a pattern."""
UNCOUNTED: Final = 8_000_000
"""Steps that need not be counted."""
UNCOUNTED_OF_A_PATTERN: Final = 3_000
"""Steps that trying one pattern is taken for when nothing is counted."""
