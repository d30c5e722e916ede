"""What changes from one robots.txt to another: for which crawlers, and for which paths.

:class:`ParsedRobotsTxt` tells whether the verdict on a path changes. Which paths to try follows
from the rules that are not in both files: :func:`witnesses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from string import ascii_letters, digits
from typing import Final, NamedTuple
from urllib.parse import quote

from scrapy_rep.robotstxt.lines import DEFAULT, Group, Groups, rules_of
from scrapy_rep.robotstxt.normal_form import in_upper_case
from scrapy_rep.robotstxt.pace import PACE, PACE_SPELLINGS
from scrapy_rep.robotstxt.profiles import named
from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
from scrapy_rep.robotstxt.verdict import Verdict

MOST_PATHS: Final = 100
"""The most paths that are shown for a crawler."""
_FILLERS: Final = "~_@!:-" + digits + ascii_letters
"""The first of these that is in no rule is the *filler*: it stands for what a ``*`` matches, or for
the rest of a path, and makes no other rule match."""
_MOST_PAIRS: Final = 20_000
"""The most pairs of patterns for which paths are made that may match both. A pair counts once more
for each 100 octets of its patterns, because its paths are longer."""
_ORIGIN: Final = "https://robots.invalid"
_KEPT: Final = "/?%:@!$&'()*+,;=[]~"
"""What stays unencoded in the path of a witness; other octets are escaped, as in a request."""

Pace = dict[str, str]
Rules = tuple[tuple[bool, str], ...]
"""The rules for a crawler, in order: whether each allows, and its pattern."""


class Change(NamedTuple):
    """A path whose verdict differs between two files."""

    path: str
    old: Verdict
    new: Verdict


class Difference(NamedTuple):
    """What changes for some crawlers: each file says the same to all of them.

    One path stands for all paths on which the same two rules decide.
    """

    agents: tuple[str, ...]
    paths: tuple[Change, ...]
    old_pace: Pace
    new_pace: Pace


class _ForAgent(NamedTuple):
    """What a file has for a crawler: its rules, in order, and its pace as it is shown."""

    rules: Rules
    pace: Pace


class _Version(ParsedRobotsTxt):
    """One of the two files. Its text is split once, and the lines of each group are read once."""

    def __init__(self, body: bytes, profile: str) -> None:
        super().__init__(body, named(profile))
        self._split = {
            members: Groups(self.text(), self.profile, members) for members in ((), PACE_SPELLINGS)
        }
        self._by_group: dict[object, _ForAgent] = {}
        self._by_text: dict[str, _ForAgent] = {}

    def group(self, tokens: tuple[str, ...], members: tuple[str, ...] = ()) -> Group:
        """Return the lines that are for a crawler."""
        return self._split[members].of(tokens)

    def crawlers(self) -> list[str]:
        """Return the crawlers that the file names."""
        return [token for _, name in self._split[()].names for token in self.tokens_of(name)]

    def for_agent(self, agent: str) -> _ForAgent:
        """Return what the file has for a crawler: one object for all for which it is the same."""
        tokens = self.tokens_of(agent)
        groups = [self.group(tokens, members) for members in self._split]
        # Crawlers that are not named share the default groups. There may be thousands of these, so
        # one short key stands for them.
        key = tuple([one.spans if one.token in tokens else DEFAULT for one in groups])
        if key not in self._by_group:
            rules = tuple([(allow, text) for allow, text, _ in rules_of(groups[0], self.profile)])
            found = _ForAgent(rules, self._pace(agent))
            self._by_group[key] = self._by_text.setdefault(repr(found), found)
        return self._by_group[key]

    def _pace(self, agent: str) -> Pace:
        rates = self.pace(agent).rates
        return {key.replace("-", " "): PACE[key].shown.format(*rates[key]) for key in rates}


def difference(
    old: bytes, new: bytes, agents: Sequence[str] = (), profile: str = "rfc9309"
) -> list[Difference]:
    """Return what changes, for the crawlers asked for or else for all that a file names.

    ``*`` stands for all other crawlers. Crawlers with the same changes are put together. Both files
    are read to their ends.
    """
    before, after = _Version(old, profile), _Version(new, profile)
    asked = [agent.lower() for agent in agents] or [DEFAULT, *before.crawlers(), *after.crawlers()]
    alike: dict[tuple[int, int], list[str]] = {}
    for agent in dict.fromkeys(asked):
        # Equal ones are one object, so that long rules are not compared for each crawler.
        key = id(before.for_agent(agent)), id(after.for_agent(agent))
        alike.setdefault(key, []).append(agent)
    found = []
    for names in alike.values():
        paths = tuple(islice(_changes(before, after, names[0]), MOST_PATHS))
        old_pace, new_pace = before.for_agent(names[0]).pace, after.for_agent(names[0]).pace
        if paths or old_pace != new_pace:
            found.append(Difference((*names,), paths, old_pace, new_pace))
    return found


def _changes(old: _Version, new: _Version, agent: str) -> Iterator[Change]:
    """Yield paths whose verdict changes, short ones first: one for each pair of deciding rules."""
    before, after = {*old.for_agent(agent).rules}, {*new.for_agent(agent).rules}
    every, changed = before | after, before ^ after
    if not old.profile.most_octets_win:  # where the first rule counts, so does the order
        changed = every
    seen: set[tuple[str, str]] = set()
    for path in witnesses(_patterns(changed), _patterns(every)):
        url = _ORIGIN + path
        if old.allowed(url, agent) != new.allowed(url, agent):
            change = Change(path, old.verdict(url, agent), new.verdict(url, agent))
            key = (_deciding(change.old), _deciding(change.new))
            if key not in seen:
                seen.add(key)
                yield change


def _patterns(rules: Iterable[tuple[bool, str]]) -> list[str]:
    """Return the patterns of rules, with their escapes as a URL in normal form has them."""
    return sorted({in_upper_case(pattern) for _, pattern in rules} - {""})


def _deciding(verdict: Verdict) -> str:
    """Return what stands for a verdict and the rule that decides it, if there is one."""
    return f"{verdict.allowed} {verdict.rule and verdict.rule.pattern}"


def witnesses(patterns: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return paths that show a change of the rules with ``patterns``, short ones first.

    A rule without wildcards decides on its own path if it decides anywhere. For a rule with
    wildcards, the paths are the shortest that it matches, a longer one, and paths that both it and
    one of ``others``, which are all patterns, may match. Patterns are octets in Latin-1.
    """
    text = "".join(others)
    filler = next((one for one in _FILLERS if one not in text), _FILLERS[0])
    found: dict[str, None] = {}
    for pattern in patterns:
        found.update(dict.fromkeys(_paths_of(pattern, filler)))
    pairs = 0
    # Half an escape at the end of a pattern is like a wildcard.
    wild = {one: None for one in others if "*" in one or one.endswith("$") or "%" in one[-2:]}
    for pattern in patterns:
        for other in others if pattern in wild else wild:
            pairs += 1 + (len(pattern) + len(other)) // 100
            if pairs > _MOST_PAIRS:
                break
            if pattern != other:
                found.update(dict.fromkeys(_paths_of_both(pattern, other, filler)))
                found.update(dict.fromkeys(_paths_of_both(other, pattern, filler)))
    return sorted(found, key=lambda path: (_strangeness(path), len(path), path))


