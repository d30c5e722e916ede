"""What a robots.txt says about the use of pages.

``Content-Usage`` (draft-ietf-aipref-attach-05), ``Content-Signal`` and ``License`` are lines of a
group. Content-Usage is a rule line (``rule =/ content-usage``), so a user-agent line after it
begins another group; the other two do not end a list of user-agent lines. It has a path, and the
rule with the longest matching path counts, as for Allow and Disallow; the other two are about the
whole site. What is read is kept with the robots.txt, and freed with it.

Most files have no such line: they are searched once for the words, which takes 5 microseconds for a
usual file. A hostile one may have ten thousand. They are sorted by kind at the first question, and
only the rules that decide about a URL are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from scrapy_rep.preferences.licenses import License
from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.preferences.vocabularies import (
    DISALLOWED,
    LINES,
    ROBOTS_TXT,
    RSL,
    VOCABULARIES,
    Statement,
    Vocabulary,
    is_url,
    path_and_expression,
)
from scrapy_rep.robotstxt.lines import DEFAULT, Line, lines_before, lines_of
from scrapy_rep.robotstxt.normal_form import form_of
from scrapy_rep.robotstxt.patterns import Patterns
from scrapy_rep.robotstxt.profiles import RFC9309
from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
from scrapy_rep.robotstxt.rules import Rules
from scrapy_rep.robotstxt.verdict import Verdict

KEYS: Final = tuple(LINES)
_RULE_KEYS: Final = tuple([key for key, vocabulary in LINES.items() if vocabulary.has_path])
_LICENSE_KEY: Final = VOCABULARIES[RSL].line.lower()

MOST_LINES: Final = 2_000
"""The most lines of one kind that are read for one crawler. Sorting this many takes 5 ms."""

MOST_OCTETS_OF_RULES: Final = 65_536
"""The most octets of rules for one crawler: compiled, they take up to eight times the memory."""

MOST_OCTETS_TOGETHER: Final = 32_768
"""The most octets of lines parsed together: signals, or rules with one path. They take 20 ms, once.

