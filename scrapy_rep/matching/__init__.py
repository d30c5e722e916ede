"""Patterns against paths: how a crawler's rules answer a question in half a microsecond.

This package knows nothing about robots.txt. Lists of disallow and allow patterns go in, for one
crawler; a function comes out that tells whether a URI may be fetched, and an object that tells
which pattern decides. RFC 9309 sections 2.2.2 and 2.2.3 are the rules of the game: a pattern
matches from the first octet of the path, ``*`` is any text, a final ``$`` is the end of the path,
and the matching pattern with the most octets decides. An allow pattern wins a tie.

A file has 7 rules in the median, 500 at the 99th percentile, and 37,000 in the worst case. A crawl
asks it thousands of times, and most answers are "allowed". So a question passes through stages, and
most questions end in the first two:

1. **The fast URL path** (:mod:`~scrapy_rep.matching.matcher`). The matcher remembers the origin of
   the last URI, ``https://e.org/``. If the next URI begins with it, and what follows has no ``%``,
   no ``#``, no dot segment and only ASCII, that is the match path already. Any other URI is parsed
   and put in normal form (:mod:`~scrapy_rep.matching.normal_form`), which takes some microseconds.
2. **The prefilter** (:mod:`~scrapy_rep.matching.prefilter`). Each disallow pattern has a *required
   literal* (:mod:`~scrapy_rep.matching.required_literals`): a prefix, a suffix or an inner text
   that every path has that the pattern matches. A path without any of them is allowed. For a file
   with few patterns this is one ``str.startswith`` with all prefixes, one ``str.endswith``, and a
   search for each inner literal: 0.5 us on average, with no rule looked at.
3. **The index** (:mod:`~scrapy_rep.matching.index`) takes the place of the prefilter when more than
   24 patterns were asked 30 questions. Prefixes are bisected, and inner literals found by the grams
   of the path: O(log n) and O(path) instead of O(n). For 20,000 patterns it answers in 1 to 5 us
   instead of 60 to 320 ms for trying each. It is not built at once, as it takes longer to build
   than the first questions take without it.
4. **The pattern sets** (:mod:`~scrapy_rep.matching.pattern_set`), one for disallow and one for
   allow. They see only paths with a required literal. They find the longest literal that begins
   the path, try the *candidates* (patterns with wildcards whose required literal the path has), and
   compare the lengths of the longest of both kinds. A candidate is parsed
   (:mod:`~scrapy_rep.matching.wildcard`) when it is first tried: most never are.
5. **The readings** (:mod:`~scrapy_rep.matching.rule_set`). A few URIs need several comparisons:
   with and without dot segments, and in normal form and as written for rules that match within an
   escape (:mod:`~scrapy_rep.matching.escapes`). Each reading must be allowed. Where crawlers share
   a large group, the rules are in parts (:mod:`~scrapy_rep.matching.rules_in_parts`), and the
   comparisons are of all parts together.

Trying one pattern with k pieces on a path of n octets takes at most O(k n) ``str.find`` steps and
never backtracks: the first place where each piece fits is always good enough. The worst case is
thousands of patterns and a long path that were written for each other.
:mod:`~scrapy_rep.matching.budget` limits the steps that one question may take to about 30 ms for a
URL of 2 KB; a question that exceeds it is answered with "disallowed".

What each mechanism buys:

===================================  ==========================================================
fast URL path                        0.25 us instead of 1.2 us for an allowed URI
index of prefixes and grams          1 to 5 us instead of 60 to 320 ms for 20,000 rules
crowds filed by other literals       2.7 us instead of 49 us for 60 rules that share a literal
inner literals of 32 octets at most  0.2 ms instead of 99 ms for 950 hostile rules
parsing on demand                    3 to 7 us for each pattern that is never tried
budget                               8 ms instead of 2 s for 8,800 hostile rules
===================================  ==========================================================

The thresholds between the stages are in :mod:`~scrapy_rep.matching.tuning`, each with the
measurement that chose it. Every stage that may say "allowed" without looking at a rule is checked
against a slow second matcher in the tests (``tests/hostile/oracle.py``), before and after there is
an index.
"""