def _strangeness(path: str) -> int:
    """Return how late a path is shown, whatever its length: 0 for most paths.

    Paths that look like patterns come after these, and last those that Scrapy requests in another
    form.
    """
    if path.endswith("?") or "'" in path.partition("?")[2]:
        return 2
    return int("$" in path or "*" in path)


def _paths_of(pattern: str, filler: str) -> Iterator[str]:
    """Yield the shortest path that a pattern matches, and longer ones."""
    end = pattern.endswith("$")
    text = pattern[:-1] if end else pattern
    for star in ("", filler) if "*" in text else ("",):
        path = text.replace("*", star)
        yield _rooted(path)
        # Also what a pattern with a final $ does not match.
        yield _rooted(path + filler)
        if "%" in path[-2:]:  # half an escape also matches all escapes that begin with it
            for rest in ("F", "5", "a", "2F", "25", "41"):
                yield _rooted(path + rest)
        if "?" in path:  # which some documents compare with %3F
            yield _rooted(path.replace("?", "%3F"))
    if end or "*" in text:  # documents without wildcards read them as characters of a path
        yield _rooted(pattern)
        yield _rooted(pattern + filler)


def _paths_of_both(wild: str, other: str, filler: str) -> Iterator[str]:
    """Yield paths that a pattern with wildcards may match together with another pattern."""
    head, rest = _head_and_rest(wild)
    start, end = _head_and_rest(other)
    # The text of one pattern follows that of the other, or takes the place of its first star.
    for begins, ends in dict.fromkeys(((start + end, ""), (start, end))):
        if begins.startswith(head):
            yield _rooted(begins + rest + ends)
            if not ends and not wild.endswith("$"):
                yield _rooted(begins + rest + filler)
        elif head.startswith(begins):
            yield _rooted(head + rest + ends)


def _head_and_rest(pattern: str) -> tuple[str, str]:
    """Return what stands before the first star, and what follows it, without other stars."""
    head, _, rest = pattern.removesuffix("$").partition("*")
    return head, rest.replace("*", "")


def _rooted(text: str) -> str:
    """Return text in octets as the path of a request."""
    path = text if text.startswith("/") else "/" + text
    return quote(path.encode("latin-1"), safe=_KEPT)