Real files are far below these limits. Beyond them each use is disallowed: what the other lines say
is unknown, and a failure is never permission.
"""

_OCTETS_OF_A_LINE: Final = 16
"""Starting on a line takes as long as parsing this many octets."""

_FORM: Final = form_of(RFC9309)
"""The normal form of paths, in every profile: the drafts refer to RFC 9309."""

_LINE: Final = re.compile(rf"\n[^\S\n]*(?:{'|'.join(KEYS)})[^\S\n]*[:\s]")


class RobotsTxt(ParsedRobotsTxt):
    """A robots.txt that is also asked what pages may be used for."""

    __slots__ = ()

    def preferences(self, url: str, agent: str | Sequence[str]) -> Preferences | None:
        """Return what the file says about the use of a page; None if it may not be fetched.

        draft-ietf-aipref-attach-05 section 3: no preference goes with a path that is disallowed.
        """
        return preferences(self, url, agent)


def preferences(
    robots: ParsedRobotsTxt, url: str, agent: str | Sequence[str]
) -> Preferences | None:
    """Return what a file says about the use of a page; None if the page may not be fetched."""
    return stated_preferences(robots, url, agent) if robots.allowed(url, agent) else None


def stated_preferences(
    robots: ParsedRobotsTxt, url: str, agent: str | Sequence[str]
) -> Preferences:
    """Return what a file says about the use of a page, whether it may be fetched or not."""
    found = _usage(robots, agent)
    return Preferences() if found is None else found.about(url)


def refusal_by_name(robots: ParsedRobotsTxt, url: str, token: str) -> Verdict | None:
    """Return the verdict of the group that names a token, if it forbids a page; never of ``*``.

    draft-kelley-aipref-training-preference-signal-00: a site names a purpose by a token, as with
    ``Google-Extended``.
    """
    if robots.allowed(url, token):
        return None
    verdict = robots.verdict(url, token)
    return None if verdict.group in (None, DEFAULT) else verdict


def speaks_of_use(robots: ParsedRobotsTxt) -> bool:
    """Return True if any line of a file is about the use of pages; most files have none.

    It takes 1 ms for 500 KB, and 5 us for a usual file, once.
    """

    def read() -> bool:
        low = robots.text().lower()
        return any(key in low for key in KEYS) and _LINE.search(low) is not None

    return robots.keep("speaks of use", read)


def _usage(robots: ParsedRobotsTxt, agent: str | Sequence[str]) -> _UsageLines | None:
    """Return the lines about use that are for a crawler; None if there are none."""
    if not speaks_of_use(robots):
        return None
    return robots.keep(("use", robots.tokens_of(agent)), lambda: _UsageLines(robots, agent))


class _UsageLines:
    """The lines that apply to one crawler.

    Before the first group, a ``Content-Signal`` applies to every crawler, and a ``License`` to each
    whose own groups have none (RSL 1.0). A ``Content-Usage`` there belongs to no group, and applies
    to no crawler (RFC 9309 section 2.2.2).
    """

    __slots__ = ("_always", "_rules", "licenses")

    def __init__(self, robots: ParsedRobotsTxt, agent: str | Sequence[str]) -> None:
        group = robots.group(robots.tokens_of(agent), _RULE_KEYS)
        own = [*lines_of(group, KEYS, robots.profile)]
        before = [*lines_before(group, KEYS, robots.profile)]
        self._rules: list[_UsageRules] = []
        self._always: list[Statement] = []
        """The statements about every page."""
        for key, vocabulary in LINES.items():
            if vocabulary.has_path:
                self._rules.append(_UsageRules(vocabulary, _of_key(own, key)))
            else:
                self._always += _parsed(_of_key([*before, *own], key), vocabulary)
        named = _of_key(own, _LICENSE_KEY) or _of_key(before, _LICENSE_KEY)
        found = [License(one.value, ROBOTS_TXT, one.number) for one in named[:MOST_LINES]]
        self.licenses = tuple([one for one in found if is_url(one.url)])

    def about(self, url: str) -> Preferences:
        """Return what the lines say about the page at a URL."""
        by_path = [statement for rules in self._rules for statement in rules.about(url)]
        return Preferences(tuple(dict.fromkeys([*by_path, *self._always])), self.licenses)


class _UsageRules:
    """The rules of one vocabulary that apply to one crawler."""

    __slots__ = ("_lines", "_matcher", "_statements", "_too_many", "_vocabulary")

    def __init__(self, vocabulary: Vocabulary, rules: Sequence[Line]) -> None:
        self._vocabulary = vocabulary
        octets = sum([len(line.value) for line in rules])
        self._too_many = len(rules) > MOST_LINES or octets > MOST_OCTETS_OF_RULES
        self._lines: dict[str, list[Line]] = {}
        for line in () if self._too_many else rules:
            self._lines.setdefault(path_and_expression(line.value)[0], []).append(line)
        paths = [path for path in self._lines if path]
        # They are passed as disallow patterns, but only which of them match is asked.
        patterns = Patterns(paths, _FORM), Patterns((), _FORM)
        self._matcher = Rules(*patterns, _FORM) if paths else None
        self._statements: dict[str, list[Statement]] = {}
        """Those of the lines with each path, once a URL has needed them."""

    def about(self, url: str) -> list[Statement]:
        """Return what the rules say. A URL with dot segments is also read without them."""
        if self._too_many:
            return _nothing_allowed(self._vocabulary, "too many lines")
        if self._matcher is None:
            return self._of_path("")
        paths: dict[str, None] = {}
        for match in self._matcher.matches(url):
            if match.too_costly:
                return _nothing_allowed(self._vocabulary, "too costly to read")
            # Where no path matches, the rules without a path count.
            for path in match.patterns or [""]:
                paths[path] = None
        return [statement for path in paths for statement in self._of_path(path)]

    def _of_path(self, path: str) -> list[Statement]:
        if path not in self._statements:
            self._statements[path] = _parsed(self._lines.get(path, []), self._vocabulary)
        return self._statements[path]


def _of_key(lines: Iterable[Line], key: str) -> list[Line]:
    return [line for line in lines if line.key == key]


def _parsed(lines: Sequence[Line], vocabulary: Vocabulary) -> list[Statement]:
    """Parse each value once, and return its statements with the number of its first line."""
    if vocabulary.read is None:
        return []
    values: dict[str, int] = {}
    for line in lines:
        values.setdefault(line.value, line.number)
    if sum([len(value) + _OCTETS_OF_A_LINE for value in values]) > MOST_OCTETS_TOGETHER:
        return _nothing_allowed(vocabulary, "too many lines", lines[0].number)
    found = []
    for value, number in values.items():
        text = path_and_expression(value)[1] if vocabulary.has_path else value
        found += vocabulary.read(text, ROBOTS_TXT, number)
    return found


def _nothing_allowed(vocabulary: Vocabulary, why: str, line: int | None = None) -> list[Statement]:
    return [
        Statement(vocabulary.name, label, why, DISALLOWED, ROBOTS_TXT, line)
        for label in vocabulary.counts_for
    ]
