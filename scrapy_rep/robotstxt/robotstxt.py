"""A robots.txt tells whether a URI may be fetched, and by which line.

RFC 9309 section 2.2.2. :class:`ParsedRobotsTxt` keeps only the octets at first. When it is asked
about a crawler, it compiles the rules for that crawler, and keeps them too. What a robots.txt says
about the use of pages is read elsewhere, in :mod:`scrapy_rep.preferences.robots_txt`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from scrapy_rep.robotstxt import lines
from scrapy_rep.robotstxt.lines import Group, Groups
from scrapy_rep.robotstxt.normal_form import ROBOTS_TXT, form_of
from scrapy_rep.robotstxt.pace import PACE_SPELLINGS, Pace, RequestRate, pace_of, speaks_of_pace
from scrapy_rep.robotstxt.patterns import Patterns
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.robotstxt.product_token import tokens_of
from scrapy_rep.robotstxt.profiles import Profile, named
from scrapy_rep.robotstxt.rules import Rules
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE, octets_of, text_of, truncate
from scrapy_rep.robotstxt.verdict import (
    BY_RULE,
    ROBOTS_TXT_ITSELF,
    TOO_COSTLY,
    Rule,
    Verdict,
    unmatched,
)

MOST_AGENTS: Final = 16
"""The most tuples of tokens whose compiled rules are kept; before one more, all are dropped."""
MOST_OCTETS: Final = 16_000_000
"""If the compiled rules take more octets, they are dropped before others are compiled."""
OCTETS_OF_A_FILE: Final = 700
"""Octets of memory that a :class:`ParsedRobotsTxt` takes besides its body and its rules."""
OCTETS_OF_A_LINE: Final = 200
"""Octets of memory for a pattern and its line, once a verdict has needed it."""
_FIRST_SCORE: Final = 2**31
"""The score of the first rule where the first match decides: more than any file has rules."""
MOST_KEPT: Final = 64
"""The most other values kept with a file, such as its sitemaps and the pace of each crawler."""
_NO_PACE: Final = Pace()
_UNREAD: Final[Any] = object()

Kept = TypeVar("Kept")
OfClass = TypeVar("OfClass", bound="ParsedRobotsTxt")

LineNumbers = tuple[dict[str, int], dict[str, int]]
"""The number of the first line with each pattern: disallow patterns at index False, allow patterns
at index True."""


class Compiled:
    """The compiled rules of some groups, shared by all crawlers to which these groups apply."""

    __slots__ = ("lines", "rules", "spans")

    def __init__(self, group: Group, profile: Profile) -> None:
        self.spans = group.spans
        self.rules = _rules_of(group, profile)
        self.lines: LineNumbers | None = None
        """The lines of the patterns; read, and then set in one step, when a verdict needs them."""

    @property
    def size(self) -> int:
        """Approximate octets of memory."""
        held = self.rules.size
        return held if self.lines is None else held + OCTETS_OF_A_LINE * sum(map(len, self.lines))


class ParsedRobotsTxt:
    """The rules of one robots.txt; made by :meth:`parse`.

    Several threads may ask at once. A copy made by :mod:`pickle` or :mod:`copy` has only the octets
    and the profile, and compiles the rules anew.
    """

    __slots__ = ("_allows", "_body", "_compiled", "_kept", "profile")

    def __init__(self, body: bytes, profile: Profile) -> None:
        self._body = body
        self.profile = profile
        self._allows: dict[str | tuple[str, ...], Callable[[str], bool]] = {}
        self._compiled: dict[tuple[str, ...], tuple[str | None, Compiled]] = {}
        """The token that a group names, and its rules, by the tokens that were asked for."""
        self._kept: dict[object, Any] = {}

    def __reduce__(self) -> tuple[type[ParsedRobotsTxt], tuple[bytes, Profile]]:
        return type(self), (self._body, self.profile)

    def __repr__(self) -> str:
        """Return the size, the profile and the beginning of the file: printable, in one line."""
        said = f"{len(self._body):,} bytes, {self.profile.name}: {printable(self._body)}"
        return f"<{type(self).__name__} {said}>"

    @classmethod
    def parse(
        cls: type[OfClass],
        body: bytes | bytearray | memoryview | str,
        *,
        profile: str | Profile = "rfc9309",
        max_size: int = DEFAULT_MAX_SIZE,
    ) -> OfClass:
        """Return a robots.txt that is read when the first question is asked.

        RFC 9309 sections 2.2 and 2.5. A ``str`` is encoded in UTF-8. Octets beyond ``max_size`` are
        ignored. Raises TypeError for a body of another type, and ValueError for an unknown profile
        or a negative size.
        """
        if not isinstance(body, bytes):
            body = octets_of(body)
        if max_size < 0:
            raise ValueError(f"max_size is {max_size}, and may not be negative")
        return cls(truncate(body, max_size), named(profile))

    def allowed(self, url: str, agent: str | Sequence[str]) -> bool:
        """Return True if a crawler may fetch a URL. RFC 9309 section 2.2.2.

        ``agent`` is a product token, ``*``, a whole User-Agent header, or product tokens in order
        of preference. No text raises an exception.
        """
        try:
            allows = self._allows[agent]  # type: ignore[index]
        except KeyError:
            allows = self.matcher(agent)  # type: ignore[arg-type]
        except TypeError:  # a list cannot be a key; a tuple only fails for what is in it
            if isinstance(agent, tuple):
                raise
            return self.allowed(url, tuple(agent))
        return allows(url)

    def matcher(self, agent: str | tuple[str, ...]) -> Callable[[str], bool]:
        """Return a function that does for one agent what :meth:`allowed` does.

        It saves a look-up for each of many URLs. The robots.txt keeps it for the next question.
        """
        matcher = self._look_up(agent)[1].rules.matcher()
        if len(self._allows) >= 4 * MOST_AGENTS:
            self._allows.clear()
        self._allows[agent] = matcher
        return matcher

    def verdict(self, url: str, agent: str | Sequence[str]) -> Verdict:
        """Return the answer of :meth:`allowed` with the rule, line, group and reason."""
        group, compiled = self._look_up(agent)
        match = compiled.rules.match(url)
        if match.path == compiled.rules.always_allowed:
            return Verdict(True, group=group, reason=ROBOTS_TXT_ITSELF)
        if match.too_costly:
            return Verdict(False, group=group, reason=TOO_COSTLY)
        if match.allow is None:
            return unmatched(group)
        numbers = self._lines_of(compiled, agent)
        rule = _first(numbers, match.allow, match.patterns)
        overruled = _first(numbers, not match.allow, match.overruled) if match.overruled else None
        return Verdict(match.allow, rule, rule.line, group, BY_RULE, overruled)

    def crawl_delay(self, agent: str | Sequence[str]) -> float | None:
        """Return the Crawl-delay for a crawler, in seconds. RFC 9309 section 2.2.4."""
        return self.pace(agent).crawl_delay

    def request_rate(self, agent: str | Sequence[str]) -> RequestRate | None:
        """Return the slowest Request-rate for a crawler."""
        return self.pace(agent).request_rate

    def pace(self, agent: str | Sequence[str]) -> Pace:
        """Return what a file says to a crawler about pace."""
        if not self.keep("speaks of pace", lambda: speaks_of_pace(self.text())):
            return _NO_PACE
        tokens = self.tokens_of(agent)
        return self.keep(
            ("pace", tokens), lambda: pace_of(self.group(tokens, PACE_SPELLINGS), self.profile)
        )

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps of the file, each once, in order. RFC 9309 section 2.2.4."""
        return self._values_of(lines.SITEMAP)

    @property
    def clean_params(self) -> tuple[str, ...]:
        """The values of Clean-param lines, each once, in order: ``ref&sid /shop/``."""
        return self._values_of(lines.CLEAN_PARAM)

    @property
    def host(self) -> str | None:
        """The main host of the site's mirrors, from the first Host line of the file."""
        return next(iter(self._values_of(lines.HOST)), None)

    @property
    def size(self) -> int:
        """Approximate octets of memory of this object: more with each crawler that is looked up."""
        return OCTETS_OF_A_FILE + len(self._body) + _size_of(self._all_compiled())

    def text(self) -> str:
        """Return the body as text; see :func:`scrapy_rep.robotstxt.text.text_of`."""
        return text_of(self._body, self.profile)

    def tokens_of(self, agent: str | Sequence[str]) -> tuple[str, ...]:
        """Return the product tokens of an agent argument, in lower case."""
        return tokens_of(agent, self.profile)

    def group(self, tokens: tuple[str, ...], members: tuple[str, ...] = ()) -> Group:
        """Return the lines for the crawler with some product tokens.

        ``members`` are further keys that belong to a group.
        """
        return Groups(self.text(), self.profile, members).of(tokens)

    def keep(self, key: object, read: Callable[[], Kept]) -> Kept:
        """Return the value kept under a key, or read and keep it; it is freed with the file."""
        found: Kept = self._kept.get(key, _UNREAD)
        if found is _UNREAD:
            found = read()
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def drop_compiled(self) -> None:
        """Free the compiled rules. They are compiled again when they are asked for."""
        self._compiled.clear()
        self._allows.clear()

    def _look_up(self, agent: str | Sequence[str]) -> tuple[str | None, Compiled]:
        """Return the token that a group names, and its rules, which are compiled if need be."""
        tokens = self.tokens_of(agent)
        found = self._compiled.get(tokens)
        if found is None:
            known = self._all_compiled() if self._compiled else set()
            if len(self._compiled) >= MOST_AGENTS or _size_of(known) > MOST_OCTETS:
                self.drop_compiled()
                known.clear()
            group = self.group(tokens)
            same = [one for one in known if one.spans == group.spans]
            compiled = same[0] if same else Compiled(group, self.profile)
            found = self._compiled[tokens] = group.token, compiled
        return found

    def _all_compiled(self) -> set[Compiled]:
        return {compiled for _, compiled in list(self._compiled.values())}

    def _values_of(self, key: str) -> tuple[str, ...]:
        return self.keep(key, lambda: lines.values_in(self.text(), key, self.profile))

    def _lines_of(self, compiled: Compiled, agent: str | Sequence[str]) -> LineNumbers:
        """Return the lines of compiled rules. They are read when a verdict first needs them."""
        numbers = compiled.lines
        if numbers is None:
            numbers = {}, {}
            group = self.group(self.tokens_of(agent))
            for allow, pattern, line in lines.rules_of(group, self.profile):
                numbers[allow].setdefault(pattern, line)
            compiled.lines = numbers
        return numbers


def _size_of(known: set[Compiled]) -> int:
    return sum([one.size for one in known])


def _first(numbers: LineNumbers, allow: bool, patterns: Sequence[str]) -> Rule:
    """Return the first rule in the file that has one of ``patterns``."""
    line, pattern = min([(numbers[allow][pattern], pattern) for pattern in patterns])
    return Rule(allow, pattern.encode("latin-1").decode("utf-8", "backslashreplace"), line)


def _rules_of(group: Group, profile: Profile) -> Rules:
    """Return the compiled rules of a group."""
    form = form_of(profile)
    if profile.most_octets_win:
        values = lines.values_of(group, profile)
        disallow, allow = Patterns(values[0], form), Patterns(values[1], form)
    else:
        scores: tuple[dict[str, tuple[int, str]], ...] = {}, {}
        for rank, (allows, pattern, _) in enumerate(lines.rules_of(group, profile)):
            scores[allows].setdefault(form.prefix(pattern), (_FIRST_SCORE - rank, pattern))
        disallow, allow = [Patterns(prefixes, form, prefixes) for prefixes in scores]
    always_allowed = ROBOTS_TXT if profile.robots_txt_is_always_allowed else None
    return Rules(disallow, allow, form, always_allowed)
