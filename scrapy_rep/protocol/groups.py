"""Records become groups, and the groups that apply to a crawler are found by its token.

RFC 9309 sections 2.2 and 2.2.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from scrapy_rep.protocol import fast_path, syntax
from scrapy_rep.protocol import product_token as tokens
from scrapy_rep.protocol.profiles import Profile
from scrapy_rep.protocol.syntax import Record

RuleValues = tuple[list[str], list[str]]
"""The values of the disallow and of the allow lines of some groups."""
Lines = dict[tuple[bool, str], int]
"""The first line of each pattern; True is for allow."""

_LARGE: Final = 1_000
"""A group of this many records is not merged with others, so that crawlers can share it."""
_RULE_KEYS: Final = frozenset({syntax.ALLOW, syntax.DISALLOW})
_PACE_KEYS: Final = frozenset({syntax.CRAWL_DELAY, syntax.REQUEST_RATE})


class Group(NamedTuple):
    """The names of consecutive user-agent lines and the records that follow them."""

    names: Sequence[str]
    records: Sequence[Record]


def groups(
    records: Iterable[Record], profile: Profile, members: Collection[str] = _RULE_KEYS
) -> Iterator[Group]:
    """Yield the groups of a file; a group ends before the first user-agent line after a rule.

    RFC 9309 section 2.1. In the profiles of 1994 and 1996 a blank line ends it too, and in that
    of 1996 any line that is not a user-agent line is a rule. Records before the first user-agent
    line belong to no group. ``members`` are the keys that count as rules.
    """
    names: list[str] = []
    found: list[Record] = []
    has_rule = False
    for record in records:
        if record.key == syntax.BLANK or (record.key == syntax.AGENT and has_rule):
            if names and (has_rule or not profile.group_needs_a_rule):
                yield Group(names, found)
            names, found, has_rule = [], [], False
        if record.key == syntax.AGENT:
            names.extend(tokens.names_of(record.value, profile))
        elif names and record.key != syntax.BLANK:
            found.append(record)
            has_rule = has_rule or profile.extensions_are_rules or record.key in members
    if names and (has_rule or not profile.group_needs_a_rule):
        yield Group(names, found)


def applicable(
    found: Iterable[Group], wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[Sequence[Record]]]:
    """Return the first token that any group names, or else ``*``, and the records of its groups.

    RFC 9309 section 2.2.1. If no group applies, the token is None.
    """
    by_token: dict[str, list[Sequence[Record]]] = {}
    for group in found:
        for token in dict.fromkeys((*wanted, tokens.DEFAULT)):
            if token in by_token and not profile.all_groups_are_merged:
                continue
            if token == tokens.DEFAULT:
                matches = token in group.names
            else:
                matches = tokens.is_named(group.names, token, profile)
            if matches:
                by_token.setdefault(token, []).append(group.records)
    for token in (*wanted, tokens.DEFAULT):
        if token in by_token:
            return token, by_token[token]
    return None, []


def records_for(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[Sequence[Record]]]:
    """Return the token found for a crawler, and the records of each group that applies."""
    found = groups(syntax.records(text.decode("latin-1"), profile), profile)
    return applicable(found, wanted, profile)


def pace_records_for(text: bytes, wanted: Sequence[str], profile: Profile) -> list[Record]:
    """Return the records that apply to tokens where records about pace count as rules.

    Such a record ends the list of user-agent lines before it: one in three of the sites that write
    Crawl-delay has such a line for one crawler right above the group of another.
    """
    records = syntax.records(syntax.squeeze_blank_lines(text).decode("latin-1"), profile)
    found = groups(records, profile, _RULE_KEYS | _PACE_KEYS)
    return [*chain.from_iterable(applicable(found, wanted, profile)[1])]


def patterns_for(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[RuleValues]]:
    """Return the token found for a crawler, and the values of its rule lines.

    If one of several groups that apply is large, its values come last and apart from the others.
    """
    if profile.lines_are_ordinary:
        found = fast_path.patterns_for(text, wanted, profile)
        if found is not None:
            return found
    token, records = records_for(syntax.squeeze_blank_lines(text), wanted, profile)
    return token, [_by_kind(_rules_of(part, profile)) for part in _parts(records)]


def _by_kind(rules: Iterable[tuple[tuple[bool, str], int]]) -> RuleValues:
    found: RuleValues = ([], [])
    for (allowed, pattern), _ in rules:
        found[allowed].append(pattern)
    return found


def _parts(records: Sequence[Sequence[Record]]) -> list[list[Record]]:
    """Return the records of all groups as one list; a large group comes last and apart."""
    largest = max(records, key=len, default=[])
    if len(records) < 2 or len(largest) < _LARGE:
        return [[*chain.from_iterable(records)]]
    others = [group for group in records if group is not largest]
    return [[*chain.from_iterable(others)], [*largest]]


def ordered_patterns_for(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[tuple[bool, str]]]:
    """Return the token found for a crawler, and its patterns in file order; True is for allow."""
    token, records = records_for(syntax.squeeze_blank_lines(text), wanted, profile)
    return token, [rule for rule, _ in _rules_of(chain.from_iterable(records), profile)]


def lines_for(text: bytes, wanted: Sequence[str], profile: Profile) -> list[Lines]:
    """Return the first line of each pattern in each part of the rules of a crawler."""
    found: list[Lines] = []
    for records in _parts(records_for(text, wanted, profile)[1]):
        lines: Lines = {}
        for rule, line in _rules_of(records, profile):
            lines.setdefault(rule, line)
        found.append(lines)
    return found


def _rules_of(
    records: Iterable[Record], profile: Profile
) -> Iterator[tuple[tuple[bool, str], int]]:
    """Yield each pattern of the allow (True) and disallow lines among records, and its line."""
    for record in records:
        for pattern in patterns_of(record, profile):
            yield (record.key == syntax.ALLOW, pattern), record.line


def patterns_of(record: Record, profile: Profile) -> list[str]:
    """Return the patterns of a record: one of a rule line, more in some profiles, else none."""
    if record.key not in _RULE_KEYS:
        return []
    value = record.value
    if profile.several_paths_on_a_line:
        parts = syntax.words(value)
        if parts and all(part.startswith("/") for part in parts):
            return parts
    if profile.index_html_allows_the_directory and record.key == syntax.ALLOW:
        directory, slash, page = value.rpartition("/")
        if slash and page.startswith("index.htm"):
            return [value, f"{directory}/$"]
    return [value]
