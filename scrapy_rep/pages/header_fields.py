"""``X-Robots-Tag``, and ``Robots-Tag`` of draft-illyes-repext-03 (2026-04, expired 2026-10-20).

Neither field is registered. ``X-Robots-Tag`` is read as Google describes it: a list of terms for
all agents or, after ``name:``, for one. ``Robots-Tag`` is a structured field (RFC 9651): a list of
agents, whose parameters are the terms. A field that does not parse is read leniently, so that no
restriction is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from scrapy_rep.pages.terms import NONE, RESTRICTIONS, Term, terms_of

MOST_OF_A_FIELD: Final = 8 * 1024
"""Octets of a field that are read, as in draft-illyes-repext-03; a term that is cut is dropped."""


def x_robots_tag(lines: Sequence[str]) -> Iterator[Term]:
    """Yield the terms of the lines of ``X-Robots-Tag``; an agent counts to the end of its line."""
    left = MOST_OF_A_FIELD
    for line in lines:
        yield from terms_of(_cut(line, left), agents=True)
        left -= len(line)
        if left <= 0:
            return


def robots_tag(lines: Sequence[str]) -> Iterator[Term]:
    """Yield the terms of the lines of ``Robots-Tag``, which are one list."""
    import http_sf  # late, as hardly any response has this field

    text = _cut(", ".join(lines), MOST_OF_A_FIELD)
    try:
        members: Any = http_sf.parse(text.encode("latin-1"), tltype="list")
    except http_sf.StructuredFieldError:
        members = _lenient(text)
    for item, parameters in members:
        # The members of an inner list have parameters, too.
        agents = item if isinstance(item, list) else [(item, {})]
        for agent, further in agents:
            yield from _terms(str(agent), {**parameters, **further})


def _terms(agent: str, parameters: dict[str, Any]) -> Iterator[Term]:
    if not parameters and agent.lower() in RESTRICTIONS | {NONE}:
        yield Term(agent)  # a term, as in X-Robots-Tag
    for name, value in parameters.items():
        if value is not False:
            yield Term(name, None if value is True else str(value), agent)


def _lenient(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the agents and parameters of a field that does not parse."""
    for member in text.split(","):
        agent, *parameters = (part.strip() for part in member.split(";"))
        pairs = (part.partition("=") for part in parameters if part)
        yield agent, {name: value if equals else True for name, equals, value in pairs}


def _cut(text: str, most: int) -> str:
    """Return at most ``most`` characters of a list, without a member that is cut."""
    return text if len(text) <= most else text[:most].rpartition(",")[0]
