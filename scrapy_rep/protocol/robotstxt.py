"""A robots.txt answers whether a URI may be fetched, and says by which line.

RFC 9309 section 2.2.2. :class:`RobotsTxt` keeps the octets and nothing else until it is asked;
then it compiles the rules of the crawler that asks, and keeps those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import filterfalse
from typing import Final

from scrapy_rep.matching.matcher import OutgrownError
from scrapy_rep.matching.memory import Measure, measured
from scrapy_rep.matching.normal_form import ROBOTS_TXT, octets_of
from scrapy_rep.protocol import compiled as compiling
from scrapy_rep.protocol import extensions, groups, syntax
from scrapy_rep.protocol import product_token as tokens
from scrapy_rep.protocol.compiled import Compiled
from scrapy_rep.protocol.extensions import Pace, RequestRate, VisitTime
from scrapy_rep.protocol.profiles import Profile, named
from scrapy_rep.protocol.syntax import DEFAULT_MAX_SIZE, Record
from scrapy_rep.protocol.verdict import (
    BY_RULE,
    NO_GROUP,
    NO_RULE_MATCHES,
    ROBOTS_TXT_ITSELF,
    TOO_COSTLY,
    Rule,
    Verdict,
)

__all__ = ["RobotsTxt", "Rule", "Verdict"]

_MOST_AGENTS: Final = 64
"""Crawlers whose compiled rules are kept; beyond that, all are dropped and compiled again."""
_MOST_OCTETS: Final = 32_000_000
"""Octets of memory for the compiled rules of all crawlers; beyond that, all are dropped too."""
_MOST_GROWTH: Final = 32
"""Octets of memory for each octet of the body that the rules of one crawler take at most."""


class RobotsTxt:
    """The rules of one robots.txt; made by :meth:`parse`.

    Several threads may ask at once. A copy made by :mod:`pickle` or :mod:`copy` has the octets and
    the profile alone, and reads them anew.
    """

    __slots__ = (
        "_allows",
        "_body",
        "_compiled",
        "_file_values",
        "_measured",
        "_paces",
        "_parts",
        "_profile",
    )

    def __init__(self, body: bytes, profile: Profile) -> None:
        self._body = body
        self._profile = profile
        self._allows: dict[str | tuple[str, ...], Callable[[str], bool]] = {}
        self._compiled: dict[tuple[str, ...], Compiled] = {}
        self._paces: dict[tuple[str, ...], Pace] = {}
        self._file_values: dict[str, tuple[str, ...]] | None = None
        self._measured: Measure | None = None
        self._parts: tuple[RobotsTxt, ...] = ()
        if profile.all_of:
            self._parts = tuple([RobotsTxt(body, part) for part in profile.all_of])

    def __reduce__(self) -> tuple[type[RobotsTxt], tuple[bytes, Profile]]:
        return type(self), (self._body, self._profile)

    @classmethod
    def parse(
        cls,
        body: bytes | bytearray | memoryview | str,
        *,
        profile: str | Profile = "rfc9309",
        max_size: int = DEFAULT_MAX_SIZE,
    ) -> RobotsTxt:
        """Keep the octets of a robots.txt; they are read when the first question is asked.

        RFC 9309 sections 2.2 and 2.5. A ``str`` stands for its octets in UTF-8. What lies behind
        ``max_size`` octets is ignored. Raises TypeError for a body of another type,
        and ValueError for a profile that is not known.
        """
        if not isinstance(body, bytes):
            body = _octets(body)
        if len(body) > max_size:
            body = syntax.truncate(body, max_size)
        return cls(body, named(profile))

    def allowed(self, url: str, agent: str | Sequence[str]) -> bool:
        """Return True if a crawler may fetch a URL. RFC 9309 section 2.2.2.

        ``agent`` is a product token, ``*``, a whole User-Agent header, or product tokens in order
        of preference. No text raises an exception.
        """
        try:
            allows = self._allows[agent]  # type: ignore[index]
        except KeyError:
            return self._afresh(url, agent)  # type: ignore[arg-type]
        except TypeError:
            if isinstance(agent, tuple):
                raise
            return self.allowed(url, tuple(agent))
        try:
            return allows(url)
        except OutgrownError:
            return self._afresh(url, agent)  # type: ignore[arg-type]

    def forbidden(self, urls: Sequence[str], agent: str | tuple[str, ...]) -> list[str]:
        """Return those of many URLs that a crawler may not fetch, in order.

        The same as asking :meth:`allowed` about each, in two thirds of the time.
        """
        allows = self._allows.get(agent)
        if allows is not None:
            try:
                return [*filterfalse(allows, urls)]
            except OutgrownError:  # within its first questions, so that few are asked again
                pass
        return [url for url in urls if not self.allowed(url, agent)]

    def verdict(self, url: str, agent: str | Sequence[str]) -> Verdict:
        """The same answer as :meth:`allowed`, with the rule, its line, the group and the reason."""
        if self._parts:
            return self._strictest(url, agent)
        compiled = self._compile(agent)
        decisive = compiled.rules.decisive(url)
        if self._profile.robots_txt_is_always_allowed and decisive.path == ROBOTS_TXT:
            return Verdict(True, group=compiled.group, reason=ROBOTS_TXT_ITSELF)
        if decisive.too_costly:
            return Verdict(False, group=compiled.group, reason=TOO_COSTLY)
        if decisive.allow is None:
            reason = NO_GROUP if compiled.group is None else NO_RULE_MATCHES
            return Verdict(True, group=compiled.group, reason=reason)
        rule = self._rule(compiled, decisive.allow, decisive.written)
        lost = None
        if decisive.overruled:
            lost = self._rule(compiled, not decisive.allow, decisive.overruled)
        return Verdict(decisive.allow, rule, rule.line, compiled.group, BY_RULE, lost)

    def crawl_delay(self, agent: str | Sequence[str]) -> float | None:
        """Seconds between requests that the group of a crawler asks for. RFC 9309 section 2.2.4."""
        return self._pace(agent).crawl_delay

    def request_rate(self, agent: str | Sequence[str]) -> RequestRate | None:
        """Requests in a number of seconds that the group of a crawler asks for."""
        return self._pace(agent).request_rate

    def request_rates(self, agent: str | Sequence[str]) -> tuple[RequestRate, ...]:
        """All rates that the group asks for in one window of the day or another, slowest first."""
        return self._pace(agent).request_rates

    def visit_time(self, agent: str | Sequence[str]) -> VisitTime | None:
        """The window of the day, UTC, in which the group of a crawler wants to be visited."""
        return self._pace(agent).visit_time

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps of the file, each once, in order. RFC 9309 section 2.2.4."""
        return self._values(syntax.SITEMAP)

    @property
    def clean_params(self) -> tuple[str, ...]:
        """The values of Clean-param lines, each once, in order: ``ref&sid /shop/``."""
        return self._values(syntax.CLEAN_PARAM)

    @property
    def host(self) -> str | None:
        """The main host of the site's mirrors, as the file's first Host line names it."""
        return next(iter(self._values(syntax.HOST)), None)

    @property
    def size(self) -> int:
        """Octets of memory that this object holds; measured anew when it holds more than before."""
        found = self._measured = measured(self, self._measured, (Profile,))
        return found[1]

    @property
    def state(self) -> tuple[object, ...]:
        """What has been made on demand."""
        found = list(self._compiled.values())
        made = [(one.lines is None, one.rules.state) for one in found]
        parts = [part.state for part in self._parts]
        values = len(self._file_values or ())
        return len(self._allows), len(self._paces), values, made, parts

    def _afresh(self, url: str, key: str | tuple[str, ...]) -> bool:
        """The answer of a new matcher; a very long URL may outgrow that of one rule set too."""
        if self._parts:
            return self._remember(key, partial(_all_allow, self._parts, key))(url)
        rules = self._compile(key).rules
        try:
            return self._remember(key, rules.matcher())(url)
        except OutgrownError:  # One more rule set has its index now.
            return self._afresh(url, key)

    def _remember(
        self, key: str | tuple[str, ...], allows: Callable[[str], bool]
    ) -> Callable[[str], bool]:
        """What an agent argument leads to is kept for its next question."""
        if len(self._allows) >= _MOST_AGENTS:
            self._allows.clear()
        self._allows[key] = allows
        return allows

    def _compile(self, agent: str | Sequence[str]) -> Compiled:
        wanted = tokens.tokens_of(agent, self._profile)
        compiled = self._compiled.get(wanted)
        if compiled is None:
            others = list(self._compiled.values())
            if others and self._is_full(others):
                self._compiled.clear()
                self._allows.clear()
                others = []
            compiled = Compiled(self._text(), wanted, self._profile, others)
            self._compiled[wanted] = compiled
        return compiled

    def _is_full(self, others: Sequence[Compiled]) -> bool:
        """The rules of all crawlers are too many; most files need not be measured to know it."""
        if len(others) >= _MOST_AGENTS:
            return True
        if len(others) * _MOST_GROWTH * len(self._body) <= _MOST_OCTETS:
            return False
        return compiling.size(others) > _MOST_OCTETS

    def _text(self) -> bytes:
        return syntax.text_of(self._body, self._profile)

    def _records(self) -> list[Record]:
        return list(syntax.records(self._text().decode("latin-1"), self._profile))

    def _values(self, key: str) -> tuple[str, ...]:
        """The values of the lines of a key anywhere in the file, each once, as UTF-8."""
        if self._file_values is None:
            self._file_values = {}
        found = self._file_values.get(key)
        if found is None:
            values = []
            if key[:4].encode() in self._text().lower():
                values = [one.value for one in self._records() if one.key == key and one.value]
            texts = [value.encode("latin-1").decode("utf-8", "replace") for value in values]
            found = self._file_values[key] = tuple(dict.fromkeys(texts))
        return found

    def _rule(self, compiled: Compiled, allow: bool, patterns: Sequence[str]) -> Rule:
        """The rule of the patterns that stands first in the file."""
        if compiled.lines is None:
            compiled.find_lines(self._text(), self._profile, list(self._compiled.values()))
        line, pattern = compiled.first(allow, patterns)
        shown = pattern.encode("latin-1").decode("utf-8", "backslashreplace")
        return Rule(allow, shown, line)

    def _strictest(self, url: str, agent: str | Sequence[str]) -> Verdict:
        """The first verdict that forbids counts; if none does, the first of all."""
        verdicts = [part.verdict(url, agent) for part in self._parts]
        return next((verdict for verdict in verdicts if not verdict.allowed), verdicts[0])

    def _pace(self, agent: str | Sequence[str]) -> Pace:
        """The pace that counts for an agent argument is read once."""
        if self._parts:
            paces = (RobotsTxt._pace(part, agent) for part in self._parts)
            return extensions.politest(paces)
        wanted = tokens.tokens_of(agent, self._profile)
        pace = self._paces.get(wanted)
        if pace is None:
            if len(self._paces) >= _MOST_AGENTS:
                self._paces.clear()
            pace = self._paces[wanted] = self._read_pace(wanted)
        return pace

    def _read_pace(self, wanted: tuple[str, ...]) -> Pace:
        text = self._text()
        low = text.lower()
        if b"delay" not in low and b"request-rate" not in low and b"visit-time" not in low:
            return Pace()
        return extensions.pace_of(groups.pace_records_for(text, wanted, self._profile))


def _octets(body: bytearray | memoryview | str) -> bytes:
    if isinstance(body, str):
        return octets_of(body)
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body)
    wanted = "bytes, bytearray, memoryview or str"
    raise TypeError(f"a robots.txt is {wanted}, not {type(body).__name__}")


def _all_allow(parts: tuple[RobotsTxt, ...], agent: str | tuple[str, ...], url: str) -> bool:
    """Every document at once must allow what may be fetched."""
    return all(part.allowed(url, agent) for part in parts)
