"""Records become groups, and a crawler's token finds the rules that are meant for it.

RFC 9309 sections 2.2 and 2.2.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Final, NamedTuple

from scrapy_rep.protocol import fast_path, syntax
from scrapy_rep.protocol import product_token as tokens
from scrapy_rep.protocol.profiles import Profile
from scrapy_rep.protocol.syntax import Record

Patterns = tuple[list[str], list[str]]
"""The disallow and the allow patterns of some groups, as written."""
Lines = dict[tuple[bool, str], int]
"""The line on which each pattern stands first; True is for allow."""

_LARGE: Final = 1_000
"""Records from which on a group is not merged with others, so that crawlers can share it."""
_RULES: Final = frozenset({syntax.ALLOW, syntax.DISALLOW})
_PACES: Final = frozenset({syntax.CRAWL_DELAY, syntax.REQUEST_RATE, syntax.VISIT_TIME})


class Group(NamedTuple):
    """A group is the names of its user-agent lines and the records that follow them."""

    names: Sequence[str]
    records: Sequence[Record]


def groups(
    records: Iterable[Record], profile: Profile, members: Collection[str] = _RULES
) -> Iterator[Group]:
    """A group lasts up to the next user-agent line that comes after a rule.

    RFC 9309 section 2.1. In the profiles of 1994 and 1996 a blank line ends it too, and in that
    of 1996 any line that is not a user-agent line is a rule. Records before the first user-agent
    line belong to no group. ``members`` are the keys that count as rules here.
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
    """The groups of the first token that has any count; else those of ``*``; else none.

    RFC 9309 section 2.2.1. The first item is the token that was found, or None.
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
    """The records of each group that applies to tokens, one by one and with their lines."""
    found = groups(syntax.records(text.decode("latin-1"), profile), profile)
    return applicable(found, wanted, profile)


def pace_records_for(text: bytes, wanted: Sequence[str], profile: Profile) -> list[Record]:
    """The records about speed that apply to tokens, and others.

    They end the list of user-agent lines before them, as rules do: one in three of the sites that
    write Crawl-delay has such a line for one crawler right above the group of another.
    """
    records = syntax.records(syntax.squeezed(text).decode("latin-1"), profile)
    found = groups(records, profile, _RULES | _PACES)
    return [*chain.from_iterable(applicable(found, wanted, profile)[1])]


def patterns_for(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[Patterns]]:
    """The token found for a crawler, and its patterns as written.

    If one of several groups that apply is large, its patterns come last and apart from the others.
    """
    if profile.lines_are_ordinary:
        found = fast_path.blocks(text, wanted, profile)
        if found is not None:
            token, texts = found
            if len(texts) == 1:
                return token, [fast_path.patterns(texts[0], profile)]
            return token, [*map(fast_path.patterns, texts, repeat(profile))]
    token, records = records_for(syntax.squeezed(text), wanted, profile)
    return token, [_sorted(_rules_of(part, profile)) for part in _parts(records)]


def _sorted(rules: Iterable[tuple[tuple[bool, str], int]]) -> Patterns:
    found: Patterns = ([], [])
    for (allowed, pattern), _ in rules:
        found[allowed].append(pattern)
    return found


def _parts(records: Sequence[Sequence[Record]]) -> list[list[Record]]:
    """The records of all groups; those of the largest come apart if it is large."""
    largest = max(records, key=len, default=[])
    if len(records) < 2 or len(largest) < _LARGE:
        return [[*chain.from_iterable(records)]]
    others = [group for group in records if group is not largest]
    return [[*chain.from_iterable(others)], [*largest]]


def ordered_patterns_for(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[tuple[bool, str]]]:
    """The token found for a crawler, and its patterns in the order of the file, True for allow."""
    token, records = records_for(syntax.squeezed(text), wanted, profile)
    return token, [rule for rule, _ in _rules_of(chain.from_iterable(records), profile)]


def lines_for(text: bytes, wanted: Sequence[str], profile: Profile) -> list[Lines]:
    """The line on which each pattern of a crawler stands first in each part of its rules."""
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
    """Each pattern of the allow (True) and disallow lines among records, and its line."""
    for record in records:
        for pattern in patterns_of(record, profile):
            yield (record.key == syntax.ALLOW, pattern), record.line


def patterns_of(record: Record, profile: Profile) -> list[str]:
    """A rule line has one pattern, and in some profiles more; another record has none."""
    if record.key not in _RULES:
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
