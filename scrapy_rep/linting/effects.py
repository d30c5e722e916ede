"""What changes from one robots.txt to another: for which crawlers, and for which paths.

Whether a path changes is asked of :class:`RobotsTxt`. Which paths to ask for follows from the rules
that are not in both files: :func:`witnesses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import quote

from scrapy_rep.linting.lines import PACES, RULES, GroupLines, RobotsFile, groups_of
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from scrapy_rep.robotstxt.verdict import Verdict

MOST_PATHS: Final = 100
"""Paths that are shown for a crawler."""
_FILLER: Final = "~"
"""Stands for what a ``*`` matches: rules seldom hold it, so that it seldom matches another one."""
_MOST_PAIRS: Final = 20_000
"""Pairs of patterns of which a path that may match both is made."""
_ORIGIN: Final = "https://robots.invalid"
_ALL: Final = "*"
_KEPT: Final = "/?%:@!$&'()*+,;=[]~"
"""What stays as it is in a path of a witness; other octets are percent-encoded, as in a request."""

Pace = dict[str, str]
Groups = dict[str, list[GroupLines]]


class Change(NamedTuple):
    """A path whose verdict differs between two files."""

    path: str
    old: Verdict
    new: Verdict


class Difference(NamedTuple):
    """What changes for some crawlers: each file says the same to all of them.

    Of the paths that change, one stands for all on which the same two rules decide.
    """

    agents: tuple[str, ...]
    paths: tuple[Change, ...]
    old_pace: Pace
    new_pace: Pace


class _Reading(NamedTuple):
    """What a file says to some crawlers: its rules, and where its lines stand in the file."""

    robots: RobotsTxt
    agent: str
    patterns: tuple[str, ...]
    numbers: Sequence[int] | None
    """The lines of the file that this was made of; None for the whole file."""

    def allowed(self, path: str) -> bool:
        return self.robots.allowed(_ORIGIN + path, self.agent)

    def verdict(self, path: str) -> Verdict:
        found = self.robots.verdict(_ORIGIN + path, self.agent)
        if self.numbers is None or found.rule is None or found.line is None:
            return found
        line = self.numbers[found.line - 2]
        return replace(found, line=line, rule=replace(found.rule, line=line))

    @property
    def pace(self) -> Pace:
        delay = self.robots.crawl_delay(self.agent)
        rate = self.robots.request_rate(self.agent)
        said = {} if delay is None else {"crawl delay": f"{delay:g} s"}
        return (
            said
            if rate is None
            else {**said, "request rate": f"{rate.requests}/{rate.seconds:g} s"}
        )


class _Version:
    """One of the two files. ``profile`` names the document by which it is read.

    By RFC 9309 only the groups of a crawler are handed to the matcher, so that a file that names
    thousands is not read thousands of times. Other documents find groups in other ways, so that
    all of the file counts.
    """

    def __init__(self, body: bytes, profile: str) -> None:
        self._profile = profile
        self._file = RobotsFile(body)
        self._whole = RobotsTxt.parse(body, profile=profile, max_size=len(body))
        self.groups = _by_name(self._file.groups)
        self._paced = _by_name(groups_of(self._file.parsed, RULES | PACES))
        """The same where a line about pace ends a list of names, as it does for the pace."""

    def key(self, agent: str) -> tuple[object, ...]:
        """Return what is the same for two crawlers to which the file says the same."""
        if self._profile != "rfc9309":
            return (agent,)
        return (
            agent in self.groups,
            tuple([group.agents[0] for group in self._of(agent, self.groups)]),
            tuple([group.agents[0] for group in self._of(agent, self._paced)]),
        )

    @staticmethod
    def _of(agent: str, groups: Groups) -> list[GroupLines]:
        return groups.get(agent, groups.get(_ALL, []))

    def reading(self, agent: str) -> _Reading:
        """Return what the file says to a crawler."""
        if self._profile != "rfc9309":
            named = [name for name in self.groups if name in (_ALL, agent) or name in agent]
            groups = [group for name in named for group in self.groups[name]]
            return _Reading(self._whole, agent, _patterns(groups), None)
        name = agent if agent in self.groups else _ALL
        groups = self._of(agent, self.groups)
        members = [line for group in groups for line in group.members if line.key not in PACES]
        paced = self._of(agent, self._paced)
        members += [line for group in paced for line in group.members if line.key in PACES]
        text = [f"User-agent: {name}", *(self._file.lines[line.number - 1] for line in members)]
        body = "\n".join(text).encode("latin-1") if members else b""
        robots = RobotsTxt.parse(body, profile=self._profile, max_size=len(body))
        return _Reading(robots, agent, _patterns(groups), [one.number for one in members])


def _by_name(groups: Iterable[GroupLines]) -> Groups:
    """Return the groups that each name names."""
    found: Groups = {}
    for group in groups:
        for name in dict.fromkeys(filter(None, group.names)):
            found.setdefault(name, []).append(group)
    return found


def _patterns(groups: Iterable[GroupLines]) -> tuple[str, ...]:
    """Return the rules of groups, each as its kind and its path in one text."""
    return tuple(f"{line.key} {line.value}" for group in groups for line in group.rules)


def difference(
    old: bytes, new: bytes, agents: Sequence[str] = (), profile: str = "rfc9309"
) -> list[Difference]:
    """Return what changes, for the crawlers asked for or else for all that a file names.

    ``*`` stands for all other crawlers. Crawlers for which the same changes come together. All
    octets of both files count.
    """
    before, after = _Version(old, profile), _Version(new, profile)
    asked = [agent.lower() for agent in agents] or [_ALL, *before.groups, *after.groups]
    several: dict[tuple[object, ...], list[str]] = {}
    for agent in dict.fromkeys(asked):
        several.setdefault((before.key(agent), after.key(agent)), []).append(agent)
    found: dict[tuple[object, ...], Difference] = {}
    for names in several.values():
        one, other = before.reading(names[0]), after.reading(names[0])
        paths = tuple(islice(_changes(one, other, profile), MOST_PATHS))
        if paths or one.pace != other.pace:
            # Verdicts name the group, which may be that of the crawler itself.
            known = (one.patterns, other.patterns, str(one.pace), str(other.pace), len(paths))
            earlier = found.get(known, Difference((), paths, one.pace, other.pace))
            found[known] = earlier._replace(agents=(*earlier.agents, *names))
    return [*found.values()]


def _changes(old: _Reading, new: _Reading, profile: str) -> Iterator[Change]:
    """Yield the paths whose verdict changes, shortest first, one for each rule that does it."""
    several = {*old.patterns} | {*new.patterns}
    changed = {*old.patterns} ^ {*new.patterns}
    if profile not in ("rfc9309", "google"):  # where the first rule counts, so does the order
        changed = several
    told: set[tuple[object, ...]] = set()
    for path in witnesses(changed, several):
        if old.allowed(path) != new.allowed(path):
            before, after = old.verdict(path), new.verdict(path)
            key = (_deciding(before), _deciding(after))
            if key not in told:
                told.add(key)
                yield Change(path, before, after)


def _deciding(verdict: Verdict) -> str:
    return f"{verdict.allowed} {verdict.rule and verdict.rule.pattern}"


def witnesses(changed: Iterable[str], several: Iterable[str]) -> list[str]:
    """Return paths at which a change of some rules shows, shortest first.

    A rule without wildcards decides on its own path if it decides anywhere. For rules with
    wildcards these are the shortest path that each matches, a longer one, and paths that it and
    another rule match. A rule is its kind, a space and its path, as octets in Latin-1.
    """
    found: dict[str, None] = {}
    patterns = sorted({rule.partition(" ")[2] for rule in changed} - {""})
    others = sorted({rule.partition(" ")[2] for rule in several} - {""})
    for pattern in patterns:
        found.update(dict.fromkeys(_paths_of(pattern)))
    pairs = 0
    wild = {pattern: None for pattern in others if "*" in pattern or pattern.endswith("$")}
    for pattern in patterns:
        for other in others if pattern in wild else wild:
            pairs += 1
            if pairs > _MOST_PAIRS:
                break
            if pattern != other:
                found.update(dict.fromkeys(_paths_of_both(pattern, other)))
                found.update(dict.fromkeys(_paths_of_both(other, pattern)))
    return sorted(found, key=lambda path: ("$" in path or "*" in path, len(path), path))


def _paths_of(pattern: str) -> Iterator[str]:
    """Yield the shortest path that a pattern matches, and longer ones."""
    end = pattern.endswith("$")
    text = pattern[:-1] if end else pattern
    for filler in dict.fromkeys(("", _FILLER)) if "*" in text else ("",):
        path = text.replace("*", filler)
        yield _rooted(path)
        # Also what a pattern with a final $ does not match.
        yield _rooted(path + _FILLER)
        if "%" in path[-2:]:  # half an escape also matches the start of any that goes on so
            for rest in ("F", "5", "a", "2F", "25", "41"):
                yield _rooted(path + rest)
        if "?" in path:  # which some documents compare with %3F
            yield _rooted(path.replace("?", "%3F"))
    if end or "*" in text:  # documents without wildcards read them as characters of a path
        yield _rooted(pattern)
        yield _rooted(pattern + _FILLER)


def _paths_of_both(wild: str, other: str) -> Iterator[str]:
    """Yield paths that a pattern with wildcards may match together with another pattern."""
    head, _star, rest = wild.removesuffix("$").partition("*")
    rest = rest.replace("*", "")
    base = other.removesuffix("$").replace("*", "")
    if base.startswith(head):
        yield _rooted(base + rest)
        if not wild.endswith("$"):
            yield _rooted(base + rest + _FILLER)
    elif head.startswith(base):
        yield _rooted(head + rest)
    if "*" in other:
        start, _star, end = other.removesuffix("$").partition("*")
        end = end.replace("*", "")
        if start.startswith(head):
            yield _rooted(start + rest + end)
        elif head.startswith(start):
            yield _rooted(head + rest + end)


def _rooted(text: str) -> str:
    """Return a path as a request has it, of text in octets."""
    path = text if text.startswith("/") else "/" + text
    return quote(path.encode("latin-1"), safe=_KEPT)
