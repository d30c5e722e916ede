"""The lines of a robots.txt that speak of use, and the crawlers that they speak to.

``Content-Usage`` (draft-ietf-aipref-attach-05), ``Content-Signal`` and ``License`` are lines of a
group, which is what RFC 9309 section 2.1 says: none of them ends a list of user-agent lines. What
the lines say is read by :mod:`scrapy_rep.preferences`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, takewhile
from typing import Final

from scrapy_rep.matching.rule_set import LongestMatchRules
from scrapy_rep.preferences.robots_lines import KEYS, UsageLine, UsageLines
from scrapy_rep.protocol import groups, syntax
from scrapy_rep.protocol.normal_forms import form_of
from scrapy_rep.protocol.profiles import RFC9309, Profile
from scrapy_rep.protocol.syntax import Record

FORM: Final = form_of(RFC9309)
"""The normal form of paths, in every profile: the drafts refer to RFC 9309."""

_LINE: Final = re.compile(rb"\n[^\S\n]*(?:content-usage|content-signal|license)[^\S\n]*[:\s]")


def speaks_of_use(low: bytes) -> bool:
    """Return whether any line of a file speaks of use.

    ``low`` is the text of :func:`scrapy_rep.protocol.syntax.text_of` in lower case. It takes 1 ms
    for 500 KB, and 5 us for a usual file, once.
    """
    found = b"content-usage" in low or b"content-signal" in low or b"license" in low
    return found and _LINE.search(low) is not None


def usage_lines(text: bytes, wanted: Sequence[str], profile: Profile) -> UsageLines | None:
    """Return the lines that count for tokens, in order of preference; None if there are none."""
    records = list(syntax.records(text.decode("latin-1"), profile))
    _, found = groups.applicable(groups.groups(records, profile), wanted, profile)
    before = takewhile(lambda record: record.key != syntax.AGENT, records)
    group, first = _of_usage(chain.from_iterable(found)), _of_usage(before)
    return UsageLines(group, first, FORM, _rules_of) if group or first else None


def _rules_of(paths: list[str]) -> LongestMatchRules:
    return LongestMatchRules(paths, [], FORM, robots_txt_is_free=False)


def _of_usage(records: Iterable[Record]) -> list[UsageLine]:
    return [UsageLine(one.line, one.key, one.value) for one in records if one.key in KEYS]
