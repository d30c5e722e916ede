"""TDMRep: whether the rights of text and data mining are reserved.

TDM Reservation Protocol (W3C Community Group Final Report, 2024-05-10). Three sources may say so:
metas of the page take precedence over header fields, and these over ``/.well-known/tdmrep.json``.
Where a source says nothing, the next one counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from scrapy_rep.matching import tuning
from scrapy_rep.matching.budget import TooCostlyError
from scrapy_rep.matching.normal_form import NormalForm, normal_path, readings, written_path
from scrapy_rep.matching.wildcard import Wildcard, parse_wildcard
from scrapy_rep.preferences.content_usage import MOST_OCTETS
from scrapy_rep.preferences.licenses import is_url
from scrapy_rep.preferences.statement import FILE, HEADER, META_ELEMENT, Statement, Tdm
from scrapy_rep.preferences.vocabulary import ALLOWED, DISALLOWED, TDMREP, UNKNOWN

PATH: Final = "/.well-known/tdmrep.json"
RESERVATION: Final = "tdm-reservation"
POLICY: Final = "tdm-policy"

MOST_RULES: Final = 10_000
"""Rules of a tdmrep.json that are read; a file with more counts as damaged.

To compare a path with this many takes 3 ms. The files of real publishers have a few.
"""

_RESERVED: Final = {"1": True, "0": False}
_ANSWERS: Final = {True: DISALLOWED, False: ALLOWED, None: UNKNOWN}
_MOST_SHOWN: Final = 200
_TOO_LONG: Final = "(too long)"


class Said(NamedTuple):
    """What one source says; ``reserved`` and ``policy`` are None if it does not say so."""

    reserved: bool | None
    policy: str | None
    statements: tuple[Statement, ...]


SILENT: Final = Said(None, None, ())


class TdmRule(NamedTuple):
    """An object of a tdmrep.json."""

    location: str
    head: str
    """What the path must begin with, in its normal form."""
    reservation: Any
    policy: Any


class TdmRules:
    """The rules of one tdmrep.json; made by :meth:`parse`.

    ``damaged`` says that the file cannot be read, so that what it reserves is unknown.
    """

    __slots__ = ("_form", "_patterns", "_rules", "damaged", "size")

    def __init__(
        self, rules: Sequence[TdmRule], size: int, form: NormalForm, *, damaged: bool
    ) -> None:
        self._rules = rules
        self._form = form
        self._patterns: dict[str, Wildcard] = {}
        self.size = size
        self.damaged = damaged

    @classmethod
    def parse(cls, body: bytes, form: NormalForm) -> TdmRules:
        """Read the octets of a tdmrep.json. Never raises, for any octets.

        ``form`` is the normal form of paths. A body that does not look like JSON, such as the HTML
        that many sites send for any path, counts as an empty file. One that begins like JSON and is
        not an array is damaged.
        """
        rules: list[TdmRule] = []
        text = body.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
        if text[:1] not in (b"[", b"{"):
            return cls(rules, len(body), form, damaged=False)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, list) or len(found) > MOST_RULES:
            return cls(rules, len(body), form, damaged=True)
        for each in found:
            location = each.get("location") if isinstance(each, dict) else None
            if isinstance(location, str) and location:
                octets = location.encode("utf-8", "surrogatepass").decode("latin-1")
                head = form.normal_start(octets.partition("*")[0].removesuffix("$"))
                rules.append(TdmRule(octets, head, each.get(RESERVATION), each.get(POLICY)))
        return cls(rules, len(body) + 300 * len(rules), form, damaged=False)

    def about(self, url: str) -> Said | None:
        """Return what the first rule that matches a URL says; None if that is unknown.

        Patterns are those of robots.txt (RFC 9309 section 2.2.3), and case-sensitive. A URL with
        dot segments is also read without them, and must be free of reservations both ways.
        """
        if self.damaged:
            return None
        paths = [
            normal_path(written, self._form)
            for written in readings(written_path(url, self._form), self._form)
        ]
        try:
            found = [self._first(path, tuning.STEPS // len(paths)) for path in paths]
        except TooCostlyError:
            return None
        said = [_said_by(rule) for rule in found if rule is not None]
        return next((one for one in said if one.reserved), said[0] if said else SILENT)

    def _first(self, path: str, steps: int) -> TdmRule | None:
        """Return the first rule that matches. Patterns with another head are not parsed."""
        left = steps
        for rule in self._rules:
            if not path.startswith(rule.head):
                continue
            pattern = self._patterns.get(rule.location)
            if pattern is None:
                if len(self._patterns) >= MOST_RULES:
                    self._patterns.clear()
                pattern = self._patterns[rule.location] = parse_wildcard(rule.location, self._form)
            left -= tuning.STEPS_OF_A_PATTERN + pattern.steps(path)
            left -= tuning.STEPS_OF_A_PIECE * len(pattern.inner)
            if left < 0:
                raise TooCostlyError
            if pattern.matches(path):
                return rule
        return None


def of_fields(reservations: Sequence[str], policies: Sequence[str]) -> Said:
    """Return what the ``tdm-reservation`` and ``tdm-policy`` fields of a response say."""
    return _said(reservations, policies, HEADER)


def of_metas(metas: Iterable[tuple[str, str]]) -> Said:
    """Return what the metas of a page say, given as name and content."""
    found: dict[str, list[str]] = {RESERVATION: [], POLICY: []}
    for name, content in metas:
        if name.strip().lower() in found:
            found[name.strip().lower()].append(content)
    return _said(found[RESERVATION], found[POLICY], META_ELEMENT)


def together(file: Said, header: Said, meta: Said) -> Tdm:
    """Return what counts: the first source, in order of precedence, that says something.

    A policy counts only with a reservation, and may come from another source.
    """
    sources = ((META_ELEMENT, meta), (HEADER, header), (FILE, file))
    reserved, source = None, None
    for name, said in sources:
        if said.reserved is not None:
            reserved, source = said.reserved, name
            break
    policy = None
    if reserved:
        policy = next((said.policy for _, said in sources if said.policy), None)
    return Tdm(reserved, policy, source)


def _said(reservations: Sequence[str], policies: Sequence[str], source: str) -> Said:
    """Read lines, also those that a proxy has joined. Of several values, a reservation counts.

    What lies behind the octets that are read may reserve the rights, so nothing is allowed then.
    """
    values: dict[str, None] = {}
    left = MOST_OCTETS
    for text in reservations:
        values.update(dict.fromkeys(value.strip() for value in text[:left].split(",")))
        left -= len(text) + 1
        if left < 0:
            break
    if left < 0 and "1" not in values:
        values = {_TOO_LONG: None}
    statements = tuple(_statement(value, source, value) for value in values if value)
    reserved = _reserved([_RESERVED.get(value) for value in values])
    policy = next((text.strip() for text in policies if is_url(text.strip())), None)
    return Said(reserved, policy, statements)


def _said_by(rule: TdmRule) -> Said:
    """Return what a rule of the file says. Its numbers may be text, and 1 may be 1.0."""
    value = rule.reservation
    is_number = type(value) in (int, float) and value in (0, 1)
    written = str(int(value)) if is_number else value
    reserved = _RESERVED.get(written) if isinstance(written, str) else None
    policy = rule.policy if isinstance(rule.policy, str) and is_url(rule.policy) else None
    if value is None:
        return Said(None, policy, ())
    shown = _shown(value)
    raw = f"{rule.location.encode('latin-1').decode('utf-8', 'replace')[:_MOST_SHOWN]} {shown}"
    return Said(reserved, policy, (_statement(shown, FILE, raw, reserved),))


def _shown(value: object) -> str:
    """Return any JSON value as text. A number may have more digits than Python prints."""
    if isinstance(value, str):
        return value[:_MOST_SHOWN]
    small = isinstance(value, (bool, float)) or (type(value) is int and abs(value) < 10**9)
    return json.dumps(value) if small else f"({type(value).__name__})"


def _statement(value: str, source: str, raw: str, reserved: bool | None = None) -> Statement:
    if source != FILE:
        reserved = _RESERVED.get(value)
    return Statement(TDMREP, RESERVATION, value, _ANSWERS[reserved], source, None, raw)


def _reserved(found: Sequence[bool | None]) -> bool | None:
    if True in found:
        return True
    return False if False in found else None
