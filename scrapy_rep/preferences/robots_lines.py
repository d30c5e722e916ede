"""What the lines of a robots.txt say about use, for one crawler.

``Content-Usage`` has a path, and the rule with the longest matching path counts, as for Allow and
Disallow (draft-ietf-aipref-attach-05). ``Content-Signal`` and ``License`` are about the whole site.

A hostile file may have ten thousand such lines. They are sorted by kind at the first question, and
only the rules that decide about a URL are parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from scrapy_rep.preferences import content_signal, content_usage, licenses
from scrapy_rep.preferences.statement import ROBOTS_TXT, Statement
from scrapy_rep.preferences.vocabulary import (
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    COUNTS_FOR,
    DISALLOWED,
)
from scrapy_rep.robotstxt.lines import Line
from scrapy_rep.robotstxt.normal_form import form_of, readings, written_path
from scrapy_rep.robotstxt.profiles import RFC9309
from scrapy_rep.robotstxt.rules import Rules

_FORM: Final = form_of(RFC9309)
"""The normal form of paths, in every profile: the drafts refer to RFC 9309."""

USAGE_KEY: Final = "content-usage"
SIGNAL_KEY: Final = "content-signal"
LICENSE_KEY: Final = "license"
KEYS: Final = (USAGE_KEY, SIGNAL_KEY, LICENSE_KEY)

MOST_LINES: Final = 2_000
"""Lines of one kind that are read for one crawler. Sorting this many takes 5 ms."""

MOST_OCTETS: Final = 32_768
"""Octets of lines that are parsed together: signals, or rules with one path. They take 20 ms, once.

Real files are far below both limits. Beyond them each use is disallowed: what the other lines say
is unknown, and a failure is never permission.
"""

_OCTETS_OF_A_LINE: Final = 16
"""Starting on a line takes as long as parsing this many octets."""


class UsageLines:
    """The lines that count for one crawler.

    ``group`` are the lines of the groups that name it, ``before`` those before the first group. Of
    the latter, a ``Content-Signal`` counts for each crawler, and a ``License`` for each whose own
    groups have none (RSL 1.0). A ``Content-Usage`` there belongs to no group, and counts for none
    (RFC 9309 section 2.2.2).
    """

    __slots__ = (
        "_matcher",
        "_parsed",
        "_rules",
        "_signals",
        "_too_many",
        "licenses",
        "others",
    )

    def __init__(self, group: Sequence[Line], before: Sequence[Line]) -> None:
        self._rules: dict[str, list[Line]] = {}
        rules = [line for line in group if line.key == USAGE_KEY]
        self._too_many = len(rules) > MOST_LINES
        for line in rules[:MOST_LINES]:
            path, _ = content_usage.path_and_expression(line.value)
            self._rules.setdefault(path, []).append(line)
        paths = [path for path in self._rules if path]
        self._matcher = Rules(paths, [], _FORM, robots_txt_is_free=False) if paths else None
        self._parsed: dict[str, list[Statement]] = {}
        signals = [line for line in (*before, *group) if line.key == SIGNAL_KEY]
        self._signals = _parsed(signals, content_signal.of_line, CONTENT_SIGNAL)
        own = [(line.number, line.value) for line in group if line.key == LICENSE_KEY]
        if not own:
            own = [(line.number, line.value) for line in before if line.key == LICENSE_KEY]
        self.licenses, self.others = licenses.of_lines(own[:MOST_LINES])

    def statements(self, url: str) -> tuple[Statement, ...]:
        """Return what the lines say about the page at a URL, including licences without a URL."""
        return (*self._usage(url), *self._signals, *self.others)

    def _usage(self, url: str) -> list[Statement]:
        """Return what the rules say. A URL with dot segments is also read without them."""
        if self._too_many:
            return _nothing_allowed(CONTENT_USAGE, None, "too many lines")
        if not self._rules:
            return []
        found: dict[str, None] = {}
        for octets in readings(written_path(url, _FORM), _FORM):
            # The matcher takes text, in which a lone surrogate stands for an octet.
            text = octets.encode("latin-1").decode("utf-8", "surrogateescape")
            deciding = self._deciding(text)
            if deciding is None:
                return _nothing_allowed(CONTENT_USAGE, None, "too costly to read")
            found.update(dict.fromkeys(deciding))
        return [statement for path in found for statement in self._said(path)]

    def _deciding(self, text: str) -> Sequence[str] | None:
        """Return the longest paths that match a text; None if that is too costly to find out."""
        if self._matcher is not None:
            match = self._matcher.match(text)
            if match.too_costly:
                return None
            if match.allow is not None:
                return match.patterns
        return [""] if "" in self._rules else []

    def _said(self, path: str) -> list[Statement]:
        if path not in self._parsed:
            self._parsed[path] = _parsed(self._rules[path], content_usage.of_rule, CONTENT_USAGE)
        return self._parsed[path]


def _parsed(
    lines: Sequence[Line], parse: Callable[[str, int], list[Statement]], vocabulary: str
) -> list[Statement]:
    """Parse each value once, and return its statements with the number of its first line."""
    values: dict[str, int] = {}
    for line in lines:
        values.setdefault(line.value, line.number)
    if sum(len(value) + _OCTETS_OF_A_LINE for value in values) > MOST_OCTETS:
        return _nothing_allowed(vocabulary, lines[0].number, "too many lines")
    return [statement for value, number in values.items() for statement in parse(value, number)]


def _nothing_allowed(vocabulary: str, line: int | None, why: str) -> list[Statement]:
    return [
        Statement(vocabulary, label, "", DISALLOWED, ROBOTS_TXT, line, why)
        for label in COUNTS_FOR[vocabulary]
    ]
