"""What a robots.txt means for one crawler, in a form in which two of them can be compared.

Two files differ in effect where some path changes its verdict, or the pace does. Which paths to
look at follows from the rules of both: :func:`witnesses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from scrapy_rep.robotstxt import lines as syntax
from scrapy_rep.robotstxt.lines import DEFAULT
from scrapy_rep.robotstxt.profiles import RFC9309, Profile, named
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE, text_of, truncate
from scrapy_rep.robotstxt.verdict import Verdict

_FILLER: Final = "~"
"""Stands for what a ``*`` matches: rules seldom hold it, so that it seldom matches another one."""
_MOST_PAIRS: Final = 20_000
"""Pairs of patterns of which a path that may match both is made."""
_ORIGIN: Final = "https://robots.invalid"

Rules = tuple[tuple[bool, str], ...]
"""The rules of a crawler in the order of the file: True for allow, and the pattern."""


class PaceAsText(NamedTuple):
    """How fast a crawler may go; each as text, or None where the file does not say."""

    crawl_delay: str | None
    request_rate: str | None


class Effect:
    """A robots.txt as one crawler reads it. ``agent`` is as in :meth:`RobotsTxt.allowed`.

    All octets count: whoever asks has cut ``body`` at the limit of the crawler.
    """

    def __init__(
        self, body: bytes, agent: str | Sequence[str], profile: str | Profile = "rfc9309"
    ) -> None:
        self.agent = agent
        self.robots = RobotsTxt.parse(body, profile=profile, max_size=len(body))
        self._profile = named(profile)

    @property
    def rules(self) -> Rules:
        """The rules that apply."""
        found = syntax.rules_of(self.robots.group(self.agent), self._profile)
        return tuple((allow, pattern) for allow, pattern, _ in found)

    @property
    def pace(self) -> PaceAsText:
        """What the group asks for besides its rules."""
        robots, agent = self.robots, self.agent
        delay, rate = robots.crawl_delay(agent), robots.request_rate(agent)
        return PaceAsText(
            None if delay is None else f"{delay:g} s",
            None if rate is None else f"{rate.requests}/{rate.seconds:g} s",
        )

    @property
    def fingerprint(self) -> str:
        """A text that is the same for two files with the same rules and the same pace.

        Other comments, other groups and the case of keys make no difference. The order of the
        rules and repeated rules make one only in a profile in which the first match counts.
        """
        lines = [f"{'allow' if allow else 'disallow'} {path}" for allow, path in self.rules]
        if self._profile.most_octets_win:
            lines = sorted({*lines})
        text = "\n".join([*lines, repr(tuple(self.pace))])
        return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def verdict(self, path: str) -> Verdict:
        """Return the verdict on a path."""
        return self.robots.verdict(_ORIGIN + path, self.agent)

    def allowed(self, path: str) -> bool:
        """Return True if the crawler may fetch a path."""
        return self.robots.allowed(_ORIGIN + path, self.agent)


class Change(NamedTuple):
    """A path whose verdict differs between two files."""

    path: str
    old: Verdict
    new: Verdict


def changes(old: Effect, new: Effect) -> Iterator[Change]:
    """Yield the paths whose verdict changes, shortest first, one for each rule that does it."""
    if {*old.rules} == {*new.rules} and old.fingerprint == new.fingerprint:
        return
    told: set[tuple[object, object]] = set()
    for path in witnesses([*old.rules, *new.rules]):
        if old.allowed(path) != new.allowed(path):
            before, after = old.verdict(path), new.verdict(path)
            key = (_pattern(before), _pattern(after))
            if key not in told:
                told.add(key)
                yield Change(path, before, after)


def _pattern(verdict: Verdict) -> tuple[bool, str]:
    rule = verdict.rule
    return (verdict.allowed, rule.pattern if rule is not None else "")


def witnesses(rules: Iterable[tuple[bool, str]]) -> list[str]:
    """Return paths that show what some rules say together, shortest first.

    For rules without wildcards they show everything: what a path may be depends on the longest rule
    that it begins with, and that rule is itself among the paths. For rules with wildcards they are
    the shortest path that each matches, a longer one, and paths that pairs of rules match.
    Documents without wildcards read ``*`` and ``$`` as characters: paths that hold them come last.
    """
    patterns = [*dict.fromkeys(pattern for _, pattern in rules if pattern)]
    found = {"/": None}
    for pattern in patterns:
        for path in _paths_of(pattern):
            found[path] = None
    wild = [pattern for pattern in patterns if "*" in pattern]
    pairs = 0
    for one in wild:
        for other in patterns:
            pairs += 1
            if pairs > _MOST_PAIRS:
                break
            if one != other:
                found.update(dict.fromkeys(_paths_of_both(one, other)))
    return sorted(found, key=lambda path: ("$" in path or "*" in path, len(path), path))


def _paths_of(pattern: str) -> Iterator[str]:
    """Yield the shortest path that a pattern matches, and longer ones."""
    end = pattern.endswith("$")
    text = pattern[:-1] if end else pattern
    for filler in dict.fromkeys(("", _FILLER)) if "*" in text else ("",):
        path = _rooted(text.replace("*", filler))
        yield path
        # Also what a pattern with a final $ does not match.
        yield path + _FILLER
    if end or "*" in text:  # documents without wildcards read them as characters of a path
        yield _rooted(pattern)
        yield _rooted(pattern) + _FILLER


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
    """Return a path, of text in octets, as the characters that a URL holds."""
    path = text if text.startswith("/") else "/" + text
    return path.encode("latin-1").decode("utf-8", "surrogateescape").replace("#", "%23")


def agents_of(*bodies: bytes) -> list[str]:
    """Return the crawlers that some files name, in lower case and in order; ``*`` comes first."""
    names: dict[str, None] = {DEFAULT: None}
    for body in bodies:
        text = text_of(truncate(body, DEFAULT_MAX_SIZE), RFC9309)
        found = syntax.all_groups(text, RFC9309)
        names.update(dict.fromkeys(name for _, some, _ in found for name in some if name))
    return [*names]
